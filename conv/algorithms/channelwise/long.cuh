// Filters with rows of many taps, along which a window slides, and many outputs: the CTA makes words of its filters (StagedWords),
// some rows of them at a time, and a thread has more columns than in the form General, so that it loads less for each product. What
// is called a row may be a column, or lie along the depth, as there.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/float_taps.cuh"
#include "conv/algorithms/channelwise/integer_taps.cuh"
#include "conv/algorithms/channelwise/operands.cuh"
#include "conv/algorithms/channelwise/staged_words.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kChannels, int32_t kColumns, Finish kFinish>
class LongRows {
  static_assert(kFinish == Finish::Plain);
  static constexpr int32_t kElementBytes = Operands::kBytes;
  static constexpr int32_t kAtOnce = 8;  ///< taps
  using Row = std::conditional_t<Operands::kIsInteger, IntegerTaps<Operands, kChannels, kColumns>,
                                 FloatTaps<Operands, kChannels, kColumns, true>>;

 public:
  __device__ LongRows(const Params& p, uint8_t* shared) : p_(p), place_(p), words_(p, shared), row_(p) {}

  __device__ __forceinline__ void run() {
    ptx::awaitPrerequisitesWith<kElementBytes == 1>(p_.input, p_);
    const int32_t w = place_.column * p_.across.stride - p_.across.padBefore;
    const uint32_t* const own = words_.own(place_.channelThread);
    int32_t stagedRow = p_.stagedRows;
    for (int32_t t = 0; t < p_.depth.taps; ++t) {
      for (int32_t r = 0; r < p_.down.taps; ++r, ++stagedRow) {
        if (stagedRow == p_.stagedRows) {
          stage(t, r);
          stagedRow = 0;
        }
        if (!hasRow(t, r)) continue;
        const uint32_t words = static_cast<uint32_t>(stagedRow) * p_.rowWords.divisor;
        row_.template addSliding<kAtOnce>(place_.input(p_, depthOf(t), heightOf(r), w), w,
                                          typename Row::StagedWeights{own + words * words_.pitch(), words_.pitch()});
      }
    }
    float numbers[kColumns * kChannels];
    row_.finish(numbers);
    Finisher<kFinish, kChannels, kColumns, kElementBytes, true> finisher(p_, place_);
    finisher.load(place_.row, place_.exists);
    finisher.store(numbers, place_.row, place_.exists);
    ptx::launchDependents();
  }

 private:
  __device__ __forceinline__ int32_t depthOf(int32_t t) const {
    return place_.plane * p_.depth.stride + t * p_.depth.dilation - p_.depth.padBefore;
  }
  __device__ __forceinline__ int32_t heightOf(int32_t r) const {
    return place_.row * p_.down.stride + r * p_.down.dilation - p_.down.padBefore;
  }
  __device__ __forceinline__ bool hasRow(int32_t t, int32_t r) const {
    return place_.exists && isInside(depthOf(t), p_.depth.extent) && isInside(heightOf(r), p_.down.extent);
  }

  /// Filter rows from (t, r) on, as many as are staged at once, if some thread has one of them.
  __device__ __forceinline__ void stage(int32_t t, int32_t r) const {
    const int32_t down = p_.down.taps, rowTaps = p_.across.taps, left = (p_.depth.taps - t) * down - r;
    const int32_t rows = min(p_.stagedRows, left);
    if (p_.stagedRows < p_.depth.taps * down) {
      bool isWanted = false;
      for (int32_t i = 0, ownT = t, ownR = r; i < rows; ++i) {
        isWanted = isWanted || hasRow(ownT, ownR);
        if (++ownR == down) ++ownT, ownR = 0;
      }
      // Also the barrier after which what was there has been read.
      if (!__syncthreads_or(isWanted)) return;
    }
    const int64_t filterBytes = int64_t{p_.depth.taps * down * rowTaps} * kElementBytes;
    const auto* const first = static_cast<const uint8_t*>(p_.filter) + (t * down + r) * rowTaps * kElementBytes;
    row_.withStagedWord([&](const auto& wordOf) {
      words_.stage(
          static_cast<uint32_t>(rows) * p_.rowWords.divisor, [&](uint32_t channel) { return first + channel * filterBytes; },
          [&](const uint8_t* own, uint32_t word) {
            if constexpr (Row::kTapsOfWord == 1) {
              return Row::rawWord(own + word * kElementBytes, 1);
            } else {
              const uint32_t row = p_.rowWords.quotient(word);
              const auto tap = static_cast<int32_t>((word - row * p_.rowWords.divisor) * Row::kTapsOfWord);
              return Row::rawWord(own + (static_cast<int32_t>(row) * rowTaps + tap) * kElementBytes, rowTaps - tap);
            }
          },
          wordOf);
    });
    __syncthreads();
  }

  const Params& p_;
  const Place<kChannels, kColumns, kElementBytes, true> place_;
  const StagedWords<kChannels> words_;
  Row row_;
};

}  // namespace shiftconv::kernels::channelwise
