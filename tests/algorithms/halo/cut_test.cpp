// Where the halo engine finds its operands, worked out on the host: for every output pixel and filter tap of a plan, the row of the
// box that the matrix instruction reads must hold the input pixel that the convolution asks for, or a zero.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "conv/algorithms/halo/plan.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"
#include "tests/conv/sm90/hopper_plan.hpp"

namespace shiftconv::plan {
namespace {

using kernels::halo::Params;
using kernels::halo::Patch;
using kernels::halo::Tap;

/// An input pixel as its index in the tensor, or nothing for a zero.
using Pixel = std::optional<int64_t>;

/// What the copy engine puts into row `row` of the slot of a patch.
Pixel boxRow(const HaloPlan& plan, const Patch& patch, int64_t column0, int64_t row0, int64_t image0, int64_t row,
             int64_t pitchBytes) {
  const layout::TiledMap& map = plan.inputs[static_cast<size_t>(patch.map)];
  const int64_t columns = map.box[1], images = map.box[2], rows = map.box[3];
  if (row >= columns * images * rows) return {};  // after the box: zeroed once
  const int64_t x = column0 + patch.columnOffset + row % columns, n = image0 + row / columns % images;
  const int64_t y = row0 + patch.rowOffset + row / columns / images;
  const auto inside = [](int64_t i, uint64_t size) { return i >= 0 && static_cast<uint64_t>(i) < size; };
  if (!inside(x, map.dims[1]) || !inside(n, map.dims[2]) || !inside(y, map.dims[3])) return {};
  return (static_cast<int64_t>(map.globalAddress) + x * static_cast<int64_t>(map.strides[0]) +
          n * static_cast<int64_t>(map.strides[1]) + y * static_cast<int64_t>(map.strides[2])) /
         pitchBytes;
}

/// Last positions of a tile that the kernel multiplies with none of the taps of leavesTailOut().
int tail(const HaloPlan& plan) {
  const size_t at = plan.shape.find("_tail");
  return at == std::string::npos ? 0 : std::stoi(std::string(plan.shape.substr(at + 5)));
}
bool pixelsAreA(const HaloPlan& plan) { return plan.shape.starts_with("m"); }
/// Pixels of a tile: of k128_n224, and of m128x2_k48.
int tileN(const HaloPlan& plan) {
  return std::stoi(std::string(plan.shape.substr(pixelsAreA(plan) ? 1 : plan.shape.find("_n") + 2)));
}

void checkPlan(const Problem& p, const HaloPlan& plan) {
  SCOPED_TRACE(describe(p) + ": " + plan.describe());
  const Params& params = plan.params;
  ASSERT_LE(plan.launch.dynamicSharedBytes, h200().sharedBytesPerBlock);
  for (const layout::TiledMap& map : plan.inputs) ASSERT_EQ(layout::refusal(map), "");
  ASSERT_EQ(layout::refusal(plan.output), "");
  // Products of a part of the last chunk leave out what is not there: channels of 16 bits, 16 a slice.
  ASSERT_LE(p.c - (params.chunks - 1) * 64, params.lastSlices * 16);
  for (int32_t i = 0; i < params.patches; ++i) {
    const layout::TiledMap& map = plan.inputs[static_cast<size_t>(params.patch[i].map)];
    ASSERT_EQ(params.patch[i].bytes, map.box[0] * map.box[1] * map.box[2] * map.box[3] * 2);
  }
  const bool plain = static_cast<int64_t>(plan.output.dims[1]) == p.n * p.p() * p.q() && p.n * p.p() > 1;
  const int64_t q = plain ? p.n * p.p() * p.q() : p.q(), outputRows = plain ? 1 : p.p(), images = plain ? 1 : p.n;
  // Output that is written over a box leaves alone what other flat tiles read behind it.
  if (plan.cut == HaloCut::Flat && plan.shape.ends_with("_over")) {
    ASSERT_LE(tileN(plan) * 128, static_cast<int>(params.filledBytes));
  }
  std::set<std::pair<int32_t, int32_t>> seen;  // filter taps
  for (int32_t t = 0; t < params.taps; ++t) seen.emplace(params.tap[t].filterIndex, 0);
  ASSERT_EQ(static_cast<int64_t>(seen.size()), p.r * p.s) << "every filter tap once";

  const int64_t pitch = params.flatPitch.divisor == 1 ? params.tileColumns : params.flatPitch.divisor;
  ASSERT_GE(pitch, params.tileColumns) << "every output has a position of its own";
  for (int64_t image0 = 0; image0 < images; image0 += params.tileImages) {
    for (int64_t row0 = 0; row0 < outputRows; row0 += params.tileRows) {
      for (int64_t column0 = 0; column0 < q; column0 += params.tileColumns) {
        int64_t positions = 0;
        for (int64_t y = 0; y < params.tileRows; ++y) {
          for (int64_t n = 0; n < params.tileImages; ++n) {
            for (int64_t x = 0; x < params.tileColumns; ++x) {
              const int64_t position = (y * params.tileImages + n) * pitch + x;
              positions = std::max(positions, position + 1);
              const int64_t row = row0 + y, column = column0 + x, image = image0 + n;
              if (row >= outputRows || column >= q || image >= images) continue;
              for (int32_t i = 0; i < params.patches; ++i) {
                for (int32_t t = params.patch[i].firstTap; t < params.patch[i].endTap; ++t) {
                  const Tap& tap = params.tap[t];
                  // The operand: rows of 128 bytes in groups of 8, groups groupStrideBytes apart.
                  const int64_t boxRowIndex = tap.row + position / 8 * (params.groupStrideBytes / 128) + position % 8;
                  ASSERT_LE((boxRowIndex + 1) * 128, params.patchSlotBytes);
                  const Pixel found = boxRow(plan, params.patch[i], column0, row0, image0, boxRowIndex, p.inputPitch() * 2);
                  const int64_t r = tap.filterIndex / p.s, s = tap.filterIndex % p.s;
                  Pixel expected;
                  if (plain) {
                    expected = column;
                  } else {
                    const int64_t h = row * p.strideH + r * p.dilationH - p.padTop,
                                  w = column * p.strideW + s * p.dilationW - p.padLeft;
                    if (h >= 0 && h < p.h && w >= 0 && w < p.w) expected = (image * p.h + h) * p.w + w;
                  }
                  if (position >= tileN(plan) - tail(plan) && kernels::halo::leavesTailOut(t)) {
                    ASSERT_EQ(expected, Pixel()) << "left out: output " << image << "," << row << "," << column << " tap " << t;
                  }
                  ASSERT_EQ(found, expected) << "output " << image << "," << row << "," << column << " tap " << r << "," << s;
                }
              }
            }
          }
        }
        ASSERT_LE(positions, tileN(plan));
      }
    }
  }
}

TEST(HaloCut, FindsEveryPixelOfRandomProblems) {
  constexpr uint64_t kSeed = 20261121;
  std::mt19937_64 generator(kSeed);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint64_t>(high - low + 1));
  };
  std::map<HaloCut, int> cuts;
  int partsOfRows = 0;
  for (int i = 0; i < 60; ++i) {
    Problem p;
    p.n = pick(1, 5);
    p.h = pick(1, 20);
    p.w = pick(1, 40);
    p.c = 8 * pick(1, 12);
    p.k = 8 * pick(1, 20);
    p.r = pick(1, 5);
    p.s = pick(1, 5);
    p.dilationH = pick(1, 2);
    p.dilationW = pick(1, 2);
    p.strideH = pick(1, 2);
    p.strideW = pick(1, 2);
    p.padTop = pick(0, p.r);
    p.padBottom = pick(0, p.r);
    p.padLeft = pick(0, p.s);
    p.padRight = pick(0, p.s);
    if (!validate(p).ok() || !haloRefusal(p, h200()).empty()) continue;
    const std::vector<HaloPlan> plans = haloCandidates(p, h200());
    // One plan of each cut, one of those that write over their boxes, and those that leave pixels out.
    std::set<std::tuple<HaloCut, bool, bool, int>> done;
    for (const HaloPlan& plan : plans) {
      if (!done.emplace(plan.cut, plan.shape.ends_with("_over"), pixelsAreA(plan), tail(plan)).second) continue;
      ++cuts[plan.cut];
      partsOfRows += plan.cut == HaloCut::Flat && plan.params.tileColumns < p.q();
      checkPlan(p, plan);
      if (HasFatalFailure()) return;
    }
  }
  for (const HaloCut cut : {HaloCut::Columns, HaloCut::Flat, HaloCut::Dense}) EXPECT_GE(cuts[cut], 10) << toString(cut);
  EXPECT_GE(partsOfRows, 1);
}

