// What a plan makes of its filter alone, apart from the rest: for filters that stay the same from run to run.
#pragma once

#include <memory>

#include "conv/plan/plan.hpp"

namespace shiftconv::plan {

/// `packing` has the launches that read nothing but the filter and leave something in the workspace, `rest` all others. Unsupported
/// where the plan has none.
Status separateFilterPacking(const Plan& plan, std::shared_ptr<const Plan>& packing, std::shared_ptr<const Plan>& rest);

}  // namespace shiftconv::plan
