// The memories of the machine, with the checks that real hardware does not make.
//
// Address map. Global memory: device addresses are host addresses of registered allocations. Shared
// memory: 32-bit window address = (cluster CTA rank << 24) | offset; generic = kSharedWindow + that.
// Local memory: generic = kLocalWindow + per-lane offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/emulator/machine/observer.hpp"
#include "common/emulator/program/program.hpp"

namespace shiftconv::emulator::machine {

inline constexpr uint64_t kSharedWindow = 0x1000'0000'0000'0000ull;
inline constexpr uint64_t kLocalWindow = 0x2000'0000'0000'0000ull;
inline constexpr uint64_t kWindowSpan = 0x0000'0001'0000'0000ull;
inline constexpr unsigned kSharedRankShift = 24;
inline constexpr uint32_t kSharedOffsetMask = (1u << kSharedRankShift) - 1;
using program::kReservedSharedBytes;

class DeviceHeap;

/// Told of what happens to global memory outside of launches. Thread safe.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  /// The host wrote these bytes, by hand, not in a stream.
  virtual void hostWrote(uint64_t address, uint64_t bytes) = 0;
  /// The range begins or ends to be an allocation: whatever happened to it is forgotten.
  virtual void forget(uint64_t address, uint64_t bytes) = 0;
};

/// Global memory: host allocations with guard zones, poisoned when made. Thread safe.
class GlobalMemory {
 public:
  GlobalMemory();
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  /// 256-byte aligned; contents are poison (0xCB bytes). Throws EmulatorError OutOfMemory.
  uint64_t allocate(uint64_t bytes);
  /// Throws EmulatorError OutOfBounds when `address` is not the start of a live allocation.
  void release(uint64_t address);
  /// Makes caller-owned memory reachable from kernels (kernel parameters, tensor maps in host memory).
  void registerRange(const void* base, uint64_t bytes, bool writable);
  void unregisterRange(const void* base);

  /// Host pointer for [address, address+bytes) inside one live allocation. Throws OutOfBounds with the
  /// address, the size and the nearest allocation, or Misaligned. With `write` the range counts as written by
  /// the host.
  std::byte* access(uint64_t address, uint64_t bytes, uint32_t alignment, bool write) const;
  /// The same by the device: by threads and operations of a launch (GlobalPort), or by work of the host in a stream.
  std::byte* deviceAccess(uint64_t address, uint64_t bytes, uint32_t alignment, bool write) const;
  /// True when access() of the range would succeed with any alignment. Fast for recently used allocations.
  bool reaches(uint64_t address, uint64_t bytes, bool write) const;
  /// True when the range lies in one live allocation.
  bool contains(uint64_t address, uint64_t bytes) const;
  uint64_t allocatedBytes() const;
  /// The heap that kernels allocate from.
  DeviceHeap& heap() const;
  /// Of the allocation that begins at `address`; 0 when there is none.
  uint64_t allocationBytes(uint64_t address) const;
  /// "global memory bytes 0x7f..10..0x7f..13 (bytes 16..19 of the 64-byte allocation at 0x7f..00)".
  std::string describe(uint64_t address, uint64_t bytes) const;

