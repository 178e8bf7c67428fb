// The `gemm` algorithm: the GEMM kernels of common/gemm on plain matrices, D[M][N] = A[M][K] * B[N][K]^T. A matrix is an image of
// one row: its M pixels have K channels, and the N filters have one tap (shiftconv_gemm). All modes of the kernels are options
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/gemm/sm100/plan.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct MatrixChoices {
  std::optional<bool> pair{};  ///< whether `group` is Pair
  std::optional<gemm::sm100::Grouping> group{};
  std::optional<gemm::sm100::Engine> engine{};      ///< not set: SharedA
  std::optional<gemm::sm100::Schedule> schedule{};  ///< not set: Static
  std::optional<uint32_t> tileRows{};               ///< of a CTA, 64 or 128; not set: 128
  std::optional<uint32_t> tileN{};                  ///< a multiple of 32, 32..256
  std::optional<uint32_t> stages{};
  std::optional<uint32_t> splits{};    ///< parts of the reduction; not set: 1
  std::optional<uint32_t> clusters{};  ///< CTAs, or pairs of CTAs, along the tiles
  std::optional<bool> residentWeights{};
};

struct MatrixPlan {
  gemm::sm100::GemmPlan gemm;
  Problem problem;
  Traffic traffic;
  Estimate estimate;

  /// The launch, whose addresses a binding fills in.
  PlannedLaunch planned() const;
  /// Where in the workspace partial sums lie, after what prepares zero points; counters follow them.
  uint64_t partialsOffset() const;
  uint64_t countersOffset() const { return partialsOffset() + gemm.partialBytes; }
  /// Hardware behaviours that it relies on and no public source settles, by name.
  std::vector<std::string_view> openQuestions() const;
  std::string describe() const;
};

/// Empty when the algorithm can run the problem on such a device, else one sentence naming field and limit.
std::string matrixRefusal(const Problem& problem, const device::Properties& properties);

/// Requires matrixRefusal(...) to be empty; returns one sentence when an override cannot be met.
std::string planMatrix(const Problem& problem, const device::Properties& properties, const MatrixChoices& choices,
                       MatrixPlan& plan);

}  // namespace shiftconv::plan
