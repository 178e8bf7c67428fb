#include "conv/tools/convolve/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "conv/problem/text.hpp"

namespace shiftconv::judged {
namespace {

Problem parsed(const std::string& text) {
  Problem problem;
  if (const Status status = parse(text, problem); !status.ok()) throw std::invalid_argument(text + ": " + status.message());
  return problem;
}

/// FNV-1a: the same on every machine.
std::string hashOf(const std::vector<std::byte>& bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001B3;
  return fmt::format("{:016x}", hash);
}

}  // namespace

Case::Case(const std::string& line, uint64_t operandSeed)
    : text(line),
      seed(operandSeed),
      convolution(Convolution::parse(line)),
      problem(parsed(line)),
      tensors(randomOperands(problem, operandSeed)) {}

const reference::Expectation& Case::exact(const Accumulations& accumulations) const {
  Accumulations different = accumulations;
  // Only 8-bit floats are summed differently by the tensor cores' instructions.
  if (bitsOf(problem.inputType) != 8) {
    different.clear();
    for (const Accumulation one : accumulations)
      different.insert(one == Accumulation::FusedMultiplyAdd ? one : Accumulation::TensorCore);
  }
  const auto found = exact_.find(different);
  if (found != exact_.end()) return found->second;
  return exact_.emplace(different, reference::convolve(problem, tensors.operands(), different)).first->second;
}

double Case::macs() const {
  const Problem& p = problem;
  return static_cast<double>(p.outputPixels() * p.k) * static_cast<double>(p.t * p.r * p.s * p.groupChannels());
}

DeviceTensors::DeviceTensors(const Device& device, const Case& one) : device_(device), sizes_(tensorBytes(one.problem)) {
  for (size_t i = 0; i < kTensors; ++i) {
    const auto name = static_cast<TensorName>(i);
    memory_.emplace_back(device, std::max<size_t>(sizes_[name], 16));
    const auto& bytes = one.tensors.bytes[name];
    if (!bytes.empty())
      shiftconv::check(shiftconv_copy_to_device(device.handle(), memory_.back().get(), bytes.data(), bytes.size(), nullptr));
  }
  if (void* const amax = address(TensorName::Amax))
    shiftconv::check(shiftconv_device_fill(device.handle(), amax, 0, sizes_[TensorName::Amax], nullptr));
  arguments_.input = address(TensorName::Input), arguments_.second_input = address(TensorName::SecondInput);
  arguments_.filter = address(TensorName::Filter);
  arguments_.bias = address(TensorName::Bias), arguments_.residual = address(TensorName::Residual);
  arguments_.channel_scale = address(TensorName::ChannelScale);
  arguments_.input_scale = address(TensorName::InputScale), arguments_.filter_scale = address(TensorName::FilterScale);
  arguments_.output = address(TensorName::Output), arguments_.output_scale = address(TensorName::OutputScale);
  arguments_.amax = address(TensorName::Amax);
}

void* DeviceTensors::address(TensorName name) const {
  return sizes_[name] == 0 ? nullptr : memory_[static_cast<size_t>(name)].get();
}

void DeviceTensors::poison(std::byte value) {
  for (const TensorName written : {TensorName::Output, TensorName::OutputScale})
    if (sizes_[written] != 0)
      shiftconv::check(
          shiftconv_device_fill(device_.handle(), address(written), std::to_integer<uint8_t>(value), sizes_[written], nullptr));
}

std::vector<std::byte> DeviceTensors::download(TensorName name) const {
  std::vector<std::byte> bytes(sizes_[name]);
  if (bytes.empty()) return bytes;
  shiftconv::check(shiftconv_copy_to_host(device_.handle(), bytes.data(), address(name), bytes.size(), nullptr));
  shiftconv::check(shiftconv_stream_synchronize(device_.handle(), nullptr));
  return bytes;
}

nlohmann::ordered_json report(const std::string& side, const Errors& errors) {
  return {{"side", side},
          {"right", errors.right()},
          {"beyond", errors.beyond},
          {"elements", errors.elements},
          {"share", errors.worstShare},
          {"sum_share", errors.worstSumShare},
          {"l2", errors.relativeL2}};
}

Errors runPlan(const Case& one, const Device& device, const Plan& plan, std::vector<std::byte>& output) {
  DeviceTensors tensors(device, one);
  tensors.poison(kPoison);
  Tensors arguments = tensors.arguments();
  const Memory workspace(device, plan.workspaceBytes());
  arguments.workspace = workspace.get();
  plan.run(device, arguments);
  output = tensors.download(TensorName::Output);
  return compare(one.problem, one.exact(accumulationsIn(plan.describe())), output, kPoison);
}

nlohmann::ordered_json runAlgorithms(const Case& one, const Device& device, const DeviceProperties& properties,
                                     const std::string& name, Outputs& outputs, const std::string& left) {
  auto rows = nlohmann::ordered_json::array();
  outputs.clear();
  for (int i = 0; i < shiftconv_algorithm_count(); ++i) {
    const std::string algorithm = shiftconv_algorithm_name(i);
    if (algorithm == left || !refusal(one.convolution, properties, algorithm).empty()) continue;
    PlanOptions options;
    options.algorithm = algorithm.c_str();
    const Plan plan(one.convolution, properties, options);
    auto row = report(name + " " + algorithm, runPlan(one, device, plan, outputs[algorithm]));
    row["algorithm"] = algorithm;
    row["plan"] = plan.options();
    row["bits"] = hashOf(outputs[algorithm]);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace shiftconv::judged
