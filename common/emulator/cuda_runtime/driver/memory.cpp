// Memory: CUDA Driver API, "Memory Management", "Stream Ordered Memory Allocator", "Unified Addressing".
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/memory.hpp"
#include "common/emulator/cuda_runtime/core/pools.hpp"
#include "common/emulator/cuda_runtime/core/work.hpp"

using namespace shiftconv::runtime;

namespace {

constexpr size_t kPitchAlignment = 512;

MemoryTable& memory() { return MemoryTable::instance(); }
Stream& streamOf(CUstream stream) { return StreamTable::instance().find(stream); }
std::byte* bytesAt(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }
std::byte* bytesAt(const void* pointer) { return static_cast<std::byte*>(const_cast<void*>(pointer)); }

void allocate(CUdeviceptr* result, size_t bytes, MemoryKind kind, unsigned flags = 0) {
  require(result != nullptr && bytes != 0, "the result is null or no bytes were asked for");
  *result = memory().allocate(bytes, kind, flags);
}

void allocateHost(void** result, size_t bytes, unsigned flags) {
  require(result != nullptr, "the result is null");
  *result = reinterpret_cast<void*>(memory().allocate(bytes, MemoryKind::Pinned, flags));
}

/// In the default stream and waited for when it is a call without a stream, as the host's side is pageable memory.
CUresult copy(const char* name, std::byte* to, std::byte* from, size_t bytes, cudaMemcpyKind kind, CUstream stream, bool wait) {
  return driverCall(name, [&] {
    Stream& target = streamOf(stream);
    if (wait) refuseCapturing(target);
    const bool captured = target.capturing.capture != nullptr;
    const bool reachesHost = !MemoryTable::isDevice(to);
    const bool staysOnDevice = !reachesHost && MemoryTable::isDevice(from);
    submit(target, CopyWork{.to = {to, 0, 0}, .from = {from, 0, 0}, .width = bytes, .kind = kind});
    if (!captured && (reachesHost || (wait && !staysOnDevice))) StreamTable::instance().hostWaits(target);
  });
}

CUresult fill(const char* name, CUdeviceptr to, size_t pitch, uint32_t value, uint32_t elementBytes, size_t width, size_t height,
              CUstream stream) {
  return driverCall(name, [&] {
    require(to % elementBytes == 0, "the address is not aligned to the element");
    submit(streamOf(stream), FillWork{.to = {bytesAt(to), pitch, 0},
                                      .value = value,
                                      .elementBytes = elementBytes,
                                      .width = width * elementBytes,
                                      .height = height});
  });
}

CopyWork::Side sideOf(CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t x, size_t y) {
  if (type == CU_MEMORYTYPE_ARRAY) throw Failure(cudaErrorNotSupported, "CUDA arrays are not emulated");
  std::byte* const base = type == CU_MEMORYTYPE_HOST ? bytesAt(host) : bytesAt(device);
  return {base + y * pitch + x, pitch, 0};
}

void copyRows(const CUDA_MEMCPY2D* p, CUstream stream, bool wait) {
  require(p != nullptr, "the parameters are null");
  Stream& target = streamOf(stream);
  submit(target, CopyWork{.to = sideOf(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch, p->dstXInBytes, p->dstY),
                          .from = sideOf(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch, p->srcXInBytes, p->srcY),
                          .width = p->WidthInBytes,
                          .height = p->Height,
                          .kind = cudaMemcpyDefault});
  if (wait) StreamTable::instance().hostWaits(target);
}

/// What an attribute of an address is, as a number of so many bytes; no value where the address has none.
struct AttributeValue {
  size_t bytes;
  std::optional<uint64_t> value;
};

AttributeValue pointerAttribute(CUpointer_attribute attribute, CUdeviceptr pointer) {
  const Allocation* allocation = memory().find(pointer);
  const bool isKnown = allocation != nullptr || MemoryTable::isDevice(bytesAt(pointer));
  const MemoryKind kind = allocation == nullptr ? MemoryKind::Device : allocation->kind;
  const auto where = [](bool has, uint64_t value) { return has ? std::optional(value) : std::nullopt; };
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: {
      const bool ofDevice = kind == MemoryKind::Device || kind == MemoryKind::Managed;
      return {sizeof(unsigned), where(isKnown, ofDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST)};
    }
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      throw Failure(cudaErrorNotSupported, "the context of an address is not emulated");
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return {sizeof(CUdeviceptr), where(isKnown, pointer)};
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return {sizeof(void*), where(isKnown && kind != MemoryKind::Device, pointer)};
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return {sizeof(bool), where(isKnown, kind == MemoryKind::Managed)};
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return {sizeof(int), where(isKnown, 0)};
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return {sizeof(bool), where(isKnown, true)};
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return {sizeof(bool), where(isKnown, false)};
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return {sizeof(CUdeviceptr), where(allocation != nullptr, allocation == nullptr ? 0 : allocation->address)};
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return {sizeof(size_t), where(allocation != nullptr, allocation == nullptr ? 0 : allocation->bytes)};
    default:
      throw Failure(cudaErrorNotSupported, fmt::format("pointer attribute {} is not emulated", static_cast<int>(attribute)));
  }
}

void store(void* data, const AttributeValue& attribute) {
  require(data != nullptr, "the result is null");
  const uint64_t value = attribute.value.value_or(0);
  std::memcpy(data, &value, attribute.bytes);  // its low bytes
}

}  // namespace

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return driverCall("cuMemGetInfo", [&] {
    const Machine& machine = Machine::instance();
    into(total) = machine.memoryBytes();
    into(free) = machine.memoryBytes() - machine.allocatedBytes();
  });
}

