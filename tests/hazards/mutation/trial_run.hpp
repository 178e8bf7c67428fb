// Runs subjects and mutants and says what the machine noticed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/hazards/mutation/executed_lines.hpp"
#include "tests/support/subject.hpp"

namespace shiftconv::tests {

enum class Verdict : uint8_t {
  Detected,     ///< the machine stopped the kernel or reported a hazard
  WrongOutput,  ///< nothing was reported, but some run gave another result
  Survived,     ///< nothing was reported and every result was right
};

struct Judgement {
  Verdict verdict = Verdict::Survived;
  std::string how;   ///< schedule, trial and the first line of the report or of the difference; or that no trial comes to it
  std::string by{};  ///< of a detected mutant, what noticed it: "deadlock", "hazard (race)"
};

/// What a trial of the unchanged subject does, in all schedules together.
struct TrialBaseline {
  uint64_t instructionLimit = 0;  ///< instructions after which a run of a mutant counts as endless
  ExecutedLines lines;
};
using Baseline = std::vector<TrialBaseline>;  ///< of all trials of a subject

enum class Thoroughness : uint8_t {
  EverySchedule,  ///< all trials under the latest schedule, then under the earliest and two random ones
  TwoSchedules,   ///< the latest and a random one
};

/// Runs the unchanged subject. A false alarm is a run in which the machine reports anything; they are added to `alarms`, wrong
/// results as well.
Baseline runUnchanged(const Subject& subject, std::vector<std::string>& alarms, Thoroughness thoroughness);

/// Runs a mutant until it is detected, the shortest trials first. `mutatedLine`: the only line of the PTX that differs, whose
/// mutant needs no trial that does not come to it; 0: there are others. Throws EmulatorError when its text is no legal program.
Judgement judge(const Subject& subject, std::string_view mutantPtx, uint32_t mutatedLine, const Baseline& baseline,
                Thoroughness thoroughness);

}  // namespace shiftconv::tests
