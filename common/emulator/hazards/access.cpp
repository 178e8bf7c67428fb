#include "common/emulator/hazards/access.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::hazards {

uint32_t nextStamp(uint32_t stamp) {
  if (stamp >= Access::kMaximumClock)
    throw EmulatorError(
        ErrorKind::Limit,
        fmt::format("the hazard checker tells at most {} releases and asynchronous operations of a warp apart; run a "
                    "smaller problem, or switch hazards off",
                    Access::kMaximumClock));
  return stamp + 1;
}

uint32_t SiteTable::of(const ptx::Instruction* instruction) {
  const std::lock_guard lock(mutex_);
  const auto [entry, isNew] = numbers_.try_emplace(instruction, static_cast<uint32_t>(instructions_.size()));
  if (!isNew) return entry->second;
  if (entry->second > Access::kMaximumSite) return entry->second = 0;
  instructions_.push_back(instruction);
  return entry->second;
}

const ptx::Instruction* SiteTable::at(uint32_t site) const {
  const std::lock_guard lock(mutex_);
  return instructions_.at(site);
}

uint32_t SiteTable::lineOf(uint32_t site) const {
  const ptx::Instruction* instruction = at(site);
  return instruction == nullptr ? 0 : instruction->location.ptxLine;
}

}  // namespace shiftconv::emulator::hazards
