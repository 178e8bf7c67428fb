// What halo's kernels with a short activation do to sums before these are staged: all of it in the registers that have them.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/compute.cuh"
#include "conv/algorithms/halo/params.hpp"

namespace shiftconv::kernels::halo {

/// What belongs to a thread's two channels, 8 apart, of a warpgroup's block that begins at firstChannel.
struct OwnChannels {
  float scale[2], bias[2];

  __device__ __forceinline__ OwnChannels(const gemm::EpilogueParams& e, Lean lean, int32_t firstChannel)
      : scale{e.alpha, e.alpha}, bias{0.0f, 0.0f} {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    if (lean != Lean::No && lean != Lean::Rectified) {  // an f32 bias is all: without jumps, both are loaded at once
      const int32_t channel = firstChannel + static_cast<int32_t>(warp * 16 + lane / 4);
      const bool exists = e.bias != nullptr;
      if (exists && channel < e.columns) bias[0] = e.floatBias()[channel];
      if (exists && channel + 8 < e.columns) bias[1] = e.floatBias()[channel + 8];
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int32_t channel = firstChannel + static_cast<int32_t>(warp * 16 + lane / 4) + 8 * half;
      if (channel >= e.columns) continue;
      if (e.columnScale != nullptr) scale[half] *= e.columnScale[channel];
      if (e.bias != nullptr)
        gemm::forNumbers<1, false>(e.biasType, e.bias, channel, e.columns, [&](int32_t, float number) { bias[half] = number; });
    }
  }
  /// Of sum `i`, after both.
  __device__ __forceinline__ float applied(float sum, int i) const { return fmaf(sum, scale[i / 2 % 2], bias[i / 2 % 2]); }
};

/// A warpgroup's sums of a channel block: alpha, scales and bias of its channels, and the activation.
template <int kRegisters>
__device__ __forceinline__ void activate(const gemm::EpilogueParams& e, Lean lean, float (&v)[kRegisters], int32_t firstChannel) {
  const OwnChannels own(e, lean, firstChannel);
  // In parts: with a choice for all sums at once ptxas spilt them.
  constexpr int kPart = kRegisters % 16 == 0 ? 16 : 4;
  static_assert(kRegisters % kPart == 0);
#pragma unroll
  for (int first = 0; first < kRegisters; first += kPart) {
    float part[kPart];
#pragma unroll
    for (int i = 0; i < kPart; ++i) part[i] = own.applied(v[first + i], i);
    gemm::activateShort(e, part);
#pragma unroll
    for (int i = 0; i < kPart; ++i) v[first + i] = part[i];
  }
}

}  // namespace shiftconv::kernels::halo
