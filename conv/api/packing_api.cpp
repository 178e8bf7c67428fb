// Plans in two parts, in the C API: what a run makes of the filter, and the rest.
#include <shiftconv/packing.h>

#include <memory>
#include <utility>

#include "conv/api/boundary.hpp"
#include "conv/api/handles.hpp"
#include "conv/planner/filter_packing.hpp"

using namespace shiftconv;
using namespace shiftconv::api;

namespace {

shiftconv_plan_t partOf(const OpenPlan& whole, std::shared_ptr<const plan::Plan> part) {
  auto made = std::make_shared<OpenPlan>();
  made->algorithm = whole.algorithm;
  made->plan = std::move(part);
  return plans().add(std::move(made));
}

}  // namespace

extern "C" shiftconv_status_t shiftconv_plan_separate_packing(shiftconv_plan_t handle, shiftconv_plan_t* packing,
                                                              shiftconv_plan_t* rest) {
  return boundary([&]() -> Status {
    if (Status status = require(packing, "packing"); !status.ok()) return status;
    if (Status status = require(rest, "rest"); !status.ok()) return status;
    std::shared_ptr<OpenPlan> whole;
    if (Status status = plans().find(handle, "plan", whole); !status.ok()) return status;
    std::shared_ptr<const plan::Plan> first, second;
    if (Status status = plan::separateFilterPacking(*whole->plan, first, second); !status.ok()) return status;
    *packing = partOf(*whole, std::move(first));
    *rest = partOf(*whole, std::move(second));
    return {};
  });
}

extern "C" shiftconv_status_t shiftconv_plan_packed_filter_size(shiftconv_plan_t handle, size_t* bytes) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(handle, "plan", plan); !status.ok()) return status;
    if (Status status = require(bytes, "bytes"); !status.ok()) return status;
    *bytes = bytesOfRun(*plan->plan)[TensorName::PackedFilter];
    return {};
  });
}
