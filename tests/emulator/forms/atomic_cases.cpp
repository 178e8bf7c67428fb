// atom and red: 32 lanes combine into one word, and into words of their own; each operation against plain C++.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/emulator/forms/machine_run.hpp"
#include "tests/emulator/forms/memory_case_parts.hpp"

namespace shiftconv::tests {
namespace {

/// Runs `instruction` ("add.u32") in every lane on one shared word (in lane order) and checks the old values that the
/// lanes get, and the word at the end. `combine(old, operand)` is the expectation.
template <class T, class Combine>
void oneWord(FormRun& run, std::string_view instruction, T start, Combine&& combine) {
  constexpr unsigned kBits = 8 * sizeof(T);
  Lanes a{};
  for (uint64_t& value : a) value = run.random() >> (run.random() % 60);
  // Spaces: the word is in shared memory, addressed in three ways.
  for (const std::string_view space : {".shared", ".shared::cta", ""}) {
    for (const bool returns : {true, false}) {
      if (!returns && (instruction.starts_with("exch"))) continue;
      const std::string address = space.empty() ? "%g" : "%s";
      const std::string body = fmt::format(
          ".shared .align 8 .b8 word[8]; .reg .b64 %s, %g, %t; .reg .b{0} %v, %o; .reg .pred %p; mov.u64 %s, word; cvta.shared.u64 "
          "%g, %s;"
          "setp.eq.u32 %p, %lane, 0; mov.b64 %t, {1}; @%p st.shared.b64 [%s], %t; bar.warp.sync 0xffffffff;"
          "{2} mov.b{0} %o, 0; {3}{4}.{5} {6}[{7}], %v; bar.warp.sync 0xffffffff; ld.shared.b64 %t, [%s]; setp.eq.u32 %p, %lane, "
          "31; {8}",
          kBits, std::bit_cast<std::make_unsigned_t<T>>(start), kBits == 64 ? "mov.b64 %v, %a;" : "mov.b32 %v, %a32;",
          returns ? "atom" : "red", space, instruction, returns ? "%o, " : "", address,
          !returns      ? "mov.b64 %d, %t;"
          : kBits == 64 ? "xor.b64 %d, %o, %t;"
                        : "cvt.u64.u32 %d, %o; xor.b64 %d, %d, %t;");
      const Lanes d = run.lanes(body, a);
      T value = start;
      std::array<T, 32> old{};
      for (unsigned lane = 0; lane < 32; ++lane) {
        old[lane] = value;
        value = combine(value, static_cast<T>(a[lane]));
      }
      for (unsigned lane = 0; lane < 32; ++lane) {
        const uint64_t last = std::bit_cast<std::make_unsigned_t<T>>(value),
                       before = std::bit_cast<std::make_unsigned_t<T>>(old[lane]);
        ASSERT_EQ(d[lane], returns ? before ^ last : last)
            << (returns ? "atom" : "red") << space << "." << instruction << " lane " << lane;
      }
    }
  }
}

/// atom or red on global memory, each lane on its own element; `a` are the initial bits, `b` the operands.
template <class Combine>
void ownWords(FormRun& run, std::string_view instruction, unsigned bits, std::initializer_list<std::pair<uint32_t, uint32_t>> pairs,
              Combine&& combine) {
  for (const bool returns : {true, false})
    for (const auto& [start, operand] : pairs) {
      const char* bank = bits == 16 ? "%h" : "%r";
      const std::string take = bits == 16 ? "cvt.u16.u32 %h2, %r2;" : "";
      const std::string body =
          fmt::format("mov.b32 %r2, {}; {} {}.global.{} {}[%rd2], {}2;", operand, take, returns ? "atom" : "red", instruction,
                      returns ? fmt::format("{}3, ", bank) : "", bank) +
          (returns ? fmt::format("{} st.global.u32 [%rd2+128], %r3;", bits == 16 ? "cvt.u32.u16 %r3, %h3;" : "") : "");
      const auto out = runModule(run, kernel(body), threads(32), 64, std::vector<uint32_t>(32, start));
      const uint32_t mask = bits == 16 ? 0xffff : ~0u;
      for (unsigned lane = 0; lane < 32; ++lane) {
        ASSERT_EQ(out[lane] & mask, static_cast<uint32_t>(combine(start, operand)) & mask)
            << instruction << " of 0x" << std::hex << start << " and 0x" << operand;
        ASSERT_EQ(out[lane] & ~mask, start & ~mask);
        if (returns) {
          ASSERT_EQ(out[lane + 32], start & mask);
        }
      }
    }
}

template <class T>
void integerAdds(FormRun& run, std::string_view name) {
  using U = std::make_unsigned_t<T>;
  oneWord<T>(run, name, std::numeric_limits<T>::max() - 5,
             [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
}

void adds(FormRun& run) {
  integerAdds<uint32_t>(run, "add.u32");
  integerAdds<int32_t>(run, "add.s32");
  integerAdds<uint64_t>(run, "add.u64");
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

void floatAdds(FormRun& run) {
  // On global memory subnormals are flushed, on shared memory they are not (PTX ISA, atom).
  ownWords(run, "add.f32", 32, {{bits(1.5f), bits(2.25f)}, {bits(1e30f), bits(-1.0f)}, {bits(-0.0f), bits(0.0f)}},
           [](uint32_t a, uint32_t b) { return bits(std::bit_cast<float>(a) + std::bit_cast<float>(b)); });
  ownWords(run, "add.f32", 32, {{0x00000001u, 0x00000001u}}, [](uint32_t, uint32_t) { return 0u; });
  ownWords(run, "add.f32", 32, {{0x7f800000u, 0xff800000u}}, [](uint32_t, uint32_t) { return 0x7fffffffu; });
  expectWords(
      run,
      "setp.eq.u32 %p1, %r1, 0; mov.b32 %r2, 1; @%p1 st.shared.u32 [s], %r2; bar.warp.sync 0xffffffff; mov.b32 %f1, %r2; "
      "red.shared.add.f32 [s], %f1;"
      "bar.warp.sync 0xffffffff; ld.shared.u32 %r9, [s];",
      [](uint32_t) { return 33; }, ".shared .align 4 .b8 s[4];");  // 33 times the smallest subnormal
  expectWords(
      run,
      "mov.f64 %fd1, 0d3FF8000000000000; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.f64 [s], %fd1; bar.warp.sync 0xffffffff;"
      "atom.shared.add.f64 %fd2, [s], %fd1; bar.warp.sync 0xffffffff; ld.shared.f64 %fd3, [s]; cvt.rzi.u32.f64 %r9, %fd3;",
      [](uint32_t) { return 49; }, ".shared .align 8 .b8 s[8];");  // 33 * 1.5 = 49.5
}

void logic(FormRun& run) {
  oneWord<uint32_t>(run, "and.b32", ~0u, [](uint32_t a, uint32_t b) { return a & b; });
  oneWord<uint64_t>(run, "and.b64", ~uint64_t{0}, [](uint64_t a, uint64_t b) { return a & b; });
  oneWord<uint32_t>(run, "or.b32", 0x10u, [](uint32_t a, uint32_t b) { return a | b; });
  oneWord<uint64_t>(run, "or.b64", 0x10u, [](uint64_t a, uint64_t b) { return a | b; });
  oneWord<uint32_t>(run, "xor.b32", 0x1234u, [](uint32_t a, uint32_t b) { return a ^ b; });
  oneWord<uint64_t>(run, "xor.b64", 0x1234u, [](uint64_t a, uint64_t b) { return a ^ b; });
}

void exchanges(FormRun& run) {
  oneWord<uint32_t>(run, "exch.b32", 0x55u, [](uint32_t, uint32_t b) { return b; });
  oneWord<uint64_t>(run, "exch.b64", 0x55u, [](uint64_t, uint64_t b) { return b; });
}

void ranges(FormRun& run) {
  oneWord<uint32_t>(run, "min.u32", 0x80000000u, [](uint32_t a, uint32_t b) { return std::min(a, b); });
  oneWord<uint32_t>(run, "max.u32", 1u, [](uint32_t a, uint32_t b) { return std::max(a, b); });
  oneWord<int32_t>(run, "min.s32", 5, [](int32_t a, int32_t b) { return std::min(a, b); });
  oneWord<int32_t>(run, "max.s32", -5, [](int32_t a, int32_t b) { return std::max(a, b); });
  oneWord<uint64_t>(run, "min.u64", ~uint64_t{0}, [](uint64_t a, uint64_t b) { return std::min(a, b); });
  oneWord<uint64_t>(run, "max.u64", 1u, [](uint64_t a, uint64_t b) { return std::max(a, b); });
  oneWord<int64_t>(run, "min.s64", 5, [](int64_t a, int64_t b) { return std::min(a, b); });
  oneWord<int64_t>(run, "max.s64", -5, [](int64_t a, int64_t b) { return std::max(a, b); });
}

void counting(FormRun& run) {
  ownWords(run, "inc.u32", 32, {{5, 9}, {9, 9}, {10, 9}, {0, 0}, {~0u, 3}},
           [](uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; });
  ownWords(run, "dec.u32", 32, {{5, 9}, {0, 9}, {10, 9}, {9, 9}, {1, 1}},
           [](uint32_t a, uint32_t b) { return a == 0 || a > b ? b : a - 1; });
}

void compareAndSwap(FormRun& run) {
  // Lane i expects i: exactly the lane whose turn it is succeeds, so the word ends at 32.
  expectWords(
      run,
      "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 0; bar.warp.sync 0xffffffff; add.u32 %r2, %r1, 1; atom.shared.cas.b32 %r3, "
      "[s], %r1, %r2;"
      "bar.warp.sync 0xffffffff; ld.shared.u32 %r4, [s]; mad.lo.u32 %r9, %r4, 1000, %r3;",
      [](uint32_t lane) { return 32000 + lane; }, ".shared .align 4 .b8 s[4];");
  const auto wide = runModule(run,
                              kernel("mul.wide.u32 %rd3, %r1, 8; add.u64 %rd3, %rd1, %rd3; mov.b64 %rd4, 0x200000001; "
                                     "atom.global.cas.b64 %rd5, [%rd3], %rd4, 77;"),
                              threads(2), 4, {1, 2, 1, 3});
  EXPECT_EQ(wide, (std::vector<uint32_t>{77, 0, 1, 3}));
  const auto narrow = runModule(run,
                                kernel("mul.wide.u32 %rd3, %r1, 2; add.u64 %rd3, %rd1, %rd3; mov.b16 %h1, 7; mov.b16 %h2, 9; "
                                       "atom.global.cas.b16 %h3, [%rd3], %h1, %h2;"),
                                threads(2), 1, {0x00070007});
  EXPECT_EQ(narrow, std::vector<uint32_t>{0x00090009});
  expectRefused(run, "atom.global.cas.b32 %r2, [%rd1], %r1;", "takes 4 operands");
}

/// Lane i moves the 16 bytes on from i to i + 1, once with a comparison that only its turn satisfies.
void wideWords(FormRun& run) {
  const std::string begin =
      ".reg .b64 %x<8>; cvt.u64.u32 %x0, %r1; not.b64 %x1, %x0; mov.b128 %q0, {%x0, %x1}; add.u64 %x2, %x0, 1; "
      "not.b64 %x3, %x2; mov.b128 %q1, {%x2, %x3}; mov.b64 %x4, s; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b128 [%x4], %q0; "
      "bar.warp.sync 0xffffffff; ";
  // Word 2 tells the old value, word 3 the new one, in the low parts and, inverted, in the high parts.
  const std::string end =
      " bar.warp.sync 0xffffffff; ld.shared.b128 %q3, [%x4]; mov.b128 {%x4, %x5}, %q2; mov.b128 {%x6, %x7}, %q3; not.b64 %x5, %x5; "
      "not.b64 %x7, %x7; setp.ne.u64 %p1, %x4, %x5; @%p1 trap; setp.ne.u64 %p1, %x6, %x7; @%p1 trap; "
      "mad.lo.u64 %x4, %x6, 1000, %x4; cvt.u32.u64 %r9, %x4;";
  for (const char* instruction :
       {"atom.shared.cas.b128 %q2, [%x4], %q0, %q1;", "atom.relaxed.gpu.shared::cta.cas.b128 %q2, [%x4], %q0, %q1;"})
    expectWords(
        run, begin + instruction + end, [](uint32_t lane) { return 32000 + lane; }, ".shared .align 16 .b8 s[16];");
  expectWords(
      run, begin + "atom.shared.exch.b128 %q2, [%x4], %q1;" + end, [](uint32_t lane) { return 32000 + lane; },
      ".shared .align 16 .b8 s[16];");
  // On global memory, where the comparison fails: nothing changes.
  const std::string other =
      ".reg .b64 %x<4>; mov.b64 %x0, 0x200000001; mov.b64 %x1, 0x400000003; mov.b128 %q0, {%x0, %x1}; "
      "mov.b64 %x2, 77; mov.b64 %x3, 88; mov.b128 %q1, {%x2, %x3}; atom.global.cas.b128 %q2, [%rd1], %q0, %q1; "
      "st.global.b128 [%rd1+16], %q2;";
  EXPECT_EQ(runModule(run, kernel(other), threads(1), 8, {1, 2, 3, 4}), (std::vector<uint32_t>{77, 0, 88, 0, 1, 2, 3, 4}));
  EXPECT_EQ(runModule(run, kernel(other), threads(1), 8, {1, 2, 3, 5}), (std::vector<uint32_t>{1, 2, 3, 5, 1, 2, 3, 5}));
  expectRefused(run, "atom.global.exch.b128 %q0, [%rd1+8], %q0;", "multiple of 16");
  expectRefused(run, "atom.global.and.b128 %q0, [%rd1], %q0;", "not supported");
}

/// Patterns of f16 (or bf16 in brackets) with exact sums: 1.5 + 2 = 3.5 and so on, and the special values.
void halfAdds(FormRun& run) {
  const auto f16 = [](uint32_t a, uint32_t b) -> uint32_t {
    if (a == 0x3e00 && b == 0x4000) return 0x4300;  // 1.5 + 2 = 3.5
    if (a == 0x6800 && b == 0x3c00) return 0x6800;  // 2048 + 1: tie to even
    if (a == 0x6801 && b == 0x3c00) return 0x6802;  // 2050 + 1: tie to even
    if (a == 0x0001 && b == 0x0001) return 0x0002;  // subnormals stay
    if (a == 0x7bff && b == 0x7bff) return 0x7c00;  // overflow
    if (a == 0x7c00 && b == 0xfc00) return 0x7fff;  // infinity minus infinity
    return 0xdead;
  };
  ownWords(run, "add.noftz.f16", 16,
           {{0x3e00, 0x4000}, {0x6800, 0x3c00}, {0x6801, 0x3c00}, {1, 1}, {0x7bff, 0x7bff}, {0x7c00, 0xfc00}}, f16);
  const auto bf16 = [](uint32_t a, uint32_t b) -> uint32_t {
    if (a == 0x3fc0 && b == 0x4000) return 0x4060;  // 1.5 + 2 = 3.5
    if (a == 0x4380 && b == 0x3f80) return 0x4380;  // 256 + 1: tie to even
    if (a == 0x4381 && b == 0x3f80) return 0x4382;  // 258 + 1: tie to even
    return 0xdead;
  };
  ownWords(run, "add.noftz.bf16", 16, {{0x3fc0, 0x4000}, {0x4380, 0x3f80}, {0x4381, 0x3f80}}, bf16);
  ownWords(run, "add.noftz.f16x2", 32, {{0x3e006800, 0x40003c00}}, [](uint32_t, uint32_t) { return 0x43006800u; });
  ownWords(run, "add.noftz.bf16x2", 32, {{0x3fc04381, 0x40003f80}}, [](uint32_t, uint32_t) { return 0x40604382u; });
}

std::vector<uint32_t> vectorRun(FormRun& run, std::string_view instruction, std::string_view operand,
                                const std::vector<uint32_t>& start, std::string_view old = "") {
  return runModule(run,
                   kernel(fmt::format("{}.global.{} {}[%rd1], {};{}", old.empty() ? "red" : "atom", instruction,
                                      old.empty() ? "" : fmt::format("{}, ", old), operand,
                                      old.empty() ? "" : " st.global.v2.f32 [%rd1+8], {%f10, %f11};")),
                   threads(1), 8, start);
}

void vectorFloatAdds(FormRun& run) {
  const std::vector<uint32_t> start = {bits(1), bits(2), bits(3), bits(4)};
  EXPECT_EQ(vectorRun(run, "add.v2.f32", "{0f3F800000, 0f40000000}", start),
            (std::vector<uint32_t>{bits(2), bits(4), bits(3), bits(4), kPoisonWord, kPoisonWord, kPoisonWord, kPoisonWord}));
  EXPECT_EQ(vectorRun(run, "add.v4.f32", "{0f3F800000, 0f40000000, 0f3F800000, 0f40000000}", start),
            (std::vector<uint32_t>{bits(2), bits(4), bits(4), bits(6), kPoisonWord, kPoisonWord, kPoisonWord, kPoisonWord}));
  EXPECT_EQ(vectorRun(run, "add.v2.f32", "{0f3F800000, 0f40000000}", start, "{%f10, %f11}"),
            (std::vector<uint32_t>{bits(2), bits(4), bits(1), bits(2), kPoisonWord, kPoisonWord, kPoisonWord, kPoisonWord}));
  expectRefused(run, "red.shared.add.v2.f32 [%r1], {%f1, %f2};", "global memory only");
}

void vectorHalves(FormRun& run) {
  const auto once = [&](std::string_view instruction, std::vector<uint32_t> operands, std::vector<uint32_t> start, bool narrow) {
    std::string declare, list;
    for (size_t i = 0; i < operands.size(); ++i) {
      declare +=
          narrow ? fmt::format("mov.b16 %h{}, {}; ", 4 + i, operands[i]) : fmt::format("mov.b32 %r{}, {}; ", 4 + i, operands[i]);
      list += fmt::format("{}{}{}", i ? "," : "", narrow ? "%h" : "%r", 4 + i);
    }
    return runModule(run, kernel(fmt::format("{} red.global.{} [%rd1], {{{}}};", declare, instruction, list)), threads(1),
                     start.size(), start);
  };
  EXPECT_EQ(once("add.noftz.v2.f16", {0x3c00, 0x4000}, {0x40003c00}, true), std::vector<uint32_t>{0x44004000});  // 1+1, 2+2
  EXPECT_EQ(once("min.noftz.v2.bf16", {0x3f80, 0x4000}, {0x3f804000}, true),
            std::vector<uint32_t>{0x3f803f80});  // min(2,1), min(1,2)
  EXPECT_EQ(once("max.noftz.v2.f16", {0x3c00, 0x7fff}, {0x3c004000}, true), std::vector<uint32_t>{0x3c004000});  // NaN loses
  EXPECT_EQ(once("max.noftz.v2.f16x2", {0x40003c00, 0xbc00bc00}, {0x3c004000, 0xc0000000}, false),
            (std::vector<uint32_t>{0x40004000, 0xbc000000}));
  EXPECT_EQ(once("add.noftz.v4.bf16x2", {0x3f803f80, 0, 0, 0x40004000}, {0x3f803f80, 1, 2, 0x3f803f80}, false),
            (std::vector<uint32_t>{0x40004000, 1, 2, 0x40404040}));
  EXPECT_EQ(once("min.noftz.v8.f16", {0xbc00, 0, 0, 0, 0, 0, 0, 0x3c00}, {0x00003c00, 0, 0, 0x7fff0000}, true),
            (std::vector<uint32_t>{0x0000bc00, 0, 0, 0x3c000000}));
}

void scopesAndHints(FormRun& run) {
  for (const char* scope : {"cta", "cluster", "gpu", "sys"})
    for (const char* order : {"relaxed", "acquire", "release", "acq_rel"})
      EXPECT_EQ(
          runModule(run, kernel(fmt::format("atom.{}.{}.global.add.u32 %r2, [%rd1], 1;", order, scope)), threads(32), 1, {5})[0],
          37u);
  EXPECT_EQ(
      runModule(run, kernel("mov.b64 %rd5, 0; atom.global.add.L2::cache_hint.u32 %r2, [%rd1], 1, %rd5;"), threads(32), 1, {5})[0],
      37u);
}

void readsNeedValues(FormRun& run) {
  expectRefused(run, "atom.global.add.u32 %r2, [%rd1+2], 1;", "multiple of 4");
  expectRefused(run, "atom.local.add.u32 %r2, [%rd1], 1;", "not supported");
  expectRefused(run, "atom.global.add.s64 %rd3, [%rd1], 1;", "not supported");
}

}  // namespace

FormCases atomicCases() {
  const auto both = [](FormCases& cases, std::string_view instruction, const char* name, void (*body)(FormRun&)) {
    cases.push_back({formOf(fmt::format("atom.{}", instruction)), name, body});
    cases.push_back({formOf(fmt::format("red.{}", instruction)), name, body});
  };
  FormCases cases;
  both(cases, "add.u32", "integers", adds);
  both(cases, "add.f32", "floats", floatAdds);
  cases.push_back({formOf("atom.and.b32"), "logic", logic});
  cases.push_back({formOf("red.and.b32"), "logic", logic});
  cases.push_back({formOf("atom.exch.b32"), "exchange", exchanges});
  cases.push_back({formOf("atom.cas.b32"), "compare_and_swap", compareAndSwap});
  cases.push_back({formOf("atom.cas.b128"), "wide_words", wideWords});
  cases.push_back({formOf("atom.exch.b128"), "wide_words", wideWords});
  both(cases, "min.u32", "ranges", ranges);
  both(cases, "inc.u32", "wrap_around", counting);
  both(cases, "add.noftz.f16", "halves", halfAdds);
  cases.push_back({formOf("atom.add.v2.f32"), "vectors", vectorFloatAdds});
  cases.push_back({formOf("red.add.v2.f32"), "vectors", vectorFloatAdds});
  cases.push_back({formOf("red.add.noftz.v2.f16"), "vectors", vectorHalves});
  cases.push_back(
      {formOf("atom.add.noftz.v2.f16"), "vectors", [](FormRun& run) {
         const auto out = runModule(
             run,
             kernel(
                 "mov.b32 %r4, 0x3c003c00; mov.b32 %r5, 0x40004000; atom.global.add.noftz.v2.f16x2 {%r6, %r7}, [%rd1], {%r4, %r5};"
                 "st.global.v2.u32 [%rd1+8], {%r6, %r7};"),
             threads(1), 4, {0x3c004000, 0x3c004000});
         EXPECT_EQ(out, (std::vector<uint32_t>{0x40004200, 0x42004400, 0x3c004000, 0x3c004000}));
       }});
  cases.push_back({formOf("atom.add.u32"), "scopes_and_hints", scopesAndHints});
  cases.push_back({formOf("atom.add.u32"), "refusals", readsNeedValues});
  return cases;
}

}  // namespace shiftconv::tests
