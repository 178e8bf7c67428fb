// The weights of a thread: from memory, or from shared memory, to where a CTA copies those of its channels first.
#pragma once

#include <cstdint>
#include <type_traits>

#include "conv/algorithms/channelwise/operands.cuh"

namespace shiftconv::kernels::channelwise {

/// Bytes of shared memory from global memory by all threads of a CTA, several loads of a thread at once.
template <class Vector>
__device__ __forceinline__ void copyToShared(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr uint32_t kAtOnce = 4;
  const uint32_t step = blockDim.x * sizeof(Vector);
#pragma unroll 1
  for (uint32_t first = threadIdx.x * sizeof(Vector); first < bytes; first += kAtOnce * step) {
    Vector piece[kAtOnce];
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i)
      if (first + i * step < bytes) piece[i] = *reinterpret_cast<const Vector*>(from + first + i * step);
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i)
      if (first + i * step < bytes) *reinterpret_cast<Vector*>(to + first + i * step) = piece[i];
  }
}

/// The filters of the CTA's channels lie together, and a thread's own are a short piece of them: threads that read their own would
/// each touch lines of their own. Copied together they come in whole lines, and filters of an odd number of taps then are read
/// from shared memory without bank conflicts. Ends with a barrier.
template <int32_t kElementBytes = 2>
__device__ __forceinline__ void stageWeights(const Params& p, uint8_t* shared, int32_t taps) {
  const uint32_t block = blockIdx.x - p.channelBlocks.quotient(blockIdx.x) * p.channelBlocks.divisor;
  const uint32_t all = static_cast<uint32_t>(p.epilogue.columns * taps) * kElementBytes, first = block * p.weightBytes;
  const uint32_t bytes = min(p.weightBytes, all - first);
  const uint8_t* const from = static_cast<const uint8_t*>(p.filter) + first;
  if ((bytes | first) % 16 == 0)
    copyToShared<uint4>(shared, from, bytes);
  else if ((bytes | first) % 4 == 0)
    copyToShared<uint32_t>(shared, from, bytes);
  else if constexpr (kElementBytes == 1)
    copyToShared<uint8_t>(shared, from, bytes);
  else
    copyToShared<uint16_t>(shared, from, bytes);
  __syncthreads();
}

/// Where a weight of the CTA's channels lies in memory, and where stagePlanes() puts it.
template <int32_t kPlaneTaps>
__device__ __forceinline__ uint32_t stagedPlace(const Params& p, uint32_t weight, uint32_t planeWeights) {
  const uint32_t piece = weight / kPlaneTaps, channel = p.depthTaps.quotient(piece), plane = piece - channel * p.depthTaps.divisor;
  return plane * planeWeights + channel * kPlaneTaps + weight % kPlaneTaps;
}
template <class Vector, class Element, int32_t kPlaneTaps>
__device__ __forceinline__ void scatterPlanes(const Params& p, Element* to, const uint8_t* from, uint32_t bytes) {
  constexpr uint32_t kAtOnce = 4, kElements = sizeof(Vector) / sizeof(Element);
  const uint32_t planeWeights = p.weightBytes / sizeof(Element) / p.depthTaps.divisor, step = blockDim.x * sizeof(Vector);
#pragma unroll 1
  for (uint32_t first = threadIdx.x * sizeof(Vector); first < bytes; first += kAtOnce * step) {
    union {
      Vector vector;
      Element element[kElements];
    } piece[kAtOnce];
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i)
      if (first + i * step < bytes) piece[i].vector = *reinterpret_cast<const Vector*>(from + first + i * step);
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i)
#pragma unroll
      for (uint32_t e = 0; e < kElements; ++e)
        if (first + i * step < bytes)
          to[stagedPlace<kPlaneTaps>(p, (first + i * step) / sizeof(Element) + e, planeWeights)] = piece[i].element[e];
  }
}

/// The same by planes of kPlaneTaps taps, [T][channels of the CTA][kPlaneTaps]: what a thread reads at once lies together.
template <int32_t kPlaneTaps, int32_t kElementBytes>
__device__ __forceinline__ void stagePlanes(const Params& p, uint8_t* shared) {
  using Element = std::conditional_t<kElementBytes == 1, uint8_t, uint16_t>;
  const uint32_t block = blockIdx.x - p.channelBlocks.quotient(blockIdx.x) * p.channelBlocks.divisor;
  const uint32_t all = static_cast<uint32_t>(p.epilogue.columns) * p.depthTaps.divisor * kPlaneTaps * kElementBytes;
  const uint32_t first = block * p.weightBytes, bytes = min(p.weightBytes, all - first);
  const auto* const from = static_cast<const uint8_t*>(p.filter) + first;
  auto* const to = reinterpret_cast<Element*>(shared);
  if ((bytes | first) % 16 == 0)
    scatterPlanes<uint4, Element, kPlaneTaps>(p, to, from, bytes);
  else if ((bytes | first) % 4 == 0)
    scatterPlanes<uint32_t, Element, kPlaneTaps>(p, to, from, bytes);
  else
    scatterPlanes<Element, Element, kPlaneTaps>(p, to, from, bytes);
  __syncthreads();
}

/// A thread's filters of kTaps taps as they lie in memory, one channel behind the other.
template <int32_t kChannels, int32_t kTaps, int32_t kElementBytes = 2>
struct Weights {
  static_assert(kChannels == 2 || kChannels == 4 || kChannels == 8);
  static constexpr int32_t kBytes = kChannels * kTaps * kElementBytes, kWords = (kBytes + 3) / 4;
  uint32_t word[kWords];

  /// Begins with a barrier of the warp at least, which keeps the loads ahead of it from sinking after these.
  template <class Place>
  __device__ __forceinline__ void fetch(const Params& p, const Place& place, uint8_t* shared) {
    if (p.weightBytes != 0) {
      stageWeights<kElementBytes>(p, shared, kTaps);
      load(shared + place.channelThread * kBytes);
    } else {
      __syncwarp();  // site: loads_kept
      load(static_cast<const uint8_t*>(p.filter) + place.channel * (kTaps * kElementBytes));
    }
  }
  /// Those of plane t, which stagePlanes() has staged.
  template <class Place>
  __device__ __forceinline__ void loadPlane(const Params& p, const Place& place, int32_t t, const uint8_t* shared) {
    load(shared + (t * static_cast<int32_t>(p.channelThreads.divisor) + place.channelThread) * kBytes);
  }
  template <class Decoder>
  __device__ __forceinline__ float value(const Decoder& decoder, int32_t channel, int32_t tap) const {
    return decoder.filter(word, channel * kTaps + tap);
  }

 private:
  /// They are aligned to as many bytes as kChannels weights have.
  __device__ __forceinline__ void load(const uint8_t* from) {
    if constexpr (kChannels * kElementBytes == 8) {
#pragma unroll
      for (int32_t i = 0; i < kWords; i += 2) {
        const uint2 two = reinterpret_cast<const uint2*>(from)[i / 2];
        word[i] = two.x, word[i + 1] = two.y;
      }
    } else if constexpr (kChannels * kElementBytes == 4) {
#pragma unroll
      for (int32_t i = 0; i < kWords; ++i) word[i] = reinterpret_cast<const uint32_t*>(from)[i];
    } else {
#pragma unroll
      for (int32_t i = 0; i < kBytes / 2; ++i) {
        const uint32_t two = reinterpret_cast<const uint16_t*>(from)[i];
        word[i / 2] = i % 2 == 0 ? two : word[i / 2] | two << 16;
      }
    }
  }
};

}  // namespace shiftconv::kernels::channelwise
