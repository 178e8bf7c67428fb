#include "conv/planner/binding.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace shiftconv::plan {
namespace {

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

PerTensor<size_t> bytesOf(const Plan& plan) {
  PerTensor<size_t> bytes = tensorBytes(plan.problem);
  bytes[TensorName::Workspace] = plan.workspaceBytes;
  return bytes;
}

Status checkTensor(TensorName tensor, device::Address address, size_t bytes) {
  if (bytes == 0) {
    if (address == 0) return {};
    return invalid(fmt::format("{} must be NULL, because this plan uses none", nameOf(tensor)));
  }
  if (address == 0) return invalid(fmt::format("{} must not be NULL; this plan needs {} bytes of it", nameOf(tensor), bytes));
  if (const uintptr_t rest = address % alignmentOf(tensor))
    return invalid(fmt::format("{} must be aligned to {} bytes, but {:#x} is {} bytes past a multiple", nameOf(tensor),
                               alignmentOf(tensor), address, rest));
  return {};
}

}  // namespace

Status checkDevice(const Plan& plan, const device::Properties& properties) {
  if (plan.computeMajor != properties.computeMajor || plan.computeMinor != properties.computeMinor)
    return invalid(fmt::format("the plan was made for compute capability {}.{}, but {} has {}.{}; make a plan from its properties",
                               plan.computeMajor, plan.computeMinor, properties.name, properties.computeMajor,
                               properties.computeMinor));
  return {};
}

Status checkTensors(const Plan& plan, const TensorAddresses& tensors) {
  const PerTensor<size_t> bytes = bytesOf(plan);
  const auto nth = [](size_t i) { return static_cast<TensorName>(i); };
  for (size_t i = 0; i < kTensors; ++i)
    if (Status status = checkTensor(nth(i), tensors[nth(i)], bytes[nth(i)]); !status.ok()) return status;
  for (size_t i = 0; i < kTensors; ++i)
    for (size_t j = 0; j < kTensors; ++j) {
      const TensorName written = nth(i), other = nth(j);
      if (i == j || !isWritten(written) || bytes[written] == 0 || bytes[other] == 0) continue;
      if (tensors[written] < tensors[other] + bytes[other] && tensors[other] < tensors[written] + bytes[written])
        return invalid(fmt::format("{} must not overlap {}", nameOf(written), nameOf(other)));
    }
  return {};
}

Status Binding::make(std::shared_ptr<const Plan> plan, KernelCache& kernels, const TensorAddresses& tensors,
                     std::unique_ptr<Binding>& binding) {
  if (Status status = checkDevice(*plan, kernels.device().properties()); !status.ok()) return status;
  if (Status status = checkTensors(*plan, tensors); !status.ok()) return status;
  auto made = std::make_unique<Binding>();
  made->device_ = &kernels.device();
  made->launches_.resize(plan->launches.size());
  for (size_t i = 0; i < plan->launches.size(); ++i)
    if (Status status = made->bind(plan->launches[i], tensors, kernels, made->launches_[i]); !status.ok()) return status;
  made->plan_ = std::move(plan);
  binding = std::move(made);
  return {};
}

Status Binding::bind(const PlannedLaunch& planned, const TensorAddresses& tensors, KernelCache& kernels, Launch& launch) const {
  if (Status status = kernels.find(planned, launch.kernel); !status.ok()) return status;
  launch.config = planned.config;
  const auto blocksOf = [](const Parameter& parameter) { return (parameter.bytes().size() + sizeof(Block) - 1) / sizeof(Block); };
  size_t blocks = 0;
  for (const Parameter& parameter : planned.parameters) blocks += blocksOf(parameter);
  launch.storage.resize(blocks);
  Block* next = launch.storage.data();
  for (const Parameter& parameter : planned.parameters) {
    std::byte* const bytes = next->bytes;
    next += blocksOf(parameter);
    launch.arguments.push_back(bytes);
    std::memcpy(bytes, parameter.bytes().data(), parameter.bytes().size());
    for (const Parameter::AddressField& field : parameter.addresses()) {
      const device::Address base = tensors[field.place.tensor];
      const device::Address address = base == 0 ? 0 : base + field.place.byteOffset;
      std::memcpy(bytes + field.offset, &address, sizeof(address));
    }
    for (const Parameter::MapField& field : parameter.maps()) {
      if (tensors[field.place.tensor] == 0) continue;
      const device::Address address = tensors[field.place.tensor] + field.place.byteOffset;
      device::TensorMap map;
      Status status;
      if (const auto* tiled = std::get_if<layout::TiledMap>(&field.description)) {
        layout::TiledMap placed = *tiled;
        placed.globalAddress = address;
        status = device_->encodeTiled(placed, map);
      } else {
        layout::Im2colMap placed = std::get<layout::Im2colMap>(field.description);
        placed.tensor.globalAddress = address;
        status = device_->encodeIm2col(placed, map);
      }
      if (!status.ok()) return status;
      std::memcpy(bytes + field.offset, &map, sizeof(map));
    }
  }
  return {};
}

Status Binding::run(device::Stream stream) const {
  for (const Launch& launch : launches_)
    if (Status status = device_->launch(*launch.kernel, launch.config, launch.arguments, stream); !status.ok()) return status;
  return {};
}

}  // namespace shiftconv::plan
