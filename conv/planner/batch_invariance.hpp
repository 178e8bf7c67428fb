// Plans whose results for an image depend neither on how many images there are nor on its place among them.
#pragma once

#include <functional>

#include "common/device/status.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/planner/candidates.hpp"

namespace shiftconv::plan {

/// Candidates of a problem without PlanOptions::batchInvariant, the best among them.
using Search = std::function<Status(const Problem&, Candidates&)>;

/// Candidates that sum every output in one order whatever n is: those with the algorithm and the options of the best one for one
/// image, of which only options that spread work over the device are left open. Fails where that algorithm does not take so many
/// images.
Status findBatchInvariant(const Problem& problem, const device::Properties& properties, const Search& search, bool constantFilter,
                          Candidates& candidates);

}  // namespace shiftconv::plan
