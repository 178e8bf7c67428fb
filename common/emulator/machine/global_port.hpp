// The way of one cluster to global memory: accesses by its threads, and watched ones by its asynchronous operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/emulator/machine/memory.hpp"
#include "common/emulator/machine/observer.hpp"

namespace shiftconv::emulator::machine {

class GlobalPort {
 public:
  /// Whoever watches is told of the operations' accesses; nullptr: nobody does.
  GlobalPort(GlobalMemory& memory, Observer* observer = nullptr) : memory_(&memory), observer_(observer) {}
  void watch(Observer* observer) { observer_ = observer; }
  const GlobalMemory& memory() const { return *memory_; }

  /// For threads: as GlobalMemory::deviceAccess. The instruction that makes the access reports it.
  std::byte* access(uint64_t address, uint64_t bytes, uint32_t alignment, bool write) const {
    return memory_->deviceAccess(address, bytes, alignment, write);
  }
  bool reaches(uint64_t address, uint64_t bytes, bool write) const { return memory_->reaches(address, bytes, write); }

  /// What an operation reads, and which bytes of it nothing has written; those are known only where somebody watches, and
  /// until the next access.
  struct Source {
    const std::byte* bytes;
    std::span<const ByteRange> undefined;
  };
  /// By the operation that is completing. Throw as GlobalMemory::access.
  Source read(uint64_t address, uint64_t bytes, uint32_t alignment) const {
    const std::byte* const pointer = access(address, bytes, alignment, false);
    return {pointer, observe(address, bytes, false)};
  }
  std::byte* write(uint64_t address, uint64_t bytes, uint32_t alignment) const {
    std::byte* const pointer = access(address, bytes, alignment, true);
    observe(address, bytes, true);
    return pointer;
  }
  /// The same for a place that was looked up before.
  std::span<const ByteRange> observe(uint64_t address, uint64_t bytes, bool writes, unsigned lane = Observer::kIssuingLane) const {
    if (observer_ == nullptr) [[likely]]
      return {};
    return observer_->operationGlobal(address, bytes, writes, lane);
  }

 private:
  GlobalMemory* memory_;
  Observer* observer_;
};

}  // namespace shiftconv::emulator::machine
