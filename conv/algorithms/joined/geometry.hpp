// Which pixels `joined` takes for one, and the convolution that this makes.
#pragma once

#include <cstdint>
#include <optional>

#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

inline constexpr int64_t kJoinedBytes = 128;     ///< of joined pixels, at most: a row of the widest swizzle of TMA
inline constexpr int64_t kLeastPixelBytes = 16;  ///< below, the first layers of networks have kernels of their own

/// Along the rows of pixels.
struct Joining {
  int64_t pixels;       ///< of the input, that are taken for one
  int64_t outputs;      ///< likewise of the output
  int64_t firstColumn;  ///< where the first tap begins, from the first joined pixel of an output at the left edge; not above 0
  int64_t taps;         ///< of the joined filter
  int64_t tapColumns;   ///< from one to the next, a multiple of `pixels`
  int64_t padLeft, padRight;  ///< in joined pixels

  int64_t dilation() const { return tapColumns / pixels; }
};

/// As many pixels as fit into kJoinedBytes and fill whole 16 bytes, and divide the rows of input and output; none if no two do.
std::optional<Joining> joiningOf(const Problem& problem);

/// The convolution of the joined pixels: the same sums, between which there are products with zeros.
Problem joinedProblem(const Problem& problem, const Joining& joining);

}  // namespace shiftconv::plan
