// The search, for the algorithms of the registry that leave a convolution to others.
#pragma once

#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

const InnerSearch& innerSearch();

}  // namespace shiftconv::plan
