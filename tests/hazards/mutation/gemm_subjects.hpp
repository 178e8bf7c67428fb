// The kernels of common/gemm/sm100/gemm.cu as subjects.
#pragma once

#include <vector>

#include "tests/hazards/kernels/subject.hpp"

namespace shiftconv::tests {

/// One for each group of CTAs, on problems with every schedule, a split reduction, resident weights, and scale factors in both
/// orders.
std::vector<Subject> gemmSubjects();

}  // namespace shiftconv::tests
