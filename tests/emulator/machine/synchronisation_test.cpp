// Warps and CTAs that wait for each other, under every schedule; and what is said when they wait for ever.
#include <gtest/gtest.h>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::synchronisation_test {
namespace {

const char* const kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %warpid; ld.param.u64 %rd1, [out]; )";

TEST(Synchronisation, PingPongByMbarrier) {
  // Two warps take turns in multiplying and adding to one word: the order of operations shows in the result.
  const std::string ptx = R"(.shared .align 8 .b8 bars[16]; .shared .align 4 .b8 word[4];)" + std::string(kBegin) + R"(
    mov.u32 %r3, bars; add.u32 %r4, %r3, 8; mov.u32 %r5, word;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra READY;
    mbarrier.init.shared.b64 [%r3], 1; mbarrier.init.shared.b64 [%r4], 1; st.shared.u32 [%r5], 1;
  READY: bar.sync 0;
    and.b32 %r6, %r1, 31; setp.ne.u32 %p1, %r6, 0; @%p1 exit;
    mov.u32 %r7, 0;
    setp.eq.u32 %p2, %r2, 1; @%p2 bra PONG;
  PING: ld.shared.u32 %r8, [%r5]; mul.lo.u32 %r8, %r8, 3; st.shared.u32 [%r5], %r8; mbarrier.arrive.shared.b64 _, [%r3];
    and.b32 %r9, %r7, 1;
  W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], %r9; @!%p3 bra W1;
    add.u32 %r7, %r7, 1; setp.lt.u32 %p4, %r7, 20; @%p4 bra PING;
    ld.shared.u32 %r8, [%r5]; st.global.u32 [%rd1], %r8; ret;
  PONG: and.b32 %r9, %r7, 1;
  W2: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r9; @!%p3 bra W2;
    ld.shared.u32 %r8, [%r5]; add.u32 %r8, %r8, 7; st.shared.u32 [%r5], %r8; mbarrier.arrive.shared.b64 _, [%r4];
    add.u32 %r7, %r7, 1; setp.lt.u32 %p4, %r7, 20; @%p4 bra PONG;
    ret; })";
  uint32_t expected = 1;
  for (int i = 0; i < 20; ++i) expected = expected * 3 + 7;
  for (const Options& options : schedules()) EXPECT_EQ(runWords(ptx, threads(64), 1, options)[0], expected) << nameOf(options);
}

TEST(Synchronisation, PingPongByNamedBarrier) {
  // Warp 0 arrives at barrier 1 and syncs at 2; warp 1 the other way round. Warp 2 never takes part.
  const std::string ptx = R"(.shared .align 4 .b8 word[4];)" + std::string(kBegin) + R"(
    mov.u32 %r5, word; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r5], 1; bar.sync 0;
    setp.eq.u32 %p2, %r2, 2; @%p2 exit;
    and.b32 %r6, %r1, 31; setp.eq.u32 %p1, %r6, 0; mov.u32 %r7, 0;
    setp.eq.u32 %p2, %r2, 1; @%p2 bra PONG;
  PING: @!%p1 bra A; ld.shared.u32 %r8, [%r5]; mul.lo.u32 %r8, %r8, 3; st.shared.u32 [%r5], %r8;
  A: bar.arrive 1, 64; bar.sync 2, 64;
    add.u32 %r7, %r7, 1; setp.lt.u32 %p4, %r7, 20; @%p4 bra PING;
    @%p1 ld.shared.u32 %r8, [%r5]; @%p1 st.global.u32 [%rd1], %r8; ret;
  PONG: bar.sync 1, 64; @!%p1 bra B; ld.shared.u32 %r8, [%r5]; add.u32 %r8, %r8, 7; st.shared.u32 [%r5], %r8;
  B: bar.arrive 2, 64;
    add.u32 %r7, %r7, 1; setp.lt.u32 %p4, %r7, 20; @%p4 bra PONG;
    ret; })";
  uint32_t expected = 1;
  for (int i = 0; i < 20; ++i) expected = expected * 3 + 7;
  for (const Options& options : schedules()) EXPECT_EQ(runWords(ptx, threads(96), 1, options)[0], expected) << nameOf(options);
}

TEST(Synchronisation, BarrierReductions) {
  const std::string ptx = std::string(kBegin) + R"(
    and.b32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 1; setp.lt.u32 %p2, %r1, 1000;
    bar.red.popc.u32 %r4, 0, %p1; bar.red.and.pred %p3, 0, %p2; bar.red.and.pred %p4, 0, %p1;
    bar.red.or.pred %p5, 0, %p1; bar.red.or.pred %p6, 0, !%p2;
    selp.u32 %r5, 1, 0, %p3; selp.u32 %r6, 2, 0, %p4; selp.u32 %r7, 4, 0, %p5; selp.u32 %r8, 8, 0, %p6;
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8; mad.lo.u32 %r5, %r4, 100, %r5;
    mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r5; ret; })";
  for (const Options& options : schedules(4)) {
    const auto out = runWords(ptx, threads(128), 128, options);
    for (uint32_t t = 0; t < 128; ++t) ASSERT_EQ(out[t], 32 * 100 + 1 + 4u) << t << ", " << nameOf(options);
  }
}

