// What a handler sees when it runs.
#pragma once

#include "common/emulator/program/instruction.hpp"

namespace shiftconv::emulator::machine {

using program::DecodedInstruction;
using program::Handler;
using program::InstructionDetail;
using program::kAllLanes;
using program::kNoSlot;
using program::kWarpLanes;
using program::LaneMask;
using program::Slot;

class Warp;

/// What a handler may touch. `mask` holds the lanes that execute (guard already applied, never empty
/// unless the instruction was decoded with `runsWhenMasked`).
struct Execution {
  Warp& warp;
  LaneMask mask;
  std::byte* frame;

  template <class T>
  T* lanes(Slot slot) const {
    return reinterpret_cast<T*>(frame + slot);
  }
  LaneMask& predicate(Slot slot) const { return *reinterpret_cast<LaneMask*>(frame + slot); }
};

}  // namespace shiftconv::emulator::machine
