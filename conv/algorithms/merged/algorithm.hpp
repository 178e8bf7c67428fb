// `merged`: groups of few channels, several taken for one, so that another algorithm has rows of up to 128 bytes.
//
//   1 launch   writes the filter of merged groups, with zeros between the channels of one group
//   n launches the convolution of fewer groups, on the same input and output
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& mergedAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
