// What an epilogue wrote, and whether it may have: every element, scale factor and byte of padding.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/reference/epilogue_reference.hpp"
#include "common/numerics/block_format.hpp"

namespace shiftconv::tests {

/// The byte that outputs are filled with beforehand.
inline constexpr std::byte kPoison{0xab};

struct EpilogueOutput {
  std::vector<std::byte> elements;  ///< [rows][params.outputPitch], poisoned before the launch
  std::vector<std::byte> scales;
  float largest = 0;
  bool byTensorMap = false;  ///< such stores overwrite the bytes after a row's end up to a multiple of 16
};

/// The block format that the parameters ask for.
std::optional<numerics::BlockFormat> blockFormat(const gemm::EpilogueParams& params);

/// "" or the first thing in the output that the reference does not allow: elements, factors, padding, bytes beside the matrix,
/// largest. `params` has host addresses; *params.largest is what was there before. `accumulators` is [rows][columns].
std::string firstDifference(const gemm::EpilogueParams& params, std::span<const gemm::Bounded> accumulators,
                            const EpilogueOutput& output);

}  // namespace shiftconv::tests
