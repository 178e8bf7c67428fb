// Registers: those of tcgen05.ld hold nothing until tcgen05.wait::ld (PTX ISA 9.0, 9.7.16.8.5), and what setmaxnreg asks for.
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::hazards {

/// A use waits for the register (questions U30 and U33), and so is as good as a wait for the operation.
void HazardChecker::usedUnwaited(const machine::Warp& warp, LaneMask lanes, OperationId id) {
  const Operation* operation = operations_.find(id);
  if (operation == nullptr) return;
  const bool product = operation->kind == machine::OperationKind::WarpgroupMma;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const bool waits = cluster_.options.semantics[product ? Unproven::U33 : Unproven::U30] == 0;
  HazardAccess first = describeIssuer(operation->issuer, product ? "product with registers" : "load into registers");
  HazardAccess second = describeThread(warp, lane, fmt::format("use of a register of that {}", product ? "product" : "load"));
  const HazardSeverity severity = waits ? HazardSeverity::Formal : HazardSeverity::Race;
  if (!reporter_.seen(HazardKind::PendingRegister, severity, first.ptxLine, second.ptxLine))
    report(HazardKind::PendingRegister, severity, std::move(first), std::move(second),
           product ? "wgmma.commit_group and wgmma.wait_group between the product and the first use of its registers"
                   : "tcgen05.wait::ld between the load and the first use of its registers");
  if (!waits) return;
  if (product)
    warpgroupWaited(warp, {id});
  else
    fragmentsDone(warp, {id});
}

/// Registers that other instructions touch are ordered with wgmma.mma_async by wgmma.fence only (PTX ISA 9.0, 9.7.15.7.1).
void HazardChecker::warpgroupFenceMissing(const machine::Warp& warp, const ptx::Instruction* toucher) {
  HazardAccess second = describeThread(warp, 0, "product with registers");
  HazardAccess first;
  if (toucher != nullptr) first = describePoint(warp, 0, toucher, "use of one of its registers");
  if (reporter_.seen(HazardKind::WarpgroupFence, HazardSeverity::Race, first.ptxLine, second.ptxLine)) return;
  report(HazardKind::WarpgroupFence, HazardSeverity::Race, std::move(first), std::move(second),
         toucher != nullptr ? "wgmma.fence.sync.aligned between the two"
                            : "wgmma.fence.sync.aligned before the first wgmma.mma_async");
}

void HazardChecker::unequalRegisterRequests(const machine::Warp& warp, const machine::Warp& other,
                                            const ptx::Instruction* otherRequest) {
  HazardAccess first = describePoint(other, 0, otherRequest, "request for registers");
  HazardAccess second = describeThread(warp, 0, "request for registers");
  if (reporter_.seen(HazardKind::RegisterCount, HazardSeverity::Formal, first.ptxLine, second.ptxLine)) return;
  report(HazardKind::RegisterCount, HazardSeverity::Formal, std::move(first), std::move(second),
         "the same setmaxnreg in all warps of a warpgroup (PTX ISA 9.0, 9.7.19.5)");
}

}  // namespace shiftconv::emulator::hazards
