// Few output pixels: every load of a thread is on its way at once, so that a launch takes little more than one trip to memory.
#pragma once

#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/operands.cuh"
#include "conv/algorithms/channelwise/rows.cuh"
#include "conv/algorithms/channelwise/weights.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns, Finish kFinish, bool kIsDilated>
__device__ __forceinline__ void runFew(const Params& p, uint8_t* shared) {
  using Own = Rows<Operands, kFilter, kStride, kChannels, kColumns>;
  constexpr int32_t kPixels = Own::kPixels;
  constexpr int32_t kElementBytes = Operands::kBytes;
  using Gap = Spacing<kIsDilated>;
  const Place<kChannels, kColumns, kElementBytes, kIsDilated> place(p);
  const int32_t d = place.plane * p.depth.stride - p.depth.padBefore;
  const int32_t h = place.row * p.down.stride - p.down.padBefore, w = place.column * kStride - p.across.padBefore;
  const bool hasPlane = place.exists && isInside(d, p.depth.extent);
  const uint8_t* const first = place.input(p, d, h, w);
  ptx::awaitPrerequisitesWith<kElementBytes == 1>(first, p);
  ptx::launchDependents();

  Channels<kChannels, kElementBytes> input[kFilter][kPixels];
  const uint8_t* row = first;
#pragma unroll
  for (int32_t r = 0; r < kFilter; ++r, row += Gap::tapRow(p)) {
    const bool hasRow = hasPlane && isInside(h + r * Gap::tapsDown(p), p.down.extent);
#pragma unroll
    for (int32_t x = 0; x < kPixels; ++x)
      input[r][x].load(row + x * Gap::tapColumn(p), hasRow && isInside(w + x * Gap::tapsAcross(p), p.across.extent));
  }
  Finisher<kFinish, kChannels, kColumns, kElementBytes, kIsDilated> finisher(p, place);
  finisher.load(place.row, place.exists);
  Weights<kChannels, kFilter * kFilter, kElementBytes> weights;
  weights.fetch(p, place, shared);

  typename Own::Sum sum[kColumns * kChannels];
  // One choice for all rows: code that runs once shall lie in one piece (see Lean).
  withUnmixedDecoder<Operands>(p, [&](const auto& decoder) {
    typename Own::Start start;
    start.find(decoder, weights);
#pragma unroll
    for (int32_t i = 0; i < kColumns * kChannels; ++i) sum[i] = start[i % kChannels];
#pragma unroll
    for (int32_t r = 0; r < kFilter; ++r) {
      typename Own::Pixels pixels;
      typename Own::Filter filter;
      pixels.unpack(decoder, input[r]);
      filter.unpack(decoder, weights, r);
      Own::add(pixels, filter, sum);
    }
  });
  float numbers[kColumns * kChannels];
  finisher.store(numbersOf(sum, numbers), place.row, place.exists);
  finisher.end();
}

/// The same of a filter with depth, plane by plane: where a row has been read, the next plane's is on its way.
template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns, Finish kFinish>
__device__ __forceinline__ void runFewDeep(const Params& p, uint8_t* shared) {
  using Own = Rows<Operands, kFilter, kStride, kChannels, kColumns>;
  constexpr int32_t kPixels = Own::kPixels, kElementBytes = Operands::kBytes;
  using Gap = Spacing<false>;
  const Place<kChannels, kColumns, kElementBytes, false> place(p);
  const DepthTaps taps(p, place.plane);
  const int32_t h = place.row * p.down.stride - p.down.padBefore, w = place.column * kStride - p.across.padBefore;
  const uint8_t* plane = place.input(p, taps.firstPlane, h, w);
  ptx::awaitPrerequisitesWith<kElementBytes == 1>(plane, p);
  ptx::launchDependents();

  Channels<kChannels, kElementBytes> input[kFilter][kPixels];
  const auto load = [&](int32_t r, bool hasPlane) {
    const bool hasRow = hasPlane && isInside(h + r, p.down.extent);
#pragma unroll
    for (int32_t x = 0; x < kPixels; ++x)
      input[r][x].load(plane + r * Gap::tapRow(p) + x * p.pixelBytes, hasRow && isInside(w + x, p.across.extent));
  };
#pragma unroll
  for (int32_t r = 0; r < kFilter; ++r) load(r, place.exists && taps.first < taps.end);
  Finisher<kFinish, kChannels, kColumns, kElementBytes, false> finisher(p, place);
  finisher.load(place.row, place.exists);
  stagePlanes<kFilter * kFilter, kElementBytes>(p, shared);

  typename Own::Sum sum[kColumns * kChannels] = {};
  typename Own::Start start;
#pragma unroll 1
  for (int32_t t = taps.first; t < taps.end; ++t) {
    Weights<kChannels, kFilter * kFilter, kElementBytes> weights;
    weights.loadPlane(p, place, t, shared);
    plane += depthTapBytes(p);
    withUnmixedDecoder<Operands>(p, [&](const auto& decoder) {
      start.find(decoder, weights);
#pragma unroll
      for (int32_t r = 0; r < kFilter; ++r) {
        typename Own::Pixels pixels;
        typename Own::Filter filter;
        pixels.unpack(decoder, input[r]);
        load(r, place.exists && t + 1 < taps.end);
        filter.unpack(decoder, weights, r);
        Own::add(pixels, filter, sum);
      }
    });
  }
#pragma unroll
  for (int32_t i = 0; i < kColumns * kChannels; ++i) sum[i] += start[i % kChannels];
  float numbers[kColumns * kChannels];
  finisher.store(numbersOf(sum, numbers), place.row, place.exists);
  finisher.end();
}

}  // namespace shiftconv::kernels::channelwise
