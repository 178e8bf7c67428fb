// Any filter: one, two or three dimensions, strides, dilations, several filters a channel. Some taps of a filter row at a time, so
// that their loads overlap. Filter rows outside of the image are skipped. Without stride across a window of pixels slides along the
// row. What is called a row is a column of the image where the filter is a single column.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/float_taps.cuh"
#include "conv/algorithms/channelwise/integer_taps.cuh"
#include "conv/algorithms/channelwise/operands.cuh"
#include "conv/algorithms/channelwise/weights.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kChannels, int32_t kColumns, Finish kFinish>
class Taps {
  static constexpr int32_t kElementBytes = Operands::kBytes;
  using Row = std::conditional_t<Operands::kIsInteger, IntegerTaps<Operands, kChannels, kColumns>,
                                 FloatTaps<Operands, kChannels, kColumns, kFinish == Finish::Plain>>;

 public:
  __device__ explicit Taps(const Params& p) : p_(p), place_(p), row_(p) {}

  __device__ __forceinline__ void run(uint8_t* shared) {
    ptx::awaitPrerequisitesWith<kElementBytes == 1>(p_.input, p_);
    const int32_t taps = p_.depth.taps * p_.down.taps * p_.across.taps;
    if (p_.weightBytes != 0) {
      stageWeights<kElementBytes>(p_, shared, taps);
      addAll(shared + place_.channelThread * kChannels * taps * kElementBytes);
    } else {
      addAll(static_cast<const uint8_t*>(p_.filter) + place_.channel * int64_t{taps * kElementBytes});
    }
    float numbers[kColumns * kChannels];
    row_.finish(numbers);
    Finisher<kFinish, kChannels, kColumns, kElementBytes, true> finisher(p_, place_);
    finisher.load(place_.row, place_.exists);
    finisher.store(numbers, place_.row, place_.exists);
    __syncwarp();
    finisher.end();
    ptx::launchDependents();
  }

 private:
  __device__ __forceinline__ void addAll(const uint8_t* weights) {
    // Fewer pixels at once where a filter row has few taps: each asks whether it exists.
    constexpr int32_t kFew = 4, kMany = 8;
    const int32_t rowTaps = p_.across.taps;
    const int32_t w = place_.column * p_.across.stride - p_.across.padBefore;
    for (int32_t t = 0; t < p_.depth.taps; ++t) {
      const int32_t d = place_.plane * p_.depth.stride + t * p_.depth.dilation - p_.depth.padBefore;
      for (int32_t r = 0; r < p_.down.taps; ++r, weights += rowTaps * kElementBytes) {
        const int32_t h = place_.row * p_.down.stride + r * p_.down.dilation - p_.down.padBefore;
        if (!place_.exists || !isInside(d, p_.depth.extent) || !isInside(h, p_.down.extent)) continue;
        const uint8_t* const from = place_.input(p_, d, h, w);
        if (!p_.slides)
          row_.add(from, w, row_.weightsAt(weights));
        else if (rowTaps <= kFew)
          row_.template addSliding<kFew>(from, w, row_.weightsAt(weights));
        else
          row_.template addSliding<kMany>(from, w, row_.weightsAt(weights));
      }
    }
  }

  const Params& p_;
  const Place<kChannels, kColumns, kElementBytes, true> place_;
  Row row_;
};

}  // namespace shiftconv::kernels::channelwise
