// What `joined` makes of rows of pixels, worked out by hand, and where its launches read and write.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conv/algorithms/joined/geometry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/filter_packing.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/planned_problem.hpp"

namespace shiftconv::plan {
namespace {

std::string joined(const std::string& text) {
  const Problem problem = problemOf(text);
  const std::optional<Joining> joining = joiningOf(problem);
  return joining ? describe(joinedProblem(problem, *joining)) : "none";
}

TEST(Joining, DescribesFewerPixelsOfMoreChannels) {
  // Four pixels of 16 channels. Output 0 meets the last pixel of the group before, output 3 the first of the one after.
  EXPECT_EQ(joined("2x5x12x16 f16 * 24x3x3x16 pad 1,0,1,1 -> f16"), "2x5x3x64 f16 * 96x3x3x64 pad 1,0,1,1 -> 2x4x3x96 f16");
  // Of a stride of 2, two outputs: columns -1 to 3, none of the group after.
  EXPECT_EQ(joined("2x6x8x16 f16 * 18x3x3x16 pad 1,1,1,1 stride 2,2 -> f16"),
            "2x6x2x64 f16 * 36x3x2x64 pad 1,1,1,0 stride 2,1 -> 2x3x2x36 f16");
  // Columns -8, 0 and 8 are whole groups apart, so that the taps between them would be zeros: dilation 2.
  EXPECT_EQ(joined("1x8x24x16 f16 * 16x3x3x16 pad 4,4,8,8 dilation 4,8 -> f16"),
            "1x8x6x64 f16 * 64x3x3x64 pad 4,4,2,2 dilation 4,2 -> 1x8x6x64 f16");
  // Six outputs of a row of eight: two pixels, as four would leave two outputs over. Columns 0 to 3, two groups.
  EXPECT_EQ(joined("1x5x8x16 f16 * 24x3x3x16 -> f16"), "1x5x4x32 f16 * 48x3x2x32 pad 0,0,0,0 -> 1x3x3x48 f16");
  // 24 channels: two pixels have 96 bytes, three would have 144.
  EXPECT_EQ(joined("1x5x12x24 f16 * 8x1x1x24 -> f16"), "1x5x6x48 f16 * 16x1x1x48 pad 0,0,0,0 -> 1x5x6x16 f16");
  // Seven is no multiple of anything that the stride divides.
  EXPECT_EQ(joined("1x5x7x16 f16 * 24x3x3x16 pad 1,1,1,1 stride 1,2 -> f16"), "none");
}

std::set<TensorName> tensorsOf(const std::vector<PlannedLaunch>& launches) {
  std::set<TensorName> names;
  for (const PlannedLaunch& launch : launches)
    for (const Parameter& parameter : launch.parameters)
      for (const Parameter::AddressField& field : parameter.addresses()) names.insert(field.place.tensor);
  return names;
}

std::shared_ptr<const Plan> planned(const std::string& text) {
  std::shared_ptr<const Plan> plan;
  const Status status = makePlan(problemOf(text), deviceOf(9), {}, plan);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

/// Taps are put in order in the packed filter first, and joined from there: in the launch of both, and in those in its place.
TEST(JoinedPlans, ReadWhatOthersHavePackedBefore) {
  const std::shared_ptr<const Plan> plan = planned("8x160x160x16 f16 * 16x3x3x16 pad 1,1,1,1 flipped -> f16 bias");
  ASSERT_EQ(plan->algorithm, "reversed");
  ASSERT_EQ(plan->launches.size(), 3u) << "taps in order, joined taps and biases, the convolution";
  const PlannedLaunch& joins = plan->launches[1];
  ASSERT_EQ(joins.kernel, "join_taps");
  using enum TensorName;
  EXPECT_EQ(tensorsOf({joins}), (std::set<TensorName>{Bias, Workspace, PackedFilter}));
  ASSERT_EQ(joins.separated.size(), 2u);
  EXPECT_TRUE(joins.separated[0].packsFilter && !joins.separated[1].packsFilter && !joins.packsFilter);
  EXPECT_EQ(tensorsOf({joins.separated[0]}), std::set<TensorName>{PackedFilter});
  EXPECT_EQ(tensorsOf({joins.separated[1]}), (std::set<TensorName>{Bias, Workspace}));

  std::shared_ptr<const Plan> packing, rest;
  ASSERT_TRUE(separateFilterPacking(*plan, packing, rest).ok());
  ASSERT_EQ(packing->launches.size(), 2u);
  EXPECT_EQ(tensorsOf(packing->launches), (std::set<TensorName>{Filter, PackedFilter}));
  ASSERT_EQ(rest->launches.size(), 2u);
  EXPECT_EQ(rest->mainLaunch, 1u);
  EXPECT_TRUE(rest->optional[Filter] && packing->optional[Bias]);
}

}  // namespace
}  // namespace shiftconv::plan
