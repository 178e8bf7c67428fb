// The `pointwise` engine as an entry of the registry: 1x1 convolution of many pixels by mma.sync. See
// conv/algorithms/pointwise/pointwise.cuh for the kernel.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& pointwiseAlgorithm();

}  // namespace shiftconv::plan
