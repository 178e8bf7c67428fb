// `repeated`: a convolution of an upsampled input, as an ordinary one of an image that a kernel writes into the workspace. For what
// `gathered` multiplies too slowly or, as block scales, not at all.
//
//   1 launch   repeats the pixels
//   (1 launch  repeats their scale factors)
//   n launches the convolution
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& repeatedAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
