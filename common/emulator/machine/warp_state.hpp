// The control-flow state of a warp: groups of lanes that stand at the same instruction of the same activation.
// Internal to the machine; control-flow and barrier instructions use it, all others see only Warp.
//
// The lanes of a warp that have not exited are partitioned into groups. The group in the deepest activation, and
// there with the lowest program counter, runs first, until it reaches the place where another group stands; there
// they become one group again. A group that others keep waiting for long gets a turn all the same, so a lane that
// spins at a low program counter cannot starve the lane it waits for.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/machine/activation.hpp"
#include "common/emulator/machine/async_copy.hpp"
#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

/// Leaves the handler of an `.aligned` instruction whose warp-mates have not arrived yet.
struct AlignedWait final : std::exception {};

struct Group {
  enum class Status : uint8_t {
    Ready,
    Sleeping,     ///< until the cluster's wake epoch changes
    Converging,   ///< at a .sync instruction, for the other members of its mask
    Aligned,      ///< at an .aligned instruction, for all lanes of the warp
    WarpBarrier,  ///< at bar.warp.sync, for the other members of its mask, wherever they execute theirs
  };
  Activation* activation = nullptr;
  uint32_t pc = 0;
  LaneMask lanes = 0;
  Status status = Status::Ready;
  bool timeOut = false;  ///< the sleeping instruction is to run once more and give up
  uint64_t token = 0;    ///< what the sleeping instruction remembers; 0: nothing
  uint64_t sleepEpoch = 0;
  uint64_t lastRun = 0;  ///< warp instructions executed when this group last ran
  LaneMask members = 0;  ///< WarpBarrier: its mask
  WaitReason reason;
};

struct Warp::State {
  explicit State(Warp& warp);

  /// Runs up to `quantum` warp instructions; returns how many were executed (0: every lane waits).
  uint64_t run(uint64_t quantum);
  bool finished() const { return exited == existing; }
  LaneMask alive() const { return existing & ~exited; }
  /// Lets sleeping waits that may time out do so; false when there is none.
  bool timeOutWaits();

  // --- requests of the instruction being executed ---------------------------------------------------------
  void branch(LaneMask lanes, uint32_t target) {
    taken = lanes;
    takenTarget = target;
  }
  void jump(LaneMask lanes, uint32_t target);  ///< as branch; may be called for several sets of lanes
  void exit(LaneMask lanes);
  Activation& call(LaneMask lanes, const program::CompiledFunction& function);
  void leave(LaneMask lanes);  ///< return from the present activation
  void sleep(LaneMask lanes, WaitReason reason, uint64_t token = 0);
  void warpBarrier(LaneMask lanes, LaneMask members);
  /// What sleep() was given, when the instruction is executed again after it; 0 otherwise.
  uint64_t resumeToken() const { return token; }

  std::string describe(const Group& group) const;

  Warp& warp;
  const LaneMask existing;
  LaneMask exited = 0;
  LaneMask clusterArrived = 0;                              ///< lanes that have arrived in the present round of the cluster barrier
  LaneMask clusterPending = 0;                              ///< lanes that have arrived and not yet waited
  std::vector<const DecodedInstruction*> registerRequests;  ///< setmaxnreg executed so far
  /// By CTA and shared offset of an mbarrier, and by lane: phases that had completed when its last wait for a parity ended.
  std::map<std::pair<const Cta*, uint32_t>, std::array<uint64_t, kWarpLanes>> phasesSeen;
  uint64_t executed = 0;  ///< warp instructions
  uint64_t threadExecuted = 0;
  uint64_t repeated = 0;  ///< of these, executions that only found that they have to wait
  uint64_t threadRepeated = 0;
  std::vector<Group> groups;  ///< without the running one
  Group current;              ///< the running one; pc is exact while a handler runs
  LaneMask executing = 0;     ///< lanes of `current` whose guard is true
  LocalStack locals;
  ActivationPool activations;
  AsyncCopies copies;
  bool timedOut = false;
  uint64_t token = 0;

  bool converge(LaneMask lanes, LaneMask members);
  void park(LaneMask lanes, Group::Status status);

 private:
  bool select();
  void execute(uint64_t quantum);
  /// For an instruction of the running group that touches registers which operations have yet to define.
  void awaitRegisters(LaneMask lanes, const std::byte* frame, const program::CompiledFunction& function, uint32_t pc);
  void place(Group group);
  void place(Activation* activation, uint32_t pc, LaneMask lanes);
  void commit();
  void parkAligned();
  void wakeParked();
  void checkStuck() const;
  uint32_t stopPc() const;

  // Set by the instruction being executed: lanes that branch, and lanes that have been moved to other groups.
  LaneMask taken = 0;
  LaneMask departed = 0;
  LaneMask waiting = 0;  ///< of these, lanes that will execute the instruction again
  uint32_t takenTarget = 0;
};

/// `ret`: hands the results to the caller, or exits from the kernel itself.
void returnFromFunction(Warp& warp, LaneMask lanes);

}  // namespace shiftconv::emulator::machine
