// Synchronisation between threads: what is published where, and who acquires it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/hazards/global_checker.hpp"
#include "common/emulator/hazards/global_launch.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::hazards {

using machine::forEachLane;
using machine::kWarpLanes;
using machine::Warp;

void HazardChecker::advance(const Warp& warp) {
  uint32_t& stamp = clocks_[warpIndex(warp)];
  stamp = nextStamp(stamp);
  for (Thread& thread : threadsOf(warp)) thread.view.clock = stamp;
}

View HazardChecker::viewOf(const Warp& warp, unsigned lane) { return threadOf(warp, lane).view; }

void HazardChecker::Gathering::join(const ClockPointer& other) {
  if (last == other) return;
  clock.join(*other);
  last = other;
}

/// Adds everything that the thread knows, and its own accesses so far.
void HazardChecker::publish(Gathering& gathering, uint32_t index) {
  const Thread& thread = threads_[index];
  gathering.join(thread.view.base);
  if (gathering.clock.generic.size() <= index) gathering.clock.generic.resize(threads_.size());
  gathering.clock.generic[index] = clocks_[index / kWarpLanes];  // nobody knows more of it
  if (thread.view.proxied != 0) raise(gathering.clock.proxied, index, thread.view.proxied);
  if (thread.view.mapped != 0) raise(gathering.clock.mapped, index, thread.view.mapped);
  if (thread.view.sequenced != 0) raise(gathering.clock.sequenced, index, thread.view.sequenced);
  if (thread.tensorReleased != 0) raise(gathering.clock.tensor, index, thread.tensorReleased);
}

ClockPointer HazardChecker::publishedBy(uint32_t thread) {
  Gathering gathering;
  publish(gathering, thread);
  return LocalPointer<Clock>::make(std::move(gathering.clock));
}

void HazardChecker::publishFenced(Gathering& gathering, const Thread& thread, bool inCluster) const {
  if (thread.made)
    if (const ClockPointer& fenced = inCluster ? thread.made->clusterFenced : thread.made->fenced) gathering.join(fenced);
  if (thread.initsFenced != 0) raise(gathering.clock.setUp, thread.view.thread, thread.initsFenced);
}

void HazardChecker::acquire(Thread& thread, const ClockPointer& clock) { thread.view.base = join_(thread.view.base, clock); }

void HazardChecker::fence(const Warp& warp, LaneMask lanes, FenceKind kind) {
  const uint32_t clock = clocks_[warpIndex(warp)];
  const Semantics& semantics = semanticsOf(warp);
  if (kind == FenceKind::Memory) storesReleased(warp);
  forEachLane(lanes, [&](unsigned lane) {
    Thread& thread = threadOf(warp, lane);
    const uint32_t index = thread.view.thread;
    switch (kind) {
      case FenceKind::AsyncProxy:
        thread.view.proxied = clock;
        if (unproxied_ != thread.view.base) {
          auto published = LocalPointer<Clock>::make(*thread.view.base);
          published->publishToAsyncProxy();
          unproxied_ = thread.view.base;
          proxied_ = std::move(published);
        }
        thread.view.base = proxied_;
        noteInitsFenced(index);
        break;
      case FenceKind::MbarrierInit:
        thread.initsFenced = clock;
        noteInitsFenced(index);
        break;
      case FenceKind::MapRelease: {
        thread.view.mapped = clock;
        auto published = LocalPointer<Clock>::make(*thread.view.base);
        published->publishToMapProxy();
        thread.view.base = std::move(published);
        [[fallthrough]];
      }
      case FenceKind::Memory:
        if (thread.rare().pending) acquire(thread, std::exchange(thread.rare().pending, nullptr));
        if (semantics.wide) global_->acquirePending(thread);
        if (semantics.wide && semantics.sequential) {
          thread.view.sequenced = clock;
          if (unsequenced_ != thread.view.base) {
            auto behind = LocalPointer<Clock>::make(*thread.view.base);
            behind->passSequentialFence();
            unsequenced_ = thread.view.base;
            sequenced_ = std::move(behind);
          }
          thread.view.base = sequenced_;
        }
        thread.rare().fenced = publishedBy(index);
        if (!semantics.narrow) thread.rare().clusterFenced = thread.rare().fenced;
        if (semantics.wide) thread.rare().widelyFenced = thread.rare().fenced;
        break;
      case FenceKind::TensorBefore:
        thread.tensorReleased = clock;
        break;
      case FenceKind::TensorAfter:
        thread.view.tensor = thread.view.base;
        break;
    }
  });
  if (kind != FenceKind::TensorAfter) advance(warp);
}

