// What shipped kernels do and the words of the PTX ISA do not quite allow, or allow although it looks wrong: none of it is a race,
// and each has a neighbour that is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/hazards/expected_hazards.hpp"
#include "tests/support/kernel_run.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::shipped_idioms_test {
namespace {

using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;
using emulator::HazardSeverity;
using emulator::Unproven;

using Expected = ExpectedHazard;

// --- kernels of threads ---------------------------------------------------------------------------------------------

/// %r0 = thread, %r1 = rank in the cluster, %r2 = data, %r3 = bar, %rd2 = output of the thread, %p0 = first thread of the CTA.
const std::string kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 data[1024];
  .shared .align 8 .b64 bar;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %cluster_ctarank;
  setp.eq.u32 %p0, %r0, 0;
  ld.param.u64 %rd0, [out];
  mov.u32 %r2, data;
  mov.u32 %r3, bar;
  shl.b32 %r5, %r0, 2;
  add.u32 %r6, %r2, %r5;
  mov.u32 %r7, %ctaid.x;
  mov.u32 %r8, %ntid.x;
  mad.lo.u32 %r7, %r7, %r8, %r0;
  mul.wide.u32 %rd1, %r7, 4;
  add.u64 %rd2, %rd0, %rd1;
)";
const std::string kEnd = R"(
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
)";

void expectOfKernel(const std::string& body, const LaunchConfig& config, const std::vector<Expected>& expected) {
  for (Options options : schedules(3)) {
    SCOPED_TRACE(nameOf(options));
    options.hazards = HazardMode::Warn;
    LaunchReport report;
    runWords(kBegin + body + kEnd, config, 256, options, &report);
    expectHazards(report.hazards, expected);
  }
}

const std::string kRelaxedClusterBarrier = "  barrier.cluster.arrive.relaxed.aligned;\n  barrier.cluster.wait.acquire.aligned;\n";

/// Every thread reads what its neighbour in the other CTA wrote.
std::string exchange(const std::string& fence, const std::string& barrier) {
  return "  st.shared.u32 [%r6], %r7;\n" + fence + barrier + R"(
  xor.b32 %r9, %r1, 1;
  xor.b32 %r10, %r5, 4;
  add.u32 %r10, %r2, %r10;
  mapa.shared::cluster.u32 %r11, %r10, %r9;
  ld.shared::cluster.u32 %r12, [%r11];
  st.global.u32 [%rd2], %r12;
)";
}

// The PTX ISA's own example: fence.acq_rel.cluster in front of barrier.cluster.arrive.relaxed.
TEST(FencedRelaxedArrive, PublishesWhatTheFenceCovers) {
  const LaunchConfig pair = threads(64, 2, 2);
  const Expected race{HazardKind::Race, HazardSeverity::Race, ""};
  expectOfKernel(exchange("  fence.acq_rel.cluster;\n", kRelaxedClusterBarrier), pair, {});
  expectOfKernel(exchange("", kRelaxedClusterBarrier), pair, {race});
  expectOfKernel(exchange("  fence.acq_rel.cta;\n", kRelaxedClusterBarrier), pair, {race});
  expectOfKernel(exchange("", "  fence.mbarrier_init.release.cluster;\n" + kRelaxedClusterBarrier), pair, {race});
}

TEST(FencedRelaxedArrive, PublishesNothingBehindTheFence) {
  expectOfKernel("  fence.acq_rel.cluster;\n" + exchange("", kRelaxedClusterBarrier), threads(64, 2, 2),
                 {{HazardKind::Race, HazardSeverity::Race, ""}});
}

/// One warp writes, arrives on an mbarrier in the relaxed way, and the other one waits and reads.
std::string handOver(const std::string& fence) {
  return R"(
  @%p0 mbarrier.init.shared.b64 [%r3], 32;
  bar.sync 0;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra WAIT;
  st.shared.u32 [%r6], %r0;
)" + fence +
         R"(
  mbarrier.arrive.relaxed.cta.shared.b64 %rd3, [%r3];
  bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  add.u32 %r9, %r6, -128;
  ld.shared.u32 %r12, [%r9];
  st.global.u32 [%rd2], %r12;
END:
)";
}

