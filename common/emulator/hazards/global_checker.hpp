// The part of the hazard checker of a cluster that watches global memory, which other clusters and launches use, too.
//
// What is asked, beyond the rules of checker.hpp for threads and operations of one cluster:
//  - accesses by different clusters of a launch are ordered by release and acquire patterns at .gpu or .sys scope only
//    (PTX ISA 9.0, 8.8); those at .cta or .cluster scope, and barriers, order nothing between clusters;
//  - accesses by different launches are ordered when the launches are (stream_order.hpp). The end of a launch publishes to all
//    proxies;
//  - bytes that nothing has written since their allocation must not be read by threads. Copies may move them (the pitch of
//    a row may be padding): what they write is undefined then (checker_undefined.cpp);
//  - a tensor map that the launch itself has changed needs fence.proxy.tensormap::generic.release, or tensormap.cp_fenceproxy,
//    after the change and fence.proxy.tensormap::generic.acquire of its address before its use (9.7.13.4).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/hazards/global_launch.hpp"
#include "common/emulator/hazards/global_shadow.hpp"

namespace shiftconv::emulator::hazards {

/// What watching one launch needs.
struct LaunchWatch {
  Reporter& reporter;
  GlobalShadow& shadow;
  LaunchRecord& launch;
};

/// The checker of one cluster of the launch; `index`: of the cluster in the grid.
std::unique_ptr<machine::Observer> watch(machine::Cluster& cluster, const LaunchWatch& launch, uint64_t index);

class GlobalChecker {
 public:
  GlobalChecker(HazardChecker& base, GlobalShadow& shadow, LaunchRecord& launch, uint32_t cluster)
      : base_(base),
        shadow_(shadow),
        launch_(launch),
        cluster_(cluster),
        overlaps_(launch.facts.place && launch.facts.place->overlapping != 0) {}

  using Addresses = machine::LaneAddresses;
  void access(const machine::Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool reads, bool writes);
  /// The values of the last access() have been read: only now it can be told what they synchronise with.
  void valuesRead();

  /// An access by the running operation. Bytes that are read although nothing wrote them are listed in undefined().
  void operationAccess(const Operation& operation, const View& view, uint64_t address, uint64_t bytes, bool writes);
  const std::vector<machine::ByteRange>& undefined() const { return undefined_; }
  /// A completion of an operation that may have used global memory.
  void operationCompleted(OperationId id, const Completion& completion) {
    launch_.operationCompleted(cluster_, static_cast<uint32_t>(id), completion);
  }

  // --- tensor maps (global_maps.cpp) ----------------------------------------------------------------------------
  /// fence.proxy.tensormap::generic.acquire of the 128 bytes at `address`.
  void mapAcquired(const machine::Warp& warp, unsigned lane, uint64_t address);
  /// A bulk tensor copy, issued by the lane, reads the map at `address`.
  void mapUsed(const machine::Warp& warp, unsigned lane, uint64_t address);

  /// What relaxed reads at .gpu or .sys scope saw counts from the fence on.
  void acquirePending(HazardChecker::Thread& thread);

 private:
  using Subject = HazardChecker::Subject;
  using Verdict = HazardChecker::Verdict;
  /// Who makes an access, and where.
  struct Visitor {
    const Subject& subject;
    GlobalAccess access;
    uint64_t address, bytes;
    bool reads, writes;
  };
  /// Results of the last checks, valid for one subject.
  struct Memo {
    GlobalAccess writer, readers[2], kept[2];
  };
  struct PageHold {
    GlobalPage* page = nullptr;
    uint64_t number = 0;  ///< of the page
    std::unique_lock<SpinLock> lock;
  };
  struct Deferred {
    uint32_t thread;
    uint64_t address;
    bool acquire;
  };