/// A warpgroup that waits for another to be ahead keeps the boxes that the other is to multiply meanwhile: these have to be there
/// at once. With strides boxes have different numbers of taps, and in three dimensions several of one tap may come first.
TEST(HaloPlans, LetNoWarpgroupBeFurtherAheadThanTheRingHolds) {
  int lags = 0, differing = 0;
  for (const char* text : {"2x8x56x56x64 e4m3 * 256x3x3x3x64 e4m3 pad 1,1,1,1,1,1 stride 2,2,2 -> e4m3",
                           "2x8x60x56x64 s8 * 192x3x3x3x64 s8 pad 1,1,1,1,1,1 stride 2,2,2 -> s8",
                           "2x8x56x56x64 f16 * 256x3x3x3x64 pad 1,1,1,1,1,1 stride 2,2,2 -> f16 silu",
                           "4x112x112x64 f16 * 128x3x3x64 pad 1,1,1,1 stride 2,2 -> f16", "4x112x112x64 f16 * 128x3x3x64 -> f16",
                           "4x112x112x64 e4m3 * 96x5x3x64 e4m3 pad 2,2,1,1 stride 1,2 -> e4m3"}) {
    Problem p;
    ASSERT_TRUE(parse(text, p).ok()) << text;
    for (const HaloPlan& plan : haloCandidates(p, h200())) {
      const Params& params = plan.params;
      const int32_t consumers = static_cast<int32_t>(plan.launch.block.x / 128) - 1;
      const bool isSeparate = pixelsAreA(plan) || plan.shape.find("x2") != std::string_view::npos;
      int32_t tapsInSlots = 0;
      for (int32_t slot = 0; slot < params.patchSlots / (isSeparate ? 2 : 1); ++slot) {
        const Patch& patch = params.patch[slot % params.patches];
        tapsInSlots += patch.endTap - patch.firstTap;
      }
      EXPECT_LE(params.lag * (consumers - 1), tapsInSlots) << text << ": " << plan.describe();
      lags += params.lag > 0;
      differing += params.patch[0].endTap - params.patch[0].firstTap != params.taps / params.patches;
    }
  }
  EXPECT_GE(lags, 10);
  EXPECT_GE(differing, 10);
}

