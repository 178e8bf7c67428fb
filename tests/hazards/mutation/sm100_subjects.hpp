// The kernels of conv/kernels/sm100/halo.cu as subjects.
#pragma once

#include <vector>

#include "tests/hazards/kernels/subject.hpp"

namespace shiftconv::tests {

/// One of a CTA and one of a pair, with resident and streamed weights, several passes and images in a tile, and depth.
std::vector<Subject> sm100Subjects();

}  // namespace shiftconv::tests
