// A convolution as cuDNN can be asked for it: one input tensor whose pixels are repeated where the problem upsamples, and filters
// in the order that its graph wants.
#pragma once

#include <cstdint>
#include <vector>

#include "conv/problem/problem.hpp"

namespace shiftconv::referee {

struct PlainForm {
  Problem problem;  ///< neither upsampled, split nor flipped
  /// For each element of the input, which one it is of the problem's, its channels counted pixel by pixel. Empty: the tensor as it
  /// is.
  std::vector<int64_t> input;
  /// Likewise of the filter, of the problem's [K, T, R, S, C/groups]. Convolutions with NCHW inputs take [K, C/groups, T, R, S],
  /// transposed ones [C, T, R, S, K/groups] (NCHW: [C, K/groups, T, R, S]), the filter of the convolution whose gradient they are.
  /// Its taps are in their order.
  std::vector<int64_t> filter;
};

/// `channelsLast`: whatever the problem's layout of the input is, channels of a pixel are neighbours.
PlainForm plainForm(const Problem& problem, bool channelsLast);

}  // namespace shiftconv::referee
