// Outputs of halo's kernels that convert: scales, a bias and an activation, the largest magnitude among the outputs, an output
// scale, and outputs of f16, bf16, f32 or 8 bits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"
#include "common/ptx/shared_memory.cuh"
#include "conv/algorithms/halo/activation.cuh"
#include "conv/algorithms/halo/bytes.cuh"
#include "conv/algorithms/halo/own_channels.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/staging.cuh"
#include "conv/algorithms/halo/tile.cuh"
#include "conv/kernels/byte_codes.cuh"

namespace shiftconv::kernels::halo {

/// Scales, a bias and an activation: limits or none and gemm::Ramp without the jumps of the others.
template <int kMost, class Sum, int kRegisters>
__device__ __forceinline__ void activateAny(const FullEpilogue& full, const OwnChannels<1>& all, const Sum (&d)[kRegisters],
                                            float (&v)[kRegisters]) {
  const gemm::EpilogueParams& e = full.epilogue;
  const auto forAll = [&](auto&& activated) {
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) v[i] = activated(all.applied(static_cast<float>(d[i]), i));
  };
  if (full.lean == Lean::Clamp) {
    const float infinity = __int_as_float(0x7f800000);
    const bool rectifies = e.activation == gemm::Activation::Relu, clamps = e.activation == gemm::Activation::Clamp;
    const float least = rectifies ? 0.0f : clamps ? e.activationA : -infinity, most = clamps ? e.activationB : infinity;
    forAll([&](float one) { return gemm::clampOf(one, least, most); });
  } else if (kRegisters < 128 && full.lean == Lean::Ramp) {  // in the largest tile ptxas spills
    const gemm::Ramp ramp(e);
    forAll([&](float one) { return ramp.of(one); });
  } else {
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) v[i] = static_cast<float>(d[i]);
    activate<kMost>(e, all, v);
  }
}

/// The largest magnitude among numbers of the output, NaN above all: a tile also has positions outside of it, and channels. A lane
/// looks up every 32nd position for its warp.
template <int kPixels>
__device__ __forceinline__ void keepLargest(const Params& p, const TileOrigin& origin, int32_t firstChannel,
                                            const float (&v)[kPixels / 2], float& largest) {
  constexpr int kLanes = 32;
  const uint32_t lane = threadIdx.x % kLanes;
  const int32_t channel = ownChannel(firstChannel);
  const bool exists[2] = {channel < p.channels, channel + 8 < p.channels};
#pragma unroll
  for (int first = 0; first < kPixels; first += kLanes) {
    const bool isOutput = outputPixel(p, origin, static_cast<uint32_t>(first) + lane) >= 0;
    const uint32_t own = __ballot_sync(0xffffffffu, isOutput) >> 2 * (lane % 4);  // from this thread's first position on
    const uint32_t counts[2] = {exists[0] ? own : 0, exists[1] ? own : 0};
#pragma unroll
    for (int i = first / 2; i < first / 2 + kLanes / 2 && i < kPixels / 2; ++i) {
      if ((counts[i / 2 % 2] & 1u << (i / 4 * 8 + i % 2 - first)) != 0) largest = ptx::maximum(largest, fabsf(v[i]));
    }
  }
}

/// Words as rows of 128 bytes in the copy engine's swizzle: half of the channels of all positions, then the other half.
template <int kPixels, bool kFlat>
__device__ __forceinline__ void stageWordsAs(const Params& p, const float (&v)[kPixels / 2], uint32_t destination) {
  constexpr uint32_t kVectors = kRowBytes / 16;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, channel = warp % 2 * 16 + lane / 4;
  const uint32_t rows = destination + warp / 2 * (kPixels * kRowBytes) + channel % 4 * 4;
#pragma unroll
  for (int i = 0; i < kPixels / 2; ++i) {
    const uint32_t position = static_cast<uint32_t>(i / 4 * 8 + i % 2) + 2 * (lane % 4);
    const uint32_t row = kFlat ? flatRow(p, position) : position, vector = channel / 4 + static_cast<uint32_t>(i / 2 % 2) * 2;
    ptx::storeShared4Bytes(rows + row * kRowBytes + (vector ^ row % kVectors) * 16, __float_as_uint(v[i]));
  }
}
template <int kPixels, bool kMayBeFlat>
__device__ __forceinline__ void stageWords(const Params& p, const float (&v)[kPixels / 2], uint32_t destination) {
  if (kMayBeFlat && p.flatPitch.divisor != 1)
    stageWordsAs<kPixels, kMayBeFlat>(p, v, destination);
  else
    stageWordsAs<kPixels, false>(p, v, destination);
}

template <int kPixels, bool kMayBeFlat, class Cta, class Own>
__device__ __forceinline__ void stageConverted(const Cta& cta, const typename Cta::Sum (&d)[kPixels / 2], const Own& own,
                                               const TileOrigin& origin, int32_t blockChannel, uint32_t destination,
                                               uint32_t& largest) {
  using enum gemm::NumberType;
  const Params& p = cta.params;
  const gemm::EpilogueParams& e = p.full.epilogue;
  const int32_t firstChannel = origin.channel + blockChannel;
  float v[kPixels / 2];
  activateAny<Cta::S::kConsumers == 3 ? 8 : 16>(p.full, allOf(e, own, firstChannel), d, v);
  if (e.largest != nullptr) {
    float most = __uint_as_float(largest);
    keepLargest<kPixels>(p, origin, firstChannel, v, most);
    largest = __float_as_uint(most);  // magnitudes are in the order of their bits
  }
  const auto stageBytes = [&]<bool kIntegers>() {
    const ByteCodes<kIntegers> codes(e);
    stageCodes<kPixels, kMayBeFlat>(p, destination, [&](int i) { return codes.of(v[i], v[i + 1], v[i + 2], v[i + 3]); });
  };
  if (e.outputType == E4M3) return stageBytes.template operator()<false>();
  if (e.outputType == S8 || e.outputType == U8) return stageBytes.template operator()<true>();
#pragma unroll
  for (float& one : v) one *= e.outputScale;
  if (e.outputType == F16) return stageBlock<__half, kPixels, kMayBeFlat, BlockForm::Sums>(p, v, own, destination);
  if (e.outputType == BF16) return stageBlock<__nv_bfloat16, kPixels, kMayBeFlat, BlockForm::Sums>(p, v, own, destination);
  if constexpr (!Cta::S::kOverBox) stageWords<kPixels, kMayBeFlat>(p, v, destination);
}

}  // namespace shiftconv::kernels::halo
