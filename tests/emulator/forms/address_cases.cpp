// cvta, isspacep, mapa, getctarank, and the cache hints.
#include "tests/emulator/forms/machine_run.hpp"
#include "tests/emulator/forms/memory_case_parts.hpp"

namespace shiftconv::tests {
namespace {

const std::string kScope = ".shared .align 16 .b8 s[256]; .const .align 4 .u32 c[3] = {11, 22, 33}; .global .align 4 .u32 g = 44;";

void toGeneric(FormRun& run) {
  // A generic address reads what the address in its own space names.
  expectWords(
      run,
      "mov.u64 %rd5, s; cvta.shared.u64 %rd6, %rd5; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s+4], 5; bar.warp.sync "
      "0xffffffff; ld.u32 %r9, [%rd6+4];",
      [](uint32_t) { return 5; }, kScope);
  expectWords(
      run,
      "mov.u64 %rd5, s; cvta.shared::cta.u64 %rd6, %rd5; cvta.shared::cluster.u64 %rd7, %rd5; sub.u64 %rd6, %rd6, %rd7; "
      "cvt.u32.u64 %r9, %rd6;",
      [](uint32_t) { return 0; }, kScope);
  expectWords(
      run, "mov.u64 %rd5, c; cvta.const.u64 %rd6, %rd5; ld.u32 %r9, [%rd6+8];", [](uint32_t) { return 33; }, kScope);
  expectWords(
      run, "cvta.global.u64 %rd6, g; ld.u32 %r9, [%rd6];", [](uint32_t) { return 44; }, kScope);
  expectWords(run, ".local .align 4 .b8 l[8]; st.local.u32 [l], %r1; cvta.local.u64 %rd6, l; ld.u32 %r9, [%rd6];",
              [](uint32_t lane) { return lane; });
  expectWords(run,
              "mov.b64 %rd5, out; cvta.param.u64 %rd6, %rd5; ld.u64 %rd7, [%rd6]; sub.u64 %rd7, %rd7, %rd1; cvt.u32.u64 %r9, %rd7;",
              [](uint32_t) { return 0; });
}

void fromGeneric(FormRun& run) {
  for (const char* space : {"shared", "shared::cta", "shared::cluster"})
    expectWords(
        run,
        fmt::format("mov.u64 %rd5, s; cvta.{0}.u64 %rd6, %rd5; cvta.to.{0}.u64 %rd7, %rd6; sub.u64 %rd7, %rd7, %rd5; cvt.u32.u64 "
                    "%r9, %rd7;",
                    space),
        [](uint32_t) { return 0; }, kScope);
  expectWords(run,
              ".local .align 4 .b8 l[8]; st.local.u32 [l], 9; mov.u64 %rd5, l; cvta.local.u64 %rd6, %rd5; cvta.to.local.u64 %rd7, "
              "%rd6; ld.local.u32 %r9, [%rd7];",
              [](uint32_t) { return 9; });
  expectWords(run, "cvta.to.global.u64 %rd6, %rd2; sub.u64 %rd6, %rd6, %rd2; cvt.u32.u64 %r9, %rd6;", [](uint32_t) { return 0; });
  expectWords(run,
              "mov.b64 %rd5, out; cvta.param.u64 %rd6, %rd5; cvta.to.param.u64 %rd7, %rd6; ld.param.u64 %rd7, [%rd7]; sub.u64 "
              "%rd7, %rd7, %rd1; cvt.u32.u64 %r9, %rd7;",
              [](uint32_t) { return 0; });
}

void spaceTests(FormRun& run) {
  // One bit per space: global 1, shared 2, shared::cta 4, shared::cluster 8, local 16, const 32, param 64, param::entry 128.
  const auto bitsOf = [&](const std::string& address, uint32_t expected) {
    std::string body = ".local .align 8 .b8 l[8]; " + address + " mov.u32 %r9, 0;";
    uint32_t bit = 1;
    for (const char* space : {"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry"}) {
      body += fmt::format("isspacep.{} %p1, %rd6; selp.b32 %r8, {}, 0, %p1; or.b32 %r9, %r9, %r8;", space, bit);
      bit *= 2;
    }
    expectWords(
        run, body, [=](uint32_t) { return expected; }, kScope);
  };
  bitsOf("mov.u64 %rd6, %rd2;", 1);
  bitsOf("cvta.shared.u64 %rd6, s;", 2 + 4 + 8);
  bitsOf("cvta.local.u64 %rd6, l;", 16);
  bitsOf("cvta.const.u64 %rd6, c;", 1 + 32);  // the const window lies within global memory
  bitsOf("mov.b64 %rd6, out; cvta.param.u64 %rd6, %rd6;", 1 + 64 + 128);
  // In CTA 1 of a cluster an address of CTA 0 is shared::cluster but not shared::cta.
  const auto out = runModule(run,
                             kernel("mov.u32 %r2, %cluster_ctarank; cvta.shared.u64 %rd6, s; mapa.u64 %rd6, %rd6, 0; "
                                    "isspacep.shared::cta %p1, %rd6; isspacep.shared::cluster %p2, %rd6;"
                                    "selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; add.u32 %r3, %r3, %r4; mul.wide.u32 %rd3, "
                                    "%r2, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r3;",
                                    kScope),
                             threads(1, 2, 2), 2);
  EXPECT_EQ(out, (std::vector<uint32_t>{3, 2}));
}

void mapping(FormRun& run) {
  // CTA r reads word r of every CTA through mapa, in all three widths; CTA k wrote 100 k + i into its word i.
  const std::string body = R"(
    mov.u32 %r2, %cluster_ctarank; mad.lo.u32 %r3, %r2, 100, %r1; mov.u32 %r4, s; mad.lo.u32 %r5, %r1, 4, %r4; st.shared.u32 [%r5], %r3;
    barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r9, 0; mov.u32 %r6, 0;
  L: mad.lo.u32 %r7, %r2, 4, %r4; mapa.shared::cluster.u32 %r8, %r7, %r6; ld.shared::cluster.u32 %r10, [%r8];
    cvt.u64.u32 %rd5, %r7; mapa.shared::cluster.u64 %rd6, %rd5, %r6; ld.shared::cluster.u32 %r11, [%rd6];
    cvta.shared.u64 %rd7, %rd5; mapa.u64 %rd8, %rd7, %r6; ld.u32 %r12, [%rd8];
    mapa.shared::cluster.u32 %r13, s+4, %r6; ld.shared::cluster.u32 %r14, [%r13]; mad.lo.u32 %r15, %r6, 100, 1; setp.ne.u32 %p3, %r14, %r15; @%p3 trap;
    setp.ne.u32 %p1, %r10, %r11; @%p1 trap; setp.ne.u32 %p1, %r10, %r12; @%p1 trap; mad.lo.u32 %r9, %r9, 1000, %r10;
    add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 3; @%p2 bra L;
    mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r9; barrier.cluster.arrive; barrier.cluster.wait;)";
  const auto out = runModule(run, kernel(body, kScope), threads(32, 3, 3), 3);
  for (uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(out[rank], (rank * 1000 + 100 + rank) * 1000 + 200 + rank);
  expectRefused(run, "mapa.u32 %r2, %r1, 0;", "generic address has 64 bits");
  expectRefused(run, "mapa.u64 %rd3, %rd1, 0;", "not an address in shared memory");
  expectRefused(run, "mov.u32 %r2, s; mapa.shared::cluster.u32 %r2, %r2, 1;", "mapa to CTA rank 1, but the cluster has 1 CTAs",
                kScope);
}

void ranks(FormRun& run) {
  const auto out = runModule(
      run,
      kernel(
          R"(mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, s; getctarank.shared::cluster.u32 %r4, %r3; mapa.shared::cluster.u32 %r5, %r3, 2; getctarank.shared::cluster.u32 %r6, %r5;
    cvta.shared.u64 %rd5, s; mapa.u64 %rd5, %rd5, 1; getctarank.u64 %r7, %rd5; cvt.u64.u32 %rd6, %r5; getctarank.shared::cluster.u64 %r8, %rd6;
    mad.lo.u32 %r9, %r4, 10, %r6; mad.lo.u32 %r9, %r9, 10, %r7; mad.lo.u32 %r9, %r9, 10, %r8; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r9;)",
          kScope),
      threads(1, 4, 4), 4);
  for (uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(out[rank], rank * 1000 + 212);
  expectRefused(run, "getctarank.u64 %r2, %rd1;", "not an address in shared memory");
}

/// The instruction changes neither memory nor registers.
void hint(FormRun& run, std::initializer_list<const char*> instructions) {
  for (const std::string_view instruction : instructions) {
    const auto out = runModule(run, kernel(std::string(instruction) + " st.global.u32 [%rd2+128], %r1;"), threads(32), 64,
                               std::vector<uint32_t>(32, 7));
    for (uint32_t lane = 0; lane < 32; ++lane) ASSERT_TRUE(out[lane] == 7 && out[lane + 32] == lane) << instruction;
  }
}

void prefetches(FormRun& run) {
  hint(run, {"prefetch.global.L1 [%rd1];", "prefetch.global.L2 [%rd1+64];", "prefetch.L1 [%rd1];", "prefetch.L2 [%rd1];"});
  expectRefused(run, "prefetch.global.L1 [%rd1], 4;", "operands, but 2 are given");
}

void discards(FormRun& run) {
  const auto out = runModule(run, kernel("discard.global.L2 [%rd1], 128;"), threads(1), 64, std::vector<uint32_t>(64, 7));
  for (unsigned i = 0; i < 64; ++i) {
    if (i < 32) {
      EXPECT_NE(out[i], 7u) << "discarded bytes are undefined, and here they change";
    } else {
      EXPECT_EQ(out[i], 7u);
    }
  }
  expectRefused(run, "discard.global.L2 [%rd1], 64;", "must be 128");
  expectRefused(run, "discard.global.L2 [%rd1+64], 128;", "multiple of 128");
}

void policies(FormRun& run, std::initializer_list<const char*> instructions) {
  for (const std::string_view instruction : instructions) {
    const auto out =
        runModule(run, kernel(fmt::format("{} st.global.L2::cache_hint.u32 [%rd2], %r1, %rd5;", instruction)), threads(32), 32);
    for (uint32_t lane = 0; lane < 32; ++lane) ASSERT_EQ(out[lane], lane) << instruction;
  }
}

}  // namespace

FormCases addressCases() {
  return {
      {formOf("cvta.shared.u64"), "every_space", toGeneric},
      {formOf("cvta.to.shared.u64"), "every_space", fromGeneric},
      {formOf("isspacep.shared"), "every_space", spaceTests},
      {formOf("mapa.u64"), "all_widths", mapping},
      {formOf("getctarank.u64"), "all_widths", ranks},
      {formOf("prefetch.global.L1"), "changes_nothing", prefetches},
      {formOf("prefetch.global.L2::evict_last"), "changes_nothing",
       [](FormRun& run) {
         hint(run, {"prefetch.global.L2::evict_last [%rd1];", "prefetch.global.L2::evict_normal [%rd1];"});
       }},
      {formOf("prefetchu.L1"), "changes_nothing", [](FormRun& run) { hint(run, {"prefetchu.L1 [%rd1];"}); }},
      {formOf("applypriority.global.L2::evict_normal"), "changes_nothing",
       [](FormRun& run) {
         hint(run, {"applypriority.global.L2::evict_normal [%rd1], 128;", "applypriority.L2::evict_normal [%rd1], 128;"});
       }},
      {formOf("discard.global.L2"), "undefines_a_line", discards},
      {formOf("createpolicy.fractional.L2::evict_last.b64"), "gives_a_usable_policy",
       [](FormRun& run) {
         policies(run, {"createpolicy.fractional.L2::evict_last.b64 %rd5, 0f3F800000;",
                        "createpolicy.fractional.L2::evict_first.b64 %rd5;",
                        "createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %rd5, 0f3F000000;"});
       }},
      {formOf("createpolicy.range.L2::evict_last.b64"), "gives_a_usable_policy",
       [](FormRun& run) {
         policies(run, {"createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd5, [%rd1], 64, 128;",
                        "createpolicy.range.L2::evict_first.b64 %rd5, [%rd1], 64, 128;"});
       }},
  };
}

}  // namespace shiftconv::tests
