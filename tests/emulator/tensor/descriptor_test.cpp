// Shared-memory and instruction descriptors: fields and rules (PTX ISA 9.7.16.4), and operand addresses (9.7.16.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/descriptors.hpp"
#include "common/emulator/tensor/operand_address.hpp"
#include "tests/emulator/tensor/operand_placement.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;
using namespace emulator::tensor;
using testing::HasSubstr;

template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Descriptor) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

constexpr uint64_t kVersion = uint64_t{1} << 46;

TEST(MatrixDescriptor, Fields) {
  const MatrixDescriptor d = decodeMatrixDescriptor(
      0x123 | uint64_t{0x40} << 16 | uint64_t{0x3fff} << 32 | kVersion | uint64_t{5} << 49 | uint64_t{2} << 61, "A");
  EXPECT_EQ(d.start, 0x1230u);
  EXPECT_EQ(d.leadingOffset, 0x400u);
  EXPECT_EQ(d.strideOffset, 0x3fff0u);
  EXPECT_EQ(d.baseOffset, 5);
  EXPECT_EQ(d.swizzle, Swizzle::Bytes128);
}

TEST(MatrixDescriptor, EveryRuleIsChecked) {
  const auto check = [](uint64_t word, const char* part) {
    EXPECT_THAT(refusal([&] { decodeMatrixDescriptor(word, "operand B"); }),
                testing::AllOf(HasSubstr("operand B"), HasSubstr(part)));
  };
  check(0, "48:46");
  check(uint64_t{2} << 46, "48:46");
  check(kVersion | 1 << 14, "15:14");
  check(kVersion | uint64_t{1} << 31, "31:30");
  check(kVersion | uint64_t{1} << 53, "60:53");
  check(kVersion | uint64_t{1} << 60, "60:53");
  check(kVersion | uint64_t{1} << 52, "bit 52");
  for (const uint64_t mode : {3, 5, 7}) check(kVersion | mode << 61, "swizzle mode");
}

TEST(InstructionDescriptor, Fields) {
  IdescFields fields{
      .d = 0, .a = 0, .b = 0, .m = 64, .n = 248, .negateA = true, .negateB = false, .transposeA = false, .transposeB = true};
  const InstructionDescriptor d = decodeInstructionDescriptor(fields.word(), MmaKind::F16, 1);
  EXPECT_EQ(d.d, AccumulatorType::F16);
  EXPECT_EQ(d.a, ElementType::F16);
  EXPECT_TRUE(d.negateA && d.transposeB && !d.negateB && !d.transposeA);
  EXPECT_EQ(d.m, 64u);
  EXPECT_EQ(d.n, 248u);
  EXPECT_EQ(decodeInstructionDescriptor(IdescFields{.a = 1, .b = 1}.word(), MmaKind::F16, 1).b, ElementType::BF16);
  EXPECT_EQ(decodeInstructionDescriptor(IdescFields{.a = 2, .b = 2}.word(), MmaKind::TF32, 1).a, ElementType::TF32);
  EXPECT_EQ(decodeInstructionDescriptor(IdescFields{.a = 5, .b = 3}.word(), MmaKind::F8F6F4, 1).a, ElementType::E2M1);
  EXPECT_EQ(decodeInstructionDescriptor(IdescFields{.d = 2, .a = 1}.word(), MmaKind::I8, 1).a, ElementType::S8);
}

TEST(InstructionDescriptor, EveryRuleIsChecked) {
  const auto check = [](uint32_t word, MmaKind kind, const char* part, uint32_t group = 1) {
    EXPECT_THAT(refusal([&] { decodeInstructionDescriptor(word, kind, group); }), HasSubstr(part));
  };
  const uint32_t good = IdescFields{}.word();
  check(good | 1, MmaKind::F16, "bits 1:0");
  check(good | 4, MmaKind::F16, "sparse");
  check(good | 8, MmaKind::F16, "saturate");
  check(good | 1 << 6, MmaKind::F16, "bits 6");
  check(good | 1 << 23, MmaKind::F16, "bits 23");
  check(good | 1 << 29, MmaKind::F16, "bits 29");
  check(good | 1u << 30, MmaKind::F16, "31:30");
  check(IdescFields{.d = 2}.word(), MmaKind::F16, "D type code 2");
  check(IdescFields{.d = 0, .a = 2, .b = 2}.word(), MmaKind::TF32, "D type code 0");
  check(IdescFields{.a = 2}.word(), MmaKind::F16, "A type code 2");
  check(IdescFields{.b = 7}.word(), MmaKind::F8F6F4, "B type code 7");
  check(IdescFields{.d = 2, .negateA = true}.word(), MmaKind::I8, "negate");
  check(IdescFields{.a = 5, .b = 5, .transposeA = true}.word(), MmaKind::F8F6F4, "e2m1 cannot be MN-major");
  check(IdescFields{.m = 32}.word(), MmaKind::F16, "M = 32");
  check(IdescFields{.m = 256}.word(), MmaKind::F16, "M = 256");
  check(IdescFields{.m = 64}.word(), MmaKind::F16, "M = 64", 2);
  check(IdescFields{.n = 0}.word(), MmaKind::F16, "N = 0");
  check(IdescFields{.n = 264}.word(), MmaKind::F16, "N = 264");
  check(IdescFields{.n = 24}.word(), MmaKind::F16, "N = 24", 2);
  check(IdescFields{.d = 2, .n = 40}.word(), MmaKind::I8, "N = 40");
  check(IdescFields{.n = 24, .transposeB = true}.word(), MmaKind::F8F6F4, "multiple of 16");
  decodeInstructionDescriptor(IdescFields{.d = 2, .n = 24}.word(), MmaKind::I8, 1);
  decodeInstructionDescriptor(IdescFields{.m = 256, .n = 16}.word(), MmaKind::F16, 2);
}

