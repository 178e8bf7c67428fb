// What the handlers of all bulk copies share: operands per lane, shared-window addresses, mbarrier signals.
#pragma once

#include <bit>
#include <cstdint>

#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::tma {

/// An address operand, to be evaluated per lane.
struct LaneAddress {
  machine::Slot base = machine::kNoSlot;
  bool base32 = false;
  int64_t offset = 0;

  LaneAddress() = default;
  explicit LaneAddress(const program::AddressOperand& address)
      : base(address.base), base32(address.base32), offset(address.offset) {}

  uint64_t at(const machine::Execution& execution, unsigned lane) const {
    if (base == machine::kNoSlot) return static_cast<uint64_t>(offset);
    if (base32) return static_cast<uint32_t>(execution.lanes<uint32_t>(base)[lane] + static_cast<uint32_t>(offset));
    return execution.lanes<uint64_t>(base)[lane] + static_cast<uint64_t>(offset);
  }
};

/// Where a shared-window address points.
struct SharedPlace {
  machine::Cta* cta = nullptr;
  uint32_t offset = 0;
};

/// The place of a `.shared::cluster` address, or of a `.shared::cta` one, which must belong to the executing CTA.
/// `role` names the operand in errors ("destination"). Throws EmulatorError OutOfBounds.
SharedPlace sharedPlace(const machine::Execution& execution, const LaneAddress& address, unsigned lane, bool clusterWide,
                        const char* role);

/// complete_tx on an mbarrier, and a wake-up call for whoever sleeps on it.
void signalTransactions(machine::Cta& cta, uint32_t mbarrierOffset, uint32_t bytes);

/// Calls action(lane) for every executing lane, in order: one executing thread issues one copy.
template <class Action>
void forEachLane(const machine::Execution& execution, Action&& action) {
  for (machine::LaneMask left = execution.mask; left != 0; left &= left - 1) action(static_cast<unsigned>(std::countr_zero(left)));
}

/// Optional operands after the fixed ones, in the order the instruction lists them.
class OperandCursor {
 public:
  explicit OperandCursor(isa::DecodeContext& context) : context_(context) {}
  /// The next operand; an illegal-instruction error says that `what` is missing.
  const ptx::Operand& next(const char* what);
  LaneAddress address(const char* what) { return LaneAddress(context_.address(next(what))); }
  machine::Slot source(const char* what, ptx::ScalarType type) { return context_.source(next(what), type); }
  bool more() const { return index_ < context_.instruction().operands.size(); }
  /// An illegal-instruction error unless every operand was taken.
  void finish();

 private:
  isa::DecodeContext& context_;
  size_t index_ = 0;
};

}  // namespace shiftconv::emulator::tma
