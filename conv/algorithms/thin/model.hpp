// What a plan of the `thin` engine takes.
#pragma once

#include "common/device/device.hpp"
#include "conv/algorithms/thin/plan.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Fills in modelledClocks and bound of a plan that is complete but for them. `bytes`: bytesOnce(problem).
void modelThin(const Problem& problem, double bytes, const device::Properties& properties, ThinPlan& plan);

}  // namespace shiftconv::plan
