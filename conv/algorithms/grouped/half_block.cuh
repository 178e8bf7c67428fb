// A block of 8 channels of f16 or bf16: the products of a warp's pixels with the filters of its groups, and their output.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/ptx/matrix_move.cuh"
#include "conv/algorithms/grouped/params.hpp"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/scaled_channels.cuh"

namespace shiftconv::kernels::grouped {

/// Two taps in a row are the reduction of an m16n8k16. kActivated: scales, a bias and an activation follow, else
/// a bias and limits.
template <class Element, int kTaps, bool kActivated>
class HalfBlock {
 public:
  static constexpr int32_t kElementBytes = 2;

  /// Operand B of every tap: output channel lane / 4, input channels 2 * (lane % 4) and the next, where they are of its group.
  __device__ HalfBlock(const Params& p, int32_t firstChannel) {
    const uint32_t lane = threadIdx.x % 32;
    const int32_t ofBlock = static_cast<int32_t>(lane / 4), channel = firstChannel + ofBlock;
    const int32_t pairs = p.groupChannels / 2, pair = static_cast<int32_t>(lane % 4) - ofBlock / p.groupChannels * pairs;
    const uint32_t* filter = static_cast<const uint32_t*>(p.filter) + int64_t{channel} * kTaps * pairs + pair;
    const bool hasWeights = channel < p.channels && pair >= 0 && pair < pairs;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) weights_[tap] = hasWeights ? filter[tap * pairs] : 0;
    const int32_t own = firstChannel + static_cast<int32_t>(2 * (lane % 4));
    if constexpr (kActivated) {
      channels_.load(p.epilogue, own);
    } else if (p.bias.numbers != nullptr && firstChannel < p.channels) {
      channels_.bias[0] = biasNumber(p.bias, own);
      channels_.bias[1] = biasNumber(p.bias, own + 1);
    }
  }

  /// pixelsOf(a, tap): the block's channels of 32 pixels under a tap, as loadMatrices leaves them. `packed`: two output channels of
  /// pixels 8i + lane / 4.
  template <class PixelsOf>
  __device__ __forceinline__ void convolve(const Params& p, PixelsOf&& pixelsOf, uint32_t (&packed)[4]) const {
    float d[2][4] = {};
#pragma unroll
    for (int tap = 0; tap + 1 < kTaps; tap += 2) {
      uint32_t a[4], b[4];
      pixelsOf(a, tap);
      pixelsOf(b, tap + 1);
      ptx::mma16x8x16<Element>(d[0], a[0], a[1], b[0], b[1], weights_[tap], weights_[tap + 1]);
      ptx::mma16x8x16<Element>(d[1], a[2], a[3], b[2], b[3], weights_[tap], weights_[tap + 1]);
    }
    if constexpr (kTaps % 2 == 1) {
      uint32_t a[4];
      pixelsOf(a, kTaps - 1);
      ptx::mma16x8x8<Element>(d[0], a[0], a[1], weights_[kTaps - 1]);
      ptx::mma16x8x8<Element>(d[1], a[2], a[3], weights_[kTaps - 1]);
    }
    float v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float sum = d[i / 4][i % 4];
      if constexpr (kActivated) {
        v[i] = channels_.applied(i % 2, sum);
      } else {
        v[i] = sum + channels_.bias[i % 2];
      }
    }
    if constexpr (kActivated) gemm::activate(p.epilogue, v);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      packed[i] = packPair<Element>(v[2 * i], v[2 * i + 1]);
      if constexpr (!kActivated) packed[i] = limited<Element>(packed[i], p.limits);
    }
  }

 private:
  uint32_t weights_[kTaps];
  ScaledChannels<2> channels_ = {};
};

}  // namespace shiftconv::kernels::grouped
