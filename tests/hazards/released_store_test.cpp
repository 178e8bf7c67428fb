// tcgen05.st without wait::st, after which threads release something: question U35.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/hazards/expected_hazards.hpp"
#include "tests/support/kernel_run.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::released_store_test {
namespace {

using emulator::HazardKind;
using emulator::HazardMode;
using emulator::HazardSeverity;
using emulator::Unproven;

constexpr uint32_t kA = 0, kD = 32;
constexpr uint32_t kOnes = 0x3c003c00;     // two f16
constexpr uint32_t kSixteen = 0x41800000;  // f32: 16 products of ones

/// Every thread writes its row of A, 16 elements.
std::string storeA(uint32_t pair) {
  std::string text, list;
  for (int i = 20; i < 28; ++i) {
    text += "  mov.u32 %r" + std::to_string(i) + ", " + std::to_string(pair) + ";\n";
    list += (i == 20 ? "%r" : ", %r") + std::to_string(i);
  }
  return text + "  tcgen05.st.sync.aligned.32x32b.x8.b32 [%tmem+" + std::to_string(kA) + "], {" + list + "};\n";
}

const std::string kWaitStore = "  tcgen05.wait::st.sync.aligned;\n";
/// A is zero, %bar+16 an mbarrier of `arrivals`, %slot a counter at 0, and everybody knows.
std::string prepare(uint32_t arrivals) {
  return storeA(0) + kWaitStore + R"(
  @%issuer mbarrier.inval.shared::cta.b64 [%bar+16];
  @%issuer mbarrier.init.shared::cta.b64 [%bar+16], )" +
         std::to_string(arrivals) + R"(;
  setp.ne.u32 %p2, %lane, 0;
  bar.sync 0;
  @%issuer st.shared.u32 [%slot], 0;
)" + fencedBarrier();
}

const std::string kMultiply = "  add.u64 %rd2, %desc, " + std::to_string(descriptorBits(0, 128, 256)) +
                              ";\n  setp.ne.u32 %p1, 0, 0;\n"
                              "  @%issuer tcgen05.mma.cta_group::1.kind::f16 [%tmem+32], [%tmem], %rd2, 0x08020010, %p1;\n" +
                              commitAndWait(3);
const std::string kWaitForArrivals = "AW:\n  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar+16], 0;\n  @!%p3 bra AW;\n";
/// Releases by all threads, each with what acquires it.
const std::string kArrive = "  mbarrier.arrive.shared::cta.b64 _, [%bar+16];\n";
const std::string kFencedArrive = "  fence.acq_rel.cta;\n  mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%bar+16];\n";
std::string counted(const std::string& add) {
  return "  " + add + "\nC:\n  ld.acquire.cta.shared.u32 %r2, [%slot];\n  setp.ne.u32 %p3, %r2, 128;\n  @%p3 bra C;\n";
}

struct Outcome {
  std::vector<uint32_t> product;
  LaunchReport report;
};

Outcome run(const std::string& body, Options options, uint8_t alternative, uint32_t arrivals = 128) {
  options.hazards = HazardMode::Warn;
  options.semantics.choose(Unproven::U35, alternative);
  emulator::Emulator device;
  std::vector<std::byte> input(4096);
  for (size_t i = 0; i < input.size(); i += 2) input[i + 1] = std::byte{kOnes >> 24};
  Outcome result;
  result.product = TensorKernel{prepare(arrivals) + body + dumpColumns(kD, 8), input, 128 * 8}.run(device, options, &result.report);
  return result;
}

uint64_t uses(const Outcome& run) { return run.report.counters.unprovenUses[static_cast<size_t>(Unproven::U35)]; }

const ExpectedHazard kFormal{HazardKind::TensorWait, HazardSeverity::Formal, ""};
const ExpectedHazard kOutlivesFormally{HazardKind::Outlives, HazardSeverity::Formal, ""};
const ExpectedHazard kOutlives{HazardKind::Outlives, HazardSeverity::Race, ""};

const std::vector<std::string> kReleases = {
    "  bar.sync 0;\n",
    fencedBarrier(),
    "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n",
    kArrive + kWaitForArrivals,
    kFencedArrive + kWaitForArrivals,
    counted("red.release.cta.shared.add.u32 [%slot], 1;"),
    counted("atom.acq_rel.cta.shared.add.u32 %r2, [%slot], 1;"),
};

