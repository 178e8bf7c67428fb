// `relayout`: a convolution whose tensors lie in NCHW, as one in NHWC that another algorithm plans.
//
//   (1 launch  transposes the input into the workspace)
//   (1 launch  transposes the residual into the workspace)
//   n launches the convolution
//   (1 launch  transposes its output from the workspace)
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& relayoutAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
