// Block formats: a run of elements along a row shares one scale factor (OCP Microscaling Formats MX v1.0, sections 5 and 6; nvfp4
// as cuBLAS and cuDNN describe it). Names, block lengths and the rules that choose the scale factor.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/numerics/number_types.hpp"

namespace shiftconv::numerics {

struct BlockFormat {
  std::string_view name;
  NumberType element;
  int blockSize;  ///< elements that share a factor
  NumberType scale;
};

inline constexpr std::array<BlockFormat, 6> kBlockFormats = {{
    {"mxfp8_e4m3", NumberType::E4M3, 32, NumberType::UE8M0},
    {"mxfp8_e5m2", NumberType::E5M2, 32, NumberType::UE8M0},
    {"mxfp6_e3m2", NumberType::E3M2, 32, NumberType::UE8M0},
    {"mxfp6_e2m3", NumberType::E2M3, 32, NumberType::UE8M0},
    {"mxfp4", NumberType::E2M1, 32, NumberType::UE8M0},
    {"nvfp4", NumberType::E2M1, 16, NumberType::UE4M3},
}};
/// Nothing for an unknown name.
std::optional<BlockFormat> blockFormatNamed(std::string_view name);

inline constexpr int kLargestBlock = 32;

/// The scale factor of a block whose largest magnitude is `largest`.
/// - ue8m0: 2^(floor(log2(largest)) - emax(element)), limited to 2^-127 below (OCP MX 1.0, 6.3). Elements between the largest value
///   and twice its power of two saturate.
/// - ue4m3: largest / (largest element value), rounded to nearest even, saturated; below half of 2^-9 that is 0.
/// A block with a NaN or an infinity (`largest` is one) has the factor NaN, so that all of it reads as NaN.
uint8_t blockScale(const BlockFormat& format, double largest);

/// Quantises up to blockSize values (fewer: the end of a row) that are first divided by `tensorScale` (nvfp4's factor of the whole
/// tensor, a positive f32; 1 for the MX formats). Codes are value / (factor * tensorScale) rounded to nearest even and saturated.
/// They are all 0 when the factor is 0 or NaN. Returns the factor's code.
uint8_t quantizeBlock(const BlockFormat& format, std::span<const float> values, float tensorScale, std::span<uint8_t> codes);

/// nvfp4's factor of a tensor whose largest magnitude is `largest`: largest / (448 * 6), so that the largest block factor is 448; 1
/// when `largest` is zero or not finite, and for the MX formats.
float tensorScaleFor(const BlockFormat& format, float largest);

}  // namespace shiftconv::numerics
