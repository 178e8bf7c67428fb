// Orders among threads that are easy to miss: what a thread knows of its own copies, what fences order through other threads, and
// writes that cannot do harm. Each beside the kernel that lacks a piece of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/hazards/expected_hazards.hpp"
#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests {
namespace {

using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;
using emulator::HazardSeverity;

using Expected = ExpectedHazard;

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

// --- fences in threads that others speak for ---------------------------------------------------------------------------

/// Every CTA adds its part to a list, and the last one to take a ticket reads all of it. %rd0 = list, its last word the counter.
const std::string kTicket = R"(
.visible .entry k(.param .u64 out, .param .u64 counter) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 4 .b32 ticket;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %nctaid.x;
  mov.u32 %r4, ticket;
  setp.eq.u32 %p0, %r0, 0;
  mad.lo.u32 %r5, %r1, %r2, %r0;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [counter];
  mul.wide.u32 %rd2, %r5, 4;
  add.u64 %rd2, %rd0, %rd2;
  add.u32 %r6, %r5, 1000;
  st.global.u32 [%rd2], %r6;
  membar.gl;
  bar.sync 0;
  @%p0 atom.global.add.u32 %r7, [%rd1], 1;
  @%p0 st.shared.u32 [%r4], %r7;
  bar.sync 1;
  ld.shared.u32 %r7, [%r4];
  add.u32 %r7, %r7, 1;
  setp.ne.u32 %p1, %r7, %r3;
  @%p1 bra END;
  fence.sc.gpu;
  mov.u32 %r8, 0;
  mov.u32 %r9, %r0;
NEXT:
  mul.wide.u32 %rd3, %r9, 4;
  add.u64 %rd3, %rd0, %rd3;
  ld.global.u32 %r10, [%rd3];
  add.u32 %r8, %r8, %r10;
  add.u32 %r9, %r9, %r2;
  mul.lo.u32 %r11, %r2, %r3;
  setp.lt.u32 %p2, %r9, %r11;
  @%p2 bra NEXT;
  add.u64 %rd4, %rd0, 4096;
  mul.wide.u32 %rd5, %r0, 4;
  add.u64 %rd4, %rd4, %rd5;
  st.global.u32 [%rd4], %r8;
END:
  ret;
}
)";

void expectOfTickets(const std::string& kernel, const std::vector<Expected>& expected, uint32_t cluster = 1) {
  constexpr uint32_t kThreads = 72, kCtas = 6;
  for (Options options : schedules(2)) {
    SCOPED_TRACE(nameOf(options) + "\n" + kernel);
    options.hazards = HazardMode::Warn;
    emulator::Emulator device;
    const auto module = device.load(kHeader + kernel, "test");
    const DeviceWords out(device, 2048), counter(device, std::vector<uint32_t>{0});
    const void* arguments[] = {out.argument(), counter.argument()};
    std::vector<Hazard> hazards = device.launch(*module, "k", threads(kThreads, kCtas, cluster), arguments, options).hazards;
    // What is read too early may not be there yet.
    if (!expected.empty()) std::erase_if(hazards, [](const Hazard& hazard) { return hazard.kind == HazardKind::UndefinedData; });
    expectHazards(hazards, expected);
    for (uint32_t thread = 0; expected.empty() && thread < kThreads; ++thread) {
      uint32_t sum = 0;
      for (uint32_t i = thread; i < kThreads * kCtas; i += kThreads) sum += i + 1000;
      EXPECT_EQ(out.read()[1024 + thread], sum) << thread;
    }
  }
}

// Fence-SC order (PTX ISA 9.0, 8.9.3): the fences of all threads count, although only one of them takes the ticket.
TEST(SequentialFences, OrderAllThreadsAroundATicketThatOneOfThemTakes) {
  expectOfTickets(kTicket, {});
  expectOfTickets(kTicket, {}, 2);
  expectOfTickets(kTicket, {}, 3);
  expectOfTickets(replaced(kTicket, "membar.gl", "membar.sys"), {});
}

TEST(SequentialFences, AreNeededOnBothSidesAndAtGpuScope) {
  for (const char* weaker : {"", "membar.cta;", "fence.sc.cluster;", "fence.acq_rel.gpu;"}) {
    expectOfTickets(replaced(kTicket, "membar.gl;", weaker), {kRace});
    expectOfTickets(replaced(kTicket, "fence.sc.gpu;", weaker), {kRace});
  }
}

