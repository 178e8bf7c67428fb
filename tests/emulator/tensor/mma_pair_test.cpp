// tcgen05.mma with cta_group::2: layouts A (M = 256) and B (M = 128) over two CTAs (PTX ISA 9.7.16.10.5), lane masks of
// eight words, shifts in both CTAs.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "common/emulator/tensor/mma.hpp"
#include "tests/emulator/tensor/operand_placement.hpp"
#include "tests/support/oracle.hpp"

namespace shiftconv::tests::mma_pair_test {
namespace {

using namespace emulator;
using namespace emulator::tensor;

constexpr uint32_t kDColumn = 64, kAColumn = 8, kDepth = 16, kBStart = 64 * 1024;

class Pair {
 public:
  Pair(uint32_t m, uint32_t n, bool tensorMemoryA, uint32_t seed) : m_(m), n_(n), random_(seed) {
    for (uint32_t i = 0; i < m * kDepth; ++i) a.push_back(random_() & 0xbfff);
    for (uint32_t i = 0; i < n * kDepth; ++i) b.push_back(random_() & 0xbfff);
    operation.kind = MmaKind::F16;
    operation.ctaGroup = 2;
    operation.descriptor = decodeInstructionDescriptor(IdescFields{.m = m, .n = n}.word(), MmaKind::F16, 2);
    operation.d = kDColumn;
    operation.aInTensorMemory = tensorMemoryA;
    operation.aAddress = kAColumn;
    for (uint32_t cta = 0; cta < 2; ++cta) {
      memory[cta].allocate(512);
      for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
        for (uint32_t column = 0; column < n; ++column) memory[cta].store(lane, kDColumn + column, random_() & 0xbfffffff);
      }
      placeA(cta, m / 2);
      placeB(cta, n / 2);
    }
  }

  void run() {
    const std::array<CtaMemories, 2> ctas{CtaMemories{memory[0], shared[0]}, CtaMemories{memory[1], shared[1]}};
    const MmaContext context{ctas, options, counters, collectors};
    checkMma(operation, context);
    performMma(operation, context);
  }

  /// Element (row, column) of the M x N accumulator.
  uint32_t& d(uint32_t row, uint32_t column) {
    if (m_ == 256) return memory[row / 128].cells(row % 128)[kDColumn + column];
    return memory[row / 64].cells(row % 64 + 64 * (column / (n_ / 2)))[kDColumn + column % (n_ / 2)];
  }
  /// Lane of that element in its CTA.
  uint32_t lane(uint32_t row, uint32_t column) const { return m_ == 256 ? row % 128 : row % 64 + 64 * (column / (n_ / 2)); }
  uint32_t result(uint32_t row, uint32_t column, uint32_t old) const {
    return oracle::multiplyAccumulate(oracle::kF16, {a.begin() + row * kDepth, a.begin() + (row + 1) * kDepth}, false, oracle::kF16,
                                      {b.begin() + column * kDepth, b.begin() + (column + 1) * kDepth}, false, old, {});
  }

  /// Runs; `isDisabled(row, column)` says which elements must stay.
  template <class IsDisabled>
  void runAndCompare(IsDisabled isDisabled) {
    std::vector<uint32_t> old;
    for (uint32_t row = 0; row < m_; ++row) {
      for (uint32_t column = 0; column < n_; ++column) old.push_back(d(row, column));
    }
    run();
    for (uint32_t row = 0; row < m_; ++row) {
      for (uint32_t column = 0; column < n_; ++column) {
        const uint32_t before = old[row * n_ + column];
        ASSERT_EQ(d(row, column), isDisabled(row, column) ? before : result(row, column, before))
            << "row " << row << " column " << column;
      }
    }
  }

  MmaOperation operation;
  std::array<TensorMemory, 2> memory{TensorMemory(false), TensorMemory(false)};
  std::array<machine::SharedMemory, 2> shared{machine::SharedMemory(96 * 1024), machine::SharedMemory(96 * 1024)};
  Options options;
  Counters counters;
  CollectorBuffers collectors;
  std::vector<uint32_t> a, b;

