// Asynchronous operations: what they knew when they were issued, who learns that they are over, and what outlives its CTA.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::hazards {

using machine::forEachLane;
using machine::kWarpLanes;
using machine::OperationKind;
using machine::Warp;

void HazardChecker::issued(OperationId id, const machine::AsyncOperation& issued) {
  if (operations_.isCrowded()) collectGarbage();
  const Warp& warp = *cluster_.ctas[issued.issuer.ctaRank]->warps[issued.issuer.warp];
  Operation operation;
  operation.id = id;
  operation.kind = issued.kind;
  operation.issuer = issued.issuer;
  operation.view = viewOf(warp, issued.issuer.lane);
  operation.pairs.kind = issued.pairs.kind;
  operation.pairs.accumulator = issued.pairs.accumulator;
  operation.pairs.ctas = issued.pairs.ctas;
  operation.before = issued.pairs.kind == 0 ? issued.predecessors : issued.pairs.before;
  if (issued.pairs.kind != 0)
    std::erase_if(operation.before, [&](OperationId earlier) {
      const Operation* found = operations_.find(earlier);
      return found == nullptr || !OperationTable::isIssueKnown(*found, operation.view);
    });
  operation.genericProxy = machine::traitsOf(issued.kind).genericProxy;
  if (issued.lanes != 0) {
    operation.laneViews.resize(kWarpLanes);
    forEachLane(issued.lanes, [&](unsigned lane) { operation.laneViews[lane] = viewOf(warp, lane); });
  }
  if (isFragment(operation)) {
    // The order that the machine keeps among those of a warp is a question (U30).
    fragments_[warpIndex(warp)].push_back({id, issued.kind, std::move(operation.before)});
    operation.before.clear();
    // All lanes take part: what counts is what all of them have acquired.
    operation.view.collective = true;
    forEachLane(warp.existing() & ~warp.exited(), [&](unsigned lane) {
      const ClockPointer& other = threadOf(warp, lane).view.tensor;
      if (other == operation.view.tensor) return;
      auto both = LocalPointer<Clock>::make(*operation.view.tensor);
      both->meet(*other);
      operation.view.tensor = std::move(both);
    });
  }
  if (issued.kind == OperationKind::WarpgroupMma) {
    operation.before.clear();  // its unit works in order, which no document promises beyond the accumulator
    operation.view.base = knownToWarpgroup(warp);
  }
  if (issued.kind == OperationKind::ThreadCopyArrive) {
    // It stands for all copies of its thread so far, complete or not.
    const Rare::Groups& copies = threadOf(warp, issued.issuer.lane).rare().groups[static_cast<size_t>(Group::Copy)];
    operation.before = copies.open;
    for (const auto& group : copies.committed) operation.before.insert(operation.before.end(), group.begin(), group.end());
  }
  Operation& added = operations_.add(std::move(operation));
  if (issued.pairs.kind != 0) operations_.track(added);
  if (issued.kind == OperationKind::TensorCommit) operations_.commit(added);
  if (!added.genericProxy && issued.kind != OperationKind::TensorCommit) outstanding_.push_back(id);
  advance(warp);  // what the thread does from now on is not before the operation
}

void HazardChecker::begin(OperationId id) {
  running_ = operations_.find(id);
  actsFor(kIssuingLane);
}

void HazardChecker::actsFor(unsigned lane) {
  runningLane_ = lane;
  runningMemo_ = {};
}

void HazardChecker::end() { running_ = nullptr; }

void HazardChecker::waitedTogether(const Warp& warp, OperationKind kind) {
  std::vector<OperationId> done;
  for (const Fragment& fragment : fragments_[warpIndex(warp)])
    if (fragment.kind == kind) done.push_back(fragment.id);
  if (!done.empty()) fragmentsDone(warp, done);
}

/// Whoever knows that every thread of the warp has issued a store, by a release after it, may take it for complete (question U35).
void HazardChecker::storesReleased(const Warp& warp) {
  const uint32_t index = warpIndex(warp);
  for (Fragment& store : fragments_[index]) {
    if (store.kind != OperationKind::TensorStore || std::exchange(store.released, true)) continue;
    if (const Operation* operation = operations_.find(store.id))
      operations_.complete(store.id, {Completion::Kind::Warp, index, operation->view.clock, Rules::Releases});
  }
}

/// These are over, and so are those that they follow as far as the machine keeps their order.
void HazardChecker::fragmentsDone(const Warp& warp, const std::vector<OperationId>& operations) {
  const uint32_t index = warpIndex(warp);
  std::vector<Fragment>& fragments = fragments_[index];
  std::vector<OperationId> over = operations;
  const auto isOver = [&](const Fragment& fragment) { return std::find(over.begin(), over.end(), fragment.id) != over.end(); };
  for (OperationId id : operations) operations_.complete(id, {Completion::Kind::Warp, index, clocks_[index]});
  for (auto fragment = fragments.rbegin(); fragment != fragments.rend(); ++fragment) {
    if (!isOver(*fragment)) continue;
    over.insert(over.end(), fragment->behind.begin(), fragment->behind.end());
    const bool isWaitedFor = std::find(operations.begin(), operations.end(), fragment->id) != operations.end();
    if (isWaitedFor || std::exchange(fragment->shown, true)) continue;
    operations_.complete(fragment->id, {Completion::Kind::Warp, index, clocks_[index], Rules::Machine});
  }
  over.resize(operations.size());
  std::erase_if(fragments, isOver);
}

