// What the forms of channelwise have in common: where a thread's outputs lie, and words of channels as f32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/ptx/guarded_load.cuh"
#include "common/ptx/shared_memory.cuh"
#include "conv/algorithms/channelwise/params.hpp"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels::channelwise {

template <class Type>
struct ElementTag {
  using Element = Type;
};

/// body(ElementTag) for the type of the operands: the same choice for every thread of a launch, and cheaper than kernels of
/// their own, because only conversions differ.
template <class Body>
__device__ __forceinline__ void withElement(const Params& p, Body&& body) {
  if (p.bf16)
    body(ElementTag<__nv_bfloat16>());
  else
    body(ElementTag<__half>());
}

/// Some neighbouring channels of a pixel.
template <int32_t kChannels, int32_t kElementBytes = 2>
struct Channels {
  static_assert(kChannels == 1 || kChannels == 2 || kChannels == 4 || kChannels == 8);
  static constexpr int32_t kBytes = kChannels * kElementBytes, kWords = (kBytes + 3) / 4;
  uint32_t word[kWords];

  /// Aligned to their size. Zeros when they do not exist.
  __device__ __forceinline__ void load(const uint8_t* from, bool exist) {
    if constexpr (kBytes == 1) {
      word[0] = ptx::load1ByteOrZero(from, exist);
    } else if constexpr (kBytes == 2) {
      word[0] = ptx::load2BytesOrZero(from, exist);
    } else if constexpr (kBytes == 4) {
      word[0] = ptx::load4BytesOrZero(from, exist);
    } else if constexpr (kBytes == 8) {
      const uint2 two = ptx::load8BytesOrZero(from, exist);
      word[0] = two.x, word[1] = two.y;
    } else {
      static_assert(kBytes == 16);
      const uint4 four = ptx::load16BytesOrZero(from, exist);
      word[0] = four.x, word[1] = four.y, word[2] = four.z, word[3] = four.w;
    }
  }
  /// From shared memory.
  __device__ __forceinline__ void load(uint32_t from) {
    static_assert(kBytes == 4 || kBytes == 8);
    if constexpr (kBytes == 4)
      word[0] = ptx::loadShared4Bytes(from);
    else
      ptx::loadShared8Bytes(from, word[0], word[1]);
  }
  template <class Element>
  __device__ __forceinline__ void unpack(float (&value)[kChannels]) const {
#pragma unroll
    for (int32_t i = 0; i < kWords; ++i) {
      const float2 pair = unpackPair<Element>(word[i]);
      value[2 * i] = pair.x;
      if constexpr (kChannels > 1) value[2 * i + 1] = pair.y;
    }
  }
  template <class Element>
  __device__ __forceinline__ void pack(const float* value) {
#pragma unroll
    for (int32_t i = 0; i < kWords; ++i) word[i] = packPair<Element>(value[2 * i], kChannels > 1 ? value[2 * i + 1] : 0.0f);
  }
  __device__ __forceinline__ void store(uint8_t* to) const {
    if constexpr (kBytes == 1)
      *to = static_cast<uint8_t>(word[0]);
    else if constexpr (kBytes == 2)
      *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(word[0]);
    else if constexpr (kBytes == 4)
      *reinterpret_cast<uint32_t*>(to) = word[0];
    else if constexpr (kBytes == 8)
      *reinterpret_cast<uint2*>(to) = make_uint2(word[0], word[1]);
    else
      *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
  }
};

/// Distances between taps, and between the outputs of a thread (see Params). Without dilation they are neighbours, which costs
/// fewer instructions.
template <bool kIsDilated>
struct Spacing {
  __device__ static int32_t tapsAcross(const Params& p) { return kIsDilated ? p.across.dilation : 1; }
  __device__ static int32_t tapsDown(const Params& p) { return kIsDilated ? p.down.dilation : 1; }
  __device__ static int32_t outputsAcross(const Params& p) { return kIsDilated ? p.gapsAcross.step : 1; }
  __device__ static int32_t outputsDown(const Params& p) { return kIsDilated ? p.gapsDown.step : 1; }
  /// Of the epilogue, from an output of a thread to its next across.
  __device__ static int32_t pixels(const Params& p) { return kIsDilated ? p.gapsAcross.step * p.gapsAcross.outputPixels : 1; }
  // Bytes.
  __device__ static int32_t tapColumn(const Params& p) { return kIsDilated ? p.columnBytes : p.pixelBytes; }
  __device__ static int64_t tapRow(const Params& p) { return kIsDilated ? p.rowBytes : int64_t{p.across.extent} * p.pixelBytes; }
  __device__ static int64_t output(const Params& p) { return kIsDilated ? p.outputStep : p.epilogue.outputPitch; }
  __device__ static int64_t residual(const Params& p) { return kIsDilated ? p.residualStep : p.epilogue.residualPitch; }
};

