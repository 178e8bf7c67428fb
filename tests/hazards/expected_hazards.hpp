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

inline const ExpectedHazard kRace{emulator::HazardKind::Race, emulator::HazardSeverity::Race, ""};

/// Exactly these, in any order and as often as they like.
void expectHazards(const std::vector<emulator::Hazard>& hazards, const std::vector<ExpectedHazard>& expected);

/// A kernel's text with `from`, which it must hold, replaced once: the kernel that lacks a piece of another.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace shiftconv::tests
