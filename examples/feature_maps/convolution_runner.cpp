#include "examples/feature_maps/convolution_runner.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "examples/feature_maps/open_device.hpp"

namespace feature_maps {

double Layer::multiplyAdds() const {
  return static_cast<double>(problem.n * problem.h * problem.w * problem.c) *
         static_cast<double>(problem.k * problem.r * problem.s);
}

shiftconv::Convolution samePadding(int height, int width, int channels, int filters, int size) {
  shiftconv::Convolution problem;
  problem.n = 1;
  problem.h = height;
  problem.w = width;
  problem.c = channels;
  problem.k = filters;
  problem.r = problem.s = size;
  problem.pad_top = problem.pad_bottom = problem.pad_left = problem.pad_right = size / 2;
  problem.input_type = problem.filter_type = problem.output_type = SHIFTCONV_TYPE_F16;
  return problem;
}

ConvolutionRunner::ConvolutionRunner(const Options& options)
    : device_(openDevice(options.device)), properties_(device_.properties()) {
  if (!properties_.emulated()) return;
  device_.setOption("schedule", options.policy);
  device_.setOption("seed", std::to_string(options.seed));
  device_.setOption("numerics", options.numerics);
  fastNumerics_ = options.numerics == "fast";
  for (const std::string& choice : options.semantics) chooseSemantics(choice);
}

void ConvolutionRunner::chooseSemantics(const std::string& choice) {
  const size_t equals = choice.find('=');
  if (equals == std::string::npos) throw std::invalid_argument(fmt::format("--semantics {} is not of the form U3=1.", choice));
  try {
    device_.setOption("semantics." + choice.substr(0, equals), choice.substr(equals + 1));
  } catch (const shiftconv::Error& error) {
    throw std::invalid_argument(fmt::format("--semantics {}: {}", choice, error.what()));
  }
}

shiftconv::Memory ConvolutionRunner::poisoned(size_t bytes) {
  shiftconv::Memory memory(device_, bytes);
  device_.fill(memory.get(), 0xff, bytes);
  return memory;
}

LayerReport ConvolutionRunner::run(const Layer& layer, const shiftconv::Memory& input, shiftconv::Memory& output,
                                   int firstChannel) {
  shiftconv::PlanOptions choices;
  // What is shown here, and its sibling on Hopper; the planner may find others faster for layers as small as these.
  choices.algorithm = properties_.compute_major >= 10 ? "shift_window" : "halo";
  const shiftconv::Plan plan(layer.problem, properties_, choices);

  const shiftconv::Memory filter = upload(layer.filter);
  const shiftconv::Memory bias = upload(layer.bias.empty() ? std::vector<float>(1) : layer.bias);
  const shiftconv::Memory workspace(device_, plan.workspaceBytes());
  const size_t elementBytes = layer.problem.output_type == SHIFTCONV_TYPE_F32 ? 4 : 2;
  char* const target = static_cast<char*>(output.get()) + static_cast<size_t>(firstChannel) * elementBytes;

  shiftconv::Tensors tensors;
  tensors.input = input.get();
  tensors.filter = filter.get();
  tensors.bias = layer.bias.empty() ? nullptr : bias.get();
  tensors.output = target;
  tensors.workspace = workspace.get();
  const shiftconv::Binding binding(plan, device_, tensors);

  const auto start = std::chrono::steady_clock::now();
  binding.run();
  device_.synchronize();

  LayerReport report{layer.name, plan.algorithm(), plan.describe()};
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.gigaflops = 2e-9 * layer.multiplyAdds() / report.seconds;
  return report;
}

CounterSummary ConvolutionRunner::counterSummary() const {
  CounterSummary summary;
  const auto json = nlohmann::json::parse(device_.counters(SHIFTCONV_COUNTERS_JSON));
  for (const auto& kernel : json.at("kernels")) {
    for (const auto& [shape, count] : kernel.at("mma").items()) {
      summary.mmas += count.get<uint64_t>();
      if (shape.find("ashift") != std::string::npos) summary.shiftingMmas += count.get<uint64_t>();
    }
    for (const auto& warp : kernel.at("warps")) summary.warpInstructions += warp.at("warp_instructions").get<uint64_t>();
    for (const auto& [engine, traffic] : kernel.at("bytes").items()) {
      for (const auto& [direction, bytes] : traffic.items()) summary.bytesByEngine[engine] += bytes.get<uint64_t>();
    }
    for (const auto& [id, uses] : kernel.at("unproven").items()) summary.unproven[id] += uses.get<uint64_t>();
  }
  return summary;
}

}  // namespace feature_maps
