// The kernels of sm_90a under conv/algorithms as subjects.
#pragma once

#include <vector>

#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// halo, its kernel with one multiplying warpgroup, with resident, streamed, grouped and split weights and one to four boxes a
/// tile; grouped.
std::vector<Subject> sm90Subjects();
/// resident, depthwise, channelwise (its two forms for filters of known size) and stem, in f16.
std::vector<Subject> otherSm90Subjects();

}  // namespace shiftconv::tests
