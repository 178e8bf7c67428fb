// What the user of emurun chose. Programs inherit it through the environment:
//
//   EMURUN_SCHEDULE           earliest | latest | random | fair
//   EMURUN_SEED               decimal; launch i uses seed + i
//   EMURUN_HAZARDS            off | warn | error
//   EMURUN_SEVERITY           race,formal,unproven: of the hazards that are looked for
//   EMURUN_NUMERICS           hardware | fast
//   EMURUN_SEMANTICS          U3=1,U7=0: alternatives of unproven questions
//   EMURUN_SEMANTICS_FILE     what the probe kit saw
//   EMURUN_HOST_THREADS       decimal
//   EMURUN_INSTRUCTION_LIMIT  decimal, per launch
//   EMURUN_DEVICE             sm_100a | sm_103a | sm_110a | sm_90a: else as the program's device code asks for
//   EMURUN_SMS                multiprocessors of the device
//   EMURUN_COUNTERS           1: tables of what the kernels did, when the program ends
//   EMURUN_TRACE              1: every call and its result
//   EMURUN_LOG                file that takes reports, traces and counters instead of standard error
//   EMURUN_DUMP_PTX           folder that takes the PTX of each loaded image
//   EMURUN_RESULT_FD          a descriptor of emurun's shared RunResult
#pragma once

#include <string>
#include <string_view>

#include "common/emulator/cuda_runtime/core/run_result.hpp"

namespace shiftconv::runtime {

/// nullptr when the program does not run under emurun.
RunResult* runResult();

/// Whether EMURUN_TRACE asks for every call.
bool traced();

/// Writes the PTX of an image to the folder of EMURUN_DUMP_PTX, if there is one, and says which file it is.
void dumpPtx(std::string_view ptx, std::string_view image);

/// Writes lines to the log, each begun with "emurun: " when it is the first of its text.
void say(const std::string& text);

}  // namespace shiftconv::runtime
