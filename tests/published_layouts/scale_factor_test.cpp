// Where scale factors lie in Tensor Memory: PTX ISA 9.0, 9.7.16.10.7, with the replicas and CTA-pair rules of CUTLASS
// (mma_traits_sm100_frag.hpp, tmem_sf_frg) and the 512-byte source atom of sm100_blockscaled_layout.hpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "common/emulator/error.hpp"
#include "tests/published_layouts/kernel_parts.hpp"
#include "tests/published_layouts/single_mma.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::layouts {
namespace {

using emulator::Emulator;
using emulator::EmulatorError;

constexpr uint32_t kScaleA = 3, kScaleB = 4;  ///< for element()
constexpr uint32_t kJunkByte = 0xd3;          ///< 2^84: ruins every sum that uses it

/// Factor of block `block` of row or column `index`: a power of two, or with ue4m3 also 1.5 times one.
struct Factor {
  float value;
  uint32_t byte;
};
Factor factor(uint32_t matrix, uint32_t index, uint32_t block, bool isUe8m0) {
  const int choice = element(matrix, index, block);  // one of ten values
  const int exponent = choice % 3;                   // -2 .. 2
  if (isUe8m0) return {std::ldexp(1.0f, exponent), static_cast<uint32_t>(127 + exponent)};
  const bool half = choice < 0;  // 1.5
  return {std::ldexp(half ? 1.5f : 1.0f, exponent), static_cast<uint32_t>(7 + exponent) << 3 | (half ? 4u : 0u)};
}

struct ScaleCase {
  const char* name;
  const Kind* kind;
  const char* vector;
  uint32_t blocks;  ///< factors of a row per instruction
  bool isUe8m0;
  std::vector<uint32_t> ids;
};

const ScaleCase kCases[] = {
    {"mxf8f6f4_1X", &kMxf8f6f4, "scale_vec::1X", 1, true, {0, 1, 2, 3}},
    {"mxf8f6f4_block32", &kMxf8f6f4, "block32", 1, true, {0, 3}},
    {"mxf4_2X", &kMxf4, "scale_vec::2X", 2, true, {0, 2}},
    {"mxf4_block32", &kMxf4, "block32", 2, true, {0}},
    {"mxf4nvf4_2X", &kMxf4nvf4, "scale_vec::2X", 2, true, {0, 2}},
    {"mxf4nvf4_4X", &kMxf4nvf4, "scale_vec::4X", 4, true, {0}},
    {"mxf4nvf4_4X_ue4m3", &kMxf4nvf4, "scale_vec::4X", 4, false, {0}},
    {"mxf4nvf4_block16_ue4m3", &kMxf4nvf4, "block16", 4, false, {0}},
};

/// Bytes id .. id + blocks - 1 of the word hold the factors, low byte first; the others must not matter.
uint32_t packFactors(uint32_t matrix, uint32_t index, const ScaleCase& test, uint32_t id) {
  uint32_t word = kJunkByte * 0x01010101u;
  for (uint32_t block = 0; block < test.blocks; ++block) {
    const uint32_t shift = 8 * (id + block);
    word = (word & ~(0xffu << shift)) | factor(matrix, index, block, test.isUe8m0).byte << shift;
  }
  return word;
}

struct Pair {
  uint32_t ctaGroup, m, n;
};

class ScaleFactors : public testing::TestWithParam<ScaleCase> {};

TEST_P(ScaleFactors, LieInGroupsOf32RowsInEveryWindow) {
  const ScaleCase& test = GetParam();
  Emulator machine;
  for (const Pair& shape : {Pair{1, 128, 64}, Pair{1, 128, 256}, Pair{1, 128, 40}, Pair{2, 256, 96}, Pair{2, 128, 128},
                            Pair{2, 128, 256}, Pair{2, 128, 96}}) {
    for (const uint32_t id : test.ids) {
      SingleMma mma{.kind = test.kind, .ctaGroup = shape.ctaGroup, .m = shape.m, .n = shape.n};
      mma.scaleVector = test.vector;
      mma.scaleIsUe8m0 = test.isUe8m0;
      mma.scaleIdA = id;
      mma.scaleIdB = test.ids[(id + 1) % test.ids.size()];
      const uint32_t rows = shape.m / shape.ctaGroup;
      const bool halves = shape.ctaGroup == 2 && shape.m == 128;  // lanes 0..63 multiply the first half of the columns
      // SFA is split: a CTA holds the factors of its own rows. Every window has a copy of all of them.
      mma.scalesA = [&](uint32_t cta, uint32_t lane, uint32_t column) {
        const uint32_t row = 32 * column + lane % 32;
        return row < rows ? packFactors(kScaleA, cta * rows + row, test, mma.scaleIdA) : kJunkByte * 0x01010101u;
      };
      // SFB is shared: both CTAs hold the factors of all columns; with M = 128 a half of them in each half of the lanes.
      mma.scalesB = [&](uint32_t, uint32_t lane, uint32_t column) {
        const uint32_t first = halves && lane >= 64 ? shape.n / 2 : 0, count = halves ? shape.n / 2 : shape.n;
        const uint32_t local = 32 * column + lane % 32;
        return local < count ? packFactors(kScaleB, first + local, test, mma.scaleIdB) : kJunkByte * 0x01010101u;
      };
      SCOPED_TRACE(fmt::format("scale factor ids {} and {}", mma.scaleIdA, mma.scaleIdB));
      expectAccumulators(mma, mma.run(machine), [&](uint32_t m, uint32_t n) {
        float sum = 0;
        const uint32_t blockDepth = test.kind->depth / test.blocks;
        for (uint32_t block = 0; block < test.blocks; ++block) {
          int part = 0;
          for (uint32_t k = block * blockDepth; k < (block + 1) * blockDepth; ++k)
            part += element(kMatrixA, m, k) * element(kMatrixB, n, k);
          sum += static_cast<float>(part) * factor(kScaleA, m, block, test.isUe8m0).value *
                 factor(kScaleB, n, block, test.isUe8m0).value;
        }
        return sum;
      });
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, ScaleFactors, testing::ValuesIn(kCases), [](const auto& info) { return info.param.name; });

/// A 32x128b.warpx4 copy of a 512-byte atom (row r, block j at 16 * (r % 32) + 4 * (r / 32) + j) gives the layout above.
TEST(ScaleFactorAtom, IsWhatWarpx4CopiesIntoFourColumns) {
  std::vector<std::byte> atom(512);
  const auto byteOf = [](uint32_t row, uint32_t block) { return static_cast<std::byte>(row * 4 + block + row / 64); };
  for (uint32_t row = 0; row < 128; ++row) {
    for (uint32_t block = 0; block < 4; ++block) atom[16 * (row % 32) + 4 * (row / 32) + block] = byteOf(row, block);
  }
  const TensorKernel kernel{.body = fillCells(16) + clusterBarrier() +
                                    fmt::format("  add.u64 %rd1, %desc, {:#x};\n"
                                                "  @%issuer tcgen05.cp.cta_group::1.32x128b.warpx4 [%tmem+8], %rd1;\n",
                                                descriptorBits(0, 16, 128)) +
                                    commitAndWait(0) + dumpCells(16),
                            .input = atom,
                            .outputWords = 128 * 16};
  Emulator machine;
  const std::vector<uint32_t> output = kernel.run(machine, withHazardChecks());
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t column = 0; column < 16; ++column) {
      uint32_t expected = cellBefore(lane, column);
      if (column >= 8 && column < 12) {
        expected = 0;
        for (uint32_t block = 0; block < 4; ++block)
          expected |= static_cast<uint32_t>(byteOf(32 * (column - 8) + lane % 32, block)) << 8 * block;
      }
      ASSERT_EQ(output[lane * 16 + column], expected) << "lane " << lane << " column " << column;
    }
  }
}

/// SFB of a pair with M = 128 and N = 256: two atoms back to back, copied by 64x128b.warpx2::01_23; columns 0..127 of the matrix
/// go to windows 0 and 1, the others to windows 2 and 3.
TEST(ScaleFactorAtom, IsSplitBetweenHalvesOfTheLanesByWarpx2) {
  std::vector<std::byte> atoms(1024);
  const auto wordOf = [](uint32_t n) { return 0x3000 + n * 0x10001; };
  for (uint32_t n = 0; n < 256; ++n) {
    const uint32_t word = wordOf(n);
    std::memcpy(atoms.data() + n / 128 * 512 + 16 * (n % 32) + 4 * (n % 128 / 32), &word, 4);
  }
  const TensorKernel kernel{.body = fillCells(16) + clusterBarrier() +
                                    fmt::format("  add.u64 %rd1, %desc, {:#x};\n"
                                                "  @%issuer tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [%tmem+4], %rd1;\n",
                                                descriptorBits(0, 16, 128)) +
                                    commitAndWait(0) + dumpCells(16),
                            .input = atoms,
                            .outputWords = 128 * 16};
  Emulator machine;
  const std::vector<uint32_t> output = kernel.run(machine, withHazardChecks());
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t column = 4; column < 8; ++column)
      ASSERT_EQ(output[lane * 16 + column], wordOf(lane / 64 * 128 + (column - 4) * 32 + lane % 32)) << lane << " " << column;
  }
}

