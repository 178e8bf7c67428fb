// Who last wrote and who has since read every byte of global memory, for all launches of one emulator.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "common/emulator/hazards/global_access.hpp"
#include "common/emulator/hazards/global_cells.hpp"
#include "common/emulator/hazards/global_launch.hpp"
#include "common/emulator/machine/memory.hpp"

namespace shiftconv::emulator::hazards {

/// Held for a few accesses at a time, mostly by one host thread: cheaper than a mutex, or than telling others of the end.
class SpinLock {
 public:
  void lock() {
    constexpr int kPatience = 64;
    for (int turn = 0; taken_.exchange(true, std::memory_order_acquire); ++turn)
      while (taken_.load(std::memory_order_relaxed) && turn++ > kPatience) std::this_thread::yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

struct GlobalPage {
  GlobalCells cells;
};

/// Thread safe. Pages are made when a launch first touches them; a page keeps half a byte for each byte of memory in lines that are
/// used alike, five in lines whose sectors are, and 19 in others.
class GlobalShadow final : public machine::MemoryObserver {
 public:
  explicit GlobalShadow(const machine::GlobalMemory& memory) : memory_(memory) {}

  /// The page that holds `address`. It stays where it is as long as a launch is running.
  GlobalPage& page(uint64_t address);
  /// Guards the cells of this page, and those of some others, the neighbours among them. Nobody holds two.
  SpinLock& lockOf(uint64_t pageNumber) { return locks_[pageNumber / kPagesOfLock % kLocks].lock; }
  /// Calls action(page, first byte in the page, bytes), with the lock held, for the pages of the range that exist.
  template <class Action>
  void forEachPage(uint64_t address, uint64_t bytes, Action&& action);

  void hostWrote(uint64_t address, uint64_t bytes) override;
  void forget(uint64_t address, uint64_t bytes) override;

  /// The first of `count` numbers for walks (GlobalSector) that no others have had.
  uint64_t newWalks(uint64_t count) { return nextWalk_.fetch_add(count, std::memory_order_relaxed); }

  /// Pages that something is known of.
  size_t pages() const;

  const machine::GlobalMemory& memory() const { return memory_; }
  LaunchTable& launches() { return launches_; }

 private:
  static constexpr size_t kShards = 64;
  struct Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<GlobalPage>> pages;  ///< by page number
  };
  Shard& shardOf(uint64_t number) { return shards_[number % kShards]; }
  GlobalPage* find(uint64_t number);
  void fill(uint64_t address, uint64_t bytes, const GlobalCell& cell);

  static constexpr uint64_t kLocks = 1024, kPagesOfLock = 16;
  struct alignas(64) Lock {
    SpinLock lock;
  };

  const machine::GlobalMemory& memory_;
  LaunchTable launches_;
  std::atomic<uint64_t> nextWalk_{1};
  std::array<Lock, kLocks> locks_;
  std::array<Shard, kShards> shards_;
};

template <class Action>
void GlobalShadow::forEachPage(uint64_t address, uint64_t bytes, Action&& action) {
  const uint64_t end = address + bytes;
  while (address < end) {
    const uint64_t number = address / kGlobalPageBytes, first = address % kGlobalPageBytes;
    const uint64_t count = std::min(end - address, kGlobalPageBytes - first);
    if (GlobalPage* page = find(number)) {
      const std::lock_guard lock(lockOf(number));
      action(*page, first, count);
    }
    address += count;
  }
}

}  // namespace shiftconv::emulator::hazards
