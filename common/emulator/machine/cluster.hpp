// The running state of one cluster: its CTAs, warps, memories and outstanding operations.
// A cluster is executed by one host thread; only global memory is shared with other clusters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/emulator/counters.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/async.hpp"
#include "common/emulator/machine/instruction.hpp"
#include "common/emulator/machine/mbarrier.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::emulator::tensor {
class TensorUnit;  // Tensor Memory, its allocator and the ordering state of one CTA (tensor/tensor_unit.hpp)
}
namespace shiftconv::emulator::tma {
class BulkGroups;  // bulk async-groups of the threads of one CTA (tma/bulk_groups.hpp)
}

namespace shiftconv::emulator::machine {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct LaunchConfig {
  Dim3 grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
};

class Cluster;
class Warp;

class Cta {
 public:
  Cta(Cluster& cluster, uint32_t rank, Dim3 ctaid);
  ~Cta();

  Cluster& cluster;
  const uint32_t rank;  ///< %cluster_ctarank
  const Dim3 ctaid;     ///< in the grid
  SharedMemory shared;
  MbarrierTable mbarriers;
  std::unique_ptr<tensor::TensorUnit> tensor;
  std::unique_ptr<tma::BulkGroups> bulkGroups;
  std::vector<std::unique_ptr<Warp>> warps;
  /// Named barriers 0..15 and their arrival counts: see machine/barrier.hpp.
  struct NamedBarrier {
    uint32_t arrived = 0;
    uint32_t expected = 0;
    uint64_t generation = 0;
  };
  std::array<NamedBarrier, 16> barriers{};
};

class Cluster {
 public:
  Cluster(const isa::Program& program, const isa::CompiledFunction& kernel, const LaunchConfig& config, Dim3 clusterId,
          GlobalMemory& global, uint64_t parameterAddress, const Options& options, uint64_t seed);
  ~Cluster();

  /// Runs until every warp has exited or about `warpInstructions` were executed; true when finished.
  bool run(uint64_t warpInstructions);

  /// The CTA and offset behind a shared-window address (32-bit form). Throws OutOfBounds for a rank outside.
  Cta& ctaOfShared(uint32_t windowAddress);
  static uint32_t sharedOffset(uint32_t windowAddress) { return windowAddress & kSharedOffsetMask; }

  const isa::Program& program;
  const isa::CompiledFunction& kernel;
  const LaunchConfig config;
  const Dim3 clusterId;
  GlobalMemory& global;
  const uint64_t parameterAddress;  ///< global address of the kernel's parameter block
  const Options& options;
  AsyncQueue queue;
  Counters counters;
  std::vector<std::unique_ptr<Cta>> ctas;
  /// Increased by anything a sleeping warp might wait for (barrier phase, TMEM dealloc, group completion).
  uint64_t wakeups = 0;
};

/// What a blocked group of lanes waits for; the instruction is executed again after any wakeup.
struct WaitReason {
  std::string text;         ///< "mbarrier at shared offset 0x410, parity 0 (phase 0, pending 1, tx 4096)"
  bool mayTimeOut = false;  ///< try_wait: returns false once when nothing else can happen
};

/// 32 lanes with their own program counters. Public part: what instruction handlers use.
class Warp {
 public:
  Warp(Cta& cta, uint32_t index);
  ~Warp();

  Cta& cta;
  const uint32_t index;  ///< in the CTA
  uint32_t thread(unsigned lane) const { return index * kWarpLanes + lane; }
  LaneMask existing() const;  ///< lanes that hold a thread (the last warp of a block may be partial)
  LaneMask exited() const;

  /// The executing lanes wait; the handler must return at once and have no effect so far.
  void block(WaitReason reason);
  /// True while the present execution of a blocked try_wait is its time-out.
  bool timedOut() const;
  /// A `.sync` instruction over `members`: false (and the lanes are parked) until all of them that still run
  /// have arrived at this instruction; then they execute it together. Errors when a lane is not in its own mask.
  bool converge(LaneMask executing, LaneMask members);
  /// For `.aligned` instructions: errors unless all non-exited lanes execute.
  void requireAligned(LaneMask executing, const char* what) const;
  IssuePoint issuePoint(unsigned lane) const;
  /// Program counter of the instruction being executed, for messages.
  const ptx::Instruction* currentInstruction() const;

  struct State;
  std::unique_ptr<State> state;  ///< control-flow state, owned by machine/warp.cpp
};

/// Value of a generic or state-space address per lane, resolved to what it names.
struct ResolvedAddress {
  enum class Space : uint8_t { Global, Shared, Local } space;
  Cta* cta = nullptr;   ///< for Shared
  uint64_t offset = 0;  ///< shared offset, local offset, or global address
};
ResolvedAddress resolveGeneric(Cluster& cluster, uint64_t address);

}  // namespace shiftconv::emulator::machine
