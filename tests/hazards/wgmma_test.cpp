// The hazard checker and wgmma: the right order is silent under every schedule, and each thing left out of it is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/wgmma_kernel.hpp"

namespace shiftconv::tests::wgmma_test {
namespace {

using namespace emulator;

constexpr uint32_t kOperandB = 4096;
const std::string kFence = "  wgmma.fence.sync.aligned;\n", kCommit = "  wgmma.commit_group.sync.aligned;\n",
                  kWait = "  wgmma.wait_group.sync.aligned 0;\n";
const std::string kDescriptors = fmt::format("  add.u64 %rd0, %desc, {:#x};\n  add.u64 %rd1, %desc, {:#x};\n",
                                             wgmmaDescriptor(0, 1024, 128), wgmmaDescriptor(kOperandB, 128, 128));
const std::string kProduct =
    "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd0, %rd1, 1, 1, 1, 0, 0;\n";
const std::string kRegisterProduct =
    "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %rd1, 1, 1, 1, 0;\n";
/// Of another shape, with the same accumulators.
const std::string kShallowProduct =
    "  wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%d0, %d1, %d2, %d3}, %rd0, %rd1, 1, 1, 1;\n";
/// Every thread writes a word of operand B.
const std::string kOverwrite = fmt::format("  mad.lo.u32 %r0, %thread, 4, %tile;\n  st.shared.b32 [%r0+{}], %thread;\n", kOperandB);

std::vector<Hazard> hazardsOf(const std::string& body, SchedulePolicy policy, uint64_t seed = 1, uint32_t threads = 128) {
  WgmmaKernel kernel;
  kernel.threads = threads;
  kernel.image.assign(8192, std::byte{});
  kernel.body = kDescriptors + body;
  Options options;
  options.hazards = HazardMode::Warn;
  options.policy = policy;
  options.seed = seed;
  Emulator machine;
  LaunchReport report;
  kernel.run(machine, options, &report);
  return report.hazards;
}

std::string all(const std::vector<Hazard>& hazards) {
  std::string text;
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
}

void expectSilent(const std::string& body, uint32_t threads = 128) {
  for (const SchedulePolicy policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest, SchedulePolicy::Random})
    for (uint64_t seed = 1; seed <= (policy == SchedulePolicy::Random ? 5u : 1u); ++seed) {
      const std::vector<Hazard> hazards = hazardsOf(body, policy, seed, threads);
      EXPECT_TRUE(hazards.empty()) << "policy " << static_cast<int>(policy) << ", seed " << seed << "\n" << all(hazards);
    }
}

void expectHazard(const std::string& body, HazardKind kind, const std::string& part, uint32_t threads = 128) {
  for (const SchedulePolicy policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest}) {
    const std::vector<Hazard> hazards = hazardsOf(body, policy, 1, threads);
    bool found = false;
    for (const Hazard& hazard : hazards) found |= hazard.kind == kind && describe(hazard).find(part) != std::string::npos;
    EXPECT_TRUE(found) << toString(kind) << " with '" << part << "' under policy " << static_cast<int>(policy) << ", but:\n"
                       << all(hazards);
  }
}

TEST(WgmmaHazards, TheRightOrderIsSilent) {
  expectSilent(kFence + kProduct + kCommit + kWait);
  expectSilent(kFence + kRegisterProduct + kCommit + kWait);
  // Chains into one accumulator need no further fence; several groups may be in flight.
  expectSilent(kFence + kProduct + kProduct + kCommit + kProduct + kCommit + "  wgmma.wait_group.sync.aligned 1;\n" + kWait);
  // Registers that are touched between two products, and fenced again.
  expectSilent(kFence + kProduct + kCommit + kWait + "  add.f32 %d0, %d0, %d0;\n" + kFence + kProduct + kCommit + kWait);
  // Operand A in registers may be read while the product runs.
  expectSilent(kFence + kRegisterProduct + "  add.u32 %r5, %a0, %a1;\n" + kCommit + kWait);
  // Shared memory is refilled after the wait of every warp and a barrier.
  expectSilent(kFence + kProduct + kCommit + kWait + "  bar.sync 0;\n" + kOverwrite + "  fence.proxy.async;\n  bar.sync 0;\n" +
               kFence + kProduct + kCommit + kWait);
}