TEST(Synchronisation, ExitedThreadsDoNotHoldUpBarriers) {
  // Warp 3 leaves late, while the others already wait for all threads.
  const std::string ptx = std::string(kBegin) + R"(
    setp.ne.u32 %p1, %r2, 3; @%p1 bra SYNC; mov.u32 %r3, 0;
  D: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 1000; @%p2 bra D; exit;
  SYNC: bar.sync 0; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1; ret; })";
  for (const Options& options : schedules(4)) {
    const auto out = runWords(ptx, threads(128), 128, options);
    for (uint32_t t = 0; t < 128; ++t) ASSERT_EQ(out[t], t < 96 ? t : kPoisonWord) << nameOf(options);
  }
}

TEST(Synchronisation, ArrivalsOutliveTheWarpThatMadeThem) {
  // Warp 0 arrives for both warps of the barrier and exits; warp 1 comes much later.
  const std::string ptx = std::string(kBegin) + R"(
    setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST; mov.u32 %r3, 0;
  D: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 1000; @%p2 bra D;
    bar.sync 1, 64; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1; ret;
  FIRST: bar.arrive 1, 64; ret; })";
  for (const Options& options : schedules(4)) {
    const auto out = runWords(ptx, threads(64), 64, options);
    for (uint32_t t = 0; t < 64; ++t) ASSERT_EQ(out[t], t >= 32 ? t : kPoisonWord) << nameOf(options);
  }
}

TEST(Synchronisation, ClustersExchangeThroughRemoteSharedMemory) {
  // Every CTA writes its rank, arrives remotely at the barrier of its right neighbour, waits at its own, and reads the
  // word of its left neighbour.
  const std::string ptx = R"(.shared .align 8 .b8 bar[8]; .shared .align 4 .b8 word[4];)" + std::string(kBegin) + R"(
    mov.u32 %r3, bar; mov.u32 %r4, word; mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra READY;
    mbarrier.init.shared.b64 [%r3], 1; fence.mbarrier_init.release.cluster;
    add.u32 %r7, %r5, 100; st.shared.u32 [%r4], %r7;
  READY: barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    @%p1 bra LEAVE;
    add.u32 %r8, %r5, 1; rem.u32 %r8, %r8, %r6; mapa.shared::cluster.u32 %r9, %r3, %r8;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
  W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;
    add.u32 %r8, %r5, %r6; sub.u32 %r8, %r8, 1; rem.u32 %r8, %r8, %r6; mapa.shared::cluster.u32 %r9, %r4, %r8;
    ld.shared::cluster.u32 %r10, [%r9]; mov.u32 %r11, %ctaid.x; mul.wide.u32 %rd2, %r11, 4; add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r10;
  LEAVE: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret; })";
  for (const Options& options : schedules(6)) {
    const auto out = runWords(ptx, threads(64, 8, 4), 8, options);
    for (uint32_t cta = 0; cta < 8; ++cta) EXPECT_EQ(out[cta], 100 + (cta + 3) % 4) << nameOf(options);
  }
}

TEST(Synchronisation, AsynchronousCopiesArriveAtBarriers) {
  // Each thread copies a word; the mbarrier completes when all copies have landed. A second batch uses groups.
  const std::string ptx = R"(.shared .align 8 .b8 bar[8]; .shared .align 16 .b8 tile[1024];
    .global .align 16 .u32 source[64];)" +
                          std::string(kBegin) + R"(
    mov.u64 %rd3, source; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd3, %rd2; mad.lo.u32 %r3, %r1, 11, 5; st.global.u32 [%rd3], %r3;
    mov.u32 %r4, bar; mov.u32 %r5, tile; mad.lo.u32 %r6, %r1, 4, %r5;
    setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r4], 64; bar.sync 0;
    cp.async.ca.shared.global [%r6], [%rd3], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0; @!%p2 bra W;
    sub.u32 %r7, 63, %r1; mad.lo.u32 %r7, %r7, 4, %r5; ld.shared.u32 %r8, [%r7];
    add.u32 %r9, %r6, 256; cp.async.ca.shared.global [%r9], [%rd3], 4, 2; cp.async.commit_group;
    add.u32 %r10, %r6, 512; cp.async.ca.shared.global [%r10], [%rd3], 4; cp.async.commit_group;
    cp.async.wait_group 1; ld.shared.u32 %r11, [%r9]; cp.async.wait_all; ld.shared.u32 %r12, [%r10];
    add.u32 %r8, %r8, %r11; add.u32 %r8, %r8, %r12;
    add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r8; ret; })";
  for (const Options& options : schedules()) {
    const auto out = runWords(ptx, threads(64), 64, options);
    for (uint32_t t = 0; t < 64; ++t) ASSERT_EQ(out[t], (63 - t) * 11 + 5 + 2 * (t * 11 + 5)) << nameOf(options);
  }
}

