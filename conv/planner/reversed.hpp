// `reversed`: a convolution whose filter is flipped, as one with taps in their order that another algorithm plans. Transposed ones
// only where `phases` refuses, which gathers taps in either order.
//
//   1 launch   reverses the taps of the filter
//   (1 launch  reverses their scale factors)
//   n launches the convolution
#pragma once

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

const Algorithm& reversedAlgorithm();

}  // namespace shiftconv::plan
