#include "common/emulator/machine/activation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

using program::SpecialRegister;

constexpr size_t kRegisterAlignment = 64;
constexpr int kPoison = 0xCB;
/// Stops endless recursion before the host runs out of memory.
constexpr uint32_t kMaximumDepth = 1000;
constexpr uint32_t kSharedAllocationUnit = 128;

Dim3 unflatten(uint64_t index, Dim3 extent) {
  return {static_cast<uint32_t>(index % extent.x), static_cast<uint32_t>(index / extent.x % extent.y),
          static_cast<uint32_t>(index / extent.x / extent.y)};
}

Dim3 clustersIn(const LaunchConfig& config) {
  return {config.grid.x / config.cluster.x, config.grid.y / config.cluster.y, config.grid.z / config.cluster.z};
}

uint64_t specialValue(const Warp& warp, const Activation& activation, SpecialRegister which, unsigned lane) {
  const Cta& cta = warp.cta;
  const Cluster& cluster = cta.cluster;
  const LaunchConfig& config = cluster.config;
  const Dim3 tid = unflatten(warp.thread(lane), config.block);
  const Dim3 inCluster = unflatten(cta.rank, config.cluster);
  const uint32_t sharedBytes = cta.shared.size() - kReservedSharedBytes;
  switch (which) {
    case SpecialRegister::TidX:
      return tid.x;
    case SpecialRegister::TidY:
      return tid.y;
    case SpecialRegister::TidZ:
      return tid.z;
    case SpecialRegister::NtidX:
      return config.block.x;
    case SpecialRegister::NtidY:
      return config.block.y;
    case SpecialRegister::NtidZ:
      return config.block.z;
    case SpecialRegister::CtaidX:
      return cta.ctaid.x;
    case SpecialRegister::CtaidY:
      return cta.ctaid.y;
    case SpecialRegister::CtaidZ:
      return cta.ctaid.z;
    case SpecialRegister::NctaidX:
      return config.grid.x;
    case SpecialRegister::NctaidY:
      return config.grid.y;
    case SpecialRegister::NctaidZ:
      return config.grid.z;
    case SpecialRegister::LaneId:
      return lane;
    case SpecialRegister::WarpId:
      return warp.index;
    case SpecialRegister::NwarpId:
      return cta.warps.size();
    case SpecialRegister::SmId:
      return (cta.ctaid.x + uint64_t{config.grid.x} * (cta.ctaid.y + uint64_t{config.grid.y} * cta.ctaid.z)) %
             cluster.multiprocessors();
    case SpecialRegister::NsmId:
      return cluster.multiprocessors();
    case SpecialRegister::GridId:
      return 1;
    case SpecialRegister::ClusterIdX:
      return cluster.clusterId.x;
    case SpecialRegister::ClusterIdY:
      return cluster.clusterId.y;
    case SpecialRegister::ClusterIdZ:
      return cluster.clusterId.z;
    case SpecialRegister::NclusterIdX:
      return clustersIn(config).x;
    case SpecialRegister::NclusterIdY:
      return clustersIn(config).y;
    case SpecialRegister::NclusterIdZ:
      return clustersIn(config).z;
    case SpecialRegister::ClusterCtaidX:
      return inCluster.x;
    case SpecialRegister::ClusterCtaidY:
      return inCluster.y;
    case SpecialRegister::ClusterCtaidZ:
      return inCluster.z;
    case SpecialRegister::ClusterNctaidX:
      return config.cluster.x;
    case SpecialRegister::ClusterNctaidY:
      return config.cluster.y;
    case SpecialRegister::ClusterNctaidZ:
      return config.cluster.z;
    case SpecialRegister::ClusterCtaRank:
      return cta.rank;
    case SpecialRegister::ClusterNctaRank:
      return config.cluster.count();
    case SpecialRegister::IsExplicitCluster:
      return config.cluster.count() > 1 || cluster.kernel.source->directives.explicitCluster ||
             cluster.kernel.source->directives.requiredCluster.has_value();
    case SpecialRegister::LanemaskEq:
      return 1u << lane;
    case SpecialRegister::LanemaskLe:
      return (2ull << lane) - 1;
    case SpecialRegister::LanemaskLt:
      return (1ull << lane) - 1;
    case SpecialRegister::LanemaskGe:
      return kAllLanes << lane;
    case SpecialRegister::LanemaskGt:
      return kAllLanes & ~((2ull << lane) - 1);
    case SpecialRegister::DynamicSmemSize:
      return config.dynamicSharedBytes;
    case SpecialRegister::TotalSmemSize:
      return (sharedBytes + kSharedAllocationUnit - 1) / kSharedAllocationUnit * kSharedAllocationUnit;
    case SpecialRegister::AggrSmemSize:
      return cta.shared.size();  // what the hardware reserves included, and not rounded (observed on H200)
    case SpecialRegister::LocalBase:
      return activation.localBase;
    case SpecialRegister::SharedBase:
      return uint64_t{cta.rank} << kSharedRankShift;
    case SpecialRegister::DynamicSharedBase:
      return (uint64_t{cta.rank} << kSharedRankShift) + cluster.program.dynamicSharedOffset(cluster.kernel);
    case SpecialRegister::Count:
      break;
  }
  throw EmulatorError(ErrorKind::Unsupported, fmt::format("special register number {} has no value", static_cast<int>(which)));
}

}  // namespace