/// One thread of the warpgroup speaks for all of it, as pipelines that release a stage with one arrival per warpgroup rely on.
TEST(WgmmaHazards, OneThreadsWaitSpeaksForTheWarpgroup) {
  const auto pipeline = [](const std::string& consumer) {
    return fmt::format(
        "  add.u32 %r8, %tile, {};\n  setp.eq.u32 %p0, %thread, 0;\n  @%p0 mbarrier.init.shared.b64 [%r8], 1;\n  bar.sync 0;\n"
        "  setp.ge.u32 %p3, %thread, 128;\n  setp.eq.u32 %p2, %thread, 37;\n  @%p3 bra PRODUCER;\n{}  bra DONE;\nPRODUCER:\n"
        "  mbarrier.try_wait.parity.shared.b64 %p1, [%r8], 0;\n  @!%p1 bra PRODUCER;\n"
        "  sub.u32 %r9, %thread, 128;\n  mad.lo.u32 %r0, %r9, 4, %tile;\n  st.shared.b32 [%r0+{}], %thread;\nDONE:\n",
        kOperandB + 2048, consumer, kOperandB);
  };
  const std::string arrive = "  @%p2 mbarrier.arrive.shared.b64 _, [%r8];\n";
  constexpr uint32_t kThreads = 160;
  expectSilent(pipeline(kFence + kProduct + kCommit + kWait + arrive), kThreads);
  expectHazard(pipeline(kFence + kProduct + kCommit + arrive + kWait), HazardKind::Race, "st.shared.b32", kThreads);
}

TEST(WgmmaHazards, MissingFence) {
  expectHazard(kProduct + kCommit + kWait, HazardKind::WarpgroupFence, "before the first wgmma.mma_async");
  expectHazard(kFence + kProduct + kCommit + kWait + "  add.f32 %d1, %d1, %d1;\n" + kProduct + kCommit + kWait,
               HazardKind::WarpgroupFence, "add.f32 %d1");
  expectHazard(kFence + "  mov.u32 %a2, 7;\n" + kRegisterProduct + kCommit + kWait, HazardKind::WarpgroupFence, "mov.u32 %a2");
}

/// Products are ordered by themselves where they share accumulators and their shape (PTX ISA 9.0, 9.7.15.7.1).
TEST(WgmmaHazards, MissingFenceBetweenShapes) {
  expectSilent(kFence + kProduct + kFence + kShallowProduct + kCommit + kWait);
  expectHazard(kFence + kProduct + kShallowProduct + kCommit + kWait, HazardKind::WarpgroupFence, "m64n8k16");
  expectHazard(kFence + kProduct + kCommit + kShallowProduct + kCommit + kWait, HazardKind::WarpgroupFence, "m64n8k16");
  // Nor does a wait, as we read that section: it hands what products have written to other instructions.
  expectHazard(kFence + kProduct + kCommit + kWait + kShallowProduct + kCommit + kWait, HazardKind::WarpgroupFence, "m64n8k16");
}

TEST(WgmmaHazards, MissingFenceBeforeSumsBecomeOperandA) {
  const std::string next =
      "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d4, %d5, %d6, %d7}, {%d0, %d1, %d2, %d3}, %rd1, 0, 1, 1, 0;\n";
  expectSilent(kFence + kProduct + kCommit + kWait + kFence + next + kCommit + kWait);
  expectHazard(kFence + kProduct + kCommit + kWait + next + kCommit + kWait, HazardKind::WarpgroupFence, "m64n8k16");
}

TEST(WgmmaHazards, RegistersUsedTooEarly) {
  expectHazard(kFence + kProduct + kCommit + "  add.f32 %d2, %d2, %d2;\n" + kWait, HazardKind::PendingRegister, "add.f32 %d2");
  // Without a commit no wait covers the product.
  expectHazard(kFence + kProduct + kWait, HazardKind::PendingRegister, "st.global");
  // The newest group may still be under way.
  expectHazard(kFence + kProduct + kCommit + "  wgmma.wait_group.sync.aligned 1;\n", HazardKind::PendingRegister,
               "wgmma.commit_group");
  expectHazard(kFence + kRegisterProduct + "  mov.u32 %a0, 3;\n" + kCommit + kWait, HazardKind::PendingRegister, "mov.u32 %a0");
}

TEST(WgmmaHazards, SharedMemoryChangedTooEarly) {
  expectHazard(kFence + kProduct + kCommit + "  bar.sync 0;\n" + kOverwrite + kWait, HazardKind::Race, "st.shared.b32");
  expectHazard(kFence + kProduct + kCommit + "  bar.sync 0;\n" + kOverwrite + kWait, HazardKind::Race, "wgmma.wait_group");
  // Written before, but through the generic proxy and without its fence.
  expectHazard(kOverwrite + "  bar.sync 0;\n" + kFence + kProduct + kCommit + kWait, HazardKind::ProxyFence, "st.shared.b32");
  // Fenced, but only some warps know of it.
  expectHazard(kOverwrite + "  fence.proxy.async;\n" + kFence + kProduct + kCommit + kWait, HazardKind::Race, "st.shared.b32");
}

