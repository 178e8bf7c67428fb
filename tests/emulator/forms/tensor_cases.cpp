// tcgen05 allocation, commit and fences, and the list of all cases of the tensor family (PTX ISA 9.7.16).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/emulator/forms/form_case.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;

constexpr std::string_view kAlloc = "tcgen05.alloc.(cta_group::1|cta_group::2).sync.aligned{.shared::cta}.b32";
constexpr std::string_view kDealloc = "tcgen05.dealloc.(cta_group::1|cta_group::2).sync.aligned.b32";
constexpr std::string_view kRelinquish = "tcgen05.relinquish_alloc_permit.(cta_group::1|cta_group::2).sync.aligned";
constexpr std::string_view kCommit =
    "tcgen05.commit.(cta_group::1|cta_group::2).mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64";
constexpr std::string_view kFenceBefore = "tcgen05.fence::before_thread_sync";
constexpr std::string_view kFenceAfter = "tcgen05.fence::after_thread_sync";

// --- allocation -------------------------------------------------------------------------------------------------

std::string alloc(const std::string& columns, const char* guard = "%firstwarp") {
  return fmt::format("  @{} tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], {};\n", guard, columns);
}
std::string dealloc(const std::string& address, const std::string& columns) {
  return fmt::format("  @%firstwarp tcgen05.dealloc.cta_group::1.sync.aligned.b32 {}, {};\n", address, columns);
}
const std::string kRelinquishText = "  @%firstwarp tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";

/// Two allocations, the second through a generic address and with the size in a register.
void allocAddresses(FormRun& form) {
  const TensorKernel kernel{.body = alloc("128") + R"(
  @%firstwarp ld.shared.u32 %r0, [%slot];
  cvt.u64.u32 %rd0, %slot;
  cvta.shared.u64 %rd0, %rd0;
  mov.u32 %r2, 64;
  @%firstwarp tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd0], %r2;
  @%firstwarp ld.shared.u32 %r1, [%slot];
  @%issuer st.global.u32 [%out], %r0;
  @%issuer st.global.u32 [%out+4], %r1;
)" + dealloc("%r0", "128") + dealloc("%r1", "%r2"),
                            .outputWords = 2,
                            .columns = 0};
  EXPECT_EQ(kernel.runEverySchedule(form), (std::vector<uint32_t>{0, 128}));
}

/// Warp 1 waits in alloc until warp 0 frees its columns.
void allocBlocks(FormRun& form) {
  const TensorKernel kernel{.body = alloc("512") + R"(
  @%firstwarp ld.shared.u32 %r0, [%slot];
  bar.sync 0;
  setp.eq.u32 %p0, %warp, 1;
  @%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot+0], 32;
  @%p0 bra second;
)" + dealloc("%r0", "512") + R"(
  bra done;
second:
  ld.shared.u32 %r1, [%slot];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;
  @%second st.global.u32 [%out], %r1;
done:
)",
                            .outputWords = 1,
                            .columns = 0};
  EXPECT_EQ(kernel.runEverySchedule(form), (std::vector<uint32_t>{0}));
}

void allocRefusals(FormRun& form) {
  const auto kernel = [](const std::string& body) { return TensorKernel{.body = body, .columns = 0}; };
  expectRefusal(form, kernel(alloc("48")), {"48 columns", "power of two"});
  expectRefusal(form, kernel("  mov.u32 %r0, 1024;\n" + alloc("%r0")), {"1024 columns", "power of two"});
  expectRefusal(form, kernel(alloc("32") + alloc("64")), {"64 columns after one of 32"});
  expectRefusal(form, kernel(alloc("32") + kRelinquishText + alloc("32")), {"relinquish_alloc_permit"});
  expectRefusal(form, kernel(alloc("64")), {"columns 0..63 still allocated", "dealloc"});
  expectRefusal(form, kernel("  mov.u32 %r0, %lane;\n" + alloc("%r0")), {"number of columns", "same in the whole warp"});
  expectRefusal(form, kernel(alloc("32", "%issuer")), {"tcgen05.alloc"});
  expectRefusal(form, kernel("  mov.b64 %rd0, %out;\n  @%firstwarp tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd0], 32;\n"),
                {"shared memory of the executing CTA"});
  expectRefusal(form, kernel("  @%firstwarp tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 32;\n"),
                {"cta_group::2", "cluster of 1"});
  expectRefusal(form, kernel(alloc("512") + alloc("32")), {"free Tensor Memory columns"});
}

