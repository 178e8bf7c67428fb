// mbarrier.*: each form executed by a warp, the phase observed by test_wait afterwards.
#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests::mbarrier_cases {
namespace {

const std::string kScope = ".shared .align 8 .b8 bar[16]; .shared .align 4 .b8 s[128];";
/// %r2 = the barrier (window address), %rd5 the same in 64 bits, %rd6 generic; %p1: thread 0.
const std::string kBegin = "mov.u32 %r2, bar; cvt.u64.u32 %rd5, %r2; cvta.shared.u64 %rd6, %rd5; setp.eq.u32 %p1, %r1, 0; ";

std::string initialise(unsigned count) {
  return kBegin + fmt::format("@%p1 mbarrier.init.shared.b64 [%r2], {}; bar.warp.sync 0xffffffff; ", count);
}
/// %r9 = 1 when phase 0 is complete.
const std::string kObserve =
    " bar.warp.sync 0xffffffff; mbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0; selp.b32 %r9, 1, 0, %p2;";

void expectPhase(FormRun& run, const std::string& body, bool complete) {
  expectWords(
      run, body + kObserve, [=](uint32_t) { return complete; }, kScope);
}

void inits(FormRun& run) {
  for (const char* init :
       {"mbarrier.init.shared.b64 [%r2], 2;", "mbarrier.init.shared::cta.b64 [%r2], 2;", "mbarrier.init.b64 [%rd6], 2;",
        "mbarrier.init.shared.b64 [bar], 2;", "mov.u32 %r3, 2; mbarrier.init.shared.b64 [%r2], %r3;"}) {
    const std::string begin = kBegin + fmt::format("@!%p1 bra J; {} mbarrier.arrive.shared.b64 _, [%r2]; J:", init);
    expectPhase(run, begin, false);
    expectPhase(run, begin + "@%p1 mbarrier.arrive.shared.b64 _, [%r2];", true);
  }
  expectRefused(run, "mbarrier.init.shared.b64 [bar], 0;", "outside 1..1048575", kScope);
  expectRefused(run, "mbarrier.init.shared.b64 [bar], 1048576;", "outside 1..1048575", kScope);
  expectRefused(run, "mov.u32 %r3, 0; mbarrier.init.shared.b64 [bar], %r3;", "outside 1..1048575", kScope);
  expectRefused(run, "mbarrier.init.shared.b64 [bar+4], 1;", "multiple of 8", kScope);
  expectRefused(run, "mbarrier.init.b64 [%rd1], 1;", "not in shared memory", kScope);
  expectRefused(run, "mbarrier.init.shared::cluster.b64 [bar], 1;", "not supported", kScope);
}

void invals(FormRun& run) {
  // After inval the bytes are free again, for data and for a new barrier.
  for (const char* inval :
       {"mbarrier.inval.shared.b64 [%r2];", "mbarrier.inval.shared::cta.b64 [%r2];", "mbarrier.inval.b64 [%rd6];"})
    expectPhase(run,
                initialise(1) + fmt::format("@!%p1 bra J; {} st.shared.u64 [%r2], 5; mbarrier.init.shared.b64 [%r2], 1; "
                                            "mbarrier.arrive.shared.b64 _, [%r2]; J:",
                                            inval),
                true);
  expectRefused(run, initialise(1) + "@%p1 mbarrier.inval.shared.b64 [%r2]; mbarrier.arrive.shared.b64 _, [%r2];",
                "no mbarrier was initialised", kScope);
  expectRefused(run, "mbarrier.inval.shared.b64 [bar];", "no mbarrier was initialised", kScope);
}

void transactions(FormRun& run) {
  for (const char* variant : {".shared.b64 [%r2]", ".relaxed.cta.shared::cta.b64 [%r2]",
                              ".relaxed.cluster.shared::cluster.b64 [%r2]", ".b64 [%rd6]", ".shared::cluster.b64 [%r2]"}) {
    const std::string expect =
        initialise(1) +
        fmt::format("@%p1 mbarrier.expect_tx{0}, 64; @%p1 mbarrier.arrive.shared.b64 _, [%r2]; @%p1 mbarrier.complete_tx{0}, 48; ",
                    variant);
    expectPhase(run, expect, false);
    expectPhase(run, expect + fmt::format("@%p1 mbarrier.complete_tx{}, 16;", variant), true);
    // Completion may come before the expectation while arrivals are pending.
    expectPhase(
        run,
        initialise(1) +
            fmt::format(
                "@!%p1 bra J; mbarrier.complete_tx{0}, 64; mbarrier.expect_tx{0}, 64; mbarrier.arrive.shared.b64 _, [%r2]; J:",
                variant),
        true);
  }
  expectRefused(
      run,
      initialise(1) +
          "mov.u32 %r3, 0xfffff; @%p1 mbarrier.expect_tx.shared.b64 [%r2], %r3; @%p1 mbarrier.expect_tx.shared.b64 [%r2], 1;",
      "would exceed 1048575", kScope);
}

void arrives(FormRun& run) {
  for (const char* variant :
       {".shared.b64 _, [%r2]", ".shared::cta.b64 %rd7, [%r2]", ".release.cta.shared::cta.b64 _, [%r2]",
        ".relaxed.cluster.shared.b64 _, [%r2]", ".release.cluster.shared::cluster.b64 _, [%r2]", ".b64 %rd7, [%rd6]"}) {
    expectPhase(run, initialise(32) + fmt::format("mbarrier.arrive{};", variant), true);
    expectPhase(run, initialise(33) + fmt::format("mbarrier.arrive{};", variant), false);
    expectPhase(run, initialise(96) + fmt::format("mbarrier.arrive{}, 3;", variant), true);
    expectPhase(run,
                initialise(64) + fmt::format("add.u32 %r3, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 mbarrier.arrive{}, %r3; @%p1 "
                                             "mbarrier.arrive.shared.b64 _, [%r2], 58;",
                                             variant),
                true);
    expectPhase(run,
                initialise(1) +
                    fmt::format("@%p1 mbarrier.arrive.expect_tx{0}, 32; @%p1 mbarrier.complete_tx.shared.b64 [%r2], 16;", variant),
                false);
    expectPhase(run,
                initialise(1) +
                    fmt::format("@%p1 mbarrier.arrive.expect_tx{0}, 32; @%p1 mbarrier.complete_tx.shared.b64 [%r2], 32;", variant),
                true);
    // Dropping lowers the count of the next phase: 32 threads drop out of 33, and one arrives twice.
    expectPhase(run, initialise(33) + fmt::format("mbarrier.arrive_drop{}; @%p1 mbarrier.arrive.shared.b64 _, [%r2];", variant),
                true);
    expectWords(
        run,
        initialise(33) + fmt::format("mbarrier.arrive_drop{}; @%p1 mbarrier.arrive.shared.b64 _, [%r2]; @%p1 "
                                     "mbarrier.arrive.shared.b64 _, [%r2]; bar.warp.sync 0xffffffff;"
                                     "mbarrier.test_wait.parity.shared.b64 %p2, [%r2], 1; selp.b32 %r9, 1, 0, %p2;",
                                     variant),
        [](uint32_t) { return 1; }, kScope);
    expectPhase(run,
                initialise(2) + fmt::format("@!%p1 bra J; mbarrier.arrive_drop.expect_tx{}, 8; mbarrier.complete_tx.shared.b64 "
                                            "[%r2], 8; mbarrier.arrive.shared.b64 _, [%r2]; J:",
                                            variant),
                true);
  }
  expectRefused(run, initialise(2) + "mbarrier.arrive.shared.b64 _, [%r2], 3;", "more than its phase still expects", kScope);
  expectRefused(run, "mbarrier.arrive.shared::cluster.b64 %rd7, [%r2];", "'_'", kScope);
  expectRefused(run, "mbarrier.arrive.shared.b64 _, [bar], 0;", "outside 1..1048575", kScope);
  expectRefused(run, "mbarrier.arrive.expect_tx.shared.b64 _, [bar];", "takes 3 operands", kScope);
}

void remoteArrives(FormRun& run) {
  // CTA 1 arrives at, and completes transactions of, a barrier of CTA 0.
  const std::string body = kBegin + R"(
    mov.u32 %r3, %cluster_ctarank; setp.eq.u32 %p3, %r3, 0; @!%p3 bra READY; @%p1 mbarrier.init.shared.b64 [%r2], 2;
  READY: barrier.cluster.arrive; barrier.cluster.wait; @%p3 bra WAIT; @!%p1 bra END;
    mapa.shared::cluster.u32 %r4, %r2, 0; mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 16; mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r4], 16;
    mapa.u64 %rd7, %rd6, 0; mbarrier.complete_tx.b64 [%rd7], 32; mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%r4]; bra END;
  WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r2], 0; @!%p2 bra WAIT; st.global.u32 [%rd2], 21;
  END: barrier.cluster.arrive; barrier.cluster.wait;)";
  const auto out = runModule(run, kernel(body, kScope), threads(32, 2, 2), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 21u);
}

