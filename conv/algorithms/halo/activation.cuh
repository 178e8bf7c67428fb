// What halo's kernels with a short activation do to sums before these are staged: all of it in the registers that have them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/activation.cuh"
#include "conv/algorithms/halo/own_channels.cuh"

namespace shiftconv::kernels::halo {

/// A warpgroup's sums of a channel block: alpha, scales and bias of its channels, and the activation.
template <class Own, int kRegisters>
__device__ __forceinline__ void activate(const gemm::EpilogueParams& e, const Own& own, int32_t firstChannel,
                                         float (&v)[kRegisters]) {
  OwnChannels<1> all;
  if constexpr (std::is_same_v<Own, OwnChannels<1>>) {
    all = own;
  } else {
    all.bias[0] = own.bias[0], all.bias[1] = own.bias[1];
    loadScales(e, ownChannel(firstChannel), all.scale);
  }
  // In parts: with a choice for all sums at once ptxas spilt them.
  constexpr int kPart = kRegisters % 16 == 0 ? 16 : kRegisters % 20 == 0 ? 20 : 4;
  static_assert(kRegisters % kPart == 0);
#pragma unroll
  for (int first = 0; first < kRegisters; first += kPart) {
    float part[kPart];
#pragma unroll
    for (int i = 0; i < kPart; ++i) part[i] = all.applied(v[first + i], i);
    gemm::activateShort(e, part);
#pragma unroll
    for (int i = 0; i < kPart; ++i) v[first + i] = part[i];
  }
}

}  // namespace shiftconv::kernels::halo
