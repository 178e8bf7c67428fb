// Many output pixels: a thread walks down its rows. Every input row that it meets is loaded and converted once and adds to the sums
// of all output rows that reach it; meanwhile the next one is on its way.
#pragma once

#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/operands.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns, Finish kFinish>
class Walk {
  static constexpr int32_t kElementBytes = Operands::kBytes;
  static constexpr int32_t kPixels = (kColumns - 1) * kStride + kFilter;
  static constexpr int32_t kSums = kColumns * kChannels;
  /// Output rows that reach the kStride input rows of a step: filter row r = e + kStride * j of the j-th youngest takes input row
  /// e.
  static constexpr int32_t kReached = (kFilter + kStride - 1) / kStride;

 public:
  __device__ explicit Walk(const Params& p) : p_(p), place_(p) {}

  __device__ __forceinline__ void run(uint8_t* shared) {
    start();
    ptx::awaitPrerequisitesWith(next_);
    load();
    Finisher<kFinish, kChannels, kColumns, kElementBytes> finisher(p_, place_);
    fetchWeights(shared);
    const int32_t steps = p_.rows + kReached - 1;
#pragma unroll 1
    for (int32_t step = 0; step < steps; ++step) {
      float value[kStride][kPixels][kChannels];
      unpack(value);
      load();
      const int32_t done = step - (kReached - 1), row = place_.row + done;
      const bool isDone = done >= 0, exists = place_.exists && row < p_.outputHeight;
      if (isDone) finisher.load(row, exists);
#pragma unroll
      for (int32_t j = kReached - 1; j >= 0; --j)
        if (j <= step && step - j < p_.rows) multiply(j, value);
      if (isDone) finisher.store(sum_[kReached - 1], row, exists);
#pragma unroll
      for (int32_t j = kReached - 1; j > 0; --j)
#pragma unroll
        for (int32_t i = 0; i < kSums; ++i) sum_[j][i] = sum_[j - 1][i];
#pragma unroll
      for (int32_t i = 0; i < kSums; ++i) sum_[0][i] = 0;
    }
    finisher.end();
    ptx::launchDependents();
  }

 private:
  __device__ __forceinline__ void start() {
    const int32_t d = place_.plane * p_.depth.stride - p_.depth.padBefore;
    nextRow_ = place_.row * kStride - p_.height.padBefore;
    firstColumn_ = place_.column * kStride - p_.width.padBefore;
    next_ = place_.input(p_, d, nextRow_, firstColumn_);
    const int32_t rows = min(p_.rows, p_.outputHeight - place_.row);
    endRow_ = place_.exists && isInside(d, p_.depth.extent) ? min(p_.height.extent, nextRow_ + (rows - 1) * kStride + kFilter) : 0;
  }

  /// The input rows of the next step.
  __device__ __forceinline__ void load() {
    const int64_t rowBytes = int64_t{p_.width.extent} * p_.pixelBytes;
#pragma unroll
    for (int32_t e = 0; e < kStride; ++e) {
      const bool hasRow = isInside(nextRow_ + e, endRow_);
#pragma unroll
      for (int32_t x = 0; x < kPixels; ++x)
        input_[e][x].load(next_ + x * p_.pixelBytes, hasRow && isInside(firstColumn_ + x, p_.width.extent));
      next_ += rowBytes;
    }
    nextRow_ += kStride;
  }

  __device__ __forceinline__ void unpack(float (&value)[kStride][kPixels][kChannels]) const {
    withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) {
#pragma unroll
      for (int32_t e = 0; e < kStride; ++e)
#pragma unroll
        for (int32_t x = 0; x < kPixels; ++x) decoder.input(input_[e][x], value[e][x]);
    });
  }

  __device__ __forceinline__ void fetchWeights(uint8_t* shared) {
    Weights<kChannels, kFilter * kFilter, kElementBytes> weights;
    weights.fetch(p_, place_, shared);
    withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) {
#pragma unroll
      for (int32_t tap = 0; tap < kFilter * kFilter; ++tap)
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i) weight_[tap][i] = weights.value(decoder, i, tap);
    });
  }

  __device__ __forceinline__ void multiply(int32_t j, const float (&value)[kStride][kPixels][kChannels]) {
#pragma unroll
    for (int32_t e = 0; e < kStride; ++e) {
      const int32_t r = e + kStride * j;
      if (r >= kFilter) continue;
#pragma unroll
      for (int32_t s = 0; s < kFilter; ++s)
#pragma unroll
        for (int32_t q = 0; q < kColumns; ++q)
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i)
            sum_[j][q * kChannels + i] =
                fmaf(value[e][q * kStride + s][i], weight_[r * kFilter + s][i], sum_[j][q * kChannels + i]);
    }
  }

  const Params& p_;
  const Place<kChannels, kColumns, kElementBytes> place_;
  const uint8_t* next_;
  int32_t nextRow_, endRow_, firstColumn_;
  Channels<kChannels, kElementBytes> input_[kStride][kPixels];
  float weight_[kFilter * kFilter][kChannels];
  float sum_[kReached][kSums] = {};
};

}  // namespace shiftconv::kernels::channelwise