 private:
  void placeA(uint32_t cta, uint32_t rows) {
    const Placement placement{Mode::Bytes128, false, 0, rows, kDepth, 2};
    operation.a = decodeMatrixDescriptor(placement.descriptor(), "A");
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t k = 0; k < kDepth; ++k) {
        const uint32_t bits = a[(cta * rows + row) * kDepth + k];
        if (!operation.aInTensorMemory) std::memcpy(shared[cta].write(placement.address(row, k), 2, 1), &bits, 2);
        // Layout B needs every row at two lanes.
        for (uint32_t at = row; operation.aInTensorMemory && at < 128; at += 64) {
          if (rows == 128 && at != row) break;
          uint32_t& cell = memory[cta].cells(at)[kAColumn + k / 2];
          cell = k % 2 ? (cell & 0xffff) | bits << 16 : bits;
          memory[cta].written(at)[kAColumn + k / 2] = kWholeCell;
        }
      }
    }
  }
  void placeB(uint32_t cta, uint32_t rows) {
    const Placement placement{Mode::Bytes32, false, kBStart, rows, kDepth, 2};
    operation.b = decodeMatrixDescriptor(placement.descriptor(), "B");
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t k = 0; k < kDepth; ++k) {
        std::memcpy(shared[cta].write(placement.address(row, k), 2, 1), &b[(cta * rows + row) * kDepth + k], 2);
      }
    }
  }
  uint32_t m_, n_;
  std::mt19937 random_;
};

TEST(MmaPair, BothLayoutsFromBothMemories) {
  for (const uint32_t m : {128u, 256u}) {
    for (const bool tensorMemoryA : {false, true}) {
      Pair pair(m, 48, tensorMemoryA, m + tensorMemoryA);
      SCOPED_TRACE(m);
      pair.runAndCompare([](uint32_t, uint32_t) { return false; });
    }
  }
}

// M = 256, N = 32: each CTA reads its 128 rows of A and its half of B.
TEST(MmaPair, CountsTheBytesOfBothCtas) {
  Pair pair(256, 32, false, 91);
  pair.run();
  const auto& row = pair.counters.bytes[static_cast<size_t>(Engine::TensorCore)];
  EXPECT_EQ(row[static_cast<size_t>(Traffic::SharedRead)], (256u + 32u) * 32u);
  EXPECT_EQ(row[static_cast<size_t>(Traffic::TmemWrite)], 256u * 32u * 4u);
}

TEST(MmaPair, MaskWordsCoverTheLanesOfBothCtas) {
  const std::array<uint32_t, 8> mask{1, 0xf0, 0, 0x80000000u, 0, 2, 0xffffffffu, 0x10000u};
  for (const uint32_t m : {128u, 256u}) {
    for (const uint8_t rule : {0, 1, 2}) {
      Pair pair(m, 32, true, 7);
      pair.operation.masked = true;
      pair.operation.disabled = mask;
      pair.operation.issuerParity = 1;
      pair.options.semantics.choose(Unproven::U7, rule);
      SCOPED_TRACE(testing::Message() << "m " << m << " rule " << int{rule});
      pair.runAndCompare([&](uint32_t row, uint32_t column) {
        uint32_t bit = row / (m / 2) * 128 + pair.lane(row, column);
        if (rule == 1) bit ^= 128;             // words 4..7 are the peer of the odd issuer
        if (rule == 2 && m == 128) bit = row;  // bits are rows
        return (mask[bit / 32] >> bit % 32 & 1) != 0;
      });
      EXPECT_EQ(pair.counters.unprovenUses[static_cast<size_t>(Unproven::U7)], 1u);
    }
  }
}

TEST(MmaPair, ShiftsAInBothCtas) {
  Pair pair(256, 16, true, 8);
  pair.operation.shiftA = true;
  const uint32_t first = pair.memory[0].cells(41)[kAColumn], second = pair.memory[1].cells(127)[kAColumn + 7];
  pair.run();
  EXPECT_EQ(pair.memory[0].cells(40)[kAColumn], first);
  EXPECT_EQ(pair.memory[1].cells(126)[kAColumn + 7], second);
  EXPECT_EQ(pair.memory[1].cells(127)[kAColumn + 7], second);
}

}  // namespace
}  // namespace shiftconv::tests::mma_pair_test