Activation* ActivationPool::make(const program::CompiledFunction& function, Activation* caller, LaneMask lanes) {
  if (caller != nullptr && caller->depth == kMaximumDepth)
    throw EmulatorError(ErrorKind::Limit,
                        fmt::format("calls are nested more than {} deep at '{}'", kMaximumDepth, function.source->name));
  Activation* activation = nullptr;
  std::vector<Activation*>& reusable = free_[&function];
  const bool fresh = reusable.empty();
  if (fresh) {
    all_.push_back(std::make_unique<Activation>());
    activation = all_.back().get();
    activation->function = &function;
    activation->storage.reset(new std::byte[function.frameBytes + kRegisterAlignment]);
    const auto raw = reinterpret_cast<uintptr_t>(activation->storage.get());
    activation->registers = activation->storage.get() + (kRegisterAlignment - raw % kRegisterAlignment) % kRegisterAlignment;
    std::memset(activation->registers, kPoison, function.frameBytes);
    if (!function.frameImage.empty()) std::memcpy(activation->registers, function.frameImage.data(), function.frameImage.size());
  } else {
    activation = reusable.back();
    reusable.pop_back();
  }
  activation->caller = caller;
  activation->lanes = lanes;
  activation->depth = caller == nullptr ? 0 : caller->depth + 1;
  const uint32_t below = caller == nullptr ? 0 : caller->localBase + caller->function->localBytes;
  const uint32_t alignment = std::max(function.localAlignment, 16u);
  activation->localBase = (below + alignment - 1) / alignment * alignment;
  warp_.state->locals.reserve(activation->localBase + function.localBytes);
  fillSpecials(*activation, fresh);
  return activation;
}

void ActivationPool::remove(Activation& activation, LaneMask lanes) {
  activation.lanes &= ~lanes;
  if (activation.lanes == 0) free_[activation.function].push_back(&activation);
}

void ActivationPool::fillSpecials(Activation& activation, bool all) const {
  for (const program::SpecialSlot& special : activation.function->specials) {
    if (!all && special.which != SpecialRegister::LocalBase) continue;  // the others never change for a warp
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const uint64_t value = specialValue(warp_, activation, special.which, lane) + special.addend;
      if (special.bytes == 0) {  // a predicate: one bit per lane
        LaneMask mask = 0;
        std::memcpy(&mask, activation.registers + special.slot, sizeof mask);
        mask = value != 0 ? mask | 1u << lane : mask & ~(1u << lane);
        std::memcpy(activation.registers + special.slot, &mask, sizeof mask);
      } else {
        std::memcpy(activation.registers + special.slot + size_t{special.bytes} * lane, &value, special.bytes);
      }
    }
  }
}

void LocalStack::reserve(uint32_t bytesPerLane) {
  if (bytesPerLane > kMaximumBytes)
    throw EmulatorError(ErrorKind::Limit,
                        fmt::format("a thread needs {} bytes of local memory; the limit is {}", bytesPerLane, kMaximumBytes));
  if (bytesPerLane <= size_) return;
  if (bytesPerLane > stride_) {
    const uint32_t stride = std::max((bytesPerLane + 63) / 64 * 64, 2 * stride_);
    std::vector<std::byte> grown(size_t{stride} * kWarpLanes, std::byte{kPoison});
    for (unsigned lane = 0; lane < kWarpLanes && size_ != 0; ++lane)
      std::memcpy(grown.data() + size_t{lane} * stride, bytes_.data() + size_t{lane} * stride_, size_);
    bytes_ = std::move(grown);
    stride_ = stride;
  }
  size_ = bytesPerLane;
}

void LocalStack::refuse(unsigned lane, uint64_t offset, uint32_t bytes, uint32_t alignment) const {
  if (offset + bytes > size_ || offset + bytes < offset)
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("local memory access of {} bytes at 0x{:x} by lane {} is outside the {} bytes of the thread",
                                    bytes, offset, lane, size_));
  throw EmulatorError(ErrorKind::Misaligned,
                      fmt::format("local memory access of {} bytes at 0x{:x} by lane {} needs an address that is a multiple of {}",
                                  bytes, offset, lane, alignment));
}

}  // namespace shiftconv::emulator::machine