TEST(FencedRelaxedArrive, CountsOnAnMbarrierToo) {
  expectOfKernel(handOver("  fence.acq_rel.cta;\n"), threads(64), {});
  expectOfKernel(handOver(""), threads(64), {{HazardKind::Race, HazardSeverity::Race, ""}});
}

/// CUTLASS: mbarrier.init, fence.mbarrier_init, relaxed cluster barrier, then the peer arrives.
std::string initialisedForThePeer(const std::string& fence, const std::string& extra = "") {
  return "  @%p0 mbarrier.init.shared.b64 [%r3], 1;\n" + extra + fence + kRelaxedClusterBarrier + R"(
  xor.b32 %r9, %r1, 1;
  mapa.shared::cluster.u32 %r11, %r3, %r9;
  setp.eq.u32 %p1, %r0, 32;
  @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  st.global.u32 [%rd2], %r0;
)";
}

TEST(FencedRelaxedArrive, MbarrierInitFencePublishesInitialisationsAndNothingElse) {
  const std::string fence = "  fence.mbarrier_init.release.cluster;\n";
  expectOfKernel(initialisedForThePeer(fence), threads(64, 2, 2), {});
  expectOfKernel(initialisedForThePeer(""), threads(64, 2, 2), {{HazardKind::BarrierLifetime, HazardSeverity::Race, ""}});
  expectOfKernel(exchange(fence, kRelaxedClusterBarrier), threads(64, 2, 2), {{HazardKind::Race, HazardSeverity::Race, ""}});
}

TEST(MbarrierInit, WithoutItsFenceButKnownIsFormal) {
  expectOfKernel("  @%p0 mbarrier.init.shared.b64 [%r3], 1;\n  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n" +
                     initialisedForThePeer("").substr(initialisedForThePeer("").find("  xor.b32")),
                 threads(64, 2, 2), {{HazardKind::BarrierLifetime, HazardSeverity::Formal, ""}});
}

// ptxas makes one UBLKCP of operands that are the same in the whole warp.
TEST(BulkStore, OfAWholeWarpWithEqualOperandsIsOneStoreInTheGroupsOfAllLanes) {
  const std::string store = R"(
  st.shared.u32 [%r6], %r0;
  fence.proxy.async.shared::cta;
  bar.warp.sync -1;
  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 128;
  cp.async.bulk.commit_group;
)";
  const std::string wait = "  cp.async.bulk.wait_group 0;\n";
  const std::string reuse = "  st.shared.u32 [%r6], 7;\n";
  for (Options options : schedules(3)) {
    SCOPED_TRACE(nameOf(options));
    options.hazards = HazardMode::Warn;
    LaunchReport report;
    std::vector<uint32_t> expected(32);
    for (uint32_t i = 0; i < 32; ++i) expected[i] = i;
    EXPECT_EQ(runWords(kBegin + store + wait + "  bar.warp.sync -1;\n" + reuse + kEnd, threads(32), 32, options, &report),
              expected);
    expectHazards(report.hazards, {});
    EXPECT_EQ(report.counters.operations.at("cp.async.bulk store: write"), 1u);
    EXPECT_EQ(
        report.counters.bytes[static_cast<size_t>(emulator::Engine::BulkCopy)][static_cast<size_t>(emulator::Traffic::GlobalWrite)],
        128u);
    // Every lane's own group holds the store: whoever waits may go on.
    runWords(kBegin + store + "  @%p0 cp.async.bulk.wait_group 0;\n  bar.warp.sync -1;\n" + reuse + kEnd, threads(32), 32, options,
             &report);
    expectHazards(report.hazards, {});
    runWords(kBegin + store + reuse + wait + kEnd, threads(32), 32, options, &report);
    expectHazards(report.hazards, {{HazardKind::Race, HazardSeverity::Race, ""}});
  }
}

TEST(BulkStore, OfLanesWithTheirOwnOperandsAreMany) {
  LaunchReport report;
  runWords(kBegin + R"(
  shl.b32 %r9, %r0, 4;
  add.u32 %r9, %r2, %r9;
  st.shared.v4.u32 [%r9], {%r0, %r0, %r0, %r0};
  fence.proxy.async.shared::cta;
  mul.wide.u32 %rd3, %r0, 16;
  add.u64 %rd3, %rd0, %rd3;
  cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r9], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)" + kEnd,
           threads(32), 128, {}, &report);
  EXPECT_EQ(report.counters.operations.at("cp.async.bulk store: write"), 32u);
}

