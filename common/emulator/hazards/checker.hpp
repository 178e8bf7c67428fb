// The hazard checker of one cluster: byte-level happens-before over shared memory, Tensor Memory and mbarriers,
// and, with what it tells other clusters and launches (global_checker.hpp), over global memory.
//
// Two accesses to the same byte or cell, one of them a write, must be ordered by program order, barriers, mbarriers, fences
// with strong accesses, tcgen05.wait, bulk-group waits, or the ordered pairs of tcgen05 (PTX ISA 9.0, 9.7.16.6.2). What is
// asked beyond that:
//  - a generic write before an access through the asynchronous proxy (bulk copies, operands of mma and cp in shared memory)
//    needs fence.proxy.async after it (PTX ISA 8.6.4 and 9.7.13.4). A generic read before an asynchronous write does not:
//    published pipelines release their stages that way;
//  - accesses to Tensor Memory by different threads need tcgen05.fence::before_thread_sync and ::after_thread_sync around
//    the synchronisation (9.7.16.6.3); a commit implies the former (9.7.16.6.4.2). No such fence is asked for between a
//    thread's wait for data in shared memory and its mma. Allocation and deallocation are synchronous and need none;
//  - an mbarrier that the asynchronous proxy or another CTA signals needs fence.mbarrier_init or fence.proxy.async
//    after its initialisation;
//  - operations that use the memories or mbarriers of a CTA, and accesses to them by its peers, must be over, and some thread of
//    the CTA must know it, before the CTA exits;
//  - undefined data must not reach what a launch shows (checker_undefined.cpp). Rows that a shift leaves stale make what is
//    multiplied with them undefined.
// What the PTX ISA asks for and shipped programs that are verified on hardware do without is a hazard of severity Formal: the
// tcgen05 fences, tcgen05.wait between operations of one warp, before a use of a loaded register, or between a store and a release
// by its threads. What is right only by the
// default answer to a question of order between tcgen05 operations has severity Unproven. What happened is judged by the
// synchronisation that was seen, not by the order in which the emulator ran things, so most hazards show under every schedule.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/emulator/hazards/access.hpp"
#include "common/emulator/hazards/clock.hpp"
#include "common/emulator/hazards/operations.hpp"
#include "common/emulator/hazards/reader_sets.hpp"
#include "common/emulator/hazards/reporter.hpp"
#include "common/emulator/hazards/shadow.hpp"
#include "common/emulator/hazards/shared_shadow.hpp"
#include "common/emulator/machine/async.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/execution.hpp"
#include "common/emulator/machine/observer.hpp"

