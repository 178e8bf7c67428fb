// The kernels of sm_100a under conv/algorithms as subjects.
#pragma once

#include <vector>

#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// Those of shift_window: one of a CTA, with operands copied and stored, and one of a pair; resident and streamed weights, depth,
/// several passes.
std::vector<Subject> shiftWindowSubjects();

/// One of a CTA and one of a pair, with resident and streamed weights, several passes and images in a tile, and depth.
std::vector<Subject> haloSubjects();

/// Dense and block-scaled, one of a CTA and one of a pair each: resident and streamed weights, with and without a spare
/// accumulator, scales of the filter in Tensor Memory all at once and in turns, scales of pixels in copies and shifted, several
/// passes, depth.
std::vector<Subject> streamSubjects();

}  // namespace shiftconv::tests
