// The verdict on one case: what the emulator computed against what the hardware was seen to compute.
#pragma once

#include <string>

#include "tests/hardware_recordings/case.hpp"
#include "tests/hardware_recordings/recording.hpp"

namespace shiftconv::recordings {

enum class Verdict : uint8_t {
  Match,        ///< bit for bit, or the same refusal
  WithinError,  ///< within the documented error of the instruction
  Mismatch,
  NotImplemented,  ///< the emulator refuses the instruction by name
  Unjudged,        ///< recorded for a finding only: Case::unjudged says why
  NotRecorded,     ///< the recording has no such case, or one of other text or operands
  Count,
};
inline constexpr std::array<std::string_view, 6> kVerdictNames{
    "match", "within documented error", "mismatch", "not implemented", "not compared", "not recorded"};

struct Judgement {
  Verdict verdict = Verdict::Match;
  std::string detail;  ///< first differences with their operands, or the reason
};

/// `expected` is null when nothing was recorded.
Judgement judge(const Case& made, const Observation& emulated, const Record* expected);

}  // namespace shiftconv::recordings
