#include <gtest/gtest.h>

#include <random>

#include "common/layout/instruction_descriptor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"

namespace shiftconv::layout {
namespace {

uint64_t field(uint64_t word, unsigned low, unsigned bits) { return (word >> low) & ((uint64_t{1} << bits) - 1); }

// Field positions: PTX ISA 9.0, 9.7.16.4.1.
TEST(SharedMatrixDescriptor, PutsEveryFieldWhereTheIsaSaysForSwizzle128) {
  const uint64_t d = swizzle128KMajorDescriptor(0x1a400, 1024);
  EXPECT_EQ(field(d, 0, 14), 0x1a40u);
  EXPECT_EQ(field(d, 14, 2), 0u);
  EXPECT_EQ(field(d, 16, 14), 1u);
  EXPECT_EQ(field(d, 30, 2), 0u);
  EXPECT_EQ(field(d, 32, 14), 64u);
  EXPECT_EQ(field(d, 46, 3), 1u) << "constant";
  EXPECT_EQ(field(d, 49, 3), 0u) << "base offset";
  EXPECT_EQ(field(d, 52, 9), 0u);
  EXPECT_EQ(field(d, 61, 3), 2u) << "128-byte swizzle";
}

TEST(SharedMatrixDescriptor, DropsTheClusterRankBitsOfTheAddress) {
  EXPECT_EQ(swizzle128KMajorDescriptor((1u << 24) | 0x8000u), swizzle128KMajorDescriptor(0x8000u));
}

TEST(SharedMatrixDescriptor, AdvancesTheStartOnly) {
  const uint64_t d = swizzle128KMajorDescriptor(0x4000);
  EXPECT_EQ(advanceDescriptor(d, 96), swizzle128KMajorDescriptor(0x4060));
}

// The 16-byte cell table of TMA's 128-byte swizzle (PTX ISA 9.0, 5.5.7): cell c of line l lands in cell c ^ (l % 8).
TEST(Swizzle128, ExchangesSixteenByteCellsWithinALine) {
  for (uint32_t line = 0; line < 24; ++line)
    for (uint32_t cell = 0; cell < 8; ++cell)
      for (uint32_t byte : {0u, 7u, 15u})
        EXPECT_EQ(swizzle128(line * 128 + cell * 16 + byte), line * 128 + (cell ^ (line % 8)) * 16 + byte);
}

TEST(SharedMatrixDescriptor, PutsAStartIntoATemplateWithoutTouchingOtherFields) {
  constexpr uint32_t kCtaBits = 3u << 24;
  EXPECT_EQ(descriptorAt(swizzle128KMajorDescriptor(0), 0x1a400), swizzle128KMajorDescriptor(0x1a400));
  EXPECT_EQ(descriptorAt(swizzle128MnMajorDescriptor(0, 8192, false), kCtaBits | 0x8000u),
            swizzle128MnMajorDescriptor(0x8000u, 8192, false));
}

// PTX ISA 9.0, 9.7.16.3.3: runs of 128 bytes along M or N, groups of 8 (32-bit elements: 4) along K.
TEST(SharedMatrixDescriptor, MnMajorOperandsHaveTheirStridesAndSwizzle) {
  const uint64_t d = swizzle128MnMajorDescriptor(0x4000, 8192, false), d32 = swizzle128MnMajorDescriptor(0x4000, 4096, true);
  EXPECT_EQ(field(d, 0, 14), 0x400u);
  EXPECT_EQ(field(d, 16, 14), 8192u >> 4);
  EXPECT_EQ(field(d, 32, 14), 1024u >> 4);
  EXPECT_EQ(field(d, 46, 3), 1u);
  EXPECT_EQ(field(d, 61, 3), 2u);
  EXPECT_EQ(field(d32, 16, 14), 4096u >> 4);
  EXPECT_EQ(field(d32, 32, 14), 512u >> 4);
  EXPECT_EQ(field(d32, 61, 3), 1u);
}

// Field positions: PTX ISA 9.0, table 42.
TEST(InstructionDescriptor, PutsEveryFieldWhereTheIsaSays) {
  const uint64_t d = instructionDescriptorF16(NumberType::BF16, MmaAccumulator::F32, 128, 176);
  EXPECT_EQ(field(d, 0, 4), 0u) << "dense, no saturation";
  EXPECT_EQ(field(d, 4, 2), 1u) << "f32 accumulator";
  EXPECT_EQ(field(d, 7, 3), 1u) << "A is bf16";
  EXPECT_EQ(field(d, 10, 3), 1u) << "B is bf16";
  EXPECT_EQ(field(d, 13, 4), 0u) << "no negation, both K-major";
  EXPECT_EQ(field(d, 17, 6), 22u) << "N / 8";
  EXPECT_EQ(field(d, 24, 5), 8u) << "M / 16";
  EXPECT_EQ(field(d, 29, 3), 0u);
  EXPECT_EQ(field(instructionDescriptorF16(NumberType::F16, MmaAccumulator::F16, 64, 8), 4, 9), 0u);
}

// PTX ISA 9.0, tables 42 to 44.
TEST(InstructionDescriptor, KnowsEveryKind) {
  const auto of = [](MmaKind kind, NumberType a, NumberType b, MmaAccumulator accumulator = MmaAccumulator::F32) {
    return uint64_t{instructionDescriptor({kind, a, b, accumulator}, 128, 64)};
  };
  const uint64_t tf32 = of(MmaKind::TF32, NumberType::TF32, NumberType::TF32);
  EXPECT_EQ(field(tf32, 7, 3), 2u);
  EXPECT_EQ(field(tf32, 10, 3), 2u);
  const std::pair<NumberType, uint64_t> narrow[] = {
      {NumberType::E4M3, 0}, {NumberType::E5M2, 1}, {NumberType::E2M3, 3}, {NumberType::E3M2, 4}, {NumberType::E2M1, 5}};
  for (const auto& [type, code] : narrow) {
    EXPECT_EQ(field(of(MmaKind::F8F6F4, type, NumberType::E4M3), 7, 3), code);
    EXPECT_EQ(field(of(MmaKind::MxF8F6F4, NumberType::E4M3, type), 10, 3), code);
  }
  const uint64_t integers = of(MmaKind::I8, NumberType::S8, NumberType::U8, MmaAccumulator::S32);
  EXPECT_EQ(field(integers, 4, 2), 2u);
  EXPECT_EQ(field(integers, 7, 3), 1u);
  EXPECT_EQ(field(integers, 10, 3), 0u);
  const uint64_t scaled =
      instructionDescriptor({MmaKind::NvF4, NumberType::E2M1, NumberType::E2M1, MmaAccumulator::F32, NumberType::UE4M3}, 256, 96);
  EXPECT_EQ(field(scaled, 0, 7), 0u);
  EXPECT_EQ(field(scaled, 7, 3), 1u);
  EXPECT_EQ(field(scaled, 10, 2), 1u);
  EXPECT_EQ(field(scaled, 17, 6), 12u);
  EXPECT_EQ(field(scaled, 23, 1), 0u) << "ue4m3";
  EXPECT_EQ(field(scaled, 27, 2), 2u) << "M / 128";
  EXPECT_EQ(field(of(MmaKind::MxF4, NumberType::E2M1, NumberType::E2M1), 23, 1), 1u) << "ue8m0";
  const uint64_t third = selectScaleByte(static_cast<uint32_t>(scaled), 2);
  EXPECT_EQ(field(third, 4, 2), 2u) << "B";
  EXPECT_EQ(field(third, 29, 2), 2u) << "A";
  MmaTypes transposed;
  transposed.mnMajorA = true;
  EXPECT_EQ(field(instructionDescriptor(transposed, 128, 64), 15, 2), 1u);
  transposed.kind = MmaKind::MxF8F6F4, transposed.mnMajorA = false, transposed.mnMajorB = true;
  EXPECT_EQ(field(instructionDescriptor(transposed, 128, 64), 15, 2), 2u);
}

}  // namespace
}  // namespace shiftconv::layout
