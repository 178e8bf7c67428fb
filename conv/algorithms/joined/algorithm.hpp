// `joined`: takes neighbouring pixels of a row for one pixel of more channels, for a convolution that another algorithm plans. The
// input and the output stay where they are. Only the filter is written anew, with zeros between its taps.
//
//   1 launch    writes the filter, and repeats bias and channel scales
//   n launches  the convolution
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& joinedAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
