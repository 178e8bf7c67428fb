// Logic, shifts, permutes and moves. Comparisons are in compare_cases.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "tests/emulator/forms/compare_cases.hpp"
#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests::logic_cases {
namespace {

using Formula = std::function<uint64_t(uint64_t, uint64_t)>;

/// Predicates are one-bit numbers: the same formula serves all widths.
FormCase bitwise(std::string_view form, std::string opcode, unsigned sources, Formula formula) {
  return {form, "every_width", [=](FormRun& run) {
            for (const unsigned bits : {1u, 16u, 32u, 64u}) {
              const std::string type = bits == 1 ? "pred" : fmt::format("b{}", bits);
              checkInteger(run, {opcode + "." + type, bits, std::vector<unsigned>(sources, bits)},
                           [&](uint64_t a, uint64_t b, uint64_t) { return formula(a, b); });
            }
          }};
}

/// `!p` as a source of a predicate operation.
void negatedPredicates(FormRun& run) {
  const Lanes a = run.randomLanes();
  const Lanes b = run.randomLanes();
  const Lanes result = run.lanes(R"(
  .reg .pred %p, %q, %r;
  .reg .b32 %t;
  and.b32 %t, %a32, 1;
  setp.ne.b32 %p, %t, 0;
  and.b32 %t, %b32, 1;
  setp.ne.b32 %q, %t, 0;
  and.pred %r, %p, !%q;
  selp.b32 %d32, 1, 0, %r;
  and.pred %r, %p, 1;
  @%r add.u32 %d32, %d32, 2;
  and.pred %r, !%p, !%q;
  @!%r add.u32 %d32, %d32, 4;
  mov.b64 %d, {%d32, 0};
)",
                                 a, b);
  for (size_t lane = 0; lane < 32; ++lane) {
    const bool p = (a[lane] & 1) != 0;
    const bool q = (b[lane] & 1) != 0;
    EXPECT_EQ(result[lane], (p && !q ? 1u : 0u) + (p ? 2u : 0u) + (p || q ? 4u : 0u)) << lane;
  }
}

void logicalNot(FormRun& run) {
  for (const unsigned bits : {16u, 32u, 64u})
    checkInteger(run, {fmt::format("cnot.b{}", bits), bits, {bits}}, [](uint64_t a, uint64_t, uint64_t) { return a == 0 ? 1 : 0; });
}

void shiftLeft(FormRun& run) {
  for (const unsigned bits : {16u, 32u, 64u})
    checkInteger(run, {fmt::format("shl.b{}", bits), bits, {bits, 32}},
                 [&](uint64_t a, uint64_t b, uint64_t) { return b >= bits ? 0 : a << b; });
}

void shiftRight(FormRun& run) {
  for (const unsigned bits : {16u, 32u, 64u})
    for (const char kind : {'b', 'u', 's'})
      checkInteger(run, {fmt::format("shr.{}{}", kind, bits), bits, {bits, 32}}, [&](uint64_t a, uint64_t b, uint64_t) {
        const bool sign = kind == 's' && (a >> (bits - 1) & 1) != 0;
        uint64_t result = 0;
        for (uint64_t i = 0; i < bits; ++i)
          if (i + b < bits ? (a >> (i + b) & 1) != 0 : sign) result |= uint64_t{1} << i;
        return result;
      });
}

void funnelShift(FormRun& run) {
  for (const bool left : {true, false})
    for (const bool wrap : {true, false})
      checkInteger(run, {fmt::format("shf.{}.{}.b32", left ? "l" : "r", wrap ? "wrap" : "clamp"), 32, {32, 32, 32}},
                   [&](uint64_t a, uint64_t b, uint64_t c) {
                     const uint64_t n = wrap ? c % 32 : std::min<uint64_t>(c, 32);
                     // PTX ISA 9.0, 9.7.8: l gives (b << n) | (a >> (32-n)), r gives (b << (32-n)) | (a >> n).
                     return left ? (b << n) | (a >> (32 - n)) : (b << (32 - n)) | (a >> n);
                   });
}

