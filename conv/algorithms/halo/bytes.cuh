// Outputs of 8 bits of halo's kernels with an activation, as rows of channels in shared memory, one for each pixel.
//
// A thread has the numbers of two channels, 8 apart, but a row wants neighbouring ones. Once they are bytes, a word holds two
// channels of two pixels, and two shuffles bring each lane the words of the lanes that have its neighbouring channels: then pairs
// of channels are the elements of matrices, which leave as those of 16-bit outputs do, with one matrix where they have two.
#pragma once

#include <cstdint>

#include "common/ptx/matrix_move.cuh"
#include "conv/algorithms/halo/own_channels.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/staging.cuh"
#include "conv/kernels/byte_codes.cuh"
#include "conv/kernels/lean_bytes.cuh"

namespace shiftconv::kernels::halo {

/// Of words with channels g and g + 8 of pixels 2t and 2t + 1 (g = lane / 4, t = lane % 4): channels 2g and 2g + 1 of these pixels,
/// a pixel in each half.
__device__ __forceinline__ uint32_t neighbouringChannels(uint32_t word) {
  constexpr uint32_t kAll = 0xffffffffu, kFirstHalf = 0x5140, kSecondHalf = 0x7362;
  const uint32_t lane = threadIdx.x % 32, even = lane / 4 % 4 * 8 + lane % 4;
  const uint32_t low = __shfl_sync(kAll, word, static_cast<int>(even)), high = __shfl_sync(kAll, word, static_cast<int>(even + 4));
  return __byte_perm(low, high, lane < 16 ? kFirstHalf : kSecondHalf);
}

/// The opposite: of words with neighbouring channels, those that neighbouringChannels makes them from.
__device__ __forceinline__ uint32_t ownChannels(uint32_t word) {
  constexpr uint32_t kAll = 0xffffffffu, kEven = 0x6420, kOdd = 0x7531;
  const uint32_t lane = threadIdx.x % 32, first = lane / 8 * 4 + lane % 4;
  const uint32_t low = __shfl_sync(kAll, word, static_cast<int>(first)),
                 high = __shfl_sync(kAll, word, static_cast<int>(first + 16));
  return __byte_perm(low, high, lane / 4 % 2 == 0 ? kEven : kOdd);
}

inline constexpr int kByteMatrices = 4;  ///< of groups of pixels that follow each other, loaded or stored at once

/// Rows of 64 bytes in the copy engine's 64-byte swizzle, which words of neighbouringChannels for each group of 8 pixels become. A
/// matrix has the pixels of a group, and the warp's 16 channels: this lane gives the address of pixel lane % 8 of matrix lane / 8.
template <bool kFlat>
struct ByteRows {
  const Params& p;
  uint32_t destination, first;

  __device__ __forceinline__ ByteRows(const Params& p, uint32_t destination)
      : p(p), destination(destination), first(address(threadIdx.x % 32)) {}