// CUTLASS's attention hands over row statistics like this.
TEST(ReleasedStore, IsCompleteForWhoeverAcquiresAndLacksItsWaitFormally) {
  for (const std::string& release : kReleases)
    for (const Options& options : schedules(4)) {
      SCOPED_TRACE(nameOf(options) + "\n" + release);
      const Outcome waited = run(storeA(kOnes) + kWaitStore + fencedBarrier() + release + kMultiply, options, 0);
      EXPECT_EQ(waited.product, std::vector<uint32_t>(128 * 8, kSixteen));
      expectHazards(waited.report.hazards, {});
      EXPECT_EQ(uses(waited), 0u);
      // Whatever knows of the product knows of the stores that it read.
      const Outcome released = run(storeA(kOnes) + release + kMultiply, options, 0);
      EXPECT_EQ(released.product, std::vector<uint32_t>(128 * 8, kSixteen));
      expectHazards(released.report.hazards, {kFormal, kOutlivesFormally});
      EXPECT_EQ(uses(released), 4u) << "once for every warp";
    }
}

TEST(ReleasedStore, IsARaceUnderTheAlternative) {
  for (const std::string& release : kReleases) {
    SCOPED_TRACE(release);
    Options options;
    options.policy = emulator::SchedulePolicy::Latest;
    const Outcome late = run(storeA(kOnes) + release + kMultiply + kWaitStore, options, 1);
    EXPECT_EQ(late.product, std::vector<uint32_t>(128 * 8, 0u)) << "the stores come last";
    expectHazards(late.report.hazards, {kRace});
    EXPECT_EQ(uses(late), 4u);
  }
}

TEST(ReleasedStore, ThatNothingReleasesIsARace) {
  const std::string lateWait = kMultiply + kWaitStore;
  for (const std::string& body :
       {storeA(kOnes) + lateWait, storeA(kOnes) + "  tcgen05.fence::before_thread_sync;\n  bar.warp.sync -1;\n" + lateWait,
        storeA(kOnes) + "  mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%bar+16];\n" + kWaitForArrivals + lateWait,
        "  bar.sync 0;\n" + storeA(kOnes) + lateWait}) {
    SCOPED_TRACE(body);
    for (const Options& options : schedules(3)) expectHazards(run(body, options, 0).report.hazards, {kRace});
  }
}

// Every lane stores: what one of them releases says nothing of the others, unless it has heard of them.
TEST(ReleasedStore, OfAWarpIsNotReleasedByOneLane) {
  const std::string one = "  @!%p2 mbarrier.arrive.shared::cta.b64 _, [%bar+16];\n" + kWaitForArrivals + kMultiply + kWaitStore;
  for (const Options& options : schedules(3)) {
    SCOPED_TRACE(nameOf(options));
    expectHazards(run(storeA(kOnes) + one, options, 0, 4).report.hazards, {kRace});
    expectHazards(run(storeA(kOnes) + "  bar.warp.sync -1;\n" + one, options, 0, 4).report.hazards, {kFormal});
  }
}

// Freed after a barrier, and not used by anything else. What the warp loads afterwards from other columns says nothing of the
// store.
TEST(ReleasedStore, MayLoseItsColumnsFormally) {
  for (const Options& options : schedules(3)) {
    SCOPED_TRACE(nameOf(options));
    expectHazards(run(kMultiply + fencedBarrier() + storeA(kOnes), options, 0).report.hazards, {kFormal, kOutlivesFormally});
  }
  // Under a later schedule the stores would come after the end of the columns, which is an error.
  expectHazards(run(kMultiply + fencedBarrier() + storeA(kOnes), {}, 1).report.hazards, {kRace, kOutlives});
}

// Without the question, a load that follows the store shows that it is over; one of other columns does not.
TEST(ReleasedStore, IsShownByALoadOfItsColumnsOnly) {
  const auto loaded = [](uint32_t column) {
    return storeA(kOnes) + "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r30}, [%tmem+" + std::to_string(column) +
           "];\n  tcgen05.wait::ld.sync.aligned;\n" + fencedBarrier() + kMultiply + kWaitStore;
  };
  for (const Options& options : schedules(3)) {
    SCOPED_TRACE(nameOf(options));
    expectHazards(run(loaded(kA), options, 1).report.hazards, {kFormal});
    expectHazards(run(loaded(kD), options, 1).report.hazards, {kRace});
  }
}

}  // namespace
}  // namespace shiftconv::tests::released_store_test
