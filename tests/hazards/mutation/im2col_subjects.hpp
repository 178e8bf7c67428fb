// im2col: the GEMM kernels with a window as operand A. What they share with matrices is mutated there; here are mistakes of what
// the host tells the loads of a window.
#pragma once

#include <vector>

#include "tests/hazards/kernels/subject.hpp"
#include "tests/hazards/mutation/catalogue.hpp"

namespace shiftconv::tests {

/// "im2col_single" and "im2col_pair": resident and streamed taps, strides and dilation, depth, block scales of pixels.
std::vector<Subject> im2colSubjects();

/// The same kernels with wrong parameters.
std::vector<HandMadeMutant> im2colMutants();

}  // namespace shiftconv::tests
