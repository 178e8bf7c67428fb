// tcgen05.commit and tcgen05.fence (PTX ISA 9.7.16.11, 9.7.16.12).
//
// A commit is itself an operation: it completes when every mma, cp and shift that its thread issued before has, and then
// arrives once on its mbarriers. With nothing outstanding it may complete at once.
#include <fmt/format.h>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/tensor/tensor_forms.hpp"

namespace shiftconv::emulator::tensor {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::ResolvedAddress;

struct CommitDetail : machine::InstructionDetail {
  uint32_t ctaGroup = 1;
  bool sharedAddress = false;  ///< .shared::cluster
  bool multicast = false;
  tma::LaneAddress mbarrier;
};

tma::SharedPlace mbarrierPlace(const Execution& execution, const CommitDetail& detail, unsigned lane) {
  if (detail.sharedAddress) return tma::sharedPlace(execution, detail.mbarrier, lane, true, "mbarrier");
  const uint64_t address = detail.mbarrier.at(execution, lane);
  const ResolvedAddress place = resolveGeneric(execution.warp.cta.cluster, address);
  if (place.space != ResolvedAddress::Space::Shared) {
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("The mbarrier {:#x} of tcgen05.commit is not in shared memory.", address));
  }
  return {place.cta, static_cast<uint32_t>(place.offset)};
}

void runCommit(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<CommitDetail>();
  machine::Cluster& cluster = execution.warp.cta.cluster;
  participants(execution.warp.cta, detail.ctaGroup);
  Ordering& ordering = orderingOf(execution.warp.cta);
  tma::forEachLane(execution, [&](unsigned lane) {
    const tma::SharedPlace place = mbarrierPlace(execution, detail, lane);
    std::vector<machine::Cta*> targets{place.cta};
    if (detail.multicast) {
      targets.clear();
      const uint16_t mask = execution.lanes<uint16_t>(instruction.operand[0])[lane];
      for (uint32_t rank = 0; rank < 16; ++rank) {
        if (!(mask >> rank & 1)) continue;
        if (rank >= cluster.ctas.size()) {
          throw EmulatorError(ErrorKind::IllegalInstruction,
                              fmt::format("The CTA mask {:#06x} of tcgen05.commit names CTA {}, but the cluster "
                                          "has {} CTAs.",
                                          mask, rank, cluster.ctas.size()));
        }
        targets.push_back(cluster.ctas[rank].get());
      }
    }
    const uint32_t thread = clusterThread(execution.warp, lane);
    const machine::OperationId id = cluster.queue.issue({machine::OperationKind::TensorCommit, execution.warp.issuePoint(lane),
                                                         ordering.tracked(thread, cluster.queue),
                                                         [targets = std::move(targets), offset = place.offset, &cluster] {
                                                           for (machine::Cta* cta : targets) cta->mbarriers.arrive(offset, 1);
                                                           ++cluster.wakeups;
                                                         }});
    ordering.commit(thread, id);
  });
}

void runFenceBefore(Execution& execution, const DecodedInstruction&) {
  Ordering& ordering = orderingOf(execution.warp.cta);
  tma::forEachLane(execution, [&](unsigned lane) { ordering.release(clusterThread(execution.warp, lane)); });
  if (auto* observer = execution.warp.cta.cluster.observer.get())
    observer->fence(execution.warp, execution.mask, machine::FenceKind::TensorBefore);
}

void runFenceAfter(Execution& execution, const DecodedInstruction&) {
  Ordering& ordering = orderingOf(execution.warp.cta);
  const machine::AsyncQueue& queue = execution.warp.cta.cluster.queue;
  tma::forEachLane(execution, [&](unsigned lane) { ordering.acquire(clusterThread(execution.warp, lane), queue); });
  if (auto* observer = execution.warp.cta.cluster.observer.get())
    observer->fence(execution.warp, execution.mask, machine::FenceKind::TensorAfter);
}

void decodeCommit(DecodeContext& context, const FormMatch& match) {
  auto detail = std::make_shared<CommitDetail>();
  detail->ctaGroup = ctaGroupOf(match);
  detail->sharedAddress = match.has("shared::cluster");
  detail->multicast = match.has("multicast::cluster");
  tma::OperandCursor operands(context);
  detail->mbarrier = operands.address("mbarrier");
  if (detail->multicast) context.out().operand[0] = operands.source("CTA mask", ptx::ScalarType::U16);
  operands.finish();
  context.out().handler = runCommit;
  context.out().detail = std::move(detail);
}

template <machine::Handler Run>
void decodeFence(DecodeContext& context, const FormMatch&) {
  tma::OperandCursor(context).finish();
  context.out().handler = Run;
}

}  // namespace

isa::FormFamily commitForms() {
  return {
      {"tcgen05.commit.(cta_group::1|cta_group::2).mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64", decodeCommit},
      {"tcgen05.fence::before_thread_sync", decodeFence<runFenceBefore>},
      {"tcgen05.fence::after_thread_sync", decodeFence<runFenceAfter>},
  };
}

}  // namespace shiftconv::emulator::tensor
