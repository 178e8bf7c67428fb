#include "common/emulator/hazards/reporter.hpp"

#include <algorithm>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::hazards {

bool Reporter::seen(HazardKind kind, HazardSeverity severity, uint32_t firstLine, uint32_t secondLine) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find({kind, severity, firstLine, secondLine});
  if (found == index_.end()) return false;
  ++hazards_[found->second].count;
  return true;
}

bool Reporter::knows(HazardKind kind, HazardSeverity severity, uint32_t firstLine, uint32_t secondLine) {
  const std::lock_guard lock(mutex_);
  return index_.contains({kind, severity, firstLine, secondLine});
}

void Reporter::report(Hazard hazard) {
  if (!wants(hazard.severity)) return;
  const std::lock_guard lock(mutex_);
  if (mode_ == HazardMode::Error && hazard.kind != HazardKind::UndefinedData) {
    const EmulatorError error(ErrorKind::Hazard, describe(hazard));
    hazards_.push_back(std::move(hazard));
    throw error;
  }
  const auto [entry, isNew] =
      index_.emplace(Key{hazard.kind, hazard.severity, hazard.first.ptxLine, hazard.second.ptxLine}, hazards_.size());
  if (isNew)
    hazards_.push_back(std::move(hazard));
  else
    ++hazards_[entry->second].count;
}

std::vector<Hazard> Reporter::take() {
  const std::lock_guard lock(mutex_);
  index_.clear();
  std::stable_partition(hazards_.begin(), hazards_.end(),
                        [](const Hazard& hazard) { return hazard.kind != HazardKind::UndefinedData; });
  return std::move(hazards_);
}

void Reporter::finish() {
  if (mode_ != HazardMode::Error) return;
  const std::lock_guard lock(mutex_);
  if (!hazards_.empty()) throw EmulatorError(ErrorKind::Hazard, describe(hazards_.front()));
}

}  // namespace shiftconv::emulator::hazards
