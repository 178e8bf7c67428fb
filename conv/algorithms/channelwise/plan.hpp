// The `channelwise` engine: one channel a group, on CUDA cores. See conv/algorithms/channelwise/channelwise.cu for the kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/channelwise/kinds.hpp"
#include "conv/algorithms/channelwise/params.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct ChannelwiseChoices {
  std::optional<kernels::channelwise::Form> form;
  std::optional<int32_t> channels, columns;  ///< of a thread
  std::optional<int32_t> rows;               ///< of a thread, in the forms batch and stream
  std::optional<int32_t> threads;            ///< of a CTA, at most
  std::optional<bool> staged;                ///< whether weights go through shared memory
  bool dependent = true;                     ///< LaunchConfig::programmaticDependent
};

struct ChannelwisePlan {
  const kernels::channelwise::Kind* kind = nullptr;
  kernels::channelwise::Params params{};  ///< addresses are filled in per run
  layout::TiledMap input{};               ///< of the form Stream
  LaunchConfig launch{};
  int32_t threads = 0;  ///< of a CTA at most, as chosen
  double modelledClocks = 0;
  /// Instructions, latency, what L2 reads again and device memory over the longest of them.
  std::array<float, 4> modelParts{};
  Resource bound = Resource::CudaCores;

  bool staged() const { return params.weightBytes != 0; }
  std::string options() const;
  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string channelwiseRefusal(const Problem& problem, const device::Properties& properties);

/// Every way that agrees with the choices, fastest by the model first. Requires channelwiseRefusal(...) to be empty; then there is
/// one without choices at least.
std::vector<ChannelwisePlan> channelwiseCandidates(const Problem& problem, const device::Properties& properties,
                                                   const ChannelwiseChoices& choices = {});

}  // namespace shiftconv::plan
