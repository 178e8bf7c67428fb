#include "examples/denoise/picture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace denoise {
namespace {

constexpr float kWhite = 255;

/// Uniform in (0, 1].
double uniform(std::mt19937_64& generator) { return (static_cast<double>(generator() >> 11) + 1) * 0x1p-53; }

}  // namespace

Maps mapsOf(const feature_maps::Image& image) {
  Maps maps{image.height, image.width, 3, {}};
  for (const uint8_t value : image.rgb) maps.values.push_back(static_cast<float>(value) / kWhite);
  return maps;
}

feature_maps::Image imageOf(const Maps& maps) {
  feature_maps::Image image(maps.width, maps.height);
  std::transform(maps.values.begin(), maps.values.end(), image.rgb.begin(), [](float value) {
    return static_cast<uint8_t>(std::lround(std::clamp(std::isnan(value) ? 0.0f : value, 0.0f, 1.0f) * kWhite));
  });
  return image;
}

Maps withNoise(const Maps& clean, double sigma, uint64_t seed) {
  std::mt19937_64 generator(seed);
  Maps noisy = clean;
  for (float& value : noisy.values) {  // Box and Muller: the library's own distribution differs between machines
    const double radius = std::sqrt(-2 * std::log(uniform(generator)));
    const double angle = 2 * std::numbers::pi * uniform(generator);
    value += static_cast<float>(sigma / double{kWhite} * radius * std::cos(angle));
  }
  return noisy;
}

double psnr(const Maps& maps, const Maps& clean) {
  double squares = 0;
  for (size_t i = 0; i < maps.values.size(); ++i) {
    const float value = maps.values[i];
    const double difference = double{value < 0 ? 0 : value > 1 ? 1 : value} - double{clean.values[i]};
    squares += difference * difference;
  }
  return -10 * std::log10(squares / static_cast<double>(maps.values.size()));
}

}  // namespace denoise
