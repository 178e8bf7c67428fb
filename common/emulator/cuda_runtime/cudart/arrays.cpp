// CUDA arrays and copies from and to them: CUDA Runtime API, "Memory Management". Widths and horizontal offsets are bytes.
#include "common/emulator/cuda_runtime/core/arrays.hpp"

#include <algorithm>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/cudart/copying.hpp"

using namespace shiftconv::runtime;

namespace {

const Array& arrayOf(cudaArray_const_t handle) { return ArrayTable::instance().find(handle); }

std::byte* toBytes(const void* pointer) { return const_cast<std::byte*>(static_cast<const std::byte*>(pointer)); }

CopyWork toArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                 cudaMemcpyKind kind) {
  return {.to = sideOf(arrayOf(to), x, y, 0, width, height, 1),
          .from = {toBytes(from), pitch, 0},
          .width = width,
          .height = height,
          .kind = kind};
}

CopyWork fromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
                   cudaMemcpyKind kind) {
  return {.to = {toBytes(to), pitch, 0},
          .from = sideOf(arrayOf(from), x, y, 0, width, height, 1),
          .width = width,
          .height = height,
          .kind = kind};
}

/// Cuts `count` bytes that go on in the next row into whole rows and what is left: part(x, y, first byte, width, height).
template <class Part>
void forEachBlock(const Array& array, size_t x, size_t y, size_t count, Part&& part) {
  const size_t row = array.rowBytes();
  require(x < row, "the offset lies outside of the row");
  for (size_t done = 0; done < count;) {
    const bool whole = x == 0 && count - done >= row;
    const size_t width = whole ? row : std::min(row - x, count - done), height = whole ? (count - done) / row : 1;
    part(x, y, done, width, height);
    done += width * height;
    y += height;
    x = 0;
  }
}

}  // namespace

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width, size_t height,
                            unsigned int flags) {
  return call("cudaMallocArray", [&] {
    require(array != nullptr && desc != nullptr, "an argument is null");
    *array = ArrayTable::instance().create(*desc, {width, height, 0}, flags);
  });
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned int flags) {
  return call("cudaMalloc3DArray", [&] {
    require(array != nullptr && desc != nullptr, "an argument is null");
    *array = ArrayTable::instance().create(*desc, extent, flags);
  });
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  return call("cudaFreeArray", [&] { ArrayTable::instance().destroy(array); });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned int* flags, cudaArray_t array) {
  return call("cudaArrayGetInfo", [&] {
    const Array& found = arrayOf(array);
    if (desc != nullptr) *desc = found.format;
    if (extent != nullptr) *extent = found.extent;
    if (flags != nullptr) *flags = found.flags;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  return call("cudaGetChannelDesc", [&] { into(desc) = arrayOf(array).format; });
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t spitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return call("cudaMemcpy2DToArray", [&] { copyNow(toArray(dst, wOffset, hOffset, src, spitch, width, height, kind)); });
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t spitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DToArrayAsync", [&] {
    copyIn(StreamTable::instance().find(stream), toArray(dst, wOffset, hOffset, src, spitch, width, height, kind));
  });
}

cudaError_t cudaMemcpy2DFromArray(void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
  return call("cudaMemcpy2DFromArray", [&] { copyNow(fromArray(dst, dpitch, src, wOffset, hOffset, width, height, kind)); });
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                       size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DFromArrayAsync", [&] {
    copyIn(StreamTable::instance().find(stream), fromArray(dst, dpitch, src, wOffset, hOffset, width, height, kind));
  });
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                                     size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height, cudaMemcpyKind kind) {
  return call("cudaMemcpy2DArrayToArray", [&] {
    copyNow({.to = sideOf(arrayOf(dst), wOffsetDst, hOffsetDst, 0, width, height, 1),
             .from = sideOf(arrayOf(src), wOffsetSrc, hOffsetSrc, 0, width, height, 1),
             .width = width,
             .height = height,
             .kind = kind});
  });
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t count, cudaMemcpyKind kind) {
  return call("cudaMemcpyToArray", [&] {
    forEachBlock(arrayOf(dst), wOffset, hOffset, count, [&](size_t x, size_t y, size_t first, size_t width, size_t height) {
      copyNow(toArray(dst, x, y, toBytes(src) + first, width, width, height, kind));
    });
  });
}

cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
                                cudaMemcpyKind kind) {
  return call("cudaMemcpyFromArray", [&] {
    forEachBlock(arrayOf(src), wOffset, hOffset, count, [&](size_t x, size_t y, size_t first, size_t width, size_t height) {
      copyNow(fromArray(toBytes(dst) + first, width, src, x, y, width, height, kind));
    });
  });
}
