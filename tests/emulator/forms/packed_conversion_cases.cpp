#include "tests/emulator/forms/packed_conversion_cases.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "tests/emulator/forms/float_oracle.hpp"
#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests {
namespace {

Lanes singles(FormRun& run) { return floatOperands(run, 8, 23); }

void pairsOfHalves(FormRun& run) {
  for (const auto& [name, format] : {std::pair{"f16", kHalf}, std::pair{"bf16", kBfloat}})
    for (const std::string mode : {"rn", "rz"})
      for (const bool relu : {false, true})
        for (const bool finite : {false, true}) {
          const ScalarInstruction instruction{
              fmt::format("cvt.{}{}{}.{}x2.f32", mode, relu ? ".relu" : "", finite ? ".satfinite" : "", name), 32, {32, 32}};
          const Lanes a = singles(run);
          const Lanes b = rotated(singles(run), 5);
          expectLanes(instruction, runScalar(run, instruction, a, b), a, b, {}, [&, f = format](uint64_t x, uint64_t y, uint64_t) {
            return expectedNarrow(f, x, roundOf(mode), relu, finite) << 16 | expectedNarrow(f, y, roundOf(mode), relu, finite);
          });
        }
}

/// .rs: the exact result is the value rounded down or up, decided by adding the random bits below the last place.
void stochastic(FormRun& run) {
  for (const auto& [name, format] : {std::pair{"f16", kHalf}, std::pair{"bf16", kBfloat}}) {
    const ScalarInstruction instruction{fmt::format("cvt.rs.{}x2.f32", name), 32, {32, 32, 32}};
    Lanes a{};
    Lanes b{};
    for (size_t lane = 0; lane < 32; ++lane) {  // normal values of the narrow formats
      a[lane] = (run.random() & 0x807f'ffff) | (uint64_t{120 + run.random() % 16} << 23);
      b[lane] = (run.random() & 0x807f'ffff) | (uint64_t{120 + run.random() % 16} << 23);
    }
    const Lanes c = run.randomLanes();
    const unsigned dropped = 23 - static_cast<unsigned>(format.fractionBits);
    expectLanes(instruction, runScalar(run, instruction, a, b, c), a, b, c,
                [&, f = format](uint64_t x, uint64_t y, uint64_t random) {
                  const auto one = [&](uint64_t value, uint64_t bits) {
                    // The dropped fraction bits plus the random bits carry into the last kept place.
                    const uint64_t carried = (value & 0x7fff'ffff) + lowBits(bits, dropped);
                    const uint64_t truncated = carried >> dropped << dropped;
                    return expectedNarrow(f, truncated | (value & 0x8000'0000), Round::TowardZero, false, false);
                  };
                  return one(x, random >> 16) << 16 | one(y, lowBits(random, 16));
                });
  }
}

/// NaN as an H200 turns it into tf32: .rna, which is made of integer instructions there, just cuts it off (a fraction of zeros is
/// an infinity) and .satfinite takes one unit away; the other modes give one NaN.
uint64_t nanOfTf32(uint64_t bits, bool away, bool finite) {
  if (!away) return 0x7fffe000;
  return (bits >> 13 << 13) - (finite ? uint64_t{1} << 13 : 0);
}

void tf32(FormRun& run) {
  for (const std::string mode : {"rn", "rz", "rna"})
    for (const bool relu : {false, true})
      for (const bool finite : {false, true}) {
        if (mode == "rna" && relu) continue;
        const ScalarInstruction instruction{
            fmt::format("cvt.{}{}{}.tf32.f32", mode, finite ? ".satfinite" : "", relu ? ".relu" : ""), 32, {32}};
        const Lanes a = singles(run);
        expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&](uint64_t x, uint64_t, uint64_t) {
          return isNan(kSingle, x) ? nanOfTf32(x, mode == "rna", finite)
                                   : expectedNarrow(kTf32Format, x, roundOf(mode), relu, finite) << 13;
        });
      }
  const std::string message = run.error([&] { run.lanes("  .reg .f32 %f;\n  cvt.rna.relu.tf32.f32 %d32, %f;\n", {}); });
  EXPECT_NE(message.find("'.rna' cannot be combined with '.relu'"), std::string::npos) << message;
}

/// A narrow format as the list of its values: rounding is a search for the nearest.
struct NarrowFormat {
  std::string name;
  int exponentBits;
  int fractionBits;
  unsigned fieldBits;
  bool hasInfinity;  ///< IEEE-like e5m2
  bool hasNan;

  uint64_t codes() const { return uint64_t{1} << (1 + exponentBits + fractionBits); }
  double value(uint64_t code) const {
    const uint64_t magnitude = code & (codes() / 2 - 1);
    const auto field = static_cast<int>(magnitude >> fractionBits);
    const auto fraction = static_cast<double>(magnitude & ((1u << fractionBits) - 1));
    const int bias = (1 << (exponentBits - 1)) - 1;
    double result = field == 0 ? std::ldexp(fraction, 1 - bias - fractionBits)
                               : std::ldexp(fraction + (1 << fractionBits), field - bias - fractionBits);
    if (hasInfinity && field == (1 << exponentBits) - 1) result = fraction == 0 ? INFINITY : NAN;
    if (hasNan && !hasInfinity && magnitude == codes() / 2 - 1) result = NAN;
    return code != magnitude ? -result : result;
  }
  uint64_t largest() const {
    uint64_t best = 0;
    for (uint64_t code = 0; code < codes() / 2; ++code)
      if (std::isfinite(value(code)) && value(code) > value(best)) best = code;
    return best;
  }
  /// Nearest, ties to the even code; beyond the largest value, the largest.
  uint64_t round(double x, bool relu) const {
    if (std::isnan(x)) return hasNan ? codes() / 2 - 1 : largest();
    if (relu && std::signbit(x)) return 0;
    const double magnitude = std::fabs(x);
    uint64_t best = 0;
    for (uint64_t code = 0; code < codes() / 2; ++code) {
      if (!std::isfinite(value(code))) continue;
      const double distance = std::fabs(value(code) - magnitude);
      const double before = std::fabs(value(best) - magnitude);
      if (distance < before || (distance == before && code % 2 == 0)) best = code;
    }
    if (magnitude > value(largest())) best = largest();
    return best | (std::signbit(x) ? codes() / 2 : 0);
  }
};
const std::vector<NarrowFormat> kNarrow{{"e4m3x2", 4, 3, 8, false, true},
                                        {"e5m2x2", 5, 2, 8, true, true},
                                        {"e2m3x2", 2, 3, 8, false, false},
                                        {"e3m2x2", 3, 2, 8, false, false},
                                        {"e2m1x2", 2, 1, 4, false, false}};

/// Values around those of the format: every code, the middles between neighbours, and a little beside them.
Lanes aroundCodes(FormRun& run, const NarrowFormat& format, int kind) {
  Lanes result{};
  for (uint64_t& lane : result) {
    const uint64_t code = run.random() % format.largest();
    const double low = format.value(code);
    const double high = format.value(code + 1);
    double x = kind == 0 ? low : (low + high) / 2;
    if (kind == 2) x = std::nextafter(static_cast<float>(x), run.random() % 2 == 0 ? 0.0f : 1e9f);
    if (run.random() % 2 == 0) x = -x;
    lane = std::bit_cast<uint32_t>(static_cast<float>(x));
  }
  return result;
}

double asDouble(uint64_t single) { return std::bit_cast<float>(static_cast<uint32_t>(single)); }

double asDoubleHalf(uint64_t bits) {
  const Unpacked value = unpack(kHalf, bits);
  if (value.nan) return NAN;
  const double magnitude = value.infinite ? INFINITY : std::ldexp(static_cast<double>(value.significand), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

void narrowFloats(FormRun& run) {
  for (const NarrowFormat& format : kNarrow)
    for (const bool relu : {false, true}) {
      const unsigned bits = 2 * format.fieldBits;
      const ScalarInstruction instruction{
          fmt::format("cvt.rn.satfinite{}.{}.f32", relu ? ".relu" : "", format.name), bits, {32, 32}};
      for (int kind = 0; kind < 4; ++kind) {
        const Lanes a = kind == 3 ? singles(run) : aroundCodes(run, format, kind);
        const Lanes b = rotated(a, 9);
        expectLanes(instruction, runScalar(run, instruction, a, b), a, b, {}, [&](uint64_t x, uint64_t y, uint64_t) {
          return format.round(asDouble(x), relu) << format.fieldBits | format.round(asDouble(y), relu);
        });
      }
    }
}

void narrowHalves(FormRun& run) {
  for (const NarrowFormat& format : {kNarrow[0], kNarrow[1]})
    for (const bool relu : {false, true}) {
      const ScalarInstruction instruction{fmt::format("cvt.rn.satfinite{}.{}.f16x2", relu ? ".relu" : "", format.name), 16, {32}};
      Lanes a = floatOperands(run, 5, 10);
      const Lanes high = rotated(floatOperands(run, 5, 10), 3);
      for (size_t lane = 0; lane < 32; ++lane) a[lane] = lowBits(a[lane], 16) | high[lane] << 16;
      expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&](uint64_t x, uint64_t, uint64_t) {
        return format.round(asDoubleHalf(x >> 16), relu) << 8 | format.round(asDoubleHalf(lowBits(x, 16)), relu);
      });
    }
}

/// Every code of every format.
void widening(FormRun& run) {
  for (const NarrowFormat& format : kNarrow)
    for (const bool relu : {false, true}) {
      const unsigned bits = 2 * format.fieldBits;
      const ScalarInstruction instruction{fmt::format("cvt.rn{}.f16x2.{}", relu ? ".relu" : "", format.name), 32, {bits}};
      for (uint64_t first = 0; first < format.codes(); first += 32) {
        Lanes a{};
        for (uint64_t lane = 0; lane < 32; ++lane) {
          const uint64_t code = (first + lane) % format.codes();
          a[lane] = code | (format.codes() - 1 - code) << format.fieldBits;
        }
        expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&](uint64_t x, uint64_t, uint64_t) {
          const auto half = [&](uint64_t code) {
            const double value = format.value(code & (format.codes() - 1));
            if (std::isnan(value)) return uint64_t{0x7fff};
            if (relu && std::signbit(value)) return uint64_t{0};
            const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
            if (value == 0 || std::isinf(value)) return sign | (value == 0 ? 0 : 0x7c00);
            ExactReal exact;
            exact.add(unpack(kDouble, std::bit_cast<uint64_t>(value)));
            return exact.round(kHalf, Round::NearestEven);
          };
          return half(x >> format.fieldBits) << 16 | half(lowBits(x, format.fieldBits));
        });
      }
    }
}

/// ue8m0 code e stands for 2^(e-127); the sign is ignored.
uint64_t scaleOf(double x, bool up, bool finite) {
  if (std::isnan(x)) return 0xff;
  const double magnitude = std::fabs(x);
  if (std::isinf(magnitude)) return finite ? 0xfe : 0xff;
  for (uint64_t code = 0; code <= 0xfe; ++code) {
    const double value = std::ldexp(1.0, static_cast<int>(code) - 127);
    if (up ? value >= magnitude : 2 * value > magnitude) return code;
  }
  return finite ? 0xfe : 0xff;
}

void scales(FormRun& run) {
  for (const std::string mode : {"rz", "rp"})
    for (const bool finite : {false, true}) {
      const std::string prefix = fmt::format("cvt.{}{}.ue8m0x2", mode, finite ? ".satfinite" : "");
      const ScalarInstruction fromFloats{prefix + ".f32", 16, {32, 32}};
      const Lanes a = singles(run);
      const Lanes b = rotated(singles(run), 4);
      expectLanes(fromFloats, runScalar(run, fromFloats, a, b), a, b, {}, [&](uint64_t x, uint64_t y, uint64_t) {
        return scaleOf(asDouble(x), mode == "rp", finite) << 8 | scaleOf(asDouble(y), mode == "rp", finite);
      });
      const ScalarInstruction fromHalves{prefix + ".bf16x2", 16, {32}};
      Lanes pairs = floatOperands(run, 8, 7);
      for (size_t lane = 0; lane < 32; ++lane) pairs[lane] = lowBits(pairs[lane], 16) | a[lane] >> 16 << 16;
      expectLanes(fromHalves, runScalar(run, fromHalves, pairs), pairs, {}, {}, [&](uint64_t x, uint64_t, uint64_t) {
        return scaleOf(asDouble(x & 0xffff0000), mode == "rp", finite) << 8 |
               scaleOf(asDouble(lowBits(x, 16) << 16), mode == "rp", finite);
      });
    }
}

void halvesOfScales(FormRun& run) {
  const ScalarInstruction instruction{"cvt.rn.bf16x2.ue8m0x2", 32, {16}};
  for (uint64_t first = 0; first < 256; first += 32) {
    Lanes a{};
    for (uint64_t lane = 0; lane < 32; ++lane) a[lane] = (first + lane) | (255 - first - lane) << 8;
    expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [](uint64_t x, uint64_t, uint64_t) {
      const auto half = [](uint64_t code) {
        if (code == 255) return uint64_t{0x7fff};
        ExactReal power;
        power.add(false, 1, static_cast<int>(code) - 127);
        return power.round(kBfloat, Round::NearestEven);
      };
      return half(x >> 8) << 16 | half(lowBits(x, 8));
    });
  }
}

void packIntegers(FormRun& run, const std::vector<std::string>& types, bool third) {
  for (const std::string& type : types) {
    const auto bits = static_cast<unsigned>(std::stoi(type.substr(1)));
    const bool isSigned = type[0] == 's';
    ScalarInstruction instruction{fmt::format("cvt.pack.sat.{}.s32{}", type, third ? ".b32" : ""), 32, {32, 32}};
    if (third) instruction.sourceBits.push_back(32);
    checkInteger(run, instruction, [&](uint64_t a, uint64_t b, uint64_t c) {
      const int64_t high = (int64_t{1} << (isSigned ? bits - 1 : bits)) - 1;
      const int64_t low = isSigned ? -high - 1 : 0;
      const auto clamped = [&](uint64_t x) {
        return lowBits(static_cast<uint64_t>(std::min(std::max(asSigned(x, 32), low), high)), bits);
      };
      return (third ? c << (2 * bits) : 0) | clamped(a) << bits | clamped(b);
    });
  }
}

}  // namespace

