// Undefined data: read and discarded it is nobody's business; used it is reported, with where it came from and where it went.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/kernel_run.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::undefined_test {
namespace {

using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;
using emulator::HazardSeverity;

/// %r0 = thread, %r2 = data, never written, %r3 = the thread's word of it, %rd0 = output, %rd2 = the thread's word of it.
const std::string kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 data[4096];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [out];
  mov.u32 %r2, data;
  shl.b32 %r1, %r0, 2;
  add.u32 %r3, %r2, %r1;
  cvt.u64.u32 %rd1, %r1;
  add.u64 %rd2, %rd0, %rd1;
)";
const std::string kEnd = "END:\n  ret;\n}\n";
const std::string kRead = "  ld.shared.u32 %r8, [%r3];\n";

std::vector<Hazard> hazardsOf(const std::string& body, const LaunchConfig& config = threads(32), const Options& base = {}) {
  Options options = base;
  options.hazards = HazardMode::Warn;
  LaunchReport report;
  runWords(kBegin + body + kEnd, config, 256, options, &report);
  return report.hazards;
}

std::string list(const std::vector<Hazard>& hazards) {
  std::string text = "reported:\n";
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
}

void expectUsed(const std::string& body, const std::string& source, const std::string& user, const std::string& what,
                const LaunchConfig& config = threads(32)) {
  SCOPED_TRACE(body);
  const std::vector<Hazard> hazards = hazardsOf(body, config);
  ASSERT_EQ(hazards.size(), 1u) << list(hazards);
  EXPECT_EQ(hazards[0].kind, HazardKind::UndefinedData);
  EXPECT_EQ(hazards[0].severity, HazardSeverity::Race);
  EXPECT_CONTAINS(hazards[0].first.where, source);
  EXPECT_CONTAINS(hazards[0].second.where, user);
  EXPECT_CONTAINS(hazards[0].second.what, what);
}

void expectUnused(const std::string& body, const LaunchConfig& config = threads(32)) {
  SCOPED_TRACE(body);
  const std::vector<Hazard> hazards = hazardsOf(body, config);
  EXPECT_TRUE(hazards.empty()) << list(hazards);
}

TEST(Undefined, ReadAndDiscardedIsNoHazardAndStopsNothing) {
  expectUnused(kRead);
  expectUnused(kRead + "  add.u32 %r9, %r8, 1;\n  mul.lo.u32 %r9, %r9, %r9;\n  st.global.u32 [%rd2], %r0;\n");
  // As a kernel that reads whole rows and stores the valid part.
  expectUnused(kRead + "  setp.lt.u32 %p1, %r0, 7;\n  selp.b32 %r8, 3, %r8, %p1;\n  @%p1 st.global.u32 [%rd2], %r8;\n");
  runWords(kBegin + kRead + "  st.global.u32 [%rd2], %r8;\n" + kEnd, threads(32), 32);  // hazards off: no error
}

// A tile of which rows 4 to 7 and 12 to 15 were never written, through wmma and back to shared memory; then to global memory.
TEST(Undefined, FollowsFragmentsOfWmma) {
  const std::string tile =
      "  .reg .b32 %t<8>;\n  st.shared.u32 [%r3], 0;\n  st.shared.u32 [%r3+256], 0;\n  bar.warp.sync 0xffffffff;\n"
      "  wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%t0, %t1, %t2, %t3}, [data], 16;\n"
      "  wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [data+1024], {%t0, %t1, %t2, %t3}, 16;\n  bar.warp.sync 0xffffffff;\n";
  expectUnused(tile + "  ld.shared.u32 %r8, [%r3+1024];\n  st.global.u32 [%rd2], %r8;\n");
  expectUsed(tile + "  ld.shared.u32 %r8, [%r3+1152];\n  st.global.u32 [%rd2], %r8;\n", "wmma.load.c", "st.global.u32 [%rd2], %r8",
             "stored to global memory");
}