  __device__ __forceinline__ uint32_t address(uint32_t pixel) const {
    return stagedVector<1>(destination, kFlat ? flatRow(p, pixel) : pixel, threadIdx.x / 32 % 4);
  }
  /// From a group of pixels on.
  __device__ __forceinline__ uint32_t matrices(int group) const {
    const uint32_t pixel = static_cast<uint32_t>(group) * 8;
    return kFlat ? address(pixel + threadIdx.x % 32) : first + pixel * stagedRowBytes(1);
  }
};
/// Calls body(rows) with those of a tile. kMayBeFlat: false where the planner gives no flat tiles.
template <bool kMayBeFlat, class Body>
__device__ __forceinline__ void withByteRows(const Params& p, uint32_t destination, Body&& body) {
  if (kMayBeFlat && p.flatPitch.divisor != 1)
    body(ByteRows<kMayBeFlat>(p, destination));
  else
    body(ByteRows<false>(p, destination));
}

/// codesOf(i): of the numbers i to i + 3 of a warpgroup whose rows are kBlockChannels channels and whose columns are pixels.
template <int kPixels, bool kMayBeFlat, class CodesOf>
__device__ __forceinline__ void stageCodes(const Params& p, uint32_t destination, CodesOf&& codesOf) {
  constexpr int kGroups = kPixels / 8;
  uint32_t words[kGroups];
#pragma unroll
  for (int group = 0; group < kGroups; ++group) words[group] = neighbouringChannels(codesOf(group * 4));
  withByteRows<kMayBeFlat>(p, destination, [&](const auto& rows) {
#pragma unroll
    for (int group = 0; group < kGroups; group += kByteMatrices) {
      const int left = kGroups - group;
      if (left >= kByteMatrices)
        ptx::storeMatricesTransposed(rows.matrices(group), words[group], words[group + 1], words[group + 2], words[group + 3]);
      else if (left >= 2)
        ptx::storeMatricesTransposed(rows.matrices(group), words[group], words[group + 1]);
      if (left < kByteMatrices && left % 2 != 0)
        ptx::storeMatrixTransposed(rows.matrices(group + left - 1), words[group + left - 1]);
    }
  });
}

/// The same where a residual is: codesOf(i, word) with its codes of these numbers. Each matrix is read, added to, and written in
/// its place by the same warp.
template <int kPixels, bool kMayBeFlat, class CodesOf>
__device__ __forceinline__ void stageCodesOverResidual(const Params& p, uint32_t destination, CodesOf&& codesOf) {
  constexpr int kGroups = kPixels / 8;
  static_assert(kGroups % 2 == 0);
  withByteRows<kMayBeFlat>(p, destination, [&](const auto& rows) {
    constexpr bool kAhead = kPixels < 192;  // larger tiles leave no registers
    uint32_t residual[2][kByteMatrices];    // of some groups and, under way, of the next
    const auto load = [&](int group) {
      uint32_t(&words)[kByteMatrices] = residual[group / kByteMatrices % 2];
      if (group + kByteMatrices <= kGroups)
        ptx::loadMatricesTransposed(words, rows.matrices(group));
      else if (group < kGroups)
        ptx::loadTwoMatricesTransposed(words, rows.matrices(group));
    };
    if constexpr (kAhead) load(0);
#pragma unroll
    for (int group = 0; group < kGroups; group += kByteMatrices) {
      load(kAhead ? group + kByteMatrices : group);
      uint32_t words[kByteMatrices];
#pragma unroll
      for (int i = 0; i < kByteMatrices && group + i < kGroups; ++i) {
        const uint32_t own = ownChannels(residual[group / kByteMatrices % 2][i]);
        words[i] = neighbouringChannels(codesOf((group + i) * 4, own));
      }
      if (group + kByteMatrices <= kGroups)
        ptx::storeMatricesTransposed(rows.matrices(group), words[0], words[1], words[2], words[3]);
      else
        ptx::storeMatricesTransposed(rows.matrices(group), words[0], words[1]);
    }
  });
}

/// Sums as codes, after what leanBytes names: without the jumps of the other activations, of limits and of other types.
template <bool kIntegers, Lean kLean>
struct LeanCodes {
  const gemm::EpilogueParams& e;
  OwnChannels<1> own;
  LeanBytes lean;

  __device__ __forceinline__ LeanCodes(const gemm::EpilogueParams& e, const OwnChannels<1>& channels)
      : e(e), own(channels), lean(e, kScalesFirst<kLean>) {
#pragma unroll
    for (int half = 0; half < 2; ++half) own.scale[half] *= lean.scale, own.bias[half] = lean.biasOf(own.bias[half]);
  }

  /// `residual`: codes, where there is one.
  template <class Sum, int kRegisters>
  __device__ __forceinline__ uint32_t of(const Sum (&d)[kRegisters], int first, uint32_t residual = 0) const {
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = own.applied(static_cast<float>(d[first + i]), first + i);
    return lean.finished<kLean, kIntegers>(e, v, residual);
  }
};

}  // namespace shiftconv::kernels::halo
