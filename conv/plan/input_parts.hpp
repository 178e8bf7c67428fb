// The tensors of an input as kernels that take plain addresses see them.
#pragma once

#include <array>
#include <cstddef>

#include "conv/kernels/input_part.hpp"
#include "conv/plan/plan.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Of elements of whole bytes. The second one is empty unless the input is split. Their addresses are bound per run.
std::array<kernels::InputPart, 2> inputParts(const Problem& problem);

/// Has the addresses of both filled in; `offset`: of the first in the parameter, after which the second one lies.
void bindInputParts(const Problem& problem, Parameter& parameter, size_t offset);

}  // namespace shiftconv::plan
