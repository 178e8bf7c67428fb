// Register fragments of ld/st, tcgen05.cp and row shifts as movements of cells (PTX ISA 9.7.16.8, 9.7.16.9).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/data_movement.hpp"
#include "common/emulator/tensor/fragment_layout.hpp"
#include "tests/emulator/tensor/operand_placement.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;
using namespace emulator::tensor;
using testing::HasSubstr;

// --- fragments ------------------------------------------------------------------------------------------------

TEST(FragmentLayout, EveryCellOfTheShapeIsHeldOnce) {
  for (size_t i = 0; i < static_cast<size_t>(FragmentShape::Count); ++i) {
    const auto shape = static_cast<FragmentShape>(i);
    const FragmentTraits& traits = fragmentTraits(shape);
    for (uint32_t n = 1; n <= traits.largestN; n *= 2) {
      std::set<std::tuple<bool, uint32_t, uint32_t>> cells;
      for (uint32_t thread = 0; thread < 32; ++thread) {
        for (uint32_t index = 0; index < traits.registersPerN * n; ++index) {
          const FragmentCell cell = fragmentCell(shape, thread, index);
          ASSERT_LT(cell.lane, traits.lanes);
          ASSERT_LT(cell.column, traits.columnsPerN * n);
          ASSERT_TRUE(cells.insert({cell.secondHalf, cell.lane, cell.column}).second) << traits.name << " thread " << thread;
        }
      }
    }
    EXPECT_EQ(fragmentShape(traits.name), shape);
  }
}

TEST(FragmentLayout, ThreadsHoldWhatTheFiguresShow) {
  // 16x256b: the accumulator fragment of mma.m16n8: rows t/4 and t/4 + 8, two neighbouring columns each.
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t rows[] = {t / 4, t / 4, t / 4 + 8, t / 4 + 8};
    const uint32_t columns[] = {t % 4 * 2, t % 4 * 2 + 1, t % 4 * 2, t % 4 * 2 + 1};
    for (uint32_t r = 0; r < 4; ++r) {
      EXPECT_EQ(fragmentCell(FragmentShape::S16x256b, t, r).lane, rows[r]);
      EXPECT_EQ(fragmentCell(FragmentShape::S16x256b, t, r).column, columns[r]);
      EXPECT_EQ(fragmentCell(FragmentShape::S16x256b, t, r + 4).column, columns[r] + 8);
    }
    EXPECT_EQ(fragmentCell(FragmentShape::S32x32b, t, 5).lane, t);
    EXPECT_EQ(fragmentCell(FragmentShape::S32x32b, t, 5).column, 5);
    EXPECT_EQ(fragmentCell(FragmentShape::S16x32bx2, t, 3).lane, t % 16);
    EXPECT_EQ(fragmentCell(FragmentShape::S16x32bx2, t, 3).secondHalf, t >= 16);
  }
  // 16x128b: 4 columns of one row to 4 neighbouring threads; second register 8 rows further.
  EXPECT_EQ(fragmentCell(FragmentShape::S16x128b, 7, 1).lane, 9);
  EXPECT_EQ(fragmentCell(FragmentShape::S16x128b, 7, 2).column, 7);
  // 16x64b: even threads rows 0..7, odd threads rows 8..15; bit 1 of the thread is the column.
  EXPECT_EQ(fragmentCell(FragmentShape::S16x64b, 6, 0).lane, 1);
  EXPECT_EQ(fragmentCell(FragmentShape::S16x64b, 6, 0).column, 1);
  EXPECT_EQ(fragmentCell(FragmentShape::S16x64b, 5, 3).lane, 9);
  EXPECT_EQ(fragmentCell(FragmentShape::S16x64b, 5, 3).column, 6);
}

// --- tcgen05.cp -----------------------------------------------------------------------------------------------

class CopyTest : public testing::Test {
 protected:
  CopyTest() {
    memory.allocate(512);
    std::byte* bytes = shared.write(0, shared.size(), 1);
    std::mt19937 random(3);
    for (uint32_t i = 0; i < shared.size(); ++i) bytes[i] = static_cast<std::byte>(random());
  }
  uint8_t sharedByte(uint32_t offset) const { return static_cast<uint8_t>(shared.data()[offset]); }
  uint8_t cellByte(uint32_t lane, uint32_t column, uint32_t byte) const {
    return static_cast<uint8_t>(memory.cells(lane)[column + byte / 4] >> byte % 4 * 8);
  }
  void copy(CopyOperation operation) {
    checkCopy(operation, memory, semantics, counters);
    performCopy(operation, memory, shared, semantics, counters);
  }
  uint64_t uses(Unproven id) const { return counters.unprovenUses[static_cast<size_t>(id)]; }

