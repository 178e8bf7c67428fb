// What can be said about a problem before any algorithm sees it.
#pragma once

#include <cstddef>
#include <string>

#include "common/device/status.hpp"
#include "conv/plan/problem.hpp"

namespace shiftconv {

/// Every field in range, fields consistent, a non-empty output, tensors that fit into an address space. The message names
/// the field as the C API does. After success no product of fields that Problem's functions form overflows.
Status validate(const Problem& problem);

/// Bytes from the first to the last element of each tensor.
struct TensorBytes {
  size_t input = 0, filter = 0, bias = 0, output = 0;
};
TensorBytes tensorBytes(const Problem& problem);

const char* nameOf(DataType type);

/// "1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> 1x56x56x64 f16 bias relu"; pads are top, bottom, left, right; strides,
/// dilations and pitches appear when they are not the usual ones.
std::string describe(const Problem& problem);

}  // namespace shiftconv