template <int32_t kChannels, int32_t kColumns, int32_t kElementBytes, bool kIsDilated>
struct Place {
  using Gap = Spacing<kIsDilated>;
  bool exists;
  int32_t channelThread;       ///< 0 in a thread that has no channels: then reading weights does no harm
  int32_t channel;             ///< the first of K
  int32_t column, row, plane;  ///< of outputs, the first ones: across, down
  int32_t image;

  __device__ explicit Place(const Params& p) {
    const uint32_t unitBlock = p.channelBlocks.quotient(blockIdx.x);
    const uint32_t unitThread = p.channelThreads.quotient(threadIdx.x);
    const uint32_t ownThread = threadIdx.x - unitThread * p.channelThreads.divisor;
    const uint32_t firstThread = (blockIdx.x - unitBlock * p.channelBlocks.divisor) * p.channelThreads.divisor;
    const uint32_t unit = unitBlock * static_cast<uint32_t>(p.ctaUnits) + unitThread;
    exists = unitThread < static_cast<uint32_t>(p.ctaUnits) && unit < static_cast<uint32_t>(p.units) &&
             (firstThread + ownThread) * kChannels < static_cast<uint32_t>(p.epilogue.columns);
    channelThread = exists ? static_cast<int32_t>(ownThread) : 0;
    channel = (static_cast<int32_t>(firstThread) + channelThread) * kChannels;
    const uint32_t rowUnit = p.columnUnits.quotient(unit), planeUnit = p.rowUnits.quotient(rowUnit);
    const uint32_t imageUnit = p.outputDepth.quotient(planeUnit);
    column = firstOf(p, unit - rowUnit * p.columnUnits.divisor, p.gapsAcross.steps, kColumns);
    row = firstOf(p, rowUnit - planeUnit * p.rowUnits.divisor, p.gapsDown.steps, p.rows);
    plane = static_cast<int32_t>(planeUnit - imageUnit * p.outputDepth.divisor);
    image = static_cast<int32_t>(imageUnit);
  }

  /// Of the epilogue: the first output in a row.
  __device__ int32_t pixel(const Params& p, int32_t outputRow) const {
    const int32_t before = image * static_cast<int32_t>(p.outputDepth.divisor) + plane;
    if (!kIsDilated) return (before * p.outputsDown + outputRow) * p.outputsAcross + column;
    return before * static_cast<int32_t>(p.outputPlanePixels) + outputRow * p.gapsDown.outputPixels +
           column * p.gapsAcross.outputPixels;
  }
  __device__ bool hasColumn(const Params& p, int32_t q) const { return column + q * Gap::outputsAcross(p) < p.outputsAcross; }
  /// The thread's channels of input pixel (d, h, w), which need not exist.
  __device__ const uint8_t* input(const Params& p, int32_t d, int32_t h, int32_t w) const {
    const int64_t before = int64_t{image} * p.depth.extent + d;
    const int64_t pixel = kIsDilated ? before * p.planePixels + int64_t{h} * p.gapsDown.pixels + int64_t{w} * p.gapsAcross.pixels
                                     : (before * p.down.extent + h) * p.across.extent + w;
    return static_cast<const uint8_t*>(p.input) + pixel * p.pixelBytes +
           p.multiplier.quotient(static_cast<uint32_t>(channel)) * kElementBytes;
  }

 private:
  /// The first of `count` outputs of a unit, `steps` apart.
  __device__ static int32_t firstOf(const Params& p, uint32_t unit, const layout::FastDivisor& steps, int32_t count) {
    if (!kIsDilated) return static_cast<int32_t>(unit) * count;
    const auto step = static_cast<int32_t>(steps.divisor), block = static_cast<int32_t>(steps.quotient(unit));
    return static_cast<int32_t>(unit) - block * step + block * count * step;
  }
};

SHIFTCONV_HOST_DEVICE constexpr bool isInside(int32_t position, int32_t extent) {
  return static_cast<uint32_t>(position) < static_cast<uint32_t>(extent);
}

/// Taps along the depth whose planes exist, first <= t < end, for output plane `plane`.
struct DepthTaps {
  int32_t first = 0, end = 0;
  int32_t firstPlane;  ///< of the input

  __device__ DepthTaps(const Params& p, int32_t plane) : firstPlane(plane * p.depth.stride - p.depth.padBefore) {
    while (first < p.depth.taps && firstPlane < 0) ++first, firstPlane += p.depth.dilation;
    end = first;
    for (int32_t d = firstPlane; end < p.depth.taps && d < p.depth.extent; d += p.depth.dilation) ++end;
  }
};
__device__ __forceinline__ int64_t depthTapBytes(const Params& p) { return p.planePixels * p.depth.dilation * p.pixelBytes; }

}  // namespace shiftconv::kernels::channelwise