TEST(OperandAddress, EqualsTheRowBasedSwizzle) {
  for (const bool transposed : {false, true}) {
    for (const Mode mode : {Mode::None, Mode::Bytes32, Mode::Bytes64, Mode::Bytes128, Mode::Base32}) {
      for (const uint32_t bytes : {1u, 2u, 4u}) {
        if (mode == Mode::Base32 && !(transposed && bytes == 4)) continue;
        const Placement placement{mode, transposed, 3072, 128, 32 / bytes, bytes};
        const OperandAddress addresses(decodeMatrixDescriptor(placement.descriptor(), "A"), 0);
        for (uint32_t row = 0; row < placement.rows; ++row) {
          for (uint32_t k = 0; k < placement.depth; ++k) {
            const uint32_t per = placement.perChunk();
            const uint32_t address =
                transposed ? addresses.mnMajor(row / per, k) + row % per * bytes : addresses.kMajor(row, k / per) + k % per * bytes;
            ASSERT_EQ(address, placement.address(row, k)) << "mode " << static_cast<int>(mode) << " transposed " << transposed
                                                          << " bytes " << bytes << " row " << row << " k " << k;
          }
        }
      }
    }
  }
}

TEST(OperandAddress, AdvancingTheStartWalksThroughTheSwizzledAtom) {
  // Four K slices of a 128-byte row, each 32 bytes further: the XOR must use the bits of the summed address.
  const Placement tile{Mode::Bytes128, false, 2048, 64, 64, 2};
  for (uint32_t slice = 0; slice < 4; ++slice) {
    MatrixDescriptor descriptor = decodeMatrixDescriptor(tile.descriptor(), "A");
    descriptor.start += 32 * slice;
    const OperandAddress addresses(descriptor, 0);
    for (uint32_t row = 0; row < 64; ++row) {
      for (uint32_t chunk = 0; chunk < 2; ++chunk) {
        ASSERT_EQ(addresses.kMajor(row, chunk), tile.address(row, 16 * slice + 8 * chunk)) << slice << " " << row;
      }
    }
  }
}

TEST(OperandAddress, BaseOffsetAlternatives) {
  // An atom that starts 3 * 128 bytes after a 1024-byte boundary: with base offset 3 its first row is not permuted.
  MatrixDescriptor descriptor;
  descriptor.start = 1024 + 3 * 128;
  descriptor.strideOffset = 1024;
  descriptor.baseOffset = 3;
  descriptor.swizzle = Swizzle::Bytes128;
  EXPECT_EQ(OperandAddress(descriptor, 0).kMajor(0, 0), descriptor.start);
  EXPECT_EQ(OperandAddress(descriptor, 0).kMajor(1, 0), descriptor.start + 128 + 16);
  EXPECT_EQ(OperandAddress(descriptor, 1).kMajor(0, 0), descriptor.start ^ 6 << 4);
  EXPECT_EQ(OperandAddress(descriptor, 2).kMajor(0, 0), descriptor.start ^ 3 << 4);
}

TEST(OperandAddress, SwizzleAndMajornessRules) {
  Semantics semantics;
  Counters counters;
  const auto check = [&](Swizzle swizzle, ElementType type, bool transposed) {
    MatrixDescriptor descriptor;
    descriptor.swizzle = swizzle;
    checkOperandDescriptor(descriptor, type, transposed, "operand A", semantics, counters);
  };
  check(Swizzle::Bytes128Atom32, ElementType::TF32, true);
  check(Swizzle::Bytes128, ElementType::F16, true);
  EXPECT_THAT(refusal([&] { check(Swizzle::Bytes128Atom32, ElementType::TF32, false); }), HasSubstr("only for MN-major tf32"));
  EXPECT_THAT(refusal([&] { check(Swizzle::Bytes128Atom32, ElementType::F16, true); }), HasSubstr("tf32"));
  EXPECT_THAT(refusal([&] { check(Swizzle::Bytes128, ElementType::TF32, true); }),
              HasSubstr("must use the 128-byte swizzle with 32-byte atoms"));
  EXPECT_EQ(counters.unprovenUses[static_cast<size_t>(Unproven::U18)], 0u);
  check(Swizzle::None, ElementType::F16, false);
  EXPECT_EQ(counters.unprovenUses[static_cast<size_t>(Unproven::U18)], 1u);
  semantics.choose(Unproven::U18, 1);
  EXPECT_THAT(refusal([&] { check(Swizzle::None, ElementType::F16, false); }), HasSubstr("U18"));
}

}  // namespace
}  // namespace shiftconv::tests
