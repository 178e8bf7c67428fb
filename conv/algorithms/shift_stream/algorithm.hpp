// `shift_stream` as an entry of the algorithm table.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& shiftStreamAlgorithm();

}  // namespace shiftconv::plan