/// Every table, each bit from its row.
void everyTable(FormRun& run) {
  const Lanes a = integerOperands(run, 32);
  const Lanes b = rotated(integerOperands(run, 32), 3);
  const Lanes c = rotated(integerOperands(run, 32), 7);
  for (unsigned table = 0; table < 256; table += table < 8 ? 1 : 5) {
    const ScalarInstruction instruction{"lop3.b32", 32, {32, 32, 32}, {}};
    const Lanes result =
        run.lanes(fmt::format("  lop3.b32 %d32, %a32, %b32, %c32, {};\n  mov.b64 %d, {{%d32, 0}};\n", table), a, b, c);
    expectLanes(instruction, result, a, b, c, [&](uint64_t x, uint64_t y, uint64_t z) {
      uint64_t value = 0;
      for (unsigned i = 0; i < 32; ++i) value |= uint64_t{table >> ((x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1)) & 1} << i;
      return value;
    });
  }
  // The examples of the PTX ISA: a & b & c, a | b | c, a & b & ~c, (a & b | c) ^ a.
  const auto example = [&](unsigned table, auto formula) {
    const Lanes result =
        run.lanes(fmt::format("  lop3.b32 %d32, %a32, %b32, %c32, {};\n  mov.b64 %d, {{%d32, 0}};\n", table), a, b, c);
    for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(result[lane], lowBits(formula(a[lane], b[lane], c[lane]), 32)) << table;
  };
  example(0x80, [](uint64_t x, uint64_t y, uint64_t z) { return x & y & z; });
  example(0xfe, [](uint64_t x, uint64_t y, uint64_t z) { return x | y | z; });
  example(0x40, [](uint64_t x, uint64_t y, uint64_t z) { return x & y & ~z; });
  example(0x1a, [](uint64_t x, uint64_t y, uint64_t z) { return ((x & y) | z) ^ x; });
}

void tableWithPredicate(FormRun& run) {
  Lanes a = run.randomLanes();
  for (size_t lane = 0; lane < 32; lane += 3) a[lane] = 0;
  const Lanes b = run.randomLanes();
  for (const std::string boolean : {"or", "and"})
    for (const std::string negation : {"", "!"}) {
      const Lanes result = run.lanes(fmt::format(R"(
  .reg .pred %p, %q;
  .reg .b32 %t;
  and.b32 %t, %b32, 1;
  setp.ne.b32 %q, %t, 0;
  lop3.{0}.b32 %d32|%p, %a32, %a32, 0xffff, 0xc0, {1}%q;
  selp.b32 %t, 1, 0, %p;
  lop3.{0}.b32 _|%p, %a32, 0, 0, 0xf0, {1}%q;
  @%p add.u32 %t, %t, 2;
  mov.b64 %d, {{%d32, %t}};
)",
                                                 boolean, negation),
                                     a, b);
      for (size_t lane = 0; lane < 32; ++lane) {
        const bool q = ((b[lane] & 1) != 0) != (negation == "!");
        const bool p = boolean == "or" ? lowBits(a[lane], 32) != 0 || q : lowBits(a[lane], 32) != 0 && q;
        EXPECT_EQ(result[lane], lowBits(a[lane], 32) | (p ? uint64_t{3} << 32 : 0)) << lane << boolean << negation;
      }
    }
}

void permuteGeneric(FormRun& run) {
  checkInteger(run, {"prmt.b32", 32, {32, 32, 32}}, [](uint64_t a, uint64_t b, uint64_t c) {
    std::array<uint8_t, 8> bytes{};
    for (unsigned i = 0; i < 4; ++i) {
      bytes[i] = static_cast<uint8_t>(a >> (8 * i));
      bytes[4 + i] = static_cast<uint8_t>(b >> (8 * i));
    }
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const uint64_t selector = c >> (4 * i) & 15;
      const uint8_t byte = bytes[selector % 8];
      result |= uint64_t{selector < 8 ? byte : byte >= 128 ? 0xffu : 0u} << (8 * i);
    }
    return result;
  });
}

