// Registers: those of tcgen05.ld hold nothing until tcgen05.wait::ld (PTX ISA 9.0, 9.7.16.8.5), and what setmaxnreg asks for.
#include <bit>
#include <utility>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::hazards {

/// A use waits for the register (question U30), and so is as good as a wait for the load.
void HazardChecker::usedUnwaited(const machine::Warp& warp, LaneMask lanes, OperationId load) {
  const Operation* operation = operations_.find(load);
  if (operation == nullptr) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const bool waits = cluster_.options.semantics[Unproven::U30] == 0;
  HazardAccess first = describeIssuer(operation->issuer, "load into registers");
  HazardAccess second = describeThread(warp, lane, "use of a register of that load");
  if (!reporter_.seen(HazardKind::PendingRegister, first.ptxLine, second.ptxLine))
    report(HazardKind::PendingRegister, waits ? HazardSeverity::Formal : HazardSeverity::Race, std::move(first), std::move(second),
           "tcgen05.wait::ld between the load and the first use of its registers");
  if (waits) fragmentsDone(warp, {load});
}

void HazardChecker::unequalRegisterRequests(const machine::Warp& warp, const machine::Warp& other,
                                            const ptx::Instruction* otherRequest) {
  HazardAccess first = describePoint(other, 0, otherRequest, "request for registers");
  HazardAccess second = describeThread(warp, 0, "request for registers");
  if (reporter_.seen(HazardKind::RegisterCount, first.ptxLine, second.ptxLine)) return;
  report(HazardKind::RegisterCount, HazardSeverity::Formal, std::move(first), std::move(second),
         "the same setmaxnreg in all warps of a warpgroup (PTX ISA 9.0, 9.7.19.5)");
}

}  // namespace shiftconv::emulator::hazards