void HazardChecker::warpgroupWaited(const Warp& warp, const std::vector<OperationId>& operations) {
  const uint32_t index = warpIndex(warp);
  for (OperationId id : operations) operations_.complete(id, {Completion::Kind::AnyLane, index, clocks_[index]});
}

/// What all threads of the warp's warpgroup have acquired.
ClockPointer HazardChecker::knownToWarpgroup(const Warp& warp) const {
  constexpr uint32_t kWarps = 4;
  // Warpgroups are counted in each CTA: the warps of a CTA need not be a multiple of four.
  const size_t first = size_t{warpIndex(warp) - warp.index % kWarps} * kWarpLanes;
  ClockPointer known = threads_[first].view.base;
  LocalPointer<Clock> common;
  const Clock* last = known.get();
  for (size_t thread = first + 1; thread < first + size_t{kWarps} * kWarpLanes; ++thread) {
    const ClockPointer& base = threads_[thread].view.base;
    if (base.get() == last) continue;
    last = base.get();
    if (!common) common = LocalPointer<Clock>::make(*known);
    common->meet(*base);
  }
  return common ? common : known;
}

void HazardChecker::addToGroup(Group kind, const Warp& warp, unsigned lane, OperationId id) {
  threadOf(warp, lane).rare().groups[static_cast<size_t>(kind)].open.push_back(id);
  if (kind != Group::Copy) return;
  if (Operation* copy = operations_.find(id)) copy->copyingLanes |= LaneMask{1} << lane;
}

void HazardChecker::commitGroup(Group kind, const Warp& warp, unsigned lane) {
  Rare::Groups& groups = threadOf(warp, lane).rare().groups[static_cast<size_t>(kind)];
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
}

void HazardChecker::waitedForGroups(Group kind, const Warp& warp, unsigned lane, uint64_t newest) {
  Thread& thread = threadOf(warp, lane);
  auto& committed = thread.rare().groups[static_cast<size_t>(kind)].committed;
  while (committed.size() > newest) {
    for (OperationId id : committed.front())
      operations_.complete(id, {Completion::Kind::Thread, thread.view.thread, thread.view.clock});
    committed.erase(committed.begin());
  }
}

void HazardChecker::waitedForAll(Group kind, const Warp& warp, unsigned lane) {
  commitGroup(kind, warp, lane);
  waitedForGroups(kind, warp, lane, 0);
}

View HazardChecker::knowledgeOf(uint32_t rank) const {
  auto everything = LocalPointer<Clock>::make();
  const size_t first = size_t{rank} * warpsPerCta_ * kWarpLanes, end = first + size_t{warpsPerCta_} * kWarpLanes;
  const Clock* last = nullptr;
  for (size_t thread = first; thread < end; ++thread) {
    const ClockPointer& base = threads_[thread].view.base;
    if (base.get() != last) everything->join(*base);
    last = base.get();
  }
  for (size_t thread = first; thread < end; ++thread) raise(everything->generic, thread, clocks_[thread / kWarpLanes]);
  View view;
  view.base = view.tensor = std::move(everything);
  view.thread = UINT32_MAX;
  return view;
}

