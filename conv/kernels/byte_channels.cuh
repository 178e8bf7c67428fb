// What a lane that has sums of four output channels, of several pixels, does to make bytes of them: scales and a bias of each
// channel, an activation, and the output's scale and zero point.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/byte_codes.cuh"
#include "conv/kernels/lean_bytes.cuh"

namespace shiftconv::kernels {

/// Factor and bias of one channel: of isLeanBytes with the output's scale in both.
struct ByteChannel {
  float scale = 0, bias = 0;

  /// Of a channel behind the last one nothing is loaded.
  __device__ __forceinline__ void load(const gemm::EpilogueParams& e, bool scalesFirst, int32_t channel) {
    if (channel >= e.columns) return;
    scale = e.alpha;
    if (e.columnScale != nullptr) scale *= e.columnScale[channel];
    if (e.bias != nullptr) bias = biasNumber(biasOf(e), channel);
    if (scalesFirst) {
      const LeanBytes lean(e);
      scale *= lean.scale, bias = lean.biasOf(bias);
    }
  }
};

/// Sums v[4 * pixel + i] of channels[i] as words, whose byte i is that of channels[i]. Words have codes of the residual before,
/// where kLean has one.
template <bool kIntegers, Lean kLean, int kPixels>
__device__ __forceinline__ void packChannels(const gemm::EpilogueParams& e, const ByteChannel (&channels)[4],
                                             float (&v)[4 * kPixels], uint32_t (&words)[kPixels]) {
#pragma unroll
  for (int i = 0; i < 4 * kPixels; ++i) v[i] = fmaf(v[i], channels[i % 4].scale, channels[i % 4].bias);
  if constexpr (kLean != Lean::No) {
    const LeanBytes lean(e, kScalesFirst<kLean>);
#pragma unroll
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      float four[4] = {v[4 * pixel], v[4 * pixel + 1], v[4 * pixel + 2], v[4 * pixel + 3]};
      words[pixel] = lean.finished<kLean, kIntegers>(e, four, kAddsResidual<kLean> ? words[pixel] : 0);
    }
    return;
  }
  gemm::activate(e, v);
  const ByteCodes<kIntegers> codes(e);
#pragma unroll
  for (int pixel = 0; pixel < kPixels; ++pixel)
    words[pixel] = codes.of(v[4 * pixel], v[4 * pixel + 1], v[4 * pixel + 2], v[4 * pixel + 3]);
}

}  // namespace shiftconv::kernels
