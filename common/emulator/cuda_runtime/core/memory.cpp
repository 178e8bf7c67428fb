#include "common/emulator/cuda_runtime/core/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace shiftconv::runtime {

MemoryTable& MemoryTable::instance() {
  static auto* const table = new MemoryTable;
  return *table;
}

uint64_t MemoryTable::allocate(uint64_t bytes, MemoryKind kind, unsigned flags) {
  if (bytes == 0) return 0;
  Machine& machine = Machine::instance();
  const uint64_t address = machine.allocate(bytes);
  if (kind != MemoryKind::Device) machine.shareWithHost(address, bytes);
  allocations_[address] = {address, bytes, kind, flags};
  used_ += bytes;
  high_ = std::max(high_, used_);
  return address;
}

void MemoryTable::registerHost(void* base, uint64_t bytes, unsigned flags) {
  const auto address = reinterpret_cast<uint64_t>(base);
  const auto next = allocations_.lower_bound(address);
  const bool overlaps = (next != allocations_.end() && next->first < address + bytes) || find(address) != nullptr;
  if (overlaps) throw Failure(cudaErrorHostMemoryAlreadyRegistered, "part of the range is known to the device already");
  Machine::instance().registerHost(base, bytes);
  allocations_[address] = {address, bytes, MemoryKind::Registered, flags};
}

void MemoryTable::unregisterHost(void* base) {
  const auto found = allocations_.find(reinterpret_cast<uint64_t>(base));
  if (found == allocations_.end() || found->second.kind != MemoryKind::Registered)
    throw Failure(cudaErrorHostMemoryNotRegistered, "the address is not the start of a registered range");
  Machine::instance().unregisterHost(base);
  allocations_.erase(found);
}

void MemoryTable::release(uint64_t address, MemoryKind kind, MemoryKind orKind) {
  if (address == 0) return;
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || (found->second.kind != kind && found->second.kind != orKind))
    throw Failure(cudaErrorInvalidValue, fmt::format("0x{:x} is not the start of an allocation of this kind", address));
  StreamTable& streams = StreamTable::instance();
  streams.hostWaitsForAll();
  releaseAt(address, streams.hostPlace());
}

void MemoryTable::releaseAt(uint64_t address, const Place& place) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end())
    throw Failure(cudaErrorInvalidValue, fmt::format("0x{:x} is not the start of an allocation", address));
  if (found->second.ofGraph) return;
  Machine& machine = Machine::instance();
  const uint64_t bytes = found->second.bytes;
  allocations_.erase(found);
  used_ -= bytes;
  try {
    machine.checkRelease("release", place, address, bytes);
  } catch (...) {
    machine.release(address);
    throw;
  }
  machine.release(address);
}

uint64_t MemoryTable::graphBytes() const {
  uint64_t bytes = 0;
  for (const auto& [address, allocation] : allocations_) bytes += allocation.ofGraph ? allocation.bytes : 0;
  return bytes;
}

const Allocation* MemoryTable::find(uint64_t address) const {
  const auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return nullptr;
  const Allocation& allocation = std::prev(next)->second;
  return address - allocation.address < allocation.bytes ? &allocation : nullptr;
}

bool MemoryTable::isDevice(const void* pointer, uint64_t bytes) {
  return Machine::instance().contains(reinterpret_cast<uint64_t>(pointer), bytes);
}

}  // namespace shiftconv::runtime
