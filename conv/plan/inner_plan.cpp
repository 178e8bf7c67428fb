#include "conv/plan/inner_plan.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace shiftconv::plan {
namespace {

size_t roundedUp(size_t bytes) {
  constexpr size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Status readBatchInvariant(const OptionValues& values, bool& isInvariant) {
  std::optional<bool> asked;
  if (Status status = values.flag(kBatchInvariantOption.name, asked); !status.ok()) return status;
  isInvariant = asked.value_or(false);
  return {};
}

Status bestInner(const InnerSearch& search, std::string_view owner, std::span<const OptionDescription> options,
                 std::string_view text, const Problem& inner, const device::Properties& properties, Candidate& best) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, options, values); !status.ok()) return status;
  bool isBatchInvariant = false;
  if (Status status = readBatchInvariant(values, isBatchInvariant); !status.ok()) return status;
  const std::string_view algorithm = values.find("algorithm").value_or("");
  if (algorithm == owner) return {StatusCode::InvalidArgument, fmt::format("{}: option algorithm must be another one", owner)};
  return search.best(inner, properties, algorithm, isBatchInvariant, best);
}

TensorPlace placeInWorkspace(size_t bytes, Plan& plan) {
  const TensorPlace place{TensorName::Workspace, plan.workspaceBytes};
  plan.workspaceBytes += roundedUp(bytes);
  return place;
}

TensorPlace placeInPackedFilter(size_t bytes, Plan& plan) {
  const TensorPlace place{TensorName::PackedFilter, plan.packedBytes};
  plan.packedBytes += roundedUp(bytes);
  return place;
}

PerTensor<TensorPlace> placesAsGiven() {
  PerTensor<TensorPlace> places;
  for (size_t i = 0; i < kTensors; ++i) places.values[i] = {static_cast<TensorName>(i), 0};
  return places;
}

Status addInner(const Candidate& best, const Problem& inner, const device::Properties& properties, PerTensor<TensorPlace> places,
                Plan& plan) {
  Plan made;
  if (Status status = best.complete(inner, properties, made); !status.ok()) return status;
  places[TensorName::Workspace].byteOffset = plan.workspaceBytes;
  plan.workspaceBytes += made.workspaceBytes;
  places[TensorName::PackedFilter] = placeInPackedFilter(made.packedBytes, plan);
  plan.mainLaunch = plan.launches.size() + made.mainLaunch;
  for (PlannedLaunch& launch : made.launches) {
    relocate(launch, places);
    plan.launches.push_back(std::move(launch));
  }
  plan.traffic = made.traffic;
  plan.sums.merge(made.sums);
  plan.details += fmt::format("between    {} {}\n{}", best.algorithm->name(), best.options(), made.details);
  return {};
}

}  // namespace shiftconv::plan
