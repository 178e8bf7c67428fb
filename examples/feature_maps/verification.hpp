// Every element of a convolution against the exact sum and the derived error bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/feature_maps/convolution_runner.hpp"

namespace feature_maps {

/// Largest error of a convolution that was checked element by element.
struct Verification {
  int64_t elements = 0;
  int64_t exceeded = 0;       ///< elements outside the bound, NaN included
  double worstRatio = 0;      ///< largest |error| / bound
  double worstError = 0;      ///< largest |error|
  std::string firstExceeded;  ///< place, value, expected value and bound of the first element outside; else empty

  Verification& operator+=(const Verification& other);
};

/// Compares all maps of a layer with the exact host convolution; the bound is derived in conv/reference/error_bound.hpp.
/// @param input         f16 [1][H][W][C]
/// @param output        the first of the layer's maps, f16 or f32, with the problem's output pixel pitch
/// @param fastNumerics  the device sums with f32 FMA instead of the tensor core's rounding
Verification verify(const Layer& layer, const std::vector<uint16_t>& input, const void* output, bool fastNumerics);

}  // namespace feature_maps
