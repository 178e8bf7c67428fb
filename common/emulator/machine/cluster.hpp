// The running state of one cluster: its CTAs, warps, memories and outstanding operations.
// A cluster is executed by one host thread; only global memory is shared with other clusters.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/emulator/counters.hpp"
#include "common/emulator/machine/async.hpp"
#include "common/emulator/machine/cta_unit.hpp"
#include "common/emulator/machine/execution.hpp"
#include "common/emulator/machine/global_port.hpp"
#include "common/emulator/machine/mbarrier.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/machine/observer.hpp"
#include "common/emulator/machine/register_pool.hpp"
#include "common/emulator/options.hpp"
#include "common/emulator/program/program.hpp"
#include "common/launch.hpp"

namespace shiftconv::emulator::machine {

using shiftconv::Dim3;
using shiftconv::LaunchConfig;

class Cluster;
class Warp;

/// Follows which registers the instructions of a warp touch.
class RegisterWatch {
 public:
  virtual ~RegisterWatch() = default;
  virtual void touched(const std::byte* frame, const program::CompiledFunction& function, uint32_t pc) = 0;
};

/// One of the sixteen barriers of a CTA; see machine/barrier.hpp.
struct NamedBarrier {
  uint32_t arrived = 0;         ///< threads, in the present round
  uint32_t arrivedInWarps = 0;  ///< the same with whole warps counted full, as an explicit thread count does
  uint32_t expected = 0;        ///< threads; 0: every thread of the CTA that has not exited
  uint64_t generation = 0;      ///< completed rounds
  bool open = false;            ///< somebody has arrived in the present round
  uint32_t trueCount = 0;       ///< reduction: arrivals whose predicate is true
  uint32_t contributions = 0;   ///< reduction: arrivals that brought a predicate
  struct Result {
    uint32_t trueCount = 0, contributions = 0;
  };
  std::map<uint64_t, Result> results;  ///< of recent rounds with a reduction, by generation
};

class Cta {
 public:
  Cta(Cluster& cluster, uint32_t rank, Dim3 ctaid);
  ~Cta();

  Cluster& cluster;
  const uint32_t rank;  ///< %cluster_ctarank
  const Dim3 ctaid;     ///< in the grid
  SharedMemory shared;
  MbarrierTable mbarriers;
  std::array<std::unique_ptr<CtaUnit>, kUnitPlaces> units;  ///< see unitOf
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<NamedBarrier, 16> barriers;
  RegisterPool registers;
  uint32_t liveThreads = 0;  ///< threads that have not exited
  /// To be called before others can see that threads of the warp release what they did.
  void released(const Warp& warp) {
    for (const auto& unit : units)
      if (unit != nullptr) unit->released(warp);
  }
  bool sawFailedCancel = false;  ///< a clusterlaunchcontrol.query_cancel of this CTA has answered "not canceled"
};

/// What barrier.cluster.arrive and .wait count; which lanes have arrived is kept by the warps.
struct ClusterBarrier {
  uint32_t arrived = 0;     ///< live threads that have arrived in the present round
  uint64_t generation = 0;  ///< completed rounds
};

class Cluster {
 public:
  Cluster(const program::Program& program, const program::CompiledFunction& kernel, const LaunchConfig& config, Dim3 clusterId,
          GlobalMemory& global, uint64_t parameterAddress, const Options& options, uint64_t seed);
  ~Cluster();

  /// From now on everything is reported to the observer; to be called before run().
  void watch(std::unique_ptr<Observer> watcher);

  /// Runs until every warp has exited or about `warpInstructions` were executed; true when finished.
  bool run(uint64_t warpInstructions);

  /// The CTA and offset behind a shared-window address (32-bit form). Throws OutOfBounds for a rank outside, and
  /// Synchronisation for a CTA that has exited.
  Cta& ctaOfShared(uint32_t windowAddress);
  static uint32_t sharedOffset(uint32_t windowAddress) { return windowAddress & kSharedOffsetMask; }

