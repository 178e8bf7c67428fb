// Outstanding non-bulk asynchronous copies of the lanes of a warp, and their groups.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "common/emulator/machine/async.hpp"
#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::machine {

class AsyncCopies {
 public:
  void add(LaneMask lanes, OperationId operation);
  void commit(LaneMask lanes);
  /// Copies of a lane that are outstanding, committed or not.
  std::vector<OperationId> outstanding(const AsyncQueue& queue, unsigned lane);
  /// True when at most `newest` of the lane's committed groups are outstanding.
  bool groupsDone(const AsyncQueue& queue, unsigned lane, uint64_t newest);
  /// True when nothing of the lane is outstanding, committed or not.
  bool allDone(const AsyncQueue& queue, unsigned lane);

 private:
  using Group = std::vector<OperationId>;
  struct Lane {
    Group open;
    std::deque<Group> committed;
  };
  static void forget(const AsyncQueue& queue, Group& group);
  std::array<Lane, kWarpLanes> lanes_;
};

}  // namespace shiftconv::emulator::machine
