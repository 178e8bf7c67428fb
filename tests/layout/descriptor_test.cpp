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

// Field positions: PTX ISA 9.0, table 42.
TEST(InstructionDescriptor, PutsEveryFieldWhereTheIsaSays) {
  const uint64_t d = instructionDescriptorF16(MmaInput16::BF16, MmaAccumulator::F32, 128, 176);
  EXPECT_EQ(field(d, 0, 4), 0u) << "dense, no saturation";
  EXPECT_EQ(field(d, 4, 2), 1u) << "f32 accumulator";
  EXPECT_EQ(field(d, 7, 3), 1u) << "A is bf16";
  EXPECT_EQ(field(d, 10, 3), 1u) << "B is bf16";
  EXPECT_EQ(field(d, 13, 4), 0u) << "no negation, both K-major";
  EXPECT_EQ(field(d, 17, 6), 22u) << "N / 8";
  EXPECT_EQ(field(d, 24, 5), 8u) << "M / 16";
  EXPECT_EQ(field(d, 29, 3), 0u);
  EXPECT_EQ(field(instructionDescriptorF16(MmaInput16::F16, MmaAccumulator::F16, 64, 8), 4, 9), 0u);
}

}  // namespace
}  // namespace shiftconv::layout
