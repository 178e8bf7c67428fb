// From the sums of a thread to the output.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/compute.cuh"
#include "common/ptx/conversion.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"
#include "conv/algorithms/channelwise/thread.cuh"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/lean.cuh"
#include "conv/kernels/mixed_bytes.cuh"
#include "conv/kernels/neighbours.cuh"
#include "conv/kernels/plain_bytes.cuh"

namespace shiftconv::kernels::channelwise {

template <Finish kFinish, int32_t kChannels, int32_t kColumns, int32_t kElementBytes, bool kIsDilated>
class Finisher;

template <int32_t kChannels, int32_t kColumns, bool kIsDilated>
class Finisher<Finish::Plain, kChannels, kColumns, 2, kIsDilated> {
 public:
  using Own = Place<kChannels, kColumns, 2, kIsDilated>;

  __device__ Finisher(const Params& p, const Own& place) : p_(p), place_(place) {
    if (p.epilogue.bias == nullptr) return;
#pragma unroll
    for (int32_t i = 0; i < kChannels; ++i) bias_[i] = biasNumber(biasOf(p.epilogue), place.channel + i);
  }

  /// The residual of an output row, on its way while the sums are made.
  __device__ __forceinline__ void load(int32_t outputRow, bool exists) {
    const gemm::EpilogueParams& e = p_.epilogue;
    if (e.residual == nullptr) return;
    const auto* const from =
        static_cast<const uint8_t*>(e.residual) + place_.pixel(p_, outputRow) * e.residualPitch + place_.channel * 2;
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q) residual_[q].load(from + q * Own::Gap::residual(p_), exists && place_.hasColumn(p_, q));
  }

  __device__ __forceinline__ void store(float (&v)[kColumns * kChannels], int32_t outputRow, bool exists) {
    const gemm::EpilogueParams& e = p_.epilogue;
#pragma unroll
    for (int32_t i = 0; i < kColumns * kChannels; ++i) v[i] = fmaf(e.alpha, v[i], bias_[i % kChannels]);
    const bool isLean = withLean(p_.lean, [&](auto tag) {
      constexpr Lean kLean = decltype(tag)::kLean;
      if constexpr (kLean == Lean::SiluResidual) return;  // rare in such layers, and all of them would fetch more
      activateLean<kLean>(p_.epilogue, v);
      withElement(p_, [&](auto elementTag) {
        using Element = typename decltype(elementTag)::Element;
        if constexpr (kLean == Lean::Residual) addResiduals<Element>(v);
        pack<Element, kLean>(v, e.activation == gemm::Activation::Relu);
      });
      storePacked(outputRow, exists);
    });
    if (isLean) return;
    const auto addAny = [&] { withElement(p_, [&](auto tag) { addResiduals<typename decltype(tag)::Element>(v); }); };
    if (e.residual != nullptr && !e.residualLast) addAny();
    gemm::activate<2>(e, v);
    if (e.residualLast) addAny();
    withElement(p_, [&](auto tag) { pack<typename decltype(tag)::Element, Lean::Rectified>(v, false); });
    storePacked(outputRow, exists);
  }

  __device__ void end() const {}

 private:
  template <class Element>
  __device__ __forceinline__ void addResiduals(float (&v)[kColumns * kChannels]) const {
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q) {
      float added[kChannels];
      residual_[q].template unpack<Element>(added);
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) v[q * kChannels + i] = fmaf(p_.epilogue.beta, added[i], v[q * kChannels + i]);
    }
  }
  template <class Element, Lean kLean>
  __device__ __forceinline__ void pack(const float (&v)[kColumns * kChannels], bool rectifies) {
    const uint32_t least = leastPair<Element>(rectifies);
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q) {
      packed_[q].template pack<Element>(v + q * kChannels);
      for (uint32_t& word : packed_[q].word) word = limitLean<Element, kLean>(p_.epilogue, least, word);
    }
  }
  __device__ __forceinline__ void storePacked(int32_t outputRow, bool exists) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    auto* const to = static_cast<uint8_t*>(e.output) + place_.pixel(p_, outputRow) * e.outputPitch + place_.channel * 2;
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q)
      if (exists && place_.hasColumn(p_, q)) packed_[q].store(to + q * Own::Gap::output(p_));
  }

  const Params& p_;
  const Own& place_;
  float bias_[kChannels] = {};
  Channels<kChannels> packed_[kColumns];
  Channels<kChannels> residual_[kColumns];
};

