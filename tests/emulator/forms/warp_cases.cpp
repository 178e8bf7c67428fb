// shfl, vote, match, elect, redux, against straightforward definitions over all lanes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests {
namespace {

/// PTX ISA, shfl: pseudo-code of the source lane and the predicate.
std::pair<unsigned, bool> shuffleSource(std::string_view mode, unsigned lane, uint32_t b, uint32_t c) {
  const unsigned bval = b & 31, cval = c & 31, segmask = c >> 8 & 31;
  const unsigned maxLane = (lane & segmask) | (cval & (~segmask & 31));
  const unsigned minLane = lane & segmask;
  int j = 0;
  bool pval = false;
  if (mode == "up") j = static_cast<int>(lane) - static_cast<int>(bval), pval = j >= static_cast<int>(maxLane);
  if (mode == "down") j = static_cast<int>(lane + bval), pval = j <= static_cast<int>(maxLane);
  if (mode == "bfly") j = static_cast<int>(lane ^ bval), pval = j <= static_cast<int>(maxLane);
  if (mode == "idx") j = static_cast<int>(minLane | (bval & ~segmask & 31)), pval = j <= static_cast<int>(maxLane);
  return {pval ? static_cast<unsigned>(j) : lane, pval};
}

void shuffles(FormRun& run) {
  const Lanes a = run.randomLanes();
  for (const char* mode : {"up", "down", "bfly", "idx"})
    for (const uint32_t c : {0x1fu, 0u, 0x181fu, 0x1c00u, 0x1003u, 0x0700u})
      for (unsigned round = 0; round < 4; ++round) {
        Lanes b{};
        const uint64_t same = run.random() & 31;
        for (uint64_t& value : b) value = round < 2 ? same : run.random() & 63;
        const Lanes d = run.lanes(fmt::format(".reg .pred %p; .reg .b32 %x; shfl.sync.{}.b32 %d32|%p, %a32, %b32, {}, 0xffffffff; "
                                              "selp.b32 %x, 1, 0, %p; mov.b64 %d, {{%d32, %x}};",
                                              mode, c),
                                  a, b);
        for (unsigned lane = 0; lane < 32; ++lane) {
          const auto [from, valid] = shuffleSource(mode, lane, static_cast<uint32_t>(b[lane]), c);
          ASSERT_EQ(d[lane], (a[from] & 0xffffffff) | uint64_t{valid} << 32)
              << mode << " lane " << lane << " c 0x" << std::hex << c;
        }
      }
  // In place, without predicate, by half of the warp.
  const Lanes d = run.lanes(
      ".reg .pred %p; mov.b32 %d32, %a32; setp.lt.u32 %p, %lane, 16; @%p shfl.sync.bfly.b32 %d32, %d32, 3, 0x1f, 0xffff; mov.b64 "
      "%d, {%d32, 0};",
      a);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(d[lane], a[lane < 16 ? lane ^ 3 : lane] & 0xffffffff);
  expectRefused(run, "shfl.sync.idx.b32 %r2, %r1, 0, 31, 0x0000ffff;", "which does not contain them");
  expectRefused(run, "shfl.idx.b32 %r2, %r1, 0, 31;", "not supported");
}

/// Executing lanes of `members` see predicate bits `bits`; all other lanes do not execute.
void votes(FormRun& run, std::string_view mode, const std::function<uint32_t(uint32_t bits, uint32_t members)>& expected) {
  for (const uint32_t members : {0xffffffffu, 0x0000ffffu, 0x80000001u, 0x12345678u})
    for (const uint32_t bits : {0u, 0xffffffffu, static_cast<uint32_t>(run.random()), members, 1u})
      for (const bool negated : {false, true}) {
        Lanes a{}, b{};
        for (unsigned lane = 0; lane < 32; ++lane) a[lane] = bits >> lane & 1, b[lane] = members >> lane & 1;
        const std::string vote = mode == "ballot"
                                     ? fmt::format("@%q vote.sync.ballot.b32 %d32, {}%p, {};", negated ? "!" : "", members)
                                     : fmt::format("@%q vote.sync.{}.pred %r, {}%p, {}; @%q selp.b32 %d32, 1, 0, %r;", mode,
                                                   negated ? "!" : "", members);
        const Lanes d = run.lanes(".reg .pred %p, %q, %r; setp.ne.u32 %p, %a32, 0; setp.ne.u32 %q, %b32, 0; mov.b32 %d32, 55; " +
                                      vote + " mov.b64 %d, {%d32, 0};",
                                  a, b);
        for (unsigned lane = 0; lane < 32; ++lane)
          ASSERT_EQ(d[lane], b[lane] != 0 ? expected((negated ? ~bits : bits) & members, members) : 55u)
              << mode << " lane " << lane << " members 0x" << std::hex << members;
      }
}

void predicateVotes(FormRun& run) {
  votes(run, "all", [](uint32_t bits, uint32_t members) { return bits == members ? 1u : 0u; });
  votes(run, "any", [](uint32_t bits, uint32_t) { return bits != 0 ? 1u : 0u; });
  votes(run, "uni", [](uint32_t bits, uint32_t members) { return bits == members || bits == 0 ? 1u : 0u; });
}

void ballots(FormRun& run) {
  votes(run, "ballot", [](uint32_t bits, uint32_t) { return bits; });
}

void matches(FormRun& run) {
  for (const unsigned width : {32u, 64u}) {
    Lanes a{};
    for (uint64_t& value : a) value = (run.random() & 3) * 0x100000001ull;
    const char* source = width == 32 ? "%a32" : "%a";
    const Lanes any = run.lanes(fmt::format("match.any.sync.b{} %d32, {}, 0xffffffff; mov.b64 %d, {{%d32, 0}};", width, source), a);
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t expected = 0;
      for (unsigned other = 0; other < 32; ++other) expected |= static_cast<uint32_t>(a[other] == a[lane]) << other;
      ASSERT_EQ(any[lane], expected);
    }
    for (const bool equal : {false, true}) {
      if (equal) a.fill(0x700000009ull);
      const Lanes all = run.lanes(fmt::format(".reg .pred %p; .reg .b32 %x; match.all.sync.b{} %d32|%p, {}, 0xffffffff; selp.b32 "
                                              "%x, 1, 0, %p; mov.b64 %d, {{%d32, %x}};",
                                              width, source),
                                  a);
      for (unsigned lane = 0; lane < 32; ++lane) ASSERT_EQ(all[lane], equal ? 0x1ffffffffull : 0u);
    }
  }
  // 64-bit values that differ in the high half only.
  Lanes a{};
  for (unsigned lane = 0; lane < 32; ++lane) a[lane] = uint64_t{lane & 1} << 32;
  const Lanes d = run.lanes("match.any.sync.b64 %d32, %a, 0xffffffff; mov.b64 %d, {%d32, 0};", a);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(d[lane], lane & 1 ? 0xaaaaaaaau : 0x55555555u);
  expectRefused(run, "match.any.sync.b32 %r2|%p1, %r1, -1;", "no predicate result");
}

