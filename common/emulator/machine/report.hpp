// Text about running things, for errors and reports.
#pragma once

#include <string>
#include <vector>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

/// "PTX line 120 (gemm.cu:45): mbarrier.init.shared.b64 [%r1], 1;", and on a line of its own the calls that it was inlined at, the
/// innermost first.
std::string describe(const ptx::Module& module, const ptx::Instruction* instruction);
/// The first instruction on a line; nullptr when there is none.
const ptx::Instruction* instructionAt(const ptx::Module& module, uint32_t ptxLine);
/// "CTA (3,0,0) rank 1, warp 2"
std::string describe(const Warp& warp);
/// The same of several, in order: "CTA (3,0,0) rank 1, warps 2..4".
std::string describe(const std::vector<const Warp*>& warps);
/// "1, 3..7" for numbers in order.
std::string describeNumbers(const std::vector<uint32_t>& numbers);
/// "0x0000000f"
std::string describeLanes(LaneMask lanes);
/// The lines that the machine appends to an error of an instruction.
std::string errorContext(const Warp& warp, LaneMask lanes);

/// Whether a broken rule is reported as a hazard only: under HazardMode::Warn the machine does what hardware is known to do. False:
/// it is an error.
bool goesOn(const Warp& warp, unsigned lane, std::string what, std::string missing);

}  // namespace shiftconv::emulator::machine
