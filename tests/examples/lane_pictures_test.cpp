// What the emulator did in the runs that docs/sliding.md shows, against the geometry of the convolution; and its pictures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "examples/lane_pictures/pictures.hpp"
#include "examples/lane_pictures/runs.hpp"

namespace lane_pictures {

void PrintTo(const Lane& lane, std::ostream* out) {
  const auto text = [](const std::optional<Pixel>& pixel) {
    return pixel ? fmt::format("image {} row {} column {}", pixel->image, pixel->row, pixel->column) : "zeros";
  };
  *out << fmt::format("{}{}{}{}, scale of {}{}", text(lane.pixel), lane.isStale ? " stale" : "", lane.isRefilled ? " refilled" : "",
                      lane.isEnabled ? "" : " disabled", text(lane.scale), lane.isScaleStale ? " stale" : "");
}
void PrintTo(const Use& use, std::ostream* out) { *out << fmt::format("w[{}][{}] to column {}", use.r, use.s, use.sums); }

namespace {

const Recording& example() {
  static const Recording recording = runWorkedExample(LADDER_STEP_4);
  return recording;
}

/// Rows of 9 pixels of six pieces, two images by three blocks of rows, lie end to end; lane l begins with pixel l - 1.
Lane expectedLane(int step, int s, int lane) {
  constexpr int kPixels = 54;
  const int place = lane - 1 + s, block = place / 18, image = place / 9 % 2, row = 3 * block - 1 + step;
  Lane expected;
  if (place >= 0 && place < kPixels && row >= 0 && row < 9) expected.pixel = Pixel{image, row, place % 9};
  const bool isElsewhere = place >= 0 && place < kPixels && place / 9 != lane / 9;
  expected.isEnabled = lane < kPixels && !isElsewhere;
  expected.isRefilled = s > 0 && lane % 32 == 31;
  return expected;
}

TEST(WorkedExample, LanesHoldWhatTheTapsNeed) {
  ASSERT_EQ(example().size(), 5u * 3u);
  for (int step = 0; step < 5; ++step)
    for (int s = 0; s < 3; ++s) {
      const TapColumn& column = example()[static_cast<size_t>(3 * step + s)];
      EXPECT_EQ(column.shifts, s);
      for (int lane = 0; lane < static_cast<int>(kLanes); ++lane)
        EXPECT_EQ(column.lanes[static_cast<size_t>(lane)], expectedLane(step, s, lane))
            << "step " << step << ", s = " << s << ", lane " << lane;
    }
}

TEST(WorkedExample, FilterRowsGoToTheirOutputRows) {
  for (int step = 0; step < 5; ++step)
    for (int s = 0; s < 3; ++s) {
      std::vector<Use> expected;
      for (int row = 0; row < 3; ++row)
        if (const int r = step - row; r >= 0 && r < 3) expected.push_back({r, s, static_cast<uint32_t>(row) * 32});
      EXPECT_EQ(example()[static_cast<size_t>(3 * step + s)].uses, expected) << "step " << step << ", s = " << s;
    }
}

/// As the note that introduced the example has it, for the rows that pass through the image.
TEST(WorkedExample, FirstSixteenLanesAreDisabledAsPublished) {
  const std::vector<std::vector<int>> expected{{9}, {}, {8}};
  for (size_t s = 0; s < 3; ++s) {
    std::vector<int> disabled, zeros;
    for (int lane = 0; lane < 16; ++lane) {
      const Lane& held = example()[6 + s].lanes[static_cast<size_t>(lane)];
      if (!held.isEnabled) disabled.push_back(lane);
      if (!held.pixel) zeros.push_back(lane);
    }
    EXPECT_EQ(disabled, expected[s]) << "s = " << s;
    EXPECT_EQ(zeros, s == 0 ? std::vector<int>{0} : std::vector<int>{}) << "s = " << s;
  }
}

class Strip : public testing::TestWithParam<bool> {};

TEST_P(Strip, FactorsAreThoseOfThePixelInEveryLaneThatIsStored) {
  const bool isShifted = GetParam();
  const Recording recording = runScaledStrip(isShifted);
  ASSERT_EQ(recording.size(), 3u * 3u);
  for (int row = 0; row < 3; ++row)
    for (int s = 0; s < 3; ++s) {
      const TapColumn& column = recording[static_cast<size_t>(3 * row + s)];
      EXPECT_EQ(column.shifts, s);
      for (int lane = 0; lane < 64; ++lane) {  // the image has two strips; windows 2 and 3 are behind its end
        SCOPED_TRACE(fmt::format("row {}, s = {}, lane {}", row, s, lane));
        const Lane& held = column.lanes[static_cast<size_t>(lane)];
        EXPECT_TRUE(held.isEnabled);
        EXPECT_FALSE(held.isRefilled);
        const bool isBehind = lane % 32 + s >= 32;
        EXPECT_EQ(held.isStale, isBehind);
        EXPECT_EQ(held.isScaleStale, isBehind && isShifted);
        if (isBehind) {
          EXPECT_EQ(held.scale, isShifted ? held.pixel : std::nullopt);
          continue;
        }
        const int x = lane / 32 * 30 - 1 + lane % 32 + s;
        const auto expected = x >= 0 && x < 40 ? std::optional(Pixel{0, row, x}) : std::nullopt;
        EXPECT_EQ(held.pixel, expected);
        EXPECT_EQ(held.scale, expected);
      }
      size_t uses = 0;
      for (int r = 0; r < 3; ++r) uses += row + 1 - r >= 0 && row + 1 - r < 3;
      EXPECT_EQ(column.uses.size(), uses);
      for (const Use& use : column.uses) EXPECT_EQ(use.s, s);
    }
}

INSTANTIATE_TEST_SUITE_P(Scales, Strip, testing::Bool(), [](const auto& info) { return info.param ? "shifted" : "copies"; });

/// Rows of 7 pixels lie end to end; the tap in the middle goes first, then the right one, then the left one on a copy of its own.
TEST(MaskedRows, EveryTapReadsItsOwnRow) {
  constexpr int kWidth = MaskedRows::kWidth, kPixels = MaskedRows::kImages * kWidth;
  const Recording recording = runMaskedRows();
  ASSERT_EQ(recording.size(), 3u * 3u);
  constexpr std::array<int, 3> kOrder{1, 2, 0};
  for (int row = 0; row < 3; ++row)
    for (size_t i = 0; i < kOrder.size(); ++i) {
      const int s = kOrder[i];
      const TapColumn& column = recording[static_cast<size_t>(3 * row) + i];
      EXPECT_EQ(column.shifts, s == 2 ? 1 : 0);
      for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
        const int place = lane + s - 1, x = lane % kWidth + s - 1;
        Lane expected;
        if (place >= 0 && place < kPixels) expected.pixel = Pixel{place / kWidth, row, place % kWidth};
        expected.isEnabled = s == 1 || (lane < kPixels && x >= 0 && x < kWidth);
        expected.isRefilled = s == 2 && lane % 32 == 31;
        EXPECT_EQ(column.lanes[static_cast<size_t>(lane)], expected) << "row " << row << ", s = " << s << ", lane " << lane;
      }
      for (const Use& use : column.uses) EXPECT_EQ(use.s, s);
    }
}

TEST(Pictures, AreThoseOfThePage) {
  for (const Picture& picture : drawAll(example(), runScaledStrip(true), runScaledStrip(false), runMaskedRows())) {
    const std::string path = fmt::format("{}/{}", PICTURES, picture.file);
    std::ifstream file(path, std::ios::binary);
    const std::string committed{std::istreambuf_iterator<char>(file), {}};
    const auto [here, there] = std::mismatch(picture.svg.begin(), picture.svg.end(), committed.begin(), committed.end());
    EXPECT_TRUE(picture.svg == committed) << path << " differs from byte " << here - picture.svg.begin()
                                          << " on; if the new picture is right, run lane_pictures (see docs/sliding.md)";
  }
}

}  // namespace
}  // namespace lane_pictures
