// CUDA arrays. Their layout is opaque to programs, and nothing here samples them: rows lie one behind the other in device memory.
#pragma once

#include <map>
#include <memory>

#include "common/emulator/cuda_runtime/core/failure.hpp"
#include "common/emulator/cuda_runtime/core/work.hpp"

namespace shiftconv::runtime {

struct Array {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  ///< in elements, as the program gave it: 0 for dimensions that it lacks
  unsigned flags = 0;
  uint64_t address = 0;
  uint64_t rowPitch = 0;
  uint64_t elementBytes() const;
  uint64_t rowBytes() const { return extent.width * elementBytes(); }
  uint64_t rows() const { return extent.height == 0 ? 1 : extent.height; }
  uint64_t planes() const { return extent.depth == 0 ? 1 : extent.depth; }
};

class ArrayTable {
 public:
  static ArrayTable& instance();
  /// Throws Failure for formats and extents that no array has, or when memory is short.
  cudaArray_t create(const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned flags);
  /// Frees its memory as cudaFree does.
  void destroy(cudaArray_t handle);
  /// Throws Failure cudaErrorInvalidResourceHandle.
  const Array& find(cudaArray_const_t handle) const;

 private:
  std::map<const void*, std::unique_ptr<Array>> arrays_;
};

/// The side of a copy that is the block of `width` bytes, `height` rows and `depth` planes from `offset` bytes into row `y` of
/// plane `z` on. Throws Failure when the array does not have all of it.
CopyWork::Side sideOf(const Array& array, uint64_t offset, uint64_t y, uint64_t z, uint64_t width, uint64_t height, uint64_t depth);

}  // namespace shiftconv::runtime