CUresult cuMemAlloc(CUdeviceptr* dptr, size_t bytesize) {
  return driverCall("cuMemAlloc", [&] { allocate(dptr, bytesize, MemoryKind::Device); });
}

CUresult cuMemAllocPitch(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height, unsigned int) {
  return driverCall("cuMemAllocPitch", [&] {
    require(pPitch != nullptr, "the pitch is null");
    *pPitch = (WidthInBytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    allocate(dptr, *pPitch * Height, MemoryKind::Device);
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  return driverCall("cuMemAllocManaged", [&] { allocate(dptr, bytesize, MemoryKind::Managed, flags); });
}

CUresult cuMemAllocHost(void** pp, size_t bytesize) {
  return driverCall("cuMemAllocHost", [&] { allocateHost(pp, bytesize, 0); });
}

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  return driverCall("cuMemHostAlloc", [&] { allocateHost(pp, bytesize, Flags); });
}

CUresult cuMemFree(CUdeviceptr dptr) {
  return driverCall("cuMemFree", [&] { memory().release(dptr, MemoryKind::Device, MemoryKind::Managed); });
}

CUresult cuMemFreeHost(void* p) {
  return driverCall("cuMemFreeHost",
                    [&] { memory().release(reinterpret_cast<uint64_t>(p), MemoryKind::Pinned, MemoryKind::Pinned); });
}

CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
  return driverCall("cuMemHostRegister", [&] {
    require(p != nullptr && bytesize != 0, "the range is empty");
    memory().registerHost(p, bytesize, Flags);
  });
}

CUresult cuMemHostUnregister(void* p) {
  return driverCall("cuMemHostUnregister", [&] { memory().unregisterHost(p); });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* pdptr, void* p, unsigned int) {
  return driverCall("cuMemHostGetDevicePointer", [&] {
    require(memory().find(reinterpret_cast<uint64_t>(p)) != nullptr, "the address is not in mapped memory");
    into(pdptr) = reinterpret_cast<uint64_t>(p);
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  return driverCall("cuMemGetAddressRange", [&] {
    const Allocation* allocation = memory().find(dptr);
    require(allocation != nullptr, "the address is in no allocation");
    if (pbase != nullptr) *pbase = allocation->address;
    if (psize != nullptr) *psize = allocation->bytes;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  return driverCall("cuPointerGetAttribute", [&] {
    const AttributeValue found = pointerAttribute(attribute, ptr);
    require(found.value.has_value(), "the device does not know the address, or its memory lacks the attribute");
    store(data, found);
  });
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data, CUdeviceptr ptr) {
  return driverCall("cuPointerGetAttributes", [&] {
    require(numAttributes == 0 || (attributes != nullptr && data != nullptr), "a list is null");
    // Here an attribute that the address lacks is zero and no error, also where the device does not know the address.
    for (unsigned i = 0; i < numAttributes; ++i) store(data[i], pointerAttribute(attributes[i], ptr));
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return driverCall("cuMemAllocAsync", [&] {
    CUdeviceptr& result = into(dptr);  // before anything is allocated
    result = allocateAt(streamOf(hStream), bytesize);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  return driverCall("cuMemFreeAsync", [&] { submit(streamOf(hStream), FreeWork{dptr}); });
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return copy("cuMemcpy", bytesAt(dst), bytesAt(src), ByteCount, cudaMemcpyDefault, nullptr, true);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return copy("cuMemcpyAsync", bytesAt(dst), bytesAt(src), ByteCount, cudaMemcpyDefault, hStream, false);
}

CUresult cuMemcpyHtoD(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return copy("cuMemcpyHtoD", bytesAt(dstDevice), bytesAt(srcHost), ByteCount, cudaMemcpyHostToDevice, nullptr, true);
}

CUresult cuMemcpyDtoH(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return copy("cuMemcpyDtoH", bytesAt(dstHost), bytesAt(srcDevice), ByteCount, cudaMemcpyDeviceToHost, nullptr, true);
}

CUresult cuMemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return copy("cuMemcpyDtoD", bytesAt(dstDevice), bytesAt(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, nullptr, true);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream) {
  return copy("cuMemcpyHtoDAsync", bytesAt(dstDevice), bytesAt(srcHost), ByteCount, cudaMemcpyHostToDevice, hStream, false);
}

CUresult cuMemcpyDtoHAsync(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copy("cuMemcpyDtoHAsync", bytesAt(dstHost), bytesAt(srcDevice), ByteCount, cudaMemcpyDeviceToHost, hStream, false);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copy("cuMemcpyDtoDAsync", bytesAt(dstDevice), bytesAt(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, hStream, false);
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* pCopy) {
  return driverCall("cuMemcpy2D", [&] { copyRows(pCopy, nullptr, true); });
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return driverCall("cuMemcpy2DAsync", [&] { copyRows(pCopy, hStream, false); });
}

CUresult cuMemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return fill("cuMemsetD8", dstDevice, 0, uc, 1, N, 1, nullptr);
}

CUresult cuMemsetD16(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return fill("cuMemsetD16", dstDevice, 0, us, 2, N, 1, nullptr);
}

CUresult cuMemsetD32(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return fill("cuMemsetD32", dstDevice, 0, ui, 4, N, 1, nullptr);
}

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return fill("cuMemsetD8Async", dstDevice, 0, uc, 1, N, 1, hStream);
}

CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return fill("cuMemsetD16Async", dstDevice, 0, us, 2, N, 1, hStream);
}

CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return fill("cuMemsetD32Async", dstDevice, 0, ui, 4, N, 1, hStream);
}
