// Outputs in blocks that share a scale factor: whether elements and factors are what a convolution within its error bound gives.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "common/numerics/block_format.hpp"
#include "conv/reference/convolution.hpp"

namespace shiftconv::reference {

/// The block format of an output with scale factors; nothing when there is none of that type, block size and factor.
std::optional<numerics::BlockFormat> outputFormat(const Problem& problem);

/// "" or the first difference: a factor that no largest magnitude within the bound has, an element that no number within the bound
/// rounds to under its factor (gemm::blockDifference), or, in the interleaved order, a factor of padding that is not 0. `elements`
/// and `scales` are the tensors output and output_scale. Requires outputFormat(problem).
std::string blockOutputDifference(const Problem& problem, const Expectation& expected, std::span<const std::byte> elements,
                                  std::span<const std::byte> scales);

}  // namespace shiftconv::reference
