// The `resident` engine of sm_90a: convolutions with few output pixels, whose tiles fit into shared memory with everything that
// they need. See conv/algorithms/resident/sm90_resident.cu for the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "conv/algorithms/halo/cut.hpp"
#include "conv/algorithms/resident/params.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct ResidentChoices {
  std::optional<HaloCut> cut;    ///< Columns or Flat
  std::optional<int32_t> split;  ///< CTAs that share the reduction of a tile: 1, 2 or 4
  Dependence dependent = Dependence::Launch;
};

struct ResidentPlan {
  kernels::resident::Params params{};  ///< addresses are filled in per run
  LaunchConfig launch{};
  std::string_view element;  ///< "f16" or "bf16"
  bool hasResidual = false;
  HaloCut cut = HaloCut::Columns;
  double modelledClocks = 0;
  Resource bound = Resource::L2ToShared;

  int32_t split() const { return 1 << params.splitShift; }
  std::string kernelName() const;
  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string residentRefusal(const Problem& problem, const device::Properties& properties);

/// Every way to cut the problem that fits, fastest by the model first. Empty where residentRefusal(...) is not.
std::vector<ResidentPlan> residentCandidates(const Problem& problem, const device::Properties& properties,
                                             const ResidentChoices& choices = {});

const Algorithm& residentAlgorithm();

}  // namespace shiftconv::plan
