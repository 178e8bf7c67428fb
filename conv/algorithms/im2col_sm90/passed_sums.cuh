// Sums of im2col_sm90 with whatever follows them. A thread puts its own away over the stages, and a loop that is in the program
// once takes them back, two or four fragments at a time: written out for all sums, as where they stay in registers, activations and
// conversions would be most of a kernel, and code that runs once has to be fetched.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/compute.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/wgmma_store.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/staged_rows.cuh"
#include "conv/algorithms/im2col_sm90/waiting_residual.cuh"
#include "conv/kernels/mixed_bytes.cuh"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels::im2col {

template <class Kind, int kChannels, class Outputs>
class PassedSums {
  using Sum = typename Kind::Sum;
  using Rows = StagedRows<kChannels, Outputs>;
  static constexpr int32_t kFragments = kChannels / 8;  ///< 8 columns of sums each
  static constexpr bool kIsHalf = Kind::kElementBytes == 2, kHasIntegers = std::is_same_v<Sum, int32_t>;

 public:
  /// `scale` and `bias`: of the tile's channels, in shared memory.
  __device__ PassedSums(const Rows& rows, const float* scale, const float* bias) : rows_(rows), scale_(scale), bias_(bias) {}

  /// Outputs of 8 and 16 bits to the warp's rows in shared memory; those of 32 bits are stored. Returns bits of the largest
  /// magnitude, where that is asked for.
  __device__ __forceinline__ uint32_t stage(const Sum (&sums)[kChannels / 2], uint32_t warp) const {
    constexpr int32_t kTogether = kFragments % 4 == 0 ? 4 : 2;  // fragments
    putAway(sums);
    const gemm::EpilogueParams& e = rows_.params.epilogue;
    const bool isRaw = kHasIntegers && e.outputType == gemm::NumberType::S32;
    uint32_t largest = 0;
    if (rows_.params.residualWaits) awaitResidual();
#pragma unroll 1
    for (int32_t first = 0; first < kFragments; first += kTogether) {
      float v[4 * kTogether];
#pragma unroll
      for (int32_t i = 0; i < kTogether; ++i) takeBack(first + i, isRaw, v + 4 * i);
      if (!isRaw) {
#pragma unroll
        for (int32_t i = 0; i < kTogether; ++i) scaleAndAddBias(first + i, v + 4 * i);
        if (rows_.params.residualWaits) {
#pragma unroll
          for (int32_t i = 0; i < kTogether; i += 2) WaitingResidual<Kind, Rows>(rows_, warp).add(first + i, v + 4 * i);
        } else if (__builtin_expect(e.residual != nullptr, 0)) {
          addResidualOfOtherType<kTogether>(warp, first, v);
        }
        gemm::rectifyOrActivate(e, v);
        if (__builtin_expect(e.largest != nullptr, 0)) {
#pragma unroll
          for (int32_t i = 0; i < kTogether; i += 2) largest = max(largest, largestOf(warp, first + i, v + 4 * i));
        }
#pragma unroll
        for (float& one : v) one *= e.outputScale;
      }
#pragma unroll
      for (int32_t i = 0; i < kTogether; i += 2) storeAny(warp, first + i, v + 4 * i);
    }
    return largest;
  }

 private:
  /// Of a thread's two channels of fragment j.
  __device__ __forceinline__ float2 ofChannels(const float* values, int32_t j) const {
    return *reinterpret_cast<const float2*>(values + j * 8 + threadIdx.x % 4 * 2);
  }
  __device__ __forceinline__ void scaleAndAddBias(int32_t j, float* v) const {
    const float2 scale = ofChannels(scale_, j), bias = ofChannels(bias_, j);
    const float x = rows_.params.epilogue.alpha * scale.x, y = rows_.params.epilogue.alpha * scale.y;
    v[0] = fmaf(v[0], x, bias.x), v[1] = fmaf(v[1], y, bias.y), v[2] = fmaf(v[2], x, bias.x), v[3] = fmaf(v[3], y, bias.y);
  }

  /// To kCount fragments from j on, straight from global memory.
  template <int32_t kCount>
  __device__ __forceinline__ void addResidualOfOtherType(uint32_t warp, int32_t j, float (&v)[4 * kCount]) const {
    const gemm::EpilogueParams& e = rows_.params.epilogue;
    gemm::withNumbers<true>(e.residualType, [&](auto element, auto&& number) {
      using Element = decltype(element);
#pragma unroll
      for (int32_t i = 0; i < 4 * kCount; ++i) {
        const int32_t outputRow = rows_.ownRow(warp, i / 2 % 2), column = rows_.ownColumn(j + i / 4) + i % 2;
        const auto* const row = static_cast<const uint8_t*>(e.residual) + outputRow * e.residualPitch;
        if (outputRow < rows_.endRow && column < rows_.endChannel)
          v[i] = fmaf(e.beta, number(reinterpret_cast<const Element*>(row)[column]), v[i]);
      }
    });
  }