void deallocates(FormRun& form) {
  const TensorKernel kernel{.body = alloc("512") + "  @%firstwarp ld.shared.u32 %r0, [%slot];\n" + dealloc("%r0", "512") +
                                    alloc("512") + "  @%firstwarp ld.shared.u32 %r0, [%slot];\n" + dealloc("%r0", "512") +
                                    "  @%issuer st.global.u32 [%out], %r0;\n",
                            .outputWords = 1,
                            .columns = 0};
  EXPECT_EQ(kernel.runEverySchedule(form), (std::vector<uint32_t>{0}));
  const auto broken = [](const std::string& body) {
    return TensorKernel{.body = alloc("64") + "  @%firstwarp ld.shared.u32 %r0, [%slot];\n" + body, .columns = 0};
  };
  expectRefusal(form, broken("  add.u32 %r0, %r0, 32;\n" + dealloc("%r0", "32")), {"0x20", "no live allocation starts there"});
  expectRefusal(form, broken(dealloc("%r0", "32")), {"that allocation has 64 columns"});
  expectRefusal(form, broken(dealloc("%r0", "64") + dealloc("%r0", "64")), {"allocated columns: none"});
  expectRefusal(form, broken(dealloc("[%r0]", "64")), {"without brackets"});
}

/// Operations that are still under way when their columns are freed, seen under the latest schedule.
void deallocTooEarly(FormRun& form) {
  Options options;
  options.policy = SchedulePolicy::Latest;
  const std::string begin = alloc("32") + "  @%firstwarp ld.shared.u32 %tmem, [%slot];\n";
  for (const std::string& operation :
       {std::string("  @%firstwarp tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem], {%r20};\n"),
        std::string("  @%issuer tcgen05.shift.cta_group::1.down [%tmem];\n"),
        fmt::format("  add.u64 %rd0, %desc, {:#x};\n  @%issuer tcgen05.cp.cta_group::1.128x128b [%tmem], %rd0;\n",
                    descriptorBits(0, 16, 128)),
        std::string("  @%firstwarp tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%tmem];\n")}) {
    const TensorKernel kernel{.body = begin + operation + dealloc("%tmem", "32"), .input = randomInput(form, 2048), .columns = 0};
    const std::string message = form.error([&] { kernel.run(form, options); });
    EXPECT_NE(message.find("not allocated (allocated: none)"), std::string::npos) << message;
  }
}

void relinquishes(FormRun& form) {
  const TensorKernel kernel{.body = alloc("32") + kRelinquishText + "  @%firstwarp ld.shared.u32 %r0, [%slot];\n" +
                                    dealloc("%r0", "32") + "  @%issuer st.global.u32 [%out], %r0;\n",
                            .outputWords = 1,
                            .columns = 0};
  EXPECT_EQ(kernel.runEverySchedule(form), (std::vector<uint32_t>{0}));
  expectRefusal(form, {.body = alloc("32") + kRelinquishText + alloc("32"), .columns = 0}, {"given up its right"});
  expectRefusal(form, {.body = "  @%issuer tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n", .columns = 0},
                {"relinquish"});
}

// --- commit, fences ------------------------------------------------------------------------------------------------

const std::string kCommitPrefix = "tcgen05.commit.cta_group::1.mbarrier::arrive::one";

/// An arrive comes for every commit, with and without outstanding operations, by shared and by generic address.
void commits(FormRun& form) {
  const std::string body = fillColumns(0, 8) + "  @%issuer tcgen05.shift.cta_group::1.down [%tmem];\n" + "  @%issuer " +
                           kCommitPrefix + ".shared::cluster.b64 [%bar];\n" + waitForCommit(0) +
                           "  cvt.u64.u32 %rd0, %bar;\n  cvta.shared.u64 %rd0, %rd0;\n  @%issuer " + kCommitPrefix +
                           ".b64 [%rd0+8];\n" + waitForCommit(1) + dumpColumns(0, 1);
  LaunchReport report;
  const std::vector<uint32_t> output = TensorKernel{.body = body, .outputWords = 128}.runEverySchedule(form, &report);
  EXPECT_EQ(output[5], filledCell(6, 0));
  EXPECT_EQ(report.counters.operations.at("tcgen05.commit"), 2u);
}

