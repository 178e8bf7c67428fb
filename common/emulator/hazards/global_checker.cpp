#include "common/emulator/hazards/global_checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::hazards {

using machine::forEachLane;
using machine::kAllLanes;
using machine::kWarpLanes;
using machine::Warp;

// --- what the machine tells the checker of a cluster -----------------------------------------------------------------

void HazardChecker::globalAccess(const Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes,
                                 bool reads, bool writes) {
  if (const LaneMask undefined = current_.sources & lanes; following && writes && !reads && undefined != 0)
    reportUndefined(warp, undefined, "what is stored to global memory is undefined");
  global_->access(warp, lanes, addresses, bytes, reads, writes);
}

void HazardChecker::globalValuesRead() { global_->valuesRead(); }
void HazardChecker::mapAcquired(const Warp& warp, unsigned lane, uint64_t address) { global_->mapAcquired(warp, lane, address); }
void HazardChecker::mapUsed(const Warp& warp, unsigned lane, uint64_t address) { global_->mapUsed(warp, lane, address); }

std::span<const machine::ByteRange> HazardChecker::operationGlobal(uint64_t address, uint64_t bytes, bool writes, unsigned lane) {
  if (running_ == nullptr || bytes == 0) return {};
  if (!running_->usesGlobal) {
    running_->usesGlobal = true;
    for (const Completion& completion : running_->completions) global_->operationCompleted(running_->id, completion);
  }
  const View& view = lane < running_->laneViews.size() ? running_->laneViews[lane] : running_->view;
  global_->operationAccess(*running_, view, address, bytes, writes);
  return global_->undefined();
}

std::unique_ptr<machine::Observer> watch(machine::Cluster& cluster, const LaunchWatch& launch, uint64_t index) {
  return std::make_unique<HazardChecker>(cluster, launch.reporter, launch.shadow, launch.launch, static_cast<uint32_t>(index));
}

// --- accesses ---------------------------------------------------------------------------------------------------------

GlobalChecker::Verdict GlobalChecker::orderOfOperation(const GlobalAccess& earlier, const View& view) {
  const std::vector<Completion> completions = launch_.completions(earlier.cluster, earlier.operationId());
  return std::any_of(completions.begin(), completions.end(),
                     [&](const Completion& completion) { return OperationTable::proves(completion, view, false); })
             ? Verdict::Ordered
             : Verdict::Race;
}

GlobalChecker::Verdict GlobalChecker::order(const GlobalAccess& earlier, bool earlierWrites, const Visitor& later) {
  if (!earlier.isLaunch()) return Verdict::Ordered;
  if (earlier.launch != launch_.number) {
    const bool mayRun = overlaps_ && !later.subject.view.base->prerequisites && shadow_.launches().overlap(earlier.launch, launch_);
    return isOfEarlierLaunch(earlier) && !mayRun ? Verdict::Ordered : Verdict::Race;
  }
  if (earlier.wide != 0 && later.access.wide != 0) return Verdict::Ordered;
  const Subject& subject = later.subject;
  if (earlier.cluster == cluster_) {
    if (!earlier.isOperation()) return base_.order(earlier.access(), earlierWrites, subject, false);
    if (subject.operation != nullptr && static_cast<uint32_t>(subject.operation->id) == earlier.operationId())
      return Verdict::Ordered;
    return orderOfOperation(earlier, subject.view);
  }
  if (!subject.view.base->foreign) return Verdict::Race;
  const auto& clusters = subject.view.base->foreign->clusters;
  const auto known = clusters.find(earlier.cluster);
  if (known == clusters.end()) return Verdict::Race;
  // The cluster's clock as seen from outside: by none of its threads.
  if (outsideOf_ != known->second) {
    outsideOf_ = known->second;
    outside_ = ClockPointer::make(*outsideOf_);
  }
  View outside;
  outside.base = outside.tensor = outside_;
  outside.thread = UINT32_MAX;
  if (earlier.isOperation()) return orderOfOperation(earlier, outside);
  const Access access = earlier.access();
  const bool whole = access.kind() == Access::Kind::Warp;
  const uint32_t first = whole ? access.warp() * kWarpLanes : access.thread();
  for (uint32_t thread = first; thread < first + (whole ? kWarpLanes : 1); ++thread) {
    if (entry(outside.base->generic, thread) < access.clock()) return Verdict::Race;
    if (earlierWrites && subject.asyncProxy && entry(outside.base->proxied, thread) < access.clock()) return Verdict::ProxyFence;
  }
  return Verdict::Ordered;
}

