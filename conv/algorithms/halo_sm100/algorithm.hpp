// `halo_sm100` as an entry of the algorithm table.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan::sm100 {

const Algorithm& haloAlgorithm();

}  // namespace shiftconv::plan::sm100
