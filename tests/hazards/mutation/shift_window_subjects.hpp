// The kernels of conv/kernels/sm100/shift_window.cu as subjects.
#pragma once

#include <vector>

#include "tests/hazards/kernels/subject.hpp"

namespace shiftconv::tests {

/// One for each of the six kernels, on problems whose rings of stages, slots, masks and accumulators turn over.
std::vector<Subject> shiftWindowSubjects();

}  // namespace shiftconv::tests