void HazardChecker::noteInitsFenced(uint32_t thread) {
  for (auto& [place, barrier] : mbarriers_)
    if (barrier.initThread == thread) barrier.fenced = true;
}

void HazardChecker::warpSync(const Warp& warp, LaneMask lanes) {
  Gathering gathering;
  forEachLane(lanes, [&](unsigned lane) { publish(gathering, threadIndex(warp.cta.rank, warp.index, lane)); });
  const ClockPointer clock = LocalPointer<Clock>::make(std::move(gathering.clock));
  // Every member's own clock is in it, so it replaces what they had.
  forEachLane(lanes, [&](unsigned lane) { threadOf(warp, lane).view.base = clock; });
  advance(warp);
}

void HazardChecker::prerequisitesAwaited(const Warp& warp, LaneMask lanes) {
  Clock awaited;
  awaited.prerequisites = true;
  const ClockPointer clock = LocalPointer<Clock>::make(std::move(awaited));
  forEachLane(lanes, [&](unsigned lane) { acquire(threadOf(warp, lane), clock); });
}

// --- barriers of a CTA and of the cluster ---------------------------------------------------------------------------

namespace {
/// Lanes may leave a round so many rounds late: a warp's lanes can wait at a barrier one by one.
constexpr uint64_t kRememberedRounds = 64;
}  // namespace

void HazardChecker::barrierArrive(const Warp& warp, LaneMask lanes, uint32_t id, bool release) {
  Rounds& rounds = barriers_[{id == kClusterBarrier ? 0 : warp.cta.rank, id}];
  if (release) storesReleased(warp);
  forEachLane(lanes, [&](unsigned lane) {
    const uint32_t thread = threadIndex(warp.cta.rank, warp.index, lane);
    if (release)
      publish(rounds.gathering, thread);
    else
      publishFenced(rounds.gathering, threads_[thread], true);
    if (threads_[thread].made || !release) threads_[thread].rare().relaxedArrive = release ? nullptr : warp.currentInstruction();
  });
  if (release) advance(warp);
}

/// A barrier of the cluster waits for threads that have not exited (PTX ISA 9.0, 9.7.13.3).
void HazardChecker::countExits(Clock& clock) const {
  const Clock* last = nullptr;
  for (const auto& cta : cluster_.ctas)
    for (const auto& warp : cta->warps)
      forEachLane(warp->exited(), [&](unsigned lane) {
        const uint32_t index = threadIndex(cta->rank, warp->index, lane);
        const Clock& known = *threads_[index].view.base;
        if (&known != last)
          for (size_t thread = 0; thread < known.generic.size(); ++thread) raise(clock.exited, thread, known.generic[thread]);
        last = &known;
        raise(clock.exited, index, clocks_[warpIndex(*warp)]);
      });
}

void HazardChecker::barrierComplete(uint32_t rank, uint32_t id, uint64_t round) {
  Rounds& rounds = barriers_[{id == kClusterBarrier ? 0 : rank, id}];
  if (id == kClusterBarrier) countExits(rounds.gathering.clock);
  rounds.completed[round] = LocalPointer<Clock>::make(std::move(rounds.gathering.clock));
  rounds.gathering = {};
  while (rounds.completed.begin()->first + kRememberedRounds < round) rounds.completed.erase(rounds.completed.begin());
}

void HazardChecker::barrierLeave(const Warp& warp, LaneMask lanes, uint32_t id, uint64_t round) {
  Rounds& rounds = barriers_[{id == kClusterBarrier ? 0 : warp.cta.rank, id}];
  const auto found = rounds.completed.find(round);
  if (found == rounds.completed.end()) return;
  ClockPointer before, after;  // of the last lane: most of a warp know the same
  forEachLane(lanes, [&](unsigned lane) {
    ClockPointer& base = threads_[threadIndex(warp.cta.rank, warp.index, lane)].view.base;
    if (before != base) {
      before = base;
      after = join_(base, found->second);
    }
    base = after;
  });
}

// --- mbarriers --------------------------------------------------------------------------------------------------------

HazardChecker::Mbarrier* HazardChecker::mbarrier(uint32_t rank, uint32_t offset) {
  const auto found = mbarriers_.find({rank, offset});
  return found == mbarriers_.end() ? nullptr : &found->second;
}

