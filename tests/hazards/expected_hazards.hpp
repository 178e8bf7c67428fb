// Which hazards a run is expected to report.
#pragma once

#include <string>
#include <vector>

#include "common/emulator/hazard_report.hpp"

namespace shiftconv::tests {

struct ExpectedHazard {
  emulator::HazardKind kind;
  emulator::HazardSeverity severity;
  std::string question;  ///< "U6"
};

/// Exactly these, in any order and as often as they like.
void expectHazards(const std::vector<emulator::Hazard>& hazards, const std::vector<ExpectedHazard>& expected);

}  // namespace shiftconv::tests
