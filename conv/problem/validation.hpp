// What can be said about a problem before any algorithm sees it.
#pragma once

#include "common/device/status.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv {

/// Every field in range, fields consistent, a non-empty output, tensors that fit into an address space, and no value in a field
/// that has no meaning (the type of a residual that there is not). The message names the field as the C API does. After success
/// no product of fields that Problem's functions form overflows.
Status validate(const Problem& problem);

}  // namespace shiftconv
