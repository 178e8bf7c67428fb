#include "common/emulator/machine/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/emulator/error.hpp"
#include "common/emulator/kernel_title.hpp"
#include "common/emulator/machine/report.hpp"
#include "common/emulator/machine/wait_graph.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

/// Warp instructions of one turn. Short enough that warps interleave, long enough that turns cost nothing.
constexpr uint64_t kTurn = 128;
/// Under Latest, operations normally complete only when every warp waits. A warp that polls memory never does, so
/// after so many warp instructions without a completion one operation is let through.
constexpr uint64_t kLatestPatience = 16384;
/// Rounds in which every waiting try_wait timed out and nothing changed, before a cluster counts as deadlocked.
constexpr unsigned kFruitlessRounds = 3;
/// The same while waiting lanes poll global memory, which another cluster may yet write.
constexpr unsigned kFruitlessPollingRounds = 100000;

uint32_t sharedBytes(const Cluster& cluster) {
  return cluster.program.dynamicSharedOffset(cluster.kernel) + cluster.config.dynamicSharedBytes;
}

Dim3 ctaOfRank(Dim3 cluster, Dim3 clusterId, uint32_t rank) {
  return {clusterId.x * cluster.x + rank % cluster.x, clusterId.y * cluster.y + rank / cluster.x % cluster.y,
          clusterId.z * cluster.z + rank / cluster.x / cluster.y};
}

}  // namespace

Cta::Cta(Cluster& owner, uint32_t ctaRank, Dim3 ctaIndex)
    : cluster(owner), rank(ctaRank), ctaid(ctaIndex), shared(sharedBytes(owner)), mbarriers(shared) {
  liveThreads = static_cast<uint32_t>(cluster.config.block.count());
  registers = RegisterPool(cluster.kernel.source->directives, (liveThreads + kWarpLanes - 1) / kWarpLanes,
                           cluster.program.target->device->registersPerMultiprocessor);
  mbarriers.whoArrives = [this] {
    if (const IssuePoint* issuer = cluster.queue.running()) return *issuer;
    return cluster.runningWarp == nullptr ? IssuePoint{rank, 0, 0, nullptr} : cluster.runningWarp->issuePoint(0);
  };
}
Cta::~Cta() = default;

Cluster::Cluster(const program::Program& theProgram, const program::CompiledFunction& theKernel, const LaunchConfig& theConfig,
                 Dim3 id, GlobalMemory& globalMemory, uint64_t parameters, const Options& theOptions, uint64_t seed)
    : program(theProgram),
      kernel(theKernel),
      config(theConfig),
      clusterId(id),
      global(globalMemory),
      parameterAddress(parameters),
      options(theOptions),
      queue(theOptions.policy, seed),
      random_(seed ^ 0x9e3779b97f4a7c15ull) {
  queue.describe = [this](const IssuePoint& point) {
    return fmt::format("{}, lane {} of kernel {}\n  at {}", describe(*ctas[point.ctaRank]->warps[point.warp]), point.lane,
                       kernelTitle(kernel.source->name), describe(program.module, point.instruction));
  };
  const auto ranks = static_cast<uint32_t>(config.cluster.count());
  const auto warps = static_cast<uint32_t>((config.block.count() + kWarpLanes - 1) / kWarpLanes);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    ctas.push_back(std::make_unique<Cta>(*this, rank, ctaOfRank(config.cluster, clusterId, rank)));
    liveThreads += ctas.back()->liveThreads;
  }
  // Warps read the shape of their CTA when they fill special registers, so all slots exist before the first is made.
  for (const auto& cta : ctas) {
    cta->warps.resize(warps);
    for (uint32_t warp = 0; warp < warps; ++warp) {
      cta->warps[warp] = std::make_unique<Warp>(*cta, warp);
      warps_.push_back(cta->warps[warp].get());
    }
  }
  counters.ctas = ranks;
  counters.warpInstructions.resize(warps);
  counters.threadInstructions.resize(warps);
}
Cluster::~Cluster() = default;

void Cluster::watch(std::unique_ptr<Observer> watcher) {
  observer = std::move(watcher);
  queue.observer = observer.get();
  global.watch(observer.get());
  for (const auto& cta : ctas) {
    cta->shared.watch(observer.get(), cta->rank);
    cta->mbarriers.watch(observer.get(), cta->rank);
  }
}

Cta& Cluster::ctaOfShared(uint32_t windowAddress) {
  const uint32_t rank = windowAddress >> kSharedRankShift;
  if (rank >= ctas.size())
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("shared-window address 0x{:x} names CTA rank {}, but the cluster has {} CTAs", windowAddress,
                                    rank, ctas.size()));
  Cta& cta = *ctas[rank];
  if (cta.liveThreads == 0 && liveThreads != 0)
    throw EmulatorError(ErrorKind::Synchronisation,
                        fmt::format("shared-window address 0x{:x} is in CTA rank {}, which has exited", windowAddress, rank));
  return cta;
}

uint32_t Cluster::multiprocessors() const {
  return options.multiprocessors != 0 ? options.multiprocessors : program.target->device->multiprocessors;
}

uint64_t Cluster::wakeEpoch() const {
  uint64_t epoch = wakeups + queue.completed();
  for (const auto& cta : ctas) epoch += cta->mbarriers.generation();
  return epoch;
}

