#include "common/emulator/machine/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/device_heap.hpp"
#include "common/emulator/machine/poisoned_storage.hpp"

namespace shiftconv::emulator::machine {
namespace {

constexpr uint64_t kAllocationAlignment = 256;
/// Unregistered bytes on both sides of every allocation, so that a small overrun never lands in a neighbour.
constexpr uint64_t kGuardBytes = 1024;
/// Releases that messages about bad addresses know of.
constexpr size_t kRememberedReleases = 256;

struct Region {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writable = true;
  unsigned registrations = 0;            ///< of caller-owned memory
  PoisonedStorage storage;               ///< of an allocation, guard zones included
  uint64_t number = 0;                   ///< allocations count up
  std::map<uint64_t, uint64_t> written;  ///< by the host: begin and end of ranges that do not touch each other
};

void addRange(std::map<uint64_t, uint64_t>& ranges, uint64_t begin, uint64_t end) {
  auto next = ranges.upper_bound(begin);
  if (next != ranges.begin() && std::prev(next)->second >= begin) next = std::prev(next);
  while (next != ranges.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = ranges.erase(next);
  }
  ranges.emplace(begin, end);
}

/// Recently used regions of this host thread. `epoch` says of which memory, and since when nothing was released.
struct CachedRegion {
  uint64_t epoch = 0, begin = 0, end = 0;
  bool writable = false;
};
constexpr size_t kCachedRegions = 8;
thread_local std::array<CachedRegion, kCachedRegions> cachedRegions;
thread_local size_t nextCachedRegion = 0;

/// Unique over all memories and all releases: a stale cache entry can never match.
std::atomic<uint64_t> lastEpoch{0};

}  // namespace

struct GlobalMemory::Impl {
  explicit Impl(GlobalMemory& memory) : heap(memory) {}

  mutable std::shared_mutex mutex;
  std::map<uint64_t, Region> regions;  ///< by begin
  std::atomic<uint64_t> epoch{++lastEpoch};
  uint64_t allocated = 0;
  uint64_t allocations = 0;                            ///< so far
  std::deque<std::pair<uint64_t, uint64_t>> released;  ///< begin and end of the last allocations that were
  uint64_t unwatched = 0;  ///< of these, the ones that a launch without hazard checking may have written
  std::atomic<MemoryObserver*> observer{nullptr};
  DeviceHeap heap;

  void forget(uint64_t address, uint64_t bytes) {
    if (auto* present = observer.load(std::memory_order_acquire)) present->forget(address, bytes);
  }

  void markWritten(uint64_t address, uint64_t bytes) {
    {
      const std::unique_lock lock(mutex);
      const auto next = regions.upper_bound(address);
      if (next == regions.begin()) return;
      Region& region = std::prev(next)->second;
      if (region.storage && address < region.end) addRange(region.written, address, std::min(region.end, address + bytes));
    }
    if (auto* present = observer.load(std::memory_order_acquire)) present->hostWrote(address, bytes);
  }

  void invalidateCaches() { epoch.store(++lastEpoch, std::memory_order_release); }

  /// The region that holds `address`, or nullptr. The mutex is held.
  const Region* find(uint64_t address) const {
    auto next = regions.upper_bound(address);
    if (next == regions.begin()) return nullptr;
    const Region& region = std::prev(next)->second;
    return address < region.end ? &region : nullptr;
  }

