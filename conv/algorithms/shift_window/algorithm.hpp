// `shift_window` as an entry of the algorithm table.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& shiftWindowAlgorithm();

}  // namespace shiftconv::plan
