// The launches that have touched global memory: how they are ordered, and what their clusters tell each other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/emulator/hazard_report.hpp"
#include "common/emulator/hazards/clock.hpp"
#include "common/emulator/hazards/global_access.hpp"
#include "common/emulator/hazards/operations.hpp"
#include "common/emulator/stream_order.hpp"

namespace shiftconv::emulator::program {
struct Program;
}

namespace shiftconv::emulator::hazards {

/// Three dimensions, as LaunchConfig has them.
using Extent = std::array<uint32_t, 3>;

/// What a launch, or a copy of the host in a stream, is called and where it stands.
struct LaunchFacts {
  std::string name;                                 ///< kernel, or "copyToDevice"
  std::shared_ptr<const program::Program> program;  ///< nullptr for the host
  Extent grid{1, 1, 1}, cluster{1, 1, 1};           ///< CTAs
  uint32_t warpsPerCta = 1;
  std::vector<std::string> warpRoles;
  std::optional<StreamPlace> place;  ///< nothing: after everything that has finished, and before everything that comes
};

/// Thread safe: all clusters of the launch use it.
class LaunchRecord {
 public:
  LaunchRecord(uint32_t number, LaunchFacts facts, std::vector<uint32_t> running)
      : number(number), facts(std::move(facts)), runningAtStart(std::move(running)) {}

  /// Operations that touched global memory: how others may know that they have finished.
  void operationCompleted(uint32_t cluster, uint32_t operation, const Completion& completion);
  std::vector<Completion> completions(uint32_t cluster, uint32_t operation) const;

  /// What strong writes at .gpu or .sys scope have published at an address.
  struct Published {
    ForeignPointer released;   ///< by release patterns
    ForeignPointer sequenced;  ///< what had a fence.sc after it then: for who has one after a read of that write
  };
  void publish(uint64_t address, const Published& more);
  Published publishedAt(uint64_t address) const;
  bool hasPublished() const { return published_.load(std::memory_order_acquire); }

  /// Everything that only running clusters need is dropped.
  void finish();

  /// The access in words. `what` says what was done, in words.
  HazardAccess describe(const GlobalAccess& access, std::string what) const;
  /// Its PTX line; 0 for the host.
  uint32_t lineOf(const GlobalAccess& access) const { return facts.program == nullptr ? 0 : sites.lineOf(access.site()); }

  SiteTable sites;
  const uint32_t number;
  const LaunchFacts facts;
  const std::vector<uint32_t> runningAtStart;

 private:
  static constexpr size_t kShards = 16;
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, std::vector<Completion>> completions;  ///< by cluster << 32 | operation
    std::unordered_map<uint64_t, Published> flags;                      ///< by address
  };
  Shard& shardOf(uint64_t key) { return (*shards_)[(key ^ key >> 4 ^ key >> 32) % kShards]; }
  const Shard& shardOf(uint64_t key) const { return const_cast<LaunchRecord*>(this)->shardOf(key); }
  std::unique_ptr<std::array<Shard, kShards>> shards_ = std::make_unique<std::array<Shard, kShards>>();  ///< nullptr when finished
  std::atomic<bool> published_{false};
};

/// Launches are numbered in the order in which they start. Thread safe.
class LaunchTable {
 public:
  std::shared_ptr<LaunchRecord> begin(LaunchFacts facts);
  void end(LaunchRecord& record);
  /// `number` of a launch, not kNobody or kHost; nullptr when everything comes after it by now.
  std::shared_ptr<const LaunchRecord> at(uint32_t number) const;
  /// Launches that are still known.
  size_t size() const;
  /// Whether everything of launch `earlier` happened before `later` began.
  bool isBefore(uint32_t earlier, const LaunchRecord& later) const;
  /// Whether `later`, a programmatic dependent launch, may start while `earlier` still runs.
  bool overlap(uint32_t earlier, const LaunchRecord& later) const;
  bool anyRunning() const;

 private:
  void forgetOld(const std::optional<StreamPlace>& next);
  mutable std::mutex mutex_;
  uint32_t nextNumber_ = GlobalAccess::kFirstLaunch;
  std::map<uint32_t, std::shared_ptr<LaunchRecord>> records_;  ///< by number
  std::vector<uint32_t> running_;
};

/// Words for two accesses by launches that nothing orders.
std::string missingLaunchOrder(const LaunchRecord& earlier, const LaunchRecord& later);

}  // namespace shiftconv::emulator::hazards
