// The raw_rows engine's plans: which tiles compete, and which epilogues are finished by code of their own.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "conv/algorithms/raw_rows/plan.hpp"
#include "tests/conv/planned_problem.hpp"

namespace shiftconv::plan {
namespace {

/// Of the tiles of 32 channels that are offered.
std::set<int32_t> columnsOffered(const std::string& text, uint32_t multiprocessors) {
  device::Properties properties = deviceOf(9);
  properties.multiprocessors = multiprocessors;
  std::set<int32_t> columns;
  for (const RawRowsPlan& plan : rawRowsCandidates(problemOf(text), properties))
    if (plan.channels == 32) columns.insert(plan.columns);
  return columns;
}

TEST(RawRowsPlans, OfOneRowAlsoFillEveryMultiprocessor) {
  const auto offers = [](const char* text, uint32_t multiprocessors, int32_t columns) {
    return columnsOffered(text, multiprocessors).count(columns) != 0;
  };
  const char* const sound = "1x1x24000x1 f16 * 32x1x7x1 pad 0,0,6,0 -> f16";
  EXPECT_EQ(columnsOffered(sound, 132).size(), 5u);
  EXPECT_TRUE(offers(sound, 132, 182));  // 24000 / 132
  EXPECT_TRUE(offers(sound, 132, 91));   // 24000 / 264
  EXPECT_TRUE(offers(sound, 100, 240));
  EXPECT_TRUE(offers("2x1x24000x1 f16 * 64x1x7x1 pad 0,0,6,0 -> f16", 132, 364));  // 33 for each of 2 images and 2 channel tiles
  EXPECT_LE(columnsOffered("1x2x24000x1 f16 * 32x1x7x1 pad 0,0,6,0 -> f16", 132).size(), 3u);  // of two rows: not
}

TEST(RawRowsPlans, AreLeanWithWhatIsCommonInWholeSegments) {
  using kernels::Lean;
  for (const auto& [text, lean] : {std::tuple{"1x9x8x3 f16 * 24x3x3x3 -> f16 bias relu", Lean::Rectified},
                                   {"1x9x8x3 bf16 * 24x3x3x3 -> bf16 pitch 32", Lean::Rectified},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 pitch 28 relu", Lean::No},
                                   {"1x9x8x3 f16 * 28x3x3x3 -> f16 pitch 32 relu", Lean::No},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 residual 1 relu", Lean::Residual},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 bias residual 0.5 residual_pitch 40", Lean::Residual},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 residual 1 residual_pitch 28 relu", Lean::No},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 residual 1 residual_type f32", Lean::No},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 bias silu", Lean::Silu},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 bias f16 silu", Lean::Silu},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 residual 1 silu", Lean::No},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 hard_swish", Lean::Ramp},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 residual 1 hard_swish", Lean::No},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 bias clamp 0,6", Lean::Clamp},
                                   {"1x9x8x3 bf16 * 24x3x3x3 -> bf16 clamp -0.5,1.5", Lean::Clamp},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 clamp 0,0.1", Lean::No},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 leaky_relu 0.25", Lean::Ramp},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f16 leaky_relu -0.3", Lean::No},
                                   {"1x9x8x3 f16 * 24x3x3x3 -> f32 bias relu", Lean::No},
                                   {"1x9x8x3 e4m3 * 24x3x3x3 -> e4m3 bias relu", Lean::Rectified},
                                   {"1x9x8x3 e4m3 * 24x3x3x3 -> e4m3 alpha 1e20 relu out_scale 1e18", Lean::Rectified},
                                   {"1x9x8x3 e4m3 * 24x3x3x3 -> e4m3 alpha 1e20 relu out_scale 1e19", Lean::No},
                                   {"1x9x8x3 e4m3 * 24x3x3x3 -> e4m3 relu out_scale -2", Lean::No},
                                   {"1x9x8x3 e4m3 * 24x3x3x3 -> f16 bias relu", Lean::No}}) {
    const auto plans = rawRowsCandidates(problemOf(text), deviceOf(9));
    ASSERT_FALSE(plans.empty()) << text;
    EXPECT_TRUE(plans.front().params.lean == lean) << text;
  }
}

}  // namespace
}  // namespace shiftconv::plan
