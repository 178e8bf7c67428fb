// The reference for problems beyond a plain 2-D convolution: depth, groups, every type, scale factors, zero points and the whole
// epilogue. Plain loops, for small problems.
#pragma once

#include "conv/reference/convolution.hpp"

namespace shiftconv::reference {

/// convolve() of any valid problem.
Expectation convolveGeneral(const Problem& problem, const Operands& operands, Accumulation accumulation);

}  // namespace shiftconv::reference
