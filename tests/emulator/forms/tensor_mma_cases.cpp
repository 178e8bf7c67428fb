// tcgen05.mma as an instruction: operand forms, modifiers in any order, refusals. What the arithmetic and the layouts give
// is tested in tests/emulator/tensor.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tests/emulator/forms/form_case.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::tensor_mma_cases {
namespace {

using namespace emulator;

constexpr std::string_view kMma =
    "tcgen05.mma.(cta_group::1|cta_group::2).(kind::f16|kind::tf32|kind::f8f6f4|kind::i8){.ashift}"
    "{.(collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard)}";

constexpr std::string_view kScaled =
    "tcgen05.mma.(cta_group::1|cta_group::2).(kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4).block_scale"
    "{.(scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32)}"
    "{.(collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard)}";

constexpr std::string_view kStationary =
    "tcgen05.mma.ws.cta_group::1.(kind::f16|kind::tf32|kind::f8f6f4|kind::i8)"
    "{.(collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|"
    "collector::b1::fill|collector::b1::use|collector::b1::lastuse|collector::b1::discard|"
    "collector::b2::fill|collector::b2::use|collector::b2::lastuse|collector::b2::discard|"
    "collector::b3::fill|collector::b3::use|collector::b3::lastuse|collector::b3::discard)}";

// Shared memory: A (128 rows of 32 bytes, no swizzle) at 0, B (8 rows of 32 bytes) at 4096. Tensor Memory: A at column 0,
// D at column 32, N = 8.
constexpr uint32_t kBStart = 4096, kD = 32, kN = 8;

struct Type {
  const char* kind;
  uint32_t code, accumulator, bytes, depth;
  uint32_t (*encode)(int value);
};
uint32_t encodeHalf(int value) {
  const auto magnitude = static_cast<uint32_t>(value < 0 ? -value : value);
  if (magnitude == 0) return 0;
  const uint32_t exponent = static_cast<uint32_t>(std::bit_width(magnitude)) - 1;
  return (value < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | ((magnitude << (10 - exponent)) & 0x3ff);
}
uint32_t encodeFloat(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
uint32_t encodeE4m3(int value) {
  const auto magnitude = static_cast<uint32_t>(value < 0 ? -value : value);
  if (magnitude == 0) return 0;
  const uint32_t exponent = static_cast<uint32_t>(std::bit_width(magnitude)) - 1;
  return (value < 0 ? 0x80u : 0u) | (exponent + 7) << 3 | ((magnitude << 3 >> exponent) & 7);
}
uint32_t encodeByte(int value) { return static_cast<uint8_t>(value); }
const Type kF16{"f16", 0, 1, 2, 16, encodeHalf};
const Type kTf32{"tf32", 2, 1, 4, 8, encodeFloat};
const Type kE4m3{"f8f6f4", 0, 1, 1, 32, encodeE4m3};
const Type kI8{"i8", 1, 2, 1, 32, encodeByte};

/// Small integers, so that every kind is exact.
int elementA(uint32_t m, uint32_t k) { return static_cast<int>((m * 5 + k * 3) % 17) - 8; }
int elementB(uint32_t n, uint32_t k) { return static_cast<int>((n * 7 + k * k) % 13) - 5; }
int product(const Type& type, uint32_t m, uint32_t n) {
  int sum = 0;
  for (uint32_t k = 0; k < type.depth; ++k) sum += elementA(m, k) * elementB(n, k);
  return sum;
}
uint32_t resultBits(const Type& type, int value) {
  return type.accumulator == 2 ? static_cast<uint32_t>(value) : encodeFloat(value);
}

std::vector<std::byte> operands(const Type& type) {
  std::vector<std::byte> image(kBStart + 256);
  const auto put = [&](uint32_t start, uint32_t row, uint32_t k, int value) {
    const uint32_t bits = type.encode(value), byte = k * type.bytes;
    std::memcpy(image.data() + start + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16, &bits, type.bytes);
  };
  for (uint32_t k = 0; k < type.depth; ++k) {
    for (uint32_t m = 0; m < 128; ++m) put(0, m, k, elementA(m, k));
    for (uint32_t n = 0; n < kN; ++n) put(kBStart, n, k, elementB(n, k));
  }
  return image;
}

uint32_t instructionDescriptor(const Type& type, uint32_t m = 128, uint32_t n = kN) {
  return type.accumulator << 4 | type.code << 7 | type.code << 10 | n / 8 << 17 | m / 16 << 24;
}

/// %rd1 = descriptor of A, %rd2 of B, %r1 = instruction descriptor, %p1 true, %p2 false; A also at column 0.
std::string prepare(const Type& type, uint32_t m = 128, uint32_t n = kN) {
  return fmt::format(
      "  add.u64 %rd1, %desc, {:#x};\n  add.u64 %rd2, %desc, {:#x};\n  mov.u32 %r1, {:#x};\n"
      "  setp.eq.u32 %p1, 0, 0;\n  setp.ne.u32 %p2, 0, 0;\n  @%issuer tcgen05.cp.cta_group::1.128x256b [%tmem], %rd1;\n",
      descriptorBits(0, 128, 256), descriptorBits(kBStart, 128, 256), instructionDescriptor(type, m, n));
}
std::string mma(const std::string& modifiers, const std::string& rest) {
  return fmt::format("  @%issuer tcgen05.mma.{} [%tmem+{}], {};\n", modifiers, kD, rest);
}
std::string plain(const Type& type) { return fmt::format("cta_group::1.kind::{}", type.kind); }

using Expected = int (*)(const Type& type, uint32_t m, uint32_t n);

void check(FormRun& form, const Type& type, const std::string& text, Expected expected, std::vector<std::byte> input) {
  const TensorKernel kernel{
      .body = prepare(type) + text + commitAndWait(0) + dumpColumns(kD, kN), .input = std::move(input), .outputWords = 128 * kN};
  const std::vector<uint32_t> output = kernel.runEverySchedule(form);
  for (uint32_t m = 0; m < 128; ++m) {
    for (uint32_t n = 0; n < kN; ++n) {
      ASSERT_EQ(output[m * kN + n], resultBits(type, expected(type, m, n))) << type.kind << " row " << m << " column " << n << "\n"
                                                                            << text;
    }
  }
}

void check(FormRun& form, const Type& type, const std::string& text, Expected expected) {
  check(form, type, text, expected, operands(type));
}

void kindsFromSharedAndTensorMemory(FormRun& form) {
  for (const Type& type : {kF16, kTf32, kE4m3, kI8}) {
    check(form, type, mma(plain(type), "%rd1, %rd2, %r1, %p2"), product);
    check(form, type, mma(plain(type), "[%tmem], %rd2, %r1, %p2"), product);
    check(form, type, mma(plain(type), "[%tmem], %rd2, %r1, 0") + mma(plain(type), "%rd1, %rd2, %r1, 1"),
          [](const Type& t, uint32_t m, uint32_t n) { return 2 * product(t, m, n); });
  }
}

void predicates(FormRun& form) {
  const std::string first = mma(plain(kF16), "%rd1, %rd2, %r1, !%p1"), again = mma(plain(kF16), "%rd1, %rd2, %r1, !%p2");
  check(form, kF16, first + again + again, [](const Type& t, uint32_t m, uint32_t n) { return 3 * product(t, m, n); });
}

void immediateDescriptors(FormRun& form) {
  check(form, kF16, mma(plain(kF16), fmt::format("%rd1, %rd2, {}, %p2", instructionDescriptor(kF16))), product);
}

void scaleInputD(FormRun& form) {
  check(form, kF16, mma(plain(kF16), "%rd1, %rd2, %r1, %p2") + mma(plain(kF16), "%rd1, %rd2, %r1, %p1, 0"),
        [](const Type& t, uint32_t m, uint32_t n) { return 2 * product(t, m, n); });
  // 2 * product halved, plus product.
  check(form, kF16,
        mma(plain(kF16), "%rd1, %rd2, %r1, %p2") + mma(plain(kF16), "%rd1, %rd2, %r1, %p1") +
            mma(plain(kF16), "%rd1, %rd2, %r1, %p1, 1"),
        [](const Type& t, uint32_t m, uint32_t n) { return 2 * product(t, m, n); });
}

void laneMasks(FormRun& form) {
  // Lanes 0..31 twice, lanes 33, 64..71 and 127 once.
  check(form, kF16,
        mma(plain(kF16), "[%tmem], %rd2, %r1, %p2") + "  mov.u32 %r2, 2;\n  mov.u32 %r3, 0;\n" +
            mma(plain(kF16), "[%tmem], %rd2, %r1, {%r3, %r2, 0xff, 0x80000000}, %p1"),
        [](const Type& t, uint32_t m, uint32_t n) {
          const bool once = m == 33 || (m >= 64 && m < 72) || m == 127;
          return (once ? 1 : 2) * product(t, m, n);
        });
}

int shiftedSum(const Type& type, uint32_t m, uint32_t n) {
  const uint32_t next = m % 32 == 31 ? m : m + 1;
  return product(type, m, n) + product(type, next, n);
}

void shiftsOperandA(FormRun& form) {
  for (const Type& type : {kF16, kTf32, kE4m3, kI8}) {
    check(form, type, mma(plain(type) + ".ashift", "[%tmem], %rd2, %r1, %p2") + mma(plain(type), "[%tmem], %rd2, %r1, %p1"),
          shiftedSum);
  }
  check(form, kF16,
        mma("kind::f16.collector::a::fill.cta_group::1", "[%tmem], %rd2, %r1, %p2") +
            mma("kind::f16.ashift.collector::a::lastuse.cta_group::1", "[%tmem], %rd2, %r1, %p2") +
            mma("collector::a::discard.cta_group::1.kind::f16", "[%tmem], %rd2, %r1, %p1"),
        shiftedSum);
}

void collectorHints(FormRun& form) {
  check(form, kF16,
        mma(plain(kF16) + ".collector::a::fill", "%rd1, %rd2, %r1, %p2") +
            mma(plain(kF16) + ".collector::a::use", "%rd1, %rd2, %r1, %p1") +
            mma(plain(kF16) + ".collector::a::lastuse", "%rd1, %rd2, %r1, %p1"),
        [](const Type& t, uint32_t m, uint32_t n) { return 3 * product(t, m, n); });
}

/// Every executing thread issues one MMA.
void oneForEachThread(FormRun& form) {
  const std::string four =
      "  setp.lt.u32 %p3, %thread, 4;\n  @%p3 tcgen05.mma.cta_group::1.kind::f16 [%tmem+32], %rd1, %rd2, %r1, %p1;\n"
      "  @%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+8];\n"
      "  bar.sync 0;\n";
  const std::string text =
      "  @%issuer mbarrier.inval.shared.b64 [%bar+8];\n  @%issuer mbarrier.init.shared::cta.b64 [%bar+8], 4;\n  bar.sync 0;\n" +
      mma(plain(kF16), "%rd1, %rd2, %r1, %p2") + commitAndWait(2) + four + waitForCommit(1);
  const TensorKernel kernel{.body = prepare(kF16) + text + dumpColumns(kD, kN), .input = operands(kF16), .outputWords = 128 * kN};
  LaunchReport report;
  EXPECT_EQ(kernel.runEverySchedule(form, &report)[8 * 17 + 3], encodeFloat(5 * product(kF16, 17, 3)));
  EXPECT_EQ(report.counters.operations.at("tcgen05.mma"), 5u);
  EXPECT_EQ(report.counters.mma.at("kind::f16 m128n8k16 a:smem"), 5u);
}

/// A pair of CTAs: M = 256, each CTA brings its 128 rows of A and half of the 16 columns of B.
void pair(FormRun& form) {
  std::vector<std::byte> input = operands(kF16);
  const std::string text = R"(
  setp.eq.and.u32 %p1, %rank, 0, %issuer;
  setp.ne.u32 %p2, 0, 0;
)" +
                           fmt::format("  add.u64 %rd1, %desc, {:#x};\n  add.u64 %rd2, %desc, {:#x};\n  mov.u32 %r1, {:#x};\n",
                                       descriptorBits(0, 128, 256), descriptorBits(kBStart, 128, 256),
                                       instructionDescriptor(kF16, 256, 16)) +
                           fmt::format("  @%p1 tcgen05.mma.cta_group::2.kind::f16 [%tmem+{}], %rd1, %rd2, %r1, %p2;\n", kD) + R"(
  mov.u16 %h0, 3;
  @%p1 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h0;
)" + waitForCommit(0) + dumpColumns(kD, 16);
  const TensorKernel kernel{.body = text, .input = input, .outputWords = 128 * 16, .ctas = 2, .ctaGroup = 2};
  const std::vector<uint32_t> output = kernel.runEverySchedule(form);
  for (uint32_t row = 0; row < 256; ++row) {
    for (uint32_t n = 0; n < 16; ++n) {
      ASSERT_EQ(output[row * 16 + n], encodeFloat(product(kF16, row % 128, n % 8))) << "row " << row << " column " << n;
    }
  }
}

void refusals(FormRun& form) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    expectRefusal(form, {.body = prepare(kF16) + text + commitAndWait(0), .input = operands(kF16), .columns = 64}, parts);
  };
  const auto bare = [&](const std::string& modifiers, const std::string& rest) {
    return mma("cta_group::1.kind::" + modifiers, rest);
  };
  // Visible in the text.
  refused(bare("f16.ashift", "%rd1, %rd2, %r1, %p2"), {".ashift needs operand A in Tensor Memory"});
  refused(bare("f16.ashift.collector::a::fill", "[%tmem], %rd2, %r1, %p2"), {".collector::a::fill"});
  refused(bare("f16.ashift.collector::a::use", "[%tmem], %rd2, %r1, %p2"), {".collector::a::use"});
  refused(bare("f16", "%rd1, %rd2, %r1, {%r1, %r1, %r1}, %p2"), {"3 words", "takes 4"});
  refused(bare("f16", "%rd1, %rd2, %r1, {0, 0, 0, 0}, %p2"), {"immediates only"});
  refused(bare("f16", "%rd1, %rd2, %r1, %p2, 16"), {"0 to 15"});
  refused(bare("f8f6f4", "%rd1, %rd2, %r1, %p2, 1"), {"scale-input-d", "kind::f8f6f4"});
  refused(bare("f16", "%rd1, %rd2, %r1"), {"enable-input-d", "missing"});
  refused(bare("f16", "%rd1, %rd2, %rd1, %p2"), {"%rd1"});
  refused(mma("cta_group::2.kind::f16", "%rd1, %rd2, %r1, %p2"), {"cta_group::2", "cta_group::1"});
  // Visible at issue.
  refused(bare("f16.collector::a::use", "%rd1, %rd2, %r1, %p2"), {".collector::a::use", "holds nothing"});
  refused("  mov.u32 %r1, 0;\n" + bare("f16", "%rd1, %rd2, %r1, %p2"), {"M = 0"});
  refused(bare("tf32", "%rd1, %rd2, %r1, %p2"), {"A type code 0 is reserved for kind::tf32"});
  refused("  mov.b64 %rd2, 0;\n" + bare("f16", "%rd1, %rd2, %r1, %p2"), {"operand B of tcgen05.mma", "48:46"});
  refused("  add.u32 %r2, %tmem, 0x200000;\n" + bare("f16", "[%r2], %rd2, %r1, %p2"), {"Operand A", "lane 32"});
  refused(bare("f16", "[%tmem+60], %rd2, %r1, %p2"), {"columns 60..67", "not allocated"});
  refused(fmt::format("  mov.u32 %r1, {:#x};\n", instructionDescriptor(kF16, 128, 64)) + bare("f16", "%rd1, %rd2, %r1, %p2"),
          {"accumulator", "columns 32..95"});
  refused(fmt::format("  mov.u32 %r1, {:#x};\n", instructionDescriptor(kF16, 64)) + bare("f16.ashift", "[%tmem], %rd2, %r1, %p2"),
          {".ashift with M = 64"});
  refused(fmt::format("  mov.u32 %r1, {:#x};\n", instructionDescriptor(kI8)) + bare("i8", "%rd1, %rd2, %r1, %p2, 1"),
          {"scale-input-d"});
}

