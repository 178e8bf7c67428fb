// The `grouped` engine as an entry of the registry.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& groupedAlgorithm();

}  // namespace shiftconv::plan
