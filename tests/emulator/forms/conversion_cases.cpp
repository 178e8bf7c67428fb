// cvt between scalar types against exact arithmetic. Packed and narrow types are in packed_conversion_cases.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "tests/emulator/forms/float_oracle.hpp"
#include "tests/emulator/forms/packed_conversion_cases.hpp"
#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests::conversion_cases {
namespace {

constexpr std::string_view kCvt =
    "cvt{.(rn|rz|rm|rp|rni|rzi|rmi|rpi)}{.ftz}{.sat}.(u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64)"
    ".(u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64)";

__extension__ typedef __int128 Wide;

struct Type {
  std::string name;
  unsigned bits;
  bool isSigned;
  const Format* format = nullptr;
  /// Narrowest register that can hold it.
  unsigned registerBits() const { return std::max(bits, 16u); }
};
const std::vector<Type> kIntegers{{"u8", 8, false}, {"u16", 16, false}, {"u32", 32, false}, {"u64", 64, false},
                                  {"s8", 8, true},  {"s16", 16, true},  {"s32", 32, true},  {"s64", 64, true}};
const std::vector<Type> kFloats{
    {"f16", 16, true, &kHalf}, {"bf16", 16, true, &kBfloat}, {"f32", 32, true, &kSingle}, {"f64", 64, true, &kDouble}};

Wide valueOf(const Type& type, uint64_t raw) {
  return type.isSigned ? Wide{asSigned(raw, type.bits)} : Wide{lowBits(raw, type.bits)};
}
Wide clampTo(const Type& type, Wide value) {
  const Wide high = (Wide{1} << (type.isSigned ? type.bits - 1 : type.bits)) - 1;
  return std::clamp(value, type.isSigned ? -high - 1 : Wide{0}, high);
}

Lanes operandsOf(FormRun& run, const Type& type) {
  return type.format != nullptr ? floatOperands(run, type.format->exponentBits, type.format->fractionBits)
                                : integerOperands(run, type.registerBits());
}

/// The value as it ends in a wider register: extended as its type says.
uint64_t extended(const Type& type, uint64_t value) { return static_cast<uint64_t>(valueOf(type, value)); }

/// Integer to integer, in registers of every width that fits.
void integers(FormRun& run) {
  for (const Type& from : kIntegers)
    for (const Type& to : kIntegers)
      for (const bool saturate : {false, true})
        for (const unsigned sourceBits : {16u, 32u, 64u})
          for (const unsigned resultBits : {16u, 32u, 64u}) {
            if (sourceBits < from.bits || resultBits < to.bits) continue;
            if (sourceBits > from.registerBits() && resultBits > to.registerBits() && from.bits == to.bits)
              continue;  // enough of these
            const ScalarInstruction instruction{
                fmt::format("cvt{}.{}.{}", saturate ? ".sat" : "", to.name, from.name), resultBits, {sourceBits}};
            const Lanes a = integerOperands(run, from.registerBits());
            expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&](uint64_t x, uint64_t, uint64_t) {
              const Wide value = valueOf(from, x);
              return extended(to, static_cast<uint64_t>(saturate ? clampTo(to, value) : value));
            });
          }
}

/// A finite float as an exact sum of one term.
ExactReal exactly(const Unpacked& value) {
  ExactReal result;
  result.add(value);
  return result;
}

/// Rounds a finite value to an integer, by exact halves: 2 * value against odd numbers.
Wide integerOf(const Unpacked& value, Round mode) {
  // Values of 2^70 and more saturate whatever they are.
  const bool huge = value.exponent + static_cast<int>(std::bit_width(value.significand)) > 70;
  if (huge || value.exponent >= 0) {
    const Wide magnitude = huge ? Wide{1} << 80 : Wide{value.significand} << value.exponent;
    return value.negative ? -magnitude : magnitude;
  }
  const int shift = -value.exponent;
  const Wide whole = shift > 63 ? 0 : Wide{value.significand >> shift};
  const bool exact = shift > 63 ? value.significand == 0 : (value.significand & ((uint64_t{1} << shift) - 1)) == 0;
  int versusHalf = -1;
  if (shift <= 64) {
    const Wide twice = Wide{value.significand} - (Wide{1} << (shift - 1)) - (shift > 63 ? 0 : whole << shift);
    versusHalf = twice < 0 ? -1 : twice > 0 ? 1 : 0;
  }
  bool up = false;
  if (mode == Round::NearestEven) up = versusHalf > 0 || (versusHalf == 0 && (whole & 1) != 0);
  if (mode == Round::Up) up = !exact && !value.negative;
  if (mode == Round::Down) up = !exact && value.negative;
  const Wide magnitude = whole + (up ? 1 : 0);
  return value.negative ? -magnitude : magnitude;
}

