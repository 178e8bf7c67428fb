// The plain epilogue of halo: bias, ReLU and conversion to the operands' type, and the tile as rows of channels in shared memory,
// one for each pixel, from where the copy engine stores it and drops what is outside the output. With a residual, which is there
// already, in the same form: each matrix is read, added to, and written in its place by the same warp.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/mbarrier.cuh"
#include "conv/algorithms/halo/own_channels.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/shape.cuh"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels::halo {

/// A warp is done with what the barrier is of.
__device__ __forceinline__ void release(uint32_t barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(barrier);
}

/// Row of a position of a flat tile: its pixels first, in order; positions between image rows after them.
__device__ __forceinline__ uint32_t flatRow(const Params& p, uint32_t position) {
  const uint32_t columns = static_cast<uint32_t>(p.tileColumns), rows = static_cast<uint32_t>(p.tileRows * p.tileImages);
  const uint32_t row = p.flatPitch.quotient(position), column = position - row * p.flatPitch.divisor;
  if (row < rows && column < columns) return row * columns + column;
  const uint32_t pixelsBefore = min(row, rows) * columns + (row < rows ? columns : 0);
  return rows * columns + position - pixelsBefore;
}

/// Address of 16 bytes of channels of a staged row, in the copy engine's swizzle of the width that rows have: 128 bytes, or 64.
template <int kElementBytes>
__device__ __forceinline__ uint32_t stagedVector(uint32_t destination, uint32_t row, uint32_t vector) {
  return destination + row * stagedRowBytes(kElementBytes) + ((vector ^ (kElementBytes == 2 ? row & 7 : row / 2 & 3)) * 16);
}

/// Of a thread: so many activations are computed at once, and none after the last pixel or channel that exists. Without a branch
/// among them ptxas computes all at once and runs out of registers.
inline constexpr int kSiluSums = 32;

/// What becomes of a block's sums before they are packed.
/// Gelu, Ramp, ScaledResidual: after scales and a bias; the others but Sums: after a bias.
enum class BlockForm { Sums, Bias, Residual, Silu, SiluResidual, ResidualSilu, Gelu, Ramp, ScaledResidual };