  const program::Program& program;
  const program::CompiledFunction& kernel;
  const LaunchConfig config;
  const Dim3 clusterId;
  GlobalPort global;
  const uint64_t parameterAddress;  ///< global address of the kernel's parameter block
  const Options& options;
  AsyncQueue queue;
  Counters counters;
  /// Takes a cluster that has not started out of the grid, for good: the id of its first CTA, or nothing when there is
  /// none left. Set by who runs the grid; the default finds none.
  std::function<std::optional<Dim3>()> cancelUnstarted = [] { return std::optional<Dim3>{}; };
  std::vector<std::unique_ptr<Cta>> ctas;
  std::unique_ptr<Observer> observer;  ///< nullptr: nobody watches
  ClusterBarrier barrier;
  const Warp* runningWarp = nullptr;
  uint32_t liveThreads = 0;
  /// Increased by anything a sleeping warp might wait for (barrier phase, TMEM dealloc, group completion).
  uint64_t wakeups = 0;
  /// Increased by every write to memory and every change of a barrier: tells a spinning cluster from a working one.
  uint64_t changes = 0;

  /// Changes whenever a sleeping lane could find its condition fulfilled: wakeups, mbarrier phases, completed operations.
  uint64_t wakeEpoch() const;
  /// Changes with anything at all that the cluster does to its surroundings.
  uint64_t activity() const { return changes + wakeEpoch() + queue.issuedCount(); }
  /// Of the device that the program runs on.
  uint32_t multiprocessors() const;
  /// Executed so far by all warps.
  uint64_t warpInstructions() const { return executed_; }
  /// Where every warp is and what it waits for, and the outstanding operations.
  std::string report() const;

 private:
  bool runWarps(uint64_t& budget);
  void resolveStandstill();
  void finish();
  std::vector<Warp*> warps_;  ///< of all CTAs, in the order they take turns
  std::mt19937_64 random_;
  uint64_t executed_ = 0;
  uint64_t operationsAtProgress_ = 0;  ///< queue.completed() when an operation was last seen to complete
  uint64_t instructionsSinceOperation_ = 0;
  unsigned fruitlessTimeOuts_ = 0;
  uint64_t activityAtTimeOut_ = 0;
  uint64_t globalReadsAtTimeOut_ = 0;
  bool finished_ = false;
};

/// What could end a wait, for reports of deadlocks.
struct WaitTarget {
  enum class Kind : uint8_t { Other, Mbarrier, Barrier, ClusterBarrier };
  Kind kind = Kind::Other;
  const Cta* cta = nullptr;
  uint32_t id = 0;  ///< shared offset of the mbarrier, or number of the barrier
};

/// What a blocked group of lanes waits for; the instruction is executed again after any wakeup.
struct WaitReason {
  std::string text;                         ///< "mbarrier at shared offset 0x410, parity 0 (phase 0, pending 1, tx 4096)"
  bool mayTimeOut = false;                  ///< try_wait: returns false once when nothing else can happen
  std::function<std::string()> describe{};  ///< instead of `text`, when making the text would be slow
  WaitTarget target{};
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

  /// The executing lanes wait; the handler must return at once and have no effect so far. The instruction must have
  /// been decoded with `endsGroup`.
  void block(WaitReason reason);
  /// Only `lanes` of the executing lanes wait; the others go on after the instruction.
  void block(LaneMask lanes, WaitReason reason);
  /// True while the present execution of a blocked try_wait is its time-out.
  bool timedOut() const;
  /// A `.sync` instruction over `members`: false (and the lanes are parked) until all of them that still run
  /// have arrived at this instruction; then they execute it together. Errors when a lane is not in its own mask.
  /// The instruction must have been decoded with `endsGroup`.
  bool converge(LaneMask executing, LaneMask members);
  /// For `.aligned` instructions; call it before anything else. When lanes that have not exited are elsewhere the
  /// executing ones wait for them (it leaves the handler by an internal exception), and it is an error when those can
  /// never come. The instruction must have been decoded with `endsGroup`.
  void requireAligned(LaneMask executing, const char* what) const;
  IssuePoint issuePoint(unsigned lane) const;
  /// Program counter of the instruction being executed, for messages.
  const ptx::Instruction* currentInstruction() const;

  /// A register that an unfinished operation uses.
  struct BusyRegister {
    OperationId operation = 0;
    Unproven question = Unproven::U30;  ///< what an instruction that touches it means
    bool readable = false;              ///< the operation only reads it: instructions may, too
  };
  /// By place in a frame, until the warp has waited for the operation. An instruction that touches one of them waits for the
  /// operation, unless the question is answered otherwise.
  std::unordered_map<const std::byte*, BusyRegister> busyRegisters;
  /// Told of every instruction before it is executed; nullptr: nobody wants to know.
  RegisterWatch* registerWatch = nullptr;

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
