// tcgen05.cp and .shift (PTX ISA 9.7.16.9).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emulator/forms/form_case.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;

constexpr std::string_view kCopy =
    "tcgen05.cp.(cta_group::1|cta_group::2).(128x256b|128x128b|4x256b){.b8x16}{.(b6x16_p32|b4x16_p64)}";
constexpr std::string_view kCopy64 =
    "tcgen05.cp.(cta_group::1|cta_group::2).64x128b.(warpx2::02_13|warpx2::01_23){.b8x16}{.(b6x16_p32|b4x16_p64)}";
constexpr std::string_view kCopy32 = "tcgen05.cp.(cta_group::1|cta_group::2).32x128b.warpx4{.b8x16}{.(b6x16_p32|b4x16_p64)}";
constexpr std::string_view kShift = "tcgen05.shift.(cta_group::1|cta_group::2).down";

struct CopyCase {
  const char* shape;
  uint32_t words;
  int (*rowOfLane)(uint32_t lane);
  uint32_t lane = 0;
};

void checkCopy(FormRun& form, const CopyCase& test) {
  const std::vector<std::byte> input = randomInput(form, 4096);
  const std::string body = fillColumns(0, 12) +
                           fmt::format(
                               "  add.u64 %rd0, %desc, {:#x};\n  add.u32 %r0, %tmem, {:#x};\n"
                               "  @%issuer tcgen05.cp.cta_group::1.{} [%r0], %rd0;\n",
                               descriptorBits(0, 128, 256), test.lane << 16 | 4, test.shape) +
                           commitAndWait(0) + dumpColumns(0, 12);
  LaunchReport report;
  const std::vector<uint32_t> output =
      TensorKernel{.body = body, .input = input, .outputWords = 128 * 12}.runEverySchedule(form, &report);
  for (uint32_t lane = 0; lane < 128; ++lane) {
    const int row = test.rowOfLane(lane);
    for (uint32_t column = 0; column < 12; ++column) {
      const bool copied = row >= 0 && column >= 4 && column < 4 + test.words;
      const uint32_t expected = copied ? sourceWord(input, static_cast<uint32_t>(row), column - 4) : filledCell(lane, column);
      ASSERT_EQ(output[lane * 12 + column], expected) << test.shape << " lane " << lane << " column " << column;
    }
  }
  EXPECT_EQ(report.counters.operations.at("tcgen05.cp"), 1u);
}

void copyTall(FormRun& form) {
  checkCopy(form, {"128x256b", 8, [](uint32_t lane) { return static_cast<int>(lane); }});
  checkCopy(form, {"128x128b", 4, [](uint32_t lane) { return static_cast<int>(lane); }});
  checkCopy(form, {"4x256b", 8, [](uint32_t lane) { return lane % 32 == 31 ? static_cast<int>(lane / 32) : -1; }, 31});
}
void copy64(FormRun& form) {
  checkCopy(form, {"64x128b.warpx2::02_13", 4, [](uint32_t lane) { return static_cast<int>(lane % 64); }});
  checkCopy(form, {"64x128b.warpx2::01_23", 4, [](uint32_t lane) { return static_cast<int>(lane / 64 * 32 + lane % 32); }});
  checkCopy(form, {"warpx2::01_23.64x128b", 4, [](uint32_t lane) { return static_cast<int>(lane / 64 * 32 + lane % 32); }});
}
void copy32(FormRun& form) {
  checkCopy(form, {"32x128b.warpx4", 4, [](uint32_t lane) { return static_cast<int>(lane % 32); }});
}

/// Each CTA of a pair copies from its own shared memory into its own Tensor Memory, at the word of one thread.
void copyPair(FormRun& form) {
  const std::vector<std::byte> input = randomInput(form, 4096);
  const std::string body = R"(
  setp.eq.u32 %p0, %rank, 1;
  xor.b32 %r0, %rank, 0;
  mov.u32 %r1, 0x12345678;
  @%p0 st.shared.u32 [%tile], %r1;
  fence.proxy.async.shared::cta;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.eq.and.u32 %p1, %rank, 0, %issuer;
)" +
                           fmt::format("  add.u64 %rd0, %desc, {:#x};\n  @%p1 tcgen05.cp.cta_group::2.128x256b [%tmem], %rd0;\n",
                                       descriptorBits(0, 128, 256)) +
                           R"(
  mov.u16 %h0, 3;
  @%p1 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h0;
)" + waitForCommit(0) + dumpColumns(0, 8);
  const TensorKernel kernel{.body = body, .input = input, .outputWords = 128 * 8, .ctas = 2, .ctaGroup = 2};
  const std::vector<uint32_t> output = kernel.runEverySchedule(form);
  EXPECT_EQ(output[0], sourceWord(input, 0, 0));
  EXPECT_EQ(output[1024], 0x12345678u);
  EXPECT_EQ(output[1024 + 8 * 100 + 5], sourceWord(input, 100, 5));
}