void noComplete(FormRun& run) {
  // pending_count of the returned state is the count before that arrive.
  for (const char* variant : {".shared.b64 %rd7, [%r2]", ".release.cta.shared::cta.b64 %rd7, [%r2]", ".b64 %rd7, [%rd6]"})
    for (const char* operation : {"arrive", "arrive_drop"})
      expectWords(
          run,
          initialise(40) + fmt::format("setp.eq.u32 %p3, %r1, 4; mov.u32 %r9, 7; @%p3 mbarrier.{0}.noComplete{1}, 5; @%p3 "
                                       "mbarrier.{0}.noComplete{1}, 9; @%p3 mbarrier.pending_count.b64 %r9, %rd7;",
                                       operation, variant),
          [](uint32_t lane) { return lane == 4 ? 35 : 7; }, kScope);
  expectRefused(run, initialise(32) + "mbarrier.arrive.noComplete.shared.b64 %rd7, [%r2], 1;", "would complete the phase", kScope);
  expectRefused(run, "mbarrier.arrive.noComplete.shared.b64 %rd7, [%r2];", "takes 3 operands", kScope);
}

void waits(FormRun& run, std::string_view wait) {
  for (const char* order : {"", ".acquire", ".relaxed.cluster", ".acquire.cta", ".relaxed.cta", ".acquire.cluster"})
    for (const auto& [space, address] : {std::pair{".shared", "%r2"}, {".shared::cta", "%r2"}, {"", "%rd6"}}) {
      const auto by = [&](const char* kind, const char* operand) {
        return fmt::format("mbarrier.{}{}{}{}.b64 %p2, [{}], {}; selp.b32 %r9, 1, 0, %p2;", wait, kind, order, space, address,
                           operand);
      };
      // A fresh barrier: parity 1 counts as complete.
      expectWords(
          run, initialise(1) + by(".parity", "1"), [](uint32_t) { return 1; }, kScope);
      expectWords(
          run,
          initialise(1) +
              "mov.u32 %r3, 0; bar.warp.sync 0xffffffff; @%p1 mbarrier.arrive.shared.b64 _, [%r2]; bar.warp.sync 0xffffffff; " +
              by(".parity", "%r3"),
          [](uint32_t) { return 1; }, kScope);
      expectWords(
          run, initialise(1) + by(".parity", "0"), [](uint32_t) { return 0; }, kScope);  // try_wait gives up
      expectWords(
          run, initialise(33) + "mbarrier.arrive.shared.b64 %rd7, [%r2]; " + by("", "%rd7"), [](uint32_t) { return 0; }, kScope);
      expectWords(
          run,
          initialise(33) +
              "mbarrier.arrive.shared.b64 %rd7, [%r2]; @%p1 mbarrier.arrive.shared.b64 _, [%r2]; bar.warp.sync 0xffffffff; " +
              by("", "%rd7"),
          [](uint32_t) { return 1; }, kScope);
    }
  expectRefused(run, fmt::format("mbarrier.{}.parity.shared.b64 %p2, [bar], 2;", wait), "parity is 0 or 1", kScope);
  expectRefused(run, initialise(1) + fmt::format("mov.u32 %r3, 2; mbarrier.{}.parity.shared.b64 %p2, [%r2], %r3;", wait),
                "a parity is 0 or 1", kScope);
  expectRefused(run, fmt::format("mbarrier.{}.parity.shared::cluster.b64 %p2, [bar], 0;", wait), "not supported", kScope);
  expectRefused(run,
                fmt::format("mov.u32 %r3, %cluster_ctarank; cvta.shared.u64 %rd5, bar; mapa.u64 %rd5, %rd5, 1; setp.eq.u32 %p3, "
                            "%r3, 0; @%p3 mbarrier.{}.parity.b64 %p2, [%rd5], 0;"
                            "barrier.cluster.arrive; barrier.cluster.wait;",
                            wait),
                "mbarriers of the executing CTA only", kScope, threads(32, 2, 2));
}

