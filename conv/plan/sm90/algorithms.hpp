// The engines of sm_90a as entries of the algorithm table.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& haloAlgorithm();
const Algorithm& groupedAlgorithm();
const Algorithm& depthwiseAlgorithm();
const Algorithm& stemAlgorithm();

}  // namespace shiftconv::plan
