// cp.async.bulk and cp.reduce.async.bulk without a tensor map, and bulk async-groups (PTX ISA 9.0, 9.7.9.25.4 and 9.7.9.25.6).
//
// Every copy is an asynchronous operation without predecessors: nothing orders bulk copies against each other. A copy
// out of shared memory is two operations, read and write, so that `wait_group.read` does not promise the write.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/bulk/bulk_operands.hpp"
#include "common/emulator/forms/bulk/bulk_tensor_forms.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/racing_copy.hpp"
#include "common/emulator/tma/bulk_groups.hpp"
#include "common/emulator/tma/reduction.hpp"

namespace shiftconv::emulator::tma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::Cluster;
using machine::Cta;
using machine::DecodedInstruction;
using machine::Execution;
using machine::Observer;
using machine::OperationKind;
using machine::Slot;

BulkGroups& groupsOf(Cta& cta) { return machine::unitOf<BulkGroups>(cta); }

constexpr uint32_t kGranule = 16;  ///< alignment of addresses and of sizes

struct BulkCopy : machine::InstructionDetail {
  LaneAddress destination, source, mbarrier;
  Slot size = machine::kNoSlot;
  Slot byteMask = machine::kNoSlot;  ///< .cp_mask: bit i keeps byte i of every 16
  Slot ctaMask = machine::kNoSlot;   ///< .multicast::cluster
  bool clusterDestination = false;
  Reduction reduction = nullptr;  ///< cp.reduce: combines instead of overwriting
};

uint32_t copySize(const Execution& execution, const BulkCopy& copy, unsigned lane) {
  const uint32_t size = execution.lanes<uint32_t>(copy.size)[lane];
  if (size % kGranule != 0)
    throw EmulatorError(ErrorKind::Misaligned,
                        fmt::format("size {} of the bulk copy (lane {}) is not a multiple of {}", size, lane, kGranule));
  return size;
}

SharedPlace mbarrierOf(const Execution& execution, const BulkCopy& copy, unsigned lane, const SharedPlace& destination) {
  const SharedPlace mbarrier = sharedPlace(execution, copy.mbarrier, lane, copy.clusterDestination, "mbarrier");
  if (mbarrier.cta != destination.cta)
    throw EmulatorError(
        ErrorKind::Synchronisation,
        fmt::format("the mbarrier lies in cluster CTA {}, but the bulk copy writes to CTA {}: both must be the same",
                    mbarrier.cta->rank, destination.cta->rank));
  return mbarrier;
}

void runGlobalToShared(Execution& execution, const DecodedInstruction& instruction) {
  const auto& copy = instruction.as<BulkCopy>();
  Cluster& cluster = execution.warp.cta.cluster;
  forEachLane(execution, [&](unsigned lane) {
    const uint32_t size = copySize(execution, copy, lane);
    const uint64_t source = copy.source.at(execution, lane);
    const SharedPlace destination = sharedPlace(execution, copy.destination, lane, copy.clusterDestination, "destination");
    const SharedPlace mbarrier = mbarrierOf(execution, copy, lane, destination);
    const auto issue = [&](Cta& target, bool countRead) {
      cluster.queue.issue({OperationKind::BulkLoad, execution.warp.issuePoint(lane), {}, [=, &cluster, &target] {
                             const auto from = cluster.global.read(source, size, kGranule);
                             machine::racingCopy(target.shared.write(destination.offset, size, kGranule), from.bytes, size);
                             for (const auto& [address, bytes] : from.undefined)
                               target.shared.undefine(destination.offset + static_cast<uint32_t>(address - source),
                                                      static_cast<uint32_t>(bytes), address);
                             if (countRead) cluster.counters.addBytes(Engine::BulkCopy, Traffic::GlobalRead, size);
                             cluster.counters.addBytes(Engine::BulkCopy, Traffic::SharedWrite, size);
                             signalTransactions(target, mbarrier.offset, size);
                           }});
    };
    if (copy.ctaMask == machine::kNoSlot) return issue(*destination.cta, true);
    forEachMulticastTarget(cluster, execution.lanes<uint16_t>(copy.ctaMask)[lane], issue);
  });
}

