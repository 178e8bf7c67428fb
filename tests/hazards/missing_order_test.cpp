// Orders that are almost there: what one lane knows and its warp does not, a release sequence that a store has ended, a warp
// barrier that leaves lanes out. Each beside the kernel that has all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/hazards/expected_hazards.hpp"
#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::missing_order_test {
namespace {

using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;

/// %r0 = thread, %r1 = warp, %r2 = data, %r3 = the thread's word of it, %r4 = bar, %r5 = flag (0), %rd2 = output of the thread.
const std::string kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 data[2048];
  .shared .align 8 .b64 bar;
  .shared .align 8 .b64 flag;
  mov.u32 %r0, %tid.x;
  shr.u32 %r1, %r0, 5;
  setp.eq.u32 %p0, %r0, 0;
  ld.param.u64 %rd0, [out];
  mov.u32 %r2, data;
  mov.u32 %r4, bar;
  mov.u32 %r5, flag;
  shl.b32 %r6, %r0, 2;
  add.u32 %r3, %r2, %r6;
  cvt.u64.u32 %rd1, %r6;
  add.u64 %rd2, %rd0, %rd1;
  st.shared.u32 [%r3], 0;
  @%p0 st.shared.u32 [%r5], 0;
  @%p0 mbarrier.init.shared.b64 [%r4], 1;
  bar.sync 15;
)";
const std::string kEnd = "  ret;\n}\n";

std::string list(const std::vector<Hazard>& hazards) {
  std::string text = "reported:\n";
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
}

/// Nothing, or races only, under every schedule.
void expectRaces(bool expected, const std::string& body, const LaunchConfig& config) {
  for (Options options : schedules(3)) {
    SCOPED_TRACE(nameOf(options) + "\n" + body);
    options.hazards = HazardMode::Warn;
    LaunchReport report;
    runWords(kBegin + body + kEnd, config, 256, options, &report);
    EXPECT_EQ(!report.hazards.empty(), expected) << list(report.hazards);
    for (const Hazard& hazard : report.hazards) EXPECT_EQ(hazard.kind, HazardKind::Race) << list(report.hazards);
  }
}

// tcgen05.wait is each lane's own: whoever hears of it from one lane knows nothing of the cells that the others stored.
TEST(MissingOrder, AWaitOfOneLaneDoesNotSpeakForItsWarp) {
  const std::string body = R"(
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
  bar.sync 0;
  ld.shared.u32 %r10, [%r2];
  setp.eq.u32 %p2, %r1, 4;
  @%p2 bra READ;
  @%p1 bra DONE;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r10], {%r0};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.warp.sync -1;
  @%p0 mbarrier.arrive.shared.b64 %rd3, [%r4];
  bra DONE;
READ:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
  @!%p3 bra READ;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r12}, [%r10];
  tcgen05.wait::ld.sync.aligned;
DONE:
  bar.sync 1;
  @%p1 bra FREED;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
FREED:
)";
  expectRaces(false, body, threads(160));
  expectRaces(true, replaced(body, "  bar.warp.sync -1;\n", ""), threads(160));
}

// A release sequence goes on through read-modify-writes; another thread's store ends it (PTX ISA 9.0, 8.8).
TEST(MissingOrder, AStoreOfAnotherThreadEndsAReleaseSequence) {
  const std::string body = R"(
  setp.eq.u32 %p1, %r1, 1;
  setp.eq.u32 %p2, %r1, 2;
  and.b32 %r7, %r0, 31;
  setp.ne.u32 %p3, %r7, 0;
  @%p3 bra END;
  @%p1 bra BETWEEN;
  @%p2 bra READ;
  st.shared.u32 [%r2], 5;
  st.release.cta.shared.u32 [%r5], 1;
  bra END;
BETWEEN:
  ld.relaxed.cta.shared.u32 %r8, [%r5];
  setp.eq.u32 %p4, %r8, 0;
  @%p4 bra BETWEEN;
  atom.relaxed.cta.shared.add.u32 %r9, [%r5], 1;
  bra END;
READ:
  ld.acquire.cta.shared.u32 %r8, [%r5];
  setp.lt.u32 %p4, %r8, 2;
  @%p4 bra READ;
  ld.shared.u32 %r9, [%r2];
  st.global.u32 [%rd2], %r9;
END:
)";
  expectRaces(false, body, threads(96));
  expectRaces(true, replaced(body, "atom.relaxed.cta.shared.add.u32 %r9, [%r5], 1;", "st.relaxed.cta.shared.u32 [%r5], 2;"),
              threads(96));
}

TEST(MissingOrder, AStrongReadOfAWeakWriteIsARace) {
  const std::string body = R"(
  @%p0 st.relaxed.cta.shared.u32 [%r2], 5;
  setp.eq.u32 %p1, %r0, 32;
  @%p1 ld.relaxed.cta.shared.u32 %r8, [%r2];
)";
  expectRaces(false, body, threads(64));
  expectRaces(true, replaced(body, "st.relaxed.cta.shared", "st.shared"), threads(64));
  expectRaces(true, replaced(body, "ld.relaxed.cta.shared", "ld.shared"), threads(64));
}

// The second warp's load is over, and waited for, but the first warp does not know when it frees the columns.
TEST(MissingOrder, AFreeHasToComeBehindTheUsersOfItsColumns) {
  const std::string body = R"(
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
  bar.sync 0;
  ld.shared.u32 %r10, [%r2];
  @!%p1 bra WAIT;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r10], {%r0};
  tcgen05.wait::st.sync.aligned;
  bar.arrive 1, 64;
  bra END;
