// `phases`: a transposed convolution as ordinary ones, which other algorithms plan. Output positions that leave the same rest at
// the division by the strides are a phase; nothing is multiplied by zeros that strides would put between the inputs. See forms.hpp
// for what is made of the phases, and moves.hpp for the launches around them.
#pragma once

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// `search`: the planner's, which there is one of.
const Algorithm& phasesAlgorithm(const InnerSearch& search);

}  // namespace shiftconv::plan
