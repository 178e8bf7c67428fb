// The `halo_sm100` algorithm: support and plan. See sm100_halo.cu for the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "conv/algorithms/halo_sm100/cut.hpp"
#include "conv/algorithms/halo_sm100/params.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm100 {

inline constexpr uint32_t kMaximumBlockRows = 1024;

/// Overrides of the planner's own choices; nullopt lets it choose.
struct HaloChoices {
  std::optional<bool> pair{};            ///< cta_group::2
  std::optional<uint32_t> tileN{};       ///< a multiple of 16, 16..256
  std::optional<uint32_t> clusters{};    ///< CTAs, or pairs of CTAs, along the tiles
  std::optional<uint32_t> tileImages{};  ///< of a CTA's operand: 1, 2, 4, 8 or 16
  std::optional<bool> residentWeights{};
  std::optional<bool> collector{};      ///< row streams, whose operands are read once for all filter rows
  std::optional<uint32_t> blockRows{};  ///< of output, of a row stream: 1 to kMaximumBlockRows; no more than P are used
};

/// Everything a launch needs, made without a device.
struct HaloPlan {
  kernels::halo_sm100::HaloParams params{};
  layout::TiledMap input{};
  layout::TiledMap filter{};
  layout::TiledMap output{};  ///< rank 0 where outputs are not staged
  LaunchConfig launch{};
  std::string kernelName;
  halo::Cut cut;
  Problem problem;
  Traffic traffic;
  Estimate estimate;

  /// The launch, whose addresses a binding fills in.
  PlannedLaunch planned() const;
  /// Hardware behaviours that it relies on and no public source settles, by name.
  std::vector<std::string_view> openQuestions() const;
  int64_t tiles() const { return params.tiles; }
  int64_t clusters() const { return launch.grid.x / launch.cluster.x; }
  /// What tile `tile` costs in all passes, apart from what is done once for a cluster.
  Traffic ofTile(int64_t tile) const;
  /// What is done once for a cluster, in all passes: resident filters.
  Traffic ofCluster() const;
  std::string describe() const;
};

/// Empty when the algorithm can run the problem on such a device, else one sentence naming field and limit.
std::string haloRefusal(const Problem& problem, const device::Properties& properties);

/// Requires haloRefusal(...) to be empty; returns one sentence when an override cannot be met.
std::string planHalo(const Problem& problem, const device::Properties& properties, const HaloChoices& choices, HaloPlan& plan);

}  // namespace shiftconv::plan::sm100
