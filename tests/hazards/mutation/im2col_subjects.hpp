// im2col: the GEMM kernels with a window as operand A, mistakes of what the host tells its loads, and the mutants of these kernels
// once more, on windows in place of matrices.
#pragma once

#include <vector>

#include "tests/hazards/mutation/catalogue.hpp"
#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// The GEMM kernels for one CTA and for a pair: resident and streamed taps, strides and dilation, depth, block scales of pixels.
std::vector<Subject> im2colSubjects();

/// The same kernels with wrong parameters. `subjects`: the correct ones; mutants of others are left out.
std::vector<HandMadeMutant> im2colMutants(const std::vector<Subject>& subjects);

}  // namespace shiftconv::tests
