// The `stem` engine of sm_90a: four input channels and a column stride of 2. See conv/algorithms/stem/sm90_stem.cu for the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/stem/params.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

struct StemPlan {
  kernels::stem::Params params{};  ///< bias and filter are filled in per run
  layout::TiledMap input{}, output{}, residual{};
  LaunchConfig launch{};
  std::string kernelName;
  double waves = 0;
  double modelledClocks = 0;
  Resource bound = Resource::DeviceMemory;

  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string stemRefusal(const Problem& problem, const device::Properties& properties);
/// Requires stemRefusal(...) to be empty.
StemPlan planStem(const Problem& problem, const device::Properties& properties);

/// Names of a CTA's warps, for counters and profiles.
std::vector<std::string> stemWarpRoles();

}  // namespace shiftconv::plan