  __device__ __forceinline__ uint32_t ownPlace(int32_t j) const {
    const uint32_t group = threadIdx.x / 128, thread = threadIdx.x % 128;
    return rows_.stages + ((group * kFragments + static_cast<uint32_t>(j)) * 128 + thread) * 16;
  }
  __device__ __forceinline__ void putAway(const Sum (&sums)[kChannels / 2]) const {
#pragma unroll
    for (int32_t j = 0; j < kFragments; ++j) ptx::wgmmaStoreShared16Bytes(ownPlace(j), sums + 4 * j);
  }
  __device__ __forceinline__ void takeBack(int32_t j, bool isRaw, float* v) const {
    uint32_t bits[4];
    ptx::loadShared16Bytes(ownPlace(j), bits[0], bits[1], bits[2], bits[3]);
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      v[i] = kHasIntegers && !isRaw ? __int2float_rn(static_cast<int32_t>(bits[i])) : __uint_as_float(bits[i]);
  }
  /// Of fragments j and j + 1, where they exist: bits of magnitudes are in the order of their values, NaN above all.
  __device__ __forceinline__ uint32_t largestOf(uint32_t warp, int32_t j, const float* v) const {
    uint32_t largest = 0;
#pragma unroll
    for (int32_t i = 0; i < 8; ++i) {
      const uint32_t bits = __float_as_uint(v[i]) & 0x7fffffffu;
      if (rows_.ownRow(warp, i / 2 % 2) < rows_.endRow && rows_.ownColumn(j + i / 4) + i % 2 < rows_.endChannel)
        largest = max(largest, bits);
    }
    return largest;
  }
  __device__ __forceinline__ void storeAny(uint32_t warp, int32_t j, const float* v) const {
    const gemm::NumberType type = rows_.params.epilogue.outputType;
    if (numerics::storageBits(type) == 32) return storeWords(warp, j, v);
    if (numerics::storageBits(type) == 8) return storeBytes(warp, j, v);
    storeHalves(warp, j, [&](int32_t i) {
      return type == gemm::NumberType::F16 ? packPair<__half>(v[2 * i], v[2 * i + 1])
                                           : packPair<__nv_bfloat16>(v[2 * i], v[2 * i + 1]);
    });
  }

  /// pairOf(i): of matrix i, see StagedRows::matrices.
  template <class PairOf>
  __device__ __forceinline__ void storeHalves(uint32_t warp, int32_t j, PairOf&& pairOf) const {
    uint32_t matrices[4];
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) matrices[i] = pairOf(i);
    ptx::storeMatrices(rows_.matrices(rows_.template begin<2>(warp), j), matrices);
  }
  /// A lane's pairs of fragments j and j + 1, in both rows.
  __device__ __forceinline__ void storeBytes(uint32_t warp, int32_t j, const float* v) const {
    rows_.storePairs(rows_.pairsAt(warp), j, v,
                     [&](float a, float b, float c, float d) { return packBytes(rows_.params.epilogue, a, b, c, d); });
  }
  __device__ __forceinline__ void storeWords(uint32_t warp, int32_t j, const float* v) const {
    const gemm::EpilogueParams& e = rows_.params.epilogue;
    const bool inPairs = e.outputPitch % 8 == 0;
#pragma unroll
    for (int32_t row = 0; row < 2; ++row) {
      if (rows_.ownRow(warp, row) >= rows_.endRow) continue;
      auto* const to = reinterpret_cast<float*>(static_cast<uint8_t*>(e.output) + rows_.ownRow(warp, row) * e.outputPitch);
#pragma unroll
      for (int32_t i = 0; i < 2; ++i) {
        const int32_t column = rows_.ownColumn(j + i), first = 4 * i + 2 * row;
        if (inPairs && column + 1 < rows_.endChannel) {
          *reinterpret_cast<float2*>(to + column) = make_float2(v[first], v[first + 1]);
        } else {
          if (column < rows_.endChannel) to[column] = v[first];
          if (column + 1 < rows_.endChannel) to[column + 1] = v[first + 1];
        }
      }
    }
  }

  const Rows& rows_;
  const float *scale_, *bias_;
};

}  // namespace shiftconv::kernels::im2col
