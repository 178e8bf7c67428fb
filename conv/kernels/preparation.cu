// What runs in front of a convolution: the corrections for zero points (zero_points_params.hpp), and words that have to be zero.
//
// Filters and activations are read once for each tap at most, and little is made of them: next to the convolution this is short, so
// the kernels are plain.
#include <cstdint>

#include "conv/kernels/zero_points_params.hpp"
#include "conv/kernels/zeroed_words_params.hpp"

namespace shiftconv::kernels {
namespace {

constexpr int32_t kWordBytes = 4, kVectorBytes = 16;

/// Of the bytes of a word.
__device__ __forceinline__ int32_t addBytes(uint32_t word, bool isSigned, int32_t sum) {
  return isSigned ? __dp4a(static_cast<int32_t>(word), 0x01010101, sum)
                  : static_cast<int32_t>(__dp4a(word, 0x01010101u, static_cast<uint32_t>(sum)));
}

/// Whole warp: the sum of `count` bytes, 16 at a time where they and their address are multiples of 16.
__device__ __forceinline__ int32_t sumOfBytes(const uint8_t* bytes, int32_t count, bool isSigned) {
  int32_t sum = 0;
  const auto lane = static_cast<int32_t>(threadIdx.x % 32);
  if ((reinterpret_cast<uint64_t>(bytes) | static_cast<uint32_t>(count)) % kVectorBytes == 0) {
    for (int32_t at = lane * kVectorBytes; at < count; at += 32 * kVectorBytes) {
      const uint4 vector = *reinterpret_cast<const uint4*>(bytes + at);
      const uint32_t words[kVectorBytes / kWordBytes] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
      for (const uint32_t word : words) sum = addBytes(word, isSigned, sum);
    }
  } else {
    for (int32_t at = lane; at < count; at += 32) sum = addBytes(bytes[at], isSigned, sum);
  }
  return __reduce_add_sync(0xffffffffu, sum);
}

/// Where a tap lies.
struct Tap {
  int32_t x, y, z;
  __device__ Tap(const ZeroPointParams& p, int32_t tap)
      : x(tap % p.x.taps), y(tap / p.x.taps % p.y.taps), z(tap / p.x.taps / p.y.taps) {}
};

}  // namespace

/// A CTA for each output channel: the sums of its taps, then those of all classes.
extern "C" __global__ void __launch_bounds__(kZeroPointThreads)
    prepare_column_corrections(const __grid_constant__ ZeroPointParams p) {
  __shared__ int32_t tapSums[kZeroPointMaximumTaps];
  const auto filter = static_cast<int32_t>(blockIdx.x), thread = static_cast<int32_t>(threadIdx.x);
  const int32_t taps = p.taps();
  for (int32_t tap = thread / 32; tap < taps; tap += kZeroPointThreads / 32) {
    const int64_t row = static_cast<int64_t>(filter) * taps + tap;
    const int32_t sum = sumOfBytes(p.filter + row * p.channels, p.channels, p.filterIsSigned);
    if (thread % 32 == 0) tapSums[tap] = sum - p.channels * p.filterZeroPoint;
  }
  __syncthreads();
  for (int32_t number = thread; number < p.classes(); number += kZeroPointThreads) {
    const int32_t x = p.x.positionOf(number % p.x.classes());
    const int32_t y = p.y.positionOf(number / p.x.classes() % p.y.classes());
    const int32_t z = p.z.positionOf(number / p.x.classes() / p.y.classes());
    int32_t sum = 0;
    for (int32_t tap = 0; tap < taps; ++tap) {
      const Tap place(p, tap);
      if (p.x.isInside(x, place.x) && p.y.isInside(y, place.y) && p.z.isInside(z, place.z)) sum += tapSums[tap];
    }
    p.columnCorrection[static_cast<int64_t>(number) * p.correctionPitch + filter] = p.inputZeroPoint * sum;
  }
}

/// A warp for each output pixel: its class, and the sum of its window.
extern "C" __global__ void __launch_bounds__(kZeroPointThreads) prepare_row_corrections(const __grid_constant__ ZeroPointParams p) {
  const int32_t pixel = static_cast<int32_t>(blockIdx.x * (kZeroPointThreads / 32) + threadIdx.x / 32);
  if (pixel >= p.pixels) return;
  const bool writes = threadIdx.x % 32 == 0;
  const int32_t line = pixel / p.x.positions, plane = line / p.y.positions, image = plane / p.z.positions;
  const int32_t x = pixel - line * p.x.positions, y = line - plane * p.y.positions, z = plane - image * p.z.positions;
  if (writes && p.rowClass != nullptr)
    p.rowClass[pixel] = (p.z.classOf(z) * p.y.classes() + p.y.classOf(y)) * p.x.classes() + p.x.classOf(x);
  if (p.rowCorrection == nullptr) return;
  int32_t sum = 0;
  for (int32_t tap = 0; tap < p.taps(); ++tap) {
    const Tap place(p, tap);
    if (!p.x.isInside(x, place.x) || !p.y.isInside(y, place.y) || !p.z.isInside(z, place.z)) continue;
#pragma unroll
    for (const InputPart& part : p.parts) {
      const int32_t depth = p.z.placeOf(z, place.z) / p.z.upsample - part.firstDepth;
      if (depth < 0 || depth >= part.depths) continue;
      const int64_t slice = static_cast<int64_t>(image) * part.depths + depth;
      const int64_t row = slice * (p.y.extent / p.y.upsample) + p.y.placeOf(y, place.y) / p.y.upsample;
      const int64_t column = row * (p.x.extent / p.x.upsample) + p.x.placeOf(x, place.x) / p.x.upsample;
      sum += sumOfBytes(part.address + column * part.pixelBytes, part.channels, p.inputIsSigned);
    }
  }
  if (writes) p.rowCorrection[pixel] = p.filterZeroPoint * sum;
}

/// A thread for each word.
extern "C" __global__ void __launch_bounds__(kZeroPointThreads) prepare_zeroed_words(const __grid_constant__ ZeroedWordsParams p) {
  if (const uint32_t word = blockIdx.x * kZeroPointThreads + threadIdx.x; word < p.count) p.words[word] = 0;
}

}  // namespace shiftconv::kernels
