// What the user of emurun chose. Programs inherit it through the environment:
//
//   EMURUN_SCHEDULE           earliest | latest | random
//   EMURUN_SEED               decimal; launch i uses seed + i
//   EMURUN_HAZARDS            off | warn | error
//   EMURUN_NUMERICS           hardware | fast
//   EMURUN_SEMANTICS          U3=1,U7=0: alternatives of unproven questions
//   EMURUN_SEMANTICS_FILE     what the probe kit saw
//   EMURUN_HOST_THREADS       decimal
//   EMURUN_INSTRUCTION_LIMIT  decimal, per launch
//   EMURUN_SMS                multiprocessors of the device
//   EMURUN_COUNTERS           1: tables of what the kernels did, when the program ends
//   EMURUN_TRACE              1: every call and its result
//   EMURUN_LOG                file that takes reports, traces and counters instead of standard error
//   EMURUN_RESULT_FD          a descriptor of emurun's shared Result
#pragma once

#include <cstdint>
#include <string>

#include "common/runtime/cuda_headers.hpp"

namespace shiftconv::runtime {

/// What the library tells emurun about a run, in memory that both map.
struct RunResult {
  static constexpr uint64_t kMagic = 0x31'6e75'7275'6d65;  // "emurun1"
  uint64_t magic;
  uint64_t calls;     ///< of the two APIs
  uint64_t launches;  ///< kernels run
  uint64_t hazards;   ///< different ones, summed over launches
  uint64_t failures;  ///< kernels that failed, and functions that are not there
};

/// nullptr when the program does not run under emurun.
RunResult* runResult();

/// Whether EMURUN_TRACE asks for every call.
bool traced();

/// Writes lines to the log, each begun with "emurun: " when it is the first of its text.
void say(const std::string& text);

}  // namespace shiftconv::runtime
