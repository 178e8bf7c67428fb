// The `grouped` engine of sm_90a as an entry of the registry.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& groupedAlgorithm();

}  // namespace shiftconv::plan
