// Whoever watches a cluster run: told of every access, every asynchronous operation and every synchronisation, as they happen.
//
// The machine calls one observer per cluster, from the host thread that runs the cluster; nullptr: nobody watches, and nothing
// is computed for it. An observer may throw EmulatorError, which ends the launch. It must not change the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/emulator/machine/execution.hpp"
#include "common/emulator/machine/operation_kind.hpp"

namespace shiftconv::emulator::program {
struct CompiledFunction;
}
namespace shiftconv::emulator::ptx {
struct Instruction;
}

namespace shiftconv::emulator::machine {

class Cluster;
class Cta;
class Warp;
struct AsyncOperation;
using OperationId = uint64_t;
using LaneAddresses = std::array<uint64_t, kWarpLanes>;

/// What an operation does with the bytes.
enum class OperandRole : uint8_t { Source, Destination, OperandA, OperandB, Accumulator, ScaleA, ScaleB, Shifted };

enum class FenceKind : uint8_t { AsyncProxy, MbarrierInit, Memory, MapRelease, TensorBefore, TensorAfter };

struct ByteRange {
  uint64_t address = 0, bytes = 0;
};

/// What the lanes of a store instruction are about to write, each to its own address.
struct StoredValues {
  const std::byte* frame;
  const Slot* registers;  ///< of the elements
  uint32_t elementBytes, registerBytes;
  LaneMask lanes = 0;
  const LaneAddresses* addresses = nullptr;  ///< as the observer is told
  std::byte at(unsigned lane, uint32_t byte) const {
    return frame[registers[byte / elementBytes] + size_t{lane} * registerBytes + byte % elementBytes];
  }
};

class Observer {
 public:
  virtual ~Observer() = default;

  // --- accesses by threads -------------------------------------------------------------------------------------
  /// `addresses`: per lane, in the shared window of the cluster.
  virtual void sharedAccess(const Warp& warp, LaneMask lanes, const LaneAddresses& addresses, uint32_t bytes, bool reads,
                            bool writes) = 0;
  virtual void globalAccess(const Warp& warp, LaneMask lanes, const LaneAddresses& addresses, uint32_t bytes, bool reads,
                            bool writes) = 0;
  /// The values of the last globalAccess() have been read: only now it can be told what they synchronise with.
  virtual void globalValuesRead() = 0;
  /// During sharedAccess() and globalAccess(): what is stored; nullptr where that is not told.
  const StoredValues* storing = nullptr;
  /// An operand that names .shared holds the generic address of a place in shared memory.
  virtual void genericOperand(const Warp& warp, unsigned lane, uint64_t address) = 0;
  /// The running instruction breaks a rule, and the launch goes on all the same (HazardMode::Warn). `what` it does; `missing`: what
  /// the rule asks for.
  virtual void ruleBroken(const Warp& warp, unsigned lane, std::string what, std::string missing) = 0;
  /// Columns of Tensor Memory are allocated or freed.
  virtual void columnsChangeHands(const Warp& warp, uint32_t column, uint32_t columns) = 0;
  /// Columns were allocated in both CTAs of a pair, by the collective instruction of one warp of each.
  virtual void pairAllocated(const Warp& here, const Warp& there, uint32_t column, uint32_t columns) = 0;
  /// fence.proxy.tensormap::generic.acquire of the 128 bytes at `address`.
  virtual void mapAcquired(const Warp& warp, unsigned lane, uint64_t address) = 0;
  /// A bulk tensor copy, issued by the lane, reads the map at the global address.
  virtual void mapUsed(const Warp& warp, unsigned lane, uint64_t address) = 0;

