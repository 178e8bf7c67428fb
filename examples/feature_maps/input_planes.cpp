#include "examples/feature_maps/input_planes.hpp"

#include <algorithm>
#include <cmath>

#include "common/numerics/float16.hpp"

namespace feature_maps {

double linearFromSrgb(double encoded) { return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4); }

double srgbFromLinear(double linear) { return linear <= 0.0031308 ? linear * 12.92 : 1.055 * std::pow(linear, 1 / 2.4) - 0.055; }

InputPlanes inputPlanes(const Image& image) {
  InputPlanes planes;
  planes.width = image.width;
  planes.height = image.height;
  const size_t pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);

  std::vector<std::array<double, PlaneCount>> values(pixels);
  for (size_t i = 0; i < pixels; ++i) {
    std::array<double, PlaneCount>& v = values[i];
    for (size_t c = 0; c < 3; ++c) {
      v[c] = image.rgb[i * 3 + c] / 255.0;
      v[LinearRed + c] = linearFromSrgb(v[c]);
    }
    v[Saturation] = std::max({v[Red], v[Green], v[Blue]}) - std::min({v[Red], v[Green], v[Blue]});
    // Rec. 709 luminance; 1/64 keeps black finite, and the division brings six stops to about one.
    const double luminance = 0.2126 * v[LinearRed] + 0.7152 * v[LinearGreen] + 0.0722 * v[LinearBlue];
    v[LogLuminance] = std::log2((luminance + 1.0 / 64) / (1.0 / 64)) / 6;
    for (size_t c = 0; c < PlaneCount; ++c) planes.mean[c] += v[c] / static_cast<double>(pixels);
  }

  planes.nhwc.resize(pixels * PlaneCount);
  for (size_t i = 0; i < planes.nhwc.size(); ++i) {
    const size_t c = i % PlaneCount;
    planes.nhwc[i] = shiftconv::numerics::encodeF16(static_cast<float>(values[i / PlaneCount][c] - planes.mean[c]));
  }
  return planes;
}

}  // namespace feature_maps