TEST(Undefined, IsReportedWhereItMatters) {
  const std::string load = "ld.shared.u32 %r8, [%r3]";
  expectUsed(kRead + "  st.global.u32 [%rd2], %r8;\n", load, "st.global.u32 [%rd2], %r8", "stored to global memory");
  expectUsed(kRead + "  add.u32 %r9, %r8, 1;\n  st.u32 [%rd2], %r9;\n", load, "st.u32 [%rd2], %r9", "stored to global memory");
  expectUsed(kRead + "  setp.eq.u32 %p1, %r8, 0;\n  @%p1 bra END;\n", load, "bra END", "predicate");
  expectUsed(kRead + "  setp.eq.u32 %p1, %r8, 0;\n  @%p1 st.global.u32 [%rd2], %r0;\n", load, "st.global.u32", "predicate");
  expectUsed(kRead + "  and.b32 %r8, %r8, 124;\n  add.u32 %r9, %r2, %r8;\n  ld.shared.u32 %r10, [%r9];\n", load,
             "ld.shared.u32 %r10", "address");
  expectUsed(kRead + "  st.global.u32 [%rd2], 0;\n  red.global.add.u32 [%rd2], %r8;\n", load, "red.global.add", "operand");
  // A predicated write of a register: it may or may not have happened.
  expectUsed(kRead + "  setp.eq.u32 %p1, %r8, 0;\n  mov.u32 %r9, 0;\n  @%p1 mov.u32 %r9, 1;\n  st.global.u32 [%rd2], %r9;\n", load,
             "st.global.u32", "stored to global memory");
}

TEST(Undefined, GoesThroughMemoriesAndExchanges) {
  const std::string load = "ld.shared.u32 %r8, [%r3]";
  expectUsed(kRead + "  st.shared.u32 [%r3+1024], %r8;\n  ld.shared.u32 %r9, [%r3+1024];\n  st.global.u32 [%rd2], %r9;\n", load,
             "st.global.u32", "stored");
  expectUnused(
      kRead +
      "  st.shared.u32 [%r3], %r8;\n  st.shared.u32 [%r3], %r0;\n  ld.shared.u32 %r9, [%r3];\n  st.global.u32 [%rd2], %r9;\n");
  expectUsed(kRead +
                 "  vote.sync.ballot.b32 %r9, %p0, -1;\n  setp.eq.u32 %p1, %r8, 0;\n  vote.sync.any.pred %p2, %p1, -1;\n"
                 "  @%p2 bra END;\n",
             load, "bra END", "predicate");
  // Lane 0 has written its word; lane 1 has not.
  const std::string half = "  setp.eq.u32 %p0, %r0, 0;\n  @%p0 st.shared.u32 [%r3], 5;\n" + kRead;
  expectUnused(half + "  @%p0 st.global.u32 [%rd2], %r8;\n");
  expectUnused(half + "  shfl.sync.idx.b32 %r9, %r8, 0, 31, -1;\n  st.global.u32 [%rd2], %r9;\n");
  expectUsed(half + "  shfl.sync.idx.b32 %r9, %r8, 1, 31, -1;\n  st.global.u32 [%rd2], %r9;\n", load, "st.global.u32", "stored");
  expectUsed(half + "  selp.b32 %r9, %r8, 4, !%p0;\n  st.global.u32 [%rd2], %r9;\n", load, "st.global.u32", "stored");
  expectUnused(half + "  selp.b32 %r9, %r8, 4, %p0;\n  st.global.u32 [%rd2], %r9;\n");
  // An overwritten register is defined again, also when it was its own source.
  expectUnused(kRead + "  mov.u32 %r8, 1;\n  st.global.u32 [%rd2], %r8;\n");
  expectUsed(kRead + "  add.u32 %r8, %r8, 1;\n  st.global.u32 [%rd2], %r8;\n", load, "st.global.u32", "stored");
}

