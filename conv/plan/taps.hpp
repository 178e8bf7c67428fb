// How many filter taps lie inside an image, in a time that depends on no extent; and the taps as a window.
#pragma once

#include <cstdint>

#include "common/gemm/shape.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Sum of floor((first + i * step) / divisor) for i from 0 to count - 1. Requires count, first and step of at least 0, a divisor of
/// at least 1, and a sum below 2^62.
int64_t floorSum(int64_t count, int64_t divisor, int64_t step, int64_t first);

/// How many of the taps at all positions along an axis lie inside of it: pairs of a position i and a tap t with
/// 0 <= i * stride + t * dilation - padBefore < extent. The padding may be negative; positions and taps may be none.
int64_t tapsInside(int64_t extent, int64_t positions, int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore);

/// The taps of a filter as a window that moves over the input.
gemm::Window windowOf(const Problem& problem);

}  // namespace shiftconv::plan
