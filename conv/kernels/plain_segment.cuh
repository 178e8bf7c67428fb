// The short epilogue of eight neighbouring channels of one output pixel in a thread's registers: bias, residual of the output's
// type, an activation, 16-byte stores where the address allows them.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/ptx/guarded_load.cuh"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels {

inline constexpr int32_t kPlainSegment = 8;

/// A segment of 16-bit numbers, aligned to 16 bytes; zeros where there is none.
__device__ __forceinline__ void loadSegmentOrZero(const void* from, bool exists, uint32_t (&words)[kPlainSegment / 2]) {
  const uint4 four = ptx::load16BytesOrZero(from, exists);
  words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
}

/// To sums what there is of a residual.
template <class Element>
__device__ __forceinline__ void addPlainResidual(const gemm::EpilogueParams& e, int32_t pixel, int32_t channel, int32_t columns,
                                                 float* v) {
  const auto* const residual =
      reinterpret_cast<const uint16_t*>(static_cast<const uint8_t*>(e.residual) + pixel * e.residualPitch) + channel;
  uint32_t words[kPlainSegment / 2];
  if (channel + kPlainSegment <= columns && reinterpret_cast<uint64_t>(residual) % 16 == 0) {
    const uint4 four = *reinterpret_cast<const uint4*>(residual);
    words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
  } else {
#pragma unroll
    for (int32_t i = 0; i < kPlainSegment; i += 2)
      words[i / 2] = (channel + i < columns ? residual[i] : 0u) | (channel + i + 1 < columns ? residual[i + 1] : 0u) << 16;
  }
#pragma unroll
  for (int32_t i = 0; i < kPlainSegment; i += 2) addResidual<Element>(v[i], v[i + 1], e.beta, words[i / 2]);
}

template <class Element>
__device__ __forceinline__ void putPlainSegment(int32_t channel, int32_t columns, uint16_t* target, const float* v) {
  const bool whole = channel + kPlainSegment <= columns;
  uint32_t packed[kPlainSegment / 2];
#pragma unroll
  for (int32_t i = 0; i < kPlainSegment; i += 2) packed[i / 2] = packPair<Element>(v[i], v[i + 1]);
  if (whole && reinterpret_cast<uint64_t>(target) % 16 == 0) {
    *reinterpret_cast<uint4*>(target) = make_uint4(packed[0], packed[1], packed[2], packed[3]);
  } else if (whole && reinterpret_cast<uint64_t>(target) % 4 == 0) {
#pragma unroll
    for (int32_t i = 0; i < kPlainSegment / 2; ++i) reinterpret_cast<uint32_t*>(target)[i] = packed[i];
  } else {
#pragma unroll
    for (int32_t i = 0; i < kPlainSegment; ++i)
      if (channel + i < columns) target[i] = static_cast<uint16_t>(packed[i / 2] >> (i % 2 * 16));
  }
}

/// Where the output has a segment.
__device__ __forceinline__ uint16_t* plainTarget(const gemm::EpilogueParams& e, int32_t pixel, int32_t channel) {
  return reinterpret_cast<uint16_t*>(static_cast<uint8_t*>(e.output) + pixel * e.outputPitch) + channel;
}

/// `v`: sums with the bias, of a segment of each of several pixels. Channels from `columns` on belong to nobody. Of segment i:
/// exists(i), pixelOf(i) of the output, and targetOf(i), where it goes, in global or in shared memory. All are activated together:
/// the choice of an activation is in the program once.
template <class Element, int32_t kCount, class Exists, class PixelOf, class TargetOf>
__device__ __forceinline__ void finishPlainSegments(const gemm::EpilogueParams& e, int32_t channel, int32_t columns,
                                                    float (&v)[kCount], Exists&& exists, PixelOf&& pixelOf, TargetOf&& targetOf) {
  constexpr int32_t kSegments = kCount / kPlainSegment;
  if (e.residual != nullptr) {
#pragma unroll
    for (int32_t i = 0; i < kSegments; ++i)
      if (exists(i)) addPlainResidual<Element>(e, pixelOf(i), channel, columns, v + i * kPlainSegment);
  }
  gemm::activate<2>(e, v);
#pragma unroll
  for (int32_t i = 0; i < kSegments; ++i)
    if (exists(i)) putPlainSegment<Element>(channel, columns, targetOf(i), v + i * kPlainSegment);
}

}  // namespace shiftconv::kernels