/// Source bytes d.b3 d.b2 d.b1 d.b0 for controls 0 to 3, from the table of prmt modes in the PTX ISA.
void permuteModes(FormRun& run) {
  struct Mode {
    std::string_view name;
    std::array<std::string_view, 4> bytes;
  };
  constexpr std::array kModes = {Mode{"f4e", {"3210", "4321", "5432", "6543"}}, Mode{"b4e", {"5670", "6701", "7012", "0123"}},
                                 Mode{"rc8", {"0000", "1111", "2222", "3333"}}, Mode{"ecl", {"3210", "3211", "3222", "3333"}},
                                 Mode{"ecr", {"0000", "1110", "2210", "3210"}}, Mode{"rc16", {"1010", "3232", "1010", "3232"}}};
  for (const Mode& mode : kModes)
    checkInteger(run, {fmt::format("prmt.b32.{}", mode.name), 32, {32, 32, 32}}, [&](uint64_t a, uint64_t b, uint64_t c) {
      const uint64_t bytes = lowBits(a, 32) | b << 32;
      uint64_t result = 0;
      for (const char digit : mode.bytes[c % 4]) result = result << 8 | (bytes >> (8 * (digit - '0')) & 0xff);
      return result;
    });
}

void copies(FormRun& run) {
  for (const char* type : {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const unsigned bits = static_cast<unsigned>(std::atoi(type + 1));
    checkInteger(run, {fmt::format("mov.{}", type), bits, {bits}}, [](uint64_t a, uint64_t, uint64_t) { return a; });
  }
  const Lanes a = run.randomLanes();
  const Lanes wide =
      run.lanes("  .reg .b128 %q, %t;\n  mov.b128 %q, {%a, %b};\n  mov.b128 %t, %q;\n  mov.b128 {%d, _}, %t;\n", a, rotated(a, 5));
  EXPECT_EQ(wide, a);
  const Lanes high = run.lanes("  .reg .b128 %q;\n  mov.b128 %q, {%a, %b};\n  mov.b128 {_, %d}, %q;\n", a, rotated(a, 5));
  EXPECT_EQ(high, rotated(a, 5));
}

void literals(FormRun& run) {
  const Lanes none{};
  const auto value = [&](const std::string& text) { return run.lanes(text, none)[7]; };
  EXPECT_EQ(value("  mov.b64 %d, -2;"), ~uint64_t{1});
  EXPECT_EQ(value("  mov.b32 %d32, 0f3F800000;\n  mov.b64 %d, {%d32, 0};"), 0x3f800000u);
  EXPECT_EQ(value("  .reg .f32 %f;\n  mov.f32 %f, 1.5;\n  mov.b64 %d, {%f, 0};"), 0x3fc00000u);
  EXPECT_EQ(value("  .reg .f64 %f;\n  mov.f64 %f, 0dC000000000000000;\n  mov.b64 %d, %f;"), 0xc000000000000000u);
  EXPECT_EQ(value("  mov.u32 %d32, (3 + 4) * 2 - (1 << 4 | 3);\n  mov.b64 %d, {%d32, 0};"), lowBits(static_cast<uint64_t>(-5), 32));
  EXPECT_EQ(value("  mov.u32 %d32, WARP_SZ;\n  mov.b64 %d, {%d32, 0};"), 32u);
  EXPECT_EQ(value("  mov.u32 %d32, 0b1011;\n  mov.b64 %d, {%d32, 017};"), 0b1011u | uint64_t{017} << 32);
}

void packing(FormRun& run) {
  const Lanes a = run.randomLanes();
  const Lanes b = run.randomLanes();
  const Lanes result = run.lanes(R"(
  .reg .b16 %h<4>;
  .reg .b8 %y<4>;
  .reg .b32 %u, %v;
  mov.b64 {%h0, %h1, %h2, %h3}, %a;
  mov.b32 %u, {%h3, %h0};
  mov.b32 {%y0, %y1, %y2, %y3}, %b32;
  mov.b32 %v, {%y2, %y3, %y0, %y1};
  mov.b64 %d, {%u, %v};
)",
                                 a, b);
  for (size_t lane = 0; lane < 32; ++lane) {
    const uint64_t low = (a[lane] >> 48) | (a[lane] & 0xffff) << 16;
    const uint64_t high = lowBits(b[lane] >> 16, 16) | lowBits(b[lane], 16) << 16;
    EXPECT_EQ(result[lane], low | high << 32) << lane;
  }
  // The destination is one of the elements.
  const Lanes swapped = run.lanes(
      "  .reg .b32 %l, %h;\n  mov.b64 {%l, %h}, %a;\n  mov.b64 %d, {%h, %l};\n  mov.b64 {%h, %l}, %d;\n  mov.b64 %d, {%h, %l};\n",
      a);
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(swapped[lane], a[lane] >> 32 | a[lane] << 32) << lane;
}

