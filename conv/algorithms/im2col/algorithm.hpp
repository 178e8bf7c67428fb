// `im2col` as an entry of the algorithm table.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& im2colAlgorithm();

}  // namespace shiftconv::plan