void GlobalChecker::addReader(GlobalCell& cell, const Visitor& visitor, Memo& memo) {
  GlobalAccess& first = cell.readers[0];
  GlobalAccess& second = cell.readers[1];
  if (first == visitor.access || second == visitor.access) return;
  if (first == memo.readers[0] && second == memo.readers[1] && memo.kept[0].launch != GlobalAccess::kNobody) {
    first = memo.kept[0];
    second = memo.kept[1];
    return;
  }
  memo.readers[0] = first;
  memo.readers[1] = second;
  // Readers that happened before this one are covered by it.
  for (GlobalAccess& reader : cell.readers)
    if (reader.isLaunch() && order(reader, false, visitor) == Verdict::Ordered) reader = {};
  if (!first.isLaunch())
    first = visitor.access;
  else if (!second.isLaunch() || first.cluster != cluster_ || first.launch != launch_.number)
    second = visitor.access;
  else
    first = visitor.access;
  memo.kept[0] = first;
  memo.kept[1] = second;
}

void GlobalChecker::touch(GlobalCell& cell, const Visitor& visitor, Memo& memo) {
  if (!(cell.writer == memo.writer)) {
    const Verdict verdict = order(cell.writer, true, visitor);
    if (verdict != Verdict::Ordered) reportConflict(verdict, cell.writer, true, visitor);
    memo.writer = cell.writer;
  }
  if (!visitor.writes) return addReader(cell, visitor, memo);
  for (size_t i = 0; i < 2; ++i) {
    const GlobalAccess& reader = cell.readers[i];
    if (!reader.isLaunch() || reader == memo.readers[i]) continue;
    const Verdict verdict = order(reader, false, visitor);
    if (verdict != Verdict::Ordered) reportConflict(verdict, reader, false, visitor);
    memo.readers[i] = reader;
  }
  cell.writer = visitor.access;
  cell.readers[0] = cell.readers[1] = {};
}

/// A cell that is read although nothing is known to have written it: unless the memory shows otherwise, its bytes are undefined.
void GlobalChecker::noteUndefined(GlobalCell& cell, uint64_t address, uint64_t bytes) {
  if (!shadow_.memory().isUnwritten(address, bytes)) {
    cell.writer = GlobalAccess::byHost(GlobalAccess::kHost);
    return;
  }
  if (!undefined_.empty() && undefined_.back().address + undefined_.back().bytes == address)
    undefined_.back().bytes += bytes;
  else
    undefined_.push_back({address, bytes});
}

bool GlobalChecker::haveAwaited(const Warp& warp, LaneMask lanes) const {
  bool all = true;
  forEachLane(lanes, [&](unsigned lane) { all = all && base_.threadOf(warp, lane).view.base->prerequisites; });
  return all;
}