TEST(Undefined, OfABulkStoreIsReportedForTheBytesThatReachGlobalMemory) {
  const std::string begin =
      "  setp.eq.u32 %p0, %r0, 0;\n  st.shared.u32 [%r3], %r0;\n  fence.proxy.async;\n  bar.sync 0;\n  @!%p0 bra END;\n";
  const std::string end = "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
  expectUnused(begin + "  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 128;\n" + end);
  const std::vector<Hazard> hazards =
      hazardsOf(begin + "  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 144;\n" + end);
  ASSERT_EQ(hazards.size(), 1u) << list(hazards);
  EXPECT_EQ(hazards[0].kind, HazardKind::UndefinedData);
  EXPECT_CONTAINS(hazards[0].second.what, "store of undefined shared memory bytes 0x480..0x48f");
  EXPECT_CONTAINS(hazards[0].second.what, "(bytes 128..143 of the 1024-byte allocation");
}

/// Without its barrier a thread reads what its neighbour has yet to write: that is a race first of all.
TEST(Undefined, ComesBehindTheRaceThatMadeIt) {
  const std::string reverse =
      "  st.shared.u32 [%r3], %r0;\n  sub.u32 %r9, 252, %r1;\n  add.u32 %r9, %r2, %r9;\n"
      "  ld.shared.u32 %r8, [%r9];\n  st.global.u32 [%rd2], %r8;\n";
  const std::vector<Hazard> hazards = hazardsOf(reverse, threads(64));
  ASSERT_GE(hazards.size(), 2u) << list(hazards);
  EXPECT_EQ(hazards.front().kind, HazardKind::Race);
  EXPECT_EQ(hazards.back().kind, HazardKind::UndefinedData);
  Options options;
  options.hazards = HazardMode::Error;
  EXPECT_CONTAINS(errorOf(kBegin + reverse + kEnd, threads(64), options).what(), "hazard (race)");
  const EmulatorError alone = errorOf(kBegin + kRead + "  st.global.u32 [%rd2], %r8;\n" + kEnd, threads(32), options);
  EXPECT_EQ(alone.kind(), ErrorKind::Hazard);
  EXPECT_CONTAINS(alone.what(), "hazard (undefined data)");
}

// --- Tensor Memory ------------------------------------------------------------------------------------------------------

constexpr uint32_t kA = 0, kScaleA = 16, kScaleB = 32, kD = 64;

std::vector<Hazard> hazardsOfTensor(const std::string& body) {
  std::vector<Hazard> first;
  for (Options options : schedules(2)) {
    options.hazards = HazardMode::Warn;
    emulator::Emulator device;
    LaunchReport report;
    TensorKernel{body, std::vector<std::byte>(16384), 128}.run(device, options, &report);
    if (options.policy == SchedulePolicy::Earliest) first = report.hazards;
    EXPECT_EQ(report.hazards.size(), first.size()) << nameOf(options) << list(report.hazards);
  }
  return first;
}

