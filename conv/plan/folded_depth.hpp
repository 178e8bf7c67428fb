// Three dimensions as two, where that is the same convolution.
#pragma once

#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// The same convolution of the same tensors without depth, where the filter permits it: with a filter of one slice every slice is
/// an image of its own (1x3x3), and with a filter of one pixel a slice every slice is a row (3x1x1). Pixels keep their order, so
/// that pitches, residual and outputs mean what they did. Any other problem, or one whose input is split along the depth, comes
/// back as it is.
Problem foldedDepth(const Problem& problem);

}  // namespace shiftconv::plan
