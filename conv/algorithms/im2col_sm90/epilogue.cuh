// The epilogue of im2col_sm90: from the sums of a warpgroup, 64 pixels by all channels of the tile, to outputs in global memory.
//
// Each warp finishes its own 16 rows. Outputs leave through shared memory, over the stages or behind the residual, so that
// neighbouring threads store neighbouring channels: 16 bytes of outputs each, or a segment of sums where there is more to compute.
// What Lean names is in kernels of its own, which have no code for anything else.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/shared_memory.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/lean.cuh"
#include "conv/kernels/lean_bytes.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/unaligned_rows.cuh"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::im2col {

template <int kChannels>
struct Control {
  gemm::Pipeline<kMaximumStages> operands;
  uint64_t sums;  ///< completes when those of the others that share the reduction have come
  float bias[kChannels], scale[kChannels];
};

template <class Kind, int kGroups, int kChannels, bool kIsLean>
class Epilogue {
  using Sum = typename Kind::Sum;
  static constexpr uint32_t kConsumers = kGroups * 128;
  static constexpr int32_t kFragments = kChannels / 8;  ///< 8 columns of sums each
  static constexpr bool kIsHalf = Kind::kElementBytes == 2, kHasIntegers = std::is_same_v<Sum, int32_t>;
  static_assert(kChannels % 16 == 0, "a store of matrices has 16 channels");