  std::string describeNearest(uint64_t address) const {
    const auto next = regions.upper_bound(address);
    // Right behind a live allocation, where a released one may have been, an access past the end is the likelier mistake.
    const bool isBehindLive = next != regions.begin() && address - std::prev(next)->second.end < kAllocationAlignment;
    for (const auto& [begin, end] : released)
      if (address >= begin && address < end && find(address) == nullptr && !isBehindLive)
        return fmt::format("it is byte {} of the {}-byte allocation at 0x{:x}, which has been released", address - begin,
                           end - begin, begin);
    const Region* nearest = nullptr;
    uint64_t distance = UINT64_MAX;
    if (next != regions.begin()) {
      nearest = &std::prev(next)->second;
      distance = address < nearest->end ? 0 : address - nearest->end;
    }
    if (next != regions.end() && next->second.begin - address < distance) nearest = &next->second;
    if (nearest == nullptr) return "there is no allocation";
    const uint64_t size = nearest->end - nearest->begin;
    const char* kind = nearest->storage ? "allocation" : "registered range";
    if (address < nearest->begin)
      return fmt::format("it lies {} bytes before the {}-byte {} at 0x{:x}", nearest->begin - address, size, kind, nearest->begin);
    if (address < nearest->end)
      return fmt::format("it starts at byte {} of the {}-byte {} at 0x{:x} and runs past its end", address - nearest->begin, size,
                         kind, nearest->begin);
    return fmt::format("it lies {} bytes past the end of the {}-byte {} at 0x{:x}", address - nearest->end, size, kind,
                       nearest->begin);
  }
};

GlobalMemory::GlobalMemory() : impl_(std::make_unique<Impl>(*this)) {}
GlobalMemory::~GlobalMemory() = default;

uint64_t GlobalMemory::allocate(uint64_t bytes) {
  Region region;
  try {
    region.storage = makePoisonedStorage(bytes + 2 * kGuardBytes + kAllocationAlignment);
  } catch (const std::bad_alloc&) {
    throw EmulatorError(ErrorKind::OutOfMemory, fmt::format("the host has no memory for a device allocation of {} bytes", bytes));
  }
  const uint64_t raw = reinterpret_cast<uint64_t>(region.storage.get()) + kGuardBytes;
  region.begin = (raw + kAllocationAlignment - 1) / kAllocationAlignment * kAllocationAlignment;
  region.end = region.begin + bytes;
  const uint64_t address = region.begin;
  {
    const std::unique_lock lock(impl_->mutex);
    impl_->allocated += bytes;
    region.number = ++impl_->allocations;
    impl_->regions.emplace(address, std::move(region));
  }
  impl_->forget(address, bytes);
  return address;
}

void GlobalMemory::release(uint64_t address) {
  Region region;  // outlives the lock: whatever is remembered of its bytes is forgotten before they can be allocated again
  {
    const std::unique_lock lock(impl_->mutex);
    const auto found = impl_->regions.find(address);
    if (found == impl_->regions.end() || !found->second.storage)
      throw EmulatorError(ErrorKind::OutOfBounds, fmt::format("0x{:x} is not the start of a live device allocation", address));
    impl_->allocated -= found->second.end - found->second.begin;
    region = std::move(found->second);
    impl_->regions.erase(found);
    impl_->released.emplace_front(region.begin, region.end);
    if (impl_->released.size() > kRememberedReleases) impl_->released.pop_back();
    impl_->invalidateCaches();
  }
  impl_->forget(region.begin, region.end - region.begin);
}

void GlobalMemory::registerRange(const void* base, uint64_t bytes, bool writable) {
  const uint64_t begin = reinterpret_cast<uint64_t>(base);
  std::unique_lock lock(impl_->mutex);
  const auto same = impl_->regions.find(begin);
  if (same != impl_->regions.end() && !same->second.storage && same->second.end == begin + bytes) {
    ++same->second.registrations;
    same->second.writable |= writable;
    return;
  }
  const auto next = impl_->regions.lower_bound(begin);
  const bool overlapsNext = next != impl_->regions.end() && next->second.begin < begin + bytes;
  const bool overlapsPrevious = next != impl_->regions.begin() && std::prev(next)->second.end > begin;
  if (overlapsNext || overlapsPrevious)
    throw EmulatorError(
        ErrorKind::Launch,
        fmt::format("the host range 0x{:x} of {} bytes overlaps memory that the device knows already", begin, bytes));
  Region region;
  region.begin = begin;
  region.end = begin + bytes;
  region.writable = writable;
  region.registrations = 1;
  impl_->regions.emplace(begin, std::move(region));
  lock.unlock();
  if (auto* present = impl_->observer.load(std::memory_order_acquire)) present->hostWrote(begin, bytes);
}

void GlobalMemory::unregisterRange(const void* base) {
  const uint64_t begin = reinterpret_cast<uint64_t>(base);
  std::unique_lock lock(impl_->mutex);
  const auto found = impl_->regions.find(begin);
  if (found == impl_->regions.end() || found->second.storage)
    throw EmulatorError(ErrorKind::OutOfBounds, fmt::format("0x{:x} is not the start of a registered host range", begin));
  if (--found->second.registrations != 0) return;
  const uint64_t bytes = found->second.end - begin;
  impl_->regions.erase(found);
  impl_->invalidateCaches();
  lock.unlock();
  impl_->forget(begin, bytes);
}

namespace {

bool isCached(uint64_t epoch, uint64_t address, uint64_t bytes, bool write) {
  for (const CachedRegion& entry : cachedRegions)
    if (entry.epoch == epoch && address >= entry.begin && address < entry.end && bytes <= entry.end - address &&
        (entry.writable || !write))
      return true;
  return false;
}

void remember(uint64_t epoch, const Region& region) {
  cachedRegions[nextCachedRegion] = {epoch, region.begin, region.end, region.writable};
  nextCachedRegion = (nextCachedRegion + 1) % kCachedRegions;
}

}  // namespace

bool GlobalMemory::reaches(uint64_t address, uint64_t bytes, bool write) const {
  if (isCached(impl_->epoch.load(std::memory_order_acquire), address, bytes, write)) return true;
  std::shared_lock lock(impl_->mutex);
  const Region* region = impl_->find(address);
  if (region == nullptr || bytes > region->end - address || (write && !region->writable)) return false;
  remember(impl_->epoch.load(std::memory_order_relaxed), *region);
  return true;
}

std::byte* GlobalMemory::access(uint64_t address, uint64_t bytes, uint32_t alignment, bool write) const {
  std::byte* const pointer = deviceAccess(address, bytes, alignment, write);
  if (write) impl_->markWritten(address, bytes);
  return pointer;
}

std::byte* GlobalMemory::deviceAccess(uint64_t address, uint64_t bytes, uint32_t alignment, bool write) const {
  const bool aligned = (address & (alignment - 1)) == 0;
  if (aligned && reaches(address, bytes, write)) return reinterpret_cast<std::byte*>(address);
  std::shared_lock lock(impl_->mutex);
  const char* verb = write ? "write" : "read";
  const Region* region = impl_->find(address);
  if (region == nullptr || bytes > region->end - address)
    throw EmulatorError(ErrorKind::OutOfBounds, fmt::format("global {} of {} bytes at 0x{:x} is outside every allocation: {}", verb,
                                                            bytes, address, impl_->describeNearest(address)));
  if (!aligned)
    throw EmulatorError(
        ErrorKind::Misaligned,
        fmt::format("global {} of {} bytes at 0x{:x} needs an address that is a multiple of {} (byte {} of the allocation "
                    "at 0x{:x})",
                    verb, bytes, address, alignment, address - region->begin, region->begin));
  throw EmulatorError(
      ErrorKind::OutOfBounds,
      fmt::format("global write of {} bytes at 0x{:x} falls into read-only memory (byte {} of the {}-byte range at 0x{:x})", bytes,
                  address, address - region->begin, region->end - region->begin, region->begin));
}

bool GlobalMemory::contains(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(impl_->mutex);
  const Region* region = impl_->find(address);
  return region != nullptr && bytes <= region->end - address;
}

uint64_t GlobalMemory::allocatedBytes() const {
  std::shared_lock lock(impl_->mutex);
  return impl_->allocated;
}

DeviceHeap& GlobalMemory::heap() const { return impl_->heap; }

uint64_t GlobalMemory::allocationBytes(uint64_t address) const {
  std::shared_lock lock(impl_->mutex);
  const auto found = impl_->regions.find(address);
  return found == impl_->regions.end() || !found->second.storage ? 0 : found->second.end - found->second.begin;
}

std::string GlobalMemory::describe(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(impl_->mutex);
  std::string text = fmt::format("global memory bytes {:#x}..{:#x}", address, address + bytes - 1);
  if (const Region* region = impl_->find(address))
    text += fmt::format(" (bytes {}..{} of the {}-byte {} at {:#x})", address - region->begin, address - region->begin + bytes - 1,
                        region->end - region->begin, region->storage ? "allocation" : "registered range", region->begin);
  return text;
}

void GlobalMemory::watch(MemoryObserver* observer) { impl_->observer.store(observer, std::memory_order_release); }

void GlobalMemory::runUnwatched() {
  const std::unique_lock lock(impl_->mutex);
  impl_->unwatched = impl_->allocations;
}

void GlobalMemory::forEachHostWritten(uint64_t begin, uint64_t end, const std::function<void(uint64_t, uint64_t)>& action) const {
  const std::shared_lock lock(impl_->mutex);
  const auto clip = [&](uint64_t first, uint64_t last) {
    first = std::max(first, begin);
    last = std::min(last, end);
    if (first < last) action(first, last);
  };
  auto next = impl_->regions.upper_bound(begin);
  if (next != impl_->regions.begin()) --next;
  for (; next != impl_->regions.end() && next->first < end; ++next) {
    const Region& region = next->second;
    if (!region.storage || region.number <= impl_->unwatched)
      clip(region.begin, region.end);
    else
      for (const auto& [first, last] : region.written) clip(first, last);
  }
}

bool GlobalMemory::isUnwritten(uint64_t address, uint64_t bytes) const {
  const std::shared_lock lock(impl_->mutex);
  const Region* region = impl_->find(address);
  if (region == nullptr || !region->storage || region->number <= impl_->unwatched || bytes > region->end - address) return false;
  const auto* first = reinterpret_cast<const std::byte*>(address);
  return std::all_of(first, first + bytes, [](std::byte byte) { return byte == std::byte{kPoison}; });
}

void GlobalMemory::markWritten(uint64_t address, uint64_t bytes) { impl_->markWritten(address, bytes); }

SharedMemory::SharedMemory(uint32_t bytes) : bytes_(bytes, std::byte{kPoison}), written_(bytes, 0) {}

void SharedMemory::poison(uint32_t offset, uint32_t bytes) {
  if (!fits(offset, bytes, 1)) refuse(offset, bytes, 1, "write");
  std::memset(bytes_.data() + offset, kPoison, bytes);
  std::memset(written_.data() + offset, 0, bytes);
}

void SharedMemory::undefine(uint32_t offset, uint32_t bytes, uint64_t globalAddress) {
  if (!fits(offset, bytes, 1)) refuse(offset, bytes, 1, "write");
  std::memset(written_.data() + offset, 0, bytes);
  if (observer_ != nullptr) observer_->undefinedInShared(rank_, offset, bytes, globalAddress);
}

bool SharedMemory::isWritten(uint32_t offset, uint32_t bytes) const {
  return fits(offset, bytes, 1) && std::memchr(written_.data() + offset, 0, bytes) == nullptr;
}

void SharedMemory::refuse(uint32_t offset, uint32_t bytes, uint32_t alignment, const char* what) const {
  if (uint64_t{offset} + bytes > bytes_.size())
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("shared memory {} of {} bytes at offset 0x{:x} is outside the {} bytes of the CTA", what, bytes,
                                    offset, bytes_.size()));
  throw EmulatorError(ErrorKind::Misaligned,
                      fmt::format("shared memory {} of {} bytes at offset 0x{:x} needs an offset that is a multiple of {}", what,
                                  bytes, offset, alignment));
}

}  // namespace shiftconv::emulator::machine
