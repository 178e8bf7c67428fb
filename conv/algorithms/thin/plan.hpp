// The plans of the `thin` engine: which tiles and which shares of warps a problem can have, and what each would take.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "conv/algorithms/thin/params.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct ThinChoices {
  std::optional<size_t> tile;  ///< of kernels::thin::kTiles
  std::optional<int32_t> split, pixelWarps, channelWarps;
  bool dependent = true;  ///< LaunchConfig::programmaticDependent
};

struct ThinPlan {
  kernels::thin::Params params{};  ///< addresses are filled in per run
  LaunchConfig launch{};
  std::string_view element;  ///< "f16", "bf16" or "bytes"
  kernels::thin::Tile tile{};
  int32_t vector = 1;                                   ///< elements of a load
  int32_t split = 1, pixelWarps = 1, channelWarps = 1;  ///< a CTA's warps, their product at most kMostWarps
  double modelledClocks = 0;
  /// Latency, device memory, loads and instructions over the longest of what is modelled.
  std::array<float, 4> modelParts{};
  Resource bound = Resource::L2ToShared;

  std::string kernelName() const;
  std::string options() const;
  std::string describe() const;
};

/// "16x8"
std::string_view nameOf(kernels::thin::Tile tile);

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string thinRefusal(const Problem& problem, const device::Properties& properties);

/// What can be chosen from, fastest by the model first. Requires thinRefusal(...) to be empty; empty where no plan has the choices.
std::vector<ThinPlan> thinCandidates(const Problem& problem, const device::Properties& properties, const ThinChoices& choices = {});

}  // namespace shiftconv::plan