/// The lane's cell of column kD to global memory, of the lanes below `lanes` in every window.
std::string showLanes(uint32_t lanes) {
  return "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem+" + std::to_string(kD) + "];\n  tcgen05.wait::ld.sync.aligned;\n" +
         outputOfThread(1) + "  setp.lt.u32 %p3, %lane, " + std::to_string(lanes) + ";\n  @%p3 st.global.u32 [%rd9], %r20;\n";
}
std::string copyTo(uint32_t column) {
  return "  add.u64 %rd1, %desc, " + std::to_string(descriptorBits(0, 128, 256)) +
         ";\n  @%issuer tcgen05.cp.cta_group::1.128x256b [%tmem+" + std::to_string(column) + "], %rd1;\n";
}
std::string shiftAt(uint32_t column) {
  return "  @%issuer tcgen05.shift.cta_group::1.down [%tmem+" + std::to_string(column) + "];\n";
}
/// kind::mxf8f6f4, which has no lane mask: M = 128, N = 8.
std::string scaledMma() {
  return "  add.u64 %rd2, %desc, " + std::to_string(descriptorBits(0, 128, 256)) + ";\n  mov.u32 %r1, " +
         std::to_string(1u << 17 | 1u << 23 | 1u << 27) +
         ";\n  setp.ne.u32 %p1, 0, 0;\n  @%issuer tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%tmem+" +
         std::to_string(kD) + "], [%tmem+" + std::to_string(kA) + "], %rd2, %r1, [%tmem+" + std::to_string(kScaleA) + "], [%tmem+" +
         std::to_string(kScaleB) + "], %p1;\n" + commitAndWait(0);
}
std::string denseMma(const std::string& mask) {
  return "  add.u64 %rd2, %desc, " + std::to_string(descriptorBits(0, 128, 256)) + ";\n  mov.u32 %r1, " + mask +
         ";\n  mov.u32 %r2, 0x80000000;\n  setp.ne.u32 %p1, 0, 0;\n  @%issuer tcgen05.mma.cta_group::1.kind::f16 [%tmem+" +
         std::to_string(kD) + "], [%tmem+" + std::to_string(kA) + "], %rd2, 0x08020010, {%r1, %r1, %r1, %r1}, %p1;\n" +
         commitAndWait(0);
}

TEST(UndefinedTensor, StaleRowsOfKindsWithoutMasksAreReportedWhenTheirResultIsUsed) {
  const std::string operands = copyTo(kA) + copyTo(kScaleA) + copyTo(kScaleB);
  EXPECT_TRUE(hazardsOfTensor(operands + scaledMma() + showLanes(32)).empty());
  const std::string settled = operands + commitAndWait(1);
  const std::vector<Hazard> unread = hazardsOfTensor(settled + shiftAt(kA) + scaledMma() + showLanes(31));
  EXPECT_TRUE(unread.empty()) << list(unread);
  const std::vector<Hazard> read = hazardsOfTensor(settled + shiftAt(kA) + scaledMma() + showLanes(32));
  ASSERT_EQ(read.size(), 1u) << list(read);
  EXPECT_EQ(read[0].kind, HazardKind::UndefinedData);
  EXPECT_EQ(read[0].severity, HazardSeverity::Race);
  EXPECT_CONTAINS(read[0].first.what, "stale row of operand A");
  EXPECT_CONTAINS(read[0].first.where, "tcgen05.mma");
  EXPECT_CONTAINS(read[0].second.where, "st.global");
  // Branched on, and used as an address.
  const std::string load =
      "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem+" + std::to_string(kD) + "];\n  tcgen05.wait::ld.sync.aligned;\n";
  for (const std::string& use :
       {std::string("  setp.eq.u32 %p4, %r20, 99;\n  @%p4 bra HERE;\nHERE:\n"),
        std::string("  and.b32 %r20, %r20, 124;\n  add.u32 %r20, %tile, %r20;\n  ld.shared.u32 %r21, [%r20];\n")})
    EXPECT_EQ(hazardsOfTensor(settled + shiftAt(kA) + scaledMma() + load + use).size(), 1u) << use;
}

// Nor does tcgen05.mma.ws have lane masks: M = 128, N = 64.
TEST(UndefinedTensor, StaleRowsOfWeightStationaryProductsToo) {
  const std::string product = "  add.u64 %rd2, %desc, " + std::to_string(descriptorBits(0, 128, 256)) +
                              ";\n  setp.ne.u32 %p1, 0, 0;\n  @%issuer tcgen05.mma.ws.cta_group::1.kind::f16 [%tmem+" +
                              std::to_string(kD) + "], [%tmem+" + std::to_string(kA) + "], %rd2, 0x08100010, %p1;\n" +
                              commitAndWait(0);
  const std::string settled = copyTo(kA) + commitAndWait(1) + shiftAt(kA) + product;
  EXPECT_TRUE(hazardsOfTensor(settled + showLanes(31)).empty());
  const std::vector<Hazard> read = hazardsOfTensor(settled + showLanes(32));
  ASSERT_EQ(read.size(), 1u) << list(read);
  EXPECT_EQ(read[0].severity, HazardSeverity::Race);
  EXPECT_CONTAINS(read[0].first.what, "stale row of operand A");
}

