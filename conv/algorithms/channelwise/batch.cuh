// Many output pixels: a thread walks down its rows. Every input row that it meets is loaded and converted once and adds to the sums
// of all output rows that reach it; meanwhile the next one is on its way. Of filters with depth a step down takes the input row of
// every plane, and their weights are read from shared memory plane by plane: all of them would not fit in registers.
#pragma once

#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/operands.cuh"
#include "conv/algorithms/channelwise/rows.cuh"
#include "conv/algorithms/channelwise/weights.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns, Finish kFinish, bool kIsDilated,
          bool kIsDeep>
class Walk {
  static constexpr int32_t kElementBytes = Operands::kBytes;
  using Own = Rows<Operands, kFilter, kStride, kChannels, kColumns>;
  using Pixels = typename Own::Pixels;
  using Gap = Spacing<kIsDilated>;
  using PlaneWeights = Weights<kChannels, kFilter * kFilter, kElementBytes>;
  static constexpr int32_t kPixels = Own::kPixels, kSums = Own::kSums;
  /// Output rows that reach the kStride input rows of a step: filter row r = e + kStride * j of the j-th youngest takes input row
  /// e.
  static constexpr int32_t kReached = (kFilter + kStride - 1) / kStride;

 public:
  __device__ explicit Walk(const Params& p) : p_(p), place_(p) {}

