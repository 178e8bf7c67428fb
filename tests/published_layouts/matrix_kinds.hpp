// The kinds of tcgen05.mma and their element types, as PTX ISA 9.0 tables 39 and 42 to 44 list them, with an encoder for the
// small integers that the tests multiply: every product and sum of them is exact in every kind.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace shiftconv::tests::layouts {

struct ElementType {
  std::string_view name;
  uint32_t code;           ///< in bits 9:7 and 12:10 of the instruction descriptor
  uint32_t bits;           ///< of one element in packed form
  uint32_t containerBits;  ///< 16 bytes hold 128 / containerBits elements; packed elements leave the rest of them empty
  uint32_t mantissaBits;
  int bias;  ///< of the exponent; 0: a two's-complement integer

  /// `value` must be one of kValues.
  uint32_t encode(int value) const {
    if (bias == 0) return static_cast<uint32_t>(value) & 0xff;
    const auto magnitude = static_cast<uint32_t>(std::abs(value));
    const int exponent = static_cast<int>(std::bit_width(magnitude)) - 1;
    const uint32_t fraction = (magnitude << mantissaBits >> exponent) & ((1u << mantissaBits) - 1);
    return (value < 0 ? 1u << (bits - 1) : 0u) | static_cast<uint32_t>(exponent + bias) << mantissaBits | fraction;
  }
  uint32_t perChunk() const { return 128 / containerBits; }
};

/// Exact in e2m1, the smallest format, and never zero.
inline constexpr int kValues[] = {1, 2, 3, 4, 6, -1, -2, -3, -4, -6};

struct Kind {
  std::string_view name;
  uint32_t depth;  ///< K of one instruction
  bool blockScaled;
  std::vector<ElementType> types;
  std::string_view scaleVector;  ///< modifier of block-scaled kinds
  /// Type code of the accumulator: 0 f16, 1 f32, 2 s32.
  std::vector<uint32_t> accumulators;
};

inline const std::vector<ElementType> kEightBitTypes{
    {"e4m3", 0, 8, 8, 3, 7}, {"e5m2", 1, 8, 8, 2, 15}, {"e2m3", 3, 6, 8, 3, 1}, {"e3m2", 4, 6, 8, 2, 3}, {"e2m1", 5, 4, 8, 1, 1}};
inline const std::vector<ElementType> kFourBitTypes{{"e2m1", 1, 4, 4, 1, 1}};

inline const Kind kF16{"f16", 16, false, {{"f16", 0, 16, 16, 10, 15}, {"bf16", 1, 16, 16, 7, 127}}, "", {1, 0}};
inline const Kind kTf32{"tf32", 8, false, {{"tf32", 2, 32, 32, 23, 127}}, "", {1}};
inline const Kind kF8f6f4{"f8f6f4", 32, false, kEightBitTypes, "", {1, 0}};
inline const Kind kI8{"i8", 32, false, {{"s8", 1, 8, 8, 0, 0}}, "", {2}};
inline const Kind kMxf8f6f4{"mxf8f6f4", 32, true, kEightBitTypes, "scale_vec::1X", {1}};
inline const Kind kMxf4{"mxf4", 64, true, kFourBitTypes, "scale_vec::2X", {1}};
inline const Kind kMxf4nvf4{"mxf4nvf4", 64, true, kFourBitTypes, "scale_vec::4X", {1}};

inline const Kind* const kKinds[] = {&kF16, &kTf32, &kF8f6f4, &kI8, &kMxf8f6f4, &kMxf4, &kMxf4nvf4};

/// Deterministic elements without pattern along rows or depth, so that a misplaced one shows.
inline int element(uint32_t matrix, uint32_t row, uint32_t k) {
  uint32_t x = matrix * 0x9e3779b9u + row * 0x85ebca6bu + k * 0xc2b2ae35u + 1;
  x = (x ^ x >> 15) * 0x2c1b3c6du;
  x = (x ^ x >> 12) * 0x297a2d39u;
  return kValues[(x >> 16) % std::size(kValues)];
}
inline constexpr uint32_t kMatrixA = 1, kMatrixB = 2;

/// Sum over k of A[m][k] * B[n][k].
inline int product(uint32_t m, uint32_t n, uint32_t depth) {
  int sum = 0;
  for (uint32_t k = 0; k < depth; ++k) sum += element(kMatrixA, m, k) * element(kMatrixB, n, k);
  return sum;
}

/// The cell that an accumulator of type code `accumulator` with this value leaves (f16: its low half).
inline uint32_t accumulatorBits(uint32_t accumulator, float value) {
  if (accumulator == 2) return static_cast<uint32_t>(static_cast<int32_t>(value));
  const auto bits = std::bit_cast<uint32_t>(value);
  if (accumulator == 1 || value == 0) return bits;
  return (bits >> 31) << 15 | ((bits >> 23 & 0xff) - 127 + 15) << 10 | (bits >> 13 & 0x3ff);
}

}  // namespace shiftconv::tests::layouts
