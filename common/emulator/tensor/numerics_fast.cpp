#include "common/emulator/tensor/numerics_fast.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/emulator/tensor/vector_types.hpp"

namespace shiftconv::emulator::tensor {

namespace {

constexpr uint32_t kRowsAtOnce = 4;

SHIFTCONV_INLINE Int8 loadInts(const void* from) {
  Int8 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
SHIFTCONV_INLINE Float8 loadFloats(const void* from) {
  Float8 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

SHIFTCONV_INLINE void decodeFloats(const ElementFormat& format, bool negate, const uint32_t* raw, float* value, size_t count) {
  const int32_t exponentMask = (1 << format.exponentBits) - 1;
  const int32_t mantissaMask = (1 << format.mantissaBits) - 1;
  const int signBit = format.exponentBits + format.mantissaBits;
  // A type with f32's exponent range is an f32 with a shorter mantissa.
  const bool sameRange = format.exponentBits == 8;
  for (size_t i = 0; i < count; i += kVectorLanes) {
    const Int8 bits = loadInts(raw + i);
    const Int8 sign = (bits << (31 - signBit) ^ (negate ? INT32_MIN : 0)) & INT32_MIN;
    const Int8 mantissa = bits & mantissaMask;
    const Int8 field = bits >> format.mantissaBits & exponentMask;
    Int8 result;
    if (sameRange) {
      result = field << 23 | mantissa << (23 - format.mantissaBits);
    } else {
      // Integer significand times a power of two: no f32 sub-normal appears, which hosts are slow at.
      const Int8 isNormal = field != 0;
      const Int8 significand = mantissa | (isNormal & (1 << format.mantissaBits));
      const Int8 exponent = field + (isNormal + 1) - (format.bias + format.mantissaBits);
      const Float8 scale = reinterpret_cast<Float8>((exponent + 127) << 23);
      result = reinterpret_cast<Int8>(__builtin_convertvector(significand, Float8) * scale);
      const Int8 allOnes = field == exponentMask;
      const Int8 infinityOrNan = allOnes & (0x7f800000 | mantissa << (23 - format.mantissaBits));
      if (format.specials == Specials::Ieee) result = (result & ~allOnes) | infinityOrNan;
      if (format.specials == Specials::NanOnly) result |= allOnes & (mantissa == mantissaMask) & 0x7fc00000;
    }
    result |= sign;
    std::memcpy(value + i, &result, sizeof result);
  }
}

/// Rows rows of accumulators at once, so that a loaded piece of B is used Rows times.
template <uint32_t Rows>
SHIFTCONV_INLINE void multiplyAddRows(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth,
                                      const LaneWork* work) {
  const float* rows[Rows];
  uint32_t* d[Rows];
  for (uint32_t r = 0; r < Rows; ++r) rows[r] = a.value.data() + size_t{work[r].row} * a.stride, d[r] = work[r].d;
  const float* bColumns = b.value.data() + work[0].firstColumn;
  uint32_t n = 0;
  for (; n + 2 * kVectorLanes <= columns; n += 2 * kVectorLanes) {
    Float8 low[Rows], high[Rows];
    for (uint32_t r = 0; r < Rows; ++r) low[r] = loadFloats(d[r] + n), high[r] = loadFloats(d[r] + n + kVectorLanes);
    for (uint32_t k = 0; k < depth; ++k) {
      const float* bRow = bColumns + size_t{k} * b.stride + n;
      const Float8 bLow = loadFloats(bRow), bHigh = loadFloats(bRow + kVectorLanes);
      for (uint32_t r = 0; r < Rows; ++r) {
        low[r] += rows[r][k] * bLow;
        high[r] += rows[r][k] * bHigh;
      }
    }
    for (uint32_t r = 0; r < Rows; ++r) {
      std::memcpy(d[r] + n, &low[r], sizeof low[r]);
      std::memcpy(d[r] + n + kVectorLanes, &high[r], sizeof high[r]);
    }
  }
  for (; n < columns; n += kVectorLanes) {
    for (uint32_t r = 0; r < Rows; ++r) {
      Float8 sum = loadFloats(d[r] + n);
      for (uint32_t k = 0; k < depth; ++k) sum += rows[r][k] * loadFloats(bColumns + size_t{k} * b.stride + n);
      std::memcpy(d[r] + n, &sum, sizeof sum);
    }
  }
}

SHIFTCONV_INLINE void multiplyAdd(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth,
                                  std::span<const LaneWork> work) {
  size_t i = 0;
  while (i < work.size()) {
    const bool together = i + kRowsAtOnce <= work.size() && work[i + kRowsAtOnce - 1].firstColumn == work[i].firstColumn;
    if (together) {
      multiplyAddRows<kRowsAtOnce>(a, b, columns, depth, work.data() + i);
      i += kRowsAtOnce;
    } else {
      multiplyAddRows<1>(a, b, columns, depth, work.data() + i);
      ++i;
    }
  }
}

SHIFTCONV_INLINE void multiplyAddIntegers(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth,
                                          const LaneWork& lane, int32_t* sums) {
  const int32_t* row = a.significand.data() + size_t{lane.row} * a.stride;
  const int32_t* bColumns = b.significand.data() + lane.firstColumn;
  for (uint32_t n = 0; n < columns; n += kVectorLanes) {
    Int8 sum{};
    for (uint32_t k = 0; k < depth; ++k) sum += row[k] * loadInts(bColumns + size_t{k} * b.stride + n);
    std::memcpy(sums + n, &sum, sizeof sum);
  }
}

SHIFTCONV_TARGET_AVX2 void decodeFloatsAvx2(const ElementFormat& format, bool negate, const uint32_t* raw, float* value,
                                            size_t count) {
  decodeFloats(format, negate, raw, value, count);
}
void decodeFloatsBaseline(const ElementFormat& format, bool negate, const uint32_t* raw, float* value, size_t count) {
  decodeFloats(format, negate, raw, value, count);
}
SHIFTCONV_TARGET_AVX2 void multiplyAddAvx2(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth,
                                           std::span<const LaneWork> work) {
  multiplyAdd(a, b, columns, depth, work);
}
void multiplyAddBaseline(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth,
                         std::span<const LaneWork> work) {
  multiplyAdd(a, b, columns, depth, work);
}
SHIFTCONV_TARGET_AVX2 void multiplyAddIntegersAvx2(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth,
                                                   const LaneWork& lane, int32_t* sums) {
  multiplyAddIntegers(a, b, columns, depth, lane, sums);
}
void multiplyAddIntegersBaseline(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth, const LaneWork& lane,
                                 int32_t* sums) {
  multiplyAddIntegers(a, b, columns, depth, lane, sums);
}

/// The accumulators as f32, scaled, or zero when they do not enter.
void prepareAccumulators(const AccumulatorInput& input, uint32_t columns, uint32_t* d) {
  if (!input.enabled) {
    std::fill_n(d, columns, 0u);
    return;
  }
  if (input.type == AccumulatorType::F32 && input.scale == 0) return;
  const float factor = std::ldexp(1.0f, -static_cast<int>(input.scale));
  for (uint32_t n = 0; n < columns; ++n) {
    const float value = input.type == AccumulatorType::F16 ? halfToFloat(d[n]) : std::bit_cast<float>(d[n]);
    d[n] = std::bit_cast<uint32_t>(value * factor);
  }
}

}  // namespace

float halfToFloat(uint32_t bits) {
  const uint32_t magnitude = (bits & 0x7fffu) << 13;
  const uint32_t sign = (bits & 0x8000u) << 16;
  if (magnitude >= 0x7c00u << 13) return std::bit_cast<float>(sign | magnitude | 0x7f800000u);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f));
}

uint32_t floatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t sign = bits >> 16 & 0x8000u;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;
  // Adding 0.5 rounds to multiples of 2^-24, the f16 sub-normal step.
  if (magnitude < 0x38800000u) return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u);
  return sign | (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
}

