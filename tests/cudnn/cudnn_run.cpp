#include "tests/cudnn/cudnn_run.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "bench/conv/gpu/cudnn_side.hpp"
#include "common/numerics/packed.hpp"
#include "tests/cudnn/plain_form.hpp"

namespace shiftconv::referee {

using judged::Case;
using judged::dequantised;

namespace {

constexpr size_t kMostWorkspace = size_t{1} << 30;
constexpr int64_t kMostPlans = 40;  // that are tried before cuDNN counts as having none
constexpr std::byte kNan{0xFF};     // every byte of an output; a NaN in all float types

CUdeviceptr addressOf(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// Runs the first plan that builds; its name, or empty.
std::string runFirstPlan(cudnn::Convolution& convolution, const cudnn::Tensors& tensors, const Device& device) {
  for (int64_t i = 0; i < std::min(kMostPlans, convolution.plans()); ++i) {
    double milliseconds = 0;
    if (!convolution.build(i, kMostWorkspace, milliseconds)) continue;
    const Memory workspace(device, std::max<size_t>(convolution.workspaceBytes(i), 256));
    if (!convolution.run(i, tensors, addressOf(workspace.get()), nullptr)) continue;
    shiftconv::check(shiftconv_stream_synchronize(device.handle(), nullptr));
    return convolution.name(i);
  }
  return {};
}

class Uploaded {
 public:
  template <class T>
  Uploaded(const Device& device, const std::vector<T>& values) : memory_(device, values.size() * sizeof(T)) {
    shiftconv::check(shiftconv_copy_to_device(device.handle(), memory_.get(), values.data(), memory_.bytes(), nullptr));
  }
  CUdeviceptr address() const { return addressOf(memory_.get()); }

 private:
  Memory memory_;
};

/// Input or filter with its elements in the order of a plain form.
std::vector<std::byte> ordered(const Case& one, TensorName which, const std::vector<int64_t>& order) {
  const Problem& p = one.problem;
  const auto number = numberType(which == TensorName::Input ? p.inputType : p.filterType);
  std::vector<std::byte> bytes((order.size() * static_cast<size_t>(numerics::storageBits(number)) + 7) / 8);
  for (size_t i = 0; i < order.size(); ++i) {
    TensorName tensor = which;
    int64_t index = order[i];
    if (which == TensorName::Input) {
      const Problem::InputPlace place = p.inputPlace(index / p.c, index % p.c);
      tensor = place.isSecond ? TensorName::SecondInput : which, index = place.index;
    }
    numerics::storePacked(number, bytes.data(), static_cast<int64_t>(i),
                          numerics::loadPacked(number, one.tensors.bytes[tensor].data(), index));
  }
  return bytes;
}

std::vector<float> ordered(const std::vector<float>& values, const std::vector<int64_t>& order) {
  if (order.empty()) return values;
  std::vector<float> made;
  made.reserve(order.size());
  for (const int64_t index : order) made.push_back(values[static_cast<size_t>(index)]);
  return made;
}

}  // namespace

nlohmann::ordered_json runCudnn(const Case& one, const Device& device) {
  judged::DeviceTensors tensors(device, one);
  cudnn::Tensors addresses;
  addresses.input = addressOf(tensors.address(TensorName::Input));
  addresses.filter = addressOf(tensors.address(TensorName::Filter));
  addresses.bias = addressOf(tensors.address(TensorName::Bias));
  addresses.residual = addressOf(tensors.address(TensorName::Residual));
  addresses.channelScale = addressOf(tensors.address(TensorName::ChannelScale));
  addresses.output = addressOf(tensors.address(TensorName::Output));

  const auto row = [&](const std::vector<std::byte>& output, const char* types, const std::string& plan) {
    auto made = judged::report("cuDNN", judged::compare(one.problem, one.exact({Accumulation::WgmmaTensorCore}), output, kNan));
    made["types"] = types;
    made["plan"] = plan;
    return made;
  };
  const PlainForm plain = plainForm(one.problem, false);
  std::optional<Uploaded> input, filter;
  if (!plain.input.empty()) addresses.input = input.emplace(device, ordered(one, TensorName::Input, plain.input)).address();
  if (!plain.filter.empty()) addresses.filter = filter.emplace(device, ordered(one, TensorName::Filter, plain.filter)).address();
  cudnn::Convolution native(plain.problem);
  std::string refusal = native.refusal();
  if (refusal.empty()) {
    tensors.poison(kNan);
    const std::string plan = runFirstPlan(native, addresses, device);
    if (!plan.empty()) return row(tensors.download(TensorName::Output), "of the problem", plan);
    refusal = "no plan";
  }
  const PlainForm dense = plainForm(one.problem, true);
  cudnn::Convolution wide(dense.problem, cudnn::Types::Float32);
  if (!wide.refusal().empty()) return {{"side", "cuDNN"}, {"refusal", refusal + "; in f32: " + wide.refusal()}};
  input.emplace(device, ordered(dequantised(one.problem, one.tensors, TensorName::Input), dense.input));
  filter.emplace(device, ordered(dequantised(one.problem, one.tensors, TensorName::Filter), dense.filter));
  std::vector<float> values(static_cast<size_t>(one.problem.outputPixels() * one.problem.k), std::bit_cast<float>(~0u));
  const Uploaded output(device, values);
  addresses.input = input->address(), addresses.filter = filter->address(), addresses.output = output.address();
  const std::string plan = runFirstPlan(wide, addresses, device);
  if (plan.empty()) return {{"side", "cuDNN"}, {"refusal", refusal + "; in f32: no plan"}};
  shiftconv::check(shiftconv_copy_to_host(device.handle(), values.data(), reinterpret_cast<const void*>(output.address()),
                                          values.size() * sizeof(float), nullptr));
  shiftconv::check(shiftconv_stream_synchronize(device.handle(), nullptr));
  return row(judged::encodeOutput(one.problem, values, kNan), "f32", plan);
}

}  // namespace shiftconv::referee
