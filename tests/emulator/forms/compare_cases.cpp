#include "tests/emulator/forms/compare_cases.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/emulator/forms/float_oracle.hpp"
#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests {
namespace {

constexpr std::string_view kSetp =
    "setp.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan){.(and|or|xor)}{.ftz}"
    ".(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2)";
constexpr std::string_view kSet =
    "set.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan){.(and|or|xor)}{.ftz}.(u32|s32|f32|u16|s16|f16|f16x2|bf16|"
    "bf16x2)"
    ".(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2)";

const std::vector<std::string> kOrdered{"eq", "ne", "lt", "le", "gt", "ge"};

/// -1, 0, 1; 2 when unordered.
int compareInteger(char kind, unsigned bits, uint64_t a, uint64_t b) {
  if (kind == 's') return asSigned(a, bits) < asSigned(b, bits) ? -1 : asSigned(a, bits) > asSigned(b, bits) ? 1 : 0;
  return a < b ? -1 : a > b ? 1 : 0;
}

int compareFloat(Format format, uint64_t a, uint64_t b) {
  if (isNan(format, a) || isNan(format, b)) return 2;
  const auto order = [&](uint64_t x) {
    const auto magnitude = static_cast<int64_t>(x & ~signOf(format));
    return (x & signOf(format)) != 0 ? -magnitude : magnitude;  // -0 equals +0
  };
  return order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0;
}

bool holds(const std::string& operation, int comparison) {
  if (operation == "num") return comparison != 2;
  if (operation == "nan") return comparison == 2;
  if (comparison == 2) return operation.size() == 3;
  const std::string base = operation.substr(0, 2);
  if (base == "eq") return comparison == 0;
  if (base == "ne") return comparison != 0;
  if (base == "lt" || base == "lo") return comparison < 0;
  if (base == "le" || base == "ls") return comparison <= 0;
  if (base == "gt" || base == "hi") return comparison > 0;
  return comparison >= 0;
}

struct Type {
  std::string name;
  unsigned bits;
  const Format* format;  ///< null for integers
};
const std::vector<Type> kTypes{{"b16", 16, nullptr},  {"u16", 16, nullptr},  {"s16", 16, nullptr},  {"b32", 32, nullptr},
                               {"u32", 32, nullptr},  {"s32", 32, nullptr},  {"b64", 64, nullptr},  {"u64", 64, nullptr},
                               {"s64", 64, nullptr},  {"f32", 32, &kSingle}, {"f64", 64, &kDouble}, {"f16", 16, &kHalf},
                               {"bf16", 16, &kBfloat}};

std::vector<std::string> operationsOf(const Type& type) {
  if (type.format != nullptr) return {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  if (type.name[0] == 'b') return {"eq", "ne"};
  if (type.name[0] == 'u') return {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
  return kOrdered;
}

Lanes operandsOf(FormRun& run, const Type& type) {
  return type.format != nullptr ? floatOperands(run, type.format->exponentBits, type.format->fractionBits)
                                : integerOperands(run, type.bits);
}

int compare(const Type& type, uint64_t a, uint64_t b, bool flush = false) {
  if (type.format == nullptr) return compareInteger(type.name[0], type.bits, a, b);
  if (flush) a = flushed(*type.format, a), b = flushed(*type.format, b);
  return compareFloat(*type.format, a, b);
}

void everyComparison(FormRun& run) {
  for (const Type& type : kTypes)
    for (const std::string& operation : operationsOf(type))
      for (const bool flush : {false, true}) {
        if (flush && type.name != "f32" && type.name != "f16") continue;
        const ScalarInstruction instruction{
            fmt::format("setp.{}{}.{}", operation, flush ? ".ftz" : "", type.name), 1, {type.bits, type.bits}};
        for (const unsigned distance : {0u, 1u}) {
          const Lanes a = operandsOf(run, type);
          const Lanes b = rotated(distance == 0 ? a : operandsOf(run, type), distance);
          expectLanes(instruction, runScalar(run, instruction, a, b), a, b, {},
                      [&](uint64_t x, uint64_t y, uint64_t) { return holds(operation, compare(type, x, y, flush)) ? 1 : 0; });
        }
      }
}

/// p|q with every boolean operator, a negated third predicate, and a sink in place of p.
void booleans(FormRun& run) {
  const Lanes a = integerOperands(run, 32);
  const Lanes b = rotated(a, 1);
  const Lanes c = run.randomLanes();
  for (const std::string boolean : {"", "and", "or", "xor"})
    for (const std::string negation : {"", "!"}) {
      if (boolean.empty() && !negation.empty()) continue;
      const std::string third = boolean.empty() ? "" : fmt::format(", {}%k", negation);
      const std::string dot = boolean.empty() ? "" : "." + boolean;
      const Lanes result = run.lanes(fmt::format(R"(
  .reg .pred %p, %q, %k, %s;
  .reg .b32 %t;
  and.b32 %t, %c32, 1;
  setp.ne.b32 %k, %t, 0;
  setp.gt{0}.s32 %p|%q, %a32, %b32{1};
  setp.gt{0}.s32 _|%s, %a32, %b32{1};
  selp.b32 %d32, 1, 0, %p;
  @%q add.u32 %d32, %d32, 2;
  @%s add.u32 %d32, %d32, 4;
  mov.b64 %d, {{%d32, 0}};
)",
                                                 dot, third),
                                     a, b, c);
      for (size_t lane = 0; lane < 32; ++lane) {
        const bool t = asSigned(a[lane], 32) > asSigned(b[lane], 32);
        const bool other = ((c[lane] & 1) != 0) != (negation == "!");
        const auto combine = [&](bool value) {
          return boolean == "and" ? value && other : boolean == "or" ? value || other : boolean == "xor" ? value != other : value;
        };
        EXPECT_EQ(result[lane], (combine(t) ? 1u : 0u) + (combine(!t) ? 6u : 0u)) << "setp.gt" << dot << " lane " << lane;
      }
    }
}

/// Lanes that do not execute keep both predicates.
void maskedPair(FormRun& run) {
  const Lanes a = run.randomLanes();
  const Lanes result = run.lanes(R"(
  .reg .pred %p, %q, %odd;
  .reg .b32 %t;
  setp.ne.u32 %p|%q, %lane, %lane;
  and.b32 %t, %lane, 1;
  setp.ne.b32 %odd, %t, 0;
  @%odd setp.lt.s32 %p|%q, %a32, 0;
  selp.b32 %d32, 1, 0, %p;
  @%q add.u32 %d32, %d32, 2;
  mov.b64 %d, {%d32, 0};
)",
                                 a);
  for (size_t lane = 0; lane < 32; ++lane) {
    const bool p = lane % 2 == 1 && asSigned(a[lane], 32) < 0;
    EXPECT_EQ(result[lane], p ? 1u : 2u) << lane;
  }
}

void packedHalves(FormRun& run) {
  for (const Type& type : {kTypes[11], kTypes[12]})
    for (const std::string& operation : operationsOf(type))
      for (const std::string boolean : {"", "xor"}) {
        const Lanes low = operandsOf(run, type);
        const Lanes high = rotated(operandsOf(run, type), 3);
        Lanes a{};
        Lanes b{};
        for (size_t lane = 0; lane < 32; ++lane) {
          a[lane] = lowBits(low[lane], 16) | lowBits(high[lane], 16) << 16;
          b[lane] = lowBits(low[(lane + 1) % 32], 16) | lowBits(high[(lane + 2) % 32], 16) << 16;
        }
        const Lanes c = run.randomLanes();
        const Lanes result =
            run.lanes(fmt::format(R"(
  .reg .pred %p, %q, %k;
  .reg .b32 %t;
  and.b32 %t, %c32, 1;
  setp.ne.b32 %k, %t, 0;
  setp.{}{}.{}x2 %p|%q, %a32, %b32{};
  selp.b32 %d32, 1, 0, %p;
  @%q add.u32 %d32, %d32, 2;
  mov.b64 %d, {{%d32, 0}};
)",
                                  operation, boolean.empty() ? "" : "." + boolean, type.name, boolean.empty() ? "" : ", %k"),
                      a, b, c);
        for (size_t lane = 0; lane < 32; ++lane) {
          const bool flip = !boolean.empty() && (c[lane] & 1) != 0;
          const bool p = holds(operation, compare(type, lowBits(a[lane], 16), lowBits(b[lane], 16))) != flip;
          const bool q = holds(operation, compare(type, lowBits(a[lane] >> 16, 16), lowBits(b[lane] >> 16, 16))) != flip;
          EXPECT_EQ(result[lane], (p ? 1u : 0u) + (q ? 2u : 0u)) << operation << boolean << " " << type.name << " lane " << lane;
        }
      }
}