FormCases packedConversionCases() {
  return {
      {"cvt.(rn|rz|rs){.relu}{.satfinite}.(f16x2|bf16x2).f32", "every_modifier", pairsOfHalves},
      {"cvt.(rn|rz|rs){.relu}{.satfinite}.(f16x2|bf16x2).f32", "stochastic", stochastic},
      {"cvt.(rn|rz|rna){.satfinite}{.relu}.tf32.f32", "every_modifier", tf32},
      {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2).f32", "values", narrowFloats},
      {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2).f16x2", "values", narrowHalves},
      {"cvt.rn{.relu}.f16x2.(e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2)", "every_code", widening},
      {"cvt.(rz|rp){.satfinite}.ue8m0x2.(f32|bf16x2)", "values", scales},
      {"cvt.rn.bf16x2.ue8m0x2", "every_code", halvesOfScales},
      {"cvt.pack.sat.(u16|s16).s32", "values",
       [](FormRun& run) {
         packIntegers(run, {"u16", "s16"}, false);
       }},
      {"cvt.pack.sat.(u2|s2|u4|s4|u8|s8).s32.b32", "values",
       [](FormRun& run) {
         packIntegers(run, {"u2", "s2", "u4", "s4", "u8", "s8"}, true);
       }},
  };
}

}  // namespace shiftconv::tests