  TensorMemory memory{false};
  machine::SharedMemory shared{64 * 1024};
  Semantics semantics;
  Counters counters;
};

/// Lanes that must hold source row `row`.
std::set<uint32_t> lanesOf(CopyShape shape, uint32_t row) {
  switch (shape) {
    case CopyShape::S64x128bWarpx2_02_13:
      return {row, row + 64};
    case CopyShape::S64x128bWarpx2_01_23:
      return row < 32 ? std::set{row, row + 32} : std::set{row + 32, row + 64};
    case CopyShape::S32x128bWarpx4:
      return {row, row + 32, row + 64, row + 96};
    case CopyShape::S4x256b:
      return {32 * row};
    default:
      return {row};
  }
}

TEST_F(CopyTest, CountsEverySourceByteOnceAndEveryCopyInTensorMemory) {
  MatrixDescriptor source;
  source.strideOffset = 128;
  source.leadingOffset = 16;
  const auto bytes = [&](CopyShape shape) {
    counters = {};
    copy({shape, SourceFormat::Same, 0, source});
    const auto& row = counters.bytes[static_cast<size_t>(Engine::TensorCopy)];
    return std::pair{row[static_cast<size_t>(Traffic::SharedRead)], row[static_cast<size_t>(Traffic::TmemWrite)]};
  };
  using Bytes = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(bytes(CopyShape::S128x256b), (Bytes{4096, 4096}));
  EXPECT_EQ(bytes(CopyShape::S128x128b), (Bytes{2048, 2048}));
  EXPECT_EQ(bytes(CopyShape::S4x256b), (Bytes{128, 128}));
  EXPECT_EQ(bytes(CopyShape::S64x128bWarpx2_02_13), (Bytes{1024, 2048}));
  EXPECT_EQ(bytes(CopyShape::S64x128bWarpx2_01_23), (Bytes{1024, 2048}));
  EXPECT_EQ(bytes(CopyShape::S32x128bWarpx4), (Bytes{512, 2048}));
}

TEST_F(CopyTest, WhatIsMadeOfUndefinedBytesIsUndefined) {
  MatrixDescriptor source;
  source.strideOffset = 128;
  source.leadingOffset = 16;
  shared.undefine(3 * 16 + 5 * 128, 1);  // row 43
  copy({CopyShape::S64x128bWarpx2_02_13, SourceFormat::Same, 0, source});
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) EXPECT_EQ(memory.isDefined(lane, 0, 4, kWholeCell), lane % 64 != 43) << lane;
}

TEST_F(CopyTest, AShiftLeavesTheLastRowStaleUntilItIsWritten) {
  MatrixDescriptor source;
  source.strideOffset = 128;
  source.leadingOffset = 16;
  copy({CopyShape::S128x256b, SourceFormat::Same, 0, source});
  shiftWindows(memory, 0, 8, kAllWindows);
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) EXPECT_EQ(memory.isStale(lane, 0, 8), lane % 32 == 31) << lane;
  shiftWindows(memory, 0, 8, kAllWindows);
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) EXPECT_EQ(memory.isStale(lane, 0, 8), lane % 32 >= 30) << lane;
  EXPECT_TRUE(memory.isDefined(31, 0, 8, kWholeCell)) << "its old value";
  copy({CopyShape::S4x256b, SourceFormat::Same, packAddress({31, 0}), source});
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) EXPECT_EQ(memory.isStale(lane, 0, 8), lane % 32 == 30) << lane;
}

