// The short epilogue of neighbouring channels of one output pixel in a thread's registers where operands and outputs have 8 bits:
// alpha, channel scales, a bias, an activation, output scale and zero point.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/conversion.cuh"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/lean_bytes.cuh"
#include "conv/kernels/neighbours.cuh"

namespace shiftconv::kernels {

/// What belongs to a thread's channels.
template <int32_t kCount>
struct PlainBytes {
  static constexpr int32_t kWords = (kCount + 3) / 4;
  float scale[kCount], bias[kCount];

  /// Of the channels below `columns`; nothing is read for others.
  __device__ __forceinline__ void load(const gemm::EpilogueParams& e, int32_t channel, int32_t columns) {
    // With one jump where there are none.
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) scale[i] = 1.0f, bias[i] = 0.0f;
    if (e.columnScale != nullptr) loadNeighbours(e.columnScale, channel, columns, 1.0f, scale);
    if (e.bias != nullptr) loadBias(biasOf(e), channel, columns, bias);
  }

  /// `v`: the sums, as numbers, of one pixel after the other; then what follows scales, bias and activation.
  template <int32_t kAll>
  __device__ __forceinline__ void activate(const gemm::EpilogueParams& e, float (&v)[kAll]) const {
    static_assert(kAll % kCount == 0);
#pragma unroll
    for (int32_t i = 0; i < kAll; ++i) v[i] = v[i] * e.alpha * scale[i % kCount] + bias[i % kCount];
    // In parts: with a choice for all at once some kernels spilt.
    constexpr int32_t kPart = kAll % 8 == 0 ? 8 : kAll;
#pragma unroll
    for (int32_t first = 0; first < kAll; first += kPart) {
      float part[kPart];
#pragma unroll
      for (int32_t i = 0; i < kPart; ++i) part[i] = v[first + i];
      gemm::activate<2>(e, part);
#pragma unroll
      for (int32_t i = 0; i < kPart; ++i) v[first + i] = part[i];
    }
  }

  /// The same `v`. Byte i of the words is v[i].
  template <int32_t kAll>
  __device__ __forceinline__ void finish(const gemm::EpilogueParams& e, float (&v)[kAll], uint32_t (&words)[(kAll + 3) / 4]) const {
    activate(e, v);
#pragma unroll
    for (float& one : v) one *= e.outputScale;
    const auto at = [&](int32_t i) { return i < kAll ? v[i < kAll ? i : 0] : 0.0f; };
    const auto forWords = [&](auto&& four) {
#pragma unroll
      for (int32_t i = 0; i < kAll; i += 4) words[i / 4] = four(i);
    };
    // Numbers that nothing is added to need no limits but those of the type.
    const auto packed = [&](auto&& pack) {
      if (e.outputZeroPoint == 0) {
        forWords([&](int32_t i) {
          return pack(__float2int_rn(at(i)), __float2int_rn(at(i + 1)), __float2int_rn(at(i + 2)), __float2int_rn(at(i + 3)));
        });
        return;
      }
      const auto number = [&](int32_t i) { return gemm::integerOf(at(i), e.outputZeroPoint); };
      forWords([&](int32_t i) { return pack(number(i), number(i + 1), number(i + 2), number(i + 3)); });
    };
    if (e.outputType == gemm::NumberType::S8)
      packed([](auto... four) { return ptx::packS8(four...); });
    else if (e.outputType == gemm::NumberType::U8)
      packed([](auto... four) { return ptx::packU8(four...); });
    else
      forWords([&](int32_t i) { return ptx::packE4m3(at(i), at(i + 1)) | ptx::packE4m3(at(i + 2), at(i + 3)) << 16; });
  }

  /// The same for leanBytes of the planner, with one jump. `residual`: its codes, in the order of the outputs.
  template <Lean kLean, int32_t kAll>
  __device__ __forceinline__ void finishLean(const gemm::EpilogueParams& e, float (&v)[kAll],
                                             const uint32_t (&residual)[(kAll + 3) / 4], uint32_t (&words)[(kAll + 3) / 4]) const {
    static_assert(kAll % kCount == 0);
    const LeanBytes lean(e, kScalesFirst<kLean>);
    float factors[kCount], biases[kCount];
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) factors[i] = lean.factorOf(scale[i]), biases[i] = lean.biasOf(bias[i]);
#pragma unroll
    for (int32_t i = 0; i < kAll; ++i) v[i] = fmaf(v[i], factors[i % kCount], biases[i % kCount]);
    const auto finishAs = [&](auto areIntegers) {
#pragma unroll
      for (int32_t i = 0; i < kAll; i += 4) {
        float four[4] = {};
#pragma unroll
        for (int32_t j = 0; j < 4 && i + j < kAll; ++j) four[j] = v[i + j];
        words[i / 4] = lean.finished<kLean, decltype(areIntegers)::value>(e, four, residual[i / 4]);
      }
    };
    if (e.outputType == gemm::NumberType::S8)
      finishAs(std::true_type());
    else
      finishAs(std::false_type());
  }
  /// Without one.
  template <Lean kLean, int32_t kAll>
  __device__ __forceinline__ void finishLean(const gemm::EpilogueParams& e, float (&v)[kAll],
                                             uint32_t (&words)[(kAll + 3) / 4]) const {
    constexpr uint32_t kNone[(kAll + 3) / 4] = {};
    finishLean<kLean>(e, v, kNone, words);
  }

  /// The bytes of the channels below `columns` to the output, in as large pieces as the address allows.
  __device__ __forceinline__ static void store(const gemm::EpilogueParams& e, int32_t pixel, int32_t channel, int32_t columns,
                                               const uint32_t (&words)[kWords]) {
    storeAt(static_cast<uint8_t*>(e.output) + pixel * e.outputPitch + channel, columns - channel, words);
  }

  /// All of them, at an address that is a multiple of their number.
  __device__ __forceinline__ static void storeWhole(const gemm::EpilogueParams& e, int32_t pixel, int32_t channel,
                                                    const uint32_t (&words)[kWords]) {
    auto* const to = static_cast<uint8_t*>(e.output) + pixel * e.outputPitch + channel;
    if constexpr (kCount == 8)
      *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[kWords - 1]);
    else if constexpr (kCount == 4)
      *reinterpret_cast<uint32_t*>(to) = words[0];
    else
      *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(words[0]);
  }

  /// The first `count` bytes, or all, to a place in global or in shared memory.
  __device__ __forceinline__ static void storeAt(uint8_t* to, int32_t count, const uint32_t (&words)[kWords]) {
    static_assert(kCount == 2 || kCount == 4 || kCount == 8);
    const auto isAligned = [&](int32_t bytes) {
      return (static_cast<uint32_t>(reinterpret_cast<uint64_t>(to)) & (bytes - 1)) == 0;
    };
    if (count >= kCount) {
      if constexpr (kCount == 8)
        if (isAligned(8)) {
          *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[kWords - 1]);
          return;
        }
      if constexpr (kCount >= 4)
        if (isAligned(4)) {
#pragma unroll
          for (int32_t i = 0; i < kCount; i += 4) *reinterpret_cast<uint32_t*>(to + i) = words[i / 4];
          return;
        }
      if (isAligned(2)) {
#pragma unroll
        for (int32_t i = 0; i < kCount; i += 2)
          *reinterpret_cast<uint16_t*>(to + i) = static_cast<uint16_t>(words[i / 4] >> (i % 4 * 8));
        return;
      }
    }
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i)
      if (i < count) to[i] = static_cast<uint8_t>(words[i / 4] >> (i % 4 * 8));
  }
};

}  // namespace shiftconv::kernels