void runSharedToPeer(Execution& execution, const DecodedInstruction& instruction) {
  const auto& copy = instruction.as<BulkCopy>();
  Cta& self = execution.warp.cta;
  Cluster& cluster = self.cluster;
  forEachLane(execution, [&](unsigned lane) {
    const uint32_t size = copySize(execution, copy, lane);
    const SharedPlace source = sharedPlace(execution, copy.source, lane, false, "source");
    const SharedPlace destination = sharedPlace(execution, copy.destination, lane, true, "destination");
    if (destination.cta == &self)
      throw EmulatorError(
          ErrorKind::IllegalInstruction,
          fmt::format(
              "the destination of a bulk copy between shared memories (lane {}) lies in the executing CTA {}; it must lie in "
              "another CTA of the cluster",
              lane, self.rank));
    const SharedPlace mbarrier = mbarrierOf(execution, copy, lane, destination);
    const Reduction reduction = copy.reduction;
    cluster.queue.issue({reduction ? OperationKind::BulkReduceToPeer : OperationKind::BulkToPeer,
                         execution.warp.issuePoint(lane),
                         {},
                         [=, &cluster] {
                           const std::byte* from = source.cta->shared.read(source.offset, size, kGranule);
                           machine::SharedMemory& target = destination.cta->shared;
                           if (reduction) target.read(destination.offset, size, kGranule);
                           std::byte* to = target.write(destination.offset, size, kGranule);
                           if (reduction)
                             reduction(to, from, size, {.global = false, .bulk = true});
                           else
                             std::memcpy(to, from, size);
                           source.cta->shared.forEachUndefined(source.offset, size, [&](uint32_t first, uint32_t count) {
                             target.undefine(destination.offset + (first - source.offset), count);
                           });
                           cluster.counters.addBytes(Engine::BulkCopy, Traffic::SharedRead, size);
                           cluster.counters.addBytes(Engine::BulkCopy, Traffic::SharedWrite, size);
                           signalTransactions(*destination.cta, mbarrier.offset, size);
                         }});
  });
}

void runSharedToGlobal(Execution& execution, const DecodedInstruction& instruction) {
  const auto& copy = instruction.as<BulkCopy>();
  Cluster& cluster = execution.warp.cta.cluster;
  EqualStores issued(copy.reduction == nullptr);
  forEachLane(execution, [&](unsigned lane) {
    const uint32_t size = copySize(execution, copy, lane);
    const uint16_t keep = copy.byteMask == machine::kNoSlot ? 0xffff : execution.lanes<uint16_t>(copy.byteMask)[lane];
    const SharedPlace source = sharedPlace(execution, copy.source, lane, false, "source");
    const uint64_t destination = copy.destination.at(execution, lane);
    std::vector<uint64_t> operands{destination, source.offset, size, keep};
    if (issued.joins(execution, lane, operands)) return;
    const auto staged = std::make_shared<std::vector<std::byte>>(size);
    const machine::IssuePoint issuer = execution.warp.issuePoint(lane);
    const Reduction reduction = copy.reduction;
    const auto kept = [keep](uint32_t byte) { return (keep >> (byte % kGranule) & 1) != 0; };
    const auto read =
        cluster.queue.issue({reduction ? OperationKind::BulkReduceRead : OperationKind::BulkStoreRead, issuer, {}, [=, &cluster] {
                               if (keep == 0xffff) {
                                 std::memcpy(staged->data(), source.cta->shared.read(source.offset, size, kGranule), size);
                                 source.cta->shared.noteStored(source.offset, size, destination);
                               } else {
                                 source.cta->shared.read(source.offset, 0, kGranule);  // alignment; dropped bytes may be unwritten
                                 for (uint32_t i = 0; i < size; ++i) {
                                   if (!kept(i)) continue;
                                   (*staged)[i] = *source.cta->shared.read(source.offset + i, 1, 1);
                                   source.cta->shared.noteStored(source.offset + i, 1, destination + i);
                                 }
                               }
                               cluster.counters.addBytes(Engine::BulkCopy, Traffic::SharedRead, size);
                               ++cluster.wakeups;
                             }});
    const auto write = cluster.queue.issue(
        {reduction ? OperationKind::BulkReduceWrite : OperationKind::BulkStoreWrite, issuer, {read}, [=, &cluster] {
           std::byte* to = cluster.global.write(destination, size, kGranule);
           if (reduction) {
             reduction(to, staged->data(), size, {.global = true, .bulk = true});
           } else if (keep == 0xffff) {
             machine::racingCopy(to, staged->data(), size);
           } else {
             for (uint32_t i = 0; i < size; ++i)
               if (kept(i)) machine::racingCopy(to + i, staged->data() + i, 1);
           }
           cluster.counters.addBytes(Engine::BulkCopy, Traffic::GlobalWrite, size);
           ++cluster.wakeups;
         }});
    issued.add(execution, lane, std::move(operands), read, write);
  });
}