void specialRegisters(FormRun& run) {
  const Lanes none{};
  const Lanes lanes =
      run.lanes("  .reg .b32 %t;\n  mov.u32 %d32, %tid.x;\n  mov.u32 %t, %laneid;\n  mov.b64 %d, {%d32, %t};\n", none);
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(lanes[lane], lane | lane << 32);
  const auto value = [&](std::string_view name) {
    return run.lanes(fmt::format("  mov.u32 %d32, {};\n  mov.b64 %d, {{%d32, 0}};\n", name), none);
  };
  const auto all = [](uint64_t x) {
    Lanes same;
    same.fill(x);
    return same;
  };
  EXPECT_EQ(value("%ntid.x"), all(32));
  EXPECT_EQ(value("%nctaid.z"), all(1));
  EXPECT_EQ(value("%cluster_nctarank"), all(1));
  EXPECT_EQ(value("%warpid"), all(0));
  EXPECT_EQ(value("%reserved_smem_offset_end"), all(1024));
  const Lanes below = value("%lanemask_lt");
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(below[lane], (uint64_t{1} << lane) - 1);
  const Lanes narrow = run.lanes("  .reg .u16 %h;\n  mov.u16 %h, %tid.x;\n  mov.b64 %d, {%h, 0, 0, 0};\n", none);
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(narrow[lane], lane);
}

