// What halo's kernels with an activation do to sums before these are staged: all of it in the registers that have them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/activation.cuh"
#include "conv/algorithms/halo/own_channels.cuh"

namespace shiftconv::kernels::halo {

/// Scales and biases of a thread's channels of a block.
template <class Own>
__device__ __forceinline__ OwnChannels<1> allOf(const gemm::EpilogueParams& e, const Own& own, int32_t firstChannel) {
  OwnChannels<1> all;
  all.bias[0] = own.bias[0], all.bias[1] = own.bias[1];
  if constexpr (std::is_same_v<Own, OwnChannels<1>>)
    all.scale[0] = own.scale[0], all.scale[1] = own.scale[1];
  else
    loadScales(e, ownChannel(firstChannel), all.scale);
  return all;
}

/// A warpgroup's sums of a channel block: scales and bias of its channels, and the activation. kMost: see kPart.
template <int kMost, int kRegisters>
__device__ __forceinline__ void activate(const gemm::EpilogueParams& e, const OwnChannels<1>& all, float (&v)[kRegisters]) {
  // In parts: with a choice for all sums at once ptxas spilt them.
  constexpr int kPart = kRegisters % kMost == 0 ? kMost : kRegisters % 20 == 0 ? 20 : 4;
  static_assert(kRegisters % kPart == 0);
#pragma unroll
  for (int first = 0; first < kRegisters; first += kPart) {
    float part[kPart];
#pragma unroll
    for (int i = 0; i < kPart; ++i) part[i] = all.applied(v[first + i], i);
    gemm::activate(e, part);
#pragma unroll
    for (int i = 0; i < kPart; ++i) v[first + i] = part[i];
  }
}

}  // namespace shiftconv::kernels::halo
