#include "examples/denoise/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "common/numerics/float16.hpp"

namespace denoise {
namespace {

static_assert(std::endian::native == std::endian::little, "weights.bin is little endian");

size_t filterElements(const LayerShape& shape) {
  return static_cast<size_t>(shape.outputs) * static_cast<size_t>(shape.filter * shape.filter * (shape.inputs / shape.groups));
}

/// One layer, as the library defines the convolution.
/// `added`: of the output's shape, or null.
Maps layerInF32(const LayerShape& shape, const Weights& weights, const Maps& input, const Maps* added) {
  const int channels = shape.inputs / shape.groups, outputsOfGroup = shape.outputs / shape.groups, pad = shape.filter / 2;
  const int imageHeight = input.height * shape.upsample, imageWidth = input.width * shape.upsample;
  Maps output{imageHeight / shape.stride, imageWidth / shape.stride, shape.outputs, {}};
  output.values.resize(static_cast<size_t>(output.height * output.width * output.channels));
  // [tap][channel][output], so that the innermost loop runs over neighbours.
  std::vector<float> filter(weights.filter.size());
  const int taps = shape.filter * shape.filter;
  for (int k = 0; k < shape.outputs; ++k)
    for (int rest = 0; rest < taps * channels; ++rest)
      filter[static_cast<size_t>(rest * shape.outputs + k)] = weights.filter[static_cast<size_t>(k * taps * channels + rest)];
  std::vector<float> sums(static_cast<size_t>(shape.outputs));
  for (int y = 0; y < output.height; ++y)
    for (int x = 0; x < output.width; ++x) {
      std::copy(weights.bias.begin(), weights.bias.end(), sums.begin());
      for (int tap = 0; tap < taps; ++tap) {
        const int row = y * shape.stride + tap / shape.filter - pad, column = x * shape.stride + tap % shape.filter - pad;
        if (row < 0 || row >= imageHeight || column < 0 || column >= imageWidth) continue;
        const float* const pixel =
            input.values.data() + (row / shape.upsample * input.width + column / shape.upsample) * input.channels;
        for (int c = 0; c < channels; ++c) {
          const float* const row32 = filter.data() + (tap * channels + c) * shape.outputs;
          for (int group = 0; group < shape.groups; ++group) {
            const float value = pixel[group * channels + c];
            for (int k = group * outputsOfGroup; k < (group + 1) * outputsOfGroup; ++k)
              sums[static_cast<size_t>(k)] += value * row32[k];
          }
        }
      }
      const int first = (y * output.width + x) * output.channels;
      for (int k = 0; k < shape.outputs; ++k) {
        const auto index = static_cast<size_t>(first + k);
        const float sum = sums[static_cast<size_t>(k)] + (added != nullptr ? added->values[index] : 0.0f);
        output.values[index] = shape.relu ? std::max(sum, 0.0f) : sum;
      }
    }
  return output;
}

}  // namespace

Network readNetwork(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::invalid_argument(fmt::format("--weights: {} cannot be opened.", path));
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  size_t expected = kLayerCount * sizeof(float);
  for (const LayerShape& shape : kLayers)
    expected += filterElements(shape) * sizeof(uint16_t) + static_cast<size_t>(shape.outputs) * sizeof(float);
  if (bytes.size() != expected)
    throw std::invalid_argument(fmt::format("--weights: {} has {} bytes, but this network has {}.", path, bytes.size(), expected));
  Network network;
  const char* at = bytes.data();
  const auto read = [&at](auto& value) {
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
  };
  for (size_t i = 0; i < kLayerCount; ++i) {
    Weights& weights = network[i];
    weights.filter.resize(filterElements(kLayers[i]));
    for (float& weight : weights.filter) {
      uint16_t code = 0;
      read(code);
      weight = shiftconv::numerics::decodeF16(code);
    }
    weights.bias.resize(static_cast<size_t>(kLayers[i].outputs));
    for (float& bias : weights.bias) read(bias);
  }
  for (Weights& weights : network) read(weights.largest);
  return network;
}

Maps denoisedInF32(const Network& network, const Maps& noisy) {
  const Maps first = layerInF32(kLayers[0], network[0], noisy, nullptr);
  Maps maps = first;
  for (size_t i = 1; i < kLayerCount; ++i) {
    const Added added = kLayers[i].added;
    maps = layerInF32(kLayers[i], network[i], maps, added == Added::FirstLayer ? &first : added == Added::Image ? &noisy : nullptr);
  }
  return maps;
}

}  // namespace denoise
