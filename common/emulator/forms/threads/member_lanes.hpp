// Member masks of `.sync` instructions: every lane brings its own.
#pragma once

#include <bit>

#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::machine {

/// Calls action(lanes, members) for each set of executing lanes that bring the same member mask.
template <class Action>
void forEachMemberMask(const Execution& execution, Slot mask, Action&& action) {
  const auto* masks = execution.lanes<uint32_t>(mask);
  for (LaneMask rest = execution.mask; rest != 0;) {
    const LaneMask members = masks[std::countr_zero(rest)];
    LaneMask together = 0;
    for (LaneMask left = rest; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      together |= static_cast<LaneMask>(masks[lane] == members) << lane;
    }
    action(together, members);
    rest &= ~together;
  }
}

/// As forEachMemberMask, but only for sets whose members have all arrived; the others wait.
template <class Action>
void forConvergedMembers(const Execution& execution, Slot mask, Action&& action) {
  forEachMemberMask(execution, mask, [&](LaneMask lanes, LaneMask members) {
    if (execution.warp.converge(lanes, members)) action(lanes, members);
  });
}

}  // namespace shiftconv::emulator::machine
