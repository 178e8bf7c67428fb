// What a plan makes of its filter alone, apart from the rest: for filters that stay the same from run to run.
#pragma once

#include <memory>

#include "conv/plan/plan.hpp"

namespace shiftconv::plan {

/// `packing` has the launches that read nothing but the filter, `rest` all others. What lies at the end of the workspace of `plan`
/// is a tensor of theirs (TensorName::PackedFilter), which `packing` writes and `rest` reads. Runs of either need the tensors that
/// its launches touch; the others are optional. Unsupported where the plan packs nothing.
Status separateFilterPacking(const Plan& plan, std::shared_ptr<const Plan>& packing, std::shared_ptr<const Plan>& rest);

}  // namespace shiftconv::plan
