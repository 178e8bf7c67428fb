// Conversions of pairs, and to tf32 (PTX ISA 9.0, 9.7.9.21). Stochastic rounding to four values is refused: see refused_forms.
#include "common/emulator/forms/scalar/packed_conversion_forms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "common/emulator/forms/scalar/half_ops.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/forms/scalar/rounding.hpp"
#include "common/emulator/isa/decode_helpers.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;

struct Narrowing {
  FloatFormat format;
  unsigned fieldBits = 0;  ///< of one packed value in the register
  Rounding rounding = Rounding::NearestEven;
  bool relu = false;
  bool saturateFinite = false;
};

struct NarrowingDetail : machine::InstructionDetail {
  Narrowing narrowing;
};

/// One value. NaN becomes the NaN of the format, or its largest value when there is none (f6 and f4 types).
uint32_t narrowValue(const Narrowing& narrowing, double value, RandomBits random = {}) {
  const FloatFormat& format = narrowing.format;
  if (value != value) return static_cast<uint32_t>(format.nan != 0 ? format.nan : format.maximumFinite);
  if (narrowing.relu && std::signbit(value)) return 0;
  return static_cast<uint32_t>(convertTo(format, value, narrowing.rounding, narrowing.saturateFinite, random));
}

uint32_t narrowPair(const Narrowing& narrowing, double upper, double lower) {
  return narrowValue(narrowing, upper) << narrowing.fieldBits | narrowValue(narrowing, lower);
}

/// d = {convert(a), convert(b)} of two f32; Result is the register of the packed value.
template <class Result>
void narrowFloats(Execution& execution, const DecodedInstruction& instruction) {
  const Narrowing& narrowing = instruction.as<NarrowingDetail>().narrowing;
  const float* const a = execution.lanes<float>(instruction.operand[1]);
  const float* const b = execution.lanes<float>(instruction.operand[2]);
  Result* const result = execution.lanes<Result>(instruction.operand[0]);
  forLanes(execution.mask,
           [&](unsigned lane) { result[lane] = static_cast<Result>(narrowPair(narrowing, double{a[lane]}, double{b[lane]})); });
}

/// cvt.rs: the upper half of the random register rounds a, the lower half b.
void narrowStochastically(Execution& execution, const DecodedInstruction& instruction) {
  const Narrowing& narrowing = instruction.as<NarrowingDetail>().narrowing;
  const float* const a = execution.lanes<float>(instruction.operand[1]);
  const float* const b = execution.lanes<float>(instruction.operand[2]);
  const auto* const random = execution.lanes<uint32_t>(instruction.operand[3]);
  auto* const result = execution.lanes<uint32_t>(instruction.operand[0]);
  // 13 bits below an f16 fraction, 16 below a bf16 one: what an f32 fraction has more.
  const auto count = static_cast<unsigned>(23 - narrowing.format.fractionBits);
  const uint32_t mask = (1u << count) - 1;
  forLanes(execution.mask, [&](unsigned lane) {
    const uint32_t upper = narrowValue(narrowing, double{a[lane]}, {random[lane] >> 16 & mask, count});
    const uint32_t lower = narrowValue(narrowing, double{b[lane]}, {random[lane] & mask, count});
    result[lane] = upper << 16 | lower;
  });
}

/// f16x2 -> e4m3x2, e5m2x2
void narrowHalves(Execution& execution, const DecodedInstruction& instruction) {
  const Narrowing& narrowing = instruction.as<NarrowingDetail>().narrowing;
  const auto* const a = execution.lanes<uint16_t>(instruction.operand[1]);
  auto* const result = execution.lanes<uint16_t>(instruction.operand[0]);
  forLanes(execution.mask, [&](unsigned lane) {
    result[lane] = static_cast<uint16_t>(narrowPair(narrowing, decode(kF16, a[2 * lane + 1]), decode(kF16, a[2 * lane])));
  });
}