const std::vector<std::pair<std::string, Round>> kModes{
    {"rn", Round::NearestEven}, {"rz", Round::TowardZero}, {"rm", Round::Down}, {"rp", Round::Up}};

/// Floats near integers, near halves of integers and near the ends of the integer types.
Lanes nearIntegers(FormRun& run, const Type& from) {
  Lanes result = operandsOf(run, from);
  for (size_t lane = 16; lane < 32; ++lane) {
    ExactReal value;
    const auto power = static_cast<int>(run.random() % 66);
    value.add(run.random() % 2 == 0, 1, power);
    value.add(run.random() % 2 == 0, run.random() % 8, -1);
    if (!value.isZero()) result[lane] = value.round(*from.format, Round::NearestEven);
  }
  return result;
}

void floatsToIntegers(FormRun& run) {
  for (const Type& from : kFloats)
    for (const Type& to : kIntegers)
      for (const auto& [mode, round] : kModes)
        for (const bool flush : {false, true}) {
          if (flush && from.bits != 32) continue;
          const bool saturate = run.random() % 2 == 0;  // redundant here
          const ScalarInstruction instruction{
              fmt::format("cvt.{}i{}{}.{}.{}", mode, flush ? ".ftz" : "", saturate ? ".sat" : "", to.name, from.name),
              to.registerBits(),
              {from.bits}};
          const Lanes a = nearIntegers(run, from);
          expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&, r = round](uint64_t x, uint64_t, uint64_t) {
            const Unpacked value = unpack(*from.format, flush ? flushed(*from.format, x) : x);
            if (value.nan) return from.bits != 64 && to.bits != 64 ? 0 : extended(to, uint64_t{1} << (to.bits - 1));
            if (value.infinite)
              return extended(to, static_cast<uint64_t>(clampTo(to, value.negative ? -(Wide{1} << 80) : Wide{1} << 80)));
            return extended(to, static_cast<uint64_t>(clampTo(to, integerOf(value, r))));
          });
        }
}

void integersToFloats(FormRun& run) {
  for (const Type& from : kIntegers)
    for (const Type& to : kFloats)
      for (const auto& [mode, round] : kModes)
        for (const bool saturate : {false, true}) {
          const FloatRules rules{*to.format, round, false, saturate};
          const ScalarInstruction instruction{
              fmt::format("cvt.{}{}.{}.{}", mode, saturate ? ".sat" : "", to.name, from.name), to.bits, {from.registerBits()}};
          const Lanes a = integerOperands(run, from.registerBits());
          expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&](uint64_t x, uint64_t, uint64_t) {
            const Wide value = valueOf(from, x);
            if (value == 0) return uint64_t{0};
            ExactReal exact;
            exact.add(value < 0, static_cast<Significand>(value < 0 ? -value : value), 0);
            return finish(rules, exact.round(rules.format, rules.round));
          });
        }
}

/// A NaN in another format, as an H200 converts it: f64 keeps sign and payload on the way in and out, bf16 just gets longer, the
/// others have one NaN, and .ftz makes one of f32.
uint64_t convertedNan(const Type& from, const Type& to, uint64_t bits, bool flush) {
  if (from.name == "bf16" && to.name == "f32") return bits << 16;
  if (from.bits != 64 && to.bits != 64) return nanOf(*to.format);
  if (from.name == "f32" && flush) bits = nanOf(kSingle);
  const int distance = to.format->fractionBits - from.format->fractionBits;
  const uint64_t payload = bits & ((uint64_t{1} << from.format->fractionBits) - 1);
  const uint64_t quiet = uint64_t{1} << (to.format->fractionBits - 1);
  const uint64_t sign = (bits & signOf(*from.format)) != 0 ? signOf(*to.format) : 0;
  return sign | infinityOf(*to.format) | quiet | (distance > 0 ? payload << distance : payload >> -distance);
}