 public:
  /// `stages`: where the ring begins in shared memory, `sums` the same. Pixels from endPixel on, and channels from endChannel on,
  /// are not of this tile, or of none.
  __device__ Epilogue(const Params& params, Control<kChannels>& control, uint32_t stages, float* sums, int32_t firstPixel,
                      int32_t endPixel, int32_t firstChannel, int32_t endChannel)
      : p_(params),
        control_(control),
        stages_(stages),
        sums_(sums),
        firstPixel_(firstPixel),
        endPixel_(endPixel),
        firstChannel_(firstChannel),
        endChannel_(endChannel) {}

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
      const int32_t own = ownChannel(i), channel = firstChannel_ + own;
      if (own >= kChannels || channel >= e.columns) continue;
      if (e.bias != nullptr) fetched.bias[i] = biasNumber(biasOf(e), channel);
      if (!(kIsLean && kIsHalf) && e.columnScale != nullptr) fetched.scale[i] = e.columnScale[channel];
    }
    if constexpr (kIsHalf) {
      if (p_.residualWaits && finishes) fetchResidual(warp);
    }
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
        const LeanBytes lean(p_.epilogue);
        bias = lean.biasOf(bias), scale = lean.factorOf(scale);
      }
      control_.bias[own] = bias;
      control_.scale[own] = scale;
    }
  }

  __device__ __forceinline__ void finish(const Sum (&sums)[kChannels / 2]) const {
    const uint32_t warp = threadIdx.x / 32;
    if constexpr (!kIsLean) {
      finishAny(sums, warp);
    } else if constexpr (kIsHalf) {
      withLean(p_.lean, [&](auto tag) {
        stageLean<decltype(tag)::kLean>(sums, warp);
        copyPieces<2, 16>(warp);
      });
    } else {
      storeLeanBytes(sums, warp);
    }
  }

 private:
  __device__ __forceinline__ void finishAny(const Sum (&sums)[kChannels / 2], uint32_t warp) const {
    if constexpr (kIsHalf)
      if (p_.rectifiesNarrow) return stageLean<Lean::Rectified>(sums, warp), copyOut<2>(warp);
    float d[kChannels / 2];
    const bool isRaw = kHasIntegers && p_.epilogue.outputType == gemm::NumberType::S32;
#pragma unroll
    for (int32_t i = 0; i < kChannels / 2; ++i) {
      if constexpr (kHasIntegers)
        d[i] = isRaw ? __int_as_float(sums[i]) : __int2float_rn(sums[i]);
      else
        d[i] = sums[i];
    }
    if (!isRaw) scaleAndAddBias(d);
    if constexpr (kIsHalf) {
      if (p_.residualWaits) addWaitingResidual(d, warp);
      if (p_.packed != Packed::No)
        storeHalves<typename Kind::Element>(d, warp);
      else
        storeComputed(d, warp, isRaw);
    } else if (p_.packed == Packed::Halves) {
      storeHalves<__half>(d, warp);
    } else if (p_.packed == Packed::Bytes) {
      storeBytes(d, warp);
    } else {
      storeComputed(d, warp, isRaw);
    }
  }

  static __device__ __forceinline__ int32_t ownChannel(int32_t i) {
    return static_cast<int32_t>(threadIdx.x) + i * static_cast<int32_t>(kConsumers);
  }

  // ---- The warp's rows in shared memory -----------------------------------------------------------------------------------
  /// Where a warp's 16 rows of outputs, and of the residual before them, begin.
  template <int32_t kElementBytes>
  __device__ __forceinline__ uint32_t staged(uint32_t warp) const {
    return stages_ + static_cast<uint32_t>(p_.stagingOffset) + warp * (16 * stagedPitch(kChannels, kElementBytes));
  }
  /// A lane's address for four matrices: number m has rows 8 * (m % 2).. of the warp's 16, channels 8 * (m / 2).. from fragment j
  /// on.
  static __device__ __forceinline__ uint32_t stagedMatrices(uint32_t rows, int32_t j) {
    const uint32_t lane = threadIdx.x % 32;
    return rows + lane % 16 * stagedPitch(kChannels, 2) + (static_cast<uint32_t>(j) + lane / 16) * 16;
  }
  /// Calls body(address, pixel, channel, exists) for the pieces of the warp's rows: neighbouring lanes have neighbouring pieces.
  template <int32_t kElementBytes, int32_t kBytes, class Body>
  __device__ __forceinline__ void forEachPiece(uint32_t warp, Body&& body) const {
    constexpr int32_t kPieces = kChannels * kElementBytes / kBytes, kTurns = (16 * kPieces + 31) / 32;
    constexpr int32_t kUnrolled = kTurns < 8 ? kTurns : 8;
    constexpr bool kAreWhole = 16 * kPieces % 32 == 0;
#pragma unroll kUnrolled
    for (int32_t i = 0; i < kTurns; ++i) {
      const int32_t piece = i * 32 + static_cast<int32_t>(threadIdx.x % 32), row = piece / kPieces, column = piece % kPieces;
      const int32_t pixel = firstPixel_ + static_cast<int32_t>(warp) * 16 + row;
      const int32_t channel = firstChannel_ + column * (kBytes / kElementBytes);
      body(staged<kElementBytes>(warp) + static_cast<uint32_t>(row * stagedPitch(kChannels, kElementBytes) + column * kBytes),
           pixel, channel, (kAreWhole || row < 16) && pixel < endPixel_ && channel < endChannel_);
    }
  }
  /// Calls body(bytes) with what rows consist of; false where that is single elements, and kMayBeElements.
  template <bool kMayBeElements = true, class Body>
  __device__ __forceinline__ bool inPieces(Body&& body) const {
    if (p_.pieceBytes == 16)
      body(std::integral_constant<int32_t, 16>());
    else if (p_.pieceBytes == 8)
      body(std::integral_constant<int32_t, 8>());
    else if (!kMayBeElements || p_.pieceBytes == 4)
      body(std::integral_constant<int32_t, 4>());
    else
      return false;
    return true;
  }
  /// The rows that the warp has staged, to global memory.
  template <int32_t kElementBytes>
  __device__ __forceinline__ void copyOut(uint32_t warp) const {
    if (!inPieces([&](auto bytes) { copyPieces<kElementBytes, decltype(bytes)::value>(warp); }))
      copyUnaligned<kElementBytes>(warp, [](const uint4& vector) { return vector; });
  }
  template <int32_t kElementBytes, int32_t kBytes>
  __device__ __forceinline__ void copyPieces(uint32_t warp) const {
    auto* const output = static_cast<uint8_t*>(p_.epilogue.output);
    forEachPiece<kElementBytes, kBytes>(warp, [&](uint32_t address, int32_t pixel, int32_t channel, bool exists) {
      if (!exists) return;
      uint8_t* const to = output + pixel * p_.epilogue.outputPitch + channel * kElementBytes;
      if constexpr (kBytes == 16) {
        uint4 channels;
        ptx::loadShared16Bytes(address, channels.x, channels.y, channels.z, channels.w);
        *reinterpret_cast<uint4*>(to) = channels;
      } else if constexpr (kBytes == 8) {
        uint2 channels;
        ptx::loadShared8Bytes(address, channels.x, channels.y);
        *reinterpret_cast<uint2*>(to) = channels;
      } else {
        *reinterpret_cast<uint32_t*>(to) = ptx::loadShared4Bytes(address);
      }
    });
  }
  /// Rows that begin anywhere. ordered(vector): of a staged row, its channels in order.
  template <int32_t kElementBytes, class Ordered>
  __device__ __forceinline__ void copyUnaligned(uint32_t warp, Ordered&& ordered) const {
    auto* const output = static_cast<uint8_t*>(p_.epilogue.output) + firstChannel_ * kElementBytes;
    const int32_t bytes = min(kChannels, endChannel_ - firstChannel_) * kElementBytes;
    storeUnalignedRows<kElementBytes, 16, kChannels * kElementBytes / 16>(
        bytes,
        [&](int32_t row) {
          const int32_t pixel = firstPixel_ + static_cast<int32_t>(warp) * 16 + row;
          return pixel < endPixel_ ? output + pixel * p_.epilogue.outputPitch : nullptr;
        },
        [&](int32_t row, int32_t i) {
          uint4 vector;
          ptx::loadShared16Bytes(
              staged<kElementBytes>(warp) + static_cast<uint32_t>(row * stagedPitch(kChannels, kElementBytes) + i * 16), vector.x,
              vector.y, vector.z, vector.w);
          return ordered(vector);
        });
  }

  // ---- Scales, bias, residual ---------------------------------------------------------------------------------------------
  /// It has rows of whole 4 bytes, whatever those of the outputs have.
  __device__ __forceinline__ void fetchResidual(uint32_t warp) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const auto* const residual = static_cast<const uint8_t*>(e.residual);
    const auto fetchPieces = [&](auto bytes) {
      constexpr int32_t kBytes = decltype(bytes)::value;
      forEachPiece<2, kBytes>(warp, [&](uint32_t address, int32_t pixel, int32_t channel, bool exists) {
        const auto* const from = exists ? residual + pixel * e.residualPitch + channel * 2 : residual;
        ptx::copyAsync<kBytes>(address, from, exists ? kBytes : 0);
      });
    };
    if constexpr (kIsLean)
      fetchPieces(std::integral_constant<int32_t, 16>());
    else
      inPieces<false>(fetchPieces);
    ptx::copyAsyncCommitGroup();  // site: residual_asked_for
  }

  __device__ __forceinline__ void scaleAndAddBias(float (&d)[kChannels / 2]) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    if (e.alpha != 1.0f) {
#pragma unroll
      for (int32_t i = 0; i < kChannels / 2; ++i) d[i] *= e.alpha;
    }
    const auto forColumns = [](const float* values, auto&& body) {
#pragma unroll
      for (int32_t j = 0; j < kFragments; ++j) body(j, *reinterpret_cast<const float2*>(values + j * 8 + threadIdx.x % 4 * 2));
    };
    if (e.columnScale != nullptr)
      forColumns(control_.scale, [&](int32_t j, float2 two) {
        d[4 * j] *= two.x, d[4 * j + 1] *= two.y, d[4 * j + 2] *= two.x, d[4 * j + 3] *= two.y;
      });
    if (e.bias != nullptr)
      forColumns(control_.bias, [&](int32_t j, float2 two) {
        d[4 * j] += two.x, d[4 * j + 1] += two.y, d[4 * j + 2] += two.x, d[4 * j + 3] += two.y;
      });
  }

  __device__ __forceinline__ void awaitResidual() const {
    ptx::copyAsyncWaitGroup<0>();  // site: residual_there
    __syncwarp();                  // site: residual_there
  }
  __device__ __forceinline__ void addWaitingResidual(float (&d)[kChannels / 2], uint32_t warp) const {
    const float beta = p_.epilogue.beta;
    awaitResidual();
#pragma unroll
    for (int32_t j = 0; j < kFragments; j += 2) {
      uint32_t matrices[4];
      ptx::loadMatrices(matrices, stagedMatrices(staged<2>(warp), j));
#pragma unroll
      for (int32_t i = 0; i < 4; ++i)
        addResidual<typename Kind::Element>(d[4 * j + 2 * i], d[4 * j + 2 * i + 1], beta, matrices[i]);
    }
  }

  // ---- Outputs --------------------------------------------------------------------------------------------------------------
  /// Outputs as Lean says. A residual's matrices are where those of the output will be.
  template <Lean kLean>
  __device__ __forceinline__ void stageLean(const float (&d)[kChannels / 2], uint32_t warp) const {
    using Element = typename Kind::Element;
    const uint32_t least = leastPair<Element>(p_.epilogue.activation == gemm::Activation::Relu);
    const float* const bias = control_.bias + threadIdx.x % 4 * 2;
    if constexpr (kLean == Lean::Residual) awaitResidual();
#pragma unroll
    for (int32_t j = 0; j < kFragments; j += 2) {
      uint32_t residual[4] = {}, matrices[4];
      if constexpr (kLean == Lean::Residual) ptx::loadMatrices(residual, stagedMatrices(staged<2>(warp), j));
      float v[8];
#pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        const float2 two = *reinterpret_cast<const float2*>(bias + (j + i / 2) * 8);
        v[2 * i] = d[4 * j + 2 * i] + two.x, v[2 * i + 1] = d[4 * j + 2 * i + 1] + two.y;
      }
      packLean<Element, kLean>(p_.epilogue, least, v, residual, matrices);
      ptx::storeMatrices(stagedMatrices(staged<2>(warp), j), matrices);
    }
    __syncwarp();
  }

  /// As isLeanBytes says. Words have a pair of channels of fragment j and one of j + 1, which `copyOrdered` tells apart.
  __device__ __forceinline__ void storeLeanBytes(const Sum (&sums)[kChannels / 2], uint32_t warp) const {
    const LeanBytes lean(p_.epilogue);
    const int32_t own = static_cast<int32_t>(threadIdx.x % 4 * 2);
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
        words[row] = lean.packed<kHasIntegers>(v[0], v[1], v[2], v[3]);
      }
    };
    // As matrices of pairs of bytes: number m has rows 8 * (m % 2).., channels 16 * (m / 2).. from fragment j on.
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t rows = staged<1>(warp) + lane % 16 * stagedPitch(kChannels, 1) + lane / 16 * 16;
#pragma unroll
    for (int32_t j = 0; j < kFragments; j += 4) {
      uint32_t first[2], second[2];
      wordsOf(j, first);
      if (j + 2 < kFragments) {
        wordsOf(j + 2, second);
        ptx::storeMatrices(rows + j * 8, {first[0], first[1], second[0], second[1]});
      } else {
        ptx::storeMatrices(rows + j * 8, first[0], first[1]);
      }
    }
    __syncwarp();
    if (!inPieces([&](auto bytes) { copyOrdered<decltype(bytes)::value>(warp); }))
      copyUnaligned<1>(warp, [](const uint4& mixed) { return orderedChannels(mixed); });
  }
  /// Of words {2t, 2t + 1, 2t + 8, 2t + 9}, t = 0..3, of 16 channels.
  static __device__ __forceinline__ uint4 orderedChannels(const uint4& mixed) {
    return make_uint4(__byte_perm(mixed.x, mixed.y, 0x5410), __byte_perm(mixed.z, mixed.w, 0x5410),
                      __byte_perm(mixed.x, mixed.y, 0x7632), __byte_perm(mixed.z, mixed.w, 0x7632));
  }
  /// Rows of such words to global memory.
  template <int32_t kBytes>
  __device__ __forceinline__ void copyOrdered(uint32_t warp) const {
    auto* const output = static_cast<uint8_t*>(p_.epilogue.output);
    forEachPiece<1, 16>(warp, [&](uint32_t address, int32_t pixel, int32_t channel, bool exists) {
      if (!exists) return;
      uint4 mixed;
      ptx::loadShared16Bytes(address, mixed.x, mixed.y, mixed.z, mixed.w);
      const uint4 words = orderedChannels(mixed);
      uint8_t* const to = output + pixel * p_.epilogue.outputPitch + channel;
      if constexpr (kBytes == 16) {
        *reinterpret_cast<uint4*>(to) = words;
      } else if constexpr (kBytes == 8) {
        *reinterpret_cast<uint2*>(to) = make_uint2(words.x, words.y);
        if (channel + 8 < endChannel_) *reinterpret_cast<uint2*>(to + 8) = make_uint2(words.z, words.w);
      } else {
        auto* const one = reinterpret_cast<uint32_t*>(to);
        one[0] = words.x;
        if (channel + 4 < endChannel_) one[1] = words.y;
        if (channel + 8 < endChannel_) one[2] = words.z;
        if (channel + 12 < endChannel_) one[3] = words.w;
      }
    });
  }

  /// Calls body(j, v) with what becomes of the sums of fragments j and j + 1. One loop without an activation, which fetches no code
  /// of others, and one with any. (With one choice for all sums ptxas spills them, and a loop that is once in the program has to
  /// select its sums: on an H200 layers with SiLU took 1.02 times as long.)
  template <class Body>
  __device__ __forceinline__ void forPairs(const float (&d)[kChannels / 2], bool activates, Body&& body) const {
    const auto forAll = [&](auto&& activate) {
#pragma unroll
      for (int32_t j = 0; j < kFragments; j += 2) {
        float v[8];
#pragma unroll
        for (int32_t i = 0; i < 8; ++i) v[i] = d[4 * j + i];
        activate(v);
        body(j, v);
      }
    };
    if (kIsHalf && !activates)
      forAll([](float(&)[8]) {});
    else
      forAll([&](float(&v)[8]) {
        if (activates) gemm::activate(p_.epilogue, v);
      });
  }

  /// An activation or none, and outputs of 16 bits.
  template <class Half>
  __device__ __forceinline__ void storeHalves(const float (&d)[kChannels / 2], uint32_t warp) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const bool rectifies = e.activation == gemm::Activation::Relu, activates = !rectifies && e.activation != gemm::Activation::None;
    const uint32_t least = leastPair<Half>(rectifies);
    forPairs(d, activates, [&](int32_t j, const float(&v)[8]) {
      uint32_t matrices[4];
#pragma unroll
      for (int32_t i = 0; i < 4; ++i) matrices[i] = atLeast<Half>(packPair<Half>(v[2 * i], v[2 * i + 1]), least);
      ptx::storeMatrices(stagedMatrices(staged<2>(warp), j), matrices);
    });
    __syncwarp();
    copyOut<2>(warp);
  }

  /// Where a lane's pairs of 8-bit outputs wait.
  __device__ __forceinline__ uint32_t stagedPairs(uint32_t warp) const {
    const uint32_t lane = threadIdx.x % 32;
    return staged<1>(warp) + lane / 4 * stagedPitch(kChannels, 1) + lane % 4 * 2;
  }
  /// A lane's pairs of fragments j and j + 1, in both rows; `pack` makes bytes of four numbers.
  template <class Pack>
  static __device__ __forceinline__ void storePairs(uint32_t at, int32_t j, const float (&v)[8], Pack&& pack) {
#pragma unroll
    for (int32_t row = 0; row < 2; ++row) {
      const uint32_t pairs = pack(v[2 * row], v[2 * row + 1], v[4 + 2 * row], v[5 + 2 * row]);
      const uint32_t to = at + row * 8 * stagedPitch(kChannels, 1) + j * 8;
      ptx::storeShared2Bytes(to, static_cast<uint16_t>(pairs));
      ptx::storeShared2Bytes(to + 8, static_cast<uint16_t>(pairs >> 16));
    }
  }

  /// The same, an output scale and a zero point, and outputs of 8 bits: e4m3 of f32 sums, s8 or u8 of integers.
  __device__ __forceinline__ void storeBytes(const float (&d)[kChannels / 2], uint32_t warp) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const uint32_t at = stagedPairs(warp);
    const bool isSigned = e.outputType == gemm::NumberType::S8;
    forPairs(d, e.activation != gemm::Activation::None, [&](int32_t j, const float(&v)[8]) {
      float scaled[8];
#pragma unroll
      for (int32_t i = 0; i < 8; ++i) scaled[i] = v[i] * e.outputScale;
      storePairs(at, j, scaled, [&](float a, float b, float c, float d) {
        if constexpr (kHasIntegers) {
          const auto number = [&](float one) { return gemm::integerOf(one, e.outputZeroPoint); };
          return isSigned ? ptx::packS8(number(a), number(b), number(c), number(d))
                          : ptx::packU8(number(a), number(b), number(c), number(d));
        } else {
          return ptx::packE4m3(a, b) | ptx::packE4m3(c, d) << 16;
        }
      });
    });
    __syncwarp();
    copyOut<1>(warp);
  }

  /// Everything else: the sums change hands in shared memory, so that a thread has neighbouring channels of a pixel.
  __device__ __forceinline__ void storeComputed(const float (&d)[kChannels / 2], uint32_t warp, bool isRaw) const {
    constexpr int32_t kPitch = kChannels + kSumsPadFloats, kSegments = kChannels / kSegmentColumns;
    const gemm::EpilogueParams& e = p_.epilogue;
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    float* const sums = sums_ + static_cast<int32_t>(warp) * 16 * kPitch;
#pragma unroll
    for (int32_t i = 0; i < kChannels / 4; ++i)
      *reinterpret_cast<float2*>(sums + (lane / 4 + i % 2 * 8) * kPitch + i / 2 * 8 + lane % 4 * 2) =
          make_float2(d[2 * i], d[2 * i + 1]);
    __syncwarp();
    uint32_t largest = 0;
#pragma unroll 1
    for (int32_t i = lane; i < 16 * kSegments; i += 32) {
      const int32_t row = i / kSegments, column = i % kSegments * kSegmentColumns;
      const int32_t pixel = firstPixel_ + static_cast<int32_t>(warp) * 16 + row, channel = firstChannel_ + column;
      if (pixel >= endPixel_ || channel >= endChannel_) continue;
      float v[kSegmentColumns];
#pragma unroll
      for (int32_t j = 0; j < kSegmentColumns; j += 4) {
        const float4 four = *reinterpret_cast<const float4*>(sums + row * kPitch + column + j);
        v[j] = four.x, v[j + 1] = four.y, v[j + 2] = four.z, v[j + 3] = four.w;
      }
      if (!isRaw) {
        if (!p_.residualWaits) gemm::addResidual(e, pixel, channel, v);
        gemm::activateSegment(e, pixel, channel, v, largest);
      }
      gemm::storeSegment(e, pixel, channel, v);
    }
    __syncwarp();  // site: row_staged
    gemm::mergeLargest(e, largest);
  }

  const Params& p_;
  Control<kChannels>& control_;
  const uint32_t stages_;
  float* const sums_;
  const int32_t firstPixel_, endPixel_, firstChannel_, endChannel_;
};

}  // namespace shiftconv::kernels::im2col
