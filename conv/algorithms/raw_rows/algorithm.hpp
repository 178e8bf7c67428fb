// The `raw_rows` engine as an entry of the registry.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& rawRowsAlgorithm();

}  // namespace shiftconv::plan