template <int32_t kChannels, int32_t kColumns, bool kIsDilated>
class Finisher<Finish::Plain, kChannels, kColumns, 1, kIsDilated> {
 public:
  using Own = Place<kChannels, kColumns, 1, kIsDilated>;

  __device__ Finisher(const Params& p, const Own& place) : p_(p), place_(place) {
    own_.load(p.epilogue, place.channel, p.epilogue.columns);
  }
  __device__ void load(int32_t, bool) const {}

  __device__ __forceinline__ void store(float (&v)[kColumns * kChannels], int32_t outputRow, bool exists) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    if (__builtin_expect(p_.hasHalves, 0)) return storeHalves(v, outputRow, exists);
    uint32_t words[(kColumns * kChannels + 3) / 4];
    if (p_.lean.rectified)
      own_.template finishLean<Lean::Rectified>(e, v, words);
    else
      own_.finish(e, v, words);
    auto* const to = static_cast<uint8_t*>(e.output) + place_.pixel(p_, outputRow) * e.outputPitch + place_.channel;
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q) {
      if (!exists || !place_.hasColumn(p_, q)) continue;
      uint8_t* const at = to + q * Own::Gap::output(p_);
      if constexpr (kChannels == 8)
        *reinterpret_cast<uint2*>(at) = make_uint2(words[2 * q], words[2 * q + 1]);
      else if constexpr (kChannels == 4)
        *reinterpret_cast<uint32_t*>(at) = words[q];
      else if constexpr (kChannels == 2)
        *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(words[q / 2] >> (q % 2 * 16));
      else
        *at = static_cast<uint8_t>(words[q / 4] >> (q % 4 * 8));
    }
  }

  __device__ void end() const {}

 private:
  __device__ __forceinline__ void storeHalves(float (&v)[kColumns * kChannels], int32_t outputRow, bool exists) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    own_.activate(e, v);
    auto* const to = static_cast<uint8_t*>(e.output) + place_.pixel(p_, outputRow) * e.outputPitch + place_.channel * 2;
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q) {
      Channels<kChannels> packed;
      withElement(p_, [&](auto tag) { packed.template pack<typename decltype(tag)::Element>(v + q * kChannels); });
      if (exists && place_.hasColumn(p_, q)) packed.store(to + q * Own::Gap::output(p_));
    }
  }

  const Params& p_;
  const Own& place_;
  PlainBytes<kChannels> own_;
};

/// The epilogues of lean.hpp without a residual, stored from a running address: of the form Stream.
template <int32_t kChannels, int32_t kColumns, int32_t kElementBytes>
class LeanFinisher {
  using Pixel = Channels<kChannels, kElementBytes>;

 public:
  __device__ LeanFinisher(const Params& p, int32_t channel) : p_(p) {
    if constexpr (kElementBytes == 1)
      bytes_.load(p.epilogue, channel, p.epilogue.columns);
    else if (p.epilogue.bias != nullptr)
      loadBias(biasOf(p.epilogue), channel, p.epilogue.columns, bias_);
  }

  /// What the sums of a channel begin with.
  __device__ __forceinline__ float first(int32_t channel) const { return kElementBytes == 1 ? 0 : bias_[channel]; }

