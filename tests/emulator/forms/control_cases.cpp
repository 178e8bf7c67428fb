// Branches, calls, ends, and barriers.
#include <bit>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests {
namespace {

void branches(FormRun& run) {
  expectWords(run, "mov.u32 %r9, 1; setp.lt.u32 %p1, %r1, 7; @%p1 bra T; mov.u32 %r9, 2; bra.uni E; T: mov.u32 %r9, 3; E:",
              [](uint32_t lane) { return lane < 7 ? 3 : 2; });
  expectWords(run, "mov.u32 %r9, 0; L: add.u32 %r9, %r9, 2; setp.lt.u32 %p1, %r9, %r1; @%p1 bra L;",
              [](uint32_t lane) { return lane < 2 ? 2 : (lane + 1) / 2 * 2; });
  expectWords(run, "mov.u32 %r9, 5; setp.ge.u32 %p1, %r1, 16; @!%p1 bra E; mov.u32 %r9, 6; E:", [](uint32_t lane) {
    return lane < 16 ? 5 : 6;
  });
  expectRefused(run, "bra NOWHERE;", "NOWHERE");
}

void tables(FormRun& run) {
  for (const char* uniform : {"", ".uni"}) {
    const std::string index = *uniform == '\0' ? "rem.u32 %r2, %r1, 3;" : "mov.u32 %r2, 1;";
    expectWords(run,
                fmt::format("{} T: .branchtargets A, B, C; brx.idx{} %r2, T; A: mov.u32 %r9, 10; bra E; B: mov.u32 %r9, 20; bra E; "
                            "C: mov.u32 %r9, 30; E:",
                            index, uniform),
                [=](uint32_t lane) { return *uniform == '\0' ? 10 + 10 * (lane % 3) : 20; });
  }
}

void calls(FormRun& run) {
  const std::string scope = R"(
    .func (.param .b32 s, .param .b32 d) both(.param .b32 x, .param .b32 y) { .reg .b32 %r<4>; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y];
      add.u32 %r3, %r1, %r2; st.param.b32 [s], %r3; sub.u32 %r3, %r1, %r2; st.param.b32 [d], %r3; ret; }
    .func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 v[16]) { .reg .b64 %rd<4>; ld.param.v2.u64 {%rd1, %rd2}, [v]; st.param.v2.b64 [r], {%rd2, %rd1}; ret; }
    .func (.reg .u32 r) registers(.reg .u32 x) { add.u32 r, x, 3; ret; }
    .func nothing() { ret; })";
  expectWords(
      run, R"({ .param .b32 a; .param .b32 b; .param .b32 c; .param .b32 d; st.param.b32 [a], 1000; st.param.b32 [b], %r1;
    call.uni (c, d), both, (a, b); ld.param.b32 %r2, [c]; ld.param.b32 %r3, [d]; mul.lo.u32 %r9, %r2, %r3; })",
      [](uint32_t lane) { return (1000 + lane) * (1000 - lane); }, scope);
  expectWords(
      run,
      R"({ .param .align 8 .b8 a[16]; .param .align 8 .b8 b[16]; cvt.u64.u32 %rd5, %r1; st.param.v2.b64 [a], {%rd5, 77}; call (b), swap, (a);
    ld.param.v2.b64 {%rd6, %rd7}, [b]; mad.lo.u64 %rd6, %rd6, 100, %rd7; cvt.u32.u64 %r9, %rd6; })",
      [](uint32_t lane) { return 7700 + lane; }, scope);
  expectWords(
      run, "call (%r9), registers, (%r1); call nothing; call (%r9), registers, (%r9);", [](uint32_t lane) { return lane + 6; },
      scope);
  expectWords(
      run, "mov.u32 %r9, 1; setp.gt.u32 %p1, %r1, 20; @%p1 call (%r9), registers, (%r1);",
      [](uint32_t lane) { return lane > 20 ? lane + 3 : 1; }, scope);
  expectWords(
      run, "mov.u64 %rd5, registers; P: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%r9), %rd5, (%r1), P;",
      [](uint32_t lane) { return lane + 3; }, scope);
  expectRefused(run, "call (%r9), both, (%r1);", "'both' has 2", scope);
  expectRefused(run, "call missing;", "missing", ".extern .func missing();");
}

void returns(FormRun& run) {
  // ret in the kernel ends the thread; in a function only the call.
  const auto out = runModule(run, kernel("setp.lt.u32 %p1, %r1, 5; @%p1 ret; st.global.u32 [%rd2], %r1;"), threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 5 ? kPoisonWord : lane);
  const std::string scope =
      ".func (.reg .u32 r) f(.reg .u32 x) { .reg .pred %p<2>; mov.u32 r, x; setp.lt.u32 %p1, x, 9; @%p1 ret; add.u32 r, x, 100; "
      "ret.uni; }";
  expectWords(
      run, "call (%r9), f, (%r1);", [](uint32_t lane) { return lane < 9 ? lane : lane + 100; }, scope);
}