TEST_F(CopyTest, EveryShapeFromEverySwizzle) {
  const uint32_t column = 64;
  for (size_t s = 0; s < static_cast<size_t>(CopyShape::Count); ++s) {
    const auto shape = static_cast<CopyShape>(s);
    const CopyTraits& traits = copyTraits(shape);
    for (const Mode mode : {Mode::None, Mode::Bytes32, Mode::Bytes64, Mode::Bytes128}) {
      memory.deallocate(0, 512);
      memory.allocate(512);
      const Placement source{mode, false, 4096, traits.rows, traits.bytesPerRow, 1};
      copy({shape, SourceFormat::Same, column, decodeMatrixDescriptor(source.descriptor(), "source")});
      std::set<uint32_t> filled;
      for (uint32_t row = 0; row < traits.rows; ++row) {
        for (const uint32_t lane : lanesOf(shape, row)) {
          filled.insert(lane);
          for (uint32_t byte = 0; byte < traits.bytesPerRow; ++byte) {
            ASSERT_EQ(cellByte(lane, column, byte), sharedByte(source.address(row, byte)))
                << traits.name << " mode " << static_cast<int>(mode) << " row " << row << " lane " << lane << " byte " << byte;
          }
        }
      }
      for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
        for (uint32_t c = 0; c < kTmemColumns; ++c) {
          const bool inside = filled.contains(lane) && c >= column && c < column + traits.bytesPerRow / 4;
          ASSERT_EQ(memory.written(lane)[c], inside ? kWholeCell : kNothing) << traits.name << " lane " << lane << " column " << c;
        }
      }
    }
  }
}

TEST_F(CopyTest, RefillOfTheLastRows) {
  // cp.4x256b at lane 31 writes lanes 31, 63, 95, 127: the rows that shifts leave stale.
  const Placement source{Mode::None, false, 0, 8, 32, 1};
  copy({CopyShape::S4x256b, SourceFormat::Same, packAddress({31, 8}), decodeMatrixDescriptor(source.descriptor(), "source")});
  for (uint32_t row = 0; row < 4; ++row) {
    for (uint32_t byte = 0; byte < 32; ++byte) EXPECT_EQ(cellByte(31 + 32 * row, 8, byte), sharedByte(source.address(row, byte)));
  }
  EXPECT_EQ(uses(Unproven::U4), 1u);
}

TEST_F(CopyTest, SecondChunkOf4x256bHasAlternatives) {
  MatrixDescriptor source;
  source.leadingOffset = 256;
  source.strideOffset = 128;
  copy({CopyShape::S4x256b, SourceFormat::Same, 0, source});
  EXPECT_EQ(cellByte(32, 0, 16), sharedByte(16 + 256));
  semantics.choose(Unproven::U4, 3);
  copy({CopyShape::S4x256b, SourceFormat::Same, 0, source});
  EXPECT_EQ(cellByte(32, 0, 16), sharedByte(16 + 16));
}

TEST_F(CopyTest, WithoutSwizzleInTheOtherReadingOfU29) {
  const Placement source{Mode::Bytes128, false, 0, 128, 32, 1};
  const CopyOperation operation{CopyShape::S128x256b, SourceFormat::Same, 0, decodeMatrixDescriptor(source.descriptor(), "source")};
  copy(operation);
  EXPECT_EQ(uses(Unproven::U29), 1u);
  EXPECT_EQ(cellByte(1, 0, 0), sharedByte(128 + 16));
  semantics.choose(Unproven::U29, 1);
  copy(operation);
  EXPECT_EQ(cellByte(1, 0, 0), sharedByte(128));
}

TEST_F(CopyTest, DecompressesToOneByteAnElement) {
  for (const auto format : {SourceFormat::B4x16P64, SourceFormat::B6x16P32}) {
    const uint32_t bits = format == SourceFormat::B4x16P64 ? 4 : 6;
    // Padding need not be defined.
    for (uint32_t chunk = 0; chunk < 512; ++chunk) shared.poison(chunk * 16 + 2 * bits, 16 - 2 * bits);
    const Placement source{Mode::Bytes128, false, 0, 128, 32, 1};
    copy({CopyShape::S128x128b, format, 16, decodeMatrixDescriptor(source.descriptor(), "source")});
    for (uint32_t row = 0; row < 128; ++row) {
      for (uint32_t element = 0; element < 16; ++element) {
        uint32_t value = 0;
        for (uint32_t b = 0; b < bits; ++b) {
          const uint32_t bit = element * bits + b;
          value |= static_cast<uint32_t>(sharedByte(source.address(row, bit / 8)) >> bit % 8 & 1) << b;
        }
        ASSERT_EQ(cellByte(row, 16, element), bits == 4 ? value << 2 : value << 1)
            << bits << " row " << row << " element " << element;
      }
    }
    std::byte* bytes = shared.write(0, 16 * 1024, 1);
    std::fill_n(bytes, 16 * 1024, std::byte{0x5a});
  }
  EXPECT_EQ(uses(Unproven::U8), 1u);
}

