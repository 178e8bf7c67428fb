// The short epilogue of eight neighbouring channels of one output pixel in a thread's registers: bias, residual of the output's
// type, an activation of isPlainActivation, 16-byte stores where the address allows them.
#pragma once

#include <cstdint>

#include "common/ptx/guarded_load.cuh"
#include "conv/kernels/neighbours.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/plain_activation.cuh"

namespace shiftconv::kernels {

inline constexpr int32_t kPlainSegment = 8;

/// Of the channels below `columns`; zeros for others, and without a bias.
__device__ __forceinline__ void loadPlainBias(const gemm::EpilogueParams& e, int32_t channel, int32_t columns,
                                              float (&bias)[kPlainSegment]) {
  loadNeighbours(e.bias != nullptr ? e.floatBias() : nullptr, channel, columns, 0.0f, bias);
}

/// A segment of 16-bit numbers, aligned to 16 bytes; zeros where there is none.
__device__ __forceinline__ void loadSegmentOrZero(const void* from, bool exists, uint32_t (&words)[kPlainSegment / 2]) {
  const uint4 four = ptx::load16BytesOrZero(from, exists);
  words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
}

/// As storePlainSegment, to a place of the caller's, in global or in shared memory.
template <class Element>
__device__ __forceinline__ void putPlainSegment(const gemm::EpilogueParams& e, int32_t pixel, int32_t channel, int32_t columns,
                                                uint16_t* target, float (&v)[kPlainSegment]) {
  const bool whole = channel + kPlainSegment <= columns;
  if (e.residual != nullptr) {
    const auto* const residual =
        reinterpret_cast<const uint16_t*>(static_cast<const uint8_t*>(e.residual) + pixel * e.residualPitch) + channel;
    uint32_t words[kPlainSegment / 2];
    if (whole && reinterpret_cast<uint64_t>(residual) % 16 == 0) {
      const uint4 four = *reinterpret_cast<const uint4*>(residual);
      words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
    } else {
#pragma unroll
      for (int32_t i = 0; i < kPlainSegment; i += 2)
        words[i / 2] = (channel + i < columns ? residual[i] : 0u) | (channel + i + 1 < columns ? residual[i + 1] : 0u) << 16;
    }
#pragma unroll
    for (int32_t i = 0; i < kPlainSegment; i += 2) {
      const float2 pair = unpackPair<Element>(words[i / 2]);
      v[i] = fmaf(e.beta, pair.x, v[i]);
      v[i + 1] = fmaf(e.beta, pair.y, v[i + 1]);
    }
  }
  activatePlain(e, v);
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

/// `v`: sums with the bias. Channels from `columns` on belong to nobody.
template <class Element>
__device__ __forceinline__ void storePlainSegment(const gemm::EpilogueParams& e, int32_t pixel, int32_t channel, int32_t columns,
                                                  float (&v)[kPlainSegment]) {
  putPlainSegment<Element>(e, pixel, channel, columns,
                           reinterpret_cast<uint16_t*>(static_cast<uint8_t*>(e.output) + pixel * e.outputPitch) + channel, v);
}

}  // namespace shiftconv::kernels
