// The products of one stage of im2col_sm90, issued by a warpgroup.
#pragma once

#include <cstdint>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/algorithms/im2col_sm90/params.hpp"

namespace shiftconv::kernels::im2col {

/// Of 64 pixels and the tile's channels.
struct StageOperands {
  uint64_t pixels, filter;  ///< descriptors

  /// Their rows are at these addresses of shared memory.
  __device__ __forceinline__ StageOperands(uint32_t pixelRows, uint32_t filterRows)
      : pixels(layout::wgmmaSwizzle128Descriptor(pixelRows)), filter(layout::wgmmaSwizzle128Descriptor(filterRows)) {}

  /// Of 32 bytes of each row. accumulate: 0 where sums begin.
  template <class Kind, int32_t kChannels>
  __device__ __forceinline__ void multiply(typename Kind::Sum (&d)[kChannels / 2], int32_t slice, uint32_t accumulate) const {
    Kind::template multiply<kChannels>(d, layout::advanceDescriptor(pixels, slice * layout::kMmaRowBytes),
                                       layout::advanceDescriptor(filter, slice * layout::kMmaRowBytes), accumulate);
  }
};

}  // namespace shiftconv::kernels::im2col
