// The `direct` engine: CUDA cores, for what no other engine takes. See conv/algorithms/direct/direct.cu for the kernel.
#pragma once

#include <string>
#include <string_view>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "conv/algorithms/direct/params.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

struct DirectPlan {
  kernels::direct::Params params{};  ///< addresses are filled in per run
  LaunchConfig launch{};
  std::string kernelName;
  double modelledClocks = 0;

  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string directRefusal(const Problem& problem, const device::Properties& properties);
/// Requires directRefusal(...) to be empty.
DirectPlan planDirect(const Problem& problem, const device::Properties& properties);

const Algorithm& directAlgorithm();

}  // namespace shiftconv::plan
