// tcgen05.cp and .shift: PTX ISA 9.0, 9.7.16.2.3 (movement shapes), 9.7.16.9. Which source bytes a cell receives is stated from the
// lane; row pairings of .warpx2 and .warpx4 and the four lanes of 4x256b as in CUTLASS copy_traits_sm100.hpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/published_layouts/kernel_parts.hpp"
#include "tests/published_layouts/single_mma.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::layouts::movement_test {
namespace {

constexpr uint32_t kSeed = 20251120, kColumns = 16, kColumn = 4;

struct CopyShape {
  const char* name;
  uint32_t bytes;  ///< of a row
  int (*rowOfLane)(uint32_t lane, uint32_t firstLane);
};

const CopyShape kShapes[] = {
    {"128x256b", 32, [](uint32_t lane, uint32_t) { return static_cast<int>(lane); }},
    {"128x128b", 16, [](uint32_t lane, uint32_t) { return static_cast<int>(lane); }},
    // Warps 0 and 2 receive the first 32 rows, 1 and 3 the others.
    {"64x128b.warpx2::02_13", 16, [](uint32_t lane, uint32_t) { return static_cast<int>(lane / 32 % 2 * 32 + lane % 32); }},
    // Warps 0 and 1 receive the first 32 rows, 2 and 3 the others.
    {"64x128b.warpx2::01_23", 16, [](uint32_t lane, uint32_t) { return static_cast<int>(lane / 32 / 2 * 32 + lane % 32); }},
    {"32x128b.warpx4", 16, [](uint32_t lane, uint32_t) { return static_cast<int>(lane % 32); }},
    // One lane of each window.
    {"4x256b", 32, [](uint32_t lane, uint32_t firstLane) { return lane % 32 == firstLane ? static_cast<int>(lane / 32) : -1; }},
};

/// K-major source: byte `byte` of row `row`. `pitch` 16 is the core-matrix layout without swizzle.
struct Source {
  const char* name;
  uint32_t code, pitch, leading, stride;
  uint32_t at(uint32_t row, uint32_t byte) const {
    const uint32_t chunk = byte / 16, line = row % 8;
    if (pitch == 16) return line * 16 + row / 8 * stride + chunk * leading + byte % 16;
    return row / 8 * stride + line * pitch + (chunk ^ line * pitch / 128 % (pitch / 16)) * 16 + byte % 16;
  }
};
const Source kSources[] = {{"none", 0, 16, 128, 256},
                           {"none, LBO far", 0, 16, 2064, 128},
                           {"32B", 6, 32, 16, 256},
                           {"64B", 4, 64, 16, 512},
                           {"128B", 2, 128, 16, 1024},
                           {"128B, gaps", 2, 128, 16, 3072},
                           {"64B, LBO unused", 4, 64, 4096, 1024}};

struct Format {
  const char* modifier;
  uint32_t bits;  ///< of an element; 8: no decompression
  uint32_t shift;
};
const Format kFormats[] = {{"", 8, 0}, {".b8x16.b6x16_p32", 6, 1}, {".b8x16.b4x16_p64", 4, 2}};

std::vector<std::byte> randomBytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 24);
  return bytes;
}