/// Undefined rows of an operand are harmless where nobody stores what they are multiplied for.
TEST(WgmmaHazards, UndefinedDataAreFollowedIntoTheAccumulators) {
  // The image ends after operand A: B has never been written.
  const auto stored = [](const std::string& body, SchedulePolicy policy, uint32_t imageBytes) {
    WgmmaKernel kernel;
    kernel.image.assign(imageBytes, std::byte{});
    kernel.sharedBytes = 8192;
    kernel.body = kDescriptors + body;
    Options options;
    options.hazards = HazardMode::Warn;
    options.policy = policy;
    Emulator machine;
    LaunchReport report;
    kernel.run(machine, options, &report);
    return report.hazards;
  };
  const std::string product = kFence + kProduct + kCommit + kWait;
  const std::string swapped = fmt::format("  add.u64 %rd0, %desc, {:#x};\n  add.u64 %rd1, %desc, {:#x};\n",
                                          wgmmaDescriptor(kOperandB, 1024, 128), wgmmaDescriptor(0, 128, 128));
  const std::string overwritten =
      "  mov.f32 %d0, 0f00000000;\n  mov.f32 %d1, 0f00000000;\n  mov.f32 %d2, 0f00000000;\n  mov.f32 %d3, 0f00000000;\n";
  const std::string fresh =
      "  setp.ne.u32 %p0, 0, 0;\n  wgmma.fence.sync.aligned;\n  add.u64 %rd1, %desc, " +
      fmt::format("{:#x}", wgmmaDescriptor(0, 1024, 128)) +
      ";\n  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd0, %rd1, %p0, 1, 1, 0, 0;\n" + kCommit +
      kWait;
  for (const SchedulePolicy policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest}) {
    // All of B; its last row, which is column 7 of the result; the last row of A, with A after B.
    for (const auto& [body, imageBytes] :
         {std::pair{product, kOperandB}, {product, kOperandB + 240}, {swapped + product, kOperandB + 2032}}) {
      const std::vector<Hazard> hazards = stored(body, policy, imageBytes);
      ASSERT_FALSE(hazards.empty()) << imageBytes;
      EXPECT_EQ(hazards[0].kind, HazardKind::UndefinedData) << all(hazards);
      EXPECT_NE(describe(hazards[0]).find("product with"), std::string::npos) << all(hazards);
    }
    // Nobody stores it.
    EXPECT_TRUE(stored(product + overwritten, policy, kOperandB).empty()) << all(stored(product + overwritten, policy, kOperandB));
    // What is added stays undefined, what is multiplied afresh does not.
    EXPECT_FALSE(stored(product + product, policy, kOperandB).empty());
    EXPECT_TRUE(stored(product + fresh, policy, kOperandB).empty()) << all(stored(product + fresh, policy, kOperandB));
  }
}

TEST(WgmmaHazards, UndefinedRegistersOfOperandAAreFollowed) {
  const std::string undefinedRegister = fmt::format("  ld.shared.b32 %a1, [%tile+{}];\n", kOperandB + 1024);
  WgmmaKernel kernel;
  kernel.image.assign(kOperandB + 256, std::byte{});
  kernel.sharedBytes = 8192;
  kernel.body = kDescriptors + undefinedRegister + kFence + kRegisterProduct + kCommit + kWait;
  Options options;
  options.hazards = HazardMode::Warn;
  Emulator machine;
  LaunchReport report;
  kernel.run(machine, options, &report);
  ASSERT_FALSE(report.hazards.empty());
  EXPECT_EQ(report.hazards[0].kind, HazardKind::UndefinedData);
  EXPECT_NE(describe(report.hazards[0]).find("ld.shared.b32 %a1"), std::string::npos) << all(report.hazards);
  // %a1 has rows 8 to 15 of each warp, the second half of the accumulators.
  EXPECT_NE(describe(report.hazards[0]).find("%d2"), std::string::npos) << all(report.hazards);
}

TEST(WgmmaHazards, AProductThatOutlivesItsCta) {
  const std::string unused =
      "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d4, %d5, %d6, %d7}, %rd0, %rd1, 1, 1, 1, 0, 0;\n";
  const std::vector<Hazard> hazards = hazardsOf(kFence + unused + kCommit, SchedulePolicy::Earliest);
  ASSERT_EQ(hazards.size(), 1u) << all(hazards);
  EXPECT_EQ(hazards[0].kind, HazardKind::Outlives);
  EXPECT_NE(describe(hazards[0]).find("wgmma.wait_group"), std::string::npos) << all(hazards);
}

}  // namespace
}  // namespace shiftconv::tests::wgmma_test
