// The library's side of random_convolutions.py: plans and runs problems that come through a pipe, on both emulated devices, or,
// with the argument "cuda:0" or another name of a GPU, on that GPU alone. There each run is one of five in a CUDA graph, with the
// same workspace: those next to it read other inputs, and one of them writes to the same outputs, so that a run that begins before
// it may, or reads what the next one overwrites, has wrong outputs.
//
// Requests on stdin, a line each, and for "run" bytes after it:
//   names                                         every algorithm and its options, "<algorithm>" and after it "  <option>" lines
//   algorithms <device> <problem>                 every algorithm that supports the problem
//   run <device> <multiprocessors to plan for, or 0> <schedule> <seed> <hazards> <algorithm> <options or -> <problem>
//                                                 followed by the eleven tensors, each as 8 bytes of length and its bytes; a GPU
//                                                 has no schedule, seed or hazards
//   options, inner                                likewise without tensors: the options of the plan that "run" would run, and what
//                                                 it chose for the algorithms that it plans by means of
// Answers on stdout: a line "<status> <bytes>" and so many bytes. Status "ok": text for "names" and "algorithms"; for "run" a line
// with the names of how the plan sums, and after it the tensors output, output_scale and amax, one after the other. "invalid":
// the problem is; "unplanned": support says yes, but there is no plan; "failed": the run did. All three with a sentence.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <shiftconv/shiftconv.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conv/random/captured_runs.hpp"

namespace {

using Bytes = std::vector<char>;

/// Too long a message or too large a tensor is a broken pipe, not a problem.
constexpr uint64_t kMostBytes = uint64_t{1} << 28;

void answer(const std::string& status, const char* bytes, size_t size) {
  std::cout << status << ' ' << size << '\n';
  std::cout.write(bytes, static_cast<std::streamsize>(size));
  std::cout.flush();
}
void answer(const std::string& status, const std::string& text) { answer(status, text.data(), text.size()); }

Bytes readTensor() {
  uint64_t size = 0;
  std::cin.read(reinterpret_cast<char*>(&size), sizeof(size));
  if (!std::cin || size > kMostBytes) throw std::runtime_error("the pipe is broken");
  Bytes bytes(size);
  std::cin.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!std::cin) throw std::runtime_error("the pipe is broken");
  return bytes;
}

std::string restOf(std::istringstream& words) {
  std::string text;
  std::getline(words >> std::ws, text);
  return text;
}

/// A line "<algorithm> <options of the planner's choice>" for each that supports the problem; "<algorithm> !<sentence>" where it
/// has no plan nevertheless.
std::string algorithmsFor(const shiftconv::Convolution& problem, const shiftconv::Device& device) {
  const shiftconv::DeviceProperties properties = device.properties();
  std::string text;
  for (int i = 0; i < shiftconv_algorithm_count(); ++i) {
    const std::string algorithm = shiftconv_algorithm_name(i);
    if (!shiftconv::refusal(problem, properties, algorithm).empty()) continue;
    shiftconv::PlanOptions options;
    options.algorithm = algorithm.c_str();
    try {
      text += algorithm + " " + shiftconv::Plan(problem, properties, options).options() + "\n";
    } catch (const shiftconv::Error& error) {
      text += algorithm + " !" + error.what() + "\n";
    }
  }
  return text;
}

