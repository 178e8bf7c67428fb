// What the PTX ISA forbids and shipped programs do all the same: the machine does what hardware is known to do, and says so.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hazards/expected_hazards.hpp"
#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::tolerated_test {
namespace {

using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;
using emulator::HazardSeverity;

using Expected = ExpectedHazard;
const Expected kFormalRace{HazardKind::Race, HazardSeverity::Formal, ""};
const Expected kRule{HazardKind::BrokenRule, HazardSeverity::Race, ""};
const Expected kAddress{HazardKind::AddressSpace, HazardSeverity::Formal, ""};

/// %r0 = thread, %r1 = warp, %r2 = data, %r3 = bar, %r4 = slot; %rd2, %rd3, %rd4 = their generic addresses; %rd0 = output, %rd1 =
/// output of the thread; %p0 = first thread, %p1 = not of the first warp.
const std::string kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  .shared .align 128 .b8 data[1024];
  .shared .align 8 .b64 bar;
  .shared .align 16 .b64 slot;
  mov.u32 %r0, %tid.x;
  shr.u32 %r1, %r0, 5;
  setp.eq.u32 %p0, %r0, 0;
  setp.ne.u32 %p1, %r1, 0;
  ld.param.u64 %rd0, [out];
  mov.u32 %r2, data;
  mov.u32 %r3, bar;
  mov.u32 %r4, slot;
  cvt.u64.u32 %rd2, %r2;
  cvta.shared.u64 %rd2, %rd2;
  cvt.u64.u32 %rd3, %r3;
  cvta.shared.u64 %rd3, %rd3;
  cvt.u64.u32 %rd4, %r4;
  cvta.shared.u64 %rd4, %rd4;
  mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, %ntid.x;
  mad.lo.u32 %r7, %r5, %r6, %r0;
  mul.wide.u32 %rd1, %r7, 4;
  add.u64 %rd1, %rd0, %rd1;
)";
const std::string kEnd = "  ret;\n}\n";

std::vector<uint32_t> expectOf(const std::string& body, const LaunchConfig& config, const std::vector<Expected>& expected,
                               std::vector<Hazard>* seen = nullptr) {
  std::vector<uint32_t> first;
  for (Options options : schedules(2)) {
    SCOPED_TRACE(nameOf(options) + "\n" + body);
    options.hazards = HazardMode::Warn;
    LaunchReport report;
    const std::vector<uint32_t> out = runWords(kBegin + body + kEnd, config, 512, options, &report);
    expectHazards(report.hazards, expected);
    if (first.empty()) first = out;
    EXPECT_EQ(out, first);
    if (seen != nullptr) *seen = report.hazards;
  }
  return first;
}

// --- generic addresses -----------------------------------------------------------------------------------------------

/// Everything that ThunderKittens does with shared memory, each operand by its name: a 32-bit window address or a generic one.
struct Operands {
  std::string data = "%r2", bar = "%r3", slot = "%r4";
};
std::string kernelWith(const Operands& operands) {
  std::string body = R"(
  @%p0 mbarrier.init.shared::cta.b64 [BAR], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [SLOT], 64;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
  @%p0 st.global.v4.u32 [%rd0+1024], {11, 12, 13, 14};
  fence.proxy.async;
  bar.sync 0;
  @!%p0 bra ISSUED;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [BAR], 16;
  add.u64 %rd5, %rd0, 1024;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [DATA], [%rd5], 16, [BAR];
ISSUED:
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [BAR], 0;
  @!%p2 bra WAIT;
  ld.shared::cta.u32 %r10, [DATA+8];
  ld.shared.u32 %r11, [SLOT];
  bar.sync 1;
  @%p0 st.shared.u32 [DATA+4], 5;
  @%p0 atom.shared::cta.add.u32 %r12, [DATA+4], 2;
  bar.sync 2;
  ld.shared::cluster.u32 %r13, [DATA+4];
  add.u32 %r10, %r10, %r13;
  st.global.u32 [%rd1], %r10;
  bar.sync 3;
  fence.proxy.async;
  @!%p0 bra STORED;
  add.u64 %rd5, %rd0, 1040;
  cp.async.bulk.global.shared::cta.bulk_group [%rd5], [DATA], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
STORED:
  @%p1 bra FREED;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 64;
FREED:
)";
  for (const auto& [name, value] : {std::pair{"DATA", operands.data}, {"BAR", operands.bar}, {"SLOT", operands.slot}})
    for (size_t at = body.find(name); at != std::string::npos; at = body.find(name))
      if (at > 0 && (body[at - 1] == '['))
        body.replace(at, 4 - (name == std::string("BAR")), value);
      else
        break;
  return body;
}