// --- block scaling: scale factors at shared offset kScaleStart as 32x128b.warpx4 copies them ---------------------------

constexpr uint32_t kScaleStart = 8192, kScaleAColumn = 48, kScaleBColumn = 52;

/// A and B as kE4m3 operands; the factor of row or column i is 2^(i % 3), in byte 1 of its word.
std::vector<std::byte> scaledOperands() {
  std::vector<std::byte> image = operands(kE4m3);
  image.resize(kScaleStart + 512, std::byte{0x7f});
  for (uint32_t i = 0; i < 128; ++i) {
    image[kScaleStart + 16 * (i % 32) + 4 * (i / 32) + 1] = static_cast<std::byte>(127 + i % 3);
  }
  return image;
}

void blockScaled(FormRun& form) {
  const uint32_t idesc = 1u << 4 | kN / 8 << 17 | 1u << 23 | 1u << 27 | 1u << 29;  // both sf ids 1, ue8m0, M = 128
  const std::string copies = fmt::format(
      "  add.u64 %rd3, %desc, {:#x};\n  @%issuer tcgen05.cp.cta_group::1.32x128b.warpx4 [%tmem+{}], %rd3;\n"
      "  @%issuer tcgen05.cp.cta_group::1.32x128b.warpx4 [%tmem+{}], %rd3;\n"
      "  mov.u32 %r1, {:#x};\n  add.u32 %r2, %tmem, {};\n",
      descriptorBits(kScaleStart, 16, 128), kScaleAColumn, kScaleBColumn, idesc, kScaleAColumn);
  const std::string scales = fmt::format("[%r2], [%tmem+{}]", kScaleBColumn);
  for (const char* vector : {"", ".scale_vec::1X", ".block32"}) {
    const std::string modifiers = fmt::format("cta_group::1.kind::mxf8f6f4.block_scale{}", vector);
    check(
        form, kE4m3,
        copies + mma(modifiers, fmt::format("%rd1, %rd2, %r1, {}, %p2", scales)) +
            mma(modifiers + ".collector::a::fill", fmt::format("[%tmem], %rd2, %r1, {}, %p1", scales)) +
            mma(modifiers + ".collector::a::lastuse", fmt::format("[%tmem], %rd2, %r1, {}, %p1", scales)),
        [](const Type& t, uint32_t m, uint32_t n) { return 3 * product(t, m, n) << (m % 3 + n % 3); }, scaledOperands());
  }
}

