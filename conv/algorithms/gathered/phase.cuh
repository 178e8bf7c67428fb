// The phase of a transposed convolution that a CTA has a tile of. See params.hpp.
#pragma once

#include <cstdint>

#include "conv/algorithms/gathered/params.hpp"

namespace shiftconv::kernels::gathered {

inline constexpr int32_t kNoRow = 0x7fffffff;  ///< no output pixel

class Phase {
 public:
  __device__ Phase(const Phases& all, int32_t number) : all_(all), number_(number) {}

  __device__ __forceinline__ int32_t padBefore(int axis) const { return of(axis).padBefore; }
  __device__ __forceinline__ int32_t taps() const { return of(0).taps * of(1).taps * of(2).taps; }

  /// The output pixel at `at` of the phase, in the order of the tensor; kNoRow where there is none.
  __device__ __forceinline__ int32_t rowOf(bool exists, int32_t image, const int32_t (&at)[3]) const {
    int32_t row = image;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const int32_t position = at[axis] * all_.stride[axis] + along(axis);
      exists = exists && position < all_.outputs[axis];
      row = row * all_.outputs[axis] + position;
    }
    return exists ? row : kNoRow;
  }

  /// Where tap `tap` is among those of the phase along each axis; where it is in the filter.
  __device__ __forceinline__ int32_t place(int32_t tap, int32_t (&i)[3]) const {
    const int32_t taps[3] = {of(0).taps, of(1).taps, of(2).taps};
    i[0] = tap / taps[2] / taps[1], i[1] = tap / taps[2] % taps[1], i[2] = tap % taps[2];
    int32_t inFilter = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      inFilter = inFilter * all_.filterTaps[axis] + of(axis).firstTap + (taps[axis] - 1 - i[axis]) * all_.tapStep[axis];
    return inFilter;
  }

 private:
  /// The phase along an axis: 0 is the depth, 2 the width.
  __device__ __forceinline__ int32_t along(int axis) const {
    const int32_t width = all_.stride[2], height = all_.stride[1];
    return axis == 2 ? number_ % width : axis == 1 ? number_ / width % height : number_ / width / height;
  }
  __device__ __forceinline__ const AxisPhase& of(int axis) const { return all_.axis[axis][along(axis)]; }

  const Phases& all_;
  int32_t number_;
};

}  // namespace shiftconv::kernels::gathered
