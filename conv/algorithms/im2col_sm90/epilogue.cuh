// The epilogue of im2col_sm90: from the sums of a warpgroup, 64 pixels by all channels of the tile, to outputs in global memory.
//
// Each warp finishes its own 16 rows. Outputs of 8 and 16 bits leave through shared memory, over the stages or behind the residual,
// so that neighbouring threads store neighbouring 16 bytes. What Lean names is in kernels of its own, which have no code for
// anything else; what Packed names is done in the registers that have the sums; the rest is PassedSums.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/ptx/conversion.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/shared_memory.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/passed_sums.cuh"
#include "conv/algorithms/im2col_sm90/staged_rows.cuh"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/lean.cuh"
#include "conv/kernels/lean_bytes.cuh"
#include "conv/kernels/mixed_bytes.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::im2col {

template <int kChannels>
struct Control {
  gemm::Pipeline<kMaximumStages> operands;
  uint64_t sums;  ///< completes when those of the others that share the reduction have come
  alignas(16) float bias[kChannels], scale[kChannels];
};

template <class Kind, int kGroups, int kChannels, bool kIsLean, class Outputs = AllOutputs>
class Epilogue {
  using Sum = typename Kind::Sum;
  using Rows = StagedRows<kChannels, Outputs>;
  static constexpr uint32_t kConsumers = kGroups * 128;
  static constexpr int32_t kFragments = kChannels / 8;  ///< 8 columns of sums each
  static constexpr bool kIsHalf = Kind::kElementBytes == 2, kHasIntegers = std::is_same_v<Sum, int32_t>;
  static_assert(kChannels % 16 == 0, "a store of matrices has 16 channels");

 public:
  __device__ Epilogue(const Params& params, Control<kChannels>& control, uint32_t stages, int32_t firstPixel, int32_t endRow,
                      int32_t firstChannel, int32_t endChannel, const Outputs& outputs = {})
      : p_(params), control_(control), rows_{params, stages, firstPixel, endRow, firstChannel, endChannel, outputs} {}

  /// A thread's share of what `fetch` has asked for.
  struct Fetched {
    static constexpr int32_t kCount = (kChannels + static_cast<int32_t>(kConsumers) - 1) / static_cast<int32_t>(kConsumers);
    float bias[kCount], scale[kCount];
  };

