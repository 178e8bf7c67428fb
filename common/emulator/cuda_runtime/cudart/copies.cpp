// Copies and fills: CUDA Runtime API, "Memory Management". When a call waits is the matter of "API synchronization behavior".
#include "common/emulator/cuda_runtime/cudart/copying.hpp"

#include "common/emulator/cuda_runtime/core/arrays.hpp"
#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/memory.hpp"
#include "common/emulator/cuda_runtime/core/properties.hpp"

namespace shiftconv::runtime {
namespace {

std::byte* toBytes(const void* pointer) { return const_cast<std::byte*>(static_cast<const std::byte*>(pointer)); }

Stream& legacy() { return StreamTable::instance().find(nullptr); }

/// Offsets into arrays count elements. `extent`: its width in bytes.
CopyWork::Side sideOf(cudaArray_t array, const cudaPos& at, const cudaPitchedPtr& pointer, const cudaExtent& extent) {
  if (array != nullptr) {
    const Array& found = ArrayTable::instance().find(array);
    return sideOf(found, at.x * found.elementBytes(), at.y, at.z, extent.width, extent.height, extent.depth);
  }
  const size_t plane = pointer.pitch * pointer.ysize;
  return {toBytes(pointer.ptr) + at.z * plane + at.y * pointer.pitch + at.x, pointer.pitch, plane};
}

CopyWork pitchedCopy(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height,
                     cudaMemcpyKind kind) {
  return {.to = {toBytes(to), toPitch, 0}, .from = {toBytes(from), fromPitch, 0}, .width = width, .height = height, .kind = kind};
}

FillWork pitchedFill(void* to, size_t pitch, int value, size_t width, size_t height) {
  return {.to = {toBytes(to), pitch, 0}, .value = static_cast<uint32_t>(value), .width = width, .height = height};
}

FillWork volumeFill(const cudaPitchedPtr& to, int value, const cudaExtent& extent) {
  return {.to = {toBytes(to.ptr), to.pitch, to.pitch * to.ysize},
          .value = static_cast<uint32_t>(value),
          .width = extent.width,
          .height = extent.height,
          .depth = extent.depth};
}

/// Pinned memory too: the host may see what the device writes there only when it has waited.
bool endsOnDevice(const CopyWork& copy) { return MemoryTable::isDevice(copy.to.base) && MemoryTable::isDevice(copy.from.base); }

/// "count" bytes at `offset` of a variable.
void* symbolAt(const void* symbol, size_t offset, size_t count) {
  const VariablePlace place = ImageTable::instance().variable(symbol);
  require(offset <= place.bytes && count <= place.bytes - offset, "the range is not inside the variable");
  return reinterpret_cast<void*>(place.address + offset);
}

}  // namespace

CopyWork linearCopy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return {.to = {toBytes(to), 0, 0}, .from = {toBytes(from), 0, 0}, .width = bytes, .kind = kind};
}

CopyWork copyOf(const cudaMemcpy3DParms& parameters) {
  cudaExtent extent = parameters.extent;
  // Where an array takes part, the width counts its elements.
  for (const cudaArray_t array : {parameters.dstArray, parameters.srcArray})
    if (array != nullptr) extent.width = parameters.extent.width * ArrayTable::instance().find(array).elementBytes();
  return {.to = sideOf(parameters.dstArray, parameters.dstPos, parameters.dstPtr, extent),
          .from = sideOf(parameters.srcArray, parameters.srcPos, parameters.srcPtr, extent),
          .width = extent.width,
          .height = extent.height,
          .depth = extent.depth,
          .kind = parameters.kind};
}

FillWork linearFill(void* to, int value, size_t bytes) {
  return {.to = {toBytes(to), 0, 0}, .value = static_cast<uint32_t>(value), .width = bytes};
}

void copyNow(const CopyWork& copy) {
  refuseCapturing(legacy());
  submit(legacy(), copy);
  if (!endsOnDevice(copy)) StreamTable::instance().hostWaits(legacy());
}