  // --- for whoever watches ---------------------------------------------------------------------------------------
  /// nullptr: nobody any more. Whoever watches must stop before it ends.
  void watch(MemoryObserver* observer);
  /// A launch is about to run that is not watched: from now on all memory that there is counts as written.
  void runUnwatched();
  /// Calls action(begin, end) for what the host has written, by access() or by registering it, of
  /// [begin, end).
  void forEachHostWritten(uint64_t begin, uint64_t end, const std::function<void(uint64_t, uint64_t)>& action) const;
  /// True when, as far as the memory itself shows, nothing has written the range since its allocation: it still holds poison,
  /// and no launch ran unwatched. Launches that were watched are not asked.
  bool isUnwritten(uint64_t address, uint64_t bytes) const;
  /// The range was written through a pointer that access() did not give out for writing.
  void markWritten(uint64_t address, uint64_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Shared memory of one CTA, with a written-bit per byte.
class SharedMemory {
 public:
  explicit SharedMemory(uint32_t bytes);
  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  /// Unchecked storage for engines that have checked their ranges.
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }

  /// Throws OutOfBounds / Misaligned, naming the offset. Bytes that nothing has written hold poison.
  const std::byte* read(uint32_t offset, uint32_t bytes, uint32_t alignment) const {
    if (!fits(offset, bytes, alignment)) refuse(offset, bytes, alignment, "read");
    observe(offset, bytes, false);
    return bytes_.data() + offset;
  }
  /// Marks the range as written.
  std::byte* write(uint32_t offset, uint32_t bytes, uint32_t alignment) {
    if (!fits(offset, bytes, alignment)) refuse(offset, bytes, alignment, "write");
    std::memset(written_.data() + offset, 1, bytes);
    observe(offset, bytes, true);
    return bytes_.data() + offset;
  }
  /// Tells the observer, if there is one, that the operation that is completing touches the range. read() and write()
  /// do it themselves; engines that use data() call it.
  void observe(uint32_t offset, uint32_t bytes, bool writes) const {
    if (observer_ != nullptr) [[unlikely]]
      observer_->operationShared(rank_, offset, bytes, writes, writes ? OperandRole::Destination : OperandRole::Source);
  }
  void watch(Observer* observer, uint32_t rank) {
    observer_ = observer;
    rank_ = rank;
  }
  /// As read() and write() of N bytes (a power of two up to 16) aligned to N: the fast case of thread accesses, which are
  /// not reported as accesses of an operation.
  template <uint32_t N>
  const std::byte* readFixed(uint32_t offset) const {
    if (!fits(offset, N, N)) refuse(offset, N, N, "read");
    return bytes_.data() + offset;
  }
  template <uint32_t N>
  std::byte* writeFixed(uint32_t offset) {
    if (!fits(offset, N, N)) refuse(offset, N, N, "write");
    std::memset(written_.data() + offset, 1, N);
    return bytes_.data() + offset;
  }
  /// As write, but the bytes become undefined (padding that an engine leaves uninitialised).
  void poison(uint32_t offset, uint32_t bytes);
  /// The bytes, just written, were made of undefined data. `globalAddress`: where a copy took them from, or 0.
  void undefine(uint32_t offset, uint32_t bytes, uint64_t globalAddress = 0);
  /// Calls action(offset, bytes) for the undefined parts of a range that exists.
  template <class Action>
  void forEachUndefined(uint32_t offset, uint32_t bytes, Action&& action) const {
    const uint32_t end = offset + bytes;
    while (offset < end) {
      const auto* hole = static_cast<const uint8_t*>(std::memchr(written_.data() + offset, 0, end - offset));
      if (hole == nullptr) return;
      const auto first = static_cast<uint32_t>(hole - written_.data());
      const auto* next = static_cast<const uint8_t*>(std::memchr(hole, 1, end - first));
      offset = next == nullptr ? end : static_cast<uint32_t>(next - written_.data());
      action(first, offset - first);
    }
  }
  /// The operation that is completing stores these bytes to global memory.
  void noteStored(uint32_t offset, uint32_t bytes, uint64_t address) const {
    if (observer_ != nullptr) [[unlikely]]
      forEachUndefined(offset, bytes, [&](uint32_t first, uint32_t count) {
        observer_->undefinedInGlobal(rank_, first, address + (first - offset), count);
      });
  }
  bool isWritten(uint32_t offset, uint32_t bytes) const;

 private:
  bool fits(uint32_t offset, uint32_t bytes, uint32_t alignment) const {
    return uint64_t{offset} + bytes <= bytes_.size() && (offset & (alignment - 1)) == 0;
  }
  [[noreturn]] void refuse(uint32_t offset, uint32_t bytes, uint32_t alignment, const char* what) const;
  Observer* observer_ = nullptr;
  uint32_t rank_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<uint8_t> written_;  ///< one byte per byte: fast to test in blocks, and cheap at 228 KiB
};

}  // namespace shiftconv::emulator::machine