template <class Action>
void expectError(ErrorKind kind, const char* part, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected " << part;
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST_F(CopyTest, RefusesBadOperands) {
  MatrixDescriptor source;
  source.strideOffset = 128;
  source.leadingOffset = 16;
  const auto at = [&](CopyShape shape, uint32_t lane, uint32_t column) {
    return [=, this] { copy({shape, SourceFormat::Same, packAddress({lane, column}), source}); };
  };
  expectError(ErrorKind::Misaligned, "multiple of 4", at(CopyShape::S128x256b, 0, 6));
  expectError(ErrorKind::Misaligned, "lane must be 0", at(CopyShape::S32x128bWarpx4, 1, 0));
  expectError(ErrorKind::Misaligned, "0..31", at(CopyShape::S4x256b, 32, 0));
  expectError(ErrorKind::OutOfBounds, "columns 508..515", at(CopyShape::S128x256b, 0, 508));
  memory.deallocate(0, 512);
  memory.allocate(32);
  expectError(ErrorKind::OutOfBounds, "not allocated", at(CopyShape::S128x128b, 0, 32));
  source.start = 63 * 1024;
  expectError(ErrorKind::OutOfBounds, "the CTA has 0x10000 bytes", at(CopyShape::S128x128b, 0, 0));
  semantics.choose(Unproven::U4, 1);
  expectError(ErrorKind::Misaligned, "lane must be 0", at(CopyShape::S4x256b, 31, 0));
}

// --- shifts ---------------------------------------------------------------------------------------------------

class ShiftTest : public testing::Test {
 protected:
  ShiftTest() {
    memory.allocate(64);
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
      for (uint32_t column = 0; column < 64; ++column) memory.store(lane, column, lane * 1000 + column);
    }
  }
  /// Row that lane should hold after `times` shifts inside windows.
  static uint32_t shifted(uint32_t lane, uint32_t times) { return lane / 32 * 32 + std::min(lane % 32 + times, 31u); }
  TensorMemory memory{false};
  Semantics semantics;
  Counters counters;
};

TEST_F(ShiftTest, MovesEightColumnsOfAllWindowsDownByOne) {
  for (uint32_t times = 1; times <= 3; ++times) {
    shiftWindows(memory, 16, kShiftColumns, checkShift(16, memory, semantics, counters));
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
      for (uint32_t column = 0; column < 64; ++column) {
        const bool moves = column >= 16 && column < 24;
        ASSERT_EQ(memory.cells(lane)[column], (moves ? shifted(lane, times) : lane) * 1000 + column) << lane << " " << column;
      }
    }
  }
}

TEST_F(ShiftTest, UndefinedRowsMoveToo) {
  memory.written(40)[17] = kNothing;
  shiftWindows(memory, 16, kShiftColumns, kAllWindows);
  EXPECT_EQ(memory.written(39)[17], kNothing);
  EXPECT_EQ(memory.written(40)[17], kWholeCell);
}

TEST_F(ShiftTest, AlternativeReadings) {
  EXPECT_EQ(checkShift(packAddress({64, 0}), memory, semantics, counters), 0xfu);
  EXPECT_EQ(counters.unprovenUses[static_cast<size_t>(Unproven::U2)], 1u);
  semantics.choose(Unproven::U2, 2);
  EXPECT_EQ(checkShift(packAddress({64, 0}), memory, semantics, counters), 0xcu);
  semantics.choose(Unproven::U2, 1);
  expectError(ErrorKind::Misaligned, "U2", [&] { checkShift(packAddress({64, 0}), memory, semantics, counters); });
  semantics.choose(Unproven::U1, 1);
  EXPECT_EQ(checkShift(packAddress({64, 0}), memory, semantics, counters), 4u);
  expectError(ErrorKind::Misaligned, "multiple of 32", [&] { checkShift(packAddress({16, 0}), memory, semantics, counters); });
  expectError(ErrorKind::OutOfBounds, "not allocated", [&] { checkShift(60, memory, semantics, counters); });
}

}  // namespace
}  // namespace shiftconv::tests