void exits(FormRun& run) {
  const std::string scope =
      ".func f() { .reg .b32 %r<2>; .reg .pred %p<2>; mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 30; @%p1 exit; ret; }";
  const auto out =
      runModule(run, kernel("setp.lt.u32 %p1, %r1, 5; @%p1 exit; call f; st.global.u32 [%rd2], %r1;", scope), threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 5 || lane >= 30 ? kPoisonWord : lane);
}

void ctaBarrier(FormRun& run, std::string_view instruction) {
  // 96 threads: each writes its word and reads that of the opposite thread after the barrier.
  const auto out = runModule(run,
                             kernel(fmt::format("mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2; mul.lo.u32 %r4, %r1, 7; "
                                                "st.shared.u32 [%r3], %r4; {}; sub.u32 %r5, 95, %r1;"
                                                "mad.lo.u32 %r3, %r5, 4, %r2; ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd2], %r6;",
                                                instruction),
                                    ".shared .align 4 .b8 s[384];"),
                             threads(96), 96, {}, withPolicy(SchedulePolicy::Random, run.random()));
  for (uint32_t t = 0; t < 96; ++t) ASSERT_EQ(out[t], (95 - t) * 7) << instruction;
}

void barrierSync(FormRun& run) {
  for (const char* text : {"bar.sync 0", "bar.sync 15", "bar.sync 1, 96", "bar.cta.sync 2", "mov.u32 %r8, 3; bar.sync %r8, 96"})
    ctaBarrier(run, text);
  expectRefused(run, "bar.sync 16;", "does not exist");
  expectRefused(run, "bar.sync 1, 33;", "multiple of 32");
  expectRefused(run, "setp.lt.u32 %p1, %r1, 3; @%p1 bar.sync 0; bar.sync 1;", "(.aligned)");
}

void barrierSyncUnaligned(FormRun& run) {
  for (const char* text : {"barrier.sync 0", "barrier.cta.sync 4, 96", "barrier.sync.aligned 0", "barrier.cta.sync.aligned 1, 96",
                           "setp.lt.u32 %p1, %r1, 40; @%p1 barrier.sync 0; @!%p1 barrier.sync 0"})
    ctaBarrier(run, text);
}

/// Producer and consumer: warp 0 writes and arrives, warp 1 waits and reads.
void arriveAndSync(FormRun& run, std::string_view arrive, std::string_view sync) {
  const auto out = runModule(
      run,
      kernel(fmt::format("mov.u32 %r2, s; and.b32 %r3, %r1, 31; mad.lo.u32 %r2, %r3, 4, %r2; setp.ge.u32 %p1, %r1, 32; @%p1 bra C; "
                         "mov.u32 %r4, 0;"
                         "D: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 300; @%p2 bra D; st.shared.u32 [%r2], %r1; {} 1, 64; ret;"
                         "C: {} 1, 64; ld.shared.u32 %r5, [%r2]; st.global.u32 [%rd2], %r5;",
                         arrive, sync),
             ".shared .align 4 .b8 s[128];"),
      threads(64), 64);
  for (uint32_t t = 0; t < 64; ++t) ASSERT_EQ(out[t], t < 32 ? kPoisonWord : t - 32) << arrive;
}

void reductions(FormRun& run, std::string_view prefix, std::string_view suffix) {
  // 64 threads; predicate t < limit.
  for (const unsigned limit : {0u, 1u, 40u, 64u}) {
    const std::string predicate = fmt::format("setp.lt.u32 %p1, %r1, {};", limit);
    const auto result = [&](const std::string& body) {
      const auto out = runModule(run, kernel(predicate + body + " st.global.u32 [%rd2], %r9;"), threads(64), 64);
      for (const uint32_t value : out) EXPECT_EQ(value, out[0]);
      return out[0];
    };
    ASSERT_EQ(result(fmt::format("{}.red.popc{}.u32 %r9, 1, %p1;", prefix, suffix)), limit);
    ASSERT_EQ(result(fmt::format("{}.red.popc{}.u32 %r9, 1, 64, !%p1;", prefix, suffix)), 64 - limit);
    ASSERT_EQ(result(fmt::format("{}.red.and{}.pred %p2, 1, %p1; selp.u32 %r9, 1, 0, %p2;", prefix, suffix)),
              limit == 64 ? 1u : 0u);
    ASSERT_EQ(result(fmt::format("{}.red.or{}.pred %p2, 1, 64, %p1; selp.u32 %r9, 1, 0, %p2;", prefix, suffix)),
              limit > 0 ? 1u : 0u);
  }
}