  /// Asks for bias, scales and, where this warp finishes its rows, their residual, before the products: nothing waits for them
  /// before `keep` does. (Where products waited, layers with a bias took 0.17 us longer than without, on an H200.)
  __device__ __forceinline__ Fetched fetch(uint32_t warp, bool finishes) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    Fetched fetched;
#pragma unroll
    for (int32_t i = 0; i < Fetched::kCount; ++i) {
      fetched.bias[i] = -0.0f, fetched.scale[i] = 1;  // they change no sum
      const int32_t own = ownChannel(i), channel = rows_.firstChannel + own;
      if (own >= kChannels || channel >= e.columns) continue;
      if (e.bias != nullptr) fetched.bias[i] = biasNumber(biasOf(e), channel);
      if (!(kIsLean && kIsHalf) && e.columnScale != nullptr) fetched.scale[i] = e.columnScale[channel];
    }
    if (p_.residualWaits && finishes) fetchResidual(warp);
    return fetched;
  }
  /// To shared memory, where everybody finds them after the next barrier.
  __device__ __forceinline__ void keep(const Fetched& fetched) const {
#pragma unroll
    for (int32_t i = 0; i < Fetched::kCount; ++i) {
      const int32_t own = ownChannel(i);
      if (own >= kChannels) continue;
      float bias = fetched.bias[i], scale = fetched.scale[i];
      if constexpr (kIsLean && !kIsHalf) {
        const LeanBytes lean(p_.epilogue, scalesFirst(p_.lean));
        bias = lean.biasOf(bias), scale = lean.factorOf(scale);
      } else if constexpr (!kIsLean) {
        scale *= p_.epilogue.alpha;
      }
      control_.bias[own] = bias;
      control_.scale[own] = scale;
    }
  }

  __device__ __forceinline__ void finish(const Sum (&sums)[kChannels / 2]) const {
    const uint32_t warp = threadIdx.x / 32;
    if constexpr (!kIsLean) {
      finishAny(sums, warp);
    } else {
      withLean(p_.lean, [&](auto tag) {
        if constexpr (kIsHalf)
          stageLean<decltype(tag)::kLean>(sums, warp);
        else
          stageLeanBytes<decltype(tag)::kLean>(sums, warp);
      });
      __syncwarp();
      if constexpr (kIsHalf)
        rows_.template copyPieces<2, 16>(warp);
      else if (!rows_.inPieces([&](auto bytes) { copyOrdered<decltype(bytes)::value>(warp); }))
        rows_.template copyUnaligned<1>(warp, [](const uint4& mixed) { return orderedChannels(mixed); });
    }
  }

 private:
  __device__ __forceinline__ void finishAny(const Sum (&sums)[kChannels / 2], uint32_t warp) const {
    const int32_t bits = numerics::storageBits(p_.epilogue.outputType);
    // Three groups leave a thread the fewest registers.
    constexpr int32_t kTogether = kIsHalf ? (kChannels % 64 == 0 ? 4 : 2) : kGroups < 3 ? 2 : 1;
    const PassedSums<Kind, kChannels, Outputs, kTogether> passed(rows_, control_.scale, control_.bias, warp);
    uint32_t largest = 0;
    if (p_.packed == Packed::No)
      largest = passed.finish(sums);
    else
      stage(sums, warp);
    __syncwarp();
    const bool areStored = p_.packed == Packed::Words || (p_.packed == Packed::No && p_.storesFours);
    if (!areStored && bits == 16)
      rows_.template copyOut<2>(warp);
    else if (!areStored && bits == 8)
      rows_.template copyOut<1>(warp);
    else if (!areStored)
      passed.copyWordsOut();
    gemm::mergeLargest(p_.epilogue, largest);
  }
  __device__ __forceinline__ void stage(const Sum (&sums)[kChannels / 2], uint32_t warp) const {
    if constexpr (kIsHalf)
      if (p_.rectifiesNarrow) return stageLean<Lean::Rectified>(sums, warp);
    float d[kChannels / 2];
#pragma unroll
    for (int32_t i = 0; i < kChannels / 2; ++i) {
      if constexpr (kHasIntegers)
        d[i] = __int2float_rn(sums[i]);
      else
        d[i] = sums[i];
    }
    scaleAndAddBias(d);
    if (p_.residualWaits) awaitResidual();
    if constexpr (kIsHalf) {
      if (p_.residualWaits && !p_.epilogue.residualLast) {
#pragma unroll
        for (int32_t j = 0; j < kFragments; j += 2) WaitingResidual<Kind, Rows>(rows_, warp).addHalves(j, d + 4 * j);
      }
    }
    if (p_.packed == Packed::Words) return storeWords(d, warp);
    if constexpr (kIsHalf) {
      stageHalves(d, warp);
    } else if (p_.packed == Packed::Halves)
      stageEitherHalves(d, warp);
    else
      stageBytes(d, warp);
  }

  static __device__ __forceinline__ int32_t ownChannel(int32_t i) {
    return static_cast<int32_t>(threadIdx.x) + i * static_cast<int32_t>(kConsumers);
  }

  // ---- Scales, bias, residual ---------------------------------------------------------------------------------------------
  static constexpr int32_t kFetched =
      kIsHalf || kIsLean ? 8 : 1;  ///< kernels of bytes that load in pieces have no registers for more

  /// It has rows of whole 4 bytes, whatever those of the outputs have.
  __device__ __forceinline__ void fetchResidual(uint32_t warp) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const int32_t bits = numerics::storageBits(e.residualType);
    const auto fetchRows = [&](auto elementBytes, auto bytes) {
      constexpr int32_t kElementBytes = decltype(elementBytes)::value, kBytes = decltype(bytes)::value;
      const auto* const residual = static_cast<const uint8_t*>(e.residual);
      rows_.template forEachPiece<kElementBytes, kBytes, kFetched>(
          warp, [&](uint32_t address, int32_t row, int32_t channel, bool exists) {
            const auto* const from = exists ? residual + row * e.residualPitch + channel * kElementBytes : residual;
            ptx::copyAsync<kBytes>(address, from, exists ? kBytes : 0);
          });
    };
    constexpr std::integral_constant<int32_t, 1> kOne;
    constexpr std::integral_constant<int32_t, 2> kTwo;
    if constexpr (kIsHalf && kIsLean)
      fetchRows(kTwo, std::integral_constant<int32_t, 16>());
    else if (!kIsHalf && (kIsLean || bits == 8))
      rows_.template inPieces<false>([&](auto bytes) { fetchRows(kOne, bytes); });
    else if (bits == 32 || p_.pieceBytes == 16)
      fetchWholePieces(warp, bits);
    else if (p_.pieceBytes == 8)
      fetchRows(kTwo, std::integral_constant<int32_t, 8>());
    else
      fetchRows(kTwo, std::integral_constant<int32_t, 4>());
    ptx::copyAsyncCommitGroup();  // site: residual_asked_for
  }
  /// Of 16 bits in pieces of 16 bytes; of 32 bits, in one half of the channels after the other, by the same code: with two copies
  /// kernels that load in pieces spill.
  __device__ __forceinline__ void fetchWholePieces(uint32_t warp, int32_t bits) const {
    constexpr int32_t kPieces = kChannels / 8, kTurns = (16 * kPieces + 31) / 32;
    const gemm::EpilogueParams& e = p_.epilogue;
    const bool isWide = bits == 32;
    const int32_t pitch = stagedPitch(kChannels, isWide ? 4 : 2), elementBytes = isWide ? 4 : 2;
    const uint32_t begin = rows_.stages + static_cast<uint32_t>(p_.stagingOffset) + warp * 16 * static_cast<uint32_t>(pitch);
#pragma unroll 1
    for (int32_t first = 0; first < kPieces * (isWide ? 2 : 1); first += kPieces) {
#pragma unroll(kTurns < kFetched ? kTurns : kFetched)
      for (int32_t i = 0; i < kTurns; ++i) {
        const int32_t piece = i * 32 + static_cast<int32_t>(threadIdx.x % 32), row = piece / kPieces;
        const int32_t column = first + piece % kPieces;
        if (16 * kPieces % 32 != 0 && row >= 16) continue;  // the next warp's rows
        const int32_t outputRow = rows_.outputRow(warp, row), channel = rows_.firstChannel + column * (16 / elementBytes);
        const bool exists = outputRow < rows_.endRow && channel < rows_.endChannel;
        const int64_t offset = exists ? outputRow * e.residualPitch + channel * elementBytes : 0;
        ptx::copyAsync<16>(begin + static_cast<uint32_t>(row * pitch + column * 16),
                           static_cast<const uint8_t*>(e.residual) + offset, exists ? 16 : 0);
      }
    }
  }

  __device__ __forceinline__ void scaleAndAddBias(float (&d)[kChannels / 2]) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const auto forColumns = [](const float* values, auto&& body) {
#pragma unroll
      for (int32_t j = 0; j < kFragments; ++j) body(j, *reinterpret_cast<const float2*>(values + j * 8 + threadIdx.x % 4 * 2));
    };
    if (e.columnScale != nullptr || e.alpha != 1.0f)
      forColumns(control_.scale, [&](int32_t j, float2 two) {
        d[4 * j] *= two.x, d[4 * j + 1] *= two.y, d[4 * j + 2] *= two.x, d[4 * j + 3] *= two.y;
      });
    if (e.bias != nullptr)
      forColumns(control_.bias, [&](int32_t j, float2 two) {
        d[4 * j] += two.x, d[4 * j + 1] += two.y, d[4 * j + 2] += two.x, d[4 * j + 3] += two.y;
      });
  }

  // ---- Outputs --------------------------------------------------------------------------------------------------------------
  /// Outputs as Lean says. A residual's matrices are where those of the output will be.
  template <Lean kLean>
  __device__ __forceinline__ void stageLean(const float (&d)[kChannels / 2], uint32_t warp) const {
    using Element = typename Kind::Element;
    const uint32_t least = leastPair<Element>(p_.epilogue.activation == gemm::Activation::Relu);
    const float* const bias = control_.bias + threadIdx.x % 4 * 2;
    if constexpr (kAddsResidual<kLean>) awaitResidual();
#pragma unroll
    for (int32_t j = 0; j < kFragments; j += 2) {
      uint32_t residual[4] = {}, matrices[4];
      if constexpr (kAddsResidual<kLean>) ptx::loadMatrices(residual, rows_.matrices(rows_.template begin<2>(warp), j));
      float v[8];
#pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        const float2 two = *reinterpret_cast<const float2*>(bias + (j + i / 2) * 8);
        v[2 * i] = d[4 * j + 2 * i] + two.x, v[2 * i + 1] = d[4 * j + 2 * i + 1] + two.y;
      }
      packLean<Element, kLean>(p_.epilogue, least, v, residual, matrices);
      ptx::storeMatrices(rows_.matrices(rows_.template begin<2>(warp), j), matrices);
    }
  }

  /// The same of leanBytes. Words have a pair of channels of fragment j and one of j + 1, which `copyOrdered` tells apart. Those of
  /// a residual are where those of the output will be.
  template <Lean kLean>
  __device__ __forceinline__ void stageLeanBytes(const Sum (&sums)[kChannels / 2], uint32_t warp) const {
    const LeanBytes lean(p_.epilogue, kScalesFirst<kLean>);
    const int32_t own = static_cast<int32_t>(threadIdx.x % 4 * 2);
    const uint32_t pairs = rows_.pairsAt(warp);
    if constexpr (kAddsResidual<kLean>) awaitResidual();
    // Of rows g and g + 8, fragments j and j + 1.
    const auto wordsOf = [&](int32_t j, uint32_t(&words)[2]) {
      const auto two = [&](const float* values, int32_t i) { return *reinterpret_cast<const float2*>(values + (j + i) * 8 + own); };
      const float2 factors[2] = {two(control_.scale, 0), two(control_.scale, 1)},
                   biases[2] = {two(control_.bias, 0), two(control_.bias, 1)};
#pragma unroll
      for (int32_t row = 0; row < 2; ++row) {
        float v[4];
#pragma unroll
        for (int32_t i = 0; i < 2; ++i) {
          const Sum* const pair = sums + 4 * (j + i) + 2 * row;
          v[2 * i] = fmaf(static_cast<float>(pair[0]), factors[i].x, biases[i].x);
          v[2 * i + 1] = fmaf(static_cast<float>(pair[1]), factors[i].y, biases[i].y);
        }
        uint32_t residual = 0;
        if constexpr (kAddsResidual<kLean>) residual = rows_.loadPairs(pairs, row, j);
        words[row] = lean.finished<kLean, kHasIntegers>(p_.epilogue, v, residual);
      }
    };
    // As matrices of pairs of bytes: number m has rows 8 * (m % 2).., channels 16 * (m / 2).. from fragment j on.
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t rows = rows_.template begin<1>(warp) + lane % 16 * stagedPitch(kChannels, 1) + lane / 16 * 16;
#pragma unroll
    for (int32_t j = 0; j < kFragments; j += 4) {
      uint32_t first[2], second[2] = {};
      wordsOf(j, first);
      if (j + 2 < kFragments) wordsOf(j + 2, second);
      if constexpr (kAddsResidual<kLean>) __syncwarp();  // site: residual_read
      if (j + 2 < kFragments)
        ptx::storeMatrices(rows + j * 8, {first[0], first[1], second[0], second[1]});
      else
        ptx::storeMatrices(rows + j * 8, first[0], first[1]);
    }
  }
  /// Rows of such words to global memory.
  template <int32_t kBytes>
  __device__ __forceinline__ void copyOrdered(uint32_t warp) const {
    auto* const output = static_cast<uint8_t*>(p_.epilogue.output);
    rows_.template forEachPiece<1, 16>(warp, [&](uint32_t address, int32_t row, int32_t channel, bool exists) {
      if (!exists) return;
      uint4 mixed;
      ptx::loadShared16Bytes(address, mixed.x, mixed.y, mixed.z, mixed.w);
      storePieces<kBytes>(output + row * p_.epilogue.outputPitch + channel, orderedChannels(mixed), rows_.endChannel - channel);
    });
  }

  /// Calls body(j, v) with what becomes of the sums of fragments j and j + 1. One loop without an activation, which fetches no code
  /// of others, and one with any. (With one choice for all sums ptxas spills them, and a loop that is once in the program has to
  /// select its sums: on an H200 layers with SiLU took 1.02 times as long.)
  template <class Body>
  __device__ __forceinline__ void forPairs(const float (&d)[kChannels / 2], uint32_t warp, bool activates, Body&& body) const {
    const auto forAll = [&](auto&& activate) {
#pragma unroll
      for (int32_t j = 0; j < kFragments; j += 2) {
        float v[8];
#pragma unroll
        for (int32_t i = 0; i < 8; ++i) v[i] = d[4 * j + i];
        activate(j, v);
        body(j, v);
      }
    };
    if (kIsHalf && !activates)
      forAll([](int32_t, float(&)[8]) {});
    else
      forAll([&](int32_t j, float(&v)[8]) {
        // Here and not for all sums before, for which ptxas spills.
        if (!kIsHalf && p_.residualWaits) WaitingResidual<Kind, Rows>(rows_, warp).addHalves(j, v);
        if (activates) gemm::activate(p_.epilogue, v);
        if (kIsHalf && p_.epilogue.residualLast) WaitingResidual<Kind, Rows>(rows_, warp).addHalves(j, v);
      });
  }

  /// ReLU or nothing, and outputs of f32, two neighbouring ones at once: those of four threads are a sector.
  __device__ __forceinline__ void storeWords(const float (&d)[kChannels / 2], uint32_t warp) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const float least = e.activation == gemm::Activation::Relu ? 0.0f : -__int_as_float(0x7f800000);
    const auto lane = static_cast<int32_t>(threadIdx.x % 32);
    const int32_t channel = rows_.firstChannel + lane % 4 * 2;