TEST(GenericAddresses, InPlaceOfWindowAddressesAreFormal) {
  const LaunchConfig config = threads(96);
  const std::vector<uint32_t> expected = expectOf(kernelWith({}), config, {});
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(expected[i], 13u + 7u) << i;
  EXPECT_EQ(std::vector<uint32_t>(expected.begin() + 260, expected.begin() + 264), (std::vector<uint32_t>{11, 7, 13, 14}));
  for (const Operands& operands : {Operands{.data = "%rd2"}, {.bar = "%rd3"}, {.slot = "%rd4"}, {"%rd2", "%rd3", "%rd4"}}) {
    std::vector<Hazard> hazards;
    EXPECT_EQ(expectOf(kernelWith(operands), config, {kAddress}, &hazards), expected);
    EXPECT_EQ(runWords(kBegin + kernelWith(operands) + kEnd, config, 512), expected) << "hazards off";
    for (const Hazard& hazard : hazards) {
      if (hazard.kind == HazardKind::AddressSpace) {
        EXPECT_CONTAINS(hazard.missing, "cvta.to.shared");
      }
    }
  }
}

TEST(GenericAddresses, OfOtherMemoriesAreErrors) {
  for (const char* body : {"  st.shared.u32 [%rd0], 1;\n", "  mbarrier.init.shared::cta.b64 [%rd0], 1;\n",
                           "  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%rd0], 16;\n"})
    EXPECT_EQ(errorOf(kBegin + body + kEnd, threads(1)).kind(), ErrorKind::OutOfBounds) << body;
  // One byte after shared memory, and the window of a CTA that the cluster lacks.
  EXPECT_EQ(errorOf(kBegin + "  st.shared.u8 [%rd4+16], 1;\n" + kEnd, threads(1)).kind(), ErrorKind::OutOfBounds);
  EXPECT_EQ(errorOf(kBegin + "  add.u64 %rd4, %rd4, 0x1000000;\n  st.shared.u8 [%rd4], 1;\n" + kEnd, threads(1)).kind(),
            ErrorKind::OutOfBounds);
}

// --- rules of barriers and allocations ---------------------------------------------------------------------------------

TEST(SecondInit, OfALiveMbarrierIsReportedAndTheLaunchGoesOn) {
  const std::string body = R"(
  @%p0 mbarrier.init.shared::cta.b64 [%r3], 3;
  @%p0 mbarrier.arrive.shared::cta.b64 _, [%r3];
  @%p0 mbarrier.init.shared::cta.b64 [%r3], 32;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  st.global.u32 [%rd1], %r0;
)";
  std::vector<Hazard> hazards;
  const std::vector<uint32_t> out = expectOf(body, threads(32), {kRule}, &hazards);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i);
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_CONTAINS(hazards[0].second.what, "mbarrier.init over the live mbarrier");
  EXPECT_CONTAINS(hazards[0].second.what, "pending 2 of 3");
  expectOf(replaced(body, "  @%p0 mbarrier.init.shared::cta.b64 [%r3], 32;",
                    "  @%p0 mbarrier.inval.shared::cta.b64 [%r3];\n  @%p0 mbarrier.init.shared::cta.b64 [%r3], 32;"),
           threads(32), {});
  for (const HazardMode mode : {HazardMode::Off, HazardMode::Error}) {
    Options options;
    options.hazards = mode;
    const EmulatorError error = errorOf(kBegin + body + kEnd, threads(32), options);
    EXPECT_EQ(error.kind(), ErrorKind::Synchronisation);
    EXPECT_CONTAINS(error.what(), "invalidate it first");
  }
}