void blockScaledRefusals(FormRun& form) {
  const auto refused = [&](const std::string& modifiers, const std::string& rest, const std::vector<std::string>& parts) {
    expectRefusal(form, {.body = prepare(kE4m3) + mma("cta_group::1." + modifiers, rest), .input = operands(kE4m3), .columns = 64},
                  parts);
  };
  const std::string all = "%rd1, %rd2, %r1, [%tmem], [%tmem], %p2";
  refused("kind::mxf8f6f4.block_scale.scale_vec::2X", all, {".scale_vec::2X is not legal for kind::mxf8f6f4"});
  refused("kind::mxf4.block_scale.block16", all, {".block16 is not legal for kind::mxf4"});
  refused("kind::mxf4nvf4.block_scale", all, {"must name its scale vector size"});
  refused("kind::mxf8f6f4.block_scale", "%rd1, %rd2, %r1, {%r1, %r1, %r1, %r1}, %p2", {"in brackets"});
  refused("kind::mxf8f6f4.block_scale", "%rd1, %rd2, %r1, [%tmem], %p2", {"in brackets"});
  refused("kind::mxf8f6f4.block_scale", "%rd1, %rd2, %r1, [%tmem], [%tmem], %p2, 1", {"operands given"});
  refused("kind::mxf8f6f4.block_scale", all, {"kind::mxf8f6f4"});
}

