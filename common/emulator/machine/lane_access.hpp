// Memory accesses by threads: one address per lane, resolved to host pointers with every check done.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

/// The state space that an instruction names. Const and global variables live in one address space here.
enum class AccessSpace : uint8_t { Generic, Global, SharedCta, SharedCluster, Local, KernelParameter };
enum class AccessKind : uint8_t { Read, Write, ReadWrite };

/// An address operand, to be evaluated per lane.
struct LaneAddress {
  Slot base = kNoSlot;
  bool base32 = false;
  int64_t offset = 0;

  LaneAddress() = default;
  explicit LaneAddress(const program::AddressOperand& address)
      : base(address.base), base32(address.base32), offset(address.offset) {}
  uint64_t at(const Execution& execution, unsigned lane) const {
    if (base == kNoSlot) return static_cast<uint64_t>(offset);
    if (base32) return static_cast<uint32_t>(execution.lanes<uint32_t>(base)[lane] + static_cast<uint32_t>(offset));
    return execution.lanes<uint64_t>(base)[lane] + static_cast<uint64_t>(offset);
  }
};

/// An address operand together with the space it is in.
struct MemoryOperand {
  AccessSpace space = AccessSpace::Generic;
  LaneAddress address;
};

using LanePointers = std::array<std::byte*, kWarpLanes>;

/// Host pointers to `bytes` bytes for every lane of `lanes`, aligned to `bytes` rounded up to a power of two. Counts
/// the traffic. Throws OutOfBounds or Misaligned, naming the lane. `values`: what is about to be written there, if the
/// caller can tell.
void resolve(const Execution& execution, LaneMask lanes, const MemoryOperand& operand, uint32_t bytes, AccessKind kind,
             LanePointers& pointers, const StoredValues* values = nullptr);

/// To be called when the values behind the pointers of resolve() have been read, if that can synchronise with other clusters.
void noteValuesRead(const Execution& execution);

/// The window address that an operand of .shared holds. Of a generic address of shared memory, which the PTX ISA does not allow
/// there, only the low 32 bits can matter: the window's offset.
uint64_t windowAddress(const Warp& warp, unsigned lane, uint64_t address);

/// The mbarrier (or other object in shared memory) that an address names.
struct SharedObject {
  Cta* cta = nullptr;
  uint32_t offset = 0;
};
/// Throws OutOfBounds when the address is not in shared memory, or `.shared::cta` names another CTA.
SharedObject sharedObject(const Execution& execution, const MemoryOperand& operand, unsigned lane);

/// Calls action(lane) for every lane of the mask, in order.
template <class Action>
inline void forEachLane(LaneMask lanes, Action&& action) {
  for (; lanes != 0; lanes &= lanes - 1) action(static_cast<unsigned>(std::countr_zero(lanes)));
}

}  // namespace shiftconv::emulator::machine