TEST(RepeatedDealloc, IsReportedAndTheLaunchGoesOn) {
  const std::string body = R"(
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4+4], 32;
  bar.warp.sync -1;
  ld.shared.v2.u32 {%r10, %r11}, [%r4];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%r0};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r12}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  st.global.u32 [%rd1], %r12;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 32;
)";
  std::vector<Hazard> hazards;
  const std::vector<uint32_t> out = expectOf(body, threads(32), {kRule}, &hazards);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i);
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_CONTAINS(hazards[0].second.what, "where no live allocation starts (allocated columns: 32..63)");
  for (const HazardMode mode : {HazardMode::Off, HazardMode::Error}) {
    Options options;
    options.hazards = mode;
    EXPECT_EQ(errorOf(kBegin + body + kEnd, threads(32), options).kind(), ErrorKind::Synchronisation);
  }
  // Another size than that of the allocation stays an error: what hardware does with it nobody knows.
  Options options;
  options.hazards = HazardMode::Warn;
  EXPECT_EQ(errorOf(kBegin + replaced(body, "%r10, 32;", "%r10, 64;") + kEnd, threads(32), options).kind(),
            ErrorKind::Synchronisation);
}

// --- collective instructions, exits, relaxed arrivals --------------------------------------------------------------------

TEST(Allocation, IsReadByTheLanesOfItsWarpFormally) {
  const std::string body = R"(
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32;
  ld.shared.u32 %r10, [%r4];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
ALLOCATED:
)";
  std::vector<Hazard> hazards;
  expectOf(body, threads(64), {kFormalRace}, &hazards);
  ASSERT_FALSE(hazards.empty());
  EXPECT_CONTAINS(hazards[0].missing, "bar.warp.sync");
  expectOf(replaced(body, "  ld.shared", "  bar.warp.sync -1;\n  ld.shared"), threads(64), {});
  // Another warp's read is a race, also where the first warp's is formal.
  const std::string other = "  @%p1 ld.shared.u32 %r11, [%r4];\n";
  const std::string marked = "  @%p0 st.shared.u32 [%r4], 9;\n  bar.sync 0;\n" + body;
  expectOf(marked + other, threads(64), {kFormalRace, kRace});
}

const std::string kClusterBarrier = "  barrier.cluster.arrive.release;\n  barrier.cluster.wait.acquire;\n";

/// The second warp of the second CTA writes to the first one's shared memory and exits; the first warps meet at a cluster barrier.
std::string exiting(const std::string& behind) {
  return R"(
  st.shared.u32 [%r2], 1;
  mov.u32 %r8, %cluster_ctarank;
  mov.u32 %r9, 0;
  mapa.shared::cluster.u32 %r10, %r2, %r9;
)" + kClusterBarrier +
         R"(
  @!%p1 bra MEET;
  setp.eq.u32 %p2, %r8, 1;
  @%p2 st.shared::cluster.u32 [%r10], 5;
)" + behind +
         R"(
  ret;
MEET:
)" + kClusterBarrier +
         R"(
  setp.eq.and.u32 %p3, %r8, 0, %p0;
  @%p3 ld.shared.u32 %r11, [%r2];
)";
}

TEST(Exit, IsCountedByAClusterBarrierAndOrdersFormally) {
  const Expected outlives{HazardKind::Outlives, HazardSeverity::Formal, ""};
  // Every thread writes the same words of its own CTA first, and so do the lanes of the warp that exits.
  expectOf(exiting(""), threads(64, 2, 2), {kFormalRace, outlives});
  expectOf(exiting(kClusterBarrier), threads(64, 2, 2), {kFormalRace});
}

TEST(RelaxedArrival, IsNamedWhereTheWaitIsThere) {
  const std::string body = R"(
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32;
ALLOCATED:
  bar.sync 0;
  ld.shared.u32 %r10, [%r4];
  shl.b32 %r11, %r1, 21;
  add.u32 %r11, %r10, %r11;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%r0};
  tcgen05.wait::st.sync.aligned;
  bar.sync 1;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r12}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  @%p1 bra FREED;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
FREED:
  st.global.u32 [%rd1], %r12;
)";
  std::vector<Hazard> hazards;
  expectOf(body, threads(64), {kRace}, &hazards);
  ASSERT_FALSE(hazards.empty());
  for (const Hazard& hazard : hazards) {
    EXPECT_CONTAINS(hazard.missing, "which is there");
    EXPECT_CONTAINS(hazard.missing, "the relaxed arrival at PTX line");
  }
  expectOf(replaced(body, "arrive.relaxed", "arrive.release"), threads(64), {});
}

}  // namespace
}  // namespace shiftconv::tests::tolerated_test