void tryWaits(FormRun& run) {
  waits(run, "try_wait");
  // Warp 1 arrives long after warp 0 has gone to sleep, with and without a time hint.
  for (const char* hint : {"", ", 0x989680", ", %r3"})
    for (const Options& options : schedules(3)) {
      const std::string body = fmt::format(
          R"(mov.u32 %r2, bar; mov.u32 %r3, 20; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r2], 32; bar.sync 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra LATE;
        W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0{}; @!%p2 bra W; mov.u32 %r4, s; mad.lo.u32 %r4, %r1, 4, %r4; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd2], %r5; ret;
        LATE: mov.u32 %r6, 0; D: add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 900; @%p3 bra D; sub.u32 %r7, %r1, 32; mov.u32 %r4, s; mad.lo.u32 %r4, %r7, 4, %r4; st.shared.u32 [%r4], %r1;
        mbarrier.arrive.shared.b64 _, [%r2];)",
          hint);
      const auto out = runModule(run, kernel(body, kScope), threads(64), 32, {}, options);
      for (uint32_t lane = 0; lane < 32; ++lane) ASSERT_EQ(out[lane], lane + 32) << nameOf(options);
    }
}

}  // namespace

FormCases all() {
  return {
      {formOf("mbarrier.init.b64"), "every_address", inits},
      {formOf("mbarrier.inval.b64"), "frees_the_bytes", invals},
      {formOf("mbarrier.expect_tx.b64"), "holds_the_phase_open", transactions},
      {formOf("mbarrier.complete_tx.b64"), "lets_the_phase_complete", transactions},
      {formOf("mbarrier.arrive.b64"), "counts", arrives},
      {formOf("mbarrier.arrive.b64"), "from_another_cta", remoteArrives},
      {formOf("mbarrier.arrive.noComplete.b64"), "gives_a_state", noComplete},
      {formOf("mbarrier.test_wait.b64"), "every_variant", [](FormRun& run) { waits(run, "test_wait"); }},
      {formOf("mbarrier.try_wait.b64"), "every_variant", tryWaits},
      {formOf("mbarrier.pending_count.b64"), "reads_a_state", noComplete},
  };
}

}  // namespace shiftconv::tests::mbarrier_cases

namespace shiftconv::tests {
FormCases mbarrierCases() { return mbarrier_cases::all(); }
}  // namespace shiftconv::tests