// Attention kernels let warps 12 to 14 and 15 of one warpgroup ask for different counts.
TEST(Setmaxnreg, DifferentInOneWarpgroupIsARemark) {
  const std::string body = R"(
  setp.ge.u32 %p1, %r0, 96;
  @%p1 bra LAST;
  setmaxnreg.dec.sync.aligned.u32 48;
  bra END;
LAST:
  setmaxnreg.dec.sync.aligned.u32 40;
END:
)";
  expectOfKernel(body, threads(128), {{HazardKind::RegisterCount, HazardSeverity::Formal, ""}});
  LaunchReport report;
  runWords(kBegin + body + kEnd, threads(128), 256, {}, &report);
  EXPECT_TRUE(report.hazards.empty()) << "hazards off";
}

// --- Tensor Memory ----------------------------------------------------------------------------------------------------

constexpr uint32_t kLeading = 128, kStride = 256, kTileBytes = 4096;
constexpr uint32_t kA = 0, kD = 32, kOtherD = 64;

std::string copy(const char* who = "%issuer", uint32_t tile = 0, const char* shape = "128x256b", uint32_t lane = 0) {
  return "  add.u64 %rd1, %desc, " + std::to_string(descriptorBits(tile * kTileBytes, kLeading, kStride)) +
         ";\n  add.u32 %r10, %tmem, " + std::to_string(lane << 16 | kA) + ";\n  @" + who + " tcgen05.cp.cta_group::1." + shape +
         " [%r10], %rd1;\n";
}
std::string shift() { return "  @%issuer tcgen05.shift.cta_group::1.down [%tmem];\n"; }
/// M = 128, N = 8, f16 to f32: A from Tensor Memory at kA, B from the first tile.
std::string mma(uint32_t d = kD, const char* who = "%issuer", const char* ashift = "") {
  return "  add.u64 %rd2, %desc, " + std::to_string(descriptorBits(0, kLeading, kStride)) + ";\n  setp.ne.u32 %p1, 0, 0;\n  @" +
         who + " tcgen05.mma.cta_group::1.kind::f16" + ashift + " [%tmem+" + std::to_string(d) + "], [%tmem+" + std::to_string(kA) +
         "], %rd2, 0x08020010, %p1;\n";
}
std::string commit(uint32_t bar, const char* who = "%issuer") {
  return "  @" + std::string(who) + " tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+" +
         std::to_string(8 * bar) + "];\n";
}
const std::string kFenceAfter = "  tcgen05.fence::after_thread_sync;\n";

void expectOfTensor(const std::string& body, const std::vector<Expected>& expected) {
  for (Options options : schedules(3)) {
    SCOPED_TRACE(nameOf(options));
    options.hazards = HazardMode::Warn;
    emulator::Emulator device;
    LaunchReport report;
    const TensorKernel kernel{body + commit(3) + waitForCommit(3) + dumpColumns(kD, 8), std::vector<std::byte>(2 * kTileBytes),
                              128 * 8};
    kernel.run(device, options, &report);
    // The last row of a shift is multiplied, too: not what these tests look at.
    std::erase_if(report.hazards, [](const Hazard& hazard) { return hazard.kind == HazardKind::UndefinedData; });
    expectHazards(report.hazards, expected);
  }
}

// A commit that somebody has seen does not take operations out of the order of their thread: cp, mma, shift are a chain.
TEST(TensorOrder, KeepsChainsThroughOperationsThatAreKnownToBeOver) {
  expectOfTensor(copy() + mma() + shift(), {});
  expectOfTensor(copy() + commit(0) + kFenceAfter + mma() + shift() + waitForCommit(0), {});
  expectOfTensor(copy() + commit(0) + waitForCommit(0) + mma() + shift(), {});
  expectOfTensor(copy() + mma() + commit(0) + kFenceAfter + shift() + waitForCommit(0), {});
  expectOfTensor(copy() + mma() + shift() + commit(0) + kFenceAfter + mma() + waitForCommit(0), {});
}