/// Float to another float; a widening conversion takes no rounding modifier.
void floatsToFloats(FormRun& run) {
  for (const Type& from : kFloats)
    for (const Type& to : kFloats) {
      if (from.name == to.name) continue;
      const bool narrows = to.bits < from.bits || (to.bits == 16 && from.bits == 16);
      for (const auto& [mode, round] : kModes)
        for (const bool flush : {false, true})
          for (const bool saturate : {false, true}) {
            if (flush && from.bits != 32 && to.bits != 32) continue;
            if (!narrows && mode != "rn") continue;
            const ScalarInstruction instruction{fmt::format("cvt{}{}{}.{}.{}", narrows ? "." + mode : "", flush ? ".ftz" : "",
                                                            saturate ? ".sat" : "", to.name, from.name),
                                                to.bits,
                                                {from.bits}};
            const Lanes a = operandsOf(run, from);
            expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&, r = round](uint64_t x, uint64_t, uint64_t) {
              // .ftz does not reach a subnormal f32 that becomes f16 (observed on an H200).
              if (flush && from.bits == 32 && to.name != "f16") x = flushed(kSingle, x);
              const FloatRules rules{*to.format, r, flush && to.bits == 32, saturate};
              const Unpacked value = unpack(*from.format, x);
              const uint64_t sign = value.negative ? signOf(*to.format) : 0;
              if (value.nan) return saturate ? 0 : convertedNan(from, to, x, flush);
              if (value.infinite) return finish(rules, infinityOf(*to.format) | sign);
              return finish(rules, value.zero() ? sign : exactly(value).round(*to.format, r));
            });
          }
    }
}

/// cvt.rni.f32.f32 and friends, and the same type without rounding (.sat, .ftz).
void sameType(FormRun& run) {
  for (const Type& type : kFloats)
    for (const std::string mode : {"", "rni", "rzi", "rmi", "rpi"})
      for (const bool flush : {false, true})
        for (const bool saturate : {false, true}) {
          if (flush && type.bits != 32) continue;
          const FloatRules rules{*type.format, Round::NearestEven, flush, saturate};
          const ScalarInstruction instruction{fmt::format("cvt{}{}{}{}.{}.{}", mode.empty() ? "" : ".", mode, flush ? ".ftz" : "",
                                                          saturate ? ".sat" : "", type.name, type.name),
                                              type.bits,
                                              {type.bits}};
          const Lanes a = nearIntegers(run, type);
          Lanes result = runScalar(run, instruction, a);
          const auto expected = [&](uint64_t x, uint64_t, uint64_t) {
            if (flush) x = flushed(*type.format, x);
            const Unpacked value = unpack(*type.format, x);
            const bool integral = value.exponent >= 0 && !value.nan && !value.infinite;
            if (mode.empty() || value.nan || value.infinite || value.zero() || integral) return finish(rules, x);
            const Wide rounded = integerOf(value, roundOf(mode.substr(0, 2)));
            if (rounded == 0) return finish(rules, value.negative ? signOf(*type.format) : 0);
            ExactReal exact;
            exact.add(rounded < 0, static_cast<Significand>(rounded < 0 ? -rounded : rounded), 0);
            return finish(rules, exact.round(*type.format, Round::NearestEven));
          };
          for (size_t lane = 0; lane < 32; ++lane) {
            const uint64_t want = expected(lowBits(a[lane], type.bits), 0, 0);
            if (sameFloat(*type.format, want, result[lane])) result[lane] = want;
          }
          expectLanes(instruction, result, a, {}, {}, expected);
        }
}