  // --- asynchronous operations ---------------------------------------------------------------------------------
  virtual void issued(OperationId id, const AsyncOperation& operation) = 0;
  /// The operation completes between begin() and end(); what it touches is reported in between. Operations do not nest.
  virtual void begin(OperationId id) = 0;
  virtual void end() = 0;
  /// Reported for accesses outside of begin() and end(), too, which then are none by an operation.
  virtual void operationShared(uint32_t rank, uint32_t offset, uint32_t bytes, bool writes, OperandRole role) = 0;
  /// What the running operation touches in shared memory from now on is of this lane, one of several that it stands for
  /// (AsyncOperation::lanes).
  virtual void actsFor(unsigned lane) = 0;
  /// `lane` of an operation that stands for several; kIssuingLane: of the one that issued it. Returns
  /// which of the bytes it reads nothing has written, as far as the observer knows; valid until the next access.
  static constexpr unsigned kIssuingLane = kWarpLanes;
  virtual std::span<const ByteRange> operationGlobal(uint64_t address, uint64_t bytes, bool writes, unsigned lane) = 0;
  virtual void operationTensor(uint32_t rank, uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns, bool writes,
                               OperandRole role) = 0;
  /// A shift moved rows [first + 1, first + lanes) up by one, and left the last one as it was.
  virtual void operationShift(uint32_t rank, uint32_t first, uint32_t lanes, uint32_t column, uint32_t columns) = 0;

  // --- waits for operations ------------------------------------------------------------------------------------
  /// tcgen05.wait::ld or ::st: the warp's own operations of this kind are done.
  virtual void waitedTogether(const Warp& warp, OperationKind kind) = 0;
  /// wgmma.wait_group: these of the warp's warpgroup are done, as a whole.
  virtual void warpgroupWaited(const Warp& warp, const std::vector<OperationId>& operations) = 0;
  /// Bulk groups and cp.async groups of a thread, by kind.
  enum class Group : uint8_t { BulkRead, BulkWrite, Copy, Count };
  virtual void addToGroup(Group kind, const Warp& warp, unsigned lane, OperationId id) = 0;
  virtual void commitGroup(Group kind, const Warp& warp, unsigned lane) = 0;
  /// At most the `newest` last groups are still under way.
  virtual void waitedForGroups(Group kind, const Warp& warp, unsigned lane, uint64_t newest) = 0;
  /// Uncommitted ones, too.
  virtual void waitedForAll(Group kind, const Warp& warp, unsigned lane) = 0;

  // --- synchronisation between threads -------------------------------------------------------------------------
  virtual void fence(const Warp& warp, LaneMask lanes, FenceKind kind) = 0;
  virtual void warpSync(const Warp& warp, LaneMask lanes) = 0;
  /// griddepcontrol.wait.
  virtual void prerequisitesAwaited(const Warp& warp, LaneMask lanes) = 0;
  /// Barrier `id` of a CTA; kClusterBarrier: of the cluster.
  static constexpr uint32_t kClusterBarrier = 0xffff'ffff;
  virtual void barrierArrive(const Warp& warp, LaneMask lanes, uint32_t id, bool release) = 0;
  virtual void barrierComplete(uint32_t rank, uint32_t id, uint64_t round) = 0;
  virtual void barrierLeave(const Warp& warp, LaneMask lanes, uint32_t id, uint64_t round) = 0;
  virtual void mbarrierInit(const Warp& warp, unsigned lane, const Cta& cta, uint32_t offset) = 0;
  virtual void mbarrierInval(const Warp& warp, unsigned lane, const Cta& cta, uint32_t offset) = 0;
  virtual void mbarrierArrive(const Warp& warp, unsigned lane, const Cta& cta, uint32_t offset, bool release) = 0;
  virtual void mbarrierWaited(const Warp& warp, unsigned lane, const Cta& cta, uint32_t offset, bool acquire) = 0;
  /// A thread or, between begin() and end(), an operation arrives or completes transactions; `phase` is the one it counts for.
  virtual void mbarrierSignalled(uint32_t rank, uint32_t offset, uint64_t phase) = 0;
  /// `phase` phases are now complete.
  virtual void mbarrierPhase(uint32_t rank, uint32_t offset, uint64_t phase) = 0;
  /// The thread looks for phase `awaited` of the mbarrier, the one after the last it has seen complete, of which `completed` have
  /// completed by now: more than that one.
  virtual void mbarrierLapped(const Warp& warp, unsigned lane, const Cta& cta, uint32_t offset, uint64_t awaited,
                              uint64_t completed) = 0;
  /// The last thread of a CTA has exited.
  virtual void ctaExits(uint32_t rank) = 0;

