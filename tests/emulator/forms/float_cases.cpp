// Single, double and mixed precision against exact arithmetic; approximations against their documented bounds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "tests/emulator/forms/float_oracle.hpp"
#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests::float_cases {
namespace {

using Expected = std::function<uint64_t(const FloatRules&, uint64_t, uint64_t, uint64_t)>;

unsigned bitsOf(Format format) { return static_cast<unsigned>(1 + format.exponentBits + format.fractionBits); }
Lanes floats(FormRun& run, Format format) { return floatOperands(run, format.exponentBits, format.fractionBits); }

/// Compares as floats: bit for bit, but any f64 NaN is as good as another.
void expectFloats(const ScalarInstruction& instruction, const Lanes& result, const Lanes& a, const Lanes& b, const Lanes& c,
                  const FloatRules& rules, const Expected& expected) {
  Lanes same = result;
  for (size_t lane = 0; lane < same.size(); ++lane) {
    const auto source = [&](const Lanes& lanes, size_t i) {
      return i < instruction.sourceBits.size() ? lowBits(lanes[lane], instruction.sourceBits[i]) : 0;
    };
    const uint64_t want = expected(rules, source(a, 0), source(b, 1), source(c, 2));
    if (sameFloat(rules.format, want, result[lane])) same[lane] = want;
  }
  expectLanes(instruction, same, a, b, c, [&](uint64_t x, uint64_t y, uint64_t z) { return expected(rules, x, y, z); });
}

void check(FormRun& run, const ScalarInstruction& instruction, const std::vector<Format>& sources, const FloatRules& rules,
           const Expected& expected) {
  for (const unsigned distance : {0u, 1u, 4u, 11u}) {
    Lanes lanes[3]{};
    for (size_t i = 0; i < sources.size(); ++i)
      lanes[i] = rotated(floats(run, sources[i]), distance * static_cast<unsigned>(i * i));
    expectFloats(instruction, runScalar(run, instruction, lanes[0], lanes[1], lanes[2]), lanes[0], lanes[1], lanes[2], rules,
                 expected);
  }
}

const std::vector<std::string> kModes{"rn", "rz", "rm", "rp"};

struct Shape {
  Format format = kSingle;
  unsigned sources = 2;
  bool plainToo = false;  ///< the rounding modifier may be absent
  bool ftz = false;
  bool sat = false;
};

/// Every combination of rounding mode, .ftz and .sat of an operation.
FormCase everyModifier(std::string_view form, std::string opcode, std::string type, Shape shape, Expected expected) {
  return {form, "every_modifier", [=](FormRun& run) {
            std::vector<std::string> modes = kModes;
            if (shape.plainToo) modes.emplace_back();
            for (const std::string& mode : modes)
              for (const bool flush : {false, true})
                for (const bool saturate : {false, true}) {
                  if ((flush && !shape.ftz) || (saturate && !shape.sat)) continue;
                  const std::string text = fmt::format("{}{}{}{}{}.{}", opcode, mode.empty() ? "" : ".", mode, flush ? ".ftz" : "",
                                                       saturate ? ".sat" : "", type);
                  const FloatRules rules{shape.format, roundOf(mode), flush, saturate};
                  check(run, {text, bitsOf(shape.format), std::vector<unsigned>(shape.sources, bitsOf(shape.format))},
                        std::vector<Format>(shape.sources, shape.format), rules, expected);
                }
          }};
}

/// f32x2: both halves of 64-bit registers, as two single operations.
FormCase pairs(std::string_view form, std::string opcode, unsigned sources, bool plainToo, Expected expected) {
  return {form, "both_halves", [=](FormRun& run) {
            std::vector<std::string> modes = kModes;
            if (plainToo) modes.emplace_back();
            for (const std::string& mode : modes)
              for (const bool flush : {false, true}) {
                const ScalarInstruction instruction{
                    fmt::format("{}{}{}{}.f32x2", opcode, mode.empty() ? "" : ".", mode, flush ? ".ftz" : ""), 64,
                    std::vector<unsigned>(sources, 64)};
                Lanes lanes[3];
                for (unsigned i = 0; i < 3; ++i) {
                  const Lanes low = rotated(floats(run, kSingle), 3 * i);
                  const Lanes high = rotated(floats(run, kSingle), 5 * i + 1);
                  for (size_t lane = 0; lane < 32; ++lane) lanes[i][lane] = lowBits(low[lane], 32) | high[lane] << 32;
                }
                const FloatRules rules{kSingle, roundOf(mode), flush};
                const Lanes result = runScalar(run, instruction, lanes[0], lanes[1], lanes[2]);
                expectLanes(instruction, result, lanes[0], lanes[1], lanes[2], [&](uint64_t a, uint64_t b, uint64_t c) {
                  return expected(rules, lowBits(a, 32), lowBits(b, 32), lowBits(c, 32)) |
                         expected(rules, a >> 32, b >> 32, c >> 32) << 32;
                });
              }
          }};
}

/// add.f32.f16 and friends: the first source is half.
FormCase mixedSum(std::string_view form, std::string opcode, bool subtract) {
  return {form, "every_modifier", [=](FormRun& run) {
            for (const auto& [name, half] : {std::pair{"f16", kHalf}, std::pair{"bf16", kBfloat}})
              for (const std::string& mode : kModes)
                for (const bool saturate : {false, true}) {
                  const FloatRules rules{kSingle, roundOf(mode), false, saturate};
                  check(run, {fmt::format("{}.{}{}.f32.{}", opcode, mode, saturate ? ".sat" : "", name), 32, {16, 32}},
                        {half, kSingle}, rules, [&, h = half](const FloatRules& r, uint64_t a, uint64_t b, uint64_t) {
                          return expectedSum(r, a, b, subtract, h);
                        });
                }
          }};
}

void mixedFma(FormRun& run) {
  for (const auto& [name, half] : {std::pair{"f16", kHalf}, std::pair{"bf16", kBfloat}})
    for (const std::string& mode : kModes)
      for (const bool saturate : {false, true})
        check(run, {fmt::format("fma.{}{}.f32.{}", mode, saturate ? ".sat" : "", name), 32, {16, 16, 32}}, {half, half, kSingle},
              {kSingle, roundOf(mode), false, saturate},
              [&, h = half](const FloatRules& r, uint64_t a, uint64_t b, uint64_t c) { return expectedFma(r, a, b, c, h); });
}

uint64_t sum(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t) { return expectedSum(rules, a, b, false, rules.format); }
uint64_t difference(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t) {
  return expectedSum(rules, a, b, true, rules.format);
}
uint64_t product(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t) { return expectedProduct(rules, a, b); }
uint64_t fused(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t c) { return expectedFma(rules, a, b, c, rules.format); }
uint64_t quotient(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t) { return expectedQuotient(rules, a, b); }
uint64_t root(const FloatRules& rules, uint64_t a, uint64_t, uint64_t) { return expectedRoot(rules, a); }
uint64_t inverse(const FloatRules& rules, uint64_t a, uint64_t, uint64_t) {
  return expectedQuotient(rules, rules.format == kSingle ? 0x3f800000 : 0x3ff0000000000000, a);
}

/// neg, abs: only the sign bit of a number changes. A NaN becomes the canonical one in f32, and in f64 quiet with its sign kept
/// (observed on an H200; the PTX ISA says "NaN").
FormCase signForm(std::string_view form, std::string opcode, bool single, bool negates) {
  return {form, "values", [=](FormRun& run) {
            const Format format = single ? kSingle : kDouble;
            for (const bool flush : {false, true}) {
              if (flush && !single) continue;
              const Lanes a = floats(run, format);
              const ScalarInstruction instruction{
                  fmt::format("{}{}.{}", opcode, flush ? ".ftz" : "", single ? "f32" : "f64"), bitsOf(format), {bitsOf(format)}};
              expectLanes(instruction, runScalar(run, instruction, a), a, {}, {}, [&](uint64_t x, uint64_t, uint64_t) {
                if (isNan(format, x)) return single ? nanOf(format) : x | 0x0008'0000'0000'0000u;
                if (flush) x = flushed(format, x);
                return negates ? x ^ signOf(format) : x & ~signOf(format);
              });
            }
          }};
}

void copySign(FormRun& run) {
  for (const Format format : {kSingle, kDouble}) {
    const Lanes a = floats(run, format);
    const Lanes b = rotated(floats(run, format), 7);
    const ScalarInstruction instruction{
        format == kSingle ? "copysign.f32" : "copysign.f64", bitsOf(format), {bitsOf(format), bitsOf(format)}};
    expectLanes(instruction, runScalar(run, instruction, a, b), a, b, {},
                [&](uint64_t x, uint64_t y, uint64_t) { return (y & ~signOf(format)) | (x & signOf(format)); });
  }
}

/// min and max of two: numbers ordered with -0 below +0.
uint64_t extreme(const FloatRules& rules, bool maximum, bool nanWins, uint64_t a, uint64_t b) {
  const bool aNan = isNan(rules.format, a);
  const bool bNan = isNan(rules.format, b);
  if (nanWins ? aNan || bNan : aNan && bNan) return nanOf(rules.format);
  if (aNan || bNan) return aNan ? b : a;
  // Sign and magnitude as an integer, -0 just below +0.
  const auto order = [&](uint64_t x) {
    const auto magnitude = static_cast<__int128_t>(x & ~signOf(rules.format));
    return (x & signOf(rules.format)) != 0 ? -magnitude - 1 : magnitude;
  };
  return (order(a) < order(b)) != maximum ? a : b;
}

FormCase extremes(std::string_view form, bool maximum) {
  return {form, "every_modifier", [=](FormRun& run) {
            const std::string opcode = maximum ? "max" : "min";
            for (const bool flush : {false, true})
              for (const bool nanWins : {false, true}) {
                const FloatRules rules{kSingle, Round::NearestEven, flush};
                const auto in = [&](uint64_t x) { return flush ? flushed(kSingle, x) : x; };
                const std::string prefix = fmt::format("{}{}{}", opcode, flush ? ".ftz" : "", nanWins ? ".NaN" : "");
                check(run, {prefix + ".f32", 32, {32, 32}}, {kSingle, kSingle}, rules,
                      [&](const FloatRules& r, uint64_t a, uint64_t b, uint64_t) {
                        return finish(r, extreme(r, maximum, nanWins, in(a), in(b)));
                      });
                check(run, {prefix + ".xorsign.abs.f32", 32, {32, 32}}, {kSingle, kSingle}, rules,
                      [&](const FloatRules& r, uint64_t a, uint64_t b, uint64_t) {
                        const uint64_t magnitude = extreme(r, maximum, nanWins, in(a)&0x7fffffff, in(b)&0x7fffffff);
                        return finish(r, isNan(kSingle, magnitude) ? magnitude : magnitude | ((in(a) ^ in(b)) & 0x80000000));
                      });
                check(run, {prefix + ".f32", 32, {32, 32, 32}}, {kSingle, kSingle, kSingle}, rules,
                      [&](const FloatRules& r, uint64_t a, uint64_t b, uint64_t c) {
                        return finish(r, extreme(r, maximum, nanWins, extreme(r, maximum, nanWins, in(a), in(b)), in(c)));
                      });
                check(run, {prefix + ".abs.f32", 32, {32, 32, 32}}, {kSingle, kSingle, kSingle}, rules,
                      [&](const FloatRules& r, uint64_t a, uint64_t b, uint64_t c) {
                        const auto magnitude = [&](uint64_t x) { return in(x)&0x7fffffff; };
                        return finish(r, extreme(r, maximum, nanWins, extreme(r, maximum, nanWins, magnitude(a), magnitude(b)),
                                                 magnitude(c)));
                      });
              }
          }};
}

FormCase extremes64(std::string_view form, bool maximum) {
  return {form, "values", [=](FormRun& run) {
            check(run, {maximum ? "max.f64" : "min.f64", 64, {64, 64}}, {kDouble, kDouble}, {kDouble},
                  [&](const FloatRules& r, uint64_t a, uint64_t b, uint64_t) { return extreme(r, maximum, false, a, b); });
          }};
}

/// Approximations: within `relative` of the exact value (computed in f64), or `absolute` where that is documented.
struct Bound {
  double relative = 0;
  double absolute = 0;
};

FormCase approximation(
    std::string_view form, std::string opcode, bool ftz, Bound bound, std::function<double(double)> exact,
    std::function<bool(double)> inDomain = [](double) { return true; }) {
  return {form, "within_its_bound", [=](FormRun& run) {
            for (const bool flush : {false, true}) {
              if (flush && !ftz) continue;
              const ScalarInstruction instruction{fmt::format("{}{}.f32", opcode, flush ? ".ftz" : ""), 32, {32}};
              for (int round = 0; round < 3; ++round) {
                const Lanes a = floats(run, kSingle);
                const Lanes result = runScalar(run, instruction, a);
                for (size_t lane = 0; lane < 32; ++lane) {
                  const auto bits = static_cast<uint32_t>(a[lane]);
                  const double x = std::bit_cast<float>(flush ? static_cast<uint32_t>(flushed(kSingle, bits)) : bits);
                  if (!inDomain(x)) continue;
                  const double want = exact(x);
                  const double got = std::bit_cast<float>(static_cast<uint32_t>(result[lane]));
                  const double rounded = static_cast<float>(want);
                  if (std::isnan(want)) {
                    EXPECT_EQ(result[lane], nanOf(kSingle)) << instruction.text << " of " << x;
                  } else if (std::isinf(rounded) || rounded == 0 || std::fabs(rounded) < 0x1p-126) {
                    if (flush && std::fabs(rounded) < 0x1p-126)
                      EXPECT_EQ(got, 0.0) << instruction.text << " of " << x;
                    else
                      EXPECT_EQ(got, rounded) << instruction.text << " of " << x;
                  } else {
                    EXPECT_LE(std::fabs(got - want), bound.absolute + bound.relative * std::fabs(want))
                        << instruction.text << " of " << x;
                  }
                }
              }
            }
          }};
}

/// Known points of the transcendental functions, so that a wrong function cannot hide behind its own oracle.
FormCase points(std::string_view form, std::string text, std::vector<std::pair<float, float>> table) {
  return {form, "known_points", [=](FormRun& run) {
            Lanes a{};
            for (size_t lane = 0; lane < 32; ++lane) a[lane] = std::bit_cast<uint32_t>(table[lane % table.size()].first);
            const Lanes result = runScalar(run, {text, 32, {32}}, a);
            for (size_t lane = 0; lane < 32; ++lane) {
              const auto& [x, y] = table[lane % table.size()];
              EXPECT_NEAR(std::bit_cast<float>(static_cast<uint32_t>(result[lane])), y, 1e-6 + 1e-6 * std::fabs(y))
                  << text << " of " << x;
            }
          }};
}

/// div.approx and div.full: 2 ulp for |b| in [2^-126, 2^126]; beyond, div.approx gives 0 or NaN.
FormCase approximateQuotient(std::string_view form, std::string opcode, bool smallDivisorsOnly) {
  return {form, "within_its_bound", [=](FormRun& run) {
            for (const bool flush : {false, true}) {
              const ScalarInstruction instruction{fmt::format("{}{}.f32", opcode, flush ? ".ftz" : ""), 32, {32, 32}};
              for (const unsigned distance : {0u, 1u, 6u}) {
                const Lanes a = floats(run, kSingle);
                const Lanes b = rotated(floats(run, kSingle), distance);
                const Lanes result = runScalar(run, instruction, a, b);
                for (size_t lane = 0; lane < 32; ++lane) {
                  const uint64_t x = lowBits(a[lane], 32);
                  const uint64_t y = lowBits(b[lane], 32);
                  const uint64_t magnitude = y & 0x7fffffff;
                  const uint64_t limit = uint64_t{127 + 126} << 23;
                  const std::string what = fmt::format("{} of 0x{:x} and 0x{:x}", instruction.text, x, y);
                  if (smallDivisorsOnly && magnitude > limit && magnitude < 0x7f800000) {
                    const uint64_t top = x & 0x7fffffff;
                    if (top >= 0x7f800000)
                      EXPECT_EQ(result[lane], nanOf(kSingle)) << what;
                    else
                      EXPECT_EQ(result[lane] & 0x7fffffff, 0u) << what;
                    continue;
                  }
                  const uint64_t want = expectedQuotient({kSingle, Round::NearestEven, flush}, x, y);
                  if (isNan(kSingle, want))
                    EXPECT_EQ(result[lane], want) << what;
                  else
                    EXPECT_LE(std::max(result[lane], want) - std::min(result[lane], want), 2u) << what;
                }
              }
            }
          }};
}

/// The f64 approximations: relative error of the double, or of its upper word (2^-20 and a bit), subnormals flushed. Those of the
/// upper word do not see the lower one, even where it alone tells a NaN from an infinity (observed on an H200).
FormCase approximation64(std::string_view form, std::string text, double relative, bool flush,
                         std::function<double(double)> exact) {
  return {form, "within_its_bound", [=](FormRun& run) {
            for (int round = 0; round < 3; ++round) {
              const Lanes a = floats(run, kDouble);
              const Lanes result = runScalar(run, {text, 64, {64}}, a);
              for (size_t lane = 0; lane < 32; ++lane) {
                const bool infinite = flush && (a[lane] >> 32 << 32 & ~signOf(kDouble)) == infinityOf(kDouble);
                const uint64_t seen = infinite ? a[lane] >> 32 << 32 : flush ? flushed(kDouble, a[lane]) : a[lane];
                const auto x = std::bit_cast<double>(seen);
                const double want = exact(x);
                const double got = std::bit_cast<double>(result[lane]);
                if (std::isnan(want)) {
                  EXPECT_TRUE(std::isnan(got)) << text << " of " << x;
                } else if (std::isinf(want) || want == 0) {
                  EXPECT_EQ(got, want) << text << " of " << x;
                } else if (flush && std::fabs(want) < 0x1p-1022) {
                  EXPECT_EQ(got, 0.0) << text << " of " << x;
                } else {
                  EXPECT_LE(std::fabs(got - want), relative * std::fabs(want)) << text << " of " << x;
                }
                if (flush) {
                  EXPECT_EQ(result[lane] & 0xffffffff, 0u) << text << " has a low word";
                }
              }
            }
          }};
}

void properties(FormRun& run) {
  const auto holds = [](std::string_view property, Format format, uint64_t bits) {
    const Unpacked value = unpack(format, bits);
    const bool subnormal = (bits & infinityOf(format)) == 0 && value.significand != 0;
    if (property == "finite") return !value.nan && !value.infinite;
    if (property == "infinite") return value.infinite;
    if (property == "number") return !value.nan;
    if (property == "notanumber") return value.nan;
    if (property == "normal") return !value.nan && !value.infinite && !subnormal;  // zero counts as normal
    return subnormal;
  };
  for (const std::string property : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
    for (const Format format : {kSingle, kDouble}) {
      const Lanes a = floats(run, format);
      const ScalarInstruction instruction{
          fmt::format("testp.{}.{}", property, format == kSingle ? "f32" : "f64"), 1, {bitsOf(format)}};
      expectLanes(instruction, runScalar(run, instruction, a), a, {}, {},
                  [&](uint64_t x, uint64_t, uint64_t) { return holds(property, format, x) ? 1 : 0; });
    }
}

bool nearZero(double x) { return std::fabs(x) <= 3.14159265; }

}  // namespace

FormCases all() {
  const Shape two{kSingle, 2, true, true, true};
  const Shape two64{kDouble, 2, true};
  const Shape three{kSingle, 3, false, true, true};
  const Shape three64{kDouble, 3};
  return {
      everyModifier("add{.(rn|rz|rm|rp)}{.ftz}{.sat}.f32", "add", "f32", two, sum),
      pairs("add{.(rn|rz|rm|rp)}{.ftz}.f32x2", "add", 2, true, sum),
      everyModifier("add{.(rn|rz|rm|rp)}.f64", "add", "f64", two64, sum),
      mixedSum("add{.(rn|rz|rm|rp)}{.sat}.f32.(f16|bf16)", "add", false),
      everyModifier("sub{.(rn|rz|rm|rp)}{.ftz}{.sat}.f32", "sub", "f32", two, difference),
      pairs("sub{.(rn|rz|rm|rp)}{.ftz}.f32x2", "sub", 2, true, difference),
      everyModifier("sub{.(rn|rz|rm|rp)}.f64", "sub", "f64", two64, difference),
      mixedSum("sub{.(rn|rz|rm|rp)}{.sat}.f32.(f16|bf16)", "sub", true),
      everyModifier("mul{.(rn|rz|rm|rp)}{.ftz}{.sat}.f32", "mul", "f32", two, product),
      pairs("mul{.(rn|rz|rm|rp)}{.ftz}.f32x2", "mul", 2, true, product),
      everyModifier("mul{.(rn|rz|rm|rp)}.f64", "mul", "f64", two64, product),
      everyModifier("fma.(rn|rz|rm|rp){.ftz}{.sat}.f32", "fma", "f32", three, fused),
      pairs("fma.(rn|rz|rm|rp){.ftz}.f32x2", "fma", 3, false, fused),
      everyModifier("fma.(rn|rz|rm|rp).f64", "fma", "f64", three64, fused),
      {"fma.(rn|rz|rm|rp){.sat}.f32.(f16|bf16)", "every_modifier", mixedFma},
      everyModifier("mad.(rn|rz|rm|rp){.ftz}{.sat}.f32", "mad", "f32", three, fused),
      everyModifier("mad.(rn|rz|rm|rp).f64", "mad", "f64", three64, fused),
      approximateQuotient("div.approx{.ftz}.f32", "div.approx", true),
      approximateQuotient("div.full{.ftz}.f32", "div.full", false),
      everyModifier("div.(rn|rz|rm|rp){.ftz}.f32", "div", "f32", {kSingle, 2, false, true}, quotient),
      everyModifier("div.(rn|rz|rm|rp).f64", "div", "f64", {kDouble, 2}, quotient),
      signForm("abs{.ftz}.f32", "abs", true, false),
      signForm("abs.f64", "abs", false, false),
      signForm("neg{.ftz}.f32", "neg", true, true),
      signForm("neg.f64", "neg", false, true),
      {"copysign.(f32|f64)", "values", copySign},
      extremes("min{.ftz}{.NaN}{.xorsign}{.abs}.f32", false),
      extremes64("min.f64", false),
      extremes("max{.ftz}{.NaN}{.xorsign}{.abs}.f32", true),
      extremes64("max.f64", true),
      approximation("rcp.approx{.ftz}.f32", "rcp.approx", true, {0x1p-23}, [](double x) { return 1 / x; }),
      everyModifier("rcp.(rn|rz|rm|rp){.ftz}.f32", "rcp", "f32", {kSingle, 1, false, true}, inverse),
      everyModifier("rcp.(rn|rz|rm|rp).f64", "rcp", "f64", {kDouble, 1}, inverse),
      approximation64("rcp.approx.ftz.f64", "rcp.approx.ftz.f64", 0x1p-18, true, [](double x) { return 1 / x; }),
      approximation("sqrt.approx{.ftz}.f32", "sqrt.approx", true, {0x1p-23}, [](double x) { return std::sqrt(x); }),
      everyModifier("sqrt.(rn|rz|rm|rp){.ftz}.f32", "sqrt", "f32", {kSingle, 1, false, true}, root),
      everyModifier("sqrt.(rn|rz|rm|rp).f64", "sqrt", "f64", {kDouble, 1}, root),
      approximation("rsqrt.approx{.ftz}.f32", "rsqrt.approx", true, {0x1p-22}, [](double x) { return 1 / std::sqrt(x); }),
      approximation64("rsqrt.approx.f64", "rsqrt.approx.f64", 0x1p-22, false, [](double x) { return 1 / std::sqrt(x); }),
      approximation64("rsqrt.approx.ftz.f64", "rsqrt.approx.ftz.f64", 0x1p-18, true, [](double x) { return 1 / std::sqrt(x); }),
      approximation(
          "sin.approx{.ftz}.f32", "sin.approx", true, {0, 0x1p-20}, [](double x) { return std::sin(x); }, nearZero),
      points("sin.approx{.ftz}.f32", "sin.approx.f32", {{0.5235988f, 0.5f}, {1.5707964f, 1.0f}, {-1.5707964f, -1.0f}}),
      approximation(
          "cos.approx{.ftz}.f32", "cos.approx", true, {0, 0x1p-20}, [](double x) { return std::cos(x); }, nearZero),
      points("cos.approx{.ftz}.f32", "cos.approx.f32", {{0.0f, 1.0f}, {1.0471976f, 0.5f}, {3.1415927f, -1.0f}}),
      approximation("lg2.approx{.ftz}.f32", "lg2.approx", true, {0x1p-22, 0x1p-22}, [](double x) { return std::log2(x); }),
      points("lg2.approx{.ftz}.f32", "lg2.approx.f32", {{8.0f, 3.0f}, {0.25f, -2.0f}, {1.0f, 0.0f}}),
      approximation("ex2.approx{.ftz}.f32", "ex2.approx", true, {0x1p-22}, [](double x) { return std::exp2(x); }),
      points("ex2.approx{.ftz}.f32", "ex2.approx.f32", {{3.0f, 8.0f}, {-1.0f, 0.5f}, {0.5f, 1.4142135f}}),
      approximation("tanh.approx.f32", "tanh.approx", false, {0x1p-11}, [](double x) { return std::tanh(x); }),
      points("tanh.approx.f32", "tanh.approx.f32", {{0.0f, 0.0f}, {0.54930615f, 0.5f}, {-20.0f, -1.0f}}),
      {"testp.(finite|infinite|number|notanumber|normal|subnormal).(f32|f64)", "properties", properties},
  };
}

}  // namespace shiftconv::tests::float_cases

namespace shiftconv::tests {
FormCases floatCases() { return float_cases::all(); }
}  // namespace shiftconv::tests