void elections(FormRun& run) {
  // Exactly one lane of the mask is elected, the same one every time, and all lanes learn which.
  for (const uint32_t members : {0xffffffffu, 0xfffffff0u, 0x80000000u, 0x00010100u}) {
    Lanes b{};
    for (unsigned lane = 0; lane < 32; ++lane) b[lane] = members >> lane & 1;
    const Lanes d =
        run.lanes(fmt::format(".reg .pred %p, %q; .reg .b32 %x, %y; setp.ne.u32 %q, %b32, 0; @!%q bra E; elect.sync %d32|%p, {0}; "
                              "selp.b32 %x, 1, 0, %p;"
                              "elect.sync _|%p, {0}; selp.b32 %y, 2, 0, %p; or.b32 %x, %x, %y; mov.b64 %d, {{%d32, %x}}; E:",
                              members),
                  {}, b);
    unsigned elected = 0, leader = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (b[lane] == 0) continue;
      const auto flags = static_cast<unsigned>(d[lane] >> 32);
      ASSERT_TRUE(flags == 0 || flags == 3);
      if (flags == 3) ++elected, leader = lane;
    }
    EXPECT_EQ(elected, 1u);
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (b[lane] != 0) {
        EXPECT_EQ(static_cast<uint32_t>(d[lane]), leader);
      }
    }
  }
  expectRefused(run, "elect.sync %r2, -1;", "d|p");
}

