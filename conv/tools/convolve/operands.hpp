// Random operands of any problem, and the same numbers as f32 for a library that lacks their types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conv/problem/tensors.hpp"
#include "conv/reference/convolution.hpp"

namespace shiftconv::judged {

struct HostTensors {
  PerTensor<std::vector<std::byte>> bytes;  ///< in the problem's layouts
  reference::Operands operands() const;
};

/// Every tensor that the problem reads. 16- and 32-bit floats are uniform in [-1, 1), f32 with the 11 significant bits of tf32;
/// narrower floats are normal numbers; integers take all values. Scale factors are powers of two (ue8m0) or 4-bit numbers (ue4m3)
/// of about 1. What lies between pixels is NaN (integers: -1).
HostTensors randomOperands(const Problem& problem, uint64_t seed);

/// Input or filter as dense f32, block factors included. Exact: no element has more than 11 significant bits.
std::vector<float> dequantised(const Problem& problem, const HostTensors& tensors, TensorName which);

/// Dense f32 results as the problem's output tensor, rounded to its type. Between pixels stands `gap`.
std::vector<std::byte> encodeOutput(const Problem& problem, const std::vector<float>& values, std::byte gap);

}  // namespace shiftconv::judged
