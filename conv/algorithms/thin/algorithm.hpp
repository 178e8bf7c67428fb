// The `thin` engine as an entry of the registry: small and thin products by mma.sync. See conv/algorithms/thin/thin.cu for the
// kernel.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& thinAlgorithm();

}  // namespace shiftconv::plan