void GlobalChecker::access(const Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool reads, bool writes) {
  valuesRead();
  undefined_.clear();
  const HazardChecker::Semantics& semantics = base_.semanticsOf(warp);
  const uint64_t some = addresses[static_cast<unsigned>(std::countr_zero(lanes))];
  const bool together = !overlaps_ || haveAwaited(warp, lanes);  // else every lane for itself
  if (together && !writes && !semantics.strong && lanes == kAllLanes &&
      std::all_of(addresses.begin(), addresses.end(), [&](uint64_t address) { return address == some; }))
    return broadcast(warp, some, bytes);
  const uint32_t clock = base_.clocks_[base_.warpIndex(warp)];
  const uint32_t site = semantics.site;
  if (together && !semantics.strong) {
    const Access ofLane0 = Access::byThread(base_.threadIndex(warp.cta.rank, warp.index, 0), clock, site, false);
    lanes = walkOn(warp, lanes, addresses, bytes, writes, ofLane0);
    if (lanes == kAllLanes) lanes = accessLines(warp, addresses, bytes, reads, writes, ofLane0);
    if (lanes != 0) lanes = accessSectors(warp, lanes, addresses, bytes, reads, writes, ofLane0);
    if (lanes != 0) lanes = accessAlone(warp, lanes, addresses, bytes, reads, writes, ofLane0);
    if (lanes == 0) return;
  }
  PageHold held;
  unsigned undefinedLane = kWarpLanes;
  forEachLane(lanes, [&](unsigned lane) {
    HazardChecker::Thread& thread = base_.threadOf(warp, lane);
    if (semantics.strong) {
      if (semantics.wide && writes) publish(thread, addresses[lane], semantics.release);
      base_.synchronises(warp, lane, addresses[lane], semantics, reads, writes);
      if (semantics.wide && reads) deferred_.push_back({thread.view.thread, addresses[lane], semantics.acquire});
    }
    const Subject subject{thread.view, nullptr, Access::byThread(thread.view.thread, clock, site, semantics.strong)};
    const Visitor visitor{subject,         GlobalAccess::byThreads(launch_.number, cluster_, subject.access, semantics.wide),
                          addresses[lane], bytes,
                          reads,           writes};
    Memo memo;
    visit(held, addresses[lane], bytes, writes, [&](GlobalCell& cell, uint64_t address, uint64_t count) {
      if (reads && cell.writer.launch == GlobalAccess::kNobody) noteUndefined(cell, address, count);
      touch(cell, visitor, memo);
    });
    if (!undefined_.empty() && undefinedLane == kWarpLanes) undefinedLane = lane;
  });
  held.lock = {};
  if (!undefined_.empty()) reportUndefined(warp, undefinedLane);
}

/// One entry for all lanes, after every lane was checked against the last write.
void GlobalChecker::broadcast(const Warp& warp, uint64_t address, uint32_t bytes) {
  const Access access = Access::byWarp(base_.warpIndex(warp), base_.clocks_[base_.warpIndex(warp)], base_.siteOf(warp), false);
  const GlobalAccess global = GlobalAccess::byThreads(launch_.number, cluster_, access, false);
  const Subject last{base_.threadOf(warp, kWarpLanes - 1).view, nullptr, access};
  const Visitor visitor{last, global, address, bytes, true, false};
  Memo memo;
  PageHold held;
  visit(held, address, bytes, false, [&](GlobalCell& cell, uint64_t begin, uint64_t count) {
    if (cell.writer.launch == GlobalAccess::kNobody) noteUndefined(cell, begin, count);
    if (cell.writer.launch == launch_.number && !(cell.writer == memo.writer))
      for (unsigned lane = 0; lane + 1 < kWarpLanes; ++lane) {
        const Subject subject{base_.threadOf(warp, lane).view, nullptr, access};
        const Visitor one{subject, global, address, bytes, true, false};
        const Verdict verdict = order(cell.writer, true, one);
        if (verdict != Verdict::Ordered) reportConflict(verdict, cell.writer, true, one);
      }
    touch(cell, visitor, memo);
  });
  held.lock = {};
  if (!undefined_.empty()) reportUndefined(warp, 0);
}

void GlobalChecker::operationAccess(const Operation& operation, const View& view, uint64_t address, uint64_t bytes, bool writes) {
  undefined_.clear();
  const bool reduces = machine::traitsOf(operation.kind).reduces;
  const Subject subject{view, &operation, Access::byOperation(operation.id, writes ? Role::Destination : Role::Source),
                        !operation.genericProxy};
  const Visitor visitor{
      subject,
      GlobalAccess::byOperation(launch_.number, cluster_, operation.issuer, base_.semanticsOf(operation.issuer.instruction).site,
                                operation.id, reduces && writes),
      address,
      bytes,
      !writes,
      writes};
  Memo memo;
  PageHold held;
  visit(held, address, bytes, writes, [&](GlobalCell& cell, uint64_t begin, uint64_t count) {
    if (!writes && cell.writer.launch == GlobalAccess::kNobody) noteUndefined(cell, begin, count);
    touch(cell, visitor, memo);
  });
  held.lock = {};
}

// --- synchronisation between clusters -----------------------------------------------------------------------------------

