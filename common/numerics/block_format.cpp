#include "common/numerics/block_format.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/numerics/codec.hpp"

namespace shiftconv::numerics {

std::optional<BlockFormat> blockFormatNamed(std::string_view name) {
  for (const BlockFormat& format : kBlockFormats)
    if (format.name == name) return format;
  return std::nullopt;
}

uint8_t blockScale(const BlockFormat& format, double largest) {
  if (!std::isfinite(largest)) return static_cast<uint8_t>(encode(format.scale, std::numeric_limits<double>::quiet_NaN()));
  if (format.scale == NumberType::UE4M3) return static_cast<uint8_t>(encode(format.scale, largest / largestValue(format.element)));
  if (largest == 0) return 0;
  // A power of two, or too small for one: then 2^-127.
  return static_cast<uint8_t>(encode(format.scale, std::ldexp(1.0, std::ilogb(largest) - largestExponent(format.element))));
}

uint8_t quantizeBlock(const BlockFormat& format, std::span<const float> values, float tensorScale, std::span<uint8_t> codes) {
  double largest = 0;
  for (const float value : values) {
    // A maximum that keeps NaN.
    const double magnitude = std::fabs(double{value}) / double{tensorScale};
    if (!(magnitude <= largest)) largest = magnitude;
    if (std::isnan(largest)) break;
  }
  const uint8_t scale = blockScale(format, largest);
  // Quotient and product are exact enough not to change a rounding: values have 24 significant bits, factors at most 4, elements at
  // most 5 and halves of them 6, so a quotient that is no tie differs from one by 2^-35 of it or more; a double resolves 2^-53.
  const double factor = decode(format.scale, scale) * double{tensorScale};
  const bool usable = factor > 0;
  for (size_t i = 0; i < values.size(); ++i)
    codes[i] = usable ? static_cast<uint8_t>(encode(format.element, double{values[i]} / factor, Overflow::Saturate)) : uint8_t{0};
  return scale;
}

float tensorScaleFor(const BlockFormat& format, float largest) {
  if (format.scale != NumberType::UE4M3 || !(largest > 0) || !std::isfinite(largest)) return 1.0f;
  const auto scale = static_cast<float>(double{largest} / (largestValue(format.scale) * largestValue(format.element)));
  return std::max(scale, std::numeric_limits<float>::min());
}

}  // namespace shiftconv::numerics
