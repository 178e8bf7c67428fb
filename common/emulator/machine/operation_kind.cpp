#include "common/emulator/machine/operation_kind.hpp"

#include <array>

namespace shiftconv::emulator::machine {
namespace {

constexpr std::array<OperationTraits, kOperationKinds> kTraits{{
    {OperationKind::ThreadCopy, "cp.async", CompletionProof::CopyGroup, true},
    {OperationKind::ThreadCopyArrive, "cp.async.mbarrier.arrive", CompletionProof::Mbarrier, true},
    {OperationKind::BulkLoad, "cp.async.bulk load"},
    {OperationKind::BulkToPeer, "cp.async.bulk to peer"},
    {OperationKind::BulkReduceToPeer, "cp.reduce.async.bulk to peer", CompletionProof::Mbarrier, false, true},
    {OperationKind::BulkStoreRead, "cp.async.bulk store: read", CompletionProof::BulkGroupRead},
    {OperationKind::BulkStoreWrite, "cp.async.bulk store: write", CompletionProof::BulkGroupWrite},
    {OperationKind::BulkReduceRead, "cp.reduce.async.bulk: read", CompletionProof::BulkGroupRead, false, true},
    {OperationKind::BulkReduceWrite, "cp.reduce.async.bulk: write", CompletionProof::BulkGroupWrite, false, true},
    {OperationKind::TileLoad, "cp.async.bulk.tensor load"},
    {OperationKind::TileStoreRead, "cp.async.bulk.tensor store: read", CompletionProof::BulkGroupRead},
    {OperationKind::TileStoreWrite, "cp.async.bulk.tensor store: write", CompletionProof::BulkGroupWrite},
    {OperationKind::TileReduceRead, "cp.reduce.async.bulk.tensor: read", CompletionProof::BulkGroupRead, false, true},
    {OperationKind::TileReduceWrite, "cp.reduce.async.bulk.tensor: write", CompletionProof::BulkGroupWrite, false, true},
    {OperationKind::RemoteStore, "st.async"},
    {OperationKind::RemoteReduce, "red.async", CompletionProof::Mbarrier, false, true},
    {OperationKind::CancelLaunch, "clusterlaunchcontrol.try_cancel"},
    {OperationKind::TensorLoad, "tcgen05.ld", CompletionProof::TensorWait},
    {OperationKind::TensorStore, "tcgen05.st", CompletionProof::TensorWait},
    {OperationKind::TensorMma, "tcgen05.mma", CompletionProof::TensorCommit},
    {OperationKind::TensorCopy, "tcgen05.cp", CompletionProof::TensorCommit},
    {OperationKind::TensorShift, "tcgen05.shift", CompletionProof::TensorCommit},
    {OperationKind::TensorCommit, "tcgen05.commit", CompletionProof::TensorCommit},
    {OperationKind::WarpgroupMma, "wgmma.mma_async", CompletionProof::WarpgroupWait},
}};

constexpr bool isInOrder() {
  for (size_t i = 0; i < kTraits.size(); ++i)
    if (kTraits[i].kind != static_cast<OperationKind>(i)) return false;
  return true;
}
static_assert(isInOrder(), "a row for every kind, in the order of the enumeration");

}  // namespace

const OperationTraits& traitsOf(OperationKind kind) { return kTraits[static_cast<size_t>(kind)]; }

}  // namespace shiftconv::emulator::machine
