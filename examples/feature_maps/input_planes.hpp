// What the first layer sees of a photograph: eight planes, the smallest channel count the kernels take whole.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "examples/feature_maps/image_io.hpp"

namespace feature_maps {

/// Channels 0-2: the picture as stored (perceptual scale). 3-5: amounts of light, which is what optics blurs.
/// 6: largest minus smallest of red, green and blue. 7: logarithm of luminance, where shadows are as strong as lights.
enum Plane : int { Red, Green, Blue, LinearRed, LinearGreen, LinearBlue, Saturation, LogLuminance, PlaneCount };

/// sRGB transfer function, both ways, on [0, 1].
double linearFromSrgb(double encoded);
double srgbFromLinear(double linear);

/// Every plane has the mean of the picture subtracted, so that the convolution's zero padding continues the picture
/// with its mean colour instead of black.
struct InputPlanes {
  int width = 0, height = 0;
  std::vector<uint16_t> nhwc;             ///< f16 [1][height][width][PlaneCount]
  std::array<double, PlaneCount> mean{};  ///< what was subtracted
};

InputPlanes inputPlanes(const Image& image);

}  // namespace feature_maps