void GlobalChecker::publish(HazardChecker::Thread& thread, uint64_t address, bool release) {
  const auto together = [&](Clock own, const ForeignPointer& others) {
    auto clocks = others ? std::make_shared<ForeignClocks>(*others) : std::make_shared<ForeignClocks>();
    own.foreign = own.foreignSequenced = own.foreignObserved = nullptr;
    clocks->clusters[cluster_] = std::make_shared<Clock>(std::move(own));
    return clocks;
  };
  LaunchRecord::Published published;
  if (const ClockPointer mine = release ? base_.publishedBy(thread.view.thread) : thread.rare().widelyFenced)
    published.released = together(*mine, mine->foreign);
  const Clock& known = *thread.view.base;
  if (thread.view.sequenced != 0 || !known.sequenced.empty() || known.foreignSequenced) {
    Clock sequenced;
    sequenced.generic = known.sequenced;
    raise(sequenced.generic, thread.view.thread, thread.view.sequenced);
    published.sequenced = together(std::move(sequenced), known.foreignSequenced);
  }
  if (published.released || published.sequenced) launch_.publish(address, published);
}

void GlobalChecker::acquire(HazardChecker::Thread& thread, const ForeignPointer& clocks) {
  if (clocks == thread.rare().lastAcquired) return;
  thread.rare().lastAcquired = clocks;
  auto others = std::make_shared<ForeignClocks>(*clocks);
  auto joined = LocalPointer<Clock>::make(*thread.view.base);
  if (const auto own = others->clusters.extract(cluster_)) joined->join(*own.mapped());
  joined->foreign = joinForeign(joined->foreign, others);
  thread.view.base = std::move(joined);
}

/// What has a fence.sc after it, before a strong write, comes before what follows a fence.sc after a read of that write: were the
/// two fences in the other order, the read would come before the write (PTX ISA 9.0, 8.9.3 and 8.10.6). Barriers may stand between
/// the fences and the two accesses.
void GlobalChecker::observe(HazardChecker::Thread& thread, const ForeignPointer& sequenced) {
  if (sequenced == thread.rare().lastObserved) return;
  thread.rare().lastObserved = sequenced;
  auto others = std::make_shared<ForeignClocks>(*sequenced);
  auto behind = LocalPointer<Clock>::make(*thread.view.base);
  if (const auto own = others->clusters.extract(cluster_)) {
    const std::vector<uint32_t>& stamps = own.mapped()->generic;
    for (size_t i = 0; i < stamps.size(); ++i) raise(behind->observed, i, stamps[i]);
  }
  behind->foreignObserved = joinForeign(behind->foreignObserved, others);
  thread.view.base = std::move(behind);
}

void GlobalChecker::valuesRead() {
  if (deferred_.empty()) return;
  if (launch_.hasPublished())
    for (const Deferred& read : deferred_) {
      HazardChecker::Thread& thread = base_.threads_[read.thread];
      const auto& [clocks, sequenced] = launch_.publishedAt(read.address);
      if (sequenced) observe(thread, sequenced);
      if (!clocks) continue;
      if (read.acquire)
        acquire(thread, clocks);
      else
        thread.rare().widelyPending = joinForeign(thread.rare().widelyPending, clocks);
    }
  deferred_.clear();
}

void GlobalChecker::acquirePending(HazardChecker::Thread& thread) {
  if (thread.rare().widelyPending) acquire(thread, std::exchange(thread.rare().widelyPending, nullptr));
}

// --- reports ------------------------------------------------------------------------------------------------------------

void GlobalChecker::reportUndefined(const Warp& warp, unsigned lane) {
  const ptx::Instruction* instruction = warp.currentInstruction();
  if (base_.reporter_.seen(HazardKind::UndefinedData, HazardSeverity::Race, 0,
                           instruction == nullptr ? 0 : instruction->location.ptxLine))
    return;
  const auto [address, bytes] = undefined_.front();
  base_.report(HazardKind::UndefinedData, HazardSeverity::Race, {},
               base_.describeThread(warp, lane, fmt::format("read of {}", shadow_.memory().describe(address, bytes))),
               "nothing has written these bytes since they were allocated");
}

