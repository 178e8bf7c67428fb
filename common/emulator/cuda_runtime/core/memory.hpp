// Allocations of the program: device, pinned, managed and registered memory. All of it has one address for host and device.
#pragma once

#include <cstdint>
#include <map>

#include "common/emulator/cuda_runtime/core/failure.hpp"
#include "common/emulator/cuda_runtime/core/streams.hpp"

namespace shiftconv::runtime {

enum class MemoryKind : uint8_t { Device, Pinned, Managed, Registered };

struct Allocation {
  uint64_t address = 0, bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  unsigned flags = 0;
  bool ofGraph = false;  ///< lives as long as the process, as a graph allocates and frees it anew in every launch
};

class MemoryTable {
 public:
  static MemoryTable& instance();

  /// No bytes: address 0. Throws Failure cudaErrorMemoryAllocation.
  uint64_t allocate(uint64_t bytes, MemoryKind kind, unsigned flags = 0);
  void registerHost(void* base, uint64_t bytes, unsigned flags);
  void unregisterHost(void* base);
  /// Frees what allocate() gave, of one of the two kinds. Work of the whole device is waited for first, as cudaFree does.
  void release(uint64_t address, MemoryKind kind, MemoryKind orKind);
  void giveToGraph(uint64_t address) { allocations_.at(address).ofGraph = true; }
  /// Frees in a stream: work at places that are not before `place` must not use it. Memory of graphs stays.
  void releaseAt(uint64_t address, const Place& place);

  /// The allocation that holds the byte, or nullptr.
  const Allocation* find(uint64_t address) const;
  /// True for everything that the device can use: allocations and variables.
  static bool isDevice(const void* pointer, uint64_t bytes = 1);
  uint64_t usedBytes() const { return used_; }
  uint64_t highBytes() const { return high_; }
  /// Of allocations that belong to graphs.
  uint64_t graphBytes() const;

 private:
  std::map<uint64_t, Allocation> allocations_;  ///< by address
  uint64_t used_ = 0, high_ = 0;
};

}  // namespace shiftconv::runtime
