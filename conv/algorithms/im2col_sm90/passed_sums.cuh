// Sums of im2col_sm90 with whatever follows them. A warp puts its own away over the stages, row by row, and a loop that is in the
// program once takes them back, four neighbouring channels of a pixel to a thread: written out for all sums, as where they stay in
// registers, activations and conversions would be most of a kernel, and code that runs once has to be fetched. Four channels are
// one load of scales, of biases and of a residual, and one store.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/compute.cuh"
#include "common/ptx/conversion.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/wgmma_store.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/staged_rows.cuh"
#include "conv/algorithms/im2col_sm90/waiting_residual.cuh"
#include "conv/kernels/mixed_bytes.cuh"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels::im2col {

/// kTogether: fours of a thread that are finished together, 1, 2 or 4.
template <class Kind, int kChannels, class Outputs, int32_t kTogether>
class PassedSums {
  using Sum = typename Kind::Sum;
  using Rows = StagedRows<kChannels, Outputs>;
  static constexpr int32_t kFragments = kChannels / 8;  ///< 8 columns of sums each
  static constexpr int32_t kFours = kChannels / 4;      ///< of a row
  static constexpr int32_t kTurns = 16 * kFours / 32;   ///< of a warp: a four for each lane
  static constexpr bool kHasIntegers = std::is_same_v<Sum, int32_t>;
  static_assert(16 * kFours % (32 * kTogether) == 0, "the loop ends with the last row");

 public:
  /// `scale` and `bias`: of the tile's channels, in shared memory, aligned to 16 bytes.
  __device__ PassedSums(const Rows& rows, const float* scale, const float* bias, uint32_t warp)
      : rows_(rows), scale_(scale), bias_(bias), warp_(warp) {}

  /// Outputs to global memory; where fours are not aligned there, to the warp's rows in shared memory: those of 32 bits to where
  /// the sums are, the others to where `StagedRows` has them. Returns bits of the largest magnitude, where that is asked for.
  __device__ __forceinline__ uint32_t finish(const Sum (&sums)[kChannels / 2]) const {
    putAway(sums);
    const gemm::EpilogueParams& e = rows_.params.epilogue;
    const bool isRaw = kHasIntegers && e.outputType == gemm::NumberType::S32;
    float largest = 0;
    if (rows_.params.residualWaits) ptx::copyAsyncWaitGroup<0>();  // site: residual_there
    __syncwarp();                                                  // site: sums_there
#pragma unroll 1
    for (int32_t turn = 0; turn < kTurns; turn += kTogether) {
      Place at[kTogether];
      float v[4 * kTogether];
#pragma unroll
      for (int32_t i = 0; i < kTogether; ++i) {
        at[i] = placeOf(turn + i);
        takeBack(at[i], isRaw, v + 4 * i);
      }
      if (!isRaw) {
#pragma unroll
        for (int32_t i = 0; i < kTogether; ++i) scaleAndAddBias(at[i], v + 4 * i);
        if (e.residual != nullptr && !e.residualLast) addResiduals(at, v);
        const bool rectifies = e.activation == gemm::Activation::Relu;
        if (__builtin_expect(!rectifies && e.activation != gemm::Activation::None, 0)) {
          gemm::activate(e, v);
        } else {
          const float least = rectifies ? 0.0f : -__int_as_float(0x7f800000);
#pragma unroll
          for (float& one : v) one = ptx::maximum(one, least);
        }
        if (e.residualLast) addResiduals(at, v);
        if (e.largest != nullptr) {
#pragma unroll
          for (int32_t i = 0; i < kTogether; ++i) largest = largestOf(largest, at[i], v + 4 * i);
        }
        if (e.outputScale != 1.0f) {
#pragma unroll
          for (float& one : v) one *= e.outputScale;
        }
      }
      storeAny(at, v);
    }
    return __float_as_uint(largest);
  }

  /// The rows of 32 bits that `finish` left in shared memory.
  __device__ __forceinline__ void copyWordsOut() const {
    rows_.template copyUnalignedFrom<4>(warp_, rows_.sumsOf(warp_), sumsPitch(kChannels),
                                        [](const uint4& vector) { return vector; });
  }

 private:
  struct Place {
    int32_t row, column;         ///< of the warp's 16, of the tile
    int32_t outputRow, channel;  ///< of the output
    bool exists;                 ///< the first of the four
  };
  __device__ __forceinline__ Place placeOf(int32_t turn) const {
    const int32_t four = turn * 32 + static_cast<int32_t>(threadIdx.x % 32), row = four / kFours, column = four % kFours * 4;
    const int32_t outputRow = rows_.outputRow(warp_, row), channel = rows_.firstChannel + column;
    return {row, column, outputRow, channel, outputRow < rows_.endRow && channel < rows_.endChannel};
  }

  /// Of two rows, 8 apart, two neighbouring sums of each fragment.
  __device__ __forceinline__ void putAway(const Sum (&sums)[kChannels / 2]) const {
    const uint32_t lane = threadIdx.x % 32, own = rows_.sumsOf(warp_) + lane / 4 * sumsPitch(kChannels) + lane % 4 * 8;
#pragma unroll
    for (int32_t j = 0; j < kFragments; ++j) {
      ptx::wgmmaStoreShared8Bytes(own + j * 32, sums + 4 * j);
      ptx::wgmmaStoreShared8Bytes(own + 8 * sumsPitch(kChannels) + j * 32, sums + 4 * j + 2);
    }
  }
  __device__ __forceinline__ uint32_t sumsAt(const Place& at) const {
    return rows_.sumsOf(warp_) + static_cast<uint32_t>(at.row * sumsPitch(kChannels) + at.column * 4);
  }
  __device__ __forceinline__ void takeBack(const Place& at, bool isRaw, float* v) const {
    uint32_t bits[4];
    ptx::loadShared16Bytes(sumsAt(at), bits[0], bits[1], bits[2], bits[3]);
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      v[i] = kHasIntegers && !isRaw ? __int2float_rn(static_cast<int32_t>(bits[i])) : __uint_as_float(bits[i]);
  }

