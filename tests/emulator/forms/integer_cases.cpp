// Integer arithmetic against plain 128-bit formulas. Carries: carry_cases.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Unsigned128;
using Formula = std::function<Wide(Wide, Wide, Wide)>;

struct IntegerType {
  std::string name;
  unsigned bits;
  bool isSigned;
  Wide value(uint64_t raw) const { return isSigned ? Wide{asSigned(raw, bits)} : Wide{lowBits(raw, bits)}; }
  Wide minimum() const { return isSigned ? -(Wide{1} << (bits - 1)) : 0; }
  Wide maximum() const { return (Wide{1} << (isSigned ? bits - 1 : bits)) - 1; }
};
const IntegerType kU16{"u16", 16, false}, kU32{"u32", 32, false}, kU64{"u64", 64, false};
const IntegerType kS16{"s16", 16, true}, kS32{"s32", 32, true}, kS64{"s64", 64, true};
const std::vector<IntegerType> kAll{kU16, kU32, kU64, kS16, kS32, kS64};
const std::vector<IntegerType> kSigned{kS16, kS32, kS64};
const std::vector<IntegerType> kWide{kU32, kS32, kU64, kS64};

/// One form with every type: `sources` operands of the instruction type, result of the same type.
FormCase uniform(std::string_view form, std::string opcode, const std::vector<IntegerType>& types, unsigned sources,
                 Formula formula) {
  return {form, "values", [=](FormRun& run) {
            for (const IntegerType& type : types) {
              ScalarInstruction instruction{opcode + "." + type.name, type.bits, std::vector<unsigned>(sources, type.bits)};
              checkInteger(run, instruction, [&](uint64_t a, uint64_t b, uint64_t c) {
                return static_cast<uint64_t>(formula(type.value(a), type.value(b), type.value(c)));
              });
            }
          }};
}

/// Formulas that need the width of the type.
FormCase byType(std::string_view form, std::string name, std::string opcode, const std::vector<IntegerType>& types,
                unsigned sources, std::function<Wide(const IntegerType&, Wide, Wide, Wide)> formula) {
  return {form, std::move(name), [=](FormRun& run) {
            for (const IntegerType& type : types) {
              ScalarInstruction instruction{opcode + "." + type.name, type.bits, std::vector<unsigned>(sources, type.bits)};
              checkInteger(run, instruction, [&](uint64_t a, uint64_t b, uint64_t c) {
                return static_cast<uint64_t>(formula(type, type.value(a), type.value(b), type.value(c)));
              });
            }
          }};
}

/// Both 16-bit halves by themselves.
uint64_t halves(const IntegerType& type, uint64_t a, uint64_t b, const Formula& formula) {
  const auto half = [&](unsigned shift) {
    return lowBits(static_cast<uint64_t>(formula(type.value(a >> shift), type.value(b >> shift), 0)), 16);
  };
  return half(0) | half(16) << 16;
}

FormCase packed(std::string_view form, std::string opcode, Formula formula) {
  return {form, "values", [=](FormRun& run) {
            for (const IntegerType& type : {kU16, kS16})
              checkInteger(run, {opcode + "." + type.name + "x2", 32, {32, 32}},
                           [&](uint64_t a, uint64_t b, uint64_t) { return halves(type, a, b, formula); });
          }};
}

FormCase relu(std::string_view form, std::string opcode, Formula formula) {
  return {form, "values", [=](FormRun& run) {
            const Formula clamped = [&](Wide a, Wide b, Wide c) { return std::max(formula(a, b, c), Wide{0}); };
            checkInteger(run, {opcode + ".s32", 32, {32, 32}}, [&](uint64_t a, uint64_t b, uint64_t) {
              return static_cast<uint64_t>(clamped(kS32.value(a), kS32.value(b), 0));
            });
            checkInteger(run, {opcode + ".s16x2", 32, {32, 32}},
                         [&](uint64_t a, uint64_t b, uint64_t) { return halves(kS16, a, b, clamped); });
          }};
}

Wide saturate32(Wide value) { return std::clamp(value, kS32.minimum(), kS32.maximum()); }

FormCase saturating(std::string_view form, std::string opcode, unsigned sources, Formula formula) {
  return uniform(form, std::move(opcode), {kS32}, sources, [=](Wide a, Wide b, Wide c) { return saturate32(formula(a, b, c)); });
}

