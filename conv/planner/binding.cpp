#include "conv/planner/binding.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

namespace shiftconv::plan {
namespace {

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

Status checkTensor(TensorName tensor, device::Address address, size_t bytes, bool isOptional) {
  if (isOptional && (address == 0 || bytes == 0)) return {};
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

using Block = layout::TensorMapImage;

size_t blocksOf(const Parameter& parameter) { return (parameter.bytes().size() + sizeof(Block) - 1) / sizeof(Block); }

/// The blocks that a launch takes, or why it takes too many: a mistake of this library.
Status countBlocks(const PlannedLaunch& planned, size_t& blocks) {
  blocks = 0;
  for (const Parameter& parameter : planned.parameters) blocks += blocksOf(parameter);
  if (blocks * sizeof(Block) <= kMostParameterBytes && planned.parameters.size() <= kMostParameters) return {};
  return {StatusCode::InternalError,
          fmt::format("{} takes {} parameters of {} bytes, but at most {} of {} can be bound", planned.kernel,
                      planned.parameters.size(), blocks * sizeof(Block), kMostParameters, kMostParameterBytes)};
}

Status encode(device::Device& device, const MapDescription& description, device::Address address, device::TensorMap& map) {
  if (const auto* tiled = std::get_if<layout::TiledMap>(&description)) {
    layout::TiledMap placed = *tiled;
    placed.globalAddress = address;
    return device.encodeTiled(placed, map);
  }
  layout::Im2colMap placed = std::get<layout::Im2colMap>(description);
  placed.tensor.globalAddress = address;
  return device.encodeIm2col(placed, map);
}

/// The run's tensors, and where the packed filter lies.
TensorAddresses placed(const Plan& plan, TensorAddresses tensors) {
  if (!plan.isPart && plan.packedBytes != 0)
    tensors[TensorName::PackedFilter] = tensors[TensorName::Workspace] + packedOffset(plan);
  return tensors;
}

/// Writes the parameters with their addresses and maps into `storage`, and where each lies into `arguments`.
Status fill(const PlannedLaunch& planned, const TensorAddresses& tensors, device::Device& device, Block* storage,
            const void** arguments) {
  for (const Parameter& parameter : planned.parameters) {
    auto* const bytes = reinterpret_cast<std::byte*>(storage);
    storage += blocksOf(parameter);
    *arguments++ = bytes;
    std::memcpy(bytes, parameter.bytes().data(), parameter.bytes().size());
    for (const Parameter::AddressField& field : parameter.addresses()) {
      const device::Address base = tensors[field.place.tensor];
      const device::Address address = base == 0 ? 0 : base + field.place.byteOffset;
      std::memcpy(bytes + field.offset, &address, sizeof(address));
    }
    for (const Parameter::MapField& field : parameter.maps()) {
      if (tensors[field.place.tensor] == 0) continue;
      device::TensorMap map;
      if (Status status = encode(device, field.description, tensors[field.place.tensor] + field.place.byteOffset, map);
          !status.ok())
        return status;
      std::memcpy(bytes + field.offset, &map, sizeof(map));
    }
  }
  return {};
}

/// Parameters on the stack, which the device has read when launch() returns.
Status launchOnce(const PlannedLaunch& planned, const device::Kernel& kernel, const TensorAddresses& tensors,
                  device::Device& device, device::Stream stream) {
  std::array<Block, kMostParameterBytes / sizeof(Block)> storage;
  std::array<const void*, kMostParameters> arguments;
  size_t blocks = 0;
  if (Status status = countBlocks(planned, blocks); !status.ok()) return status;
  if (Status status = fill(planned, tensors, device, storage.data(), arguments.data()); !status.ok()) return status;
  return device.launch(kernel, planned.config, {arguments.data(), planned.parameters.size()}, stream);
}

}  // namespace

Status checkDevice(const Plan& plan, const device::Properties& properties) {
  const device::Properties& made = plan.properties;
  if (made.computeMajor != properties.computeMajor || made.computeMinor != properties.computeMinor)
    return invalid(fmt::format("the plan was made for compute capability {}.{}, but {} has {}.{}; make a plan from its properties",
                               made.computeMajor, made.computeMinor, properties.name, properties.computeMajor,
                               properties.computeMinor));
  return {};
}

Status checkTensors(const Plan& plan, const TensorAddresses& tensors) {
  const PerTensor<size_t> bytes = bytesOfRun(plan);
  const auto nth = [](size_t i) { return static_cast<TensorName>(i); };
  for (size_t i = 0; i < kTensors; ++i)
    if (Status status = checkTensor(nth(i), tensors[nth(i)], bytes[nth(i)], plan.optional[nth(i)]); !status.ok()) return status;
  for (size_t i = 0; i < kTensors; ++i)
    for (size_t j = 0; j < kTensors; ++j) {
      const TensorName written = nth(i), other = nth(j);
      if (i == j || !isWritten(written) || bytes[written] == 0 || bytes[other] == 0) continue;
      if (tensors[written] == 0 || tensors[other] == 0) continue;
      if (meet(plan.problem, {written, tensors[written], bytes[written]}, {other, tensors[other], bytes[other]}))
        return invalid(fmt::format("{} must not overlap {}", nameOf(written), nameOf(other)));
    }
  return {};
}

Status runOnce(const Plan& plan, KernelCache& kernels, const TensorAddresses& tensors, device::Stream stream) {
  device::Device& device = kernels.device();
  if (Status status = checkDevice(plan, device.properties()); !status.ok()) return status;
  if (Status status = checkTensors(plan, tensors); !status.ok()) return status;
  const TensorAddresses places = placed(plan, tensors);
  for (const PlannedLaunch& planned : plan.launches) {
    const device::Kernel* kernel = nullptr;
    if (Status status = kernels.find(planned, kernel); !status.ok()) return status;
    if (Status status = launchOnce(planned, *kernel, places, device, stream); !status.ok()) return status;
  }
  return {};
}

Status Binding::make(std::shared_ptr<const Plan> plan, KernelCache& kernels, const TensorAddresses& tensors,
                     std::unique_ptr<Binding>& binding) {
  if (Status status = checkDevice(*plan, kernels.device().properties()); !status.ok()) return status;
  if (Status status = checkTensors(*plan, tensors); !status.ok()) return status;
  const TensorAddresses places = placed(*plan, tensors);
  auto made = std::make_unique<Binding>();
  made->device_ = &kernels.device();
  made->launches_.resize(plan->launches.size());
  for (size_t i = 0; i < plan->launches.size(); ++i) {
    const PlannedLaunch& planned = plan->launches[i];
    Launch& launch = made->launches_[i];
    if (Status status = kernels.find(planned, launch.kernel); !status.ok()) return status;
    launch.config = planned.config;
    size_t blocks = 0;
    if (Status status = countBlocks(planned, blocks); !status.ok()) return status;
    launch.storage.resize(blocks);
    launch.arguments.resize(planned.parameters.size());
    if (Status status = fill(planned, places, *made->device_, launch.storage.data(), launch.arguments.data()); !status.ok())
      return status;
  }
  made->plan_ = std::move(plan);
  binding = std::move(made);
  return {};
}

Status Binding::run(device::Stream stream) const {
  for (const Launch& launch : launches_)
    if (Status status = device_->launch(*launch.kernel, launch.config, launch.arguments, stream); !status.ok()) return status;
  return {};
}

Status Binding::run(const TensorAddresses& tensors, device::Stream stream) const {
  if (Status status = checkTensors(*plan_, tensors); !status.ok()) return status;
  const TensorAddresses places = placed(*plan_, tensors);
  for (size_t i = 0; i < launches_.size(); ++i)
    if (Status status = launchOnce(plan_->launches[i], *launches_[i].kernel, places, *device_, stream); !status.ok()) return status;
  return {};
}

}  // namespace shiftconv::plan
