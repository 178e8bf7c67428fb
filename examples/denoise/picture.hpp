// Between picture files and what the network reads: numbers from 0 to 1, noise, and how far two pictures are apart.
#pragma once

#include <cstdint>

#include "examples/denoise/network.hpp"
#include "examples/feature_maps/image_io.hpp"

namespace denoise {

Maps mapsOf(const feature_maps::Image& image);
/// Values beyond 0 and 1 are cut off.
feature_maps::Image imageOf(const Maps& maps);

/// Adds Gaussian noise of standard deviation `sigma` of 255, the same on every machine.
Maps withNoise(const Maps& clean, double sigma, uint64_t seed);

/// Peak signal-to-noise ratio in dB, values cut off at 0 and 1; infinite for equal pictures, NaN where a value is.
double psnr(const Maps& maps, const Maps& clean);

}  // namespace denoise