  __device__ __forceinline__ void run(uint8_t* shared) {
    start();
    ptx::awaitPrerequisitesWith<kElementBytes == 1>(next_, p_);
    load();
    Finisher<kFinish, kChannels, kColumns, kElementBytes, kIsDilated> finisher(p_, place_);
    fetchWeights(shared);
    begin();
    const int32_t steps = p_.rows + kReached - 1;
#pragma unroll 1
    for (int32_t step = 0; step < steps; ++step) {
      OutputRow done;
      if constexpr (kIsDeep) {
        done = doneAfter(step);
        if (done.isWhole) finisher.load(done.row, done.exists);
#pragma unroll 1
        for (int32_t t = firstTap_; t < endTap_; ++t) {
          Pixels pixels[kStride];
          unpack(pixels);
          load();
          PlaneWeights weights;
          weights.loadPlane(p_, place_, t, shared);
          withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) { readFilter(decoder, weights); });
          addRows(step, pixels);
        }
      } else {
        Pixels pixels[kStride];
        unpack(pixels);
        load();
        done = doneAfter(step);
        if (done.isWhole) finisher.load(done.row, done.exists);
        addRows(step, pixels);
      }
      if (done.isWhole) {
        float numbers[kSums];
        finisher.store(numbersOf(sum_[kReached - 1], numbers), done.row, done.exists);
      }
#pragma unroll
      for (int32_t j = kReached - 1; j > 0; --j)
#pragma unroll
        for (int32_t i = 0; i < kSums; ++i) sum_[j][i] = sum_[j - 1][i];
      begin();
    }
    finisher.end();
    ptx::launchDependents();
  }

 private:
  struct OutputRow {
    int32_t row;
    bool isWhole, exists;
  };
  /// The one that has all its taps after a step.
  __device__ __forceinline__ OutputRow doneAfter(int32_t step) const {
    const int32_t done = step - (kReached - 1), row = place_.row + done * Gap::outputsDown(p_);
    return {row, done >= 0, place_.exists && row < p_.outputsDown};
  }

  __device__ __forceinline__ void start() {
    int32_t d = place_.plane * p_.depth.stride - p_.depth.padBefore;
    if constexpr (kIsDeep) {
      const DepthTaps taps(p_, place_.plane);
      firstTap_ = nextTap_ = taps.first, endTap_ = taps.end, d = taps.firstPlane;
    }
    nextRow_ = place_.row * kStride - p_.down.padBefore;
    firstColumn_ = place_.column * kStride - p_.across.padBefore;
    next_ = place_.input(p_, d, nextRow_, firstColumn_);
    const int32_t toLast = min((p_.rows - 1) * Gap::outputsDown(p_), p_.outputsDown - 1 - place_.row);  // output rows
    const int32_t lastRow = nextRow_ + toLast * kStride + (kFilter - 1) * Gap::tapsDown(p_);
    endRow_ = place_.exists && isInside(d, p_.depth.extent) ? min(p_.down.extent, lastRow + 1) : 0;
  }

  /// The input rows of the next step.
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int32_t e = 0; e < kStride; ++e) {
      const bool hasRow = isInside(nextRow_ + e, endRow_);
#pragma unroll
      for (int32_t x = 0; x < kPixels; ++x)
        input_[e][x].load(next_ + x * Gap::tapColumn(p_),
                          hasRow && isInside(firstColumn_ + x * Gap::tapsAcross(p_), p_.across.extent));
      next_ += Gap::tapRow(p_);
    }
    if constexpr (kIsDeep) {
      // The same rows of the next plane, or the next ones of the first.
      const int64_t planeBytes = depthTapBytes(p_);
      const bool wasLast = ++nextTap_ == endTap_;
      next_ += wasLast ? (firstTap_ + 1 - endTap_) * planeBytes : planeBytes - kStride * Gap::tapRow(p_);
      if (!wasLast) return;
      nextTap_ = firstTap_;
    }
    nextRow_ += kStride * Gap::tapsDown(p_);
  }

  __device__ __forceinline__ void unpack(Pixels (&pixels)[kStride]) const {
    withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) {
#pragma unroll
      for (int32_t e = 0; e < kStride; ++e) pixels[e].unpack(decoder, input_[e]);
    });
  }

  __device__ __forceinline__ void fetchWeights(uint8_t* shared) {
    if constexpr (kIsDeep) {
      stagePlanes<kFilter * kFilter, kElementBytes>(p_, shared);
#pragma unroll 1
      for (int32_t t = firstTap_; t < endTap_; ++t) {
        PlaneWeights weights;
        weights.loadPlane(p_, place_, t, shared);
        withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) { start_.find(decoder, weights); });
      }
    } else {
      PlaneWeights weights;
      weights.fetch(p_, place_, shared);
      withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) {
        readFilter(decoder, weights);
        start_.find(decoder, weights);
      });
    }
  }
  template <class Decoder>
  __device__ __forceinline__ void readFilter(const Decoder& decoder, const PlaneWeights& weights) {
#pragma unroll
    for (int32_t r = 0; r < kFilter; ++r) filter_[r].unpack(decoder, weights, r);
  }

  /// The sums of a new output row.
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int32_t i = 0; i < kSums; ++i) sum_[0][i] = start_[i % kChannels];
  }

  __device__ __forceinline__ void addRows(int32_t step, const Pixels (&pixels)[kStride]) {
#pragma unroll
    for (int32_t j = kReached - 1; j >= 0; --j)
      if (j <= step && step - j < p_.rows) multiply(j, pixels);
  }
  __device__ __forceinline__ void multiply(int32_t j, const Pixels (&pixels)[kStride]) {
#pragma unroll
    for (int32_t e = 0; e < kStride; ++e) {
      const int32_t r = e + kStride * j;
      if (r < kFilter) Own::add(pixels[e], filter_[r], sum_[j]);
    }
  }

  const Params& p_;
  const Place<kChannels, kColumns, kElementBytes, kIsDilated> place_;
  const uint8_t* next_;
  int32_t nextRow_, endRow_, firstColumn_;
  int32_t firstTap_ = 0, endTap_ = 1, nextTap_ = 0;  ///< along the depth
  Channels<kChannels, kElementBytes> input_[kStride][kPixels];
  typename Own::Filter filter_[kFilter];
  typename Own::Start start_;
  typename Own::Sum sum_[kReached][kSums] = {};
};

}  // namespace shiftconv::kernels::channelwise