void copyIn(Stream& stream, const CopyWork& copy) {
  const bool captured = stream.capturing.capture != nullptr;
  submit(stream, copy);
  if (!captured && !MemoryTable::isDevice(copy.to.base)) StreamTable::instance().hostWaits(stream);
}

}  // namespace shiftconv::runtime

using namespace shiftconv::runtime;

namespace {

Stream& streamOf(cudaStream_t stream) { return StreamTable::instance().find(stream); }

CopyWork peerCopy(void* to, int toDevice, const void* from, int fromDevice, size_t bytes) {
  requireDevice(toDevice);
  requireDevice(fromDevice);
  return linearCopy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return call("cudaMemcpy", [&] { copyNow(linearCopy(dst, src, count, kind)); });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] { copyIn(streamOf(stream), linearCopy(dst, src, count, kind)); });
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  return call("cudaMemcpyPeer", [&] { copyNow(peerCopy(dst, dstDevice, src, srcDevice, count)); });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count, cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&] { copyIn(streamOf(stream), peerCopy(dst, dstDevice, src, srcDevice, count)); });
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return call("cudaMemcpy2D", [&] { copyNow(pitchedCopy(dst, dpitch, src, spitch, width, height, kind)); });
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DAsync", [&] { copyIn(streamOf(stream), pitchedCopy(dst, dpitch, src, spitch, width, height, kind)); });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return call("cudaMemcpy3D", [&] {
    require(p != nullptr, "the parameters are null");
    copyNow(copyOf(*p));
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return call("cudaMemcpy3DAsync", [&] {
    require(p != nullptr, "the parameters are null");
    copyIn(streamOf(stream), copyOf(*p));
  });
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
  return call("cudaMemcpy3DPeer", [&] {
    require(p != nullptr, "the parameters are null");
    requireDevice(p->dstDevice);
    requireDevice(p->srcDevice);
    copyNow(copyOf({p->srcArray, p->srcPos, p->srcPtr, p->dstArray, p->dstPos, p->dstPtr, p->extent, cudaMemcpyDeviceToDevice}));
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyToSymbol", [&] { copyNow(linearCopy(symbolAt(symbol, offset, count), src, count, kind)); });
}

cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyFromSymbol", [&] { copyNow(linearCopy(dst, symbolAt(symbol, offset, count), count, kind)); });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t stream) {
  return call("cudaMemcpyToSymbolAsync",
              [&] { copyIn(streamOf(stream), linearCopy(symbolAt(symbol, offset, count), src, count, kind)); });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return call("cudaMemcpyFromSymbolAsync",
              [&] { copyIn(streamOf(stream), linearCopy(dst, symbolAt(symbol, offset, count), count, kind)); });
}

cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol) {
  return call("cudaGetSymbolAddress",
              [&] { into(devPtr) = reinterpret_cast<void*>(ImageTable::instance().variable(symbol).address); });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return call("cudaGetSymbolSize", [&] { into(size) = ImageTable::instance().variable(symbol).bytes; });
}

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return call("cudaMemset", [&] { submit(streamOf(nullptr), linearFill(devPtr, value, count)); });
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&] { submit(streamOf(stream), linearFill(devPtr, value, count)); });
}

cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  return call("cudaMemset2D", [&] { submit(streamOf(nullptr), pitchedFill(devPtr, pitch, value, width, height)); });
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return call("cudaMemset2DAsync", [&] { submit(streamOf(stream), pitchedFill(devPtr, pitch, value, width, height)); });
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent) {
  return call("cudaMemset3D", [&] { submit(streamOf(nullptr), volumeFill(pitchedDevPtr, value, extent)); });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, cudaStream_t stream) {
  return call("cudaMemset3DAsync", [&] { submit(streamOf(stream), volumeFill(pitchedDevPtr, value, extent)); });
}