TEST(TensorOrder, OfOneThreadBeyondTheListedPairsReliesOnAQuestion) {
  const Expected u6{HazardKind::ReliesOn, HazardSeverity::Unproven, "U6"};
  const Expected u31{HazardKind::ReliesOn, HazardSeverity::Unproven, "U31"};
  expectOfTensor(copy() + mma() + copy("%issuer", 1), {u6});
  expectOfTensor(copy() + copy("%issuer", 1) + mma(), {u6});
  expectOfTensor(copy() + shift() + mma(), {u6});
  expectOfTensor(copy() + mma() + commit(0) + waitForCommit(0) + copy("%issuer", 1), {});
  // Another accumulator over the operand of the mma before.
  expectOfTensor(copy() + mma() + mma(kA), {u31});
  expectOfTensor(copy() + mma() + mma(kOtherD), {});
}

TEST(TensorOrder, IsARaceUnderTheAlternative) {
  for (const auto& [body, question] :
       {std::pair{copy() + mma() + copy("%issuer", 1), Unproven::U6}, std::pair{copy() + mma() + mma(kA), Unproven::U31}}) {
    Options options;
    options.hazards = HazardMode::Warn;
    options.semantics.choose(question, 1);
    emulator::Emulator device;
    LaunchReport report;
    TensorKernel{body + commit(3) + waitForCommit(3) + dumpColumns(kD, 8), std::vector<std::byte>(2 * kTileBytes), 128 * 8}.run(
        device, options, &report);
    expectHazards(report.hazards, {{HazardKind::Race, HazardSeverity::Race, ""}});
    EXPECT_EQ(report.counters.unprovenUses[static_cast<size_t>(question)], 1u);
    EXPECT_EQ(report.counters.hazards[static_cast<size_t>(HazardSeverity::Race)], report.hazards.size());
  }
}

// tcgen05.mma.ws, M = 128, N = 64, B from the second tile: reads and writes like other products.
TEST(TensorOrder, OfWeightStationaryProducts) {
  const auto stationary = [](const char* collector) {
    return "  add.u64 %rd2, %desc, " + std::to_string(descriptorBits(kTileBytes, kLeading, kStride)) +
           ";\n  setp.ne.u32 %p1, 0, 0;\n  @%issuer tcgen05.mma.ws.cta_group::1.kind::f16" + collector + " [%tmem+" +
           std::to_string(kD) + "], [%tmem+" + std::to_string(kA) + "], %rd2, 0x08100010, %p1;\n";
  };
  const std::string fill = stationary(".collector::b1::fill"), use = stationary(".collector::b1::lastuse");
  const std::string write = "  @%issuer st.shared.u32 [%tile+" + std::to_string(kTileBytes) + "], 7;\n";
  const Expected race{HazardKind::Race, HazardSeverity::Race, ""};
  expectOfTensor(copy() + stationary("") + stationary(""), {});
  expectOfTensor(copy() + stationary("") + commit(0) + waitForCommit(0) + write, {});
  expectOfTensor(copy() + stationary("") + write, {race});
  // What the collector may keep has to stay in shared memory all the same.
  expectOfTensor(copy() + fill + use, {});
  expectOfTensor(copy() + fill + commit(0) + waitForCommit(0) + use + write, {race});
  // A product with another layout of D for all one knows: nothing in the ISA orders the two.
  expectOfTensor(copy() + stationary("") + mma(), {{HazardKind::ReliesOn, HazardSeverity::Unproven, "U31"}});
}

// cp by one thread, mma by another one: a synchronisation without fences is formal, none at all a race.
TEST(TensorFences, MissingAroundASynchronisationAreFormal) {
  const std::string rest = mma(kD, "%second") + commit(0, "%second") + waitForCommit(0);
  const Expected formal{HazardKind::TensorFence, HazardSeverity::Formal, ""};
  expectOfTensor(copy() + fencedBarrier() + rest, {});
  expectOfTensor(copy() + "  bar.sync 0;\n" + rest, {formal});
  expectOfTensor(copy() + "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n" + rest, {formal});
  expectOfTensor(copy() + "  bar.sync 0;\n" + kFenceAfter + rest, {formal});
  expectOfTensor(copy() + rest, {{HazardKind::Race, HazardSeverity::Race, ""}});
}