void HazardChecker::mbarrierInit(const Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset) {
  std::array<uint64_t, kWarpLanes> addresses;
  addresses.fill(uint64_t{cta.rank} << machine::kSharedRankShift | offset);
  constexpr uint32_t kMbarrierBytes = 8;
  sharedAccess(warp, LaneMask{1} << lane, addresses, kMbarrierBytes, false, true);
  Mbarrier barrier;
  barrier.slot = nextSlot_++;
  barrier.initThread = threadIndex(warp.cta.rank, warp.index, lane);
  barrier.initClock = clocks_[warpIndex(warp)];
  barrier.init = warp.currentInstruction();
  mbarriers_[{cta.rank, offset}] = std::move(barrier);
}

void HazardChecker::mbarrierInval(const Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset) {
  std::array<uint64_t, kWarpLanes> addresses;
  addresses.fill(uint64_t{cta.rank} << machine::kSharedRankShift | offset);
  constexpr uint32_t kMbarrierBytes = 8;
  sharedAccess(warp, LaneMask{1} << lane, addresses, kMbarrierBytes, false, true);
  mbarriers_.erase({cta.rank, offset});
}

bool HazardChecker::seesInitialisation(const Mbarrier& barrier, const View& view) {
  if (view.thread == barrier.initThread) return barrier.initClock <= view.clock;
  return std::max(entry(view.base->generic, barrier.initThread), entry(view.base->setUp, barrier.initThread)) >= barrier.initClock;
}

void HazardChecker::requireInitialised(const Mbarrier& barrier, const View& view, bool foreign, const machine::IssuePoint& user,
                                       const char* use) {
  const bool seen = seesInitialisation(barrier, view);
  if (seen && (barrier.fenced || !foreign)) return;
  const HazardAccess access = describeIssuer(user, use);
  const HazardSeverity severity = seen ? HazardSeverity::Formal : HazardSeverity::Race;
  if (reporter_.seen(HazardKind::BarrierLifetime, severity, barrier.init->location.ptxLine, access.ptxLine)) return;
  const uint32_t warp = barrier.initThread / kWarpLanes;
  const machine::IssuePoint init{warp / warpsPerCta_, warp % warpsPerCta_, barrier.initThread % kWarpLanes, barrier.init};
  report(
      HazardKind::BarrierLifetime, severity, describeIssuer(init, "initialisation of the mbarrier"), access,
      seen ? "fence.mbarrier_init.release.cluster or fence.proxy.async behind the mbarrier.init: the asynchronous proxy and other "
             "CTAs need not see the initialisation without it"
           : "a barrier between the mbarrier.init and this use");
}

void HazardChecker::mbarrierArrive(const Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset, bool release) {
  Mbarrier* barrier = mbarrier(cta.rank, offset);
  if (barrier == nullptr) return;
  Thread& thread = threadOf(warp, lane);
  const bool remote = &cta != &warp.cta;
  if (entry(thread.view.base->barrier, barrier->slot) == 0)
    requireInitialised(*barrier, thread.view, remote, warp.issuePoint(lane), "arrive on the mbarrier");
  if (remote) barrier->remoteArrivals[thread.view.thread] = {barrier->phases, thread.view.clock, warp.issuePoint(lane)};
  if (!release) return publishFenced(barrier->gathering, thread, remote);
  storesReleased(warp);
  publish(barrier->gathering, thread.view.thread);
  advance(warp);
}

void HazardChecker::mbarrierWaited(const Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset, bool acquires) {
  Mbarrier* barrier = mbarrier(cta.rank, offset);
  if (barrier == nullptr) return;
  Thread& thread = threadOf(warp, lane);
  if (entry(thread.view.base->barrier, barrier->slot) == 0)
    requireInitialised(*barrier, thread.view, false, warp.issuePoint(lane), "wait for the mbarrier");
  if (barrier->completed == nullptr || entry(thread.view.base->barrier, barrier->slot) >= barrier->phases) return;
  if (acquires)
    acquire(thread, barrier->completed);
  else
    thread.rare().pending = thread.rare().pending ? join_(thread.rare().pending, barrier->completed) : barrier->completed;
}

/// Unless the thread knows by other ways that the phase is over: then it waits for a later one.
void HazardChecker::mbarrierLapped(const Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset, uint64_t awaited,
                                   uint64_t completed) {
  const Mbarrier* barrier = mbarrier(cta.rank, offset);
  if (barrier == nullptr || entry(threadOf(warp, lane).view.base->barrier, barrier->slot) > awaited) return;
  HazardAccess user = describeThread(
      warp, lane,
      fmt::format("wait for phase {} of the mbarrier at shared offset {:#x} of CTA rank {}", awaited, offset, cta.rank));
  if (reporter_.seen(HazardKind::Lapped, HazardSeverity::Race, 0, user.ptxLine)) return;
  report(HazardKind::Lapped, HazardSeverity::Race, {}, std::move(user),
         fmt::format(
             "something that holds back later phases until this thread has seen phase {}: {} phases have completed, and a parity "
             "does not tell phase {} from phase {}",
             awaited, completed, awaited, awaited + 2));
}

