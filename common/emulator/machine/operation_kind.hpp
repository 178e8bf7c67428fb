// The kinds of asynchronous operations, and what whoever schedules, counts or watches them has to know about each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shiftconv::emulator::machine {

enum class OperationKind : uint8_t {
  ThreadCopy,        ///< cp.async
  ThreadCopyArrive,  ///< cp.async.mbarrier.arrive
  BulkLoad,
  BulkToPeer,
  BulkReduceToPeer,
  BulkStoreRead,  ///< a copy out of shared memory is two operations
  BulkStoreWrite,
  BulkReduceRead,
  BulkReduceWrite,
  TileLoad,  ///< with a tensor map
  TileStoreRead,
  TileStoreWrite,
  TileReduceRead,
  TileReduceWrite,
  RemoteStore,   ///< st.async
  RemoteReduce,  ///< red.async
  CancelLaunch,  ///< clusterlaunchcontrol.try_cancel
  TensorLoad,    ///< tcgen05.ld
  TensorStore,
  TensorMma,
  TensorCopy,
  TensorShift,
  TensorCommit,
  WarpgroupMma,  ///< wgmma.mma_async, of all four warps together
  Count,
};

/// What shows a thread that an operation has finished.
enum class CompletionProof : uint8_t {
  Mbarrier,        ///< a wait for the mbarrier that it signals
  CopyGroup,       ///< cp.async.wait_group
  BulkGroupRead,   ///< cp.async.bulk.wait_group.read
  BulkGroupWrite,  ///< cp.async.bulk.wait_group
  TensorWait,      ///< tcgen05.wait
  TensorCommit,    ///< the mbarrier of a tcgen05.commit after it
  WarpgroupWait,   ///< wgmma.wait_group
};

struct OperationTraits {
  OperationKind kind = OperationKind::Count;
  std::string_view name;  ///< for counters and reports
  CompletionProof proof = CompletionProof::Mbarrier;
  bool genericProxy = false;  ///< its accesses are like those of ordinary instructions
  bool reduces = false;       ///< what it writes it combines atomically with what is there
};

const OperationTraits& traitsOf(OperationKind kind);
inline std::string_view nameOf(OperationKind kind) { return traitsOf(kind).name; }
/// An instruction of tcgen05.
inline bool isTensorOperation(OperationKind kind) {
  return kind >= OperationKind::TensorLoad && kind <= OperationKind::TensorCommit;
}

inline constexpr size_t kOperationKinds = static_cast<size_t>(OperationKind::Count);

}  // namespace shiftconv::emulator::machine
