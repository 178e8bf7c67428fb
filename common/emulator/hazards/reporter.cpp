#include "common/emulator/hazards/reporter.hpp"

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::hazards {

bool Reporter::seen(HazardKind kind, uint32_t firstLine, uint32_t secondLine) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find({kind, firstLine, secondLine});
  if (found == index_.end()) return false;
  ++hazards_[found->second].count;
  return true;
}

void Reporter::report(Hazard hazard) {
  if (!wants(hazard.severity)) return;
  if (mode_ == HazardMode::Error) throw EmulatorError(ErrorKind::Hazard, describe(hazard));
  const std::lock_guard lock(mutex_);
  const auto [entry, isNew] = index_.emplace(Key{hazard.kind, hazard.first.ptxLine, hazard.second.ptxLine}, hazards_.size());
  if (isNew)
    hazards_.push_back(std::move(hazard));
  else
    ++hazards_[entry->second].count;
}

std::vector<Hazard> Reporter::take() {
  const std::lock_guard lock(mutex_);
  index_.clear();
  return std::move(hazards_);
}

}  // namespace shiftconv::emulator::hazards
