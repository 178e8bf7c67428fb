// Orders among threads that are easy to miss: what a thread knows of its own copies, what fences order through other threads, and
// writes that cannot do harm. Each beside the kernel that lacks a piece of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/emulator/machine/kernel_run.hpp"
#include "tests/hazards/expected_hazards.hpp"

namespace shiftconv::tests {
namespace {

using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;
using emulator::HazardSeverity;

using Expected = ExpectedHazard;
const Expected kRace{HazardKind::Race, HazardSeverity::Race, ""};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// --- copies of one's own --------------------------------------------------------------------------------------------

/// Every thread writes 16 bytes of global memory first, which it copies. %r0 = thread, %r6 = the thread's 16 bytes of data, %r7 its
/// neighbour's, %rd2 and %rd3 = those of it in global memory.
const std::string kCopying = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 data[2048];
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  ld.param.u64 %rd0, [out];
  mov.u32 %r2, data;
  shl.b32 %r5, %r0, 4;
  add.u32 %r6, %r2, %r5;
  xor.b32 %r7, %r5, 16;
  add.u32 %r7, %r2, %r7;
  mul.wide.u32 %rd1, %r0, 16;
  add.u64 %rd2, %rd0, %rd1;
  add.u32 %r8, %r0, 100;
  add.u32 %r9, %r0, 200;
  st.global.v4.u32 [%rd2], {%r0, %r8, %r9, %r0};
)";

void expectOfCopies(const std::string& body, const std::vector<Expected>& expected, uint32_t block = 72) {
  for (Options options : schedules(3)) {
    SCOPED_TRACE(nameOf(options) + "\n" + body);
    options.hazards = HazardMode::Warn;
    LaunchReport report;
    runWords(kCopying + body + "  ret;\n}\n", threads(block), size_t{block} * 8, options, &report);
    expectHazards(report.hazards, expected);
  }
}

const std::string kCopy = "  cp.async.cg.shared.global [%r6], [%rd2], 16;\n";
const std::string kCommit = "  cp.async.commit_group;\n", kWait = "  cp.async.wait_group 0;\n";
const std::string kReadOwn = "  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r6];\n";
const std::string kReadNeighbours = "  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r7];\n";

// Writes of cp.async are made visible to the executing thread by its wait (PTX ISA 9.0, 9.7.9.25.3.1).
TEST(OwnCopies, AreReadBehindOnesOwnWait) {
  const std::string own = kCopy + kCommit + kWait + kReadOwn;
  expectOfCopies(own, {});
  expectOfCopies(kCopy + "  cp.async.wait_all;\n" + kReadOwn, {});
  expectOfCopies(replaced(own, kWait, ""), {kRace});
  expectOfCopies(replaced(own, kCommit, ""), {kRace});
  expectOfCopies(replaced(own, "wait_group 0", "wait_group 1"), {kRace});
  expectOfCopies(replaced(own, kWait, "  @%p0 cp.async.wait_group 0;\n"), {kRace});
}

TEST(OwnCopies, OfOtherLanesNeedASynchronisation) {
  const std::string others = kCopy + kCommit + kWait;
  expectOfCopies(others + kReadNeighbours, {kRace});
  expectOfCopies(others + "  bar.warp.sync -1;\n" + kReadNeighbours, {}, 64);
  expectOfCopies(kCopy + kCommit + "  bar.warp.sync -1;\n" + kWait + kReadNeighbours, {kRace}, 64);
}

// Stages of a pipeline that each thread has for itself: it copies into one that it has read, and writes over one that has arrived.
TEST(OwnCopies, FollowOnesOwnReadsAndPrecedeOnesOwnWrites) {
  const std::string store = "  st.shared.v4.u32 [%r6], {%r0, %r0, %r0, %r0};\n";
  const std::string copied = kCopy + kCommit + kWait;
  expectOfCopies(copied + kReadOwn + copied + kReadOwn + store + copied + store, {});
  expectOfCopies(copied + kReadOwn + kCopy + kCommit + store + kWait, {kRace});
  expectOfCopies(copied + "  bar.sync 0;\n" + kReadNeighbours + kCopy + kCommit + kWait, {kRace});
}

TEST(OwnCopies, AreNamedByTheLaneThatCopied) {
  Options options;
  options.hazards = HazardMode::Warn;
  LaunchReport report;
  runWords(kCopying + kCopy + kCommit + "  setp.eq.u32 %p1, %r0, 37;\n  @%p1" + kReadOwn + kWait + "  ret;\n}\n", threads(72), 576,
           options, &report);
  ASSERT_EQ(report.hazards.size(), 1u);
  EXPECT_CONTAINS(report.hazards[0].first.thread, "warp 1, lane 5");
  EXPECT_CONTAINS(report.hazards[0].second.thread, "warp 1, lane 5");
}

}  // namespace
}  // namespace shiftconv::tests