void expectCopy(const CopyShape& shape, const Source& source, const Format& format, uint32_t firstLane, uint32_t ctaGroup) {
  constexpr uint32_t kImage = 48 * 1024;
  const std::vector<std::byte> input = randomBytes(size_t{kImage} * ctaGroup, kSeed);
  TensorKernel kernel{.body = fillCells(kColumns) + clusterBarrier() +
                              fmt::format("  setp.eq.and.u32 %p1, %rank, 0, %issuer;\n  add.u64 %rd1, %desc, {:#x};\n"
                                          "  add.u32 %r1, %tmem, {:#x};\n  @%p1 tcgen05.cp.cta_group::{}.{}{} [%r1], %rd1;\n",
                                          descriptorBits(0, source.leading, source.stride, source.code), firstLane << 16 | kColumn,
                                          ctaGroup, shape.name, format.modifier) +
                              commitFromFirstCta(0, ctaGroup) + dumpCells(kColumns),
                      .input = input,
                      .outputWords = 128 * kColumns};
  kernel.ctas = kernel.ctaGroup = ctaGroup;
  kernel.inputPerCta = true;
  emulator::Emulator machine;
  const std::vector<uint32_t> output = kernel.run(machine, withHazardChecks());
  for (uint32_t i = 0; i < ctaGroup * 128; ++i) {
    const uint32_t lane = i % 128;
    const std::byte* bytes = input.data() + size_t{i / 128} * kImage;  // each CTA copies from its own shared memory
    const int row = shape.rowOfLane(lane, firstLane);
    for (uint32_t column = 0; column < kColumns; ++column) {
      uint32_t expected = cellBefore(lane, column);
      if (row >= 0 && column >= kColumn && column < kColumn + shape.bytes / 4) {
        expected = 0;
        for (uint32_t b = 0; b < 4; ++b) {
          // Element j of a 16-byte chunk is byte j of the copy and bits [j * bits, (j + 1) * bits) of the source chunk.
          const uint32_t byte = (column - kColumn) * 4 + b, bit = byte % 16 * format.bits;
          uint32_t element = 0;
          for (uint32_t k = 0; k < format.bits; ++k) {
            const uint32_t from = source.at(static_cast<uint32_t>(row), byte / 16 * 16 + (bit + k) / 8);
            element |= (static_cast<uint32_t>(bytes[from]) >> (bit + k) % 8 & 1) << k;
          }
          expected |= element << format.shift << 8 * b;
        }
      }
      ASSERT_EQ(output[i * kColumns + column], expected)
          << shape.name << format.modifier << " source " << source.name << " first lane " << firstLane << " cta_group " << ctaGroup
          << ": CTA " << i / 128 << " lane " << lane << " column " << column << ", seed " << kSeed;
    }
  }
}

class Copies : public testing::TestWithParam<CopyShape> {};

TEST_P(Copies, MoveRowsOfEverySource) {
  const CopyShape& shape = GetParam();
  for (const Source& source : kSources) {
    for (const Format& format : kFormats) {
      for (const uint32_t ctaGroup : {1u, 2u}) {
        expectCopy(shape, source, format, 0, ctaGroup);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Copies, testing::ValuesIn(kShapes), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

/// "TMEM refresh": one lane of each window, wherever it starts. That other lanes than 0 work is not published.
TEST(Refresh, ReachesEveryLaneOfTheWindows) {
  for (uint32_t lane = 0; lane < 32; ++lane) expectCopy(kShapes[5], kSources[lane % 7], kFormats[0], lane, 1);
}

/// Implicit shape 31x256b: in every window lane r takes what r + 1 held, lane 31 keeps its row; 8 columns, both CTAs of a group.
TEST(Shift, MovesRowsUpByOneInEveryWindow) {
  for (const uint32_t ctaGroup : {1u, 2u}) {
    for (const uint32_t times : {1u, 2u, 5u, 33u}) {
      std::string body = fillCells(kColumns) + clusterBarrier() + "  setp.eq.and.u32 %p1, %rank, 0, %issuer;\n";
      for (uint32_t i = 0; i < times; ++i) {
        // Shifts of the same columns are not an ordered pair: each waits for the one before.
        body += fmt::format("  @%p1 tcgen05.shift.cta_group::{}.down [%tmem+4];\n", ctaGroup);
        body += fmt::format(
            "  mov.u16 %h0, {};\n  @%p1 tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
            "[%bar], %h0;\n",
            ctaGroup == 2 ? 3 : 1, ctaGroup);
        body += waitForCommit(0, i % 2) + clusterBarrier();
      }
      TensorKernel kernel{.body = body + dumpCells(kColumns), .outputWords = 128 * kColumns};
      kernel.ctas = kernel.ctaGroup = ctaGroup;
      emulator::Emulator machine;
      const std::vector<uint32_t> output = kernel.run(machine, withHazardChecks());
      for (uint32_t i = 0; i < ctaGroup * 128; ++i) {
        const uint32_t lane = i % 128;
        for (uint32_t column = 0; column < kColumns; ++column) {
          const bool moved = column >= 4 && column < 12;
          const uint32_t from = moved ? lane / 32 * 32 + std::min(lane % 32 + times, 31u) : lane;
          ASSERT_EQ(output[i * kColumns + column], cellBefore(from, column))
              << times << " shifts, cta_group " << ctaGroup << ": CTA " << i / 128 << " lane " << lane << " column " << column;
        }
      }
    }
  }
}

}  // namespace
}  // namespace shiftconv::tests::layouts::movement_test
