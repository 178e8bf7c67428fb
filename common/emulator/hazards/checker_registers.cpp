// The registers of tcgen05.ld hold nothing until tcgen05.wait::ld (PTX ISA 9.0, 9.7.16.8.5).
#include <algorithm>
#include <bit>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::hazards {

void HazardChecker::loading(const machine::Warp& warp, const std::byte* frame, const std::vector<machine::Slot>& slots) {
  for (machine::Slot slot : slots) loading_[warpIndex(warp)][frame + slot] = warp.currentInstruction();
}

void HazardChecker::checkRegisters(const machine::Warp& warp, LaneMask lanes, const std::byte* frame,
                                   const isa::CompiledFunction& function, uint32_t pc) {
  const auto& undefined = loading_[warpIndex(warp)];
  const uint32_t first = pc == 0 ? 0 : function.registerUseEnd[pc - 1];
  for (uint32_t i = first; i < function.registerUseEnd[pc]; ++i) {
    const auto found = undefined.find(frame + function.registerUses[i]);
    if (found == undefined.end()) continue;
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const ptx::Instruction* user = function.code[pc].source;
    if (reporter_.seen(HazardKind::PendingRegister, found->second->location.ptxLine, user->location.ptxLine)) return;
    return report(HazardKind::PendingRegister, describePoint(warp, lane, found->second, "load into registers"),
                  describePoint(warp, lane, user, "use of a register of that load"),
                  "tcgen05.wait::ld between the load and the first use of its registers");
  }
}

}  // namespace shiftconv::emulator::hazards
