// How long a plan of `halo` takes on an H200: a model of waves, tensor core, L2 and device memory.
#pragma once

#include "conv/algorithms/halo/cut.hpp"
#include "conv/algorithms/halo/kernels.hpp"
#include "conv/algorithms/halo/plan.hpp"

namespace shiftconv::plan::sm90::halo {

/// Fills in waves, validFraction, modelledClocks, bound and modelParts of a plan that is complete but for them. `bytes`:
/// bytesOnce(problem); `boxBytes`: of the boxes of a tile.
void model(const Problem& problem, double bytes, const Geometry& geometry, const ShapeEntry& shape, int64_t boxBytes,
           const device::Properties& properties, HaloPlan& plan);

}  // namespace shiftconv::plan::sm90::halo
