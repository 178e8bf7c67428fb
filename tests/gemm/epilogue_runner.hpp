// Runs the kernels of epilogue_kernels.cu on an emulated device and has every byte judged that they may or must not write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/reference/epilogue_reference.hpp"
#include "tests/gemm/epilogue_judge.hpp"

namespace shiftconv::tests {

/// A matrix of accumulators and all that an epilogue may read, on the host. `params` points into the vectors, so this moves and is
/// not copied.
struct EpilogueProblem {
  gemm::EpilogueParams params;
  std::vector<uint32_t> accumulators;  ///< [rows][columns], as the tensor core leaves them
  std::vector<int32_t> correction, rowClass, rowCorrection;
  std::vector<float> rowScale, columnScale;
  std::vector<std::byte> bias, residual;
  std::vector<float> largest;  ///< one, when asked for: what is there beforehand

  EpilogueProblem() = default;
  EpilogueProblem(EpilogueProblem&&) = default;
  EpilogueProblem(const EpilogueProblem&) = delete;
  gemm::Bounded accumulator(int64_t row, int64_t column) const;
};

struct EpilogueRun {
  std::string kernel = "epilogue_direct_32";
  std::string arch = "100a";  ///< of the PTX; for 90a there is epilogue_direct_32
  std::string schedule = "latest";
};

/// Launches over all tiles with the hazard checker on. Throws std::runtime_error when the device refuses or reports anything.
EpilogueOutput runEpilogue(const EpilogueProblem& problem, const EpilogueRun& run);

/// "" or the first thing in the output that is wrong.
std::string firstDifference(const EpilogueProblem& problem, const EpilogueOutput& output);

}  // namespace shiftconv::tests