// Known through a commit, but read without fence::after_thread_sync, as CUTLASS does.
TEST(TensorFences, MissingBehindACommitAreFormal) {
  const std::string wait = "W:\n  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%bar], 0;\n  @!%p6 bra W;\n";
  const std::string read = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem+32];\n  tcgen05.wait::ld.sync.aligned;\n";
  expectOfTensor(copy() + mma() + commit(0) + wait + kFenceAfter + read, {});
  expectOfTensor(copy() + mma() + commit(0) + wait + read, {{HazardKind::TensorFence, HazardSeverity::Formal, ""}});
  // Only the issuing lane's fence: the load is by all lanes.
  expectOfTensor(copy() + mma() + commit(0) + wait + "  @%issuer tcgen05.fence::after_thread_sync;\n" + read,
                 {{HazardKind::TensorFence, HazardSeverity::Formal, ""}});
}

const std::string kLoad = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem+32];\n";
const std::string kStore = "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+32], {%thread};\n";
const std::string kWaitLoad = "  tcgen05.wait::ld.sync.aligned;\n", kWaitStore = "  tcgen05.wait::st.sync.aligned;\n";
const std::string kUse = "  add.u32 %r21, %r20, 1;\n";

TEST(TensorWaits, MissingBetweenOperationsOfOneWarpAreFormal) {
  const Expected order{HazardKind::TensorWait, HazardSeverity::Formal, ""};
  const Expected use{HazardKind::PendingRegister, HazardSeverity::Formal, ""};
  const std::string product = copy() + mma() + commit(0) + waitForCommit(0);
  expectOfTensor(product + kLoad + kWaitLoad + kUse, {});
  expectOfTensor(product + kLoad + kUse + kWaitLoad, {use});
  expectOfTensor(product + kStore + kWaitStore + kLoad + kWaitLoad, {});
  expectOfTensor(product + kStore + kLoad + kWaitLoad + kWaitStore, {order});
  expectOfTensor(product + kLoad + kStore + kWaitLoad + kWaitStore, {order});
}

// What a use has waited for is over: the columns may be overwritten, after a synchronisation, without another wait.
TEST(TensorWaits, AUseCountsAsCompletion) {
  const std::string product = copy() + mma() + commit(0) + waitForCommit(0);
  const std::string again = mma() + commit(1) + waitForCommit(1);
  const Expected use{HazardKind::PendingRegister, HazardSeverity::Formal, ""};
  expectOfTensor(product + kLoad + kUse + fencedBarrier() + again, {use});
  expectOfTensor(product + kLoad + fencedBarrier() + again + kWaitLoad, {{HazardKind::Race, HazardSeverity::Race, ""}});
}

// --- tcgen05.alloc of a pair ----------------------------------------------------------------------------------------------

/// The first CTA arrives at the allocation at once, the second one after `spins` rounds; the first one's thread 0 multiplies into
/// both CTAs' columns as soon as its own CTA knows the address.
TensorKernel pairKernel(uint32_t spins, const std::string& behindAllocation) {
  TensorKernel kernel;
  kernel.columns = 0;
  kernel.ctas = kernel.ctaGroup = 2;
  kernel.outputWords = 128;
  kernel.input.resize(2 * kTileBytes);
  kernel.body = R"(
  setp.eq.u32 %p2, %rank, 1;
  @!%p2 bra NOW;
  mov.u32 %r1, 0;
SPIN:
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p3, %r1, )" +
                std::to_string(spins) + R"(;
  @%p3 bra SPIN;
NOW:
  @!%firstwarp bra ALLOCATED;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 64;
  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
ALLOCATED:
)" + behindAllocation +
                R"(
  ld.shared.u32 %tmem, [%slot];
  and.pred %p4, %issuer, %issuer;
  setp.ne.u32 %p1, 0, 0;
  setp.eq.and.u32 %p4, %rank, 0, %issuer;
  add.u64 %rd2, %desc, )" +
                std::to_string(descriptorBits(0, kLeading, kStride)) + R"(;
  mov.b16 %h0, 3;
  @%p4 tcgen05.mma.cta_group::2.kind::f16 [%tmem], %rd2, %rd2, 0x10040010, %p1;
  @%p4 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h0;
)" + waitForCommit(0) +
                R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem];
  tcgen05.wait::ld.sync.aligned;
)" + outputOfThread(1) +
                R"(
  st.global.u32 [%rd9], %r20;
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @!%firstwarp bra FREED;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %tmem, 64;
FREED:
)";
  return kernel;
}