/// Every vector size that tables 54 and 55 do not give to a kind is refused, as are ids that leave the word.
TEST(ScaleFactorRules, AreNamed) {
  const auto refused = [](const SingleMma& mma, const std::string& part) {
    Emulator machine;
    try {
      mma.run(machine);
      ADD_FAILURE() << "ran; expected " << part;
    } catch (const EmulatorError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const auto legal = [](const Kind& kind, std::string_view vector) {
    for (const ScaleCase& test : kCases)
      if (test.kind == &kind && test.vector == vector) return true;
    return &kind == &kMxf4nvf4 && vector == "block32";
  };
  for (const Kind* kind : {&kMxf8f6f4, &kMxf4, &kMxf4nvf4}) {
    for (const char* vector : {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"}) {
      if (legal(*kind, vector)) continue;
      refused({.kind = kind, .scaleVector = vector}, fmt::format(".{} is not legal for kind::{}", vector, kind->name));
    }
  }
  for (const uint32_t id : {1u, 3u}) refused({.kind = &kMxf4, .scaleIdA = id}, fmt::format("id {} of A", id));
  for (const uint32_t id : {1u, 2u, 3u}) refused({.kind = &kMxf4nvf4, .scaleIdB = id}, fmt::format("id {} of B", id));
  for (const Kind* kind : {&kMxf8f6f4, &kMxf4}) refused({.kind = kind, .scaleIsUe8m0 = false}, "ue4m3");
  refused({.kind = &kMxf4nvf4, .scaleVector = "scale_vec::2X", .scaleIsUe8m0 = false}, "ue4m3");
}

}  // namespace
}  // namespace shiftconv::tests::layouts