void multiplyHalves(FormRun& run) {
  for (const IntegerType& type : kAll)
    for (const bool high : {false, true})
      checkInteger(run, {fmt::format("mul.{}.{}", high ? "hi" : "lo", type.name), type.bits, {type.bits, type.bits}},
                   [&](uint64_t a, uint64_t b, uint64_t) {
                     // Unsigned 64-bit products need all 128 bits, so multiply as unsigned and shift as the type says.
                     const auto product = static_cast<Unsigned128>(type.value(a)) * static_cast<Unsigned128>(type.value(b));
                     const auto shifted =
                         type.isSigned ? static_cast<Unsigned128>(static_cast<Wide>(product) >> type.bits) : product >> type.bits;
                     return static_cast<uint64_t>(high ? shifted : product);
                   });
}

void multiplyAddHalves(FormRun& run) {
  for (const IntegerType& type : kAll)
    for (const bool high : {false, true})
      checkInteger(run, {fmt::format("mad.{}.{}", high ? "hi" : "lo", type.name), type.bits, {type.bits, type.bits, type.bits}},
                   [&](uint64_t a, uint64_t b, uint64_t c) {
                     const auto product = static_cast<Unsigned128>(type.value(a)) * static_cast<Unsigned128>(type.value(b));
                     const auto shifted =
                         type.isSigned ? static_cast<Unsigned128>(static_cast<Wide>(product) >> type.bits) : product >> type.bits;
                     return static_cast<uint64_t>(high ? shifted : product) + c;
                   });
}

void wideProducts(FormRun& run) {
  for (const IntegerType& type : {kU16, kS16, kU32, kS32})
    checkInteger(run, {"mul.wide." + type.name, 2 * type.bits, {type.bits, type.bits}},
                 [&](uint64_t a, uint64_t b, uint64_t) { return static_cast<uint64_t>(type.value(a) * type.value(b)); });
}

void wideSums(FormRun& run) {
  for (const IntegerType& type : {kU16, kS16, kU32, kS32})
    checkInteger(run, {"mad.wide." + type.name, 2 * type.bits, {type.bits, type.bits, 2 * type.bits}},
                 [&](uint64_t a, uint64_t b, uint64_t c) { return static_cast<uint64_t>(type.value(a) * type.value(b)) + c; });
}

/// Product of the low 24 bits of both operands.
Wide product24(const IntegerType& type, uint64_t a, uint64_t b) {
  const auto low = [&](uint64_t value) { return type.isSigned ? Wide{asSigned(value, 24)} : Wide{lowBits(value, 24)}; };
  return low(a) * low(b);
}

void multiply24(FormRun& run) {
  for (const IntegerType& type : {kU32, kS32}) {
    checkInteger(run, {"mul24.lo." + type.name, 32, {32, 32}},
                 [&](uint64_t a, uint64_t b, uint64_t) { return static_cast<uint64_t>(product24(type, a, b)); });
    checkInteger(run, {"mul24.hi." + type.name, 32, {32, 32}},
                 [&](uint64_t a, uint64_t b, uint64_t) { return static_cast<uint64_t>(product24(type, a, b) >> 16); });
  }
}

void multiplyAdd24(FormRun& run) {
  for (const IntegerType& type : {kU32, kS32}) {
    checkInteger(run, {"mad24.lo." + type.name, 32, {32, 32, 32}},
                 [&](uint64_t a, uint64_t b, uint64_t c) { return static_cast<uint64_t>(product24(type, a, b)) + c; });
    checkInteger(run, {"mad24.hi." + type.name, 32, {32, 32, 32}},
                 [&](uint64_t a, uint64_t b, uint64_t c) { return static_cast<uint64_t>(product24(type, a, b) >> 16) + c; });
  }
}

void multiplyAdd24Saturating(FormRun& run) {
  checkInteger(run, {"mad24.hi.sat.s32", 32, {32, 32, 32}}, [](uint64_t a, uint64_t b, uint64_t c) {
    const Wide high = asSigned(static_cast<uint64_t>(product24(kS32, a, b) >> 16), 32);
    return static_cast<uint64_t>(saturate32(high + kS32.value(c)));
  });
}

/// popc and clz, bit by bit.
FormCase counting(std::string_view form, std::string opcode, std::function<uint64_t(uint64_t, unsigned)> count) {
  return {form, "values", [=](FormRun& run) {
            for (const unsigned bits : {32u, 64u})
              checkInteger(run, {fmt::format("{}.b{}", opcode, bits), 32, {bits}},
                           [&](uint64_t a, uint64_t, uint64_t) { return count(a, bits); });
          }};
}