void HazardChecker::mbarrierSignalled(uint32_t rank, uint32_t offset, uint64_t phase) {
  Mbarrier* barrier = mbarrier(rank, offset);
  if (running_ == nullptr || barrier == nullptr) return;
  requireInitialised(*barrier, running_->view, !running_->genericProxy, running_->issuer,
                     "signal to the mbarrier by an asynchronous operation");
  if (!running_->genericProxy) {
    barrier->signalled = phase + 1;
    barrier->signaller = running_->issuer;
  }
  // What its issuer had acquired happened before the operation, and so before its signal. The issuer's own accesses are left
  // out: an operation publishes what it did itself.
  barrier->gathering.join(running_->view.base);
  operations_.complete(running_->id, {Completion::Kind::Barrier, barrier->slot, static_cast<uint32_t>(phase + 1)});
}

void HazardChecker::mbarrierPhase(uint32_t rank, uint32_t offset, uint64_t phase) {
  Mbarrier* barrier = mbarrier(rank, offset);
  if (barrier == nullptr) return;
  barrier->phases = phase;
  Clock clock = std::move(barrier->gathering.clock);
  barrier->gathering = {};
  // Phases complete in order: who has seen this one has seen those before.
  if (barrier->completed) clock.join(*barrier->completed);
  raise(clock.barrier, barrier->slot, static_cast<uint32_t>(phase));
  barrier->completed = LocalPointer<Clock>::make(std::move(clock));
}

// --- strong accesses -------------------------------------------------------------------------------------------------

/// Release and acquire patterns through a location (PTX ISA 9.0, 8.8): relaxed accesses count together with a fence.
void HazardChecker::synchronises(const Warp& warp, unsigned lane, uint64_t address, const Semantics& semantics, bool reads,
                                 bool writes) {
  Thread& thread = threadOf(warp, lane);
  if (reads) {
    if (const auto found = published_.find(address); found != published_.end() && found->second) {
      if (semantics.acquire)
        acquire(thread, found->second);
      else
        thread.rare().pending = thread.rare().pending ? join_(thread.rare().pending, found->second) : found->second;
    }
  }
  if (!writes) return;
  ClockPointer mine = semantics.release ? publishedBy(thread.view.thread) : thread.rare().fenced;
  if (semantics.release) {
    storesReleased(warp);
    advance(warp);
  }
  ClockPointer& there = published_[address];
  // A read-modify-write continues the release sequence; a store starts anew.
  if (reads && there && mine)
    there = join_(there, mine);
  else if (!reads || mine)
    there = std::move(mine);
}

const HazardChecker::Semantics& HazardChecker::semanticsOf(const Warp& warp) { return semanticsOf(warp.currentInstruction()); }

const HazardChecker::Semantics& HazardChecker::semanticsOf(const ptx::Instruction* instruction) {
  auto& recent = recentSemantics_[reinterpret_cast<uintptr_t>(instruction) / sizeof(ptx::Instruction) % kRecentSemantics];
  if (recent != nullptr && recent->first == instruction) return recent->second;
  const auto [entry, isNew] = semantics_.try_emplace(instruction);
  recent = &*entry;
  if (!isNew || instruction == nullptr) return entry->second;
  Semantics& semantics = entry->second;
  semantics.site = launch_.sites.of(instruction);
  semantics.strong = instruction->opcode == "atom" || instruction->opcode == "red";
  semantics.sequential = instruction->opcode == "membar";
  for (const auto& modifier : instruction->modifiers) {
    semantics.acquire |= modifier == "acquire" || modifier == "acq_rel";
    semantics.release |= modifier == "release" || modifier == "acq_rel";
    semantics.wide &= modifier != "cta" && modifier != "cluster";
    semantics.narrow |= modifier == "cta";
    semantics.sequential |= instruction->opcode == "fence" && modifier == "sc";
    semantics.strong |= modifier == "relaxed" || modifier == "volatile" || modifier == "mmio";
  }
  semantics.strong |= semantics.acquire || semantics.release;
  return semantics;
}

}  // namespace shiftconv::emulator::hazards