namespace shiftconv::emulator::program {
struct CompiledFunction;
}
namespace shiftconv::emulator::machine {
class Cluster;
class Cta;
class Warp;
}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::hazards {

using machine::LaneMask;
using machine::OperationId;

using machine::FenceKind;

/// What shows a thread that an operation of this kind has finished, in words.
std::string proofOfCompletion(machine::OperationKind kind, bool tensor);

class GlobalChecker;
class GlobalShadow;
class LaunchRecord;

class HazardChecker final : public machine::Observer {
 public:
  HazardChecker(machine::Cluster& cluster, Reporter& reporter, GlobalShadow& shadow, LaunchRecord& launch, uint32_t index);
  ~HazardChecker() override;

  // --- accesses by threads (checker_memory.cpp) ---------------------------------------------------------------
  void sharedAccess(const machine::Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes, bool reads,
                    bool writes) override;
  void genericOperand(const machine::Warp& warp, unsigned lane, uint64_t address) override;
  void ruleBroken(const machine::Warp& warp, unsigned lane, std::string what, std::string missing) override;
  void columnsChangeHands(const machine::Warp& warp, uint32_t column, uint32_t columns) override;
  void pairAllocated(const machine::Warp& here, const machine::Warp& there, uint32_t column, uint32_t columns) override;

  // --- global memory (global_checker.hpp) -----------------------------------------------------------------------
  void globalAccess(const machine::Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes, bool reads,
                    bool writes) override;
  void globalValuesRead() override;
  void mapAcquired(const machine::Warp& warp, unsigned lane, uint64_t address) override;
  void mapUsed(const machine::Warp& warp, unsigned lane, uint64_t address) override;

  // --- operations (checker_operations.cpp, checker_memory.cpp) ----------------------------------------------------
  void issued(OperationId id, const machine::AsyncOperation& operation) override;
  void begin(OperationId id) override;
  void end() override;
  void operationShared(uint32_t rank, uint32_t offset, uint32_t bytes, bool writes, Role role) override;
  void actsFor(unsigned lane) override;
  std::span<const machine::ByteRange> operationGlobal(uint64_t address, uint64_t bytes, bool writes, unsigned lane) override;
  void operationTensor(uint32_t rank, uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns, bool writes,
                       Role role) override;
  void operationShift(uint32_t rank, uint32_t first, uint32_t lanes, uint32_t column, uint32_t columns) override;
  void waitedTogether(const machine::Warp& warp, machine::OperationKind kind) override;
  void warpgroupWaited(const machine::Warp& warp, const std::vector<OperationId>& operations) override;
  void addToGroup(Group kind, const machine::Warp& warp, unsigned lane, OperationId id) override;
  void commitGroup(Group kind, const machine::Warp& warp, unsigned lane) override;
  void waitedForGroups(Group kind, const machine::Warp& warp, unsigned lane, uint64_t newest) override;
  void waitedForAll(Group kind, const machine::Warp& warp, unsigned lane) override;
  void ctaExits(uint32_t rank) override;

  // --- synchronisation between threads (checker_threads.cpp) ------------------------------------------------------
  void fence(const machine::Warp& warp, LaneMask lanes, FenceKind kind) override;
  void warpSync(const machine::Warp& warp, LaneMask lanes) override;
  void prerequisitesAwaited(const machine::Warp& warp, LaneMask lanes) override;
  void barrierArrive(const machine::Warp& warp, LaneMask lanes, uint32_t id, bool release) override;
  void barrierComplete(uint32_t rank, uint32_t id, uint64_t round) override;
  void barrierLeave(const machine::Warp& warp, LaneMask lanes, uint32_t id, uint64_t round) override;
  void mbarrierInit(const machine::Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset) override;
  void mbarrierInval(const machine::Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset) override;
  void mbarrierArrive(const machine::Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset, bool release) override;
  void mbarrierWaited(const machine::Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset, bool acquire) override;
  void mbarrierLapped(const machine::Warp& warp, unsigned lane, const machine::Cta& cta, uint32_t offset, uint64_t awaited,
                      uint64_t completed) override;
  void mbarrierSignalled(uint32_t rank, uint32_t offset, uint64_t phase) override;
  void mbarrierPhase(uint32_t rank, uint32_t offset, uint64_t phase) override;

  // --- registers (checker_registers.cpp) ------------------------------------------------------------------------------
  void usedUnwaited(const machine::Warp& warp, LaneMask lanes, OperationId operation) override;
  void warpgroupFenceMissing(const machine::Warp& warp, const ptx::Instruction* toucher) override;
  void foreignWindow(const machine::Warp& warp, uint32_t lane) override;
  void unequalRegisterRequests(const machine::Warp& warp, const machine::Warp& other,
                               const ptx::Instruction* otherRequest) override;

  // --- undefined data (checker_undefined.cpp) -------------------------------------------------------------------------
  void executing(const machine::Warp& warp, LaneMask group, LaneMask mask, const std::byte* frame,
                 const program::CompiledFunction& function, uint32_t pc) override;
  void executed(const machine::Warp& warp, LaneMask mask, const std::byte* frame, const program::CompiledFunction& function,
                uint32_t pc) override;
  LaneMask undefinedLanes(const std::byte* reg) const override;
  LaneMask storesUndefined(const machine::Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses,
                           uint32_t bytes) override;
  void loadedUndefined(uint32_t rank, const std::byte* reg, LaneMask lanes, uint32_t tensorLane) override;
  void undefinedInShared(uint32_t rank, uint32_t offset, uint32_t bytes, uint64_t globalAddress) override;
  void undefinedInTensor(uint32_t rank, uint32_t lane, uint32_t sharedOffset) override;
  void undefinedInGlobal(uint32_t rank, uint32_t sharedOffset, uint64_t address, uint64_t bytes) override;
  void undefinedResult(uint32_t rank, uint32_t lane, const UndefinedOperand& operand) override;
  void productResult(uint32_t rank, const std::byte* reg, LaneMask undefined, bool accumulates,
                     const UndefinedSource& source) override;

  void report(HazardKind kind, HazardSeverity severity, HazardAccess first, HazardAccess second, std::string missing,
              std::string question = {});
  HazardAccess describeThread(const machine::Warp& warp, unsigned lane, std::string what) const;
  HazardAccess describeIssuer(const machine::IssuePoint& issuer, std::string what) const;

 private:
  friend class GlobalChecker;
  /// Of a thread, what hardly any instruction asks for.
  struct Rare {
    ClockPointer pending;                             ///< seen through relaxed reads; counts from the next fence on
    ClockPointer fenced;                              ///< what relaxed writes publish: the state at the last fence
    ClockPointer clusterFenced;                       ///< the same, of fences whose scope is at least the cluster
    ForeignPointer widelyPending;                     ///< as pending, of other clusters
    ForeignPointer lastAcquired;                      ///< of other clusters
    ClockPointer widelyFenced;                        ///< as fenced, at .gpu or .sys scope
    ForeignPointer lastObserved;                      ///< of what other clusters have sequenced
    const ptx::Instruction* relaxedArrive = nullptr;  ///< the last one at a barrier, which released nothing
    struct Groups {
      std::vector<OperationId> open;
      std::vector<std::vector<OperationId>> committed;  ///< oldest first; hardly ever more than a few
    };
    std::array<Groups, static_cast<size_t>(Group::Count)> groups;
  };
  struct Thread {
    View view;
    uint32_t initsFenced = 0;     ///< stamp at the last fence.mbarrier_init, which publishes mbarrier.init and nothing else
    uint32_t tensorReleased = 0;  ///< stamp at the last tcgen05.fence::before_thread_sync
    std::unique_ptr<Rare> made{};
    Rare& rare() {
      if (!made) made = std::make_unique<Rare>();
      return *made;
    }
  };
  /// Collects what several arrivals publish.
  struct Gathering {
    Clock clock;
    ClockPointer last;  ///< joined last: most arrivals bring the same
    void join(const ClockPointer& other);
  };
  struct Rounds {
    Gathering gathering;
    std::map<uint64_t, ClockPointer> completed;
  };
  struct Mbarrier {
    uint32_t slot = 0;
    uint32_t initThread = 0, initClock = 0;
    const ptx::Instruction* init = nullptr;
    bool fenced = false;
    Gathering gathering;
    ClockPointer completed;
    uint64_t phases = 0;
    uint64_t signalled = 0;  ///< phases that are complete once the last signal by an operation has arrived
    machine::IssuePoint signaller;
    struct Arrival {
      uint64_t phase;
      uint32_t clock;
      machine::IssuePoint point;
    };
    std::map<uint32_t, Arrival> remoteArrivals;  ///< the last one of every thread of another CTA
  };
  /// Who makes an access.
  struct Subject {
    const View& view;
    const Operation* operation = nullptr;  ///< nullptr: a thread
    Access access;
    bool asyncProxy = false;
  };
  struct Place {
    bool tensor = false;
    uint32_t rank = 0;
    uint32_t lane = 0;              ///< Tensor Memory only
    uint32_t first = 0, count = 0;  ///< count 0: somewhere
  };
  /// Results of the last checks; valid for one subject.
  struct Memo {
    uint64_t writer = 0, readers = 0, readersBefore = 0, readersAfter = 0;
  };
  /// A cell in the state of the last one, whose check holds for it, too.
  static bool touchAgain(ShadowCell& cell, Access access, bool writes, const Memo& memo) {
    if (cell.writer != memo.writer) return false;
    if (writes) {
      if (cell.readers != memo.readers) return false;
      cell.writer = access.bits();
      cell.readers = 0;
      return true;
    }
    if (cell.readers != memo.readersBefore || memo.readersAfter == 0) return false;
    cell.readers = memo.readersAfter;
    return true;
  }
  enum class Verdict : uint8_t {
    Ordered,
    Race,
    ProxyFence,
    TensorFence,
    WarpOrder,    ///< tcgen05.ld and .st, in the order of issue of their warp (question U30)
    Release,      ///< tcgen05.st, complete because its threads have released something since (question U35)
    Collective,   ///< a lane uses what tcgen05.alloc, which is .sync.aligned, wrote for its warp
    Exit,         ///< a barrier counted the first thread as exited
    EqualWrites,  ///< two writes of the same value
    CopyOrder,    ///< tcgen05 operations of one thread, in the order of issue (question U6)
    MmaOrder,     ///< the same of two mma (question U31)
  };
  /// How a verdict is reported.
  struct Finding {
    HazardKind kind = HazardKind::Race;
    HazardSeverity severity = HazardSeverity::Race;
    std::string_view question{};
  };
  struct Semantics {
    bool strong = false, acquire = false, release = false;
    bool wide = true;         ///< scope .gpu or .sys
    bool narrow = false;      ///< scope .cta
    bool sequential = false;  ///< fence.sc
    uint32_t site = 0;
  };

  uint32_t threadIndex(uint32_t rank, uint32_t warp, unsigned lane) const {
    return (rank * warpsPerCta_ + warp) * machine::kWarpLanes + lane;
  }
  uint32_t warpIndex(const machine::Warp& warp) const { return warp.cta.rank * warpsPerCta_ + warp.index; }
  /// What the warp does from now on has a higher stamp.
  void advance(const machine::Warp& warp);
  Thread& threadOf(const machine::Warp& warp, unsigned lane) { return threads_[warpIndex(warp) * machine::kWarpLanes + lane]; }
  std::span<Thread, machine::kWarpLanes> threadsOf(const machine::Warp& warp) {
    return std::span<Thread, machine::kWarpLanes>{&threads_[warpIndex(warp) * machine::kWarpLanes], machine::kWarpLanes};
  }
  View viewOf(const machine::Warp& warp, unsigned lane);
  uint32_t siteOf(const machine::Warp& warp) { return semanticsOf(warp).site; }
  const Semantics& semanticsOf(const machine::Warp& warp);
  const Semantics& semanticsOf(const ptx::Instruction* instruction);
  /// What a relaxed arrive publishes: what fences before it covered.
  void countExits(Clock& clock) const;
  void publishFenced(Gathering& gathering, const Thread& thread, bool inCluster) const;
  void publish(Gathering& gathering, uint32_t thread);
  void noteInitsFenced(uint32_t thread);
  ClockPointer publishedBy(uint32_t thread);
  void acquire(Thread& thread, const ClockPointer& clock);
  void synchronises(const machine::Warp& warp, unsigned lane, uint64_t address, const Semantics& semantics, bool reads,
                    bool writes);

  /// `tensor`: both are operations that use Tensor Memory; `allocation`: it is memory that threads only allocate and free.
  Verdict order(Access earlier, bool earlierWrites, const Subject& later, bool tensor, bool allocation = false);
  Verdict orderByMachine(const Operation& earlier, const Subject& later);
  /// What it is that orders two accesses when the PTX ISA does not; Race: nothing.
  Verdict excuseOf(Access earlier, const View& view);
  /// Whether the running store writes what `earlier` wrote; `bytes` at `memory`, of which the store has changed nothing.
  bool storesTheSame(Access earlier, Access later, const std::byte* memory, uint32_t bytes) const;
  Finding findingOf(Verdict verdict) const;
  void claimColumns(uint32_t rank, View view, uint32_t site, uint32_t column, uint32_t columns);
  /// The lanes whose weak access needs a closer look.
  LaneMask accessOrdered(const machine::Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes,
                         uint32_t site, bool writes);
  /// A weak access by a thread to whole granules, when all that is remembered of them is by threads and came before it. False, with
  /// nothing changed, otherwise.
  static bool touchOrdered(ShadowCell* cells, uint32_t count, const View& view, Access access, bool writes);
  void touch(ShadowCell& cell, const Subject& subject, bool writes, const Place& place, Memo& memo);
  void reportConflict(Verdict verdict, Access earlier, bool earlierWrites, const Subject& later, bool laterWrites,
                      const Place& place);
  HazardAccess describePoint(const machine::Warp& warp, unsigned lane, const ptx::Instruction* instruction, std::string what) const;
  std::string missingOrder(Verdict verdict, Access earlier, const Subject& later, const Place& place);
  std::string relaxedArriveOf(uint32_t thread) const;
  HazardAccess describe(Access access, const Place& place, bool writes);
  static std::string describe(const Place& place);
  static bool seesInitialisation(const Mbarrier& barrier, const View& view);
  /// `foreign`: used by the asynchronous proxy or by another CTA.
  void requireInitialised(const Mbarrier& barrier, const View& view, bool foreign, const machine::IssuePoint& user,
                          const char* use);
  Mbarrier* mbarrier(uint32_t rank, uint32_t offset);
  void collectGarbage();
  void collectReaderSets();
  /// What the threads of a CTA know together.
  View knowledgeOf(uint32_t rank) const;
  void requirePeersDone(uint32_t rank, const View& view);

  machine::Cluster& cluster_;
  std::unique_ptr<GlobalChecker> global_;
  Reporter& reporter_;
  LaunchRecord& launch_;
  const uint32_t warpsPerCta_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> clocks_;  ///< by warp
  OperationTable operations_;
  ReaderSets readerSets_;
  std::vector<SharedShadow> shared_;  ///< by CTA
  std::vector<Shadow<8>> tensor_;     ///< by CTA
  /// By warp: tcgen05.ld and .st that it has not waited for, oldest first.
  struct Fragment {
    OperationId id;
    machine::OperationKind kind;
    std::vector<OperationId> behind{};  ///< older ones that it follows, as the machine keeps the order of those that conflict
    bool shown = false;                 ///< by one that follows it
    bool released = false;              ///< its threads have released something since
  };
  std::vector<std::vector<Fragment>> fragments_;
  ClockPointer knownToWarpgroup(const machine::Warp& warp) const;
  void storesReleased(const machine::Warp& warp);
  void fragmentsDone(const machine::Warp& warp, const std::vector<OperationId>& operations);

  // Undefined data.
  struct Origin {
    HazardAccess access;
    std::string missing;
  };
  /// In a register: in which lanes, and the number of its origin, 0 for an unknown one.
  struct UndefinedRegister {
    LaneMask lanes = 0;
    uint32_t origin = 0;
  };
  /// Of the running instruction: undefined data in its sources, its guard, and the memory it reads.
  struct UndefinedSources {
    LaneMask sources = 0, guard = 0, memory = 0;
    uint32_t origin = 0;
  };
  template <class Describe>
  uint32_t originOf(const ptx::Instruction* instruction, uint32_t cause, Describe&& describe);
  uint32_t originOfShared(uint32_t rank, uint32_t offset) const;
  void noteUndefinedReads(const machine::Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes);
  void readUndefined(LaneMask lanes, uint32_t origin);
  void setUndefined(const std::byte* reg, LaneMask lanes, LaneMask undefined);
  void reportUndefinedChoices(const machine::Warp& warp, const std::byte* frame, const program::DecodedInstruction& instruction);
  LaneMask selected(const std::byte* frame, const machine::DecodedInstruction& instruction) const;
  LaneMask shuffled(const std::byte* frame, const machine::DecodedInstruction& instruction) const;
  void reportUndefined(const machine::Warp& warp, LaneMask lanes, const char* what);
  void reportUndefined(uint32_t origin, HazardAccess user);
  std::vector<Origin> origins_{1};
  std::map<std::pair<const ptx::Instruction*, uint32_t>, uint32_t> originNumbers_;  ///< by instruction and cause
  UndefinedSources current_;
  std::unordered_map<const std::byte*, UndefinedRegister> undefinedRegisters_;    ///< by place in a frame
  std::vector<std::map<uint32_t, std::pair<uint32_t, uint32_t>>> sharedOrigins_;  ///< by CTA and first byte: end, origin
  std::vector<std::vector<uint32_t>> tensorOrigins_;                              ///< by CTA and lane
  std::vector<OperationId> outstanding_;  ///< issued, and perhaps not known to be over in every CTA whose memory they use
  Operation* running_ = nullptr;
  unsigned runningLane_ = kIssuingLane;  ///< for which it touches shared memory
  Memo runningMemo_;
  ClockJoiner join_;
  ClockPointer unproxied_, proxied_;                             ///< the last result of fence.proxy.async
  ClockPointer unsequenced_, sequenced_;                         ///< the same of fence.sc
  std::map<std::pair<uint32_t, uint32_t>, Rounds> barriers_;     ///< by rank and id
  std::map<std::pair<uint32_t, uint32_t>, Mbarrier> mbarriers_;  ///< by rank and offset
  uint32_t nextSlot_ = 0;
  std::unordered_map<uint64_t, ClockPointer> published_;  ///< by address: what strong writes there published
  std::unordered_map<const ptx::Instruction*, Semantics> semantics_;
  static constexpr size_t kRecentSemantics = 64;
  /// Of those, by instruction, ones that were asked for last.
  std::array<const std::pair<const ptx::Instruction* const, Semantics>*, kRecentSemantics> recentSemantics_{};
};

}  // namespace shiftconv::emulator::hazards