bool Cluster::run(uint64_t warpInstructions) {
  uint64_t budget = warpInstructions;
  while (!finished_ && budget != 0) {
    if (runWarps(budget)) {
      if (queue.completed() != operationsAtProgress_) {
        operationsAtProgress_ = queue.completed();
        instructionsSinceOperation_ = 0;
      } else if (options.policy == SchedulePolicy::Latest && instructionsSinceOperation_ > kLatestPatience) {
        instructionsSinceOperation_ = 0;
        queue.completeOne();
      }
      continue;
    }
    if (liveThreads == 0) {
      finish();
    } else if (!queue.completeOne()) {
      resolveStandstill();
      // Whoever polls global memory needs other clusters to run.
      return false;
    }
  }
  return finished_;
}

/// One turn for every warp; false when none could run.
bool Cluster::runWarps(uint64_t& budget) {
  uint64_t ran = 0;
  const bool random = options.policy == SchedulePolicy::Random;
  const size_t first = random ? random_() % warps_.size() : 0;
  for (size_t i = 0; i < warps_.size(); ++i) {
    Warp::State& warp = *warps_[(first + i) % warps_.size()]->state;
    if (warp.finished()) continue;
    runningWarp = &warp.warp;
    ran += warp.run(random ? 1 + random_() % kTurn : options.policy == SchedulePolicy::Fair ? 1 : kTurn);
  }
  executed_ += ran;
  instructionsSinceOperation_ += ran;
  budget -= std::min(budget, ran);
  return ran != 0;
}

/// Nothing can run and nothing is outstanding: waits that may give up do so, and if that leads nowhere it is a deadlock.
void Cluster::resolveStandstill() {
  const uint64_t globalReads = counters.bytes[static_cast<size_t>(Engine::Threads)][static_cast<size_t>(Traffic::GlobalRead)];
  const bool polling = globalReads != globalReadsAtTimeOut_;
  if (activity() != activityAtTimeOut_) fruitlessTimeOuts_ = 0;
  const unsigned limit = polling ? kFruitlessPollingRounds : kFruitlessRounds;
  bool any = false;
  if (fruitlessTimeOuts_ < limit)
    for (Warp* warp : warps_) any |= warp->state->timeOutWaits();
  if (!any)
    throw EmulatorError(
        ErrorKind::Deadlock,
        fmt::format("deadlock in kernel {}, cluster ({},{},{}): no warp can run and no operation is outstanding\n{}{}",
                    kernelTitle(kernel.source->name), clusterId.x, clusterId.y, clusterId.z, report(), describeWaitGraph(*this)));
  ++fruitlessTimeOuts_;
  activityAtTimeOut_ = activity();
  globalReadsAtTimeOut_ = globalReads;
}

void Cluster::finish() {
  queue.forceAll();
  for (const auto& cta : ctas)
    for (const auto& warp : cta->warps) {
      counters.warpInstructions[warp->index] += warp->state->executed - warp->state->repeated;
      counters.threadInstructions[warp->index] += warp->state->threadExecuted - warp->state->threadRepeated;
    }
  for (size_t kind = 0; kind < queue.issued().size(); ++kind)
    if (const uint64_t count = queue.issued()[kind]; count != 0)
      counters.operations[std::string(nameOf(static_cast<OperationKind>(kind)))] += count;
  finished_ = true;
}

/// Warps that wait alike are named together, and so are operations of one instruction.
std::string Cluster::report() const {
  std::string text;
  auto out = std::back_inserter(text);
  std::vector<std::pair<std::string, std::vector<const Warp*>>> waits;
  for (const Warp* warp : warps_) {
    if (warp->state->finished()) continue;
    std::string wait;
    for (const Group& group : warp->state->groups) wait += fmt::format("  {}\n", warp->state->describe(group));
    auto alike = std::find_if(waits.begin(), waits.end(), [&](const auto& other) { return other.first == wait; });
    if (alike == waits.end()) alike = waits.insert(waits.end(), {std::move(wait), {}});
    alike->second.push_back(warp);
  }
  for (const auto& [wait, warps] : waits) fmt::format_to(out, "{}\n{}", describe(warps), wait);
  const auto outstanding = queue.pending();
  fmt::format_to(out, "outstanding asynchronous operations: {}\n", outstanding.size());
  std::vector<std::pair<const AsyncOperation*, size_t>> kinds;
  for (const AsyncOperation* operation : outstanding) {
    const auto alike = std::find_if(kinds.begin(), kinds.end(), [&](const auto& other) {
      return other.first->kind == operation->kind && other.first->issuer.instruction == operation->issuer.instruction;
    });
    if (alike == kinds.end())
      kinds.emplace_back(operation, 1);
    else
      ++alike->second;
  }
  for (const auto& [operation, count] : kinds) {
    fmt::format_to(out, "  {} issued by {}\n", nameOf(operation->kind), queue.describe(operation->issuer));
    if (count > 1) fmt::format_to(out, "    and {} more of this instruction\n", count - 1);
  }
  return text;
}

ResolvedAddress resolveGeneric(Cluster& cluster, uint64_t address) {
  if (address - kSharedWindow < kWindowSpan) {
    const auto window = static_cast<uint32_t>(address);
    return {ResolvedAddress::Space::Shared, &cluster.ctaOfShared(window), Cluster::sharedOffset(window)};
  }
  if (address - kLocalWindow < kWindowSpan) return {ResolvedAddress::Space::Local, nullptr, address - kLocalWindow};
  return {ResolvedAddress::Space::Global, nullptr, address};
}

}  // namespace shiftconv::emulator::machine
