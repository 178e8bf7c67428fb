// What a thread that has sums of neighbouring output channels keeps of them in a short epilogue: their factors and biases.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "conv/kernels/bias.cuh"

namespace shiftconv::kernels {

template <int32_t kCount>
struct ScaledChannels {
  float scale[kCount], bias[kCount];

  /// Alpha, the channels' scales and a bias of any type, from channel `channel` on. Nothing is loaded of channels after the last.
  __device__ __forceinline__ void load(const gemm::EpilogueParams& e, int32_t channel) {
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) scale[i] = e.alpha, bias[i] = 0.0f;
    if (e.columnScale != nullptr)
      gemm::forColumnVector<kCount>(e.columnScale, channel, e.columns,
                                    [&](int32_t i, uint32_t bits) { scale[i] *= __uint_as_float(bits); });
    if (e.bias != nullptr) loadBias(biasOf(e), channel, e.columns, bias);
  }
  __device__ __forceinline__ float applied(int32_t i, float sum) const { return fmaf(sum, scale[i], bias[i]); }
};

}  // namespace shiftconv::kernels
