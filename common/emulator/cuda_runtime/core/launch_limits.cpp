#include "common/emulator/cuda_runtime/core/launch_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/cuda_runtime/core/settings.hpp"

namespace shiftconv::runtime {
namespace {

constexpr uint64_t kMaximumGridX = 0x7fffffff;
constexpr uint32_t kMaximumGridYZ = 65535;
constexpr uint32_t kMaximumBlockZ = 64;
constexpr uint64_t kPortableCluster = 8;
constexpr uint64_t kLargestCluster = 16;
constexpr uint32_t kMultiprocessorsPerCluster = 16;  ///< of a GPC, roughly: clusters never span two

const DeviceModel& model() { return Machine::instance().model(); }

uint32_t roundUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

int registersOf(const Function& function) {
  const KernelFacts& facts = function.facts();
  if (facts.maximumRegisters != 0) return static_cast<int>(facts.maximumRegisters);
  return static_cast<int>(std::min(255u, model().registersPerMultiprocessor / std::max(facts.maximumThreads, 256u)));
}

void checkLaunch(const KernelWork& kernel) {
  const LaunchShape& shape = kernel.shape;
  const Function& function = *kernel.function;
  const KernelFacts& facts = function.facts();
  const auto refuse = [&](cudaError_t code, const std::string& why) {
    throw Failure(code, fmt::format("kernel {}: {}", function.name, why));
  };
  if (!facts.refusal.empty()) {
    say(facts.refusal);
    if (RunResult* result = runResult()) ++result->failures;
    refuse(cudaErrorNoKernelImageForDevice, "it cannot be executed");
  }
  const Extent &grid = shape.grid, &block = shape.block, &cluster = shape.cluster;
  if (grid.count() == 0 || block.count() == 0) refuse(cudaErrorInvalidConfiguration, "the grid or the block is empty");
  if (grid.x > kMaximumGridX || grid.y > kMaximumGridYZ || grid.z > kMaximumGridYZ)
    refuse(cudaErrorInvalidConfiguration, fmt::format("the grid ({},{},{}) is too large", grid.x, grid.y, grid.z));
  if (block.x > kThreadsPerBlock || block.y > kThreadsPerBlock || block.z > kMaximumBlockZ || block.count() > kThreadsPerBlock)
    refuse(cudaErrorInvalidConfiguration, fmt::format("the block ({},{},{}) is too large", block.x, block.y, block.z));
  if (block.count() > facts.maximumThreads)
    refuse(cudaErrorInvalidValue,
           fmt::format("{} threads in a block, but it was compiled for {}", block.count(), facts.maximumThreads));
  if (uint64_t{shape.dynamicSharedBytes} + facts.staticSharedBytes > model().sharedPerBlockOptIn ||
      shape.dynamicSharedBytes > static_cast<uint32_t>(function.maximumDynamicShared))
    refuse(cudaErrorInvalidValue,
           fmt::format("{} bytes of dynamic and {} of static shared memory; cudaFuncAttributeMaxDynamicSharedMemorySize is {}",
                       shape.dynamicSharedBytes, facts.staticSharedBytes, function.maximumDynamicShared));
  const uint64_t ctas = cluster.count();
  if (ctas == 0 || ctas > kLargestCluster || (ctas > kPortableCluster && !function.nonPortableCluster))
    refuse(cudaErrorInvalidClusterSize,
           fmt::format("a cluster of {} CTAs{}", ctas,
                       ctas > kPortableCluster ? "; more than 8 need cudaFuncAttributeNonPortableClusterSizeAllowed" : ""));
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    refuse(cudaErrorInvalidClusterSize, "the cluster does not divide the grid");
  if (!kernel.cooperative) return;
  const uint64_t resident = static_cast<uint64_t>(residentClusters(function, static_cast<uint32_t>(block.count()),
                                                                   shape.dynamicSharedBytes, static_cast<uint32_t>(ctas))) *
                            ctas;
  if (grid.count() > resident)
    refuse(cudaErrorCooperativeLaunchTooLarge, fmt::format("{} CTAs, but {} are resident at once", grid.count(), resident));
}

int occupancy(const Function& function, uint32_t threads, uint64_t dynamicShared) {
  require(threads >= 1 && threads <= kThreadsPerBlock, "the number of threads is out of range");
  const KernelFacts& facts = function.facts();
  const uint64_t shared = facts.staticSharedBytes + dynamicShared + kReservedSharedPerBlock;
  if (threads > facts.maximumThreads || shared > model().sharedPerMultiprocessor) return 0;
  const uint32_t warpThreads = roundUp(threads, 32);
  // Registers are given to warps in units of 256.
  const uint32_t registers = roundUp(static_cast<uint32_t>(registersOf(function)) * 32, 256) * (warpThreads / 32);
  return static_cast<int>(
      std::min<uint64_t>({model().blocksPerMultiprocessor, model().threadsPerMultiprocessor / warpThreads,
                          model().sharedPerMultiprocessor / shared, model().registersPerMultiprocessor / registers}));
}

int residentClusters(const Function& function, uint32_t threads, uint64_t dynamicShared, uint32_t clusterBlocks) {
  const auto perMultiprocessor = static_cast<uint32_t>(occupancy(function, threads, dynamicShared));
  const unsigned multiprocessors = Machine::instance().multiprocessors();
  if (clusterBlocks <= 1) return static_cast<int>(perMultiprocessor * multiprocessors);
  uint32_t clusters = 0;
  for (unsigned first = 0; first < multiprocessors; first += kMultiprocessorsPerCluster)
    clusters += std::min(kMultiprocessorsPerCluster, multiprocessors - first) * perMultiprocessor / clusterBlocks;
  return static_cast<int>(clusters);
}

Extent requiredCluster(const Function& function) {
  return function.requiredCluster.x != 0 ? function.requiredCluster : function.facts().requiredCluster;
}

Extent defaultCluster(const Function& function) {
  const Extent required = requiredCluster(function);
  return required.x != 0 ? required : Extent{1, 1, 1};
}

void setFunctionAttribute(Function& function, int attribute, int value) {
  const auto size = [&] {
    require(value >= 0, "a cluster has no negative size");
    return static_cast<uint32_t>(value);
  };
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      require(value >= 0 && static_cast<uint32_t>(value) + function.facts().staticSharedBytes <= model().sharedPerBlockOptIn,
              "static and dynamic shared memory exceed 227 KiB");
      function.maximumDynamicShared = value;
      return;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      require(value >= -1 && value <= 100, "a carve-out is -1 or a percentage");
      function.carveout = value;
      return;
    case cudaFuncAttributeClusterDimMustBeSet:
      return;
    case cudaFuncAttributeRequiredClusterWidth:
      function.requiredCluster.x = size();
      return;
    case cudaFuncAttributeRequiredClusterHeight:
      function.requiredCluster.y = size();
      return;
    case cudaFuncAttributeRequiredClusterDepth:
      function.requiredCluster.z = size();
      return;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      function.nonPortableCluster = value != 0;
      return;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      function.clusterPolicy = value;
      return;
    default:
      throw Failure(cudaErrorInvalidValue, fmt::format("function attribute {} cannot be set", attribute));
  }
}

void applyAttributes(KernelWork& kernel, const cudaLaunchAttribute* attributes, unsigned count, Stream& stream) {
  for (unsigned i = 0; i < count; ++i) {
    const cudaLaunchAttributeValue& value = attributes[i].val;
    switch (attributes[i].id) {
      case cudaLaunchAttributeClusterDimension:
        kernel.shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
        break;
      case cudaLaunchAttributeCooperative:
        kernel.cooperative = value.cooperative != 0;
        break;
      case cudaLaunchAttributePriority:
        stream.priority = value.priority;
        break;
      // The emulated device never overlaps kernels; the hazard checker judges as if it did.
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        kernel.dependent = value.programmaticStreamSerializationAllowed != 0;
        break;
      // Hints that change nothing but speed.
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeSynchronizationPolicy:
      case cudaLaunchAttributeClusterSchedulingPolicyPreference:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributePreferredClusterDimension:
      case cudaLaunchAttributePreferredSharedMemoryCarveout:
      case cudaLaunchAttributeNvlinkUtilCentricScheduling:
        break;
      default:
        throw Failure(cudaErrorNotSupported,
                      fmt::format("launch attribute {} is not emulated", static_cast<int>(attributes[i].id)));
    }
  }
}

}  // namespace shiftconv::runtime
