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

/// Words of neighbouringChannels for each group of 8 pixels, as rows of 64 bytes in the copy engine's 64-byte swizzle.
template <int kGroups, bool kFlat>
__device__ __forceinline__ void stageWords(const Params& p, const uint32_t (&words)[kGroups], uint32_t destination) {
  constexpr int kMatrices = 4;
  static_assert(kGroups % 2 == 0);
  // Matrix m of a store has the pixels of a group, and the warp's 16 channels. This lane gives the address of pixel lane % 8 of
  // matrix lane / 8.
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const auto address = [&](uint32_t pixel) { return stagedVector<1>(destination, kFlat ? flatRow(p, pixel) : pixel, warp); };
  const uint32_t first = address(lane);
#pragma unroll
  for (int group = 0; group < kGroups; group += kMatrices) {
    const uint32_t pixel = static_cast<uint32_t>(group) * 8;
    const uint32_t to = kFlat ? address(pixel + lane) : first + pixel * stagedRowBytes(1);
    if (group + kMatrices <= kGroups)
      ptx::storeMatricesTransposed(to, words[group], words[group + 1], words[group + 2], words[group + 3]);
    else
      ptx::storeMatricesTransposed(to, words[group], words[group + 1]);
  }
}

/// codesOf(i): of the numbers i to i + 3 of a warpgroup whose rows are kBlockChannels channels and whose columns are pixels.
/// kMayBeFlat: false where the planner gives no flat tiles.
template <int kPixels, bool kMayBeFlat, class CodesOf>
__device__ __forceinline__ void stageCodes(const Params& p, uint32_t destination, CodesOf&& codesOf) {
  constexpr int kGroups = kPixels / 8;
  uint32_t words[kGroups];
#pragma unroll
  for (int group = 0; group < kGroups; ++group) words[group] = neighbouringChannels(codesOf(group * 4));
  if (kMayBeFlat && p.flatPitch.divisor != 1)
    stageWords<kGroups, kMayBeFlat>(p, words, destination);
  else
    stageWords<kGroups, false>(p, words, destination);
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

  template <class Sum, int kRegisters>
  __device__ __forceinline__ uint32_t of(const Sum (&d)[kRegisters], int first) const {
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = own.applied(static_cast<float>(d[first + i]), first + i);
    return lean.finished<kLean, kIntegers>(e, v, 0);
  }
};

}  // namespace shiftconv::kernels::halo