/// Of 4 images of 7 x 7 pixels the last 28 outputs find nothing under the last filter row, if it is below the image there, and 4 of
/// 200 positions are none; of one image of 14 x 14 the last 14.
TEST(HaloCut, LeavesOutWhatIsBelowTheImageInTilesOfWholeImages) {
  for (const auto& [text, shape, exists] : {std::tuple{"9x7x7x72 f16 * 40x3x3x72 pad 1,1,1,1 -> f16", "k128_n200_tail32", true},
                                            {"9x7x7x72 f16 * 40x3x3x72 pad 1,1,1,1 -> f16", "k128_n200_tail16", true},
                                            {"3x14x14x72 f16 * 40x3x3x72 pad 1,1,1,1 -> f16", "k128_n200_tail16", true},
                                            {"3x14x14x72 f16 * 40x3x3x72 pad 1,1,1,1 -> f16", "k128_n200_tail32", false},
                                            {"9x7x7x72 f16 * 40x3x3x72 pad 2,2,2,2 dilation 2,2 -> f16", "k128_n200_tail32", true},
                                            {"3x28x28x72 f16 * 40x3x3x72 pad 1,1,1,1 -> f16", "k128_n200_tail16", false},
                                            {"9x9x7x72 f16 * 40x3x3x72 pad 0,0,1,1 -> f16", "k128_n200_tail16", false},
                                            {"9x7x7x72 f16 * 40x1x3x72 pad 0,0,1,1 -> f16", "k128_n200_tail16", false}}) {
    Problem p;
    ASSERT_TRUE(parse(text, p).ok()) << text;
    HaloChoices choices;
    choices.shape = shape;
    const std::vector<HaloPlan> plans = haloCandidates(p, h200(), choices);
    EXPECT_EQ(!plans.empty(), exists) << text << " " << shape;
    for (const HaloPlan& plan : plans) checkPlan(p, plan);
  }
}