  /// The first `columns` columns.
  __device__ __forceinline__ void store(float (&v)[kColumns * kChannels], uint8_t* to, int32_t columns) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    Pixel packed[kColumns];
    if constexpr (kElementBytes == 1) {
      uint32_t words[kColumns * kChannels / 4];
      bytes_.template finishLean<Lean::Rectified>(e, v, words);
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q)
#pragma unroll
        for (int32_t i = 0; i < Pixel::kWords; ++i) packed[q].word[i] = words[q * Pixel::kWords + i];
    } else {
      withLean(p_.lean, [&](auto tag) {
        constexpr Lean kLean = decltype(tag)::kLean;
        if constexpr (kAddsResidual<kLean>) return;
        activateLean<kLean>(p_.epilogue, v);
        withElement(p_, [&](auto elementTag) {
          using Element = typename decltype(elementTag)::Element;
          const uint32_t least = leastPair<Element>(e.activation == gemm::Activation::Relu);
#pragma unroll
          for (int32_t q = 0; q < kColumns; ++q) {
            packed[q].template pack<Element>(v + q * kChannels);
            for (uint32_t& word : packed[q].word) word = limitLean<Element, kLean>(e, least, word);
          }
        });
      });
    }
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q)
      if (q < columns) packed[q].store(to + q * e.outputPitch);
  }

 private:
  const Params& p_;
  float bias_[kChannels] = {};        // of 16 bits
  PlainBytes<kChannels> bytes_ = {};  // of 8
};

/// Whatever gemm::EpilogueParams has for these. Few and batch have factors, biases and residuals on their way early.
template <int32_t kChannels, int32_t kColumns, int32_t kElementBytes, bool kIsDilated>
class Finisher<Finish::Full, kChannels, kColumns, kElementBytes, kIsDilated> {
 public:
  using Own = Place<kChannels, kColumns, kElementBytes, kIsDilated>;

  __device__ Finisher(const Params& p, const Own& place) : p_(p), place_(place) {
    const gemm::EpilogueParams& e = p.epilogue;
    loadNeighbours(e.columnScale, place.channel, e.columns, 1.0f, scale_);
    if (e.bias != nullptr) loadBias(biasOf(e), place.channel, e.columns, bias_);
  }

