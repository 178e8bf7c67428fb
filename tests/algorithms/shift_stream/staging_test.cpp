// Which plans of shift_stream stage their outputs, and where pieces lie in a staging tile.
#include <gtest/gtest.h>

#include <cstdint>

#include "common/device/registry.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

/// B200. Weights of these problems stay beside four stages of rows and more.
ShiftStreamPlan planOf(const char* text, StreamMap map, uint32_t tileN) {
  Problem problem;
  EXPECT_TRUE(parse(text, problem).ok()) << text;
  ShiftStreamPlan plan;
  EXPECT_EQ(planShiftStream(problem, device::presets()[0].properties, {.map = map, .tileN = tileN, .pair = false}, plan), "");
  return plan;
}

struct Expected {
  const char* problem;
  StreamMap map;
  uint32_t tileN;
  int32_t pieces, pieceOutputs, pieceRows;  ///< of a window; of a piece; of a staging tile, 0: outputs are not staged
};

TEST(ShiftStreamStaging, TakesWholePiecesThatBeginAtMultiplesOf128Bytes) {
  constexpr auto kStrips = StreamMap::Strips, kPacked = StreamMap::Packed, kRefilled = StreamMap::StripsRefill;
  for (const Expected& e : {
           // rows of 64 bytes: two of them
           Expected{"2x9x56x32 f16 * 64x3x3x32 pad 1,1,1,1 -> f16", kStrips, 64, 1, 30, 30},
           Expected{"2x9x64x32 f16 * 64x3x3x32 pad 1,1,1,1 -> f16", kRefilled, 64, 1, 32, 32},
           Expected{"8x7x7x32 f16 * 64x3x3x32 pad 1,1,1,1 -> f16", kPacked, 64, 4, 7, 8},
           // rows of 128 bytes: any; of 32 bytes: four
           Expected{"8x7x7x32 f16 * 64x3x3x32 pad 1,1,1,1 -> f32", kPacked, 64, 4, 7, 7},
           Expected{"8x7x7x32 f16 * 64x3x3x32 pad 1,1,1,1 -> e4m3", kPacked, 64, 4, 7, 8},
           // six pieces of 8 rows, of which only four would have room
           Expected{"8x5x5x32 e4m3 * 64x1x1x32 -> e4m3", kPacked, 64, 6, 5, 0},
           Expected{"8x5x5x32 e4m3 * 64x1x1x32 -> f16", kPacked, 64, 6, 5, 0},
           Expected{"8x5x5x32 e4m3 * 64x1x1x32 -> f32", kPacked, 64, 6, 5, 5},
           // the second half of a pass's last box would be another pass's; rows that no tensor store can begin with
           Expected{"2x9x56x32 f16 * 96x3x3x32 pad 1,1,1,1 -> f16", kStrips, 48, 1, 30, 0},
           Expected{"2x9x56x32 f16 * 60x3x3x32 pad 1,1,1,1 -> f16", kStrips, 64, 1, 30, 0},
       }) {
    SCOPED_TRACE(e.problem);
    const ShiftStreamPlan plan = planOf(e.problem, e.map, e.tileN);
    EXPECT_EQ(plan.params.lanes.framePieces, e.pieces);
    EXPECT_EQ(plan.params.lanes.pieceOutputs, e.pieceOutputs);
    const bool isStaged = e.pieceRows != 0;
    EXPECT_EQ(plan.params.stagingTileBytes != 0, isStaged);
    ASSERT_EQ(plan.output.rank, isStaged ? 3u : 0u);
    if (!isStaged) continue;
    EXPECT_EQ(plan.params.stagedPieceRows, e.pieceRows);
    EXPECT_EQ(plan.output.box[1], static_cast<uint32_t>(e.pieceOutputs));
    EXPECT_NE(plan.describe().find("outputs    staged"), std::string::npos);
  }
}

TEST(ShiftStreamStaging, LeavesOutPartsOfPieces) {
  for (const StreamMap map : {StreamMap::FlatRefill, StreamMap::FlatMasked})
    EXPECT_EQ(planOf("8x7x7x32 f16 * 64x3x3x32 pad 1,1,1,1 -> f16", map, 64).params.stagingTileBytes, 0u);
}

}  // namespace
}  // namespace shiftconv::plan