TEST(UndefinedTensor, StaleScaleFactorsAreFollowedToo) {
  const std::string settled = copyTo(kA) + copyTo(kScaleA) + copyTo(kScaleB) + commitAndWait(1);
  EXPECT_TRUE(hazardsOfTensor(settled + shiftAt(kScaleA) + scaledMma() + showLanes(31)).empty());
  const std::vector<Hazard> read = hazardsOfTensor(settled + shiftAt(kScaleA) + scaledMma() + showLanes(32));
  ASSERT_EQ(read.size(), 1u) << list(read);
  EXPECT_CONTAINS(read[0].first.what, "stale row of the scale factors of A");
  // A stale factor of B belongs to column 31, which N = 8 does not reach.
  EXPECT_TRUE(hazardsOfTensor(settled + shiftAt(kScaleB) + scaledMma() + showLanes(32)).empty());
  // Refilled, it is as good as new.
  EXPECT_TRUE(hazardsOfTensor(settled + shiftAt(kScaleA) + commitAndWait(2) + copyTo(kScaleA) + commitAndWait(3) + scaledMma() +
                              showLanes(32))
                  .empty());
}

TEST(UndefinedTensor, NeverWrittenOperandsAreReportedWhenTheirResultIsUsed) {
  const std::string mma = copyTo(kA) + copyTo(kScaleB) + scaledMma();  // no scale factors of A
  const std::vector<Hazard> read = hazardsOfTensor(mma + showLanes(32));
  ASSERT_EQ(read.size(), 1u) << list(read);
  EXPECT_CONTAINS(read[0].first.what, "undefined data of the scale factors of A");
  EXPECT_TRUE(hazardsOfTensor(mma).empty());
}

// A kind that has lane masks gets a remark, too, when it multiplies a stale row although nobody looks at the result.
TEST(UndefinedTensor, StaleRowsInEnabledLanesOfKindsWithMasksAreFormal) {
  const std::string settled = copyTo(kA) + commitAndWait(1) + shiftAt(kA);
  EXPECT_TRUE(hazardsOfTensor(settled + denseMma("0x80000000") + showLanes(31)).empty());
  const std::vector<Hazard> enabled = hazardsOfTensor(settled + denseMma("0") + showLanes(31));
  ASSERT_EQ(enabled.size(), 1u) << list(enabled);
  EXPECT_EQ(enabled[0].severity, HazardSeverity::Formal);
  const std::vector<Hazard> used = hazardsOfTensor(settled + denseMma("0") + showLanes(32));
  ASSERT_EQ(used.size(), 2u) << list(used);
  EXPECT_TRUE(std::any_of(used.begin(), used.end(), [](const Hazard& hazard) { return hazard.severity == HazardSeverity::Race; }));
}

TEST(UndefinedTensor, GoesThroughLoadsAndStores) {
  const std::string load = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem+100];\n  tcgen05.wait::ld.sync.aligned;\n";
  const std::string store =
      "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+" + std::to_string(kD) + "], {%r20};\n  tcgen05.wait::st.sync.aligned;\n";
  EXPECT_TRUE(hazardsOfTensor(load + store).empty());
  const std::vector<Hazard> read = hazardsOfTensor(load + store + showLanes(1));
  ASSERT_EQ(read.size(), 1u) << list(read);
  EXPECT_CONTAINS(read[0].second.where, "st.global");
  EXPECT_TRUE(hazardsOfTensor(load + "  mov.u32 %r20, 1;\n" + store + showLanes(32)).empty());
}

}  // namespace
}  // namespace shiftconv::tests::undefined_test
