// Few output pixels: every load of a thread is on its way at once, so that a launch takes little more than one trip to memory.
#pragma once

#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/operands.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns, Finish kFinish>
__device__ __forceinline__ void runFew(const Params& p, uint8_t* shared) {
  constexpr int32_t kPixels = (kColumns - 1) * kStride + kFilter;
  constexpr int32_t kElementBytes = Operands::kBytes;
  const Place<kChannels, kColumns, kElementBytes> place(p);
  const int32_t d = place.plane * p.depth.stride - p.depth.padBefore;
  const int32_t h = place.row * p.height.stride - p.height.padBefore, w = place.column * kStride - p.width.padBefore;
  const bool hasPlane = place.exists && isInside(d, p.depth.extent);
  const uint8_t* const first = place.input(p, d, h, w);
  ptx::awaitPrerequisitesWith(first);
  ptx::launchDependents();

  const int64_t rowBytes = int64_t{p.width.extent} * p.pixelBytes;
  Channels<kChannels, kElementBytes> input[kFilter][kPixels];
#pragma unroll
  for (int32_t r = 0; r < kFilter; ++r) {
    const bool hasRow = hasPlane && isInside(h + r, p.height.extent);
#pragma unroll
    for (int32_t x = 0; x < kPixels; ++x)
      input[r][x].load(first + r * rowBytes + x * p.pixelBytes, hasRow && isInside(w + x, p.width.extent));
  }
  Finisher<kFinish, kChannels, kColumns, kElementBytes> finisher(p, place);
  finisher.load(place.row, place.exists);
  Weights<kChannels, kFilter * kFilter, kElementBytes> weights;
  weights.fetch(p, place, shared);

  float sum[kColumns * kChannels] = {};
  // One choice for all rows: code that runs once shall lie in one piece (see Lean).
  withUnmixedDecoder<Operands>(p, [&](const auto& decoder) {
#pragma unroll
    for (int32_t r = 0; r < kFilter; ++r) {
      float value[kPixels][kChannels], weight[kFilter][kChannels];
#pragma unroll
      for (int32_t x = 0; x < kPixels; ++x) decoder.input(input[r][x], value[x]);
#pragma unroll
      for (int32_t s = 0; s < kFilter; ++s)
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i) weight[s][i] = weights.value(decoder, i, r * kFilter + s);
#pragma unroll
      for (int32_t s = 0; s < kFilter; ++s)
#pragma unroll
        for (int32_t q = 0; q < kColumns; ++q)
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i)
            sum[q * kChannels + i] = fmaf(value[q * kStride + s][i], weight[s][i], sum[q * kChannels + i]);
    }
  });
  finisher.store(sum, place.row, place.exists);
  finisher.end();
}

}  // namespace shiftconv::kernels::channelwise
