// What the planner counts in closed form, against counting one by one.
#include <gtest/gtest.h>

#include <random>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "conv/plan/taps.hpp"
#include "conv/plan/tile_widths.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::plan {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : generator_(seed) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator_); }

 private:
  std::mt19937_64 generator_;
};

TEST(FloorSum, IsTheSumOfTheQuotients) {
  constexpr uint64_t kSeed = 20261122;
  Draw draw(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const int64_t count = draw.in(0, 20), divisor = draw.in(1, 20), step = draw.in(0, 40), first = draw.in(0, 40);
    int64_t sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += (first + k * step) / divisor;
    ASSERT_EQ(floorSum(count, divisor, step, first), sum) << count << " " << divisor << " " << step << " " << first;
  }
}

TEST(TapsInside, AreAsManyAsCountingFinds) {
  constexpr uint64_t kSeed = 20261123;
  Draw draw(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const int64_t extent = draw.in(1, 12), positions = draw.in(0, 12), taps = draw.in(0, 9), stride = draw.in(1, 6),
                  dilation = draw.in(1, 6), pad = draw.in(-20, 40);
    int64_t inside = 0;
    for (int64_t position = 0; position < positions; ++position)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t place = position * stride + tap * dilation - pad;
        inside += place >= 0 && place < extent;
      }
    ASSERT_EQ(tapsInside(extent, positions, taps, stride, dilation, pad), inside)
        << extent << " positions " << positions << " taps " << taps << " stride " << stride << " dilation " << dilation << " pad "
        << pad;
  }
}

/// With extents that counting would take years for: the pairs of a triangle, and all of them.
TEST(TapsInside, TakeNoTimeForLargeExtents) {
  constexpr int64_t kMost = int64_t{1} << 30;
  EXPECT_EQ(tapsInside(kMost, kMost, kMost, 1, 1, 0), kMost * (kMost + 1) / 2);
  EXPECT_EQ(tapsInside(2 * kMost, kMost, kMost, 1, 1, 0), kMost * kMost);
  EXPECT_EQ(tapsInside(1, kMost, kMost, 1, 1, kMost), kMost - 1);
}

TEST(TileWidths, AreThoseOfEveryNumberOfPasses) {
  for (const int64_t step : {16, 32})
    for (const int64_t most : {192, 256})
      for (int64_t outputs = 1; outputs < 1500; ++outputs) {
        std::vector<int64_t> widths;
        for (int64_t passes = 1; passes <= ceilDivide(outputs, step); ++passes) {
          const int64_t width = roundUp(ceilDivide(outputs, passes), step);
          if (width <= most && (widths.empty() || widths.back() != width)) widths.push_back(width);
        }
        ASSERT_EQ(tileWidths(outputs, step, most), widths) << outputs << " in steps of " << step << " up to " << most;
      }
}

device::Properties blackwell() {
  device::Properties properties;
  properties.name = "NVIDIA B200";
  properties.computeMajor = 10;
  properties.multiprocessors = 5;
  properties.sharedBytesPerBlock = 227 * 1024;
  return properties;
}

/// A problem of shift_stream whose pieces, planes and row blocks end where tiles do not.
Problem streamProblem(Draw& draw) {
  Problem p;
  p.n = draw.in(1, 4), p.h = draw.in(1, 40), p.w = draw.in(1, draw.in(0, 2) ? 20 : 150);
  p.c = 16, p.k = 16 * draw.in(1, 5);
  p.r = draw.in(1, 7), p.s = draw.in(1, 7);
  p.dilationH = draw.in(0, 2) == 0 ? draw.in(2, 9) : 1;
  p.strideH = p.dilationH == 1 ? draw.in(1, 3) : 1;
  const bool isPadded = draw.in(0, 3) == 0;
  p.padTop = draw.in(0, isPadded ? 60 : 3), p.padBottom = draw.in(0, isPadded ? 60 : 3);
  p.padLeft = draw.in(0, isPadded ? 200 : 3), p.padRight = draw.in(0, isPadded ? 200 : 3);
  if (draw.in(0, 1) == 0) {
    p.d = draw.in(1, 6), p.t = draw.in(1, 5);
    p.padFront = draw.in(0, 9), p.padBack = draw.in(0, 9), p.strideD = draw.in(1, 3), p.dilationD = draw.in(1, 3);
  }
  return p;
}

/// All tiles together, which are counted by runs of tiles alike, are their tiles one by one.
TEST(ShiftStreamTraffic, IsTheSumOfItsTiles) {
  constexpr uint64_t kSeed = 20261124;
  Draw draw(kSeed);
  int planned = 0;
  for (int i = 0; i < 400; ++i) {
    const Problem p = streamProblem(draw);
    if (!validate(p).ok() || !shiftStreamRefusal(p, blackwell()).empty()) continue;
    ShiftStreamChoices choices;
    choices.map = static_cast<StreamMap>(draw.in(0, 3));
    choices.pair = draw.in(0, 1) == 1;
    if (draw.in(0, 1)) choices.blockRows = static_cast<uint32_t>(draw.in(1, 12));
    ShiftStreamPlan plan;
    if (!planShiftStream(p, blackwell(), choices, plan).empty()) continue;
    ++planned;
    Traffic sum = plan.ofCluster() * plan.clusters();
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) sum += plan.ofTile(tile);
    ASSERT_EQ(plan.traffic, sum) << describe(p) << "\n" << plan.describe() << describe(sum);
    EXPECT_EQ(plan.traffic.storedRows, p.outputPixels() * plan.launch.grid.y);
  }
  EXPECT_GT(planned, 200);
}

/// Rows of accumulators and those of them that are output pixels, worked out by hand: no counter of the emulator shows them.
TEST(TrafficRows, AreThoseOfTheTiles) {
  const struct {
    const char *text, *algorithm, *options;
    int64_t multiplied, stored;
  } cases[] = {
      // 3 x 2 tiles of 8 columns and 16 rows; with 16 of 24 channels in a pass, twice.
      {"1x20x19x16 f16 * 24x3x3x16 pad 1,1,1,1 -> f16", "halo_sm100", "group=single,tile_n=32,tile_images=1", 6 * 128, 380},
      {"1x20x19x16 f16 * 24x3x3x16 pad 1,1,1,1 -> f16", "halo_sm100", "group=pair,tile_n=16,tile_images=1", 2 * 3 * 256, 2 * 380},
      // 3 tiles of rows, 2 of columns; each once more for the other half of a split reduction.
      {"1x1x300x136 f16 * 104x1x1x136 -> f16", "gemm", "group=single,tile_rows=128,tile_n=64,splits=1", 6 * 128, 2 * 300},
      {"1x1x300x136 f16 * 104x1x1x136 -> f16", "gemm", "group=single,tile_rows=128,tile_n=64,splits=2", 2 * 6 * 128, 2 * 300},
      // 2 images of 2 strips of 30 columns, in 4 windows of 32 lanes, 10 rows one after another.
      {"2x10x60x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16", "shift_stream", "map=strips,group=single,block_rows=10", 10 * 128, 1200},
  };
  for (const auto& [text, algorithm, options, multiplied, stored] : cases) {
    SCOPED_TRACE(testing::Message() << text << " | " << algorithm << " " << options);
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok());
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problem, blackwell(), {algorithm, options}, plan);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(plan->traffic.multipliedRows, multiplied);
    EXPECT_EQ(plan->traffic.storedRows, stored);
  }
}

}  // namespace
}  // namespace shiftconv::plan
