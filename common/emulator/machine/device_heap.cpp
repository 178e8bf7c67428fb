#include "common/emulator/machine/device_heap.hpp"

#include "common/emulator/machine/memory.hpp"

namespace shiftconv::emulator::machine {

uint64_t DeviceHeap::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > limit_ || used_ > limit_ - bytes) return 0;
  const uint64_t address = memory_.allocate(bytes);
  blocks_.emplace(address, bytes);
  used_ += bytes;
  return address;
}

bool DeviceHeap::release(uint64_t address) {
  if (address == 0) return true;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return false;
  used_ -= found->second;
  blocks_.erase(found);
  memory_.release(address);
  return true;
}

void DeviceHeap::setLimit(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

}  // namespace shiftconv::emulator::machine
