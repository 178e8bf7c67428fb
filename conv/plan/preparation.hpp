// What has to run in front of a convolution whose epilogue is common/gemm's: corrections for zero points, which lie in the
// workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conv/kernels/zero_points_params.hpp"
#include "conv/plan/plan.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Where corrections lie: those of columns, which follow from the filter alone, at the beginning of the packed filter, the others
/// in the workspace.
struct CorrectionPlaces {
  bool hasColumns = false, hasRows = false;  ///< zero points of the input, of the filter
  size_t rowClass = 0, rowCorrection = 0, bytes = 0, packedBytes = 0;
};
CorrectionPlaces correctionPlaces(const Problem& problem);

/// Empty, or one sentence, beginning with the algorithm's name: limits of the kernels that look for corrections.
std::string zeroPointRefusal(std::string_view algorithm, const Problem& problem);

/// Has the epilogue's pointers to corrections filled in; `offset`: of the EpilogueParams in the parameter.
void bindCorrections(const Problem& problem, Parameter& parameter, size_t offset);

/// Sets 32-bit words to zero, fewer than 2^31 of them.
PlannedLaunch zeroedWords(TensorPlace place, uint64_t words);

/// Appends the launches that prepare corrections, in the order in which they run, and takes their memory; nothing when there is
/// nothing to prepare. To a plan that has neither yet.
void addPreparation(const Problem& problem, Plan& plan);

}  // namespace shiftconv::plan
