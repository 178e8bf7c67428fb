#include "common/emulator/tensor/numerics_hardware.hpp"

#include <algorithm>
#include <array>

#include "common/emulator/tensor/vector_types.hpp"

namespace shiftconv::emulator::tensor {

namespace {

/// Products are summed in 32-bit integers this many at a time: 16 * (2047/1024)^2 * 2^25 < 2^31.
constexpr uint32_t kProductsPerSum = 16;
/// Significands have 10 fraction bits, products 20; this brings them to 25.
constexpr int kProductShift = kAlignmentFractionBits - 20;
constexpr int kNoShiftBeyond = 31;

SHIFTCONV_INLINE Int8 load(const void* from) {
  Int8 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
SHIFTCONV_INLINE void store(void* to, Int8 value) { std::memcpy(to, &value, sizeof value); }
SHIFTCONV_INLINE Int8 maximum(Int8 a, Int8 b) { return a > b ? a : b; }
SHIFTCONV_INLINE Int8 minimum(Int8 a, Int8 b) { return a < b ? a : b; }
SHIFTCONV_INLINE Int8 splat(int32_t value) { return Int8{} + value; }
/// x / 2^shift, toward zero.
SHIFTCONV_INLINE Int8 truncatingShift(Int8 x, Int8 shift) {
  const Int8 sign = x >> 31;
  const Int8 magnitude = ((x ^ sign) - sign) >> minimum(shift, splat(kNoShiftBeyond));
  return (magnitude ^ sign) - sign;
}

/// x / 2^shift, toward zero to a multiple of 2^cut.
template <bool kCuts>
SHIFTCONV_INLINE Int8 alignedTerm(Int8 x, Int8 shift, int cut) {
  if constexpr (!kCuts) return truncatingShift(x, shift);
  return truncatingShift(x, shift + splat(cut)) << cut;
}

/// The accumulator as significand * 2^(exponent - 23).
struct AccumulatorTerm {
  Int8 significand, exponent;
};

SHIFTCONV_INLINE AccumulatorTerm unpackAccumulator(Int8 bits, const AccumulatorInput& input) {
  const bool half = input.type == AccumulatorType::F16;
  const int mantissaBits = half ? 10 : 23;
  const int bias = half ? 15 : 127;
  const Int8 field = bits >> mantissaBits & splat(half ? 0x1f : 0xff);
  const Int8 mantissa = bits & splat((1 << mantissaBits) - 1);
  const Int8 implicit = (field != 0) & splat(1 << mantissaBits);
  const Int8 sign = half ? bits << 16 >> 31 : bits >> 31;
  Int8 significand = (mantissa | implicit) << (23 - mantissaBits);
  Int8 exponent = maximum(field, splat(1)) - bias - static_cast<int32_t>(input.scale);
  if (input.flushScaledSubnormals && input.scale != 0) {
    significand &= (exponent >= splat(1 - bias)) & (field != 0);
  }
  const Int8 zero = significand == 0;
  exponent = (exponent & ~zero) | (splat(kZeroExponent) & zero);
  significand = (significand ^ sign) - sign;
  return {significand, exponent};
}

/// total * 2^(exponent - 25), truncated toward zero to f32; the total is exact in double. `sticky` sets the last bit where
/// something was cut off (round to odd), after which one more rounding to a narrower type is still correct.
SHIFTCONV_INLINE Int4 truncateToFloat(Double4 total, Int4 exponent, bool sticky) {
  const Long4 scaleBits = (__builtin_convertvector(exponent, Long4) + (1023 - kAlignmentFractionBits)) << 52;
  const Double4 exact = total * reinterpret_cast<Double4>(scaleBits);
  const Double4 magnitude = reinterpret_cast<Double4>(reinterpret_cast<Long4>(exact) & INT64_MAX);
  const Float4 nearest = __builtin_convertvector(exact, Float4);
  const Double4 back = __builtin_convertvector(nearest, Double4);
  const Double4 backMagnitude = reinterpret_cast<Double4>(reinterpret_cast<Long4>(back) & INT64_MAX);
  // Where rounding went away from zero, one step back (-1 in the magnitude); infinity only from 2^128 on.
  const Long4 tooLarge = (backMagnitude > magnitude) & (magnitude < 0x1p128);
  Int4 bits = reinterpret_cast<Int4>(nearest) + __builtin_convertvector(tooLarge, Int4);
  if (sticky) bits |= __builtin_convertvector((back != exact) & 1, Int4);
  const Int4 isZero = (bits << 1) == 0;
  return bits & ~isZero;
}

/// f32 rounded to nearest even to f16, in the low half of each word; zero results are +0.
SHIFTCONV_INLINE Int8 roundToHalf(Int8 bits) {
  const Int8 magnitude = bits & INT32_MAX;
  const Int8 normal = (magnitude - (112 << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // Adding 0.5 leaves multiples of 2^-24, the f16 sub-normal step, in the low bits.
  const Int8 subnormal = reinterpret_cast<Int8>(reinterpret_cast<Float8>(magnitude) + 0.5f) - 0x3f000000;
  const Int8 isSubnormal = magnitude < 0x38800000;
  const Int8 isInfinite = magnitude >= 0x47800000;
  const Int8 finite = (subnormal & isSubnormal) | (normal & ~isSubnormal);
  const Int8 rounded = (finite & ~isInfinite) | (splat(0x7c00) & isInfinite);
  return rounded | (bits >> 16 & 0x8000 & (rounded != 0));
}

/// `kCuts`: the sums are kept less precise than with the default SumPrecision.
template <bool kCuts>
SHIFTCONV_INLINE void accumulateColumns(const int32_t* aSignificand, const int32_t* aExponent, const int32_t* bSignificand,
                                        const int32_t* bExponent, size_t bStride, uint32_t columns, uint32_t depth,
                                        const AccumulatorInput& input, const int32_t* scaleExponents, uint32_t* d) {
  const int cut = kAlignmentFractionBits - input.precision.fractionBits;
  const int32_t kept = ~((1 << (23 - input.precision.resultBits)) - 1);
  for (uint32_t n = 0; n < columns; n += kVectorLanes) {
    AccumulatorTerm term{Int8{}, splat(kZeroExponent)};
    if (input.enabled) term = unpackAccumulator(load(d + n), input);
    // Scale factors raise the exponents of all products alike, so the accumulator's is lowered instead, until the end.
    const Int8 scale = scaleExponents == nullptr ? Int8{} : load(scaleExponents + n);
    term.exponent -= scale;

    Int8 largest = term.exponent;
    for (uint32_t k = 0; k < depth; ++k) largest = maximum(largest, load(bExponent + k * bStride + n) + aExponent[k]);

    const Int8 accumulator = alignedTerm<kCuts>(term.significand << (kAlignmentFractionBits - 23), largest - term.exponent, cut);
    const Int4 accumulatorLow = __builtin_shufflevector(accumulator, accumulator, 0, 1, 2, 3);
    const Int4 accumulatorHigh = __builtin_shufflevector(accumulator, accumulator, 4, 5, 6, 7);
    Double4 low = __builtin_convertvector(accumulatorLow, Double4);
    Double4 high = __builtin_convertvector(accumulatorHigh, Double4);
    for (uint32_t k = 0; k < depth;) {
      Int8 sum{};
      for (const uint32_t end = std::min(depth, k + kProductsPerSum); k < end; ++k) {
        const Int8 product = load(bSignificand + k * bStride + n) * (aSignificand[k] * (1 << kProductShift));
        const Int8 shift = largest - (load(bExponent + k * bStride + n) + aExponent[k]);
        sum += alignedTerm<kCuts>(product, shift, cut);
      }
      low += __builtin_convertvector(__builtin_shufflevector(sum, sum, 0, 1, 2, 3), Double4);
      high += __builtin_convertvector(__builtin_shufflevector(sum, sum, 4, 5, 6, 7), Double4);
    }
    largest += scale;
    const Int4 exponentLow = __builtin_shufflevector(largest, largest, 0, 1, 2, 3);
    const Int4 exponentHigh = __builtin_shufflevector(largest, largest, 4, 5, 6, 7);
    const bool half = input.type == AccumulatorType::F16;
    const Int4 resultLow = truncateToFloat(low, exponentLow, half);
    const Int4 resultHigh = truncateToFloat(high, exponentHigh, half);
    const Int8 result = __builtin_shufflevector(resultLow, resultHigh, 0, 1, 2, 3, 4, 5, 6, 7);
    store(d + n, half ? roundToHalf(result) : kCuts ? result & splat(kept) : result);
  }
}

template <bool kCuts>
SHIFTCONV_TARGET_AVX2 void accumulateColumnsAvx2(const int32_t* aSignificand, const int32_t* aExponent, const int32_t* bSignificand,
                                                 const int32_t* bExponent, size_t bStride, uint32_t columns, uint32_t depth,
                                                 const AccumulatorInput& input, const int32_t* scaleExponents, uint32_t* d) {
  accumulateColumns<kCuts>(aSignificand, aExponent, bSignificand, bExponent, bStride, columns, depth, input, scaleExponents, d);
}
template <bool kCuts>
void accumulateColumnsBaseline(const int32_t* aSignificand, const int32_t* aExponent, const int32_t* bSignificand,
                               const int32_t* bExponent, size_t bStride, uint32_t columns, uint32_t depth,
                               const AccumulatorInput& input, const int32_t* scaleExponents, uint32_t* d) {
  accumulateColumns<kCuts>(aSignificand, aExponent, bSignificand, bExponent, bStride, columns, depth, input, scaleExponents, d);
}

/// Element-wise decode of `count` neighbours (a multiple of 8): the vector form of unpackElement for finite elements.
/// `special` collects, per position, whether an element is an infinity or a NaN.
SHIFTCONV_INLINE void decodeRun(const ElementFormat& format, bool negate, const uint32_t* raw, int32_t* significand,
                                int32_t* exponent, uint32_t count, int32_t* special) {
  const int32_t exponentMask = (1 << format.exponentBits) - 1;
  const int32_t mantissaMask = (1 << format.mantissaBits) - 1;
  const int signBit = format.exponentBits + format.mantissaBits;
  for (uint32_t i = 0; i < count; i += kVectorLanes) {
    const Int8 bits = load(raw + i);
    const Int8 field = bits >> format.mantissaBits & splat(exponentMask);
    const Int8 mantissa = bits & splat(mantissaMask);
    const Int8 sign = bits << (31 - signBit) >> 31 ^ splat(negate ? -1 : 0);
    const Int8 implicit = (field != 0) & splat(1 << format.mantissaBits);
    const Int8 magnitude = (mantissa | implicit) << (10 - format.mantissaBits);
    const Int8 zero = magnitude == 0;
    const Int8 unbiased = maximum(field, splat(1)) - static_cast<int32_t>(format.bias);
    store(significand + i, (magnitude ^ sign) - sign);
    store(exponent + i, (unbiased & ~zero) | (splat(kZeroExponent) & zero));
    Int8 notFinite{};
    if (format.specials == Specials::Ieee) notFinite = field == exponentMask;
    if (format.specials == Specials::NanOnly) notFinite = (field == exponentMask) & (mantissa == mantissaMask);
    store(special + i, load(special + i) | notFinite);
  }
}
SHIFTCONV_TARGET_AVX2 void decodeRunAvx2(const ElementFormat& format, bool negate, const uint32_t* raw, int32_t* significand,
                                         int32_t* exponent, uint32_t count, int32_t* special) {
  decodeRun(format, negate, raw, significand, exponent, count, special);
}
void decodeRunBaseline(const ElementFormat& format, bool negate, const uint32_t* raw, int32_t* significand, int32_t* exponent,
                       uint32_t count, int32_t* special) {
  decodeRun(format, negate, raw, significand, exponent, count, special);
}

/// The result where some term is an infinity or a NaN (rule 4); nullopt-like `false` when all are finite.
bool specialResult(const OperandTile& a, uint32_t row, const OperandTile& b, uint32_t column, uint32_t depth,
                   const AccumulatorInput& input, uint32_t accumulator, bool nanScale, uint32_t& result) {
  const ElementFormat& formatA = elementFormat(a.type);
  const ElementFormat& formatB = elementFormat(b.type);
  const bool half = input.type == AccumulatorType::F16;
  bool nan = nanScale, positive = false, negative = false;
  const auto addInfinity = [&](bool isNegative) { (isNegative ? negative : positive) = true; };
  using Class = Unpacked::Class;
  for (uint32_t k = 0; k < depth; ++k) {
    const Unpacked x = unpackElement(formatA, a.raw[size_t{row} * a.stride + k]);
    const Unpacked y = unpackElement(formatB, b.raw[size_t{k} * b.stride + column]);
    if (x.kind == Class::Finite && y.kind == Class::Finite) continue;
    const bool isNan = x.kind == Class::Nan || y.kind == Class::Nan || x.significand == 0 || y.significand == 0;
    nan |= isNan;
    if (!isNan) addInfinity(((x.significand < 0) != (y.significand < 0)) != (a.negate != b.negate));
  }
  if (input.enabled) {
    const uint32_t magnitude = accumulator & (half ? 0x7fffu : 0x7fffffffu);
    const uint32_t infinity = half ? 0x7c00u : 0x7f800000u;
    nan |= magnitude > infinity;
    if (magnitude == infinity) addInfinity(accumulator >> (half ? 15 : 31) & 1);
  }
  if (nan || (positive && negative)) {
    result = half ? kCanonicalNanF16 : kCanonicalNanF32;
    return true;
  }
  if (positive || negative) {
    result = (half ? 0x7c00u : 0x7f800000u) | (negative ? (half ? 0x8000u : 0x80000000u) : 0u);
    return true;
  }
  return false;
}

}  // namespace

void decodeForHardware(OperandTile& tile, uint32_t rows, uint32_t columns, bool specialByRow) {
  const ElementFormat& format = elementFormat(tile.type);
  const auto decode = hostHasAvx2() ? decodeRunAvx2 : decodeRunBaseline;
  std::array<int32_t, kMaximumColumns> special{};
  tile.special.assign(specialByRow ? rows : columns, 0);
  for (uint32_t row = 0; row < rows; ++row) {
    const size_t at = size_t{row} * tile.stride;
    decode(format, tile.negate, tile.raw.data() + at, tile.significand.data() + at, tile.exponent.data() + at, columns,
           special.data());
    if (!specialByRow) continue;
    tile.special[row] = std::any_of(special.begin(), special.begin() + columns, [](int32_t found) { return found != 0; });
    if (tile.special[row]) special.fill(0);
  }
  if (specialByRow) return;
  for (uint32_t column = 0; column < columns; ++column) tile.special[column] = special[column] != 0;
}

void accumulateHardware(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth, const AccumulatorInput& input,
                        std::span<const LaneWork> work) {
  const bool half = input.type == AccumulatorType::F16;
  const uint32_t exponentBits = half ? 0x7c00u : 0x7f800000u;
  const bool cuts = input.precision.fractionBits != kAlignmentFractionBits;
  const auto whole = hostHasAvx2() ? accumulateColumnsAvx2<false> : accumulateColumnsBaseline<false>;
  const auto cut = hostHasAvx2() ? accumulateColumnsAvx2<true> : accumulateColumnsBaseline<true>;
  const auto accumulate = cuts ? cut : whole;
  std::array<uint32_t, kMaximumColumns> old;
  for (const LaneWork& lane : work) {
    std::copy_n(lane.d, columns, old.begin());
    const auto isNanScale = [&](uint32_t n) { return lane.scaleExponents != nullptr && lane.scaleExponents[n] == kNanScale; };
    uint32_t anySpecial = a.special[lane.row];
    for (uint32_t n = 0; n < columns; ++n) {
      anySpecial |= b.special[lane.firstColumn + n];
      anySpecial |= static_cast<uint32_t>(isNanScale(n));
      anySpecial |= static_cast<uint32_t>(input.enabled && (old[n] & exponentBits) == exponentBits);
    }
    const size_t aAt = size_t{lane.row} * a.stride;
    accumulate(a.significand.data() + aAt, a.exponent.data() + aAt, b.significand.data() + lane.firstColumn,
               b.exponent.data() + lane.firstColumn, b.stride, columns, depth, input, lane.scaleExponents, lane.d);
    if (!anySpecial) [[likely]]
      continue;
    for (uint32_t n = 0; n < columns; ++n) {
      specialResult(a, lane.row, b, lane.firstColumn + n, depth, input, old[n], isNanScale(n), lane.d[n]);
    }
  }
}

}  // namespace shiftconv::emulator::tensor