TEST(Synchronisation, MissingWaitForACopyIsSeenByTheLatestSchedule) {
  const std::string ptx = R"(.shared .align 16 .b8 tile[128]; .global .align 16 .u32 source[32];)" + std::string(kBegin) + R"(
    mov.u64 %rd3, source; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], %r1;
    mov.u32 %r5, tile; mad.lo.u32 %r6, %r1, 4, %r5;
    cp.async.ca.shared.global [%r6], [%rd3], 4; cp.async.commit_group;
    ld.shared.u32 %r8, [%r6]; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r8; ret; })";
  std::vector<uint32_t> copied(32);
  for (uint32_t t = 0; t < 32; ++t) copied[t] = t;
  EXPECT_EQ(runWords(ptx, threads(32), 32, withPolicy(SchedulePolicy::Earliest)), copied);
  EXPECT_EQ(runWords(ptx, threads(32), 32, withPolicy(SchedulePolicy::Latest)), std::vector<uint32_t>(32, kPoisonWord));
}

TEST(Synchronisation, TryWaitGivesUpWhenNothingElseCanHappen) {
  // Thread 0 waits for a phase that only it can complete, after three time-outs.
  const std::string ptx = R"(.shared .align 8 .b8 bar[8];)" + std::string(kBegin) + R"(
    mov.u32 %r3, bar; setp.ne.u32 %p1, %r1, 0; @%p1 exit; mbarrier.init.shared.b64 [%r3], 1; mov.u32 %r4, 0;
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @%p2 bra DONE; add.u32 %r4, %r4, 1;
    setp.eq.u32 %p3, %r4, 2; @%p3 mbarrier.arrive.shared.b64 _, [%r3]; bra W;
  DONE: st.global.u32 [%rd1], %r4; ret; })";
  for (const Options& options : schedules(3)) EXPECT_EQ(runWords(ptx, threads(32), 1, options)[0], 2u) << nameOf(options);
}

TEST(Deadlock, ReportSaysWhoWaitsForWhat) {
  // Warp 0 waits for a phase nobody completes; warp 1 for a barrier warp 0 never reaches.
  const std::string ptx = R"(.shared .align 8 .b8 bar[8];)" + std::string(kBegin) + R"(
    mov.u32 %r3, bar; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r3], 2; bar.sync 0;
    setp.eq.u32 %p2, %r2, 1; @%p2 bra OTHER;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 4096;
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra W; ret;
  OTHER: bar.sync 3; ret; })";
  for (const Options& options : schedules(3)) {
    const EmulatorError error = errorOf(ptx, threads(64), options);
    EXPECT_EQ(error.kind(), ErrorKind::Deadlock);
    EXPECT_CONTAINS(error.what(), "deadlock in kernel k, cluster (0,0,0)");
    EXPECT_CONTAINS(error.what(), "CTA (0,0,0) rank 0, warp 0");
    EXPECT_CONTAINS(error.what(),
                    "lanes 0xffffffff wait for parity 0 at the mbarrier at shared offset 0x400 (phase 0, pending 1 of 2, tx 4096)");
    EXPECT_CONTAINS(error.what(), "mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;");
    EXPECT_CONTAINS(error.what(), "warp 1\n  lanes 0xffffffff wait for barrier 3 of the CTA (32 of 64 threads have arrived)");
    EXPECT_CONTAINS(error.what(), "outstanding asynchronous operations: 0");
    EXPECT_CONTAINS(error.what(), "warp 0 of CTA rank 0 can be woken by\n  warp 0 of CTA rank 0, which arrived before at PTX line");
    EXPECT_CONTAINS(error.what(), "warp 1 of CTA rank 0 can be woken by\n  warp 0 of CTA rank 0\n");
  }
}