TEST(SequentialFences, OrderWhatIsBeforeThemAndTheBarrierOnly) {
  expectOfTickets(
      replaced(replaced(kTicket, "membar.gl;", ""), "st.global.u32 [%rd2], %r6;", "membar.gl;\n  st.global.u32 [%rd2], %r6;"),
      {kRace});
  // The first thread's fence is before the others' stores, or does not know of them.
  expectOfTickets(replaced(kTicket, "membar.gl;", "@%p0 membar.gl;"), {kRace});
  expectOfTickets(replaced(kTicket, "bar.sync 0;", ""), {kRace});
  expectOfTickets(replaced(kTicket, "fence.sc.gpu;", "@%p0 fence.sc.gpu;"), {kRace});
  expectOfTickets(replaced(kTicket, "atom.global.add", "atom.relaxed.cluster.global.add"), {kRace});
}

// --- equal writes ---------------------------------------------------------------------------------------------------

/// %r0 = thread, %r1 = CTA, %r2 = a place in shared memory that holds 3, %rd0 = one in global memory that holds 3, %p1 = second
/// warp.
const std::string kWriting = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 data[256];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, data;
  ld.param.u64 %rd0, [out];
  setp.ge.u32 %p1, %r0, 32;
  setp.eq.u32 %p0, %r0, 0;
  and.b32 %r3, %r0, 1;
  mov.u32 %r4, 7;
  @%p0 st.shared.v4.u32 [%r2], {3, 3, 3, 3};
  bar.sync 15;
)";

void expectOfWrites(const std::string& body, const std::vector<Expected>& expected, uint32_t ctas = 1) {
  for (Options options : schedules(2)) {
    SCOPED_TRACE(nameOf(options) + "\n" + body);
    options.hazards = HazardMode::Warn;
    emulator::Emulator device;
    const auto module = device.load(kHeader + kWriting + body + "  ret;\n}\n", "test");
    const DeviceWords out(device, std::vector<uint32_t>(64, 3));
    const void* arguments[] = {out.argument()};
    expectHazards(device.launch(*module, "k", threads(64, ctas), arguments, options).hazards, expected);
  }
}

TEST(EqualWrites, AreFormal) {
  const Expected formal{HazardKind::Race, HazardSeverity::Formal, ""};
  for (const char* space : {"shared", "global"}) {
    const std::string at = space == std::string("shared") ? "%r2" : "%rd0";
    const std::string store = "  st." + std::string(space) + ".u32 [" + at;
    expectOfWrites(store + "], %r4;\n", {formal});  // by lanes, and by warps
    expectOfWrites("  @%p1" + store + "], 3;\n  @!%p1" + store + "], 3;\n", {formal});
    expectOfWrites("  @%p0" + store + "], 7;\n  @%p1" + store + "], 7;\n", {formal});
    expectOfWrites(store + "], %r3;\n", {kRace});  // 0, 1, 0, 1, ..
    expectOfWrites(store + "], %r0;\n", {kRace});
    expectOfWrites("  @%p0" + store + "], 7;\n  @%p1" + store + "], 8;\n", {kRace, formal});
    // What was there before says nothing about the other store.
    expectOfWrites("  @%p0" + store + "], 7;\n  @%p1" + store + "], 3;\n", {kRace, formal});
    // The same word, but not the same bytes.
    const std::string half = "  st." + std::string(space) + ".u16 [" + at;
    expectOfWrites(
        "  mov.b16 %h0, 3;\n  mov.b16 %h1, 0;\n  @%p0" + store + "], 3;\n  setp.eq.u32 %p2, %r0, 32;\n  @%p2" + half + "], %h0;\n",
        {formal});
    expectOfWrites("  mov.b16 %h0, 3;\n  @%p0" + store + "], 3;\n  setp.eq.u32 %p2, %r0, 32;\n  @%p2" + half + "+2], %h0;\n",
                   {kRace});
    // A value that is read is another matter.
    expectOfWrites("  @%p0" + store + "], 3;\n  @%p1 ld." + space + ".u32 %r5, [" + at + "];\n", {kRace});
  }
  expectOfWrites("  @%p0 st.global.u32 [%rd0], 7;\n", {formal}, 3);
  expectOfWrites("  @%p0 st.global.u32 [%rd0], %r1;\n", {kRace}, 2);
}

TEST(EqualWrites, OfAVectorAreEqualInAllElements) {
  const Expected formal{HazardKind::Race, HazardSeverity::Formal, ""};
  const std::string second = "  setp.eq.u32 %p2, %r0, 32;\n  @%p2 st.shared.v4.u32 [%r2], ";
  const std::string first = "  @%p0 st.shared.v4.u32 [%r2], {1, 2, 4, %r4};\n";
  expectOfWrites(first + second + "{1, 2, 4, 7};\n", {formal});
  expectOfWrites(first + second + "{1, 2, 4, 8};\n", {kRace});
  expectOfWrites(first + second + "{2, 1, 4, 7};\n", {kRace});
}

}  // namespace
}  // namespace shiftconv::tests