template <class T>
void reduction(FormRun& run, std::string_view name, const std::function<T(T, T)>& combine) {
  Lanes a{};
  for (uint64_t& value : a) value = static_cast<uint32_t>(run.random());
  // Two halves with their own masks.
  const Lanes d = run.lanes(fmt::format(".reg .pred %p; .reg .b32 %m; setp.lt.u32 %p, %lane, 10; selp.b32 %m, 0x3ff, 0xfffffc00, "
                                        "%p; redux.sync.{} %d32, %a32, %m; mov.b64 %d, {{%d32, 0}};",
                                        name),
                            a);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned first = lane < 10 ? 0 : 10, last = lane < 10 ? 10 : 32;
    T expected = static_cast<T>(a[first]);
    for (unsigned other = first + 1; other < last; ++other) expected = combine(expected, static_cast<T>(a[other]));
    ASSERT_EQ(d[lane], static_cast<uint32_t>(expected)) << name << " lane " << lane;
  }
}

void integerReductions(FormRun& run) {
  reduction<uint32_t>(run, "add.u32", [](uint32_t a, uint32_t b) { return a + b; });
  reduction<int32_t>(run, "add.s32", [](int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  });
  reduction<uint32_t>(run, "min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); });
  reduction<int32_t>(run, "min.s32", [](int32_t a, int32_t b) { return std::min(a, b); });
  reduction<uint32_t>(run, "max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); });
  reduction<int32_t>(run, "max.s32", [](int32_t a, int32_t b) { return std::max(a, b); });
}

void bitReductions(FormRun& run) {
  reduction<uint32_t>(run, "and.b32", [](uint32_t a, uint32_t b) { return a & b; });
  reduction<uint32_t>(run, "or.b32", [](uint32_t a, uint32_t b) { return a | b; });
  reduction<uint32_t>(run, "xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; });
}

void floatReductions(FormRun& run) {
  const auto bits = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  const auto result = [&](std::string_view name, const Lanes& a) {
    const Lanes d = run.lanes(
        fmt::format(
            ".reg .f32 %x, %y; mov.b32 %x, %a32; redux.sync.{} %y, %x, 0xffffffff; mov.b32 %d32, %y; mov.b64 %d, {{%d32, 0}};",
            name),
        a);
    for (unsigned lane = 1; lane < 32; ++lane) EXPECT_EQ(d[lane], d[0]);
    return d[0];
  };
  Lanes a{};
  for (unsigned lane = 0; lane < 32; ++lane) a[lane] = bits(static_cast<float>(lane) * 1.25f - 20.0f);
  EXPECT_EQ(result("min.f32", a), bits(-20.0f));
  EXPECT_EQ(result("max.f32", a), bits(18.75f));
  EXPECT_EQ(result("max.abs.f32", a), bits(20.0f));
  EXPECT_EQ(result("min.abs.f32", a), bits(0.0f));
  a[7] = 0x7fc12345;
  EXPECT_EQ(result("min.f32", a), bits(-20.0f)) << "a NaN loses against numbers";
  EXPECT_EQ(result("min.NaN.f32", a), 0x7fffffffu);
  EXPECT_EQ(result("max.abs.NaN.f32", a), 0x7fffffffu);
  a.fill(0xffc00001);
  EXPECT_EQ(result("max.f32", a), 0x7fffffffu);
  a.fill(bits(0.0f));
  a[30] = bits(-0.0f);
  EXPECT_EQ(result("min.f32", a), bits(-0.0f));
  EXPECT_EQ(result("max.f32", a), bits(0.0f));
}

}  // namespace

FormCases warpCases() {
  return {
      {formOf("shfl.sync.idx.b32"), "all_modes", shuffles},  {formOf("vote.sync.all.pred"), "all_any_uni", predicateVotes},
      {formOf("vote.sync.ballot.b32"), "ballot", ballots},   {formOf("match.any.sync.b32"), "any_and_all", matches},
      {formOf("elect.sync"), "one_leader", elections},       {formOf("redux.sync.add.u32"), "integers", integerReductions},
      {formOf("redux.sync.and.b32"), "bits", bitReductions}, {formOf("redux.sync.min.f32"), "floats", floatReductions},
  };
}

}  // namespace shiftconv::tests