TEST(HaloPlans, OfKnownLayers) {
  struct Layer {
    const char* problem;
    const char* shape;
    HaloCut cut;
    int32_t split;
  };
  // What was fastest on an H200 of those that were timed.
  for (const Layer& layer : {Layer{"128x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "k64x2_n224_over", HaloCut::Columns, 1},
                             {"128x28x28x128 f16 * 128x3x3x128 pad 1,1,1,1 -> f16", "k128_n200", HaloCut::Dense, 1},
                             {"128x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16", "k128_n200_tail16", HaloCut::Dense, 1},
                             {"128x7x7x512 f16 * 512x3x3x512 pad 1,1,1,1 -> f16", "k128_n200_tail32", HaloCut::Dense, 1},
                             {"32x112x112x128 f16 * 128x3x3x128 pad 1,1,1,1 -> f16", "k128_n224", HaloCut::Columns, 1},
                             {"8x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16", "k320_n128", HaloCut::Columns, 2},
                             {"1x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16", "k64_n32", HaloCut::Flat, 4}}) {
    Problem p;
    ASSERT_TRUE(parse(layer.problem, p).ok()) << layer.problem;
    const HaloPlan plan = haloCandidates(p, h200()).front();
    EXPECT_EQ(plan.shape, layer.shape) << layer.problem;
    EXPECT_EQ(plan.cut, layer.cut) << layer.problem;
    EXPECT_EQ(plan.params.split, layer.split) << layer.problem;
  }
}

/// Warpgroups with pixels of their own take every other tile, so that the last wave may be of single ones; but pairs of
/// neighbours where weights are loaded for both, of more channels than a tile's, or the reduction is split.
TEST(HaloPlans, WarpgroupsAlternateWhereTheyMay) {
  struct Expected {
    const char* problem;
    const char* shape;
    int32_t split;
    bool alternates;
    int32_t tiles;
    uint32_t ctas;
  };
  for (const Expected& expected : {Expected{"32x48x48x256 f16 * 64x1x1x256 -> f16", "m64x2_k64", 1, true, 1152, 128},
                                   Expected{"1x8x72x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "m64x2_k64", 1, true, 9, 9},
                                   Expected{"8x32x32x512 f16 * 256x3x3x512 pad 1,1,1,1 -> f16", "m64x2_k128", 1, false, 128, 128},
                                   Expected{"1x16x8x256 f16 * 64x3x3x256 pad 1,1,1,1 -> f16", "m64x2_k64", 2, false, 1, 2}}) {
    Problem p;
    ASSERT_TRUE(parse(expected.problem, p).ok());
    HaloChoices choices;
    choices.shape = expected.shape;
    choices.split = expected.split;
    choices.cut = p.r == 1 ? HaloCut::Dense : HaloCut::Columns;
    const std::vector<HaloPlan> plans = haloCandidates(p, h200(), choices);
    ASSERT_EQ(plans.size(), 1u) << expected.problem;
    EXPECT_EQ(plans[0].params.alternates, expected.alternates) << expected.problem;
    EXPECT_EQ(plans[0].params.tiles, expected.tiles) << expected.problem;
    EXPECT_EQ(plans[0].launch.grid.x, expected.ctas) << expected.problem;
  }
}

/// Threads share rows that are no multiples of 16 bytes, by elements or pairs of them.
TEST(HaloPlans, ThreadsStoreWhatTheCopyEngineCannot) {
  for (const auto& [output, lanes, bytes] : {std::tuple{"3x3x3x16 -> f16", 4, 2},
                                             {"1x3x3x16 -> f16", 1, 2},
                                             {"2x3x3x16 -> f16", 1, 4},
                                             {"58x3x3x16 -> f16 silu", 32, 4},
                                             {"24x3x3x16 -> f16 pitch 27", 32, 2},
                                             {"24x3x3x16 -> f16", 0, 0}}) {
    Problem p;
    ASSERT_TRUE(parse(std::string("1x18x18x16 f16 * ") + output, p).ok()) << output;
    int seen = 0;
    for (const HaloPlan& plan : haloCandidates(p, h200())) {
      if (!pixelsAreA(plan)) continue;
      ++seen;
      EXPECT_EQ(plan.params.storingLanes, lanes) << output << " " << plan.describe();
      EXPECT_EQ(plan.params.storedBytes, bytes) << output << " " << plan.describe();
    }
    EXPECT_GT(seen, 0) << output;
  }
}

TEST(HaloRefusals, NameTheLimit) {
  for (const auto& [text, part] : {std::pair{"1x8x8x12 f16 * 8x3x3x12 -> f16", "multiple of 8"},
                                   {"1x8x8x8 f16 * 8x3x3x8 bf16 -> f32", "input_type and filter_type are f16 and bf16"},
                                   {"1x8x8x8 s8 * 8x3x3x8 s8 -> s8", "multiple of 16"},
                                   {"1x8x8x32 s8 * 8x3x3x16 s8 groups 2 -> s8", "with groups"},
                                   {"1x30x30x8 f16 * 8x9x9x8 -> f16", "taps at most"},
                                   // weights of groups stay, or there is no tile
                                   {"1x12x12x64 f16 * 64x7x7x8 groups 8 pad 3,3,3,3 -> f16", "no tile for a 7x7 filter"},
                                   {"1x30x30x8 f16 * 8x3x3x8 stride 3,3 -> f16", "stride 3x3"}}) {
    Problem p;
    ASSERT_TRUE(parse(text, p).ok()) << text;
    EXPECT_NE(haloRefusal(p, h200()).find(part), std::string::npos) << text << ": " << haloRefusal(p, h200());
  }
  device::Properties blackwell = h200();
  blackwell.computeMajor = 10;
  Problem p;
  ASSERT_TRUE(parse("1x8x8x8 f16 * 8x3x3x8 -> f16", p).ok());
  EXPECT_NE(haloRefusal(p, blackwell).find("9.0"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::plan
