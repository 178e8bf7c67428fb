#include "conv/planner/scratch_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "conv/problem/tensors.hpp"

namespace shiftconv::plan {
namespace {

constexpr size_t kPatternBytes = 1 << 18;

std::optional<DataType> typeOf(const Problem& p, TensorName tensor) {
  switch (tensor) {
    case TensorName::Input:
    case TensorName::SecondInput:
      return p.inputType;
    case TensorName::Filter:
      return p.filterType;
    case TensorName::Bias:
      return p.biasType;
    case TensorName::Residual:
      return p.residualType;
    case TensorName::ChannelScale:
      return DataType::F32;
    case TensorName::InputScale:
      return p.inputScale.type;
    case TensorName::FilterScale:
      return p.filterScale.type;
    default:
      return {};  // written
  }
}

}  // namespace

ScratchTensors::~ScratchTensors() {
  for (const device::Address address : addresses_.values)
    if (address != 0) static_cast<void>(device_.release(address));
}

Status ScratchTensors::make(const Problem& problem) {
  const PerTensor<size_t> bytes = tensorBytes(problem);
  for (size_t i = 0; i < kTensors; ++i) {
    const auto tensor = static_cast<TensorName>(i);
    if (bytes[tensor] == 0) continue;
    if (Status status = device_.allocate(bytes[tensor], addresses_[tensor]); !status.ok()) return status;
    if (Status status = fill(tensor, typeOf(problem, tensor), bytes[tensor]); !status.ok()) return status;
  }
  return device_.synchronize(stream_);
}

Status ScratchTensors::makeWorkspace(size_t bytes) {
  if (bytes <= workspaceBytes_) return {};
  device::Address& address = addresses_[TensorName::Workspace];
  if (address != 0)
    if (Status status = device_.release(address); !status.ok()) return status;
  address = 0;
  workspaceBytes_ = 0;
  if (Status status = device_.allocate(bytes, address); !status.ok()) return status;
  workspaceBytes_ = bytes;
  return {};
}

TensorAddresses ScratchTensors::of(const Plan& plan) const {
  TensorAddresses given = addresses_;
  if (bytesOfRun(plan)[TensorName::Workspace] == 0) given[TensorName::Workspace] = 0;
  return given;
}

Status ScratchTensors::fill(TensorName tensor, const std::optional<DataType>& type, size_t bytes) {
  if (!type) return device_.fill(addresses_[tensor], 0, bytes, stream_);
  const size_t length = std::min(bytes, kPatternBytes);
  std::vector<std::byte>& pattern = patterns_.emplace_back(length);
  std::mt19937_64 random(static_cast<uint64_t>(tensor) + 1);
  const double scale = isInteger(*type) ? 100 : 1;
  const auto count = static_cast<int64_t>(length) * 8 / bitsOf(*type);
  for (int64_t i = 0; i < count; ++i) {
    double value = scale * (static_cast<double>(random() >> 11) * 0x1p-52 - 1);
    if (isScaleFactor(*type)) value = 1;
    if (*type == DataType::U8) value = std::fabs(value);
    numerics::storePacked(numberType(*type), pattern.data(), i, numerics::encode(numberType(*type), value));
  }
  for (size_t at = 0; at < bytes; at += length)
    if (Status status = device_.copyToDevice(addresses_[tensor] + at, pattern.data(), std::min(length, bytes - at), stream_);
        !status.ok())
      return status;
  return {};
}

}  // namespace shiftconv::plan
