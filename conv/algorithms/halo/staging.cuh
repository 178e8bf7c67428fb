// The plain epilogue of halo: bias, ReLU and conversion to the operands' type, and the tile as rows of channels in shared memory,
// one for each pixel, from where the copy engine stores it and drops what is outside the output. With a residual, which is there
// already, in the same form: each matrix is read, added to, and written in its place by the same warp.
#pragma once

#include <cstdint>

#include "common/ptx/matrix_move.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/register_pressure.cuh"
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

/// The sums of a warpgroup whose rows are kBlockChannels channels and whose columns are pixels, as rows of 128 bytes in the copy
/// engine's 128-byte swizzle.
template <class Element, int kPixels, bool kBias, bool kFlat, bool kResidual>
__device__ __forceinline__ void stageBlockAs(const Params& p, const float (&d)[kPixels / 2], int32_t firstChannel,
                                             uint32_t destination) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const uint32_t least = leastPair<Element>(p.relu);
  float bias[2] = {0.0f, 0.0f};
  if (kBias && p.bias != nullptr) {
    // For every block again, as the sums leave few registers.
    const int32_t channel = ptx::workedOutHere(firstChannel + static_cast<int32_t>(warp * 16 + lane / 4));
    if (channel < p.channels) bias[0] = p.bias[channel];
    if (channel + 8 < p.channels) bias[1] = p.bias[channel + 8];
  }
  uint32_t residual[2][4] = {};  // of a pair of groups of pixels and, under way, of the next
  const auto packed = [&](int column, int half) {
    float low = d[column * 4 + half * 2], high = d[column * 4 + half * 2 + 1];
    if (kBias) low += bias[half], high += bias[half];
    if constexpr (kResidual) addResidual<Element>(low, high, p.residual.beta, residual[column / 2 % 2][column % 2 * 2 + half]);
    return atLeast<Element>(packPair<Element>(low, high), least);
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
  if constexpr (kResidual) loadResidual(0);
#pragma unroll
  for (int group = 0; group < kGroups; group += 2) {
    if constexpr (kResidual) loadResidual(group + 2);
    const uint32_t below = static_cast<uint32_t>(group) * 8;
    if (group + 1 < kGroups) {
      const uint32_t to = kFlat ? address(below + lane % 8 + matrix / 2 * 8) : firstOfPairs + below * kRowBytes;
      ptx::storeMatricesTransposed(to, packed(group, 0), packed(group, 1), packed(group + 1, 0), packed(group + 1, 1));
    } else {
      const uint32_t to = kFlat ? address(below + lane % 8) : firstOfLast + below * kRowBytes;
      ptx::storeMatricesTransposed(to, packed(group, 0), packed(group, 1));
    }
  }
}

/// kMayBeFlat: false where the planner gives no flat tiles. Sums of Epilogue::Activated have their bias.
template <class Element, int kPixels, bool kMayBeFlat, Epilogue kEpilogue>
__device__ __forceinline__ void stageBlock(const Params& p, const float (&d)[kPixels / 2], int32_t firstChannel,
                                           uint32_t destination) {
  // Only what a tile needs: with all of it for everybody the tensor core waits nearly twice as long (1800 clocks a tile of
  // 128 x 200 against 1000, on H200).
  constexpr bool kResidual = kEpilogue == Epilogue::Residual, kMayHaveBias = kEpilogue != Epilogue::Activated;
  if (kMayBeFlat && p.flatPitch.divisor != 1) {
    stageBlockAs<Element, kPixels, kMayHaveBias, kMayBeFlat, kResidual>(p, d, firstChannel, destination);
  } else if (kResidual || (kMayHaveBias && p.bias != nullptr)) {
    stageBlockAs<Element, kPixels, kMayHaveBias, false, kResidual>(p, d, firstChannel, destination);
  } else {
    stageBlockAs<Element, kPixels, false, false, false>(p, d, firstChannel, destination);
  }
}

}  // namespace shiftconv::kernels::halo