void copyDecompresses(FormRun& form) {
  const std::vector<std::byte> input = randomInput(form, 2048);
  for (const char* format : {"b4x16_p64", "b6x16_p32"}) {
    const bool four = std::string_view(format) == "b4x16_p64";
    const std::string body =
        fmt::format("  add.u64 %rd0, %desc, {:#x};\n  @%issuer tcgen05.cp.cta_group::1.128x128b.b8x16.{} [%tmem], %rd0;\n",
                    descriptorBits(0, 16, 128), format) +
        commitAndWait(0) + dumpColumns(0, 4);
    const std::vector<uint32_t> output = TensorKernel{.body = body, .input = input, .outputWords = 512}.runEverySchedule(form);
    for (uint32_t lane = 0; lane < 128; ++lane) {
      for (uint32_t element = 0; element < 16; ++element) {
        const uint32_t bit = element * (four ? 4 : 6);
        const auto* row = reinterpret_cast<const uint8_t*>(input.data()) + 16 * lane;
        const uint32_t pair = row[bit / 8] | row[bit / 8 + 1] << 8;
        const uint32_t expected = four ? (pair >> bit % 8 & 15) << 2 : (pair >> bit % 8 & 63) << 1;
        ASSERT_EQ(output[lane * 4 + element / 4] >> element % 4 * 8 & 0xff, expected)
            << format << " lane " << lane << " element " << element;
      }
    }
  }
}

void copyRefusals(FormRun& form) {
  const auto copy = [&](const std::string& shape, uint64_t descriptor, uint32_t word = 0) {
    return TensorKernel{
        .body = fmt::format("  mov.b64 %rd0, {:#x};\n  add.u32 %r0, %tmem, {:#x};\n  @%issuer tcgen05.cp.cta_group::1.{} "
                            "[%r0], %rd0;\n",
                            descriptor, word, shape) +
                commitAndWait(0),
        .columns = 32};
  };
  expectRefusal(form, copy("128x256b", 0), {"source of tcgen05.cp", "48:46"});
  expectRefusal(form, copy("128x256b", descriptorBits(0x3fff0, 16, 128)), {"Row 0, 16-byte chunk 0", "the CTA has"});
  expectRefusal(form, copy("128x256b", descriptorBits(0, 16, 128), 2), {"multiple of 4"});
  expectRefusal(form, copy("128x256b", descriptorBits(0, 16, 128), 28), {"columns 28..35"});
  expectRefusal(form, copy("128x256b.b6x16_p32", descriptorBits(0, 16, 128)), {".b8x16"});
}

void copy64Refusals(FormRun& form) {
  expectRefusal(form,
                {.body = "  mov.b64 %rd0, 0;\n  @%issuer tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16 [%tmem], %rd0;\n"},
                {".b8x16"});
}
void copy32Refusals(FormRun& form) {
  expectRefusal(form,
                {.body = fmt::format("  mov.b64 %rd0, {:#x};\n  add.u32 %r0, %tmem, 0x10000;\n  @%issuer "
                                     "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r0], %rd0;\n",
                                     descriptorBits(0, 16, 128))},
                {"lane 1", "lane must be 0"});
}

void shifts(FormRun& form) {
  const std::string shift = "  @%issuer tcgen05.shift.cta_group::1.down [%tmem+4];\n";
  const std::string body = fillColumns(0, 16) + shift + commitAndWait(0) +
                           "  @%issuer tcgen05.shift.down.cta_group::1 [%tmem+4];\n" + commitAndWait(1) + dumpColumns(0, 16);
  LaunchReport report;
  const std::vector<uint32_t> output = TensorKernel{.body = body, .outputWords = 128 * 16}.runEverySchedule(form, &report);
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t column = 0; column < 16; ++column) {
      const bool moved = column >= 4 && column < 12;
      const uint32_t from = moved ? lane / 32 * 32 + std::min(lane % 32 + 2, 31u) : lane;
      ASSERT_EQ(output[lane * 16 + column], filledCell(from, column)) << "lane " << lane << " column " << column;
    }
  }
  EXPECT_EQ(report.counters.operations.at("tcgen05.shift"), 2u);
  const auto refused = [&](const std::string& address) {
    return TensorKernel{.body = "  add.u32 %r0, %tmem, 0x100000;\n  @%issuer tcgen05.shift.cta_group::1.down " + address + ";\n",
                        .columns = 32};
  };
  expectRefusal(form, refused("[%r0]"), {"lane 16", "multiple of 32"});
  expectRefusal(form, refused("[%tmem+28]"), {"columns 28..35"});
  expectRefusal(form, refused("[64]"), {"32-bit register"});
}

}  // namespace

FormCases tensorMovementCases() {
  return {
      {kCopy, "shapes", copyTall},
      {kCopy, "pair", copyPair},
      {kCopy, "decompression", copyDecompresses},
      {kCopy, "refusals", copyRefusals},
      {kCopy64, "shapes", copy64},
      {kCopy64, "refusals", copy64Refusals},
      {kCopy32, "shapes", copy32},
      {kCopy32, "refusals", copy32Refusals},
      {kShift, "moves_rows", shifts},
  };
}

}  // namespace shiftconv::tests
