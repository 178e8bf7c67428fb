// Swizzle formulas against the chunk tables of PTX ISA 9.0, 5.5.7, written out: entry = chunk number that a 16-byte cell
// of a line receives.
#include "common/emulator/tma/tensor_map.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace shiftconv::emulator::tma {
namespace {

using Line = std::array<uint32_t, 8>;

struct Table {
  Swizzle mode;
  std::vector<Line> lines;  ///< the pattern repeats after the last one
};

const std::vector<Table>& tables() {
  static const std::vector<Table> all{
      {Swizzle::None, {{0, 1, 2, 3, 4, 5, 6, 7}}},
      {Swizzle::B32, {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}}},
      {Swizzle::B64, {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}}},
      {Swizzle::B128,
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {1, 0, 3, 2, 5, 4, 7, 6},
        {2, 3, 0, 1, 6, 7, 4, 5},
        {3, 2, 1, 0, 7, 6, 5, 4},
        {4, 5, 6, 7, 0, 1, 2, 3},
        {5, 4, 7, 6, 1, 0, 3, 2},
        {6, 7, 4, 5, 2, 3, 0, 1},
        {7, 6, 5, 4, 3, 2, 1, 0}}},
      {Swizzle::B128Atom32,
       {{0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}}},
      {Swizzle::B128Atom64, {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}}},
  };
  return all;
}

TEST(Swizzle, MatchesTheChunkTables) {
  for (const Table& table : tables()) {
    const SwizzlePattern swizzle = swizzlePattern(table.mode);
    for (uint32_t line = 0; line < 32; ++line)
      for (uint32_t chunk = 0; chunk < 8; ++chunk)
        for (uint32_t byte = 0; byte < 16; ++byte) {
          const uint32_t expected = line * 128 + table.lines[line % table.lines.size()][chunk] * 16 + byte;
          EXPECT_EQ(swizzle(line * 128 + chunk * 16 + byte), expected)
              << toString(table.mode) << " line " << line << " chunk " << chunk;
        }
  }
}

TEST(Swizzle, Flip8SwapsHalvesOnOddLinesOnly) {
  const SwizzlePattern plain = swizzlePattern(Swizzle::B128Atom32), flipped = swizzlePattern(Swizzle::B128Atom32Flip8);
  for (uint32_t address = 0; address < 4096; ++address) {
    const bool odd = address / 128 % 2 == 1;
    EXPECT_EQ(flipped(address), odd ? plain(address) / 16 * 16 + (plain(address) % 16 + 8) % 16 : plain(address));
  }
}

TEST(Swizzle, MovesBytesOnlyInsideTheirSpanAndKeepsChunksWhole) {
  for (Swizzle mode :
       {Swizzle::B32, Swizzle::B64, Swizzle::B128, Swizzle::B128Atom32, Swizzle::B128Atom32Flip8, Swizzle::B128Atom64}) {
    const SwizzlePattern swizzle = swizzlePattern(mode);
    std::set<uint32_t> seen;
    for (uint32_t address = 0; address < 4096; ++address) {
      seen.insert(swizzle(address));
      EXPECT_EQ(swizzle(address) / swizzle.span, address / swizzle.span) << toString(mode);
      EXPECT_EQ(swizzle(address), swizzle(address / swizzle.chunk * swizzle.chunk) + address % swizzle.chunk) << toString(mode);
    }
    EXPECT_EQ(seen.size(), 4096u) << toString(mode) << " maps two bytes to one place";
  }
}

TEST(Swizzle, RepeatsAsDocumented) {
  const auto repeatsEvery = [](Swizzle mode, uint32_t period) {
    const SwizzlePattern swizzle = swizzlePattern(mode);
    for (uint32_t address = 0; address < 4096; ++address)
      if (swizzle(address + period) != swizzle(address) + period) return false;
    return true;
  };
  const std::vector<std::pair<Swizzle, uint32_t>> periods{{Swizzle::B32, 256},        {Swizzle::B64, 512},
                                                          {Swizzle::B128, 1024},      {Swizzle::B128Atom32, 512},
                                                          {Swizzle::B128Atom64, 256}, {Swizzle::B128Atom32Flip8, 512}};
  for (const auto& [mode, period] : periods) {
    EXPECT_TRUE(repeatsEvery(mode, period)) << toString(mode);
    EXPECT_FALSE(repeatsEvery(mode, period / 2)) << toString(mode);
  }
}

}  // namespace
}  // namespace shiftconv::emulator::tma