// --- weight stationary: M = 64, N = 64, so that lanes 64 to 127 have columns 32 to 63 of D, and A once more
// -----------------------

constexpr uint32_t kStationaryM = 64, kStationaryN = 64, kHalfOfN = 32, kRowsOfB = 80;

std::vector<std::byte> stationaryOperands(const Type& type) {
  std::vector<std::byte> image(kBStart + kRowsOfB * 32);
  const auto put = [&](uint32_t start, uint32_t row, uint32_t k, int value) {
    const uint32_t bits = type.encode(value), byte = k * type.bytes;
    std::memcpy(image.data() + start + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16, &bits, type.bytes);
  };
  for (uint32_t k = 0; k < type.depth; ++k) {
    for (uint32_t m = 0; m < 128; ++m) put(0, m, k, elementA(m % kStationaryM, k));
    for (uint32_t n = 0; n < kRowsOfB; ++n) put(kBStart, n, k, elementB(n, k));
  }
  return image;
}

std::string stationary(const Type& type) { return fmt::format("ws.cta_group::1.kind::{}", type.kind); }

void checkStationary(FormRun& form, const Type& type, const std::string& text, Expected expected) {
  const TensorKernel kernel{.body = prepare(type, kStationaryM, kStationaryN) + text + commitAndWait(0) + dumpColumns(kD, kHalfOfN),
                            .input = stationaryOperands(type),
                            .outputWords = 128 * kHalfOfN};
  const std::vector<uint32_t> output = kernel.runEverySchedule(form);
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t column = 0; column < kHalfOfN; ++column) {
      const uint32_t m = lane % kStationaryM, n = lane / kStationaryM * kHalfOfN + column;
      ASSERT_EQ(output[lane * kHalfOfN + column], resultBits(type, expected(type, m, n)))
          << type.kind << " row " << m << " column " << n << "\n"
          << text;
    }
  }
}