/// Immediates and special registers are sources too; f16 may live in a 32-bit register.
void otherOperands(FormRun& run) {
  const Lanes none{};
  EXPECT_EQ(run.lanes("  cvt.s64.s32 %d, -5;", none)[3], static_cast<uint64_t>(-5));
  EXPECT_EQ(run.lanes("  .reg .u16 %h;\n  cvt.u16.u32 %h, %tid.x;\n  cvt.u64.u16 %d, %h;", none)[30], 30u);
  Lanes a{};
  a.fill(0xabcd'3c00);
  EXPECT_EQ(run.lanes("  cvt.f32.f16 %d32, %a32;\n  mov.b64 %d, {%d32, 0};", a)[0], 0x3f800000u);
  a.fill(0x3f800000);
  EXPECT_EQ(run.lanes("  cvt.rn.f16.f32 %d32, %a32;\n  mov.b64 %d, {%d32, 0};", a)[0], 0x3c00u);
}

void faults(FormRun& run) {
  const auto refused = [&](const std::string& instruction, std::string_view part) {
    const std::string message = run.error([&] { run.lanes("  .reg .f32 %f;\n  .reg .b16 %h;\n  " + instruction + "\n", {}); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refused("cvt.s32.f32 %d32, %f;", "needs .rni, .rzi, .rmi or .rpi");
  refused("cvt.f32.s32 %f, %a32;", "needs .rn, .rz, .rm or .rp");
  refused("cvt.rn.f32.f32 %f, %f;", "rounds to an integer only");
  refused("cvt.rn.u32.u16 %d32, %h;", "takes no rounding modifier");
  refused("cvt.u64.u32 %d32, %a32;", "Register %d32 is .b32");
  refused("cvt.f32.f64 %f, %a;", "loses precision");
}

/// .relu and .satfinite on single halves.
void clampedHalves(FormRun& run) {
  for (const Type& to : {kFloats[0], kFloats[1]})
    for (const auto& [mode, round] : {kModes[0], kModes[1]})
      for (const bool relu : {false, true})
        for (const bool finite : {false, true}) {
          if (!relu && !finite) continue;  // that is the general form
          const ScalarInstruction instruction{
              fmt::format("cvt.{}{}{}.{}.f32", mode, relu ? ".relu" : "", finite ? ".satfinite" : "", to.name), 16, {32}};
          const Lanes a = operandsOf(run, kFloats[2]);
          expectLanes(instruction, runScalar(run, instruction, a), a, {}, {},
                      [&, r = round](uint64_t x, uint64_t, uint64_t) { return expectedNarrow(*to.format, x, r, relu, finite); });
        }
}

}  // namespace

uint64_t narrowed(Format format, uint64_t single, Round round, bool relu, bool saturateFinite) {
  const Unpacked value = unpack(kSingle, single);
  if (value.nan) return nanOf(format);
  if (relu && value.negative) return 0;
  const uint64_t sign = value.negative ? signOf(format) : 0;
  if (value.zero()) return sign;
  const uint64_t rounded = value.infinite ? infinityOf(format) | sign : exactly(value).round(format, round);
  return saturateFinite && (rounded & ~sign) == infinityOf(format) ? rounded - 1 : rounded;
}

FormCases all() {
  FormCases cases = {
      {kCvt, "integers", integers},
      {kCvt, "floats_to_integers", floatsToIntegers},
      {kCvt, "integers_to_floats", integersToFloats},
      {kCvt, "floats_to_floats", floatsToFloats},
      {kCvt, "same_type", sameType},
      {kCvt, "other_operands", otherOperands},
      {kCvt, "faults", faults},
      {"cvt.(rn|rz){.relu}{.satfinite}.(f16|bf16).f32", "clamps", clampedHalves},
  };
  FormCases packed = packedConversionCases();
  std::move(packed.begin(), packed.end(), std::back_inserter(cases));
  return cases;
}

}  // namespace shiftconv::tests::conversion_cases

namespace shiftconv::tests {
uint64_t expectedNarrow(Format format, uint64_t single, Round round, bool relu, bool saturateFinite) {
  return conversion_cases::narrowed(format, single, round, relu, saturateFinite);
}
FormCases conversionCases() { return conversion_cases::all(); }
}  // namespace shiftconv::tests