void warpBarrier(FormRun& run) {
  const std::string scope = ".shared .align 4 .b8 s[128];";
  expectWords(
      run,
      "mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1; bar.warp.sync 0xffffffff; xor.b32 %r4, %r1, 5; "
      "mad.lo.u32 %r3, %r4, 4, %r2; ld.shared.u32 %r9, [%r3];",
      [](uint32_t lane) { return lane ^ 5; }, scope);
  expectWords(run, "mov.u32 %r9, 3; setp.lt.u32 %p1, %r1, 8; @%p1 bar.warp.sync 0xff; @!%p1 bar.warp.sync 0xffffff00;",
              [](uint32_t) { return 3; });
  expectRefused(run, "bar.warp.sync 0x7fffffff;", "which does not contain them");
}

void clusterArrive(FormRun& run) {
  // Between arrive and wait CTAs may run ahead; after the wait everything before the arrive of all CTAs is visible.
  for (const char* variant :
       {"barrier.cluster.arrive; barrier.cluster.wait;", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
        "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;"})
    for (const Options& options : schedules(2)) {
      const auto out =
          runModule(run,
                    kernel(fmt::format("mov.u32 %r2, %cluster_ctarank; mad.lo.u32 %r3, %r2, 1000, %r1; mov.u32 %r4, s; mad.lo.u32 "
                                       "%r5, %r1, 4, %r4; st.shared.u32 [%r5], %r3; {0}"
                                       "xor.b32 %r6, %r2, 1; mapa.shared::cluster.u32 %r7, %r5, %r6; ld.shared::cluster.u32 %r8, "
                                       "[%r7]; mad.lo.u32 %r3, %r2, 64, %r1;"
                                       "mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r8; {0}",
                                       variant),
                           ".shared .align 4 .b8 s[256];"),
                    threads(64, 2, 2), 128, {}, options);
      for (uint32_t i = 0; i < 128; ++i) ASSERT_EQ(out[i], (1 - i / 64) * 1000 + i % 64) << variant << nameOf(options);
    }
}

void activeLanes(FormRun& run) {
  expectWords(run, "mov.u32 %r9, 0; setp.lt.u32 %p1, %r1, 11; @%p1 activemask.b32 %r9;",
              [](uint32_t lane) { return lane < 11 ? 0x7ff : 0; });
}

/// The instruction leaves everything as it was.
void passes(FormRun& run, std::string_view instruction) {
  expectWords(run, fmt::format("mov.u32 %r9, %r1; {}", instruction), [](uint32_t lane) { return lane; });
}

}  // namespace

FormCases controlCases() {
  return {
      {formOf("bra"), "taken_by_some_lanes", branches},
      {formOf("brx.idx"), "scatters_lanes", tables},
      {formOf("call"), "parameters_and_results", calls},
      {formOf("ret"), "ends_call_or_thread", returns},
      {formOf("exit"), "ends_threads", exits},
      {formOf("trap"), "stops", [](FormRun& run) { expectRefused(run, "setp.eq.u32 %p1, %r1, 3; @%p1 trap;", "executed trap"); }},
      {formOf("brkpt"), "stops", [](FormRun& run) { expectRefused(run, "brkpt;", "executed brkpt"); }},
      {formOf("bar.sync"), "orders_shared_memory", barrierSync},
      {formOf("barrier.sync"), "orders_shared_memory", barrierSyncUnaligned},
      {formOf("bar.arrive"), "does_not_wait",
       [](FormRun& run) {
         arriveAndSync(run, "bar.arrive", "bar.sync");
         arriveAndSync(run, "bar.cta.arrive", "bar.cta.sync");
       }},
      {formOf("barrier.arrive"), "does_not_wait",
       [](FormRun& run) {
         arriveAndSync(run, "barrier.arrive", "barrier.sync");
         arriveAndSync(run, "barrier.cta.arrive.aligned", "barrier.cta.sync.aligned");
       }},
      {formOf("bar.red.popc.u32"), "reduces", [](FormRun& run) { reductions(run, "bar", ""); }},
      {formOf("bar.red.and.pred"), "reduces", [](FormRun& run) { reductions(run, "bar.cta", ""); }},
      {formOf("barrier.red.popc.u32"), "reduces", [](FormRun& run) { reductions(run, "barrier", ""); }},
      {formOf("barrier.red.and.pred"), "reduces", [](FormRun& run) { reductions(run, "barrier.cta", ".aligned"); }},
      {formOf("bar.warp.sync"), "orders_shared_memory", warpBarrier},
      {formOf("barrier.cluster.arrive"), "orders_the_cluster", clusterArrive},
      {formOf("barrier.cluster.wait"), "orders_the_cluster", clusterArrive},
      {formOf("nanosleep.u32"), "passes", [](FormRun& run) { passes(run, "nanosleep.u32 1000; nanosleep.u32 %r1;"); }},
      {formOf("activemask.b32"), "names_executing_lanes", activeLanes},
      {formOf("pmevent"), "passes", [](FormRun& run) { passes(run, "pmevent 7;"); }},
  };
}

}  // namespace shiftconv::tests
