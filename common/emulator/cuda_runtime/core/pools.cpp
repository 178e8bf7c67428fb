#include "common/emulator/cuda_runtime/core/pools.hpp"

#include <cstring>

#include "common/emulator/cuda_runtime/core/memory.hpp"
#include "common/emulator/cuda_runtime/core/work.hpp"

namespace shiftconv::runtime {
namespace {

/// cudaMemPoolReuse* are ints, the others 64-bit numbers.
bool isWide(int attribute) { return attribute >= cudaMemPoolAttrReleaseThreshold; }

void requireAttribute(int attribute) {
  require(attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolAttrUsedMemHigh,
          "this is no attribute of a memory pool");
}

}  // namespace

PoolTable& PoolTable::instance() {
  static auto* const table = new PoolTable;
  return *table;
}

void PoolTable::setCurrent(cudaMemPool_t pool) {
  find(pool);
  current_ = pool;
}

cudaMemPool_t PoolTable::create() {
  auto pool = std::make_unique<Pool>();
  const cudaMemPool_t handle = handleOf(*pool);
  pools_.emplace(handle, std::move(pool));
  return handle;
}

void PoolTable::destroy(cudaMemPool_t pool) {
  find(pool);
  require(pool != standard(), "the default pool cannot be destroyed");
  if (current_ == pool) current_ = standard();
  pools_.erase(pool);
}

Pool& PoolTable::find(cudaMemPool_t pool) {
  if (pool == standard()) return standard_;
  const auto found = pools_.find(pool);
  require(found != pools_.end(), "this is no memory pool");
  return *found->second;
}

void PoolTable::set(cudaMemPool_t pool, int attribute, const void* value) {
  requireAttribute(attribute);
  require(value != nullptr, "the value is null");
  uint64_t& kept = find(pool).attributes[attribute];
  kept = 0;
  std::memcpy(&kept, value, isWide(attribute) ? 8 : 4);
}

void PoolTable::get(cudaMemPool_t pool, int attribute, void* value) {
  requireAttribute(attribute);
  require(value != nullptr, "the result is null");
  const MemoryTable& memory = MemoryTable::instance();
  uint64_t known = isWide(attribute) ? 0 : 1;
  if (const auto& kept = find(pool).attributes; kept.contains(attribute)) known = kept.at(attribute);
  if (attribute == cudaMemPoolAttrReservedMemCurrent || attribute == cudaMemPoolAttrUsedMemCurrent) known = memory.usedBytes();
  if (attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh) known = memory.highBytes();
  std::memcpy(value, &known, isWide(attribute) ? 8 : 4);
}

uint64_t allocateAt(Stream& stream, uint64_t bytes) {
  const uint64_t address = MemoryTable::instance().allocate(bytes, MemoryKind::Device);
  if (stream.capturing.capture && address != 0) {
    MemoryTable::instance().giveToGraph(address);
    submit(stream, AllocateWork{address, bytes});
  }
  return address;
}

}  // namespace shiftconv::runtime
