#include "conv/planner/filter_packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace shiftconv::plan {
namespace {

/// Kernels whose results depend on the filter and the problem alone: filters of phases, and sums of filters for zero points of the
/// input.
constexpr std::array<std::string_view, 2> kPackingKernels{"gather_phase_filters", "prepare_column_corrections"};

bool packs(const PlannedLaunch& launch) {
  return std::find(kPackingKernels.begin(), kPackingKernels.end(), launch.kernel) != kPackingKernels.end();
}

}  // namespace

Status separateFilterPacking(const Plan& plan, std::shared_ptr<const Plan>& packing, std::shared_ptr<const Plan>& rest) {
  auto first = std::make_shared<Plan>(plan), second = std::make_shared<Plan>(plan);
  second->mainLaunch -= static_cast<size_t>(
      std::count_if(plan.launches.begin(), plan.launches.begin() + static_cast<std::ptrdiff_t>(plan.mainLaunch), packs));
  std::erase_if(first->launches, [](const PlannedLaunch& launch) { return !packs(launch); });
  std::erase_if(second->launches, packs);
  if (first->launches.empty() || second->launches.empty())
    return {StatusCode::Unsupported,
            fmt::format("a run of this plan ({}) makes nothing of its filter that could be kept", plan.algorithm)};
  first->mainLaunch = 0;
  packing = std::move(first), rest = std::move(second);
  return {};
}

}  // namespace shiftconv::plan