void findBits(FormRun& run) {
  for (const IntegerType& type : kWide)
    for (const bool shiftAmount : {false, true})
      checkInteger(run, {fmt::format("bfind{}.{}", shiftAmount ? ".shiftamt" : "", type.name), 32, {type.bits}},
                   [&](uint64_t a, uint64_t, uint64_t) {
                     const bool negative = type.isSigned && (a >> (type.bits - 1) & 1) != 0;
                     for (unsigned bit = type.bits; bit-- > 0;)
                       if (((a >> bit & 1) != 0) != negative) return uint64_t{shiftAmount ? type.bits - 1 - bit : bit};
                     return uint64_t{0xffff'ffff};
                   });
}

void nthSet(FormRun& run) {
  const ScalarInstruction instruction{"fns.b32", 32, {32, 32, 32}};
  Lanes mask = integerOperands(run, 32), base{}, offset{};
  mask[0] = 0xaaaaaaaa, mask[1] = 0xaaaaaaaa, mask[2] = 0xaaaaaaaa, mask[3] = 0xaaaaaaaa;
  for (size_t lane = 0; lane < 32; ++lane) {
    base[lane] = run.random() % 32;
    offset[lane] = lowBits(static_cast<uint64_t>(static_cast<int64_t>(run.random() % 13) - 6), 32);
  }
  // The four examples of PTX ISA 9.0, 9.7.1.
  base[0] = 3, base[1] = 3, base[2] = 2, base[3] = 2;
  offset[0] = 1, offset[1] = 0xffffffff, offset[2] = 1, offset[3] = 0xffffffff;
  const Lanes result = runScalar(run, instruction, mask, base, offset);
  EXPECT_EQ(result[0], 3u);
  EXPECT_EQ(result[1], 3u);
  EXPECT_EQ(result[2], 3u);
  EXPECT_EQ(result[3], 1u);
  expectLanes(instruction, result, mask, base, offset, [](uint64_t m, uint64_t from, uint64_t n) {
    const int64_t count = asSigned(n, 32);
    std::vector<uint64_t> found;
    if (count >= 0) {
      for (uint64_t i = from; i < 32; ++i)
        if ((m >> i & 1) != 0) found.push_back(i);
    } else {
      for (uint64_t i = from + 1; i-- > 0;)
        if ((m >> i & 1) != 0) found.push_back(i);
    }
    if (count == 0) return (m >> from & 1) != 0 ? from : 0xffffffff;
    const auto index = static_cast<size_t>(std::abs(count)) - 1;
    return index < found.size() ? found[index] : 0xffffffff;
  });
}

void reversal(FormRun& run) {
  for (const unsigned bits : {32u, 64u})
    checkInteger(run, {fmt::format("brev.b{}", bits), bits, {bits}}, [&](uint64_t a, uint64_t, uint64_t) {
      uint64_t result = 0;
      for (unsigned i = 0; i < bits; ++i)
        if ((a >> i & 1) != 0) result += uint64_t{1} << (bits - 1 - i);
      return result;
    });
}

void extraction(FormRun& run) {
  for (const IntegerType& type : kWide)
    checkInteger(run, {"bfe." + type.name, type.bits, {type.bits, 32, 32}}, [&](uint64_t a, uint64_t b, uint64_t c) {
      const uint64_t position = b & 255;
      const uint64_t length = c & 255;
      if (length == 0) return uint64_t{0};
      const bool sign = type.isSigned && (a >> std::min<uint64_t>(position + length - 1, type.bits - 1) & 1) != 0;
      uint64_t result = 0;
      for (unsigned i = 0; i < type.bits; ++i) {
        const bool inside = i < length && position + i < type.bits;
        if (inside ? (a >> (position + i) & 1) != 0 : sign) result |= uint64_t{1} << i;
      }
      return result;
    });
}

void insertion(FormRun& run) {
  // Four sources: position and length come packed in the third operand's register halves.
  for (const unsigned bits : {32u, 64u}) {
    for (const auto& [position, length] : std::vector<std::pair<unsigned, unsigned>>{
             {0, 8}, {5, 11}, {28, 9}, {31, 1}, {40, 30}, {0, 0}, {7, 64}, {255, 3}, {3, 255}}) {
      const std::string trailing = fmt::format(", {}, {}", position, length);
      checkInteger(run, {fmt::format("bfi.b{}", bits), bits, {bits, bits}, trailing},
                   [&, p = position, l = length](uint64_t a, uint64_t b, uint64_t) {
                     for (unsigned i = 0; i < l && p + i < bits; ++i) b = (b & ~(uint64_t{1} << (p + i))) | (a >> i & 1) << (p + i);
                     return b;
                   });
    }
  }
}

void extension(FormRun& run) {
  for (const IntegerType& type : {kU32, kS32})
    for (const bool wrap : {false, true})
      checkInteger(run, {fmt::format("szext.{}.{}", wrap ? "wrap" : "clamp", type.name), 32, {32, 32}},
                   [&](uint64_t a, uint64_t b, uint64_t) {
                     const uint64_t n = wrap ? b % 32 : std::min<uint64_t>(b, 32);
                     if (n == 0) return uint64_t{0};
                     const auto bits = static_cast<unsigned>(n);
                     return type.isSigned ? static_cast<uint64_t>(asSigned(a, bits)) : lowBits(a, bits);
                   });
}

void masks(FormRun& run) {
  for (const bool wrap : {false, true})
    checkInteger(run, {fmt::format("bmsk.{}.b32", wrap ? "wrap" : "clamp"), 32, {32, 32}}, [&](uint64_t a, uint64_t b, uint64_t) {
      const uint64_t from = wrap ? a % 32 : std::min<uint64_t>(a, 32);
      const uint64_t width = wrap ? b % 32 : std::min<uint64_t>(b, 32);
      uint64_t result = 0;
      for (uint64_t i = from; i < from + width && i < 32; ++i) result |= uint64_t{1} << i;
      return result;
    });
}

void dotOfBytes(FormRun& run) {
  for (const IntegerType& x : {kU32, kS32})
    for (const IntegerType& y : {kU32, kS32})
      checkInteger(run, {fmt::format("dp4a.{}.{}", x.name, y.name), 32, {32, 32, 32}}, [&](uint64_t a, uint64_t b, uint64_t c) {
        int64_t sum = asSigned(c, 32);
        for (unsigned i = 0; i < 4; ++i) {
          const int64_t p = x.isSigned ? asSigned(a >> (8 * i), 8) : static_cast<int64_t>(lowBits(a >> (8 * i), 8));
          const int64_t q = y.isSigned ? asSigned(b >> (8 * i), 8) : static_cast<int64_t>(lowBits(b >> (8 * i), 8));
          sum += p * q;
        }
        return static_cast<uint64_t>(sum);
      });
}

/// vabsdiff2 and vabsdiff4 with and without .add.
FormCase laneDifferences(std::string_view form, unsigned bits) {
  return {form, "values", [=](FormRun& run) {
            for (const IntegerType& type : {kU32, kS32})
              for (const bool add : {false, true}) {
                const ScalarInstruction instruction{
                    fmt::format("vabsdiff{0}.{1}.{1}.{1}{2}", 32 / bits, type.name, add ? ".add" : ""), 32, {32, 32, 32}};
                checkInteger(run, instruction, [&](uint64_t a, uint64_t b, uint64_t c) {
                  uint64_t packed = 0;
                  for (unsigned shift = 0; shift < 32; shift += bits) {
                    const auto lane = [&](uint64_t x) {
                      return type.isSigned ? asSigned(x >> shift, bits) : static_cast<int64_t>(lowBits(x >> shift, bits));
                    };
                    const auto difference = static_cast<uint64_t>(std::abs(lane(a) - lane(b)));
                    packed |= lowBits(difference, bits) << shift;
                    c += difference;
                  }
                  return add ? c : packed;
                });
              }
          }};
}

void dotOfHalves(FormRun& run) {
  for (const bool high : {false, true})
    for (const IntegerType& x : {kU32, kS32})
      for (const IntegerType& y : {kU32, kS32})
        checkInteger(run, {fmt::format("dp2a.{}.{}.{}", high ? "hi" : "lo", x.name, y.name), 32, {32, 32, 32}},
                     [&](uint64_t a, uint64_t b, uint64_t c) {
                       int64_t sum = asSigned(c, 32);
                       for (unsigned i = 0; i < 2; ++i) {
                         const uint64_t byte = b >> (8 * i + (high ? 16 : 0));
                         const int64_t p =
                             x.isSigned ? asSigned(a >> (16 * i), 16) : static_cast<int64_t>(lowBits(a >> (16 * i), 16));
                         sum += p * (y.isSigned ? asSigned(byte, 8) : static_cast<int64_t>(lowBits(byte, 8)));
                       }
                       return static_cast<uint64_t>(sum);
                     });
}

Wide quotient(const IntegerType& type, Wide a, Wide b) { return b == 0 ? Wide{-1} : b == -1 && type.isSigned ? -a : a / b; }
Wide rest(const IntegerType& type, Wide a, Wide b) { return b == 0 ? a : b == -1 && type.isSigned ? 0 : a % b; }

}  // namespace