std::string GlobalChecker::missingOrder(Verdict verdict, const GlobalAccess& earlier, const Visitor& later) {
  if (earlier.launch != launch_.number) return missingLaunchOrder(*shadow_.launches().at(earlier.launch), launch_);
  if (verdict == Verdict::ProxyFence || verdict == Verdict::EqualWrites || verdict == Verdict::Exit ||
      verdict == Verdict::Collective)
    return base_.missingOrder(verdict, {}, later.subject, {});
  const std::string waits = "cp.async.bulk.wait_group by the thread that issued the first one, or a wait for its mbarrier";
  if (earlier.cluster != cluster_) {
    // Clusters run at their own pace: an operation that nobody waits for may come second although it was issued first.
    const bool mayBeUnawaited = !earlier.isOperation() && later.subject.operation != nullptr;
    return fmt::format(
        "{}a release at .gpu or .sys scope behind the first access, and an acquire of the same address before the second one: "
        "they belong to different clusters, for which barriers and narrower scopes order nothing{}",
        earlier.isOperation() ? waits + ", and then " : "",
        mayBeUnawaited ? "; if the second one is to come first, cp.async.bulk.wait_group by the thread that issued it, or a wait "
                         "for its mbarrier, before that release"
                       : "");
  }
  if (earlier.isOperation()) return waits + ", and then a synchronisation of the two threads unless they are one";
  return base_.missingOrder(verdict, earlier.access(), later.subject, {});
}

void GlobalChecker::reportConflict(Verdict verdict, const GlobalAccess& earlier, bool earlierWrites, const Visitor& later) {
  if (verdict == Verdict::Race && earlierWrites && later.writes && !later.reads && !earlier.isOperation() &&
      later.subject.operation == nullptr && storesTheSame(earlier, later))
    verdict = Verdict::EqualWrites;
  if (verdict == Verdict::Race && earlier.launch == launch_.number && earlier.cluster == cluster_ && !earlier.isOperation())
    verdict = base_.excuseOf(earlier.access(), later.subject.view);
  const HazardChecker::Finding finding = base_.findingOf(verdict);
  reportConflict(finding.kind, finding.severity, earlier, earlierWrites, later,
                 [&] { return missingOrder(verdict, earlier, later); });
}

/// Writes by threads of one launch. Another cluster may be about to store what it has announced, on another host thread: it gets
/// time for that, once for each pair of instructions that turn out to store different values.
bool GlobalChecker::storesTheSame(const GlobalAccess& earlier, const Visitor& later) {
  if (earlier.launch != launch_.number) return false;
  const bool own = earlier.cluster == cluster_;
  // In another cluster no lane stores together with the later one.
  const Access other = own ? earlier.access() : Access::byThread(Access::kMaximumThread, 0, 0, false);
  const auto isSame = [&] {
    return base_.storesTheSame(other, later.subject.access, reinterpret_cast<const std::byte*>(later.address),
                               static_cast<uint32_t>(later.bytes));
  };
  if (isSame()) return true;
  if (own || base_.storing == nullptr ||
      base_.reporter_.knows(HazardKind::Race, HazardSeverity::Race, launch_.lineOf(earlier), launch_.lineOf(later.access)))
    return false;
  constexpr int kTurns = 256;
  for (int turn = 0; turn < kTurns; ++turn) {
    std::this_thread::yield();
    if (isSame()) return true;
  }
  return false;
}

void GlobalChecker::reportConflict(HazardKind kind, HazardSeverity severity, const GlobalAccess& earlier, bool earlierWrites,
                                   const Visitor& later, const std::function<std::string()>& missing) {
  const auto other = earlier.launch == launch_.number ? nullptr : shadow_.launches().at(earlier.launch);
  const LaunchRecord& earlierLaunch = other ? *other : launch_;
  if (base_.reporter_.seen(kind, severity, earlierLaunch.lineOf(earlier), launch_.lineOf(later.access))) return;
  const std::string bytes = shadow_.memory().describe(later.address, later.bytes);
  const auto words = [&](const GlobalAccess& access, bool writes) {
    return (&access == &earlier ? earlierLaunch : launch_)
        .describe(access, fmt::format("{} of {}", writes ? "write" : "read", bytes));
  };
  base_.report(kind, severity, words(earlier, earlierWrites), words(later.access, later.writes), missing());
}

}  // namespace shiftconv::emulator::hazards