TEST(PairAllocation, IsARendezvousWhoseEdgeOrdersTheColumnsOfBothCtas) {
  for (Options options : schedules(4))
    for (const uint32_t spins : {1u, 3000u}) {
      SCOPED_TRACE(nameOf(options));
      options.hazards = HazardMode::Warn;
      emulator::Emulator device;
      LaunchReport report;
      const TensorKernel kernel = pairKernel(spins, fencedBarrier());
      EXPECT_EQ(kernel.run(device, options, &report), std::vector<uint32_t>(256, 0u));
      expectHazards(report.hazards, {});
    }
}

TEST(PairAllocation, OrdersNothingElse) {
  // The second CTA writes a word in front of the allocation, and the first one reads it after it.
  TensorKernel kernel = pairKernel(1, fencedBarrier());
  const std::string label = "NOW:\n";
  kernel.body.insert(kernel.body.find(label), "  @%issuer st.shared.u32 [%tile+60000], %r1;\n");
  const std::string read = R"(
  mov.u32 %r3, 1;
  add.u32 %r2, %tile, 60000;
  mapa.shared::cluster.u32 %r4, %r2, %r3;
  @%issuer ld.shared::cluster.u32 %r5, [%r4];
)";
  kernel.body.insert(kernel.body.find("  ld.shared.u32 %tmem"), read);
  Options options;
  options.hazards = HazardMode::Warn;
  emulator::Emulator device;
  LaunchReport report;
  kernel.run(device, options, &report);
  expectHazards(report.hazards, {{HazardKind::Race, HazardSeverity::Race, ""}});
}

TEST(PairAllocation, OfOneCtaOnlyWaitsForEver) {
  TensorKernel kernel = pairKernel(1, fencedBarrier());
  const std::string allocation = "  @!%firstwarp bra ALLOCATED;\n";
  kernel.body.insert(kernel.body.find(allocation), "  @%p2 bra ALLOCATED;\n");
  emulator::Emulator device;
  try {
    kernel.run(device, {});
    ADD_FAILURE() << "no deadlock";
  } catch (const EmulatorError& error) {
    EXPECT_CONTAINS(error.what(), "tcgen05.alloc.cta_group::2 of CTA 1");
  }
}

TEST(PairAllocation, RefusesUnequalSizes) {
  TensorKernel kernel = pairKernel(1, fencedBarrier());
  const std::string size = "[%slot], 64;";
  kernel.body.replace(kernel.body.find(size), size.size(), "[%slot], %r9;");
  kernel.body.insert(0, "  shl.b32 %r9, %rank, 5;\n  add.u32 %r9, %r9, 32;\n");
  emulator::Emulator device;
  try {
    kernel.run(device, {});
    ADD_FAILURE() << "no error";
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Synchronisation);
    EXPECT_CONTAINS(error.what(), "allocate together");
  }
}

// --- filters ----------------------------------------------------------------------------------------------------------

TEST(Severities, FilterWhatIsReportedAndWhatEndsTheLaunch) {
  const std::string body = copy() + mma() + copy("%issuer", 1) + commit(3) + waitForCommit(3);
  const auto run = [&](const std::string& severities, HazardMode mode) {
    Options options;
    options.hazards = mode;
    EXPECT_TRUE(options.severities.parse(severities));
    emulator::Emulator device;
    LaunchReport report;
    TensorKernel{body, std::vector<std::byte>(2 * kTileBytes), 1}.run(device, options, &report);
    return report.hazards.size();
  };
  EXPECT_EQ(run("race,formal", HazardMode::Warn), 0u);
  EXPECT_EQ(run("race,formal", HazardMode::Error), 0u);
  EXPECT_EQ(run("unproven", HazardMode::Warn), 2u) << "behind the read of the mma, and behind the first copy";
  EXPECT_THROW(run("race,unproven", HazardMode::Error), EmulatorError);
  emulator::SeveritySet set;
  EXPECT_FALSE(set.parse("race,"));
  EXPECT_FALSE(set.parse("warning"));
  EXPECT_TRUE(set.contains(HazardSeverity::Formal)) << "a refused text changes nothing";
}

}  // namespace
}  // namespace shiftconv::tests::shipped_idioms_test