void comparisonFaults(FormRun& run) {
  const auto refused = [&](const std::string& instruction, std::string_view part) {
    const std::string message = run.error([&] { run.lanes("  .reg .pred %p;\n  .reg .f32 %f;\n  " + instruction + "\n", {}); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refused("setp.lt.b32 %p, %a32, %b32;", "Bit types can only be compared with eq and ne");
  refused("setp.lo.s32 %p, %a32, %b32;", "compare unsigned integers only");
  refused("setp.equ.u32 %p, %a32, %b32;", "floating-point types only");
  refused("setp.eq.ftz.u32 %p, %a32, %b32;", "'.ftz' applies");
  refused("setp.eq.u32 %p, %a32;", "takes 3 operands, but 2 are given");
  refused("setp.eq.and.u32 %p, %a32, %b32;", "takes 4 operands, but 3 are given");
}

void setValues(FormRun& run) {
  struct Result {
    std::string name;
    unsigned bits;
    uint64_t whenTrue;
  };
  const Result u32{"u32", 32, 0xffffffff}, s32{"s32", 32, 0xffffffff}, f32{"f32", 32, 0x3f800000}, u16{"u16", 16, 0xffff},
      s16{"s16", 16, 0xffff};
  const Result f16{"f16", 16, 0x3c00}, bf16{"bf16", 16, 0x3f80};
  for (const Type& type : kTypes) {
    std::vector<Result> results{u32, s32, f32, f16, bf16};
    if (type.name == "f16") results = {u16, s16, u32, s32, f16};
    if (type.name == "bf16") results = {u16, s16, u32, s32, bf16};
    for (const Result& result : results)
      for (const std::string& operation : operationsOf(type)) {
        const ScalarInstruction instruction{
            fmt::format("set.{}.{}.{}", operation, result.name, type.name), result.bits, {type.bits, type.bits}};
        const Lanes a = operandsOf(run, type);
        const Lanes b = rotated(a, 1);
        expectLanes(instruction, runScalar(run, instruction, a, b), a, b, {},
                    [&](uint64_t x, uint64_t y, uint64_t) { return holds(operation, compare(type, x, y)) ? result.whenTrue : 0; });
      }
  }
  const ScalarInstruction combined{"set.lt.xor.ftz.f32.f32", 32, {32, 32, 1}};
  const Lanes a = operandsOf(run, kTypes[9]);
  const Lanes b = rotated(a, 9);
  const Lanes c = run.randomLanes();
  expectLanes(combined, runScalar(run, combined, a, b, c), a, b, c, [&](uint64_t x, uint64_t y, uint64_t z) {
    return holds("lt", compare(kTypes[9], x, y, true)) != (z != 0) ? 0x3f800000 : 0;
  });
}

void setPacked(FormRun& run) {
  for (const Type& type : {kTypes[11], kTypes[12]})
    for (const auto& [name, whenTrue] : {std::pair{std::string("u32"), uint64_t{0xffff}},
                                         std::pair{type.name + "x2", uint64_t{type.name == "f16" ? 0x3c00u : 0x3f80u}}}) {
      Lanes a = operandsOf(run, type);
      const Lanes high = rotated(operandsOf(run, type), 3);
      for (size_t lane = 0; lane < 32; ++lane) a[lane] = lowBits(a[lane], 16) | high[lane] << 16;
      const Lanes b = rotated(a, 1);
      const ScalarInstruction instruction{fmt::format("set.leu.{}.{}x2", name, type.name), 32, {32, 32}};
      expectLanes(instruction, runScalar(run, instruction, a, b), a, b, {}, [&, w = whenTrue](uint64_t x, uint64_t y, uint64_t) {
        const uint64_t low = holds("leu", compare(type, lowBits(x, 16), lowBits(y, 16))) ? w : 0;
        return low | (holds("leu", compare(type, x >> 16, y >> 16)) ? w : 0) << 16;
      });
    }
}

void selection(FormRun& run) {
  for (const std::string type : {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const auto bits = static_cast<unsigned>(std::stoi(type.substr(1)));
    checkInteger(run, {"selp." + type, bits, {bits, bits, 1}}, [](uint64_t a, uint64_t b, uint64_t c) { return c != 0 ? a : b; });
  }
  const Lanes a = run.randomLanes();
  const Lanes negated = run.lanes("  .reg .pred %p;\n  setp.lt.s64 %p, %a, 0;\n  selp.b64 %d, 7, 9, !%p;\n", a);
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(negated[lane], asSigned(a[lane], 64) < 0 ? 9u : 7u) << lane;
}

void selectionBySign(FormRun& run) {
  for (const std::string type : {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const auto bits = static_cast<unsigned>(std::stoi(type.substr(1)));
    checkInteger(run, {fmt::format("slct.{}.s32", type), bits, {bits, bits, 32}},
                 [](uint64_t a, uint64_t b, uint64_t c) { return asSigned(c, 32) >= 0 ? a : b; });
  }
}

void selectionByFloat(FormRun& run) {
  for (const unsigned bits : {16u, 32u, 64u})
    for (const bool flush : {false, true}) {
      const ScalarInstruction instruction{fmt::format("slct{}.b{}.f32", flush ? ".ftz" : "", bits), bits, {bits, bits, 32}};
      const Lanes a = integerOperands(run, bits);
      const Lanes b = rotated(a, 1);
      const Lanes c = operandsOf(run, kTypes[9]);
      expectLanes(instruction, runScalar(run, instruction, a, b, c), a, b, c, [&](uint64_t x, uint64_t y, uint64_t z) {
        if (flush) z = flushed(kSingle, z);
        const bool negative = (z & 0x80000000) != 0 && (z & 0x7fffffff) != 0;
        return !isNan(kSingle, z) && !negative ? x : y;
      });
    }
}

}  // namespace

FormCases compareCases() {
  return {
      {kSetp, "every_comparison", everyComparison},
      {kSetp, "booleans", booleans},
      {kSetp, "masked_pair", maskedPair},
      {kSetp, "packed_halves", packedHalves},
      {kSetp, "faults", comparisonFaults},
      {kSet, "values", setValues},
      {kSet, "packed", setPacked},
      {"selp.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64)", "values", selection},
      {"slct.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64).s32", "values", selectionBySign},
      {"slct{.ftz}.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64).f32", "values", selectionByFloat},
  };
}

}  // namespace shiftconv::tests
