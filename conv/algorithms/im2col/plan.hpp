// The `im2col` algorithm: the GEMM kernels of common/gemm over a window that moves over the input. TMA gathers the pixels of every
// tap, once for each, so any stride, dilation and padding will do; the matrix never exists in memory.
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
struct Im2colChoices {
  std::optional<bool> pair{};          ///< cta_group::2
  std::optional<uint32_t> tileN{};     ///< a multiple of 32, 32..256; of scaled kinds 32, 64, 128 or 256
  std::optional<uint32_t> clusters{};  ///< CTAs, or pairs of CTAs, along the tiles
  std::optional<bool> residentWeights{};
};

struct Im2colPlan {
  gemm::sm100::GemmPlan gemm;
  Problem problem;
  Traffic traffic;
  Estimate estimate;

  /// The launch, whose addresses a binding fills in.
  PlannedLaunch planned() const;
  /// Hardware behaviours that it relies on and no public source settles, by name.
  std::vector<std::string_view> openQuestions() const;
  bool pair() const { return gemm.grouping == gemm::sm100::Grouping::Pair; }
  /// Tiles along the output pixels; each is done in every column of tiles.
  int64_t tiles() const { return gemm.params.tilesDown; }
  /// What tile `tile` costs in all columns, apart from resident filters.
  Traffic ofTile(int64_t tile) const;
  /// What every cluster's resident filter costs, in all columns; nothing when filters stream.
  Traffic ofCluster() const;
  int64_t clusters() const { return gemm.launch.grid.x / gemm.launch.cluster.x; }
  std::string describe() const;
};

/// Empty when the algorithm can run the problem on such a device, else one sentence naming field and limit.
std::string im2colRefusal(const Problem& problem, const device::Properties& properties);

/// Requires im2colRefusal(...) to be empty; returns one sentence when an override cannot be met.
std::string planIm2col(const Problem& problem, const device::Properties& properties, const Im2colChoices& choices,
                       Im2colPlan& plan);

}  // namespace shiftconv::plan