  __device__ __forceinline__ void load(int32_t outputRow, bool exists) {
    const gemm::EpilogueParams& e = p_.epilogue;
    if (e.residual == nullptr) return;
    withBytes(e.residualType, [&](auto bytes) {
      constexpr int32_t kBytes = decltype(bytes)::value;
      const auto* const from =
          static_cast<const uint8_t*>(e.residual) + place_.pixel(p_, outputRow) * e.residualPitch + place_.channel * kBytes;
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q) {
        Channels<kChannels, kBytes> some;
        some.load(from + q * Own::Gap::residual(p_), exists && place_.hasColumn(p_, q));
#pragma unroll
        for (int32_t i = 0; i < some.kWords; ++i) residual_[q][i] = some.word[i];
      }
    });
  }

  __device__ __forceinline__ void store(float (&v)[kColumns * kChannels], int32_t outputRow, bool exists) {
    const gemm::EpilogueParams& e = p_.epilogue;
    const bool isRaw = e.outputType == gemm::NumberType::S32;
    if (kElementBytes == 1 && __builtin_expect(isRaw || e.columnCorrection != nullptr || e.rowCorrection != nullptr, 0))
      correct(v, outputRow, exists);
    if (!isRaw) finish(v, exists);
    withBytes(e.outputType, [&](auto bytes) {
      constexpr int32_t kBytes = decltype(bytes)::value;
      auto* const to = static_cast<uint8_t*>(e.output) + place_.pixel(p_, outputRow) * e.outputPitch + place_.channel * kBytes;
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q)
        if (exists && place_.hasColumn(p_, q)) packed<kBytes>(v + q * kChannels).store(to + q * Own::Gap::output(p_));
    });
  }

  /// Whole warps.
  __device__ void end() const { gemm::mergeLargest(p_.epilogue, __float_as_uint(largest_)); }

 private:
  /// body(bytes of an element of the type).
  template <class Body>
  __device__ __forceinline__ static void withBytes(gemm::NumberType type, Body&& body) {
    const int32_t bits = numerics::storageBits(type);
    if (bits == 16)
      body(std::integral_constant<int32_t, 2>());
    else if (bits == 32)
      body(std::integral_constant<int32_t, 4>());
    else
      body(std::integral_constant<int32_t, 1>());
  }

  /// Sums of integers, below 2^24, less what zero points add to them; as they are where they are the output.
  __device__ __forceinline__ void correct(float (&v)[kColumns * kChannels], int32_t outputRow, bool exists) const {
    const int32_t first = place_.pixel(p_, outputRow);
#pragma unroll
    for (int32_t q = 0; q < kColumns; ++q) {
      uint32_t bits[kChannels];
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) bits[i] = static_cast<uint32_t>(__float2int_rn(v[q * kChannels + i]));
      const bool isThere = exists && place_.hasColumn(p_, q);
      gemm::integerValues<kChannels>(p_.epilogue, {isThere ? first + q * Own::Gap::pixels(p_) : -1, place_.channel}, bits,
                                     v + q * kChannels);
    }
  }

  __device__ __forceinline__ void finish(float (&v)[kColumns * kChannels], bool exists) {
    const gemm::EpilogueParams& e = p_.epilogue;
    const auto forAll = [&](auto&& body) {
#pragma unroll
      for (int32_t i = 0; i < kColumns * kChannels; ++i) body(v[i], i % kChannels);
    };
    if (__builtin_expect(p_.hasSeparateSteps, 0)) {
      forAll([&](float& one, int32_t) { one = __fmul_rn(one, e.alpha); });
      gemm::roundStep(e, v);
      forAll([&](float& one, int32_t channel) { one = __fmul_rn(one, scale_[channel]); });
      gemm::roundStep(e, v);
      forAll([&](float& one, int32_t channel) { one = __fadd_rn(one, bias_[channel]); });
      gemm::roundStep(e, v);
    } else {
      float factor[kChannels];
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) factor[i] = e.alpha * scale_[i];
      forAll([&](float& one, int32_t channel) { one = fmaf(one, factor[channel], bias_[channel]); });
    }
    if (e.residual != nullptr && !e.residualLast) addResiduals(v);
    if (__builtin_expect(e.activation != gemm::Activation::Relu && e.activation != gemm::Activation::None, 0)) {
      gemm::activate<2>(e, v);
      gemm::roundStep(e, v);
    } else {
      const float least = e.activation == gemm::Activation::Relu ? 0.0f : -__int_as_float(0x7f800000);
      forAll([&](float& one, int32_t) { one = ptx::maximum(one, least); });
    }
    if (__builtin_expect(e.residualLast, 0)) addResiduals(v);
    if (__builtin_expect(e.largest != nullptr, 0)) {
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q) {
        if (!exists || !place_.hasColumn(p_, q)) continue;
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i) largest_ = ptx::maximum(largest_, fabsf(v[q * kChannels + i]));
      }
    }
    if (e.outputScale != 1.0f) forAll([&](float& one, int32_t) { one *= e.outputScale; });
  }
  __device__ __forceinline__ void addResiduals(float (&v)[kColumns * kChannels]) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    gemm::withNumbers<true>(e.residualType, [&](auto element, auto&& number) {
      constexpr int32_t kPerWord = 4 / static_cast<int32_t>(sizeof(element));
#pragma unroll
      for (int32_t i = 0; i < kColumns * kChannels; ++i) {
        const int32_t own = i % kChannels;
        const uint32_t bits = residual_[i / kChannels][own / kPerWord] >> (own % kPerWord * (32 / kPerWord));
        v[i] = fmaf(e.beta, number(bits), v[i]);
      }
    });
    gemm::roundStep(e, v);
  }
  /// Of a column.
  template <int32_t kBytes>
  __device__ __forceinline__ Channels<kChannels, kBytes> packed(const float* v) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    Channels<kChannels, kBytes> some;
    const auto at = [&](int32_t i) { return i < kChannels ? v[i < kChannels ? i : 0] : 0.0f; };
    if constexpr (kBytes == 4) {
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) some.word[i] = __float_as_uint(v[i]);
    } else if constexpr (kBytes == 2) {
      if (e.outputType == gemm::NumberType::F16)
        some.template pack<__half>(v);
      else
        some.template pack<__nv_bfloat16>(v);
    } else {
#pragma unroll
      for (int32_t i = 0; i < some.kWords; ++i) some.word[i] = packBytes(e, at(4 * i), at(4 * i + 1), at(4 * i + 2), at(4 * i + 3));
    }
    return some;
  }

  const Params& p_;
  const Own& place_;
  float scale_[kChannels], bias_[kChannels] = {};
  uint32_t residual_[kColumns][kChannels] = {};
  float largest_ = 0;  ///< magnitude, NaN above all
};

}  // namespace shiftconv::kernels::channelwise
