// The `shift_stream` algorithm: support and plan. See sm100_shift_stream.cu for the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "conv/algorithms/shift_stream/cut.hpp"
#include "conv/algorithms/shift_stream/lanes.hpp"
#include "conv/algorithms/shift_stream/params.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct ShiftStreamChoices {
  std::optional<StreamMap> map{};       ///< nullopt: the faster of those without refill
  std::optional<uint32_t> tileN{};      ///< a multiple of 16, 16..256
  std::optional<uint32_t> blockRows{};  ///< output rows of a block
  std::optional<uint32_t> clusters{};   ///< CTAs, or pairs of CTAs, along the tiles
  std::optional<bool> residentWeights{};
  std::optional<bool> shiftedScales{};  ///< of pixels: shifted with them, rather than in S copies
  std::optional<bool> pair{};           ///< cta_group::2
};

/// Everything a launch needs, made without a device. Pointers are filled in per binding.
struct ShiftStreamPlan {
  kernels::ShiftStreamParams params{};
  layout::TiledMap input{};
  layout::TiledMap refill{};  ///< single pixels of the same tensor
  layout::TiledMap filter{};
  layout::TiledMap output{};  ///< rank 0: every lane stores its own outputs
  LaunchConfig launch{};
  std::string kernelName;
  StreamCut cut;
  Problem problem;
  Traffic traffic;
  Estimate estimate;

  /// The launch, whose addresses a binding fills in.
  PlannedLaunch planned() const;
  /// Hardware behaviours that it relies on and no public source settles, by name.
  std::vector<std::string_view> openQuestions() const;
  int64_t tiles() const { return params.tiles; }
  int64_t clusters() const { return launch.grid.x / launch.cluster.x; }
  /// Counts activations and stored rows.
  void countPlaces();
  /// What tile `tile` costs in all passes, apart from what is done once for a cluster.
  Traffic ofTile(int64_t tile) const;
  /// What is done once for a cluster, in all passes: resident filters and their scale factors.
  Traffic ofCluster() const;

  /// Several lines: tile, row blocks, lane map, accumulators, slots, stages, Tensor Memory columns, shared memory, counted traffic.
  std::string describe() const;
};

/// Empty when the algorithm can run the problem on such a device, else one sentence naming field and limit.
std::string shiftStreamRefusal(const Problem& problem, const device::Properties& properties);

/// All of a plan but the part of its traffic that depends on where tiles lie. Requires shiftStreamRefusal(...)
/// to be empty; returns one sentence when an override cannot be met.
std::string cutShiftStream(const Problem& problem, const device::Properties& properties, const ShiftStreamChoices& choices,
                           ShiftStreamPlan& plan);
/// The same with that part.
std::string planShiftStream(const Problem& problem, const device::Properties& properties, const ShiftStreamChoices& choices,
                            ShiftStreamPlan& plan);

}  // namespace shiftconv::plan
