// The `depthwise` engine as an entry of the registry.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& depthwiseAlgorithm();

}  // namespace shiftconv::plan
