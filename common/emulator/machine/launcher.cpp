#include "common/emulator/machine/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::machine {
namespace {

constexpr uint32_t kMaximumBlockZ = 64;
constexpr uint64_t kMaximumGridX = 0x7fffffff;
constexpr uint32_t kMaximumGridYZ = 65535;

/// Warp instructions after which a host thread looks whether its cluster gets anywhere (fewer for a cluster that was
/// found spinning), and after which it turns to another resident cluster in any case.
constexpr uint64_t kSlice = 20000;
constexpr uint64_t kShortestSlice = 250;
constexpr uint64_t kLongSlice = 1000000;
/// CTAs resident at a time on every multiprocessor, over all host threads.
constexpr uint64_t kResidentCtas = 2;
/// Clusters before a failed one may still run so many warp instructions, to find the first error of the grid.
constexpr uint64_t kInstructionsAfterError = 1000000;

std::string toString(Dim3 d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

[[noreturn]] void refuse(const program::CompiledFunction& kernel, const std::string& why) {
  throw EmulatorError(ErrorKind::Launch, fmt::format("cannot launch kernel {}: {}", kernel.source->name, why));
}

Dim3 toDim3(const std::vector<uint32_t>& values) {
  Dim3 d;
  if (values.size() > 0) d.x = values[0];
  if (values.size() > 1) d.y = values[1];
  if (values.size() > 2) d.z = values[2];
  return d;
}

bool same(Dim3 a, Dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

/// Derived from the index alone, so that a cluster behaves the same on any host thread.
uint64_t clusterSeed(uint64_t seed, uint64_t index) {
  uint64_t x = seed + 0x9e3779b97f4a7c15ull * (index + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class Grid {
 public:
  Grid(const program::Program& program, const program::CompiledFunction& kernel, const LaunchConfig& config, GlobalMemory& global,
       uint64_t parameterAddress, const Options& options, const ObserverFactory& observe)
      : program_(program),
        kernel_(kernel),
        config_(config),
        global_(global),
        parameterAddress_(parameterAddress),
        options_(options),
        observe_(observe) {
    clusters_ = {config.grid.x / config.cluster.x, config.grid.y / config.cluster.y, config.grid.z / config.cluster.z};
    const uint64_t wanted = options.hostThreads != 0 ? options.hostThreads : std::max(1u, std::thread::hardware_concurrency());
    threads_ = static_cast<unsigned>(std::min<uint64_t>(wanted, launched()));
    const uint64_t multiprocessors =
        options.multiprocessors != 0 ? options.multiprocessors : program.target->device->multiprocessors;
    residentPerThread_ = std::max<uint64_t>(1, kResidentCtas * multiprocessors / config.cluster.count() / threads_);
  }

  Counters run() {
    for (const uint64_t index : options_.clusters)
      if (index >= clusters_.count())
        refuse(kernel_, fmt::format("option clusters names cluster {}, but the grid has {}", index, clusters_.count()));
    std::vector<std::jthread> helpers;  // joined, too, where the system has no thread left for the next one
    for (unsigned i = 1; i < threads_; ++i) helpers.emplace_back([this] { work(); });
    work();
    helpers.clear();
    if (error_) std::rethrow_exception(error_);
    return std::move(total_);
  }

 private:
  struct Resident {
    uint64_t index;
    std::unique_ptr<Cluster> cluster;
    uint64_t slice = kSlice;
    uint64_t afterError = 0;
  };

  uint64_t launched() const { return options_.clusters.empty() ? clusters_.count() : options_.clusters.size(); }

  /// Index of a cluster that nobody has taken yet, taken from now on.
  std::optional<uint64_t> takeNext() {
    const uint64_t number = next_.fetch_add(1);
    if (number >= launched()) return std::nullopt;
    return options_.clusters.empty() ? number : options_.clusters[number];
  }

  Dim3 clusterId(uint64_t index) const {
    return {static_cast<uint32_t>(index % clusters_.x), static_cast<uint32_t>(index / clusters_.x % clusters_.y),
            static_cast<uint32_t>(index / clusters_.x / clusters_.y)};
  }

  /// First CTA of a cluster that will not be started, see Cluster::cancelUnstarted.
  std::optional<Dim3> cancelUnstarted() {
    const std::optional<uint64_t> index = takeNext();
    if (!index) return std::nullopt;
    const Dim3 id = clusterId(*index);
    return Dim3{id.x * config_.cluster.x, id.y * config_.cluster.y, id.z * config_.cluster.z};
  }

  /// Starts the next cluster of the grid; false when all have started or been canceled.
  bool start(std::deque<Resident>& resident) {
    if (failedIndex_.load() != UINT64_MAX) return false;
    const std::optional<uint64_t> index = takeNext();
    if (!index) return false;
    try {
      resident.push_front({*index,
                           std::make_unique<Cluster>(program_, kernel_, config_, clusterId(*index), global_, parameterAddress_,
                                                     options_, clusterSeed(options_.seed, *index)),
                           kSlice, 0});
      if (observe_) resident.front().cluster->watch(observe_(*resident.front().cluster, *index));
      resident.front().cluster->cancelUnstarted = [this] { return cancelUnstarted(); };
    } catch (...) {
      fail(*index);
      return false;
    }
    return true;
  }

  void work() {
    Counters counters;
    std::deque<Resident> resident;
    while (!resident.empty() || start(resident)) {
      Resident& front = resident.front();
      const Outcome outcome = runFront(front);
      if (outcome == Outcome::Finished) counters += front.cluster->counters;
      if (outcome != Outcome::Waiting) {
        resident.pop_front();
        continue;
      }
      resident.push_back(std::move(front));
      resident.pop_front();
      if (resident.size() < residentPerThread_) start(resident);
    }
    const std::lock_guard lock(mutex_);
    total_ += counters;
  }

  enum class Outcome { Finished, Dropped, Waiting };

  /// Runs a cluster until it ends, spins or has had a long slice.
  Outcome runFront(Resident& resident) {
    Cluster& cluster = *resident.cluster;
    uint64_t used = 0;
    try {
      while (used < kLongSlice) {
        const uint64_t activity = cluster.activity();
        const uint64_t before = cluster.warpInstructions();
        const bool finished = cluster.run(resident.slice);
        const uint64_t ran = cluster.warpInstructions() - before;
        used += ran;
        countInstructions(ran, cluster);
        if (finished) return Outcome::Finished;
        if (resident.index > failedIndex_.load()) return Outcome::Dropped;
        if (failedIndex_.load() != UINT64_MAX && (resident.afterError += ran + 1) > kInstructionsAfterError)
          return Outcome::Dropped;
        const bool spinning = cluster.activity() == activity;
        resident.slice = spinning ? std::max(resident.slice / 4, kShortestSlice) : std::min(resident.slice * 4, kSlice);
        if (spinning) return Outcome::Waiting;
      }
    } catch (...) {
      fail(resident.index);
      return Outcome::Dropped;
    }
    return Outcome::Waiting;
  }

  void countInstructions(uint64_t count, const Cluster& cluster) {
    if (options_.instructionLimit == 0) return;
    if (instructions_.fetch_add(count) + count > options_.instructionLimit)
      throw EmulatorError(ErrorKind::Limit,
                          fmt::format("kernel {} has executed more than the {} warp instructions it was allowed\n{}",
                                      kernel_.source->name, options_.instructionLimit, cluster.report()));
  }

  void fail(uint64_t index) {
    const std::lock_guard lock(mutex_);
    if (index >= failedIndex_.load()) return;
    failedIndex_.store(index);
    error_ = std::current_exception();
  }

  const program::Program& program_;
  const program::CompiledFunction& kernel_;
  const LaunchConfig& config_;
  GlobalMemory& global_;
  const uint64_t parameterAddress_;
  const Options& options_;
  const ObserverFactory& observe_;
  Dim3 clusters_;
  unsigned threads_ = 1;
  uint64_t residentPerThread_ = 1;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> instructions_{0};
  std::atomic<uint64_t> failedIndex_{UINT64_MAX};
  std::mutex mutex_;
  std::exception_ptr error_;
  Counters total_;
};

}  // namespace

LaunchConfig checkLaunch(const program::Program& program, const program::CompiledFunction& kernel, const LaunchConfig& config) {
  const ptx::PerformanceDirectives& directives = kernel.source->directives;
  const program::DeviceLimits& limits = *program.target->device;
  LaunchConfig checked = config;
  const Dim3& block = config.block;
  const Dim3& grid = config.grid;
  if (block.count() == 0) refuse(kernel, fmt::format("the block {} is empty", toString(block)));
  if (grid.count() == 0) refuse(kernel, fmt::format("the grid {} is empty", toString(grid)));
  if (block.x > limits.threadsPerCta || block.y > limits.threadsPerCta || block.z > kMaximumBlockZ ||
      block.count() > limits.threadsPerCta)
    refuse(kernel, fmt::format("the block {} has {} threads; the limits are {} threads, and {}, {} and {} along x, y and z",
                               toString(block), block.count(), limits.threadsPerCta, limits.threadsPerCta, limits.threadsPerCta,
                               kMaximumBlockZ));
  if (grid.x > kMaximumGridX || grid.y > kMaximumGridYZ || grid.z > kMaximumGridYZ)
    refuse(kernel,
           fmt::format("the grid {} exceeds {} CTAs along x or {} along y or z", toString(grid), kMaximumGridX, kMaximumGridYZ));
  if (directives.requiredThreads && !same(toDim3(*directives.requiredThreads), block))
    refuse(kernel,
           fmt::format("the block is {}, but .reqntid demands {}", toString(block), toString(toDim3(*directives.requiredThreads))));
  if (directives.maximumThreads && block.count() > toDim3(*directives.maximumThreads).count())
    refuse(kernel, fmt::format("the block has {} threads, but .maxntid allows {}", block.count(),
                               toDim3(*directives.maximumThreads).count()));

  if (directives.requiredCluster) {
    const Dim3 required = toDim3(*directives.requiredCluster);
    if (config.cluster.count() > 1 && !same(config.cluster, required))
      refuse(kernel,
             fmt::format("the cluster is {}, but .reqnctapercluster demands {}", toString(config.cluster), toString(required)));
    checked.cluster = required;
  }
  const Dim3& cluster = checked.cluster;
  if (cluster.count() == 0 || cluster.count() > limits.ctasPerCluster)
    refuse(kernel,
           fmt::format("the cluster {} has {} CTAs; the limit is {}", toString(cluster), cluster.count(), limits.ctasPerCluster));
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    refuse(kernel, fmt::format("the cluster {} does not divide the grid {}", toString(cluster), toString(grid)));

  const uint32_t fixed = program.dynamicSharedOffset(kernel) - kReservedSharedBytes;
  if (uint64_t{fixed} + config.dynamicSharedBytes > limits.sharedBytesPerCta)
    refuse(kernel, fmt::format("{} bytes of static and {} bytes of dynamic shared memory exceed the {} bytes of a CTA", fixed,
                               config.dynamicSharedBytes, limits.sharedBytesPerCta));
  return checked;
}

Counters runGrid(const program::Program& program, const program::CompiledFunction& kernel, const LaunchConfig& config,
                 GlobalMemory& global, uint64_t parameterAddress, const Options& options, const ObserverFactory& observe) {
  return Grid(program, kernel, config, global, parameterAddress, options, observe).run();
}

}  // namespace shiftconv::emulator::machine
