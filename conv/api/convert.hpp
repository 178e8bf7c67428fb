// C structures to and from the library's own. A `size` field says which version of a structure the caller compiled.
#pragma once

#include <shiftconv/shiftconv.h>

#include "common/device/device.hpp"
#include "common/device/status.hpp"
#include "conv/helpers/helpers.hpp"
#include "conv/planner/autotune.hpp"
#include "conv/planner/binding.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::api {

/// Converts and validates.
Status fromC(const shiftconv_problem_t* source, Problem& problem);
Status fromC(const shiftconv_device_properties_t* source, device::Properties& properties);
/// NULL gives the planner every choice.
Status fromC(const shiftconv_plan_options_t* source, plan::PlanOptions& options);
/// NULL: SHIFTCONV_AUTOTUNE_INIT. Puts the environment's cache where the caller names none.
Status fromC(const shiftconv_autotune_t* source, plan::AutotuneOptions& options);
Status fromC(const shiftconv_tensors_t* source, plan::TensorAddresses& tensors);
// Values are checked where they are used, but for those of enumerations of types.
Status fromC(const shiftconv_relayout_t* source, helpers::Relayout& relayout);
Status fromC(const shiftconv_pool_t* source, helpers::Pool& pool);
Status fromC(const shiftconv_pointwise_t* source, helpers::Pointwise& pointwise);
Status fromC(const shiftconv_normalize_t* source, helpers::Normalize& normalize);

// Each fills as much as the caller's structure holds and leaves the rest alone.
Status toC(const Problem& problem, shiftconv_problem_t* target);
/// Only the extents, of a product of matrices.
Status matrixToC(int64_t m, int64_t n, int64_t k, shiftconv_problem_t* target);
Status toC(const device::Properties& properties, shiftconv_device_properties_t* target);
Status toC(const PerTensor<size_t>& bytes, shiftconv_tensor_bytes_t* target);
Status toC(const plan::Estimate& estimate, shiftconv_estimate_t* target);

}  // namespace shiftconv::api
