// `padded`: fills up pixels and taps with zeros to whole 16 bytes, for a convolution that another algorithm plans. TMA asks for
// such strides. Without `padded`, other channels are left to kernels whose threads gather them.
//
//   1 launch   lengthens the input's pixels
//   (1 launch  lengthens the filter's taps)
//   n launches the convolution
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& paddedAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
