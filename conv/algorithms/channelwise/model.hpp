// How long a plan of channelwise takes, by a model.
#pragma once

#include "conv/algorithms/channelwise/plan.hpp"

namespace shiftconv::plan {

/// Fills in modelledClocks and bound of a plan that has everything else. `bytes`: bytesOnce(problem).
void modelChannelwise(const Problem& problem, double bytes, const device::Properties& properties, ChannelwisePlan& plan);

}  // namespace shiftconv::plan