/// CTA 1 of three commits on the barriers of CTAs 0 and 2.
void commitMulticast(FormRun& form) {
  const std::string body = R"(
  setp.eq.and.u32 %p0, %rank, 1, %issuer;
  mov.u16 %h0, 5;
  @%p0 )" + kCommitPrefix + R"(.shared::cluster.multicast::cluster.b64 [%bar+16], %h0;
  setp.eq.u32 %p1, %rank, 1;
  @%p1 bra late;
)" + waitForCommit(2) + R"(
late:
  mbarrier.test_wait.parity.shared::cta.b64 %p2, [%bar+16], 0;
  selp.u32 %r0, 1, 0, %p2;
  @%issuer st.global.u32 [%out], %r0;
)";
  EXPECT_EQ((TensorKernel{.body = body, .outputWords = 1, .ctas = 3}.runEverySchedule(form)), (std::vector<uint32_t>{1, 0, 1}));
  const std::string broken =
      "  mov.u16 %h0, 2;\n  @%issuer " + kCommitPrefix + ".shared::cluster.multicast::cluster.b64 [%bar], %h0;\n";
  expectRefusal(form, {.body = broken}, {"CTA mask 0x0002", "cluster has 1"});
}

void commitRefusals(FormRun& form) {
  expectRefusal(form, {.body = "  @%issuer " + kCommitPrefix + ".shared::cluster.b64 [%tile];\n  bar.sync 0;\n"}, {"mbarrier"});
  expectRefusal(form, {.body = "  @%issuer " + kCommitPrefix + ".b64 [%out];\n"}, {"not in shared memory"});
  expectRefusal(form, {.body = "  @%issuer tcgen05.commit.cta_group::2.mbarrier::arrive::one.b64 [%out];\n"},
                {"cta_group::2", "cta_group::1 before"});
}

/// shift by thread 0, mma-free hand-over to thread 32: shift -> cp.4x256b is ordered across threads by the fences.
void fencesCarryOrder(FormRun& form) {
  const std::vector<std::byte> input = randomInput(form, 256);
  const std::string body =
      fillColumns(0, 8) + "  @%issuer tcgen05.shift.cta_group::1.down [%tmem];\n" + fencedBarrier() +
      fmt::format("  add.u64 %rd0, %desc, {:#x};\n  add.u32 %r0, %tmem, {:#x};\n", descriptorBits(0, 128, 256), 31u << 16) +
      "  @%second tcgen05.cp.cta_group::1.4x256b [%r0], %rd0;\n  @%second " + kCommitPrefix + ".shared::cluster.b64 [%bar];\n" +
      waitForCommit(0) + dumpColumns(0, 8);
  const std::vector<uint32_t> output = TensorKernel{.body = body, .input = input, .outputWords = 1024}.runEverySchedule(form);
  EXPECT_EQ(output[30 * 8 + 2], filledCell(31, 2));
  EXPECT_EQ(output[31 * 8 + 2], sourceWord(input, 0, 2));
  EXPECT_EQ(output[95 * 8 + 7], sourceWord(input, 2, 7));
}

}  // namespace

FormCases tensorCases() {
  FormCases cases{
      {kAlloc, "addresses", allocAddresses},
      {kAlloc, "blocks_until_columns_are_free", allocBlocks},
      {kAlloc, "refusals", allocRefusals},
      {kDealloc, "frees", deallocates},
      {kDealloc, "too_early", deallocTooEarly},
      {kRelinquish, "forbids_alloc", relinquishes},
      {kCommit, "arrives", commits},
      {kCommit, "multicast", commitMulticast},
      {kCommit, "refusals", commitRefusals},
      {kFenceBefore, "carries_order", fencesCarryOrder},
      {kFenceAfter, "carries_order", fencesCarryOrder},
  };
  for (const auto part : {tensorFragmentCases, tensorMovementCases, tensorMmaCases, sparseMmaCases}) {
    const FormCases more = part();
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace shiftconv::tests
