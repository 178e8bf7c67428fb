// `padded`: a convolution whose pixels are not whole 16 bytes apart, as one with more channels, zeros, that another algorithm
// plans. TMA reads nothing else, so without it many channels are left to kernels whose threads gather them.
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
