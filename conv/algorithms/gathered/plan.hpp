// The `gathered` engine: whatever shape a convolution has, on tensor cores by mma.sync. See conv/algorithms/gathered/gathered.cu
// for the kernel. No device is needed here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "conv/algorithms/gathered/params.hpp"
#include "conv/plan/rates.hpp"
#include "conv/plan/tiling.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct GatheredChoices {
  std::optional<size_t> tile;  ///< an index of kGatheredTileNames
  bool dependent = true;       ///< LaunchConfig::programmaticDependent
};

struct GatheredPlan {
  kernels::gathered::Params params{};  ///< addresses are filled in per run
  LaunchConfig launch{};
  std::string kernelName;
  size_t tile = 0;
  int32_t vectorBytes = 0;
  double modelledClocks = 0;
  Resource bound = Resource::TensorCore;

  Tiling tiling() const;
  std::string describe() const;
};

/// "128x128", ...: output pixels x output channels
std::span<const std::string_view> gatheredTileNames();

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string gatheredRefusal(const Problem& problem, const device::Properties& properties);

/// Every tile that there is a kernel for, fastest by the model first. Requires gatheredRefusal(...) to be empty.
std::vector<GatheredPlan> gatheredCandidates(const Problem& problem, const device::Properties& properties,
                                             const GatheredChoices& choices = {});

}  // namespace shiftconv::plan
