// Allocations: CUDA Runtime API, "Memory Management", "Stream Ordered Memory Allocator" and "Unified Addressing".
#include <fmt/format.h>

#include <cstring>
#include <set>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/memory.hpp"
#include "common/emulator/cuda_runtime/core/pools.hpp"
#include "common/emulator/cuda_runtime/core/properties.hpp"
#include "common/emulator/cuda_runtime/core/work.hpp"

using namespace shiftconv::runtime;

namespace {

constexpr size_t kPitchAlignment = 512;

void* toPointer(uint64_t address) { return reinterpret_cast<void*>(address); }
uint64_t toAddress(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void allocate(void** result, size_t bytes, MemoryKind kind, unsigned flags = 0) {
  require(result != nullptr, "the result is null");
  *result = nullptr;
  *result = toPointer(MemoryTable::instance().allocate(bytes, kind, flags));
}

size_t pitchOf(size_t width) { return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment; }

}  // namespace

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return call("cudaMalloc", [&] { allocate(devPtr, size, MemoryKind::Device); });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return call("cudaMallocHost", [&] { allocate(ptr, size, MemoryKind::Pinned, cudaHostAllocDefault); });
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  return call("cudaHostAlloc", [&] { allocate(pHost, size, MemoryKind::Pinned, flags); });
}

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  return call("cudaMallocManaged", [&] {
    require(size != 0, "managed memory of no bytes");
    allocate(devPtr, size, MemoryKind::Managed, flags);
  });
}

cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  return call("cudaMallocPitch", [&] {
    require(pitch != nullptr, "the pitch is null");
    *pitch = pitchOf(width);
    allocate(devPtr, *pitch * height, MemoryKind::Device);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
  return call("cudaMalloc3D", [&] {
    require(pitchedDevPtr != nullptr, "the result is null");
    const size_t pitch = pitchOf(extent.width);
    void* base = nullptr;
    allocate(&base, pitch * extent.height * extent.depth, MemoryKind::Device);
    *pitchedDevPtr = {base, pitch, extent.width, extent.height};
  });
}

cudaError_t cudaFree(void* devPtr) {
  return call("cudaFree", [&] { MemoryTable::instance().release(toAddress(devPtr), MemoryKind::Device, MemoryKind::Managed); });
}

cudaError_t cudaFreeHost(void* ptr) {
  return call("cudaFreeHost", [&] { MemoryTable::instance().release(toAddress(ptr), MemoryKind::Pinned, MemoryKind::Pinned); });
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
  return call("cudaHostRegister", [&] {
    require(ptr != nullptr && size != 0, "the range is empty");
    MemoryTable::instance().registerHost(ptr, size, flags);
  });
}

cudaError_t cudaHostUnregister(void* ptr) {
  return call("cudaHostUnregister", [&] { MemoryTable::instance().unregisterHost(ptr); });
}

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int) {
  return call("cudaHostGetDevicePointer", [&] {
    require(MemoryTable::instance().find(toAddress(pHost)) != nullptr, "the address is not in mapped memory");
    into(pDevice) = pHost;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
  return call("cudaHostGetFlags", [&] {
    const Allocation* allocation = MemoryTable::instance().find(toAddress(pHost));
    require(allocation != nullptr && allocation->kind != MemoryKind::Device, "the address is not in pinned memory");
    into(pFlags) = allocation->flags;
  });
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) { return {x, y, z, w, f}; }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call("cudaMemGetInfo", [&] {
    const Machine& machine = Machine::instance();
    if (total != nullptr) *total = machine.memoryBytes();
    if (free != nullptr) *free = machine.memoryBytes() - machine.allocatedBytes();
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return call("cudaPointerGetAttributes", [&] {
    require(attributes != nullptr, "the result is null");
    *attributes = {};
    auto* const pointer = const_cast<void*>(ptr);
    const Allocation* allocation = MemoryTable::instance().find(toAddress(ptr));
    if (allocation == nullptr && !MemoryTable::isDevice(ptr)) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = pointer;
      return;
    }
    const MemoryKind kind = allocation == nullptr ? MemoryKind::Device : allocation->kind;
    attributes->type = kind == MemoryKind::Device    ? cudaMemoryTypeDevice
                       : kind == MemoryKind::Managed ? cudaMemoryTypeManaged
                                                     : cudaMemoryTypeHost;
    attributes->devicePointer = pointer;
    attributes->hostPointer = kind == MemoryKind::Device ? nullptr : pointer;
  });
}

// Managed memory is where it is: advice and prefetching change nothing.

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise, cudaMemLocation) {
  return call("cudaMemAdvise", [&] { require(MemoryTable::isDevice(devPtr, count), "the range is not in managed memory"); });
}

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, cudaMemLocation, unsigned int, cudaStream_t stream) {
  return call("cudaMemPrefetchAsync", [&] {
    StreamTable::instance().find(stream);
    require(MemoryTable::isDevice(devPtr, count), "the range is not in managed memory");
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned int) {
  return call("cudaStreamAttachMemAsync", [&] { StreamTable::instance().find(stream); });
}

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return call("cudaMallocAsync", [&] {
    void*& result = into(devPtr);  // before anything is allocated
    result = toPointer(allocateAt(StreamTable::instance().find(hStream), size));
  });
}

cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream) {
  return call("cudaMallocFromPoolAsync", [&] {
    PoolTable::instance().find(memPool);
    void*& result = into(ptr);
    result = toPointer(allocateAt(StreamTable::instance().find(stream), size));
  });
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return call("cudaFreeAsync", [&] {
    if (devPtr != nullptr) submit(StreamTable::instance().find(hStream), FreeWork{toAddress(devPtr)});
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
  return call("cudaDeviceGetDefaultMemPool", [&] {
    requireDevice(device);
    into(memPool) = PoolTable::instance().standard();
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
  return call("cudaDeviceGetMemPool", [&] {
    requireDevice(device);
    into(memPool) = PoolTable::instance().current();
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
  return call("cudaDeviceSetMemPool", [&] {
    requireDevice(device);
    PoolTable::instance().setCurrent(memPool);
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps*) {
  return call("cudaMemPoolCreate", [&] { into(memPool) = PoolTable::instance().create(); });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) {
  return call("cudaMemPoolDestroy", [&] { PoolTable::instance().destroy(memPool); });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t) {
  return call("cudaMemPoolTrimTo", [&] { PoolTable::instance().find(memPool); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  return call("cudaMemPoolSetAttribute", [&] { PoolTable::instance().set(memPool, attr, value); });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  return call("cudaMemPoolGetAttribute", [&] { PoolTable::instance().get(memPool, attr, value); });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc*, size_t) {
  return call("cudaMemPoolSetAccess", [&] { PoolTable::instance().find(memPool); });
}
