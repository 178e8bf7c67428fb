#include "conv/runtimes/onnxruntime/constants.hpp"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "conv/runtimes/onnxruntime/shapes.hpp"

namespace shiftconv::runtimes::onnx {
namespace {

/// [rows, columns, inner] to [rows, inner, columns].
std::vector<std::byte> turned(const std::vector<std::byte>& data, size_t element, size_t rows, size_t columns, size_t inner) {
  std::vector<std::byte> result(data.size());
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      for (size_t i = 0; i < inner; ++i)
        std::memcpy(result.data() + ((row * inner + i) * columns + column) * element,
                    data.data() + ((row * columns + column) * inner + i) * element, element);
  return result;
}

bool turns(const Convolution& conv) { return !conv.matrix || conv.transposed; }

std::vector<std::byte> filterData(const Convolution& conv, const Value& value) {
  const size_t element = elementBytes(*value.type);
  const auto extent = [&](size_t axis) { return static_cast<size_t>(value.shape[axis]); };
  if (conv.matrix) return conv.transposed ? turned(value.data, element, 1, extent(0), extent(1)) : value.data;
  const size_t taps = static_cast<size_t>(elementsOf(value.shape)) / extent(0) / extent(1);
  return turned(value.data, element, extent(0), extent(1), taps);
}

struct Affine {
  std::vector<float> factors, summands;
};
Affine affineOf(const Graph& graph, const BatchNorm& norm) {
  const auto numbers = [&](int value) {
    auto all = numbersOf(graph.value(value));
    if (!all) throw std::invalid_argument("the constant '" + graph.value(value).name + "' has no data");
    return *std::move(all);
  };
  const auto scale = numbers(norm.scale), bias = numbers(norm.bias), mean = numbers(norm.mean), variance = numbers(norm.variance);
  Affine affine;
  for (size_t i = 0; i < scale.size(); ++i) {
    const double factor = scale[i] / std::sqrt(variance[i] + static_cast<double>(norm.epsilon));
    affine.factors.push_back(static_cast<float>(factor));
    affine.summands.push_back(static_cast<float>(bias[i] - mean[i] * factor));
  }
  return affine;
}

Memory onDevice(Device& device, const std::vector<float>& numbers) {
  Memory memory(device, numbers.size() * sizeof(float));
  device.copyToDevice(memory.get(), numbers.data(), memory.bytes());
  device.synchronize();  // before the numbers go
  return memory;
}

}  // namespace

Constants::Constants(const Graph& graph, const std::vector<Step>& steps, Device& device) {
  const auto add = [&](int value, bool turned, const std::vector<std::byte>& data) {
    if (data.empty()) throw std::invalid_argument("the constant '" + graph.value(value).name + "' has no data");
    Memory& memory = memory_.try_emplace({value, turned}, device, data.size()).first->second;
    device.copyToDevice(memory.get(), data.data(), data.size());
  };
  for (const Step& step : steps) {
    const auto* normalize = std::get_if<Normalize>(&step.what);
    const auto* pointwise = std::get_if<Pointwise>(&step.what);
    for (const int value :
         {normalize ? normalize->scale : kAbsent, normalize ? normalize->bias : kAbsent, pointwise ? pointwise->constant : kAbsent})
      if (value != kAbsent && memory_.count({value, false}) == 0) add(value, false, graph.value(value).data);
    if (const auto* norm = std::get_if<BatchNorm>(&step.what)) {
      const Affine affine = affineOf(graph, *norm);
      norms_.emplace(step.output, std::pair(onDevice(device, affine.factors), onDevice(device, affine.summands)));
    }
    const auto* conv = std::get_if<Convolution>(&step.what);
    if (!conv) continue;
    if (memory_.count({conv->filter, turns(*conv)}) == 0)
      add(conv->filter, turns(*conv), filterData(*conv, graph.value(conv->filter)));
    if (conv->bias != kAbsent && memory_.count({conv->bias, false}) == 0) add(conv->bias, false, graph.value(conv->bias).data);
  }
  device.synchronize();
}

const void* Constants::filter(const Convolution& conv) const { return memory_.at({conv.filter, turns(conv)}).get(); }
const void* Constants::bias(const Convolution& conv) const {
  return conv.bias == kAbsent ? nullptr : memory_.at({conv.bias, false}).get();
}

}  // namespace shiftconv::runtimes::onnx
