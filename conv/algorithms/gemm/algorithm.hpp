// The `gemm` algorithm for the planner; see plan.hpp.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& gemmAlgorithm();

}  // namespace shiftconv::plan