FormCases integerCases() {
  const Formula sum = [](Wide a, Wide b, Wide) { return a + b; };
  const Formula difference = [](Wide a, Wide b, Wide) { return a - b; };
  const Formula smaller = [](Wide a, Wide b, Wide) { return std::min(a, b); };
  const Formula larger = [](Wide a, Wide b, Wide) { return std::max(a, b); };
  return {
      uniform("add.(u16|u32|u64|s16|s32|s64)", "add", kAll, 2, sum),
      saturating("add.sat.s32", "add.sat", 2, sum),
      packed("add.(u16x2|s16x2)", "add", sum),
      uniform("sub.(u16|u32|u64|s16|s32|s64)", "sub", kAll, 2, difference),
      saturating("sub.sat.s32", "sub.sat", 2, difference),
      {"mul.(lo|hi).(u16|u32|u64|s16|s32|s64)", "values", multiplyHalves},
      {"mul.wide.(u16|u32|s16|s32)", "values", wideProducts},
      {"mad.(lo|hi).(u16|u32|u64|s16|s32|s64)", "values", multiplyAddHalves},
      {"mad.wide.(u16|u32|s16|s32)", "values", wideSums},
      saturating("mad.hi.sat.s32", "mad.hi.sat", 3, [](Wide a, Wide b, Wide c) { return ((a * b) >> 32) + c; }),
      {"mul24.(lo|hi).(u32|s32)", "values", multiply24},
      {"mad24.(lo|hi).(u32|s32)", "values", multiplyAdd24},
      {"mad24.hi.sat.s32", "values", multiplyAdd24Saturating},
      uniform("sad.(u16|u32|u64|s16|s32|s64)", "sad", kAll, 3, [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); }),
      byType("div.(u16|u32|u64|s16|s32|s64)", "values", "div", kAll, 2,
             [](const IntegerType& t, Wide a, Wide b, Wide) { return quotient(t, a, b); }),
      byType("rem.(u16|u32|u64|s16|s32|s64)", "values", "rem", kAll, 2,
             [](const IntegerType& t, Wide a, Wide b, Wide) { return rest(t, a, b); }),
      uniform("abs.(s16|s32|s64)", "abs", kSigned, 1, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; }),
      uniform("neg.(s16|s32|s64)", "neg", kSigned, 1, [](Wide a, Wide, Wide) { return -a; }),
      uniform("min.(u16|u32|u64|s16|s32|s64)", "min", kAll, 2, smaller),
      packed("min.(u16x2|s16x2)", "min", smaller),
      relu("min.relu.(s16x2|s32)", "min.relu", smaller),
      uniform("max.(u16|u32|u64|s16|s32|s64)", "max", kAll, 2, larger),
      packed("max.(u16x2|s16x2)", "max", larger),
      relu("max.relu.(s16x2|s32)", "max.relu", larger),
      counting("popc.(b32|b64)", "popc",
               [](uint64_t a, unsigned) {
                 uint64_t count = 0;
                 for (; a != 0; a &= a - 1) ++count;
                 return count;
               }),
      counting("clz.(b32|b64)", "clz",
               [](uint64_t a, unsigned bits) {
                 uint64_t count = 0;
                 while (count < bits && (a >> (bits - 1 - count) & 1) == 0) ++count;
                 return count;
               }),
      {"bfind{.shiftamt}.(u32|u64|s32|s64)", "values", findBits},
      {"fns.b32", "values", nthSet},
      {"brev.(b32|b64)", "values", reversal},
      {"bfe.(u32|u64|s32|s64)", "values", extraction},
      {"bfi.(b32|b64)", "values", insertion},
      {"szext.(clamp|wrap).(u32|s32)", "values", extension},
      {"bmsk.(clamp|wrap).b32", "values", masks},
      laneDifferences("vabsdiff2.(u32|s32).(u32|s32).(u32|s32){.add}", 16),
      laneDifferences("vabsdiff4.(u32|s32).(u32|s32).(u32|s32){.add}", 8),
      {"dp4a.(u32|s32).(u32|s32)", "values", dotOfBytes},
      {"dp2a.(lo|hi).(u32|s32).(u32|s32)", "values", dotOfHalves},
  };
}

}  // namespace shiftconv::tests