WAIT:
  mov.u32 %r8, 0;
SPIN:
  add.u32 %r8, %r8, 1;
  setp.lt.u32 %p2, %r8, 4000;
  @%p2 bra SPIN;
  bar.sync 1, 64;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
END:
)";
  expectRaces(false, body, threads(64));
  expectRaces(true, replaced(replaced(body, "  bar.arrive 1, 64;\n", ""), "  bar.sync 1, 64;\n", ""), threads(64));
}

/// Thread 0 completes `phases` phases; thread 32 looks for phase 0 only then.
std::string completedBefore(unsigned phases) {
  std::string body = "  setp.eq.u32 %p1, %r0, 32;\n  @%p1 bra LATE;\n";
  for (unsigned i = 0; i < phases; ++i) body += "  @%p0 mbarrier.arrive.shared.b64 %rd3, [%r4];\n";
  return body + R"(
  bra END;
LATE:
  mov.u32 %r8, 0;
SPIN:
  add.u32 %r8, %r8, 1;
  setp.lt.u32 %p2, %r8, 4000;
  @%p2 bra SPIN;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
  @!%p3 bra WAIT;
END:
)";
}

TEST(LappedWait, IsReportedWhenItPassesByChanceAndNamedInTheDeadlockOtherwise) {
  expectRaces(false, completedBefore(1), threads(64));
  Options options;
  options.hazards = HazardMode::Warn;
  const EmulatorError stuck = errorOf(kBegin + completedBefore(2) + kEnd, threads(64));
  EXPECT_EQ(stuck.kind(), ErrorKind::Deadlock);
  EXPECT_CONTAINS(stuck.what(), "lane 0 has seen 0 phases there, and phase 0, which comes next, has completed, with 1 more since");
  EXPECT_CONTAINS(errorOf(kBegin + completedBefore(2) + kEnd, threads(64), options).what(), "hazard (lapped wait)");
  LaunchReport report;
  runWords(kBegin + completedBefore(3) + kEnd, threads(64), 256, options, &report);
  ASSERT_EQ(report.hazards.size(), 1u) << list(report.hazards);
  EXPECT_EQ(report.hazards[0].kind, HazardKind::Lapped);
  EXPECT_CONTAINS(report.hazards[0].second.what, "wait for phase 0");
  EXPECT_CONTAINS(report.hazards[0].missing, "3 phases have completed");
}

/// Thread 0 completes two phases with some instructions between, and thread 32 waits for one after the other: nothing but the
/// schedule keeps it from being lapped.
TEST(LappedWait, DoesNotHideTheRestUnderAFairSchedule) {
  const std::string body = R"(
  setp.eq.u32 %p1, %r0, 32;
  @%p1 bra LATE;
  @!%p0 bra END;
  mbarrier.arrive.shared.b64 %rd3, [%r4];
  mov.u32 %r8, 0;
SPIN:
  add.u32 %r8, %r8, 1;
  setp.lt.u32 %p2, %r8, 9;
  @%p2 bra SPIN;
  mbarrier.arrive.shared.b64 %rd3, [%r4];
  bra END;
LATE:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
  @!%p3 bra LATE;
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 1;
  @!%p3 bra AGAIN;
END:
)";
  EXPECT_EQ(errorOf(kBegin + body + kEnd, threads(64)).kind(), ErrorKind::Deadlock);
  Options options;
  options.policy = emulator::SchedulePolicy::Fair;
  options.hazards = HazardMode::Warn;
  LaunchReport report;
  runWords(kBegin + body + kEnd, threads(64), 256, options, &report);
  EXPECT_TRUE(report.hazards.empty()) << list(report.hazards);
}

// Whoever knows by other ways how far the barrier is may take phases by turns.
TEST(LappedWait, OfAThreadThatKnowsOfTheLaterPhasesIsNone) {
  expectRaces(false, R"(
  @%p0 mbarrier.arrive.shared.b64 %rd3, [%r4];
W0:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
  @!%p3 bra W0;
  bar.sync 0;
  @%p0 mbarrier.arrive.shared.b64 %rd3, [%r4];
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra OTHERS;
W1:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 1;
  @!%p3 bra W1;
  @%p0 mbarrier.arrive.shared.b64 %rd3, [%r4];
W2:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
  @!%p3 bra W2;
OTHERS:
  bar.sync 0;
  @%p0 mbarrier.arrive.shared.b64 %rd3, [%r4];
W3:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 1;
  @!%p3 bra W3;
)",
              threads(64));
}

// Lane 20 is no member of the barrier of the first sixteen lanes.
TEST(MissingOrder, AWarpBarrierPublishesOnlyWhatItsMembersDid) {
  const std::string body = R"(
  setp.eq.u32 %p1, %r0, 20;
  @%p1 st.shared.u32 [%r2], 5;
  setp.ge.u32 %p2, %r0, 16;
  @%p2 bra OTHERS;
  bar.warp.sync 0x0000ffff;
  @%p0 ld.shared.u32 %r8, [%r2];
  bra END;
OTHERS:
  bar.warp.sync 0xffff0000;
END:
)";
  expectRaces(true, body, threads(32));
  expectRaces(false, replaced(body, "setp.eq.u32 %p1, %r0, 20;", "setp.eq.u32 %p1, %r0, 5;"), threads(32));
}

}  // namespace
}  // namespace shiftconv::tests::missing_order_test
