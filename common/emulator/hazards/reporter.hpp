// Collects the hazards of one launch. Thread safe: all clusters of a grid report to one.
#pragma once

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "common/emulator/hazard_report.hpp"

namespace shiftconv::emulator::hazards {

class Reporter {
 public:
  explicit Reporter(HazardMode mode, SeveritySet severities = {}) : mode_(mode), severities_(severities) {}

  bool wants(HazardSeverity severity) const { return severities_.contains(severity); }
  /// True when a hazard of this kind and severity between these two PTX lines was reported before; it is then counted.
  bool seen(HazardKind kind, HazardSeverity severity, uint32_t firstLine, uint32_t secondLine);
  /// The same without counting.
  bool knows(HazardKind kind, HazardSeverity severity, uint32_t firstLine, uint32_t secondLine);
  /// Throws EmulatorError Hazard in mode Error, for undefined data only in finish(). What is not wanted is dropped.
  void report(Hazard hazard);
  /// Undefined data last: where there is a race too, the race is what made it so.
  std::vector<Hazard> take();
  /// The launch has come to its end. Throws in mode Error when undefined data was seen, and nothing that ended the launch.
  void finish();

 private:
  using Key = std::tuple<HazardKind, HazardSeverity, uint32_t, uint32_t>;
  const HazardMode mode_;
  const SeveritySet severities_;
  std::mutex mutex_;
  std::map<Key, size_t> index_;
  std::vector<Hazard> hazards_;
};

}  // namespace shiftconv::emulator::hazards
