// Runs the kernels of epilogue_kernels.cu on an emulated device and compares every byte that they may or must not write.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/device/emulated_device.hpp"
#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/reference/epilogue_reference.hpp"
#include "common/numerics/block_format.hpp"

namespace shiftconv::tests {

/// A matrix of accumulators and all that an epilogue may read, on the host. `params` points into the vectors, so this moves and is
/// not copied.
struct EpilogueProblem {
  gemm::EpilogueParams params;
  std::vector<uint32_t> accumulators;  ///< [rows][columns], as the tensor core leaves them
  std::vector<int32_t> correction;
  std::vector<float> rowScale, columnScale, bias;
  std::vector<std::byte> residual;
  std::vector<float> largest;  ///< one, when asked for: what is there beforehand

  EpilogueProblem() = default;
  EpilogueProblem(EpilogueProblem&&) = default;
  EpilogueProblem(const EpilogueProblem&) = delete;
  gemm::Bounded accumulator(int64_t row, int64_t column) const;
};

struct EpilogueRun {
  std::string kernel = "epilogue_direct_32";
  std::string arch = "100a";  ///< of the PTX
  std::string schedule = "latest";
};

struct EpilogueOutput {
  std::vector<std::byte> elements;  ///< [rows][params.outputPitch], poisoned before the launch
  std::vector<std::byte> scales;
  float largest = 0;
  bool byTensorMap = false;
};

/// The byte that outputs are filled with beforehand.
inline constexpr std::byte kPoison{0xab};

/// Launches over all tiles with the hazard checker on. Throws std::runtime_error when the device refuses or reports anything.
EpilogueOutput runEpilogue(const EpilogueProblem& problem, const EpilogueRun& run);

/// "" or the first thing in the output that the reference does not allow: elements, factors, padding, bytes beside the matrix,
/// largest.
std::string firstDifference(const EpilogueProblem& problem, const EpilogueOutput& output);

/// The block format that the parameters ask for.
std::optional<numerics::BlockFormat> blockFormat(const gemm::EpilogueParams& params);

}  // namespace shiftconv::tests