void stationaryKinds(FormRun& form) {
  for (const Type& type : {kF16, kTf32, kE4m3, kI8}) {
    checkStationary(form, type, mma(stationary(type), "%rd1, %rd2, %r1, %p2"), product);
    checkStationary(form, type, mma(stationary(type), "[%tmem], %rd2, %r1, !%p1") + mma(stationary(type), "%rd1, %rd2, %r1, 1, 0"),
                    [](const Type& t, uint32_t m, uint32_t n) { return 2 * product(t, m, n); });
  }
}

// Columns 2 to 65 of B; of five columns in each half of D the last counts as zero.
void columnMask(FormRun& form) {
  constexpr uint64_t kMask = uint64_t{1} << 39 | uint64_t{3} << 48 | uint64_t{2} << 56;
  checkStationary(form, kF16, fmt::format("  mov.b64 %rd3, {:#x};\n", kMask) + mma(stationary(kF16), "%rd1, %rd2, %r1, %p2, %rd3"),
                  [](const Type& t, uint32_t m, uint32_t n) { return n % kHalfOfN % 5 == 4 ? 0 : product(t, m, n + 2); });
}

void collectorOfB(FormRun& form) {
  for (const char* buffer : {"b0", "b1", "b2", "b3"}) {
    const auto use = [&](const char* what) { return fmt::format("collector::{}::{}.cta_group::1.ws.kind::f16", buffer, what); };
    checkStationary(form, kF16,
                    mma(use("fill"), "%rd1, %rd2, %r1, %p2") + mma(use("use"), "%rd1, %rd2, %r1, %p1") +
                        mma(use("lastuse"), "[%tmem], %rd2, %r1, %p1") + mma(use("discard"), "%rd1, %rd2, %r1, %p1"),
                    [](const Type& t, uint32_t m, uint32_t n) { return 4 * product(t, m, n); });
  }
}

