#include "conv/plan/plan.hpp"

#include <fmt/format.h>

#include <cassert>

#include "conv/problem/text.hpp"

namespace shiftconv::plan {

Parameter Parameter::map(const MapDescription& description, TensorPlace place) {
  Parameter parameter;
  parameter.bytes_.resize(sizeof(layout::TensorMapImage));
  parameter.map(0, description, place);
  return parameter;
}

Parameter& Parameter::address(size_t offset, TensorPlace place) {
  assert(offset + sizeof(uint64_t) <= bytes_.size());
  addresses_.push_back({offset, place});
  return *this;
}

Parameter& Parameter::map(size_t offset, const MapDescription& description, TensorPlace place) {
  assert(offset % alignof(layout::TensorMapImage) == 0 && offset + sizeof(layout::TensorMapImage) <= bytes_.size());
  maps_.push_back({offset, description, place});
  return *this;
}

void Parameter::relocate(const PerTensor<TensorPlace>& places) {
  const auto moved = [&](const TensorPlace& place) {
    return TensorPlace{places[place.tensor].tensor, places[place.tensor].byteOffset + place.byteOffset};
  };
  for (AddressField& field : addresses_) field.place = moved(field.place);
  for (MapField& field : maps_) field.place = moved(field.place);
}

size_t packedOffset(const Plan& plan) {
  const uintptr_t alignment = alignmentOf(TensorName::PackedFilter);
  return (plan.workspaceBytes + alignment - 1) / alignment * alignment;
}

void relocate(PlannedLaunch& launch, const PerTensor<TensorPlace>& places) {
  for (Parameter& parameter : launch.parameters) parameter.relocate(places);
  for (PlannedLaunch& one : launch.separated) relocate(one, places);
}

PerTensor<size_t> bytesOfRun(const Plan& plan) {
  PerTensor<size_t> bytes = tensorBytes(plan.problem);
  bytes[TensorName::Workspace] = plan.workspaceBytes;
  if (plan.isPart)
    bytes[TensorName::PackedFilter] = plan.packedBytes;
  else if (plan.packedBytes != 0)
    bytes[TensorName::Workspace] = packedOffset(plan) + plan.packedBytes;
  return bytes;
}

std::string describe(const Plan& plan) {
  const PerTensor<size_t> bytes = bytesOfRun(plan);
  std::string text = fmt::format(
      "problem    {}\nalgorithm  {} for compute capability {}.{}, workspace {} bytes{}\noptions    {}\n", describe(plan.problem),
      plan.algorithm, plan.properties.computeMajor, plan.properties.computeMinor, bytes[TensorName::Workspace],
      plan.isPart ? fmt::format(", packed filter {} bytes", bytes[TensorName::PackedFilter]) : "", plan.options);
  text += sumsLine(plan.sums);
  for (const PlannedLaunch& launch : plan.launches)
    text += fmt::format("launch     {} grid {}x{}x{}, cluster {}x{}x{}, block {}, {} bytes of dynamic shared memory\n",
                        launch.kernel, launch.config.grid.x, launch.config.grid.y, launch.config.grid.z, launch.config.cluster.x,
                        launch.config.cluster.y, launch.config.cluster.z, launch.config.block.count(),
                        launch.config.dynamicSharedBytes);
  return text + plan.details + fmt::format("estimate   {} (a model, not a measurement)\n", describe(plan.estimate));
}

}  // namespace shiftconv::plan
