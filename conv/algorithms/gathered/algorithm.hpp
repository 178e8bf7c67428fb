// The `gathered` engine as an entry of the registry.
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& gatheredAlgorithm();

}  // namespace shiftconv::plan