void stationaryRefusals(FormRun& form) {
  const auto refused = [&](const std::string& modifiers, const std::string& rest, const std::vector<std::string>& parts) {
    expectRefusal(form,
                  {.body = prepare(kF16, kStationaryM, kStationaryN) + mma(modifiers, rest) + commitAndWait(0),
                   .input = stationaryOperands(kF16),
                   .columns = 64},
                  parts);
  };
  const std::string all = "%rd1, %rd2, %r1, %p2", inTensorMemory = "[%tmem], %rd2, %r1, %p2";
  refused("ws.cta_group::2.kind::f16", all, {"cta_group::2"});
  refused("ws.cta_group::1.kind::f16.ashift", inTensorMemory, {".ashift"});
  refused("ws.cta_group::1.kind::f16.collector::a::fill", all, {"collector::a::fill"});
  refused("cta_group::1.kind::f16.collector::b0::fill", all, {"collector::b0::fill"});
  refused("ws.cta_group::1.kind::mxf8f6f4.block_scale", "%rd1, %rd2, %r1, [%tmem], [%tmem], %p2", {"kind::mxf8f6f4"});
  refused("ws.sp.cta_group::1.kind::f16", "%rd1, %rd2, [%tmem], %r1, %p2", {"sparse operands with block scales"});
  refused("ws.cta_group::1.kind::f16", "%rd1, %rd2, %r1, {%r1, %r1, %r1, %r1}, %p2", {"no disable-output-lane operand"});
  refused("ws.cta_group::1.kind::f16", "%rd1, %rd2, %r1, %p2, %r1", {"%r1"});
  refused("ws.cta_group::1.kind::f16.collector::b2::use", all, {".collector::b2::use", "holds nothing"});
  refused("ws.cta_group::1.kind::f16", "%rd1, %rd2, %r1, %p2, 0x1000000000", {"Zero-column mask descriptor", "38:36"});
  expectRefusal(form, {.body = prepare(kF16) + mma("ws.cta_group::1.kind::f16", all), .input = operands(kF16), .columns = 64},
                {"N = 8 is not legal for kind::f16 with .ws"});
}

}  // namespace

FormCases all() {
  return {
      {kMma, "kinds", kindsFromSharedAndTensorMemory},
      {kMma, "predicates", predicates},
      {kMma, "immediate_descriptors", immediateDescriptors},
      {kMma, "scale_input_d", scaleInputD},
      {kMma, "lane_masks", laneMasks},
      {kMma, "ashift", shiftsOperandA},
      {kMma, "collector", collectorHints},
      {kMma, "one_for_each_thread", oneForEachThread},
      {kMma, "pair", pair},
      {kMma, "refusals", refusals},
      {kStationary, "kinds", stationaryKinds},
      {kStationary, "column_mask", columnMask},
      {kStationary, "collector", collectorOfB},
      {kStationary, "refusals", stationaryRefusals},
      {kScaled, "scales_products", blockScaled},
      {kScaled, "refusals", blockScaledRefusals},
  };
}

}  // namespace shiftconv::tests::tensor_mma_cases

namespace shiftconv::tests {
FormCases tensorMmaCases() { return tensor_mma_cases::all(); }
}  // namespace shiftconv::tests
