// The plans of the `pointwise` engine: which tiles and which shares of the output channels a problem can have, and what each would
// take.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "conv/algorithms/pointwise/params.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct PointwiseChoices {
  std::optional<int32_t> pixels, loads, warps, channelWarps, parts;
  std::optional<bool> gathers;
  bool dependent = true;  ///< LaunchConfig::programmaticDependent
};

struct PointwisePlan {
  kernels::pointwise::Params params{};  ///< addresses are filled in per run
  LaunchConfig launch{};
  std::string_view element;  ///< "f16", "bf16" or "bytes"
  kernels::pointwise::Instance instance{};
  int32_t warps = 1, channelWarps = 1;  ///< of a CTA; of them, those that share a tile's output channels
  int32_t parts = 1;                    ///< of the output channels, a CTA each
  double modelledClocks = 0;
  /// Latency, L2, instructions and device memory over the longest of what is modelled.
  std::array<float, 4> modelParts{};
  Resource bound = Resource::DeviceMemory;

  std::string kernelName() const;
  std::string options() const;
  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string pointwiseRefusal(const Problem& problem, const device::Properties& properties);

/// What can be chosen from, fastest by the model first. Requires pointwiseRefusal(...) to be empty; empty where no plan has the
/// choices.
std::vector<PointwisePlan> pointwiseCandidates(const Problem& problem, const device::Properties& properties,
                                               const PointwiseChoices& choices = {});

}  // namespace shiftconv::plan
