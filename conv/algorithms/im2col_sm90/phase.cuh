// Which outputs a CTA of im2col_sm90 has a tile of: all of them, or a phase of a transposed convolution (phase.hpp).
#pragma once

#include <cstdint>

#include "common/gemm/window.hpp"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/phase.hpp"

namespace shiftconv::kernels::im2col {

/// Their pixels are numbered as they lie in the tensor. Nobody asks it for a tile or a row: calls that return their argument
/// changed the order of code, and a kernel spilled.
struct AllOutputs {
  static constexpr bool kArePhase = false;
  static __device__ __forceinline__ int32_t tapsX(const gemm::WindowAxis& axis) { return axis.taps; }
  static __device__ __forceinline__ int32_t tapsY(const gemm::WindowAxis& axis) { return axis.taps; }
  static __device__ __forceinline__ int32_t tapsZ(const gemm::WindowAxis& axis) { return axis.taps; }
};

class OutputsOfPhase {
 public:
  static constexpr bool kArePhase = true;
  static constexpr int32_t kNoRow = 0x7fffffff;  ///< no output pixel

  __device__ OutputsOfPhase(const Params& params, const Phases& all) : p_(params), all_(all) {}

  /// The tile among those of its phase, which is this one from then on.
  __device__ __forceinline__ uint32_t ownTile(uint32_t tile) {
    const uint32_t own = all_.count.quotient(tile), phase = tile - own * all_.count.divisor;
    const uint32_t rows = all_.x.stride.quotient(phase), planes = all_.y.stride.quotient(rows);
    x_ = phase - rows * all_.x.stride.divisor, y_ = rows - planes * all_.y.stride.divisor, z_ = planes;
    return own;
  }
  __device__ __forceinline__ int32_t tapsX(const gemm::WindowAxis&) const { return x().taps; }
  __device__ __forceinline__ int32_t tapsY(const gemm::WindowAxis&) const { return y().taps; }
  __device__ __forceinline__ int32_t tapsZ(const gemm::WindowAxis&) const { return z().taps; }
  __device__ __forceinline__ int32_t pixels() const { return all_.pixels; }
  __device__ __forceinline__ const AxisPhase& x() const { return all_.x.phases[x_]; }
  __device__ __forceinline__ const AxisPhase& y() const { return all_.y.phases[y_]; }
  __device__ __forceinline__ const AxisPhase& z() const { return all_.z.phases[z_]; }

  /// Of the filter, where tap (x, y, z) of the phase is.
  __device__ __forceinline__ int32_t filterTap(int32_t atX, int32_t atY, int32_t atZ) const {
    const int32_t column = x().firstTap + atX * all_.x.tapStep, row = y().firstTap + atY * all_.y.tapStep,
                  plane = z().firstTap + atZ * all_.z.tapStep;
    return (plane * all_.y.filterTaps + row) * all_.x.filterTaps + column;
  }

  /// Where a pixel of the phase lies in the tensor; kNoRow where its position has no output. Pixels after the last one are those of
  /// an image after the last one.
  __device__ __forceinline__ int32_t rowOf(int32_t pixel) const {
    const auto index = static_cast<uint32_t>(pixel);
    const uint32_t row = p_.positionsX.quotient(index), plane = p_.positionsY.quotient(row), image = p_.positionsZ.quotient(plane);
    const auto x = static_cast<int32_t>((index - row * p_.positionsX.divisor) * all_.x.stride.divisor + x_),
               y = static_cast<int32_t>((row - plane * p_.positionsY.divisor) * all_.y.stride.divisor + y_),
               z = static_cast<int32_t>((plane - image * p_.positionsZ.divisor) * all_.z.stride.divisor + z_);
    if (x >= all_.x.outputs || y >= all_.y.outputs || z >= all_.z.outputs) return kNoRow;
    return ((static_cast<int32_t>(image) * all_.z.outputs + z) * all_.y.outputs + y) * all_.x.outputs + x;
  }

 private:
  const Params& p_;
  const Phases& all_;
  uint32_t x_ = 0, y_ = 0, z_ = 0;  ///< rests
};

}  // namespace shiftconv::kernels::im2col