class OnDevice {
 public:
  OnDevice(const shiftconv::Device& device, const std::vector<Bytes>& tensors) : device_(device) {
    for (const Bytes& bytes : tensors) {
      memory_.emplace_back(device, std::max<size_t>(bytes.size(), 16));
      sizes_.push_back(bytes.size());
      if (!bytes.empty())
        shiftconv::check(shiftconv_copy_to_device(device.handle(), memory_.back().get(), bytes.data(), bytes.size(), nullptr));
    }
  }
  void* address(size_t i) const { return sizes_[i] == 0 ? nullptr : memory_[i].get(); }
  Bytes written(size_t first) const {
    Bytes all;
    for (size_t i = first; i < memory_.size(); ++i) {
      Bytes bytes(sizes_[i]);
      if (!bytes.empty())
        shiftconv::check(shiftconv_copy_to_host(device_.handle(), bytes.data(), memory_[i].get(), bytes.size(), nullptr));
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    shiftconv::check(shiftconv_stream_synchronize(device_.handle(), nullptr));
    return all;
  }

 private:
  const shiftconv::Device& device_;
  std::vector<shiftconv::Memory> memory_;
  std::vector<size_t> sizes_;
};

/// The tensors of a request: those that are read, then those that are written, with what they hold before the run.
constexpr size_t kTensors = 11, kFirstWritten = 8;

std::string differentSizes(const shiftconv::Convolution& problem, const std::vector<Bytes>& tensors) {
  const shiftconv::TensorBytes b = problem.tensorBytes();
  const size_t expected[kTensors] = {b.input,        b.filter,       b.bias,   b.residual,     b.channel_scale, b.input_scale,
                                     b.filter_scale, b.second_input, b.output, b.output_scale, b.amax};
  for (size_t i = 0; i < kTensors; ++i)
    if (tensors[i].size() != expected[i])
      return "tensor " + std::to_string(i) + " has " + std::to_string(tensors[i].size()) + " bytes, but the library says " +
             std::to_string(expected[i]);
  return {};
}

/// The line of the plan's description that says how it sums, without its title.
std::string sumsOf(const shiftconv::Plan& plan) {
  constexpr std::string_view kTitle = "\nsums ";
  const std::string text = plan.describe();
  const size_t start = text.find(kTitle);
  if (start == std::string::npos) throw std::runtime_error("the description of a plan has no line about sums");
  return text.substr(start + kTitle.size(), text.find('\n', start + 1) + 1 - start - kTitle.size());
}

shiftconv::Tensors argumentsOf(const OnDevice& tensors) {
  shiftconv::Tensors arguments;
  arguments.input = tensors.address(0), arguments.filter = tensors.address(1);
  arguments.bias = tensors.address(2), arguments.residual = tensors.address(3), arguments.channel_scale = tensors.address(4);
  arguments.input_scale = tensors.address(5), arguments.filter_scale = tensors.address(6);
  arguments.second_input = tensors.address(7);
  arguments.output = tensors.address(8), arguments.output_scale = tensors.address(9), arguments.amax = tensors.address(10);
  return arguments;
}

/// Bytes that are a number of about 1, or of some 60 for an integer of 8 bits, whatever the type.
constexpr char kOtherInputs = 0x3c;

/// The run among others, on a GPU.
void runAmongOthers(const shiftconv::Plan& plan, shiftconv::Device& device, const shiftconv::Tensors& arguments,
                    std::vector<Bytes> contents) {
  for (Bytes& bytes : contents) std::fill(bytes.begin(), bytes.end(), kOtherInputs);
  const OnDevice otherTensors(device, contents);
  shiftconv::Tensors others = argumentsOf(otherTensors), before = others;
  others.workspace = before.workspace = arguments.workspace;
  before.output = arguments.output, before.output_scale = arguments.output_scale;
  const shiftconv::Binding binding(plan, device, arguments);
  shiftconv::check(shiftconv_stream_synchronize(device.handle(), nullptr));  // the copies, which the other stream does not wait for
  shiftconv::Stream stream(device);
  captured(stream.get(), [&] {
    binding.run(others, stream.get());
    binding.run(before, stream.get());
    binding.run(stream.get());
    binding.run(others, stream.get());
    binding.run(others, stream.get());
  });
}

Bytes run(const shiftconv::Plan& plan, shiftconv::Device& device, const std::vector<Bytes>& contents, bool isEmulated) {
  const OnDevice tensors(device, contents);
  shiftconv::Tensors arguments = argumentsOf(tensors);
  const shiftconv::Memory workspace(device, std::max<size_t>(plan.workspaceBytes(), 256));
  arguments.workspace = plan.workspaceBytes() == 0 ? nullptr : workspace.get();
  if (isEmulated)
    plan.run(device, arguments);
  else
    runAmongOthers(plan, device, arguments, contents);
  return tensors.written(kFirstWritten);
}

std::string names() {
  std::string text;
  for (int i = 0; i < shiftconv_algorithm_count(); ++i) {
    const std::string algorithm = shiftconv_algorithm_name(i);
    std::istringstream options(shiftconv::algorithmOptions(algorithm));
    text += algorithm + "\n";
    for (std::string line; std::getline(options, line);) text += "  " + line + "\n";
  }
  return text;
}

/// What plans by means of others chose for these, a line each: their own options do not say it.
std::string innerPlansOf(const shiftconv::Plan& plan) {
  std::istringstream lines(plan.describe());
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("between ", 0) == 0) all += line + "\n";
    if (line.rfind("phase ", 0) == 0) all += line.substr(0, line.find(':')) + "\n";
  }
  return all;
}

void serve(std::istringstream& words, const std::string& request, std::vector<shiftconv::Device>& devices, bool areEmulated) {
  if (request == "names") return answer("ok", names());
  size_t number = 0;
  words >> number;
  shiftconv::Device& device = devices.at(number);
  if (request == "algorithms") {
    shiftconv::Convolution problem;
    try {
      problem = shiftconv::Convolution::parse(restOf(words));
    } catch (const shiftconv::Error& error) {
      return answer("invalid", error.what());
    }
    return answer("ok", algorithmsFor(problem, device));
  }
  std::string schedule, seed, hazards, algorithm, planOptions;
  uint32_t multiprocessors = 0;
  words >> multiprocessors >> schedule >> seed >> hazards >> algorithm >> planOptions;
  if (planOptions == "-") planOptions.clear();
  const std::string text = restOf(words);
  std::vector<Bytes> tensors(kTensors);
  if (request == "run")
    for (Bytes& tensor : tensors) tensor = readTensor();
  std::unique_ptr<shiftconv::Plan> plan;
  try {
    const auto problem = shiftconv::Convolution::parse(text);
    if (const std::string difference = differentSizes(problem, tensors); request == "run" && !difference.empty())
      return answer("invalid", difference);
    shiftconv::PlanOptions options;
    options.algorithm = algorithm.c_str(), options.options = planOptions.c_str();
    shiftconv::DeviceProperties properties = device.properties();
    if (multiprocessors != 0) properties.multiprocessors = multiprocessors;
    plan = std::make_unique<shiftconv::Plan>(problem, properties, options);
  } catch (const shiftconv::Error& error) {
    return answer("unplanned", error.what());
  }
  if (request == "options") return answer("ok", plan->options());
  if (request == "inner") return answer("ok", innerPlansOf(*plan));
  if (areEmulated) device.setOption("schedule", schedule), device.setOption("seed", seed), device.setOption("hazards", hazards);
  try {
    const Bytes written = run(*plan, device, tensors, areEmulated);
    answer("ok", sumsOf(*plan).append(written.data(), written.size()));
  } catch (const shiftconv::Error& error) {
    answer("failed", error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool areEmulated = argc < 2;
    std::vector<shiftconv::Device> devices;
    if (areEmulated)
      for (const int index : {0, 1}) devices.emplace_back(SHIFTCONV_DEVICE_EMULATED, index);
    else
      devices.emplace_back(argv[1]);
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string request;
      words >> request;
      serve(words, request, devices, areEmulated);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