  __device__ __forceinline__ void scaleAndAddBias(const Place& at, float* v) const {
    const float4 scale = *reinterpret_cast<const float4*>(scale_ + at.column),
                 bias = *reinterpret_cast<const float4*>(bias_ + at.column);
    v[0] = fmaf(v[0], scale.x, bias.x), v[1] = fmaf(v[1], scale.y, bias.y);
    v[2] = fmaf(v[2], scale.z, bias.z), v[3] = fmaf(v[3], scale.w, bias.w);
  }

  __device__ __forceinline__ void addResiduals(const Place (&at)[kTogether], float (&v)[4 * kTogether]) const {
    if (rows_.params.residualWaits) {
#pragma unroll
      for (int32_t i = 0; i < kTogether; ++i) WaitingResidual<Kind, Rows>(rows_, warp_).addFour(at[i].row, at[i].column, v + 4 * i);
    } else {
      addResidualElements(at, v);
    }
  }
  /// Straight from global memory.
  __device__ __forceinline__ void addResidualElements(const Place (&at)[kTogether], float (&v)[4 * kTogether]) const {
    const gemm::EpilogueParams& e = rows_.params.epilogue;
    gemm::withNumbers<true>(e.residualType, [&](auto element, auto&& number) {
      using Element = decltype(element);
#pragma unroll
      for (int32_t i = 0; i < kTogether; ++i) {
        const auto* const row =
            reinterpret_cast<const Element*>(static_cast<const uint8_t*>(e.residual) + at[i].outputRow * e.residualPitch);
#pragma unroll
        for (int32_t j = 0; j < 4; ++j)
          if (at[i].exists && at[i].channel + j < rows_.endChannel)
            v[4 * i + j] = fmaf(e.beta, number(row[at[i].channel + j]), v[4 * i + j]);
      }
    });
  }

  /// The largest magnitude of `largest` and those of a four that exist; NaN above all.
  __device__ __forceinline__ float largestOf(float largest, const Place& at, const float* v) const {
    if (!at.exists) return largest;
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      if (rows_.params.storesFours || at.channel + i < rows_.endChannel) largest = ptx::maximum(largest, fabsf(v[i]));
    return largest;
  }

  __device__ __forceinline__ void storeAny(const Place (&at)[kTogether], const float (&v)[4 * kTogether]) const {
    const gemm::NumberType type = rows_.params.epilogue.outputType;
    const int32_t bits = numerics::storageBits(type);
    const auto forFours = [&](auto&& store) {
#pragma unroll
      for (int32_t i = 0; i < kTogether; ++i) store(at[i], v + 4 * i);
    };
    if (bits == 32) {
      forFours([&](const Place& one, const float* w) { storeWords(one, w); });
    } else if (bits == 16) {
      const bool isF16 = type == gemm::NumberType::F16;
      forFours([&](const Place& one, const float* w) {
        store(one, isF16 ? packPair<__half>(w[0], w[1]) : packPair<__nv_bfloat16>(w[0], w[1]),
              isF16 ? packPair<__half>(w[2], w[3]) : packPair<__nv_bfloat16>(w[2], w[3]));
      });
    } else {
      forFours([&](const Place& one, const float* w) { store(one, packBytes(rows_.params.epilogue, w[0], w[1], w[2], w[3])); });
    }
  }
  __device__ __forceinline__ uint8_t* outputAt(const Place& at, int32_t elementBytes) const {
    const gemm::EpilogueParams& e = rows_.params.epilogue;
    return static_cast<uint8_t*>(e.output) + at.outputRow * e.outputPitch + at.channel * elementBytes;
  }
  __device__ __forceinline__ void storeWords(const Place& at, const float* v) const {
    if (!rows_.params.storesFours)
      ptx::storeShared16Bytes(sumsAt(at), __float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
                              __float_as_uint(v[3]));
    else if (at.exists)
      *reinterpret_cast<float4*>(outputAt(at, 4)) = make_float4(v[0], v[1], v[2], v[3]);
  }
  __device__ __forceinline__ void store(const Place& at, uint32_t low, uint32_t high) const {
    if (!rows_.params.storesFours)
      ptx::storeShared8Bytes(rows_.template addressOf<2>(warp_, at.row, at.column), low, high);
    else if (at.exists)
      *reinterpret_cast<uint2*>(outputAt(at, 2)) = make_uint2(low, high);
  }
  __device__ __forceinline__ void store(const Place& at, uint32_t four) const {
    if (!rows_.params.storesFours)
      ptx::storeShared4Bytes(rows_.template addressOf<1>(warp_, at.row, at.column), four);
    else if (at.exists)
      *reinterpret_cast<uint32_t*>(outputAt(at, 1)) = four;
  }

  const Rows& rows_;
  const float *scale_, *bias_;
  const uint32_t warp_;
};

}  // namespace shiftconv::kernels::im2col
