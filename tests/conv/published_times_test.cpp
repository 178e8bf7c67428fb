// The cost model beside the only public times of convolutions on a B200. The times are others' measurements, what is compared with
// them is modelled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "bench/published/cutlass.hpp"
#include "bench/published/times.hpp"
#include "common/device/registry.hpp"

namespace shiftconv::bench {
namespace {

device::Properties propertiesOfB200() {
  for (const device::Preset& preset : device::presets())
    if (std::string_view(preset.name) == "B200") return preset.properties;
  throw std::runtime_error("no preset of a B200");
}

/// Modelled over published, by the publication's number.
std::map<int, double> ratios() {
  std::map<int, double> all;
  for (const PublishedTime& time : readPublishedTimes(PUBLISHED_TIMES_FILE))
    all[time.number] = modelCutlass(time.problem, propertiesOfB200()).estimate.seconds / time.cutlass;
  return all;
}

Problem problemOf(int number) {
  for (const PublishedTime& time : readPublishedTimes(PUBLISHED_TIMES_FILE))
    if (time.number == number) return time.problem;
  throw std::runtime_error(fmt::format("no row {}", number));
}

int near(const std::map<int, double>& all, const std::set<int>& numbers) {
  return static_cast<int>(std::count_if(numbers.begin(), numbers.end(), [&](int n) { return std::abs(all.at(n) - 1) <= 0.25; }));
}

TEST(PublishedTimes, OfCutlassAreModelledWithinAQuarter) {
  const std::map<int, double> all = ratios();
  ASSERT_EQ(all.size(), 20u);
  EXPECT_GE(near(all, {2, 4, 5, 13, 17, 21, 22, 23, 24, 34}), 8);
  // To these no constant is fitted.
  EXPECT_GE(near(all, {11, 19, 20, 25, 26, 27, 28, 29, 30, 31}), 8);
  for (const auto& [number, ratio] : all) {
    EXPECT_GT(ratio, 0.7) << "row " << number;
    EXPECT_LT(ratio, 1.4) << "row " << number;
  }
}

// Rates::looserRows of sm_100a is fitted to these four. It is where their ratios lie evenly about one.
TEST(PublishedTimes, FitTheRateOfRowsThatStartInTheMiddleOfALine) {
  const std::map<int, double> all = ratios();
  double logarithm = 0;
  for (const int number : {2, 4, 22, 23}) logarithm += std::log(all.at(number)) / 4;
  EXPECT_GT(std::exp(logarithm), 0.97);
  EXPECT_LT(std::exp(logarithm), 1.03);
}

// Row 24: a tap of 256 channels is 4 stages. The pixels of a tap lie in the image at 10 of 12 depths, 1078 of 1080 heights and 1918
// of 1920 widths, so that 128 * 0.830924 + 128 = 234.358 rows of 512 bytes are fetched, at 70 bytes a clock.
TEST(CutlassModel, IsWhatTheRatesSayByHand) {
  const Problem p = problemOf(24);
  const CutlassTile tile{128, 128, 1};
  const device::Properties properties = propertiesOfB200();
  const double fetched = (128 * (10.0 / 12) * (1078.0 / 1080) * (1918.0 / 1920) + 128) * 512;
  EXPECT_NEAR(fetched / 512, 234.358, 1e-3);
  const CutlassTap tap = modelTap(p, properties, tile, 148);
  EXPECT_EQ(tap.bound, plan::Resource::L2ToShared);
  EXPECT_NEAR(tap.clocks, fetched / 70, 1e-9);
  EXPECT_NEAR(tap.clocks, 1714.17, 0.01);
  // 7200 tiles: 48 rounds of 148, and 96 that share L2's 70 * 148 bytes.
  EXPECT_NEAR(modelTap(p, properties, tile, 96).clocks, fetched / (70.0 * 148 / 96), 1e-9);
  const plan::Estimate estimate = modelCutlass(p, properties, tile);
  const double around = 2405 + 1900 + 128 * 128 * 2 / 31.8;
  EXPECT_NEAR(estimate.clocks, around + 27 * (48 + 96.0 / 148) * fetched / 70, 1e-3);
  EXPECT_NEAR(estimate.seconds, estimate.clocks / 1.85e9, 1e-12);
}

TEST(CutlassModel, CountsRowsProductsAndPadding) {
  const device::Properties properties = propertiesOfB200();
  // 16 channels: 128 pixels and 128 filters, 32 bytes apart. Three times the channels in one stage change nothing but L2's bytes.
  const CutlassTap rows = modelTap(problemOf(22), properties, {128, 128, 1}, 148);
  EXPECT_EQ(rows.bound, plan::Resource::GatheredRows);
  EXPECT_NEAR(rows.clocks, 256 / 0.53, 1e-9);
  EXPECT_EQ(modelTap(problemOf(23), properties, {128, 128, 1}, 148).clocks, rows.clocks);
  EXPECT_NEAR(modelTap(problemOf(21), properties, {128, 128, 1}, 148).clocks, 256 / 0.35, 1e-9) << "16 bytes apart";
  // A pair has half of the rows in each CTA; 64 rows of one CTA cost as many products as 128.
  EXPECT_NEAR(modelTap(problemOf(22), properties, {128, 128, 2}, 148).clocks, 128 / 0.53, 1e-9);
  Problem wide = problemOf(24);
  wide.k = 256;
  const CutlassTap half = modelTap(wide, properties, {64, 128, 1}, 1), whole = modelTap(wide, properties, {128, 256, 1}, 1);
  EXPECT_EQ(half.bound, plan::Resource::TensorCore);
  EXPECT_EQ(half.clocks, 4 * 256);
  EXPECT_EQ(whole.bound, plan::Resource::TensorCore);
  EXPECT_EQ(whole.clocks, 4 * 512);
  // Row 25: 96 of the 128 filters are filled in.
  const double fetched = (128 * (10.0 / 12) * (382.0 / 384) * (358.0 / 360) + 32) * 256;
  EXPECT_NEAR(modelTap(problemOf(25), properties, {128, 128, 1}, 148).clocks,
              std::max({2 * 256.0, fetched / 70, 2 * 32768 / 120.0}), 1e-9);
}

TEST(PublishedTimes, NameTheLineThatTheyCannotRead) {
  const std::string path = testing::TempDir() + "/published_times_bad.txt";
  for (const std::string line : {"2 0.5 1x8x8x8 f16 * 8x3x3x8", "2 0.5 0 1x8x8x8 f16 * 8x3x3x8", "2 0.5 0.6 nothing"}) {
    std::ofstream(path) << "# times\n" << line << "\n";
    try {
      readPublishedTimes(path);
      ADD_FAILURE() << line;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(path + ":2: "), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(readPublishedTimes(path + ".not_there"), std::runtime_error);
}

}  // namespace
}  // namespace shiftconv::bench
