// `reversed`: a convolution whose filter is flipped, as one with taps in their order that another algorithm plans. Transposed ones
// only where `phases` refuses, which gathers taps in either order.
//
//   1 launch   reverses the taps of the filter
//   (1 launch  reverses their scale factors)
//   n launches the convolution
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& reversedAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