void clocks(FormRun& run) {
  for (const char* name : {"%clock64", "%globaltimer"}) {
    const Lanes passed =
        run.lanes(fmt::format("  .reg .b64 %x, %y;\n  mov.u64 %x, {0};\n  mov.u64 %y, {0};\n  sub.u64 %d, %y, %x;\n", name), {});
    for (const uint64_t ticks : passed) EXPECT_LT(ticks, 10'000'000'000u) << name;
    const Lanes now = run.lanes(fmt::format("  mov.u64 %d, {};\n", name), {});
    EXPECT_NE(now[0], 0u);
  }
  for (const char* name : {"%clock", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi"})
    run.lanes(fmt::format("  mov.u32 %d32, {};\n  mov.b64 %d, {{%d32, 0}};\n", name), {});
}

/// Addresses: a shared variable after the 1024 reserved bytes, a second one at its alignment, a global one that works.
void addresses(FormRun& run) {
  const std::string module = R"(
.global .align 8 .u64 table[4] = {11, 22, 33, 44};
.extern .shared .align 64 .b8 dynamic[];
.visible .entry k(.param .u64 out)
{
  .reg .b64 %p, %q, %v;
  .reg .b32 %x, %y, %z;
  .shared .align 4 .b8 first[6];
  .shared .align 16 .b32 second[4];
  ld.param.u64 %p, [out];
  mov.u32 %x, first;
  mov.u32 %y, second+4;
  mov.u32 %z, dynamic;
  st.global.u32 [%p], %x;
  st.global.u32 [%p+4], %y;
  st.global.u32 [%p+8], %z;
  mov.u64 %q, table+16;
  ld.global.u64 %v, [%q];
  st.global.u64 [%p+16], %v;
  ret;
}
)";
  std::array<uint32_t, 8> out{};
  run.emulator().memory().registerRange(out.data(), sizeof out, true);
  const void* pointer = out.data();
  const void* arguments[] = {&pointer};
  emulator::machine::LaunchConfig config;
  config.dynamicSharedBytes = 128;
  run.module(module, "k", config, arguments);
  run.emulator().memory().unregisterRange(out.data());
  EXPECT_EQ(out[0], 1024u);
  EXPECT_EQ(out[1], 1024u + 16 + 4);
  EXPECT_EQ(out[2], 1024u + 64);
  EXPECT_EQ(out[4], 33u);
}

void moveFaults(FormRun& run) {
  const auto refused = [&](const std::string& body, std::string_view part) {
    const std::string message = run.error([&] { run.lanes(body, {}); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("instruction: "), std::string::npos) << message;
  };
  refused("  mov.b32 %d32, %nowhere;", "'%nowhere' is not declared");
  refused("  mov.b32 %d, %a32;", "Register %d is .b64, but the instruction writes a .b32");
  refused("  mov.u64 %d, %tid.x;", "%tid.x is .u32");
  refused("  mov.b32 %d32, nothing;", "'nothing' is not declared");
  refused("  mov.b64 {%a32, %b32, %c32}, %a;", "vector of 3 elements");
  refused("  mov.f32 %d32, 1;", "floating-point literal");
}

void predicateCopies(FormRun& run) {
  const Lanes a = run.randomLanes();
  checkInteger(run, {"mov.pred", 1, {1}}, [](uint64_t x, uint64_t, uint64_t) { return x; });
  const Lanes result = run.lanes(R"(
  .reg .pred %p, %q;
  .reg .b32 %t;
  and.b32 %t, %a32, 1;
  setp.ne.b32 %p, %t, 0;
  mov.pred %q, !%p;
  selp.b32 %d32, 1, 0, %q;
  mov.pred %q, -1;
  @%q add.u32 %d32, %d32, 2;
  mov.pred %q, %is_explicit_cluster;
  @%q add.u32 %d32, %d32, 4;
  mov.b64 %d, {%d32, 0};
)",
                                 a);
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(result[lane], (a[lane] & 1 ? 0u : 1u) + 2u) << lane;
}

}  // namespace

FormCases all() {
  FormCases cases = {
      bitwise("and.(pred|b16|b32|b64)", "and", 2, [](uint64_t a, uint64_t b) { return a & b; }),
      {"and.(pred|b16|b32|b64)", "negated_predicates", negatedPredicates},
      bitwise("or.(pred|b16|b32|b64)", "or", 2, [](uint64_t a, uint64_t b) { return a | b; }),
      bitwise("xor.(pred|b16|b32|b64)", "xor", 2, [](uint64_t a, uint64_t b) { return a ^ b; }),
      bitwise("not.(pred|b16|b32|b64)", "not", 1, [](uint64_t a, uint64_t) { return ~a; }),
      {"cnot.(b16|b32|b64)", "values", logicalNot},
      {"shl.(b16|b32|b64)", "values", shiftLeft},
      {"shr.(b16|b32|b64|u16|u32|u64|s16|s32|s64)", "values", shiftRight},
      {"shf.(l|r).(clamp|wrap).b32", "values", funnelShift},
      {"lop3{.(or|and)}.b32", "every_table", everyTable},
      {"lop3{.(or|and)}.b32", "with_predicate", tableWithPredicate},
      {"prmt.b32{.(f4e|b4e|rc8|ecl|ecr|rc16)}", "generic", permuteGeneric},
      {"prmt.b32{.(f4e|b4e|rc8|ecl|ecr|rc16)}", "modes", permuteModes},
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", "copies", copies},
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", "literals", literals},
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", "packing", packing},
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", "special_registers", specialRegisters},
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", "clocks", clocks},
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", "addresses", addresses},
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", "faults", moveFaults},
      {"mov.pred", "values", predicateCopies},
  };
  FormCases comparisons = compareCases();
  std::move(comparisons.begin(), comparisons.end(), std::back_inserter(cases));
  return cases;
}

}  // namespace shiftconv::tests::logic_cases

namespace shiftconv::tests {
FormCases logicCases() { return logic_cases::all(); }
}  // namespace shiftconv::tests