/// What the memories and mbarriers of a CTA are used for must be over, and some thread of it must know it, before it exits.
void HazardChecker::ctaExits(uint32_t rank) {
  const View view = knowledgeOf(rank);
  const auto reportOnce = [&](HazardSeverity severity, const HazardAccess& access, const std::string& missing) {
    if (!reporter_.seen(HazardKind::Outlives, severity, 0, access.ptxLine))
      report(HazardKind::Outlives, severity, {}, access, missing);
  };
  // Of its own operations only those that write can do harm: memory is not given away under a read or a signal of its own CTA.
  const auto severityOf = [&](const machine::IssuePoint& issuer, bool writes) {
    return issuer.ctaRank == rank && !writes ? HazardSeverity::Formal : HazardSeverity::Race;
  };
  for (OperationId id : outstanding_) {
    const Operation* operation = operations_.find(id);
    if (operation == nullptr || (operation->ctas >> rank & 1) == 0 || operations_.isKnown(*operation, view, false)) continue;
    const bool released =
        (cluster_.options.semantics[Unproven::U35] == 0 && operations_.isKnown(*operation, view, false, Rules::Releases)) ||
        operations_.isKnown(*operation, view, false, Rules::Exits);
    reportOnce(
        severityOf(operation->issuer,
                   !released && machine::traitsOf(operation->kind).proof != machine::CompletionProof::BulkGroupRead),
        describeIssuer(operation->issuer,
                       fmt::format("{} that no thread of CTA rank {} has waited for", nameOf(operation->kind), rank)),
        fmt::format("{}, before the CTA exits and its memories and mbarriers are gone", proofOfCompletion(operation->kind, false)));
  }
  for (const auto& [place, barrier] : mbarriers_) {
    if (place.first != rank) continue;
    const uint32_t known = entry(view.base->barrier, barrier.slot);
    if (known < barrier.signalled)
      reportOnce(severityOf(barrier.signaller, false),
                 describeIssuer(barrier.signaller,
                                fmt::format("signal to the mbarrier at shared offset {:#x} of CTA rank {}, whose phase no "
                                            "thread there has waited for",
                                            place.second, rank)),
                 "a wait for that phase before the CTA exits: the signal may arrive when its mbarrier is gone");
    for (const auto& [thread, arrival] : barrier.remoteArrivals) {
      if (known > arrival.phase || entry(view.base->generic, thread) >= arrival.clock) continue;
      reportOnce(entry(view.base->exited, thread) >= arrival.clock ? HazardSeverity::Formal : HazardSeverity::Race,
                 describeIssuer(arrival.point,
                                fmt::format("arrival at the mbarrier at shared offset {:#x} of CTA rank {} from another CTA",
                                            place.second, rank)),
                 fmt::format("a cluster barrier, or a wait of CTA rank {} for that phase, before it exits", rank));
    }
  }
  if (cluster_.ctas.size() > 1) requirePeersDone(rank, view);
}

/// Accesses by threads of other CTAs to the shared memory of a CTA must have happened before it exits (CUDA Programming Guide,
/// distributed shared memory).
void HazardChecker::requirePeersDone(uint32_t rank, const View& view) {
  const Subject exit{view, nullptr, Access()};
  const auto require = [&](Access access, bool writes) {
    if (access.kind() == Access::Kind::Operation || access.kind() == Access::Kind::None) return;
    const uint32_t warp = access.kind() == Access::Kind::Warp ? access.warp() : access.thread() / kWarpLanes;
    if (warp / warpsPerCta_ == rank) return;
    if (order(access, writes, exit, false) == Verdict::Ordered) return;
    const HazardSeverity severity = findingOf(excuseOf(access, view)).severity;
    Place place;
    place.rank = rank;
    const HazardAccess user = describe(access, place, writes);
    if (reporter_.seen(HazardKind::Outlives, severity, 0, user.ptxLine)) return;
    report(
        HazardKind::Outlives, severity, {}, user,
        fmt::format("a cluster barrier, or an mbarrier of CTA rank {}, behind the access: that CTA may have exited by then", rank));
  };
  shared_[rank].forEach([&](const ShadowCell& cell) {
    require(Access(cell.writer), true);
    readerSets_.forEach(cell.readers, [&](Access reader) { require(reader, false); });
  });
}

/// Reader sets that no byte has are forgotten.
void HazardChecker::collectReaderSets() {
  runningMemo_ = {};
  readerSets_.keepOnly([&](auto&& rename) {
    const auto update = [&](ShadowCell& cell) { cell.readers = rename(cell.readers); };
    for (auto& shadow : shared_) shadow.update(update);
    for (auto& shadow : tensor_) shadow.update(update);
  });
}

/// Operations that no byte remembers are forgotten.
void HazardChecker::collectGarbage() {
  std::unordered_map<OperationId, bool> used;
  const auto note = [&](Access access) {
    if (access.kind() == Access::Kind::Operation) used[access.operation()] = true;
  };
  const auto scan = [&](const ShadowCell& cell) {
    note(Access(cell.writer));
    readerSets_.forEach(cell.readers, note);
  };
  for (const auto& shadow : shared_) shadow.forEach(scan);
  for (const auto& shadow : tensor_) shadow.forEach(scan);
  for (const Thread& thread : threads_)
    if (thread.made)
      for (const auto& groups : thread.made->groups) {
        for (OperationId id : groups.open) used[id] = true;
        for (const auto& group : groups.committed)
          for (OperationId id : group) used[id] = true;
      }
  std::vector<View> knowledge;
  for (uint32_t rank = 0; rank < shared_.size(); ++rank) knowledge.push_back(knowledgeOf(rank));
  std::erase_if(outstanding_, [&](OperationId id) {
    const Operation* operation = operations_.find(id);
    if (operation == nullptr) return true;
    if (!cluster_.queue.isComplete(id)) return false;
    for (uint32_t rank = 0; rank < knowledge.size(); ++rank)
      if ((operation->ctas >> rank & 1) != 0 && !operations_.isKnown(*operation, knowledge[rank], false)) return false;
    return true;
  });
  for (OperationId id : outstanding_) used[id] = true;
  operations_.collect([&](OperationId id) { return used.contains(id) || !cluster_.queue.isComplete(id); });
  for (auto& fragments : fragments_)
    std::erase_if(fragments, [&](const Fragment& fragment) { return operations_.find(fragment.id) == nullptr; });
}

}  // namespace shiftconv::emulator::hazards
