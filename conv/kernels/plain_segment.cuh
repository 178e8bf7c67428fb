// The short epilogue of eight neighbouring channels of one output pixel in a thread's registers: bias, residual of the operands'
// type, an activation, 16-byte stores where the address allows them. In code of its own also scales of channels, an output scale,
// and outputs of the other 16 bits: with them in one piece, layers that have none took 1.1 of the time (H200).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/compute.cuh"
#include "common/ptx/guarded_load.cuh"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels {

inline constexpr int32_t kPlainSegment = 8;

/// A segment of 16-bit numbers, aligned to 16 bytes; zeros where there is none.
__device__ __forceinline__ void loadSegmentOrZero(const void* from, bool exists, uint32_t (&words)[kPlainSegment / 2]) {
  const uint4 four = ptx::load16BytesOrZero(from, exists);
  words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
}

/// What sums of a segment's channels are multiplied with before the bias is added.
template <bool kScales>
__device__ __forceinline__ void loadFactors(const gemm::EpilogueParams& e, int32_t channel, int32_t columns,
                                            float (&factor)[kPlainSegment]) {
#pragma unroll
  for (float& one : factor) one = e.alpha;
  if (kScales && e.columnScale != nullptr)
    gemm::forColumnVector<kPlainSegment>(e.columnScale, channel, columns,
                                         [&](int32_t i, uint32_t bits) { factor[i] *= __uint_as_float(bits); });
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

/// Element: the operands', and that of outputs, unless kScales and they have the other one of 16 bits.
/// `v`: sums with their factors and the bias, of a segment of each of several pixels. Channels from `columns` on belong to nobody.
/// Of segment i: exists(i), pixelOf(i) of the output, and targetOf(i), where it goes, in global or in shared memory. All are
/// activated together: the choice of an activation is in the program once.
template <class Element, bool kScales = false, int32_t kCount, class Exists, class PixelOf, class TargetOf>
__device__ __forceinline__ void finishPlainSegments(const gemm::EpilogueParams& e, int32_t channel, int32_t columns,
                                                    float (&v)[kCount], Exists&& exists, PixelOf&& pixelOf, TargetOf&& targetOf) {
  constexpr int32_t kSegments = kCount / kPlainSegment;
  if (e.residual != nullptr) {
#pragma unroll
    for (int32_t i = 0; i < kSegments; ++i)
      if (exists(i)) addPlainResidual<Element>(e, pixelOf(i), channel, columns, v + i * kPlainSegment);
  }
  gemm::activate<2>(e, v);
  const auto put = [&](auto type) {
#pragma unroll
    for (int32_t i = 0; i < kSegments; ++i)
      if (exists(i)) putPlainSegment<decltype(type)>(channel, columns, targetOf(i), v + i * kPlainSegment);
  };
  if constexpr (kScales) {
    constexpr bool kIsF16 = std::is_same_v<Element, __half>;
#pragma unroll
    for (float& one : v) one *= e.outputScale;
    if (e.outputType == (kIsF16 ? gemm::NumberType::BF16 : gemm::NumberType::F16))
      return put(std::conditional_t<kIsF16, __nv_bfloat16, __half>());
  }
  put(Element());
}

}  // namespace shiftconv::kernels