#pragma unroll
    for (int32_t row = 0; row < 2; ++row) {
      const int32_t outputRow = rows_.outputRow(warp, lane / 4 + row * 8);
      if (outputRow >= rows_.endRow) continue;
      auto* const to = reinterpret_cast<float*>(static_cast<uint8_t*>(e.output) + outputRow * e.outputPitch) + channel;
#pragma unroll
      for (int32_t j = 0; j < kFragments; ++j) {
        const float* const two = d + 4 * j + 2 * row;
        if (channel + j * 8 < rows_.endChannel)
          *reinterpret_cast<float2*>(to + j * 8) = make_float2(ptx::maximum(two[0], least), ptx::maximum(two[1], least));
      }
    }
  }

  /// An activation or none, and outputs of the operands' 16 bits.
  __device__ __forceinline__ void stageHalves(const float (&d)[kChannels / 2], uint32_t warp) const {
    using Half = typename Kind::Element;
    const gemm::EpilogueParams& e = p_.epilogue;
    const bool rectifies = e.activation == gemm::Activation::Relu && !e.residualLast,
               activates = !rectifies && e.activation != gemm::Activation::None;
    const uint32_t least = leastPair<Half>(rectifies);
    forPairs(d, warp, activates, [&](int32_t j, const float(&v)[8]) {
      uint32_t matrices[4];
#pragma unroll
      for (int32_t i = 0; i < 4; ++i) matrices[i] = atLeast<Half>(packPair<Half>(v[2 * i], v[2 * i + 1]), least);
      ptx::storeMatrices(rows_.matrices(rows_.template begin<2>(warp), j), matrices);
    });
  }

  /// The same of 8-bit operands: f16 or bf16.
  __device__ __forceinline__ void stageEitherHalves(const float (&d)[kChannels / 2], uint32_t warp) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const bool isF16 = e.outputType == gemm::NumberType::F16;
    forPairs(d, warp, e.activation != gemm::Activation::None, [&](int32_t j, const float(&v)[8]) {
      uint32_t matrices[4];
#pragma unroll
      for (int32_t i = 0; i < 4; ++i)
        matrices[i] = isF16 ? packPair<__half>(v[2 * i], v[2 * i + 1]) : packPair<__nv_bfloat16>(v[2 * i], v[2 * i + 1]);
      ptx::storeMatrices(rows_.matrices(rows_.template begin<2>(warp), j), matrices);
    });
  }

  /// The same, an output scale and a zero point, and outputs of 8 bits: e4m3 of f32 sums, s8 or u8 of integers.
  __device__ __forceinline__ void stageBytes(const float (&d)[kChannels / 2], uint32_t warp) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const uint32_t pairs = rows_.pairsAt(warp);
    const bool isSigned = e.outputType == gemm::NumberType::S8;
    forPairs(d, warp, e.activation != gemm::Activation::None, [&](int32_t j, const float(&v)[8]) {
      float scaled[8];
#pragma unroll
      for (int32_t i = 0; i < 8; ++i) scaled[i] = v[i] * e.outputScale;
      rows_.storePairs(pairs, j, scaled, [&](float a, float b, float c, float d) {
        if constexpr (kHasIntegers) {
          const auto number = [&](float one) { return gemm::integerOf(one, e.outputZeroPoint); };
          return isSigned ? ptx::packS8(number(a), number(b), number(c), number(d))
                          : ptx::packU8(number(a), number(b), number(c), number(d));
        } else {
          return ptx::packE4m3(a, b) | ptx::packE4m3(c, d) << 16;
        }
      });
    });
  }

  const Params& p_;
  Control<kChannels>& control_;
  const Rows rows_;
};

}  // namespace shiftconv::kernels::im2col
