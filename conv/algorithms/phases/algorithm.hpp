// `phases`: a transposed convolution as several ordinary ones, one for each rest that an output position can leave at the division
// by the strides. Nothing is multiplied by zeros that strides would put between the inputs. Other algorithms plan the phases.
//
//   1 launch   gathers the phases' filters into the packed filter
//   (1 launch  spreads the residual over the phases)
//   n launches the phases, each with its epilogue, into the workspace
//   1 launch   puts their outputs where they belong
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& phasesAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
