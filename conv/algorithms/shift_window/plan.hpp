// The `shift_window` algorithm: support and plan. See sm100_shift_window.cu for the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "conv/algorithms/shift_window/params.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct ShiftWindowChoices {
  std::optional<uint32_t> tileN{};     ///< multiple of 16, 16..192
  std::optional<uint32_t> clusters{};  ///< CTAs, or pairs of CTAs, along the tiles, >= 1
  std::optional<bool> residentWeights{};
  std::optional<bool> pair{};  ///< cta_group::2
};

/// One way to cut a problem into passes over the output channels, and what the model says of it.
struct ShiftWindowCut {
  int64_t tileN = 0, passes = 0;
  bool pair = false, resident = false;
  int64_t operandStages = 0, filterStages = 0;
  int64_t stagingTileBytes = 0;  ///< 0: outputs are not staged
  int64_t clusters = 0;          ///< along the tiles
  double clocksPerTile = 0;      ///< of one pass of each CTA
  double clocks = 0;             ///< of the multiprocessor that finishes last
  double clocksAround = 0;       ///< before its work and after it
  Resource bound = Resource::TensorCore;

  int64_t ctas() const { return pair ? 2 : 1; }  ///< of a cluster
};

/// What a launch needs, made without a device. Addresses are filled in per binding.
struct ShiftWindowPlan {
  kernels::ShiftWindowParams params{};
  layout::TiledMap input{}, filter{};
  layout::TiledMap output{};  ///< rank 0: every lane stores its own outputs
  LaunchConfig launch{};
  std::string kernelName;
  ShiftWindowCut cut;
  Problem problem;
  Traffic traffic;

  /// The launch, whose addresses a binding fills in.
  PlannedLaunch planned() const;
  int64_t tiles() const { return params.tiles; }
  int64_t clusters() const { return cut.clusters; }
  /// Hardware behaviours that it relies on and no public source settles, by name.
  std::vector<std::string_view> openQuestions() const;
  /// What tile `tile` costs in all passes, apart from resident filters.
  Traffic ofTile(int64_t tile) const;
  /// What the resident filter of a CTA, or of a pair, costs in all passes.
  Traffic ofCluster() const;

  /// Several lines: tile, windows, stages, Tensor Memory columns, shared memory, modelled traffic.
  std::string describe() const;
};

/// Empty when the algorithm can run the problem on such a device, else one sentence naming field and limit.
std::string shiftWindowRefusal(const Problem& problem, const device::Properties& properties);

/// Every cut that fits, single CTAs before pairs and those with fewer passes first. Requires shiftWindowRefusal(...) to be empty;
/// returns one sentence when an override cannot be met.
std::string shiftWindowCuts(const Problem& problem, const device::Properties& properties, const ShiftWindowChoices& choices,
                            std::vector<ShiftWindowCut>& cuts);

/// The plan of a cut, one of shiftWindowCuts(...).
void completeShiftWindow(const Problem& problem, const ShiftWindowCut& cut, ShiftWindowPlan& plan);
/// The plan of the fastest cut, the first of equals.
std::string planShiftWindow(const Problem& problem, const device::Properties& properties, const ShiftWindowChoices& choices,
                            ShiftWindowPlan& plan);

/// What products of such operands ask, and: columns that .ashift moves and its reach in pairs (U3), how a lane mask reaches the
/// CTAs of a pair (U7).
std::vector<std::string_view> shiftWindowQuestions(const Problem& problem, bool pair);

/// The compiled kernels (PTX and SASS), embedded in the library.
device::ModuleImage shiftWindowImage();

}  // namespace shiftconv::plan