void decodeForFast(OperandTile& tile, uint32_t rows, uint32_t columns) {
  const auto decode = hostHasAvx2() ? decodeFloatsAvx2 : decodeFloatsBaseline;
  decode(elementFormat(tile.type), tile.negate, tile.raw.data(), tile.value.data(), size_t{rows} * columns);
}

void decodeIntegers(OperandTile& tile, uint32_t rows, uint32_t columns) {
  const bool isSigned = tile.type == ElementType::S8;
  for (size_t i = 0; i < size_t{rows} * columns; ++i) {
    tile.significand[i] = isSigned ? static_cast<int8_t>(tile.raw[i]) : static_cast<int32_t>(tile.raw[i]);
  }
}

void accumulateFast(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth, const AccumulatorInput& input,
                    std::span<const LaneWork> work) {
  for (const LaneWork& lane : work) prepareAccumulators(input, columns, lane.d);
  (hostHasAvx2() ? multiplyAddAvx2 : multiplyAddBaseline)(a, b, columns, depth, work);
  if (input.type != AccumulatorType::F16) return;
  for (const LaneWork& lane : work) {
    for (uint32_t n = 0; n < columns; ++n) lane.d[n] = floatToHalf(std::bit_cast<float>(lane.d[n]));
  }
}

void accumulateIntegers(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth, bool enabled, bool saturate,
                        std::span<const LaneWork> work) {
  const auto multiply = hostHasAvx2() ? multiplyAddIntegersAvx2 : multiplyAddIntegersBaseline;
  std::array<int32_t, kMaximumColumns> sums;
  for (const LaneWork& lane : work) {
    multiply(a, b, columns, depth, lane, sums.data());
    for (uint32_t n = 0; n < columns; ++n) {
      const int64_t total = int64_t{sums[n]} + (enabled ? static_cast<int32_t>(lane.d[n]) : 0);
      const int64_t clamped = std::clamp<int64_t>(total, INT32_MIN, INT32_MAX);
      lane.d[n] = static_cast<uint32_t>(saturate ? clamped : total);
    }
  }
}

}  // namespace shiftconv::emulator::tensor