  LaneMask accessLines(const machine::Warp& warp, const Addresses& addresses, uint32_t bytes, bool reads, bool writes,
                       const Access& ofLane0);
  template <class Run>
  bool touchRun(const machine::Warp& warp, Run& run, unsigned firstLane, const GlobalAccess& access, uint8_t shift, bool reads,
                bool writes);
  /// Whether everything that is known of the run came before a write of its bytes by those lanes.
  bool isBehind(const machine::Warp& warp, GlobalLine& line, unsigned firstLane, uint8_t shift, bool reads);
  bool isBehind(const machine::Warp& warp, GlobalSector& sector, unsigned firstLane, uint8_t shift, bool reads);
  /// Whether what a slot of the run holds came before the access of that lane to the same bytes, for every lane.
  template <class Run>
  bool isBeforeLanes(const machine::Warp& warp, const Run& run, GlobalEntry::Slot slot, unsigned firstLane, uint8_t shift);
  LaneMask accessSectors(const machine::Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool reads,
                         bool writes, const Access& ofLane0);
  /// Of a whole warp's or some lanes' weak access: those that need a closer look.
  LaneMask accessAlone(const machine::Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool reads,
                       bool writes, const Access& ofLane0);
  struct LaneList {
    std::array<uint8_t, machine::kWarpLanes> at;
    unsigned count = 0;
  };
  struct Target {
    GlobalSector* sector;  ///< nullptr: the access is not within one
    GlobalCell* cells;     ///< nullptr: the bytes have none of their own
  };
  unsigned findTargets(PageHold& held, const Addresses& addresses, const LaneList& lanes, unsigned first, uint32_t bytes,
                       std::array<Target, machine::kWarpLanes>& targets);
  /// The sectors along which lanes of a warp walk with one instruction: most often, its next execution is the next step of all.
  struct Walks {
    struct Walk {
      GlobalSector* sector;
      SpinLock* lock;
      uint64_t number;
      LaneMask lanes;  ///< which make the same accesses
    };
    Access ofLane0;
    uint32_t bytes = 0;
    bool writes = false;
    uint32_t count = 0;
    std::array<Walk, machine::kWarpLanes> at;
    Addresses next;  ///< by lane
  };
  Walks& walksOf(const machine::Warp& warp, uint32_t site);
  LaneMask walkOn(const machine::Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool writes,
                  const Access& ofLane0);
  /// Of lanes that read the same, `walker` is the first one's access.
  bool beginWalk(GlobalSector& sector, uint32_t bytes, uint64_t number, const GlobalAccess& walker,
                 std::span<HazardChecker::Thread> threads, bool reads, bool writes);
  GlobalPage& pageOf(uint64_t number);
  bool touchTogether(std::span<GlobalCell> cells, std::span<HazardChecker::Thread> readers, GlobalAccess access);
  void hold(PageHold& held, uint64_t address);
  /// Calls visit(cell, address, bytes) for the cells of a range.
  template <class Visit>
  void visit(PageHold& held, uint64_t address, uint64_t bytes, bool writes, Visit&& visit);
  bool isOfEarlierLaunch(const GlobalAccess& other);
  /// Whether all of these lanes know that the launches have finished that this one overlaps: then they count as earlier ones.
  bool haveAwaited(const machine::Warp& warp, LaneMask lanes) const;
  enum class Standing : uint8_t { Behind, Beside, Unclear };
  Standing standing(const GlobalAccess& earlier, const View& view);
  bool touchAlone(GlobalCell& cell, const GlobalAccess& access, const View& view, bool reads, bool writes);
  void touch(GlobalCell& cell, const Visitor& visitor, Memo& memo);
  void broadcast(const machine::Warp& warp, uint64_t address, uint32_t bytes);
  Verdict order(const GlobalAccess& earlier, bool earlierWrites, const Visitor& later);
  Verdict orderOfOperation(const GlobalAccess& earlier, const View& view);
  void addReader(GlobalCell& cell, const Visitor& visitor, Memo& memo);
  void noteUndefined(GlobalCell& cell, uint64_t address, uint64_t bytes);
  void reportUndefined(const machine::Warp& warp, unsigned lane);
  void reportConflict(Verdict verdict, const GlobalAccess& earlier, bool earlierWrites, const Visitor& later);
  bool storesTheSame(const GlobalAccess& earlier, const Visitor& later);
  void reportConflict(HazardKind kind, HazardSeverity severity, const GlobalAccess& earlier, bool earlierWrites,
                      const Visitor& later, const std::function<std::string()>& missing);
  bool isReleasedToMaps(const GlobalAccess& write, const View& view) const;
  bool isMapAcquired(const GlobalAccess& write, const Visitor& user);
  std::string missingOrder(Verdict verdict, const GlobalAccess& earlier, const Visitor& later);