TEST(Deadlock, ReportFoldsWarpsThatWaitAlike) {
  // Warp 1 never comes; the others wait at one barrier, of which warp 4 has its own.
  const std::string ptx = std::string(kBegin) + R"(
    setp.eq.u32 %p1, %r2, 4; @%p1 bra ALONE; setp.eq.u32 %p2, %r2, 1; @%p2 bra OTHER; bar.sync 3, 192; ret;
  ALONE: bar.sync 5, 64; ret;
  OTHER: bar.sync 4, 64; ret; })";
  const EmulatorError error = errorOf(ptx, threads(192, 1));
  EXPECT_EQ(error.kind(), ErrorKind::Deadlock);
  EXPECT_CONTAINS(error.what(), "CTA (0,0,0) rank 0, warps 0, 2, 3, 5\n  lanes 0xffffffff wait for barrier 3");
  EXPECT_CONTAINS(error.what(), "warps 0, 2, 3, 5 of CTA rank 0 can be woken by\n  warps 1, 4 of CTA rank 0\n");
  EXPECT_CONTAINS(error.what(), "warp 4\n  lanes 0xffffffff wait for barrier 5");
  const std::string text = error.what();
  EXPECT_EQ(text.find("barrier 3"), text.rfind("barrier 3 of the CTA")) << text;
}

// Each warp arrives on the other's barrier, and the second time only after its own was completed.
TEST(Deadlock, ReportNamesTheCycleOfWarpsThatWaitForEachOther) {
  const std::string ptx = R"(.shared .align 8 .b8 bar[16];)" + std::string(kBegin) + R"(
    mov.u32 %r3, bar; setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [%r3], 32; @%p1 mbarrier.init.shared.b64 [%r3+8], 32; bar.sync 0;
    shl.b32 %r4, %r2, 3; add.u32 %r5, %r3, %r4; xor.b32 %r4, %r4, 8; add.u32 %r6, %r3, %r4;
    mbarrier.arrive.shared.b64 _, [%r6];
  V: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra V;
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 1; @!%p2 bra W;
    mbarrier.arrive.shared.b64 _, [%r6];
    ret; })";
  for (const Options& options : schedules(3)) {
    const EmulatorError error = errorOf(ptx, threads(64), options);
    EXPECT_EQ(error.kind(), ErrorKind::Deadlock);
    EXPECT_CONTAINS(error.what(), "cycle: warp ");
    EXPECT_CONTAINS(error.what(), "warp 0 of CTA rank 0 -> warp 1 of CTA rank 0");
  }
}

TEST(Deadlock, LanesThatNeverMeetAreNamed) {
  const EmulatorError error = errorOf(std::string(kBegin) + R"(
    setp.gt.u32 %p1, %r1, 1; @%p1 exit; setp.eq.u32 %p1, %r1, 1; @%p1 bra A; bar.warp.sync 3; ret;
  A: vote.sync.ballot.b32 %r3, 1, 3; ret; })",
                                      threads(32));
  EXPECT_EQ(error.kind(), ErrorKind::Deadlock);
  EXPECT_CONTAINS(error.what(), "lanes 0x00000001 wait at a warp barrier of lanes 0x00000003");
  EXPECT_CONTAINS(error.what(), "lanes 0x00000002 wait for the other lanes of their member mask");
}

TEST(Deadlock, AlignedInstructionInADivergedWarp) {
  const EmulatorError error = errorOf(std::string(kBegin) + R"(
    setp.lt.u32 %p1, %r1, 8; @%p1 bra A; bar.sync 1; ret;
  A: bar.sync 2; ret; })",
                                      threads(32));
  EXPECT_EQ(error.kind(), ErrorKind::IllegalInstruction);
  EXPECT_CONTAINS(error.what(), "lanes 0x000000ff wait for all other lanes of the warp (.aligned)");
  EXPECT_CONTAINS(error.what(), "bar.sync 2;");
}

TEST(Protocol, BarriersAreChecked) {
  const auto message = [](const std::string& body) {
    return std::string(errorOf(std::string(kBegin) + body + " ret; }", threads(64)).what());
  };
  EXPECT_CONTAINS(message("bar.sync 16;"), "barrier 16 does not exist");
  EXPECT_CONTAINS(message("bar.sync 1, 40;"), "not a multiple of 32");
  EXPECT_CONTAINS(message("bar.sync 1, 128;"), "barrier 1 waits for 128 threads, but the CTA has 64");
  EXPECT_CONTAINS(message("setp.eq.u32 %p1, %r2, 0; @%p1 bar.arrive 1, 64; @!%p1 bar.sync 1, 32;"),
                  "barrier 1: this arrival expects");
  EXPECT_CONTAINS(message("barrier.cluster.wait;"), "without having arrived");
  EXPECT_CONTAINS(message("barrier.cluster.arrive; barrier.cluster.arrive;"), "again without having waited");
  EXPECT_CONTAINS(message("setp.lt.u32 %p1, %r1, 4; @%p1 vote.sync.ballot.b32 %r3, 1, 0xf0;"),
                  "member mask 0x000000f0, which does not contain them");
}

}  // namespace
}  // namespace shiftconv::tests::synchronisation_test