/// The sums of a warpgroup whose rows are kBlockChannels channels and whose columns are pixels, as rows of 128 bytes in the copy
/// engine's 128-byte swizzle.
template <class Element, int kPixels, BlockForm kForm, bool kFlat, class Sum, class Own>
__device__ __forceinline__ void stageBlockAs(const Params& p, const Sum (&d)[kPixels / 2], const Own& own, uint32_t destination) {
  constexpr bool kScaledResidual = kForm == BlockForm::ScaledResidual, kAddsFirst = kForm == BlockForm::ResidualSilu;
  constexpr bool kAddsLast = kForm == BlockForm::Residual || kForm == BlockForm::SiluResidual || kScaledResidual;
  constexpr bool kResidual = kAddsFirst || kAddsLast;
  constexpr bool kSilu = kForm == BlockForm::Silu || kForm == BlockForm::SiluResidual || kAddsFirst,
                 kIsLong = kSilu || kForm == BlockForm::Gelu;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const gemm::Ramp ramp(p.full.epilogue);
  uint32_t residual[2][4] = {};  // of a pair of groups of pixels and, under way, of the next
  /// Of kGroupsOf groups: words of pixels, the lower channel's and the upper one's of each.
  const auto packed = [&]<int kGroupsOf>(int group, uint32_t(&words)[2 * kGroupsOf]) {
    float v[4 * kGroupsOf];
#pragma unroll
    for (int i = 0; i < 4 * kGroupsOf; ++i) {
      v[i] = static_cast<float>(d[group * 4 + i]);
      if constexpr (kForm == BlockForm::Gelu)
        v[i] = gemm::geluErfOf(own.applied(v[i], i));
      else if constexpr (kForm == BlockForm::Ramp)
        v[i] = ramp.of(own.applied(v[i], i));
      else if constexpr (kScaledResidual)
        v[i] = own.applied(v[i], i);
      else if constexpr (kForm != BlockForm::Sums)
        v[i] += own.bias[i / 2 % 2];
    }
    const auto add = [&](int i) { addResidual<Element>(v[2 * i], v[2 * i + 1], p.residual.beta, residual[group / 2 % 2][i]); };
    if constexpr (kAddsFirst) {
#pragma unroll
      for (int i = 0; i < 2 * kGroupsOf; ++i) add(i);
    }
    if constexpr (kSilu) gemm::silu(v);
#pragma unroll
    for (int i = 0; i < 2 * kGroupsOf; ++i) {
      if constexpr (kAddsLast) add(i);
      words[i] = packPair<Element>(v[2 * i], v[2 * i + 1]);
      if constexpr (!kIsLong) words[i] = limited<Element>(words[i], p.limits);
    }
  };
  // Matrix m of a store: pixels 8 * (m / 2).. of 16, channels 8 * (m % 2).. of the warp's 16. This lane gives the address of
  // pixel lane % 8 of matrix lane / 8.
  const uint32_t matrix = lane / 8, channelVector = 2 * warp + matrix % 2;
  const auto address = [&](uint32_t pixel) {
    return stagedVector<2>(destination, kFlat ? flatRow(p, pixel) : pixel, channelVector);
  };
  const uint32_t firstOfPairs = address(lane % 8 + matrix / 2 * 8), firstOfLast = address(lane % 8);
  constexpr int kGroups = kPixels / 8;
  const auto loadResidual = [&](int group) {
    const uint32_t below = static_cast<uint32_t>(group) * 8;
    if (group + 1 < kGroups)
      ptx::loadMatricesTransposed(residual[group / 2 % 2],
                                  kFlat ? address(below + lane % 8 + matrix / 2 * 8) : firstOfPairs + below * kRowBytes);
    if (group + 1 == kGroups)
      ptx::loadTwoMatricesTransposed(residual[group / 2 % 2], kFlat ? address(below + lane % 8) : firstOfLast + below * kRowBytes);
  };
  constexpr bool kAhead = !kScaledResidual || kPixels < 192;  // larger tiles with scales leave no registers
  if constexpr (kResidual && kAhead) loadResidual(0);
#pragma unroll
  for (int group = 0; group < kGroups; group += 2) {
    if constexpr (kResidual) loadResidual(kAhead ? group + 2 : group);
    if (kIsLong && group > 0 && group * 4 % kSiluSums == 0 && group * 8 >= p.full.positions) return;
    const uint32_t below = static_cast<uint32_t>(group) * 8;
    if (group + 1 < kGroups) {
      uint32_t words[4];
      packed.template operator()<2>(group, words);
      const uint32_t to = kFlat ? address(below + lane % 8 + matrix / 2 * 8) : firstOfPairs + below * kRowBytes;
      ptx::storeMatricesTransposed(to, words[0], words[1], words[2], words[3]);
    } else {
      uint32_t words[2];
      packed.template operator()<1>(group, words);
      const uint32_t to = kFlat ? address(below + lane % 8) : firstOfLast + below * kRowBytes;
      ptx::storeMatricesTransposed(to, words[0], words[1]);
    }
  }
}

/// kMayBeFlat: false where the planner gives no flat tiles. Only what a tile needs: with all of it for everybody the tensor core
/// waits nearly twice as long (1800 clocks a tile of 128 x 200 against 1000, on H200).
template <class Element, int kPixels, bool kMayBeFlat, BlockForm kForm, class Sum, class Own>
__device__ __forceinline__ void stageBlock(const Params& p, const Sum (&d)[kPixels / 2], const Own& own, uint32_t destination) {
  if (kMayBeFlat && p.flatPitch.divisor != 1)
    stageBlockAs<Element, kPixels, kForm, kMayBeFlat>(p, d, own, destination);
  else if (kForm != BlockForm::Bias || p.bias.numbers != nullptr)
    stageBlockAs<Element, kPixels, kForm, false>(p, d, own, destination);
  else
    stageBlockAs<Element, kPixels, BlockForm::Sums, false>(p, d, own, destination);
}

}  // namespace shiftconv::kernels::halo
