// f16 and bf16, single and packed, against exact arithmetic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "tests/emulator/forms/float_oracle.hpp"
#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests {
namespace {

using Expected = std::function<uint64_t(const FloatRules&, uint64_t, uint64_t, uint64_t)>;

Lanes halves(FormRun& run, Format format) { return floatOperands(run, format.exponentBits, format.fractionBits); }
std::string nameOf(Format format) { return format == kHalf ? "f16" : "bf16"; }

/// One instruction on single values and on pairs; `prefix` is everything in front of the type.
void checkBoth(FormRun& run, const std::string& prefix, unsigned sources, const FloatRules& rules, const Expected& expected) {
  const Format format = rules.format;
  for (const unsigned distance : {0u, 1u, 4u, 9u}) {
    Lanes low[3];
    Lanes pairs[3];
    for (unsigned i = 0; i < 3; ++i) {
      low[i] = rotated(halves(run, format), distance * i * i);
      const Lanes high = rotated(halves(run, format), 3 * distance * i + 1);
      for (size_t lane = 0; lane < 32; ++lane) pairs[i][lane] = lowBits(low[i][lane], 16) | lowBits(high[lane], 16) << 16;
    }
    const ScalarInstruction single{fmt::format("{}.{}", prefix, nameOf(format)), 16, std::vector<unsigned>(sources, 16)};
    expectLanes(single, runScalar(run, single, low[0], low[1], low[2]), low[0], low[1], low[2],
                [&](uint64_t a, uint64_t b, uint64_t c) { return expected(rules, a, b, c); });
    const ScalarInstruction packed{fmt::format("{}.{}x2", prefix, nameOf(format)), 32, std::vector<unsigned>(sources, 32)};
    expectLanes(packed, runScalar(run, packed, pairs[0], pairs[1], pairs[2]), pairs[0], pairs[1], pairs[2],
                [&](uint64_t a, uint64_t b, uint64_t c) {
                  return expected(rules, lowBits(a, 16), lowBits(b, 16), lowBits(c, 16)) |
                         expected(rules, a >> 16, b >> 16, c >> 16) << 16;
                });
  }
}

/// Modifiers to try: .ftz and a clamp are for f16 only.
FormCase everyModifier(std::string_view form, std::string opcode, Format format, unsigned sources, std::vector<std::string> clamps,
                       bool nameless, Expected expected) {
  return {form, "every_modifier", [=](FormRun& run) {
            for (const std::string mode : {".rn", ""})
              for (const bool flush : {false, true})
                for (const std::string& clamp : clamps) {
                  if ((mode.empty() && !nameless) || (flush && format != kHalf)) continue;
                  const FloatRules rules{format, Round::NearestEven, flush, clamp == ".sat", clamp == ".relu"};
                  checkBoth(run, fmt::format("{}{}{}{}", opcode, mode, flush ? ".ftz" : "", clamp), sources, rules, expected);
                }
          }};
}

uint64_t sum(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t) { return expectedSum(rules, a, b, false, rules.format); }
uint64_t difference(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t) {
  return expectedSum(rules, a, b, true, rules.format);
}
uint64_t product(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t) { return expectedProduct(rules, a, b); }
uint64_t fused(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t c) { return expectedFma(rules, a, b, c, rules.format); }

/// Products that lie exactly between two values of the format, plus an addend anywhere below: it must break the tie
/// however small it is. A sum that is rounded on the way loses it.
void fusedNearTies(FormRun& run) {
  for (const Format format : {kHalf, kBfloat}) {
    Lanes a{};
    Lanes b{};
    Lanes c{};
    const ScalarInstruction instruction{fmt::format("fma.rn.{}", nameOf(format)), 16, {16, 16, 16}};
    for (int round = 0; round < 20; ++round) {
      for (size_t lane = 0; lane < 32; ++lane) {
        const uint64_t fraction = (uint64_t{1} << format.fractionBits) - 1;
        const uint64_t one = ((uint64_t{1} << (format.exponentBits - 1)) - 1) << format.fractionBits;
        // (1 + k / 2^f) * 1.5 with odd k ends with half a unit of the last place while it stays below 2.
        a[lane] = one | (run.random() & (fraction >> 2)) | 1;
        b[lane] = one | (fraction + 1) / 2;
        const uint64_t field = 1 + run.random() % (one >> format.fractionBits);
        c[lane] = (field << format.fractionBits) | (run.random() % 2 == 0 ? 0 : run.random() & fraction) |
                  (run.random() & signOf(format));
      }
      expectLanes(instruction, runScalar(run, instruction, a, b, c), a, b, c,
                  [&](uint64_t x, uint64_t y, uint64_t z) { return expectedFma({format}, x, y, z, format); });
    }
  }
}

/// fma.oob gives +0 when a factor is the NaN with which tensor copies fill (0x7FF7 or 0xFFF7, observed on an H200), and is fma
/// otherwise.
void fusedInBounds(FormRun& run) {
  for (const Format format : {kHalf, kBfloat})
    for (const bool relu : {false, true}) {
      const FloatRules rules{.format = format, .relu = relu};
      Lanes a = halves(run, format), b = rotated(halves(run, format), 3);
      const Lanes c = rotated(halves(run, format), 7);
      for (size_t lane = 0; lane < 32; lane += 5) a[lane] = 0x7ff7;
      for (size_t lane = 1; lane < 32; lane += 6) b[lane] = 0x7ff7;
      a[3] = 0xfff7, b[4] = 0x7ff6;  // the second is another NaN
      const ScalarInstruction instruction{fmt::format("fma.rn.oob{}.{}", relu ? ".relu" : "", nameOf(format)), 16, {16, 16, 16}};
      const auto expected = [&](uint64_t x, uint64_t y, uint64_t z) {
        return (x & 0x7fff) == 0x7ff7 || (y & 0x7fff) == 0x7ff7 ? 0 : expectedFma(rules, x, y, z, format);
      };
      expectLanes(instruction, runScalar(run, instruction, a, b, c), a, b, c, expected);
      Lanes wide[3] = {a, b, c};
      for (Lanes& lanes : wide) {
        const Lanes high = rotated(lanes, 1);
        for (size_t lane = 0; lane < 32; ++lane) lanes[lane] = lowBits(lanes[lane], 16) | lowBits(high[lane], 16) << 16;
      }
      const ScalarInstruction packed{fmt::format("fma.rn.oob{}.{}x2", relu ? ".relu" : "", nameOf(format)), 32, {32, 32, 32}};
      expectLanes(packed, runScalar(run, packed, wide[0], wide[1], wide[2]), wide[0], wide[1], wide[2],
                  [&](uint64_t x, uint64_t y, uint64_t z) {
                    return expected(lowBits(x, 16), lowBits(y, 16), lowBits(z, 16)) | expected(x >> 16, y >> 16, z >> 16) << 16;
                  });
    }
}

/// neg and abs change the sign bit of a number and nothing else, except that .ftz flushes; NaNs become canonical (observed on an
/// H200).
FormCase signForm(std::string_view form, std::string opcode, Format format, bool negates) {
  return {form, "values", [=](FormRun& run) {
            for (const bool flush : {false, true}) {
              if (flush && format != kHalf) continue;
              checkBoth(run, opcode + (flush ? ".ftz" : ""), 1, {format}, [&](const FloatRules&, uint64_t a, uint64_t, uint64_t) {
                if (isNan(format, a)) return uint64_t{0x7fff};
                if (flush) a = flushed(format, a);
                return negates ? a ^ 0x8000 : a & 0x7fff;
              });
            }
          }};
}

FormCase extremes(std::string_view form, Format format, bool maximum) {
  return {form, "every_modifier", [=](FormRun& run) {
            for (const bool flush : {false, true})
              for (const bool nanWins : {false, true})
                for (const bool xorSign : {false, true}) {
                  if (flush && format != kHalf) continue;
                  const std::string prefix = fmt::format("{}{}{}{}", maximum ? "max" : "min", flush ? ".ftz" : "",
                                                         nanWins ? ".NaN" : "", xorSign ? ".xorsign.abs" : "");
                  checkBoth(run, prefix, 2, {format}, [&](const FloatRules&, uint64_t a, uint64_t b, uint64_t) {
                    if (flush) a = flushed(format, a), b = flushed(format, b);
                    const uint64_t sign = xorSign ? (a ^ b) & 0x8000 : 0;
                    if (xorSign) a &= 0x7fff, b &= 0x7fff;
                    const bool aNan = isNan(format, a);
                    const bool bNan = isNan(format, b);
                    if (nanWins ? aNan || bNan : aNan && bNan) return uint64_t{0x7fff};
                    if (aNan || bNan) return (aNan ? b : a) | sign;
                    const auto order = [](uint64_t x) {
                      return (x & 0x8000) != 0 ? -static_cast<int64_t>(x & 0x7fff) - 1 : static_cast<int64_t>(x);
                    };
                    return ((order(a) < order(b)) != maximum ? a : b) | sign;
                  });
                }
          }};
}

double valueOf(Format format, uint64_t bits) {
  const Unpacked value = unpack(format, bits);
  if (value.nan) return NAN;
  const double magnitude = value.infinite ? INFINITY : std::ldexp(static_cast<double>(value.significand), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

/// Within a relative bound, or the neighbouring subnormal; NaN and limits exactly.
FormCase approximation(std::string_view form, std::string opcode, std::vector<Format> formats, double (*exact)(double),
                       std::vector<double> bounds) {
  return {
      form, "within_its_bound_" + std::string(formats.size() == 2 ? "both" : nameOf(formats[0])), [=](FormRun& run) {
        for (size_t i = 0; i < formats.size(); ++i) {
          const Format format = formats[i];
          const bool flush = opcode.find(".ftz") != std::string::npos;
          for (const bool packed : {false, true}) {
            Lanes a = halves(run, format);
            const Lanes high = rotated(halves(run, format), 5);
            if (packed)
              for (size_t lane = 0; lane < 32; ++lane) a[lane] = lowBits(a[lane], 16) | lowBits(high[lane], 16) << 16;
            const unsigned bits = packed ? 32 : 16;
            const ScalarInstruction instruction{fmt::format("{}.{}{}", opcode, nameOf(format), packed ? "x2" : ""), bits, {bits}};
            const Lanes result = runScalar(run, instruction, a);
            for (size_t lane = 0; lane < 32; ++lane)
              for (unsigned shift = 0; shift < bits; shift += 16) {
                const uint64_t x = lowBits(a[lane] >> shift, 16);
                const uint64_t y = lowBits(result[lane] >> shift, 16);
                const double want = exact(valueOf(format, flush ? flushed(format, x) : x));
                const double got = valueOf(format, y);
                const double smallest = std::ldexp(1.0, 2 - (1 << (format.exponentBits - 1)));
                const double step = std::ldexp(smallest, -format.fractionBits);
                if (std::isnan(want)) {
                  EXPECT_EQ(y, 0x7fffu) << instruction.text << " of " << valueOf(format, x);
                } else if (std::isinf(got)) {
                  EXPECT_GT(std::fabs(want), valueOf(format, infinityOf(format) - 1))
                      << instruction.text << " of " << valueOf(format, x);
                } else if (flush && want < smallest) {
                  EXPECT_EQ(got, 0.0) << instruction.text << " of " << valueOf(format, x);
                } else {
                  EXPECT_LE(std::fabs(got - want), std::max(step, bounds[i] * std::fabs(want)))
                      << instruction.text << " of " << valueOf(format, x);
                }
              }
          }
        }
      }};
}

}  // namespace

FormCases halfCases() {
  const std::vector<std::string> none{""};
  const std::vector<std::string> unit{"", ".sat"};
  return {
      everyModifier("add{.rn}{.ftz}{.sat}.(f16|f16x2)", "add", kHalf, 2, unit, true, sum),
      everyModifier("add{.rn}.(bf16|bf16x2)", "add", kBfloat, 2, none, true, sum),
      everyModifier("sub{.rn}{.ftz}{.sat}.(f16|f16x2)", "sub", kHalf, 2, unit, true, difference),
      everyModifier("sub{.rn}.(bf16|bf16x2)", "sub", kBfloat, 2, none, true, difference),
      everyModifier("mul{.rn}{.ftz}{.sat}.(f16|f16x2)", "mul", kHalf, 2, unit, true, product),
      everyModifier("mul{.rn}.(bf16|bf16x2)", "mul", kBfloat, 2, none, true, product),
      everyModifier("fma.rn{.ftz}{.(sat|relu)}.(f16|f16x2)", "fma", kHalf, 3, {"", ".sat", ".relu"}, false, fused),
      everyModifier("fma.rn{.relu}.(bf16|bf16x2)", "fma", kBfloat, 3, {"", ".relu"}, false, fused),
      {"fma.rn{.relu}.(bf16|bf16x2)", "near_ties", fusedNearTies},
      {"fma.rn.oob{.relu}.(f16|f16x2|bf16|bf16x2)", "fill_values", fusedInBounds},
      signForm("neg{.ftz}.(f16|f16x2)", "neg", kHalf, true),
      signForm("neg.(bf16|bf16x2)", "neg", kBfloat, true),
      signForm("abs{.ftz}.(f16|f16x2)", "abs", kHalf, false),
      signForm("abs.(bf16|bf16x2)", "abs", kBfloat, false),
      extremes("min{.ftz}{.NaN}{.xorsign}{.abs}.(f16|f16x2)", kHalf, false),
      extremes("min{.NaN}{.xorsign}{.abs}.(bf16|bf16x2)", kBfloat, false),
      extremes("max{.ftz}{.NaN}{.xorsign}{.abs}.(f16|f16x2)", kHalf, true),
      extremes("max{.NaN}{.xorsign}{.abs}.(bf16|bf16x2)", kBfloat, true),
      approximation("tanh.approx.(f16|f16x2|bf16|bf16x2)", "tanh.approx", {kHalf, kBfloat}, [](double x) { return std::tanh(x); },
                    {0x1p-10, 0x1p-8}),
      approximation("ex2.approx.(f16|f16x2)", "ex2.approx", {kHalf}, [](double x) { return std::exp2(x); }, {0x1p-9}),
      approximation("ex2.approx.ftz.(bf16|bf16x2)", "ex2.approx.ftz", {kBfloat}, [](double x) { return std::exp2(x); }, {0x1p-7}),
  };
}

}  // namespace shiftconv::tests
