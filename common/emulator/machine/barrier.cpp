#include "common/emulator/machine/barrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/report.hpp"
#include "common/emulator/machine/synchronisation_fault.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

/// Results of reductions are kept for so many rounds, for lanes that have not been woken yet.
constexpr uint64_t kKeptResults = 64;

uint32_t count(LaneMask lanes) { return static_cast<uint32_t>(std::popcount(lanes)); }

void releaseIfFull(Cta& cta, NamedBarrier& barrier) {
  const bool full = barrier.expected == 0 ? barrier.arrived >= cta.liveThreads : barrier.arrivedInWarps >= barrier.expected;
  if (!barrier.open || !full) return;
  if (barrier.contributions != 0) {
    barrier.results[barrier.generation] = {barrier.trueCount, barrier.contributions};
    while (barrier.results.begin()->first + kKeptResults < barrier.generation) barrier.results.erase(barrier.results.begin());
  }
  if (auto* observer = cta.cluster.observer.get())
    observer->barrierComplete(cta.rank, static_cast<uint32_t>(&barrier - cta.barriers.data()), barrier.generation);
  ++barrier.generation;
  barrier.arrived = barrier.arrivedInWarps = barrier.expected = barrier.trueCount = barrier.contributions = 0;
  barrier.open = false;
  ++cta.cluster.wakeups;
}

void releaseClusterIfFull(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0 || barrier.arrived < cluster.liveThreads) return;
  barrier.arrived = 0;
  if (auto* observer = cluster.observer.get()) observer->barrierComplete(0, Observer::kClusterBarrier, barrier.generation);
  ++barrier.generation;
  for (const auto& cta : cluster.ctas)
    for (const auto& warp : cta->warps) warp->state->clusterArrived = 0;
  ++cluster.wakeups;
}

}  // namespace

uint64_t arriveAtBarrier(Warp& warp, LaneMask lanes, uint32_t id, uint32_t threads, std::optional<LaneMask> trueLanes) {
  Cta& cta = warp.cta;
  if (id >= cta.barriers.size()) synchronisationFault(fmt::format("barrier {} does not exist: a CTA has barriers 0 to 15", id));
  if (threads % kWarpLanes != 0)
    synchronisationFault(fmt::format("barrier {}: the thread count {} is not a multiple of {}", id, threads, kWarpLanes));
  const uint64_t blockThreads = cta.cluster.config.block.count();
  const uint64_t wholeCta = (blockThreads + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  if (threads > wholeCta)
    synchronisationFault(fmt::format("barrier {} waits for {} threads, but the CTA has {}", id, threads, blockThreads));

  NamedBarrier& barrier = cta.barriers[id];
  // "All threads" and the size of the whole CTA are the same thing.
  const auto spelled = [&](uint32_t count) { return count == 0 ? wholeCta : count; };
  if (barrier.open && spelled(barrier.expected) != spelled(threads))
    synchronisationFault(fmt::format("barrier {}: this arrival expects {} threads, an earlier one of the same round {}", id,
                                     spelled(threads), spelled(barrier.expected)));
  barrier.open = true;
  barrier.expected = std::max(barrier.expected, threads);
  barrier.arrived += count(lanes);
  // A thread count is in whole warps: lanes that never existed or have exited count with their warp.
  barrier.arrivedInWarps += lanes == warp.state->alive() ? kWarpLanes : count(lanes);
  if (trueLanes) {
    barrier.trueCount += count(*trueLanes & lanes);
    barrier.contributions += count(lanes);
  }
  if (barrier.expected != 0 && barrier.arrivedInWarps > barrier.expected)
    synchronisationFault(
        fmt::format("barrier {}: {} threads have arrived in a round for {}", id, barrier.arrivedInWarps, barrier.expected));
  const uint64_t round = barrier.generation;
  cta.released(warp);
  if (auto* observer = cta.cluster.observer.get()) observer->barrierArrive(warp, lanes, id, true);
  ++cta.cluster.changes;
  releaseIfFull(cta, barrier);
  return round;
}

bool barrierRoundDone(const Cta& cta, uint32_t id, uint64_t round) { return cta.barriers[id].generation > round; }

NamedBarrier::Result barrierResult(const Cta& cta, uint32_t id, uint64_t round) { return cta.barriers[id].results.at(round); }

void arriveAtClusterBarrier(Warp& warp, LaneMask lanes, bool release) {
  Warp::State& state = *warp.state;
  if ((state.clusterPending & lanes) != 0)
    synchronisationFault(fmt::format("lanes {} arrive at the cluster barrier again without having waited",
                                     describeLanes(state.clusterPending & lanes)));
  state.clusterArrived |= lanes;
  state.clusterPending |= lanes;
  Cluster& cluster = warp.cta.cluster;
  cluster.barrier.arrived += count(lanes);
  if (release) warp.cta.released(warp);
  if (auto* observer = cluster.observer.get()) observer->barrierArrive(warp, lanes, Observer::kClusterBarrier, release);
  ++cluster.changes;
  releaseClusterIfFull(cluster);
}

bool waitAtClusterBarrier(Warp& warp, LaneMask lanes) {
  Warp::State& state = *warp.state;
  if ((lanes & ~state.clusterPending) != 0)
    synchronisationFault(
        fmt::format("lanes {} wait at the cluster barrier without having arrived", describeLanes(lanes & ~state.clusterPending)));
  if ((state.clusterArrived & lanes) != 0) return false;
  state.clusterPending &= ~lanes;
  Cluster& cluster = warp.cta.cluster;
  if (auto* observer = cluster.observer.get())
    observer->barrierLeave(warp, lanes, Observer::kClusterBarrier, cluster.barrier.generation - 1);
  return true;
}

void lanesExited(Warp& warp, LaneMask lanes) {
  Cta& cta = warp.cta;
  Cluster& cluster = cta.cluster;
  // What is still under way may touch the memories of a CTA that is about to go.
  if (cta.liveThreads == count(lanes)) cluster.queue.forceAll();
  cta.liveThreads -= count(lanes);
  cluster.liveThreads -= count(lanes);
  cluster.barrier.arrived -= count(warp.state->clusterArrived & lanes);
  warp.state->clusterArrived &= ~lanes;
  ++cluster.changes;
  releaseClusterIfFull(cluster);
  if (cta.liveThreads != 0) {
    for (NamedBarrier& barrier : cta.barriers)
      if (barrier.expected == 0) releaseIfFull(cta, barrier);
    return;
  }
  if (cluster.observer) cluster.observer->ctaExits(cta.rank);
  for (const auto& unit : cta.units)
    if (unit != nullptr) unit->checkExit();
}

}  // namespace shiftconv::emulator::machine