/// An L2 prefetch moves nothing that a kernel can see; only its operands are checked.
void runPrefetch(Execution& execution, const DecodedInstruction& instruction) {
  const auto& copy = instruction.as<BulkCopy>();
  forEachLane(execution, [&](unsigned lane) {
    copySize(execution, copy, lane);
    const uint64_t source = copy.source.at(execution, lane);
    if (source % kGranule != 0)
      throw EmulatorError(ErrorKind::Misaligned, fmt::format("source {:#x} of the bulk prefetch (lane {}) is not a multiple of {}",
                                                             source, lane, kGranule));
    ++execution.warp.cta.cluster.counters.operations["cp.async.bulk prefetch"];
  });
}

/// Decodes the operands in their order; which exist follows from the qualifiers.
enum class Direction : uint8_t { GlobalToShared, SharedToPeer, SharedToGlobal, Prefetch };

template <Direction direction>
void decodeCopy(DecodeContext& context, const FormMatch& match) {
  constexpr bool hasDestination = direction != Direction::Prefetch;
  constexpr bool hasMbarrier = direction == Direction::GlobalToShared || direction == Direction::SharedToPeer;
  auto copy = std::make_shared<BulkCopy>();
  OperandCursor operands(context);
  if (hasDestination) copy->destination = operands.address("destination");
  copy->source = operands.address("source");
  copy->size = operands.source("size", ptx::ScalarType::U32);
  if (hasMbarrier) copy->mbarrier = operands.address("mbarrier");
  if (match.has("multicast::cluster")) copy->ctaMask = operands.source("CTA mask", ptx::ScalarType::U16);
  if (match.has("L2::cache_hint")) operands.source("cache policy", ptx::ScalarType::B64);
  if (match.has("cp_mask")) copy->byteMask = operands.source("byte mask", ptx::ScalarType::U16);
  operands.finish();
  copy->clusterDestination = match.has("shared::cluster");
  const std::string_view operation = reductionName(match);
  if (!operation.empty()) copy->reduction = reductionFor(operation, match.type());
  constexpr machine::Handler kHandlers[] = {runGlobalToShared, runSharedToPeer, runSharedToGlobal, runPrefetch};
  context.out().handler = kHandlers[static_cast<size_t>(direction)];
  context.out().detail = std::move(copy);
}

void runCommit(Execution& execution, const DecodedInstruction&) {
  auto* observer = execution.warp.cta.cluster.observer.get();
  forEachLane(execution, [&](unsigned lane) {
    groupsOf(execution.warp.cta).commit(execution.warp.thread(lane));
    if (observer == nullptr) return;
    observer->commitGroup(Observer::Group::BulkRead, execution.warp, lane);
    observer->commitGroup(Observer::Group::BulkWrite, execution.warp, lane);
  });
}

void decodeCommit(DecodeContext& context, const FormMatch&) {
  OperandCursor(context).finish();
  context.out().handler = runCommit;
}

template <bool readsOnly>
void runWait(Execution& execution, const DecodedInstruction& instruction) {
  const auto allowed = static_cast<uint32_t>(instruction.immediate);
  std::string reason;
  forEachLane(execution, [&](unsigned lane) {
    const uint32_t pending = groupsOf(execution.warp.cta).pending(execution.warp.thread(lane), readsOnly);
    if (pending > allowed && reason.empty())
      reason = fmt::format("bulk async-groups of lane {}: {} pending, at most {} allowed{}", lane, pending, allowed,
                           readsOnly ? " (reads only)" : "");
  });
  if (!reason.empty()) return execution.warp.block({.text = reason});
  auto* observer = execution.warp.cta.cluster.observer.get();
  if (observer == nullptr) return;
  forEachLane(execution, [&](unsigned lane) {
    observer->waitedForGroups(Observer::Group::BulkRead, execution.warp, lane, allowed);
    if (!readsOnly) observer->waitedForGroups(Observer::Group::BulkWrite, execution.warp, lane, allowed);
  });
}

void decodeWait(DecodeContext& context, const FormMatch& match) {
  OperandCursor operands(context);
  const uint64_t groups = context.integer(operands.next("number of groups"));
  operands.finish();
  if (groups > 0xffffffffu) context.illegal("the number of groups must not be negative");
  context.out().handler = match.has("read") ? runWait<true> : runWait<false>;
  context.out().immediate = groups;
  context.out().endsGroup = true;
}

}  // namespace

