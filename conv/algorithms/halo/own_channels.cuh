// What a multiplying thread of halo keeps of bias and scales while its tile is multiplied. It asks for them before the products:
// where epilogues loaded the bias themselves, layers with one took 0.2 us longer than without (observed on an H200).
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/params.hpp"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/byte_channels.cuh"

namespace shiftconv::kernels::halo {

/// Where weights are operand A: of a thread's two channels, 8 apart, of a block of its warpgroup. Of 16-bit operands only the bias:
/// with scales, which are rare there, the largest tiles spilt.
template <int kElementBytes>
struct OwnChannels {
  float bias[2] = {};
};
template <>
struct OwnChannels<1> {
  float bias[2] = {}, scale[2] = {1.0f, 1.0f};

  /// Of sum `i`, after both.
  __device__ __forceinline__ float applied(float sum, int i) const { return fmaf(sum, scale[i / 2 % 2], bias[i / 2 % 2]); }
};

/// A thread's first channel of a block that begins at firstChannel.
__device__ __forceinline__ int32_t ownChannel(int32_t firstChannel) {
  return firstChannel + static_cast<int32_t>(threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4);
}
/// The factors of its two channels, from channel `channel` on.
__device__ __forceinline__ void loadScales(const gemm::EpilogueParams& e, int32_t channel, float (&scale)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    scale[half] = e.alpha;
    if (e.columnScale != nullptr && channel + 8 * half < e.columns) scale[half] *= e.columnScale[channel + 8 * half];
  }
}

template <class Cta>
using OwnChannelsOf = OwnChannels<Cta::Kind::kElementBytes>;

template <class Cta>
__device__ __forceinline__ OwnChannelsOf<Cta> ownChannelsOf(const Cta& cta, int32_t firstChannel) {
  const Params& p = cta.params;
  const int32_t channel = ownChannel(firstChannel);
  OwnChannelsOf<Cta> own;
  const auto load = [&](const Bias& bias, int32_t channels) {
    if (bias.type == gemm::NumberType::F32) {  // without jumps both are loaded at once
      const auto* const numbers = static_cast<const float*>(bias.numbers);
      if (numbers != nullptr && channel < channels) own.bias[0] = numbers[channel];
      if (numbers != nullptr && channel + 8 < channels) own.bias[1] = numbers[channel + 8];
    } else if (bias.numbers != nullptr) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (channel + 8 * half < channels) own.bias[half] = halfNumber(bias, channel + 8 * half);
    }
  };
  if constexpr (Cta::kActivated || Cta::Kind::kElementBytes == 1) {
    const gemm::EpilogueParams& e = p.full.epilogue;
    if constexpr (Cta::Kind::kElementBytes == 1) loadScales(e, channel, own.scale);
    load(biasOf(e), e.columns);
  } else {
    load(p.bias, p.channels);
  }
  return own;
}

/// Of all blocks of a warpgroup.
template <int kBlocks, class Cta>
struct OwnBlocks {
  OwnChannelsOf<Cta> of[kBlocks];
};

/// With pixels as operand A: the bias of all channels of the tile, spread over a warp. Lane l has those of every 32nd
/// channel, from channel l on.
template <int kWidth>
struct SpreadBias {
  static constexpr int kNumbers = (kWidth + 31) / 32;
  float of[kNumbers] = {};

  __device__ __forceinline__ void load(const Bias& bias, int32_t firstChannel, int32_t channels) {
    if (bias.numbers == nullptr) return;
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      const int32_t channel = firstChannel + i * 32 + static_cast<int32_t>(threadIdx.x % 32);
      if (channel < channels) of[i] = biasNumber(bias, channel);
    }
  }
  /// Of a channel of the tile's that is less than 16 after `first`, which is a multiple of 16; by all lanes.
  __device__ __forceinline__ float at(int first, uint32_t further) const {
    return __shfl_sync(0xffffffffu, of[first / 32], static_cast<int>(static_cast<uint32_t>(first % 32) + further));
  }
};

/// Likewise, with 8-bit operands: factors and biases.
template <int kWidth>
struct SpreadChannels {
  static constexpr int kNumbers = (kWidth + 31) / 32;
  ByteChannel of[kNumbers];

  __device__ __forceinline__ void load(const FullEpilogue& full, int32_t firstChannel) {
#pragma unroll
    for (int i = 0; i < kNumbers; ++i)
      of[i].load(full.epilogue, full.lean == Lean::Rectified || full.lean == Lean::Residual,
                 firstChannel + i * 32 + static_cast<int32_t>(threadIdx.x % 32));
  }
  __device__ __forceinline__ ByteChannel at(int first, uint32_t further) const {
    const auto lane = static_cast<int>(static_cast<uint32_t>(first % 32) + further);
    const ByteChannel& there = of[first / 32];
    return {__shfl_sync(0xffffffffu, there.scale, lane), __shfl_sync(0xffffffffu, there.bias, lane)};
  }
};

/// Of a tile, for the warpgroup that has its channel blocks from firstBlock on. Kernels with the whole epilogue keep nothing.
template <int kBlocks, class Cta>
__device__ __forceinline__ auto ownOf(const Cta& cta, int32_t tile, uint32_t firstBlock) {
  if constexpr (Cta::kFull) {
    return Nowhere();
  } else if constexpr (Cta::S::kPixelsAreA && Cta::Kind::kElementBytes == 1) {
    SpreadChannels<Cta::S::kWidth> own;
    own.load(cta.params.full, cta.channelOf(tile));
    return own;
  } else if constexpr (Cta::S::kPixelsAreA) {
    const Params& p = cta.params;
    SpreadBias<Cta::S::kWidth> own;
    if constexpr (Cta::kActivated) {
      if (p.full.lean != Lean::No) own.load(biasOf(p.full.epilogue), cta.channelOf(tile), p.full.epilogue.columns);
    } else {
      own.load(p.bias, cta.channelOf(tile), p.channels);
    }
    return own;
  } else {
    OwnBlocks<kBlocks, Cta> own;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      own.of[block] = ownChannelsOf(cta, cta.channelOf(tile) + static_cast<int32_t>(firstBlock + block) * kBlockChannels);
    return own;
  }
}

}  // namespace shiftconv::kernels::halo
