#include "conv/planner/filter_packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace shiftconv::plan {
namespace {

bool packs(const PlannedLaunch& launch) { return launch.packsFilter; }

/// The plan with PlannedLaunch::separated in the place of launches that pack the filter and do more.
Plan withSeparatedLaunches(const Plan& plan) {
  Plan all = plan;
  all.launches.clear();
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    if (i == plan.mainLaunch) all.mainLaunch = all.launches.size();
    const std::vector<PlannedLaunch>& separated = plan.launches[i].separated;
    if (separated.empty())
      all.launches.push_back(plan.launches[i]);
    else
      all.launches.insert(all.launches.end(), separated.begin(), separated.end());
  }
  return all;
}

/// The launches of `plan` that `taken` leaves.
template <class Taken>
std::shared_ptr<Plan> partOf(const Plan& plan, Taken taken) {
  auto part = std::make_shared<Plan>(plan);
  part->isPart = true;
  std::erase_if(part->launches, [&](const PlannedLaunch& launch) { return !taken(launch); });
  part->optional.values.fill(true);
  for (const PlannedLaunch& launch : part->launches)
    for (const Parameter& parameter : launch.parameters) {
      for (const Parameter::AddressField& field : parameter.addresses()) part->optional[field.place.tensor] = false;
      for (const Parameter::MapField& field : parameter.maps()) part->optional[field.place.tensor] = false;
    }
  if (part->optional[TensorName::Workspace]) part->workspaceBytes = 0;
  return part;
}

}  // namespace

Status separateFilterPacking(const Plan& plan, std::shared_ptr<const Plan>& packing, std::shared_ptr<const Plan>& rest) {
  if (plan.packedBytes == 0 || plan.isPart)
    return {StatusCode::Unsupported,
            plan.isPart ? "this plan is a part of another, which has been separated already"
                        : fmt::format("a run of this plan ({}) makes nothing of its filter that could be kept", plan.algorithm)};
  const Plan all = withSeparatedLaunches(plan);
  std::shared_ptr<Plan> first = partOf(all, packs), second = partOf(all, [](const PlannedLaunch&launch) { return !packs(launch); });
  first->mainLaunch = 0;
  second->mainLaunch -= static_cast<size_t>(
      std::count_if(all.launches.begin(), all.launches.begin() + static_cast<std::ptrdiff_t>(all.mainLaunch), packs));
  packing = std::move(first), rest = std::move(second);
  return {};
}

}  // namespace shiftconv::plan