  void publish(HazardChecker::Thread& thread, uint64_t address, bool release);
  void acquire(HazardChecker::Thread& thread, const ForeignPointer& clocks);
  void observe(HazardChecker::Thread& thread, const ForeignPointer& sequenced);

  HazardChecker& base_;
  GlobalShadow& shadow_;
  LaunchRecord& launch_;
  const uint32_t cluster_;
  static constexpr uint32_t kWalksOfWarp = 4;
  std::vector<Walks> walks_;  ///< by warp and site, once there are any
  const bool overlaps_;       ///< a programmatic dependent launch, with work before it that may still run
  static constexpr size_t kRememberedPages = 256;
  std::array<std::pair<uint64_t, GlobalPage*>, kRememberedPages> pages_{};  ///< recently used, by page number
  struct OtherLaunch {
    uint32_t number = GlobalAccess::kNobody;
    bool isBefore = false;
  };
  static constexpr size_t kRememberedLaunches = 16;
  std::array<OtherLaunch, kRememberedLaunches> otherLaunches_{};  ///< that were asked for, by number
  std::shared_ptr<const Clock> outsideOf_;  ///< of another cluster, the one that was asked for last, and a copy of it
  ClockPointer outside_;
  std::vector<machine::ByteRange> undefined_;
  std::vector<Deferred> deferred_;
  std::unordered_map<uint64_t, std::map<uint32_t, View>> mapAcquisitions_;  ///< by address and thread: what it knew then
};

inline bool GlobalChecker::isOfEarlierLaunch(const GlobalAccess& other) {
  OtherLaunch& known = otherLaunches_[other.launch % kRememberedLaunches];
  if (other.launch != known.number) known = {other.launch, shadow_.launches().isBefore(other.launch, launch_)};
  return known.isBefore;
}

inline GlobalPage& GlobalChecker::pageOf(uint64_t number) {
  auto& [remembered, page] = pages_[number % kRememberedPages];
  if (page == nullptr || remembered != number) {
    page = &shadow_.page(number * kGlobalPageBytes);
    remembered = number;
  }
  return *page;
}

inline void GlobalChecker::hold(PageHold& held, uint64_t address) {
  const uint64_t number = address / kGlobalPageBytes;
  if (held.page != nullptr && held.number == number) return;
  held.page = &pageOf(number);
  held.number = number;
  SpinLock& lock = shadow_.lockOf(number);
  if (held.lock.mutex() == &lock) return;
  held.lock = {};
  held.lock = std::unique_lock(lock);
}

template <class Visit>
void GlobalChecker::visit(PageHold& held, uint64_t address, uint64_t bytes, bool writes, Visit&& visit) {
  while (bytes != 0) {
    const uint64_t first = address % kGlobalPageBytes, begin = address - first;
    const uint64_t count = std::min(bytes, kGlobalPageBytes - first);
    hold(held, address);
    held.page->cells.visit(first, count, writes,
                           [&](GlobalCell& cell, uint64_t part, uint64_t parts) { visit(cell, begin + part, parts); });
    address += count;
    bytes -= count;
  }
}

}  // namespace shiftconv::emulator::hazards
