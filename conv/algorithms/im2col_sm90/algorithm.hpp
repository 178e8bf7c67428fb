// The `im2col_sm90` engine as an entry of the registry.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan::sm90 {

const Algorithm& im2colAlgorithm();

}  // namespace shiftconv::plan::sm90
