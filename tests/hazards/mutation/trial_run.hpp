// Runs subjects and mutants and says what the machine noticed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/hazards/kernels/subject.hpp"

namespace shiftconv::tests {

enum class Verdict : uint8_t {
  Detected,     ///< the machine stopped the kernel or reported a hazard
  WrongOutput,  ///< nothing was reported, but some run gave another result
  Survived,     ///< nothing was reported and every result was right
};

struct Judgement {
  Verdict verdict = Verdict::Survived;
  std::string how;   ///< schedule, trial and the first line of the report or of the difference
  std::string by{};  ///< of a detected mutant, what noticed it: "deadlock", "hazard (race)"
};

/// Instructions after which a run counts as endless, for each trial of the subject.
using InstructionLimits = std::vector<uint64_t>;

/// Runs the unchanged subject under every schedule. A false alarm is a run in which the machine reports anything; they are
/// added to `alarms`, wrong results as well. Returns the limits for mutants.
InstructionLimits runUnchanged(const Subject& subject, std::vector<std::string>& alarms);

enum class Thoroughness : uint8_t {
  EverySchedule,  ///< all trials under the latest schedule, then under the earliest and two random ones
  TwoSchedules,   ///< the latest and a random one
};

/// Runs a mutant until it is detected. Throws EmulatorError when its text is no legal program.
Judgement judge(const Subject& subject, std::string_view mutantPtx, const InstructionLimits& limits, Thoroughness thoroughness);

}  // namespace shiftconv::tests
