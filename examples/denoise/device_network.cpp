#include "examples/denoise/device_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>

#include "common/numerics/float16.hpp"
#include "common/numerics/packed.hpp"

namespace denoise {
namespace {

using shiftconv::numerics::NumberType;

/// Of the image in memory: red, green, blue and zeros, 16 bytes of f16.
constexpr int kImageChannels = 8;

int channelsInMemory(size_t layer) { return layer == 0 ? kImageChannels : kLayers[layer].inputs; }

int32_t typeOf(NumberType type) { return type == NumberType::E2M1 ? SHIFTCONV_TYPE_E2M1 : SHIFTCONV_TYPE_E4M3; }

shiftconv_block_scale_t scaleOf(const shiftconv::numerics::BlockFormat& format) {
  return {format.blockSize, format.scale == NumberType::UE4M3 ? SHIFTCONV_TYPE_UE4M3 : SHIFTCONV_TYPE_UE8M0,
          SHIFTCONV_SCALE_ORDER_PLAIN};
}

/// The filter with the channels that the image has in memory beyond its three: weights of 0.
std::vector<float> widenedFilter(size_t layer, const Weights& weights) {
  const int channels = kLayers[layer].inputs / kLayers[layer].groups;
  const int wide = layer == 0 ? kImageChannels : channels;
  std::vector<float> filter(weights.filter.size() / static_cast<size_t>(channels) * static_cast<size_t>(wide));
  for (size_t i = 0; i < weights.filter.size(); ++i)
    filter[i / static_cast<size_t>(channels) * static_cast<size_t>(wide) + i % static_cast<size_t>(channels)] = weights.filter[i];
  return filter;
}

float largestOf(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

}  // namespace

DeviceNetwork::DeviceNetwork(shiftconv::Device& device, const Network& network, const Precision& precision, int height, int width)
    : device_(device),
      properties_(device.properties()),
      network_(network),
      precision_(precision),
      height_(height),
      width_(width),
      image_(device, static_cast<size_t>(height * width * kImageChannels) * sizeof(uint16_t)) {
  decideForms();
  for (size_t i = 0; i < kLayerCount; ++i) {
    layers_.push_back(makeLayer(i));
    plans_.emplace_back(layers_[i].problem, properties_);
    reports_[i].algorithm = plans_[i].algorithm();
    if (const size_t bytes = plans_[i].workspaceBytes(); bytes != 0) {
      layers_[i].own.emplace_back(device_, bytes);
      layers_[i].tensors.workspace = layers_[i].own.back().get();
    }
    bindings_.emplace_back(plans_[i], device_, layers_[i].tensors);
  }
}

float DeviceNetwork::tensorScale(float largest) const {
  return precision_.block ? shiftconv::numerics::tensorScaleFor(*precision_.block, largest) : 1.0f;
}

shiftconv::Convolution DeviceNetwork::problemOf(size_t layer, bool scaledInput, bool scaledOutput) const {
  const LayerShape& shape = kLayers[layer];
  // After a layer of stride 2 the maps have half of the image's size, until they are upsampled.
  int height = height_, width = width_;
  for (size_t i = 0; i < layer; ++i) {
    height = height * kLayers[i].upsample / kLayers[i].stride;
    width = width * kLayers[i].upsample / kLayers[i].stride;
  }
  shiftconv::Convolution problem;
  problem.n = 1, problem.h = height, problem.w = width;
  problem.c = channelsInMemory(layer), problem.k = shape.outputs, problem.groups = shape.groups;
  problem.r = problem.s = shape.filter;
  problem.pad_top = problem.pad_bottom = problem.pad_left = problem.pad_right = shape.filter / 2;
  problem.stride_h = problem.stride_w = shape.stride;
  problem.upsample_h = problem.upsample_w = shape.upsample;
  problem.has_bias = 1;
  if (shape.relu) problem.activation = SHIFTCONV_ACTIVATION_RELU;
  if (shape.added != Added::Nothing) problem.beta = 1;
  if (shape.added == Added::Image) problem.residual_pixel_pitch = kImageChannels;
  if (layer + 1 == kLayerCount) problem.output_type = SHIFTCONV_TYPE_F32;
  if (scaledInput) {
    problem.input_type = problem.filter_type = typeOf(precision_.block->element);
    problem.input_block_scale = problem.filter_block_scale = scaleOf(*precision_.block);
  }
  if (scaledOutput) {
    problem.output_type = typeOf(precision_.block->element);
    problem.output_block_scale = scaleOf(*precision_.block);
  }
  return problem;
}

bool DeviceNetwork::isTaken(const shiftconv::Convolution& problem) const {
  try {
    const shiftconv::Plan plan(problem, properties_);
    return true;
  } catch (const shiftconv::Error& error) {
    if (error.status() != SHIFTCONV_STATUS_UNSUPPORTED) throw;
    return false;
  }
}

/// A tensor has block scales where the layer before it can write them, and the one after it can multiply them.
void DeviceNetwork::decideForms() {
  scaledTensors_.assign(kLayerCount, false);
  for (size_t i = 0; i < kLayerCount; ++i) {
    const bool isFirst = i == 0;
    // The first layer's output is added again later, which takes f16.
    const bool previousWrites = i > 1 && precision_.block && isTaken(problemOf(i - 1, scaledTensors_[i - 2], true));
    // A channel of depthwise layers is less than a block.
    const bool multiplies = !isFirst && precision_.block && kLayers[i].groups == 1 && isTaken(problemOf(i, true, false));
    if (!isFirst) scaledTensors_[i - 1] = previousWrites && multiplies;
    LayerReport report;
    if (precision_.block && (isFirst || !scaledTensors_[i - 1]))
      report.staysF16 = isFirst       ? "the image is f16"
                        : i == 1      ? "the first layer's output is added to layer 8, as f16"
                        : !multiplies ? "no algorithm multiplies this form with block scales"
                                      : "no algorithm writes its input with block scales";
    reports_.push_back(std::move(report));
  }
  for (size_t i = 0; i < kLayerCount; ++i) {
    const bool scaledInput = i > 0 && scaledTensors_[i - 1];
    inFormat_ += scaledInput || !precision_.block ? 1 : 0;
    const char* const plainOutput = i + 1 == kLayerCount ? "f32" : "f16";
    reports_[i].form =
        fmt::format("{} -> {}", scaledInput ? precision_.name : "f16", scaledTensors_[i] ? precision_.name : plainOutput);
  }
}

shiftconv::Memory DeviceNetwork::upload(const void* bytes, size_t size) {
  shiftconv::Memory memory(device_, size);
  device_.copyToDevice(memory.get(), bytes, size);
  device_.synchronize();
  return memory;
}

void DeviceNetwork::quantizeFilter(size_t i, std::vector<std::byte>& elements, std::vector<uint8_t>& factors) const {
  const shiftconv::numerics::BlockFormat& format = *precision_.block;
  const std::vector<float>& filter = network_[i].filter;
  const float scale = tensorScale(largestOf(filter));
  const auto block = static_cast<size_t>(format.blockSize);
  elements.resize(filter.size() * static_cast<size_t>(shiftconv::numerics::storageBits(format.element)) / 8);
  std::vector<uint8_t> codes(block);
  for (size_t first = 0; first < filter.size(); first += block) {
    factors.push_back(shiftconv::numerics::quantizeBlock(format, std::span(filter).subspan(first, block), scale, codes));
    for (size_t j = 0; j < block; ++j)
      shiftconv::numerics::storePacked(format.element, elements.data(), static_cast<int64_t>(first + j), codes[j]);
  }
}

DeviceNetwork::Layer DeviceNetwork::makeLayer(size_t i) {
  const bool scaledInput = i > 0 && scaledTensors_[i - 1];
  Layer layer{problemOf(i, scaledInput, scaledTensors_[i]), {}, {}};
  layer.problem.out_scale = 1 / tensorScaleBehind(i);
  const auto place = [&](const void* bytes, size_t size) -> void* {
    layer.own.push_back(upload(bytes, size));
    return layer.own.back().get();
  };
  if (scaledInput) {
    layer.problem.alpha = tensorScaleBehind(i - 1) * tensorScale(largestOf(network_[i].filter));
    std::vector<std::byte> elements;
    std::vector<uint8_t> factors;
    quantizeFilter(i, elements, factors);
    layer.tensors.filter = place(elements.data(), elements.size());
    layer.tensors.filter_scale = place(factors.data(), factors.size());
    layer.tensors.input_scale = outputScales_[i - 1].get();
  } else {
    const std::vector<float> filter = widenedFilter(i, network_[i]);
    std::vector<uint16_t> codes(filter.size());
    std::transform(filter.begin(), filter.end(), codes.begin(), shiftconv::numerics::encodeF16);
    layer.tensors.filter = place(codes.data(), codes.size() * sizeof(uint16_t));
  }
  layer.tensors.bias = place(network_[i].bias.data(), network_[i].bias.size() * sizeof(float));
  layer.tensors.input = i == 0 ? image_.get() : outputs_[i - 1].get();
  if (kLayers[i].added == Added::FirstLayer) layer.tensors.residual = outputs_[0].get();
  if (kLayers[i].added == Added::Image) layer.tensors.residual = image_.get();
  const shiftconv::TensorBytes bytes = layer.problem.tensorBytes();
  outputs_.emplace_back(device_, bytes.output);
  outputScales_.emplace_back(device_, std::max<size_t>(bytes.output_scale, 1));
  layer.tensors.output = outputs_[i].get();
  if (scaledTensors_[i]) layer.tensors.output_scale = outputScales_[i].get();
  return layer;
}

Maps DeviceNetwork::run(const Maps& noisy) {
  std::vector<uint16_t> image(static_cast<size_t>(height_ * width_ * kImageChannels));
  for (size_t i = 0; i < noisy.values.size(); ++i)
    image[i / 3 * kImageChannels + i % 3] = shiftconv::numerics::encodeF16(noisy.values[i]);
  device_.copyToDevice(image_.get(), image.data(), image.size() * sizeof(uint16_t));
  for (const shiftconv::Binding& binding : bindings_) binding.run();
  Maps denoised{height_, width_, 3, std::vector<float>(noisy.values.size())};
  device_.copyToHost(denoised.values.data(), outputs_.back().get(), denoised.values.size() * sizeof(float));
  device_.synchronize();
  return denoised;
}

double DeviceNetwork::timeOfARun(uint32_t runs) {
  device_.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t run = 0; run < runs; ++run)
    for (const shiftconv::Binding& binding : bindings_) binding.run();
  device_.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
}

}  // namespace denoise