bool EqualStores::joins(const Execution& execution, unsigned lane, const std::vector<uint64_t>& operands) const {
  if (!merges_) return false;
  const auto equal = std::find_if(stores_.begin(), stores_.end(), [&](const Store& store) { return store.operands == operands; });
  if (equal == stores_.end()) return false;
  addToBulkGroup(execution, lane, equal->read, equal->write);
  return true;
}

void EqualStores::add(const Execution& execution, unsigned lane, std::vector<uint64_t> operands, machine::OperationId read,
                      machine::OperationId write) {
  addToBulkGroup(execution, lane, read, write);
  if (merges_) stores_.push_back({std::move(operands), read, write});
}

void addToBulkGroup(const Execution& execution, unsigned lane, machine::OperationId read, machine::OperationId write) {
  Cta& cta = execution.warp.cta;
  groupsOf(cta).add(execution.warp.thread(lane), read, write);
  if (auto* observer = cta.cluster.observer.get()) {
    observer->addToGroup(Observer::Group::BulkRead, execution.warp, lane, read);
    observer->addToGroup(Observer::Group::BulkWrite, execution.warp, lane, write);
  }
}

std::string_view reductionName(const isa::FormMatch& match) {
  for (std::string_view name : {"add", "min", "max", "inc", "dec", "and", "or", "xor"})
    if (match.has(name)) return name;
  return {};
}

void forEachMulticastTarget(Cluster& cluster, uint16_t mask, const std::function<void(Cta& target, bool first)>& action) {
  // An empty mask copies nothing; one that names CTAs beyond the cluster is a launch failure (observed on an H200).
  if (mask >> cluster.ctas.size() != 0)
    throw EmulatorError(
        ErrorKind::OutOfBounds,
        fmt::format("CTA mask {:#06x} of the multicast names CTAs beyond the {} of the cluster", mask, cluster.ctas.size()));
  bool first = true;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    action(*cluster.ctas[static_cast<size_t>(std::countr_zero(left))], first);
    first = false;
  }
}

}  // namespace shiftconv::emulator::tma

#define SHIFTCONV_REDUCE_GLOBAL "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}"
#define SHIFTCONV_REDUCE_PEER "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"

namespace shiftconv::emulator::isa {

FormFamily bulkCopyForms() {
  using tma::Direction;
  FormFamily forms{
      {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}",
       tma::decodeCopy<Direction::GlobalToShared>},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}",
       tma::decodeCopy<Direction::GlobalToShared>},
      {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", tma::decodeCopy<Direction::SharedToPeer>},
      {"cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}{.cp_mask}", tma::decodeCopy<Direction::SharedToGlobal>},
      {SHIFTCONV_REDUCE_GLOBAL ".add.(u32|s32|u64|f32|f64)", tma::decodeCopy<Direction::SharedToGlobal>},
      {SHIFTCONV_REDUCE_GLOBAL ".add.noftz.(f16|bf16)", tma::decodeCopy<Direction::SharedToGlobal>},
      {SHIFTCONV_REDUCE_GLOBAL ".(min|max).(u32|s32|u64|s64|f16|bf16)", tma::decodeCopy<Direction::SharedToGlobal>},
      {SHIFTCONV_REDUCE_GLOBAL ".(inc|dec).u32", tma::decodeCopy<Direction::SharedToGlobal>},
      {SHIFTCONV_REDUCE_GLOBAL ".(and|or|xor).(b32|b64)", tma::decodeCopy<Direction::SharedToGlobal>},
      {SHIFTCONV_REDUCE_PEER ".add.(u32|s32|u64)", tma::decodeCopy<Direction::SharedToPeer>},
      {SHIFTCONV_REDUCE_PEER ".(min|max).(u32|s32)", tma::decodeCopy<Direction::SharedToPeer>},
      {SHIFTCONV_REDUCE_PEER ".(inc|dec).u32", tma::decodeCopy<Direction::SharedToPeer>},
      {SHIFTCONV_REDUCE_PEER ".(and|or|xor).b32", tma::decodeCopy<Direction::SharedToPeer>},
      {"cp.async.bulk.prefetch.L2.global{.L2::cache_hint}", tma::decodeCopy<Direction::Prefetch>},
      {"cp.async.bulk.commit_group", tma::decodeCommit},
      {"cp.async.bulk.wait_group{.read}", tma::decodeWait},
  };
  for (const FormFamily& part : {tma::bulkTensorForms(), tma::mapEditForms(), tma::remoteStoreForms()})
    forms.insert(forms.end(), part.begin(), part.end());
  return forms;
}

}  // namespace shiftconv::emulator::isa
