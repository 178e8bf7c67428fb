// The heap that kernels allocate from: malloc and free of the device. It lives as long as global memory, so that one kernel may
// free what another one allocated.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace shiftconv::emulator::machine {

class GlobalMemory;

/// Thread safe. Each block is an allocation of its own: accesses beside it are noticed.
class DeviceHeap {
 public:
  /// What cudaLimitMallocHeapSize is until a program asks for more.
  static constexpr uint64_t kStandardBytes = uint64_t{8} << 20;

  explicit DeviceHeap(GlobalMemory& memory) : memory_(memory) {}
  /// 0 when the heap has no room for the block, or the block no bytes.
  uint64_t allocate(uint64_t bytes);
  /// False when `address` is not the start of a block. 0 is nothing to free.
  bool release(uint64_t address);
  void setLimit(uint64_t bytes);

 private:
  GlobalMemory& memory_;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> blocks_;  ///< bytes by address
  uint64_t used_ = 0, limit_ = kStandardBytes;
};

}  // namespace shiftconv::emulator::machine