  // --- registers -----------------------------------------------------------------------------------------------
  /// The instruction about to be executed touches a register of this operation, for which the warp has not waited.
  virtual void usedUnwaited(const Warp& warp, LaneMask lanes, OperationId operation) = 0;
  /// A wgmma.mma_async uses registers that `toucher` used, and no wgmma.fence stands between the two; nullptr: the warp has not
  /// executed any.
  virtual void warpgroupFenceMissing(const Warp& warp, const ptx::Instruction* toucher) = 0;
  /// tcgen05.ld or .st with a lane field that names neither a lane of the warp's window nor one relative to it.
  virtual void foreignWindow(const Warp& warp, uint32_t lane) = 0;
  /// setmaxnreg with another count than `otherRequest` in a warp of the same warpgroup.
  virtual void unequalRegisterRequests(const Warp& warp, const Warp& other, const ptx::Instruction* otherRequest) = 0;

  // --- undefined data ------------------------------------------------------------------------------------------
  // Memories know which of their bytes and cells are undefined: never written, or made of undefined data; Tensor Memory also which
  // rows a shift left stale. Reading such data is no error. An observer may follow it through registers.

  /// Asks for executing() and executed() around every instruction, of all warps.
  bool following = false;
  /// The instruction at `pc` is next for `group`; of these the lanes of `mask` pass its guard.
  virtual void executing(const Warp& warp, LaneMask group, LaneMask mask, const std::byte* frame,
                         const program::CompiledFunction& function, uint32_t pc) = 0;
  virtual void executed(const Warp& warp, LaneMask mask, const std::byte* frame, const program::CompiledFunction& function,
                        uint32_t pc) = 0;
  /// Lanes in which the register at this place of a frame holds undefined data.
  virtual LaneMask undefinedLanes(const std::byte* reg) const = 0;
  /// The running instruction stores to shared memory; the lanes in which what it stores is undefined.
  virtual LaneMask storesUndefined(const Warp& warp, LaneMask lanes, const LaneAddresses& addresses, uint32_t bytes) = 0;
  /// A tcgen05.ld has filled a register: in `lanes` with undefined data of its CTA, some of it of Tensor Memory lane `tensorLane`.
  virtual void loadedUndefined(uint32_t rank, const std::byte* reg, LaneMask lanes, uint32_t tensorLane) = 0;
  /// The running operation has put undefined data into shared memory; from this global address, or 0.
  virtual void undefinedInShared(uint32_t rank, uint32_t offset, uint32_t bytes, uint64_t globalAddress) = 0;
  /// The same into a lane of Tensor Memory, from shared memory.
  virtual void undefinedInTensor(uint32_t rank, uint32_t lane, uint32_t sharedOffset) = 0;
  /// The running operation has stored undefined bytes of shared memory to global memory.
  virtual void undefinedInGlobal(uint32_t rank, uint32_t sharedOffset, uint64_t address, uint64_t bytes) = 0;
  /// The running mma has multiplied undefined data for a lane of its accumulators, or a row that a shift left `stale`.
  struct UndefinedOperand {
    OperandRole role = OperandRole::OperandA;
    bool stale = false;
    bool maskable = false;  ///< the kind of mma can disable the lane
  };
  virtual void undefinedResult(uint32_t rank, uint32_t lane, const UndefinedOperand& operand) = 0;
  /// Undefined data of a wgmma.mma_async: in a register, or in shared memory of its CTA.
  struct UndefinedSource {
    const std::byte* reg = nullptr;  ///< nullptr: in shared memory
    uint32_t sharedOffset = 0;
  };
  /// The running wgmma.mma_async has filled a register: in the lanes of `undefined` with what it made of `source`. The others are
  /// defined, but where it `accumulates` onto what was not.
  virtual void productResult(uint32_t rank, const std::byte* reg, LaneMask undefined, bool accumulates,
                             const UndefinedSource& source) = 0;
};

/// Makes the observer of a cluster that is about to run; `index`: of the cluster in the grid. Called from any host thread.
using ObserverFactory = std::function<std::unique_ptr<Observer>(Cluster& cluster, uint64_t index)>;

}  // namespace shiftconv::emulator::machine
