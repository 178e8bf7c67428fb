// Bulk async-groups (PTX ISA 9.0, 9.7.9.25.6): which outstanding bulk stores belong to which committed group of which
// thread, and how many groups are still pending.
//
// A store consists of two asynchronous operations, a read of shared memory and, after it, the write: `wait_group.read`
// waits for the first only.
#pragma once

#include <cstdint>
#include <memory>

#include "common/emulator/machine/async.hpp"
#include "common/emulator/machine/cta_unit.hpp"

namespace shiftconv::emulator::machine {
class Cta;
}

namespace shiftconv::emulator::tma {

class BulkGroups final : public machine::CtaUnit {
 public:
  static constexpr auto kPlace = machine::UnitPlace::BulkGroups;
  explicit BulkGroups(machine::Cta& cta);
  ~BulkGroups() override;

  /// Adds a store to the open group of `thread` (index in the CTA). Prefetches belong to no group.
  void add(uint32_t thread, machine::OperationId read, machine::OperationId write);
  /// Closes the open group of `thread`, which may be empty.
  void commit(uint32_t thread);
  /// Committed groups of `thread` that are not complete, or (`readsOnly`) whose reads are not complete. Groups
  /// complete in the order of their commits: one that is done counts as pending while an older one is not.
  uint32_t pending(uint32_t thread, bool readsOnly);

  struct State;
  std::unique_ptr<State> state;
};

}  // namespace shiftconv::emulator::tma