/// e4m3x2 and friends -> f16x2; Source is the register of the packed value.
template <class Source>
void widenPair(Execution& execution, const DecodedInstruction& instruction) {
  const Narrowing& narrowing = instruction.as<NarrowingDetail>().narrowing;
  const Source* const a = execution.lanes<Source>(instruction.operand[1]);
  auto* const result = execution.lanes<uint16_t>(instruction.operand[0]);
  const uint32_t field = (1u << narrowing.fieldBits) - 1;
  const auto widen = [&](uint32_t bits) {
    const double value = decode(narrowing.format, bits & (2 * narrowing.format.signBit() - 1));
    if (narrowing.relu && std::signbit(value)) return uint16_t{0};
    return static_cast<uint16_t>(convertTo(kF16, value, Rounding::NearestEven));
  };
  forLanes(execution.mask, [&](unsigned lane) {
    const uint32_t packed = a[lane];
    const uint16_t upper = widen(packed >> narrowing.fieldBits & field);
    result[2 * lane] = widen(packed & field);
    result[2 * lane + 1] = upper;
  });
}

/// NaN as tf32 (observed on H200): .rn and .rz give the canonical NaN of tf32; .rna, which is emulated by integer arithmetic,
/// cuts the fraction off (so that a NaN may become infinity), and with .satfinite steps down by one besides.
uint32_t tf32Nan(const Narrowing& narrowing, uint32_t bits) {
  if (narrowing.rounding != Rounding::NearestAway) return 0x7fff'e000u;
  return (bits & 0xffff'e000u) - (narrowing.saturateFinite ? 0x2000u : 0u);
}

/// One value of tf32 in the upper bits of a 32-bit register.
void narrowToTf32(Execution& execution, const DecodedInstruction& instruction) {
  const Narrowing& narrowing = instruction.as<NarrowingDetail>().narrowing;
  const float* const a = execution.lanes<float>(instruction.operand[1]);
  auto* const result = execution.lanes<uint32_t>(instruction.operand[0]);
  forLanes(execution.mask, [&](unsigned lane) {
    const uint32_t bits = narrowValue(narrowing, double{a[lane]}) << 13;
    result[lane] = a[lane] != a[lane] ? tf32Nan(narrowing, std::bit_cast<uint32_t>(a[lane])) : bits;
  });
}

/// Exponent of |value| as ue8m0, rounded down or up; NaN is 0xff.
uint32_t scaleOf(float value, bool up, bool saturateFinite) {
  const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fff'ffffu;
  if (bits > 0x7f80'0000u) return 0xff;
  if (bits == 0x7f80'0000u) return saturateFinite ? 0xfe : 0xff;
  const uint32_t exponent = bits >> 23;
  // Scale 0 is 2^-127, which is a subnormal f32 with one bit; everything below rounds to it.
  const bool inexact = exponent == 0 ? bits > 0x0040'0000u : (bits & 0x007f'ffffu) != 0;
  const uint32_t rounded = exponent + (up && inexact ? 1 : 0);
  return rounded > 0xfe ? (saturateFinite ? 0xfe : 0xff) : rounded;
}

void scalesOfFloats(Execution& execution, const DecodedInstruction& instruction) {
  const Narrowing& narrowing = instruction.as<NarrowingDetail>().narrowing;
  const float* const a = execution.lanes<float>(instruction.operand[1]);
  const float* const b = execution.lanes<float>(instruction.operand[2]);
  auto* const result = execution.lanes<uint16_t>(instruction.operand[0]);
  const bool up = narrowing.rounding == Rounding::Up;
  forLanes(execution.mask, [&](unsigned lane) {
    result[lane] =
        static_cast<uint16_t>(scaleOf(a[lane], up, narrowing.saturateFinite) << 8 | scaleOf(b[lane], up, narrowing.saturateFinite));
  });
}

void scalesOfHalves(Execution& execution, const DecodedInstruction& instruction) {
  const Narrowing& narrowing = instruction.as<NarrowingDetail>().narrowing;
  const auto* const a = execution.lanes<uint16_t>(instruction.operand[1]);
  auto* const result = execution.lanes<uint16_t>(instruction.operand[0]);
  const bool up = narrowing.rounding == Rounding::Up;
  forLanes(execution.mask, [&](unsigned lane) {
    const uint32_t upper = scaleOf(Bf16::toFloat(a[2 * lane + 1]), up, narrowing.saturateFinite);
    result[lane] = static_cast<uint16_t>(upper << 8 | scaleOf(Bf16::toFloat(a[2 * lane]), up, narrowing.saturateFinite));
  });
}

uint16_t halfOfScale(uint32_t scale) {
  if (scale == 0xff) return 0x7fff;
  return static_cast<uint16_t>(scale == 0 ? 0x0040 : scale << 7);  // 2^-127 is a subnormal bf16
}

void halvesOfScales(Execution& execution, const DecodedInstruction& instruction) {
  const auto* const a = execution.lanes<uint16_t>(instruction.operand[1]);
  auto* const result = execution.lanes<uint16_t>(instruction.operand[0]);
  forLanes(execution.mask, [&](unsigned lane) {
    const uint32_t packed = a[lane];
    result[2 * lane] = halfOfScale(packed & 0xff);
    result[2 * lane + 1] = halfOfScale(packed >> 8);
  });
}

struct NarrowType {
  std::string_view name;
  FloatFormat format;
  unsigned fieldBits;
  ScalarType registerType;
};
constexpr std::array kNarrowTypes = {
    NarrowType{"f16x2", kF16, 16, ScalarType::B32},  NarrowType{"bf16x2", kBf16, 16, ScalarType::B32},
    NarrowType{"e4m3x2", kE4m3, 8, ScalarType::B16}, NarrowType{"e5m2x2", kE5m2, 8, ScalarType::B16},
    NarrowType{"e2m3x2", kE2m3, 8, ScalarType::B16}, NarrowType{"e3m2x2", kE3m2, 8, ScalarType::B16},
    NarrowType{"e2m1x2", kE2m1, 4, ScalarType::B8},
};

const NarrowType& narrowType(std::string_view name) {
  return *std::find_if(kNarrowTypes.begin(), kNarrowTypes.end(), [&](const NarrowType& type) { return type.name == name; });
}

Narrowing& makeDetail(DecodeContext& context, const FormMatch& match) {
  auto detail = std::make_shared<NarrowingDetail>();
  Narrowing& narrowing = detail->narrowing;
  const std::string_view rounding = match.group(0);
  narrowing.rounding = rounding == "rz"    ? Rounding::TowardZero
                       : rounding == "rp"  ? Rounding::Up
                       : rounding == "rna" ? Rounding::NearestAway
                       : rounding == "rs"  ? Rounding::Stochastic
                                           : Rounding::NearestEven;
  narrowing.relu = match.has("relu");
  narrowing.saturateFinite = match.has("satfinite");
  context.out().detail = std::move(detail);
  return narrowing;
}

template <class Half>
uint32_t packNearest(float a, float b) {
  return uint32_t{Half::fromFloat(a)} << 16 | Half::fromFloat(b);
}

/// Two f32 to a packed type, the last group but one.
void decodeNarrowFloats(DecodeContext& context, const FormMatch& match) {
  Narrowing& narrowing = makeDetail(context, match);
  const NarrowType& type = narrowType(match.group(match.groups_.size() - 2));
  narrowing.format = type.format;
  narrowing.fieldBits = type.fieldBits;
  if (narrowing.rounding == Rounding::Stochastic)
    return decodeOperands(context, narrowStochastically, type.registerType, {ScalarType::F32, ScalarType::F32, ScalarType::B32});
  Handler handler = narrowFloats<uint32_t>;
  if (type.registerType == ScalarType::B16) handler = narrowFloats<uint16_t>;
  if (type.registerType == ScalarType::B8) handler = narrowFloats<uint8_t>;
  const bool plain = narrowing.rounding == Rounding::NearestEven && !narrowing.relu && !narrowing.saturateFinite;
  if (plain && type.name == "f16x2") handler = bestLanewise<&packNearest<F16>>();
  if (plain && type.name == "bf16x2") handler = bestLanewise<&packNearest<Bf16>>();
  decodeOperands(context, handler, type.registerType, {ScalarType::F32, ScalarType::F32});
}

void decodeNarrowHalves(DecodeContext& context, const FormMatch& match) {
  Narrowing& narrowing = makeDetail(context, match);
  const NarrowType& type = narrowType(match.group(match.groups_.size() - 2));
  narrowing.format = type.format;
  narrowing.fieldBits = type.fieldBits;
  decodeOperands(context, narrowHalves, ScalarType::B16, {ScalarType::B32});
}

void decodeWiden(DecodeContext& context, const FormMatch& match) {
  Narrowing& narrowing = makeDetail(context, match);
  const NarrowType& type = narrowType(match.groups_.back());
  narrowing.format = type.format;
  narrowing.fieldBits = type.fieldBits;
  decodeOperands(context, type.registerType == ScalarType::B8 ? widenPair<uint8_t> : widenPair<uint16_t>, ScalarType::B32,
                 {type.registerType});
}

void decodeTf32(DecodeContext& context, const FormMatch& match) {
  Narrowing& narrowing = makeDetail(context, match);
  if (narrowing.rounding == Rounding::NearestAway && narrowing.relu) context.illegal("'.rna' cannot be combined with '.relu'.");
  narrowing.format = kTf32;
  decodeOperands(context, narrowToTf32, ScalarType::B32, {ScalarType::F32});
}

void decodeScales(DecodeContext& context, const FormMatch& match) {
  makeDetail(context, match);
  if (match.groups_.back() == "f32")
    return decodeOperands(context, scalesOfFloats, ScalarType::B16, {ScalarType::F32, ScalarType::F32});
  decodeOperands(context, scalesOfHalves, ScalarType::B16, {ScalarType::B32});
}

void decodeHalvesOfScales(DecodeContext& context, const FormMatch&) {
  decodeOperands(context, halvesOfScales, ScalarType::B32, {ScalarType::B16});
}

/// cvt.pack: `immediate` is the number of bits of a value, and kPackSigned.
constexpr uint64_t kPackSigned = 64;

void packIntegers(Execution& execution, const DecodedInstruction& instruction) {
  const auto bits = static_cast<unsigned>(instruction.immediate & (kPackSigned - 1));
  const bool isSigned = (instruction.immediate & kPackSigned) != 0;
  const int32_t low = isSigned ? -(1 << (bits - 1)) : 0;
  const int32_t high = (1 << (isSigned ? bits - 1 : bits)) - 1;
  const uint32_t field = (1u << bits) - 1;
  const auto* const a = execution.lanes<int32_t>(instruction.operand[1]);
  const auto* const b = execution.lanes<int32_t>(instruction.operand[2]);
  const auto* const c = instruction.operand[3] == machine::kNoSlot ? nullptr : execution.lanes<uint32_t>(instruction.operand[3]);
  auto* const result = execution.lanes<uint32_t>(instruction.operand[0]);
  forLanes(execution.mask, [&](unsigned lane) {
    const uint32_t upper = static_cast<uint32_t>(std::clamp(a[lane], low, high)) & field;
    const uint32_t lower = static_cast<uint32_t>(std::clamp(b[lane], low, high)) & field;
    result[lane] = (c == nullptr ? 0 : c[lane] << (2 * bits)) | upper << bits | lower;
  });
}

void decodePack(DecodeContext& context, const FormMatch& match) {
  const std::string_view type = match.group(2);
  const uint64_t bits = type == "u16" || type == "s16" ? 16 : static_cast<uint64_t>(type[1] - '0');
  context.out().immediate = bits | (type[0] == 's' ? kPackSigned : 0);
  if (bits == 16) return decodeOperands(context, packIntegers, ScalarType::B32, {ScalarType::S32, ScalarType::S32});
  decodeOperands(context, packIntegers, ScalarType::B32, {ScalarType::S32, ScalarType::S32, ScalarType::B32});
}

}  // namespace

FormFamily packedConversionForms() {
  return {
      {"cvt.(rn|rz|rs){.relu}{.satfinite}.(f16x2|bf16x2).f32", decodeNarrowFloats},
      {"cvt.(rn|rz|rna){.satfinite}{.relu}.tf32.f32", decodeTf32},
      {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2).f32", decodeNarrowFloats},
      {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2).f16x2", decodeNarrowHalves},
      {"cvt.rn{.relu}.f16x2.(e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2)", decodeWiden},
      {"cvt.(rz|rp){.satfinite}.ue8m0x2.(f32|bf16x2)", decodeScales},
      {"cvt.rn.bf16x2.ue8m0x2", decodeHalvesOfScales},
      {"cvt.pack.sat.(u16|s16).s32", decodePack},
      {"cvt.pack.sat.(u2|s2|u4|s4|u8|s8).s32.b32", decodePack},
  };
}

}  // namespace shiftconv::emulator::isa
