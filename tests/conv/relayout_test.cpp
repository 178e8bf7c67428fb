// What a plan for tensors in NCHW holds.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

std::shared_ptr<const Plan> relaidOn(std::string_view device, const std::string& text, const PlanOptions& options = {}) {
  Problem problem;
  EXPECT_TRUE(parse(text, problem).ok()) << text;
  std::shared_ptr<const Plan> plan;
  for (const auto& preset : device::presets())
    if (std::string_view(preset.name) == device) {
      const Status status = makePlan(problem, preset.properties, options, plan);
      EXPECT_TRUE(status.ok()) << status.message();
    }
  return plan;
}

/// Where the launches before the convolution write, it reads; where it writes, the last one reads.
TEST(Relayout, PutsCopiesAroundTheConvolution) {
  for (const char* device : {"H200", "B200"}) {
    SCOPED_TRACE(device);
    const std::string text = "3x5x7x24 f16 * 40x3x3x24 pad 1,1,1,1 -> f16 residual 1 bias";
    const auto inner = relaidOn(device, text);
    const auto plan = relaidOn(device, "3x5x7x24 f16 nchw * 40x3x3x24 pad 1,1,1,1 -> f16 nchw residual 1 bias");
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->algorithm, "relayout");
    ASSERT_EQ(plan->launches.size(), inner->launches.size() + 3);
    for (const size_t i : {size_t{0}, size_t{1}, plan->launches.size() - 1})
      EXPECT_EQ(plan->launches[i].kernel, "transpose_matrices");
    EXPECT_EQ(plan->mainLaunch, 2 + inner->mainLaunch);
    EXPECT_EQ(plan->kernelName(), inner->kernelName());
    // Input and output, each rounded up to 256 bytes: 105 pixels of 24, and twice of 40 channels.
    EXPECT_EQ(plan->workspaceBytes, 5120u + 2 * 8448 + inner->workspaceBytes);
    EXPECT_GT(plan->estimate.seconds, inner->estimate.seconds);
    for (const PlannedLaunch& launch : plan->launches)
      for (const Parameter& parameter : launch.parameters) {
        const bool copies = launch.kernel == "transpose_matrices";
        for (const auto& field : parameter.addresses()) {
          const TensorName tensor = field.place.tensor;
          const bool moved = tensor == TensorName::Input || tensor == TensorName::Output || tensor == TensorName::Residual;
          EXPECT_TRUE(copies || !moved) << launch.kernel;
        }
        for (const auto& field : parameter.maps())
          EXPECT_TRUE(field.place.tensor == TensorName::Workspace || field.place.tensor == TensorName::Filter) << launch.kernel;
      }
  }
}

TEST(Relayout, CopiesWhatIsAsked) {
  const auto input = relaidOn("H200", "1x8x8x64 f16 nchw * 64x3x3x64 pad 1,1,1,1 -> f16");
  EXPECT_EQ(input->launches.front().kernel, "transpose_matrices");
  EXPECT_NE(input->launches.back().kernel, "transpose_matrices");
  const auto output = relaidOn("H200", "1x8x8x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 nchw", {"relayout", "algorithm=gathered"});
  EXPECT_EQ(output->launches.size(), 2u);
  EXPECT_EQ(output->kernelName().rfind("gathered_", 0), 0u);
  EXPECT_EQ(output->launches.back().kernel, "transpose_matrices");
  EXPECT_NE(describe(*output).find("moves      the output: 8192 bytes of workspace"), std::string::npos) << describe(*output);
}

TEST(Repeated, PutsPixelsAndFactorsInFrontOfTheConvolution) {
  const auto plan =
      relaidOn("B200", "2x5x7x96 e4m3 scale ue8m0/32 upsample 2,3 * 24x3x3x96 scale ue8m0/32 pad 1,1,1,1 -> f16 bias");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->algorithm, "repeated");
  ASSERT_GE(plan->launches.size(), 3u);
  for (const size_t i : {0, 1}) EXPECT_EQ(plan->launches[i].kernel, "repeat_pixels");
  EXPECT_EQ(plan->mainLaunch, plan->launches.size() - 1);
  // 420 pixels of 96 bytes, and of three factors.
  EXPECT_EQ(plan->workspaceBytes, 40448u + 1280);
  EXPECT_EQ(plan->launches[0].config.grid.x, 10u);  // 2520 vectors of 16 bytes
  EXPECT_EQ(plan->launches[1].config.grid.x, 5u);   // 1260 bytes
}

/// What another algorithm multiplies faster is written first; what only gathered multiplies is gathered as it is.
TEST(Repeated, CompetesWithGathering) {
  EXPECT_EQ(relaidOn("H200", "1x6x7x125 f16 upsample 2,2 * 35x3x2x25 groups 5 pad 1,0,0,1 -> f16 bias f16 amax")->algorithm,
            "gathered");
  EXPECT_EQ(relaidOn("H200", "8x32x32x512 f16 upsample 2,2 * 512x3x3x512 pad 1,1,1,1 -> f16")->algorithm, "repeated");
}

TEST(Reversed, PutsTapsAndFactorsInOrderInThePackedFilter) {
  for (const auto& [text, scales] :
       {std::pair{"2x5x7x96 e4m3 scale ue8m0/32 * 24x3x2x96 flipped scale ue8m0/32 -> f16 bias", 24u * 6 * 3},
        {"2x5x7x96 e4m3 scale ue8m0/32 * 24x3x2x96 flipped scale ue8m0/32/interleaved -> f16 bias", 2u * 512}}) {
    SCOPED_TRACE(text);
    const auto plan = relaidOn("B200", text);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->algorithm, "reversed");
    ASSERT_GE(plan->launches.size(), 3u);
    for (const size_t i : {0, 1}) {
      EXPECT_EQ(plan->launches[i].kernel, "reverse_taps");
      EXPECT_TRUE(plan->launches[i].packsFilter);
    }
    EXPECT_EQ(plan->mainLaunch, plan->launches.size() - 1);
    EXPECT_EQ(plan->workspaceBytes, 0u);
    EXPECT_EQ(plan->packedBytes, 13824u + (scales + 255) / 256 * 256);  // 144 rows of 96 bytes, and of three factors or in tiles
    for (size_t i = 2; i < plan->launches.size(); ++i)
      for (const Parameter& parameter : plan->launches[i].parameters) {
        for (const auto& field : parameter.addresses())
          EXPECT_TRUE(field.place.tensor != TensorName::Filter && field.place.tensor != TensorName::FilterScale);
        for (const auto& field : parameter.maps())
          EXPECT_TRUE(field.place.tensor != TensorName::Filter && field.place.tensor != TensorName::FilterScale);
      }
  }
}

TEST(Reversed, NothingIsReversedForOneTapOrForPhases) {
  const auto one = relaidOn("H200", "4x7x7x64 f16 * 64x1x1x64 flipped -> f16"),
             usual = relaidOn("H200", "4x7x7x64 f16 * 64x1x1x64 -> f16");
  EXPECT_EQ(one->algorithm, usual->algorithm);
  EXPECT_EQ(one->options, usual->options);
  EXPECT_EQ(one->packedBytes, 0u);
  // gathered and im2col_sm90, which compute others in one launch, take no flipped filters.
  const auto phases = relaidOn("H200", "8x32x32x256 f16 * 128x4x4x256 pad 1,1,1,1 stride 2,2 transposed flipped -> f16");
  EXPECT_EQ(phases->algorithm, "phases");
  PlanOptions inOrder;
  inOrder.algorithm = "phases";
  EXPECT_EQ(phases->launches.size(),
            relaidOn("H200", "8x32x32x256 f16 * 128x4x4x256 pad 1,1,1,1 stride 2,2 transposed -> f16", inOrder)->launches.size());
}

/// What is listed as values of the option is what there is.
TEST(Repeated, ListsItsAlgorithms) {
  std::string names;
  const Algorithm* repeated = nullptr;
  for (const Algorithm* one : algorithms()) {
    if (one->name() == "repeated")
      repeated = one;
    else if (one->accumulation())  // it multiplies
      names += (names.empty() ? "" : ", ") + std::string(one->name());
  }
  ASSERT_NE(repeated, nullptr);
  EXPECT_EQ(repeated->options()[0].range, names);
}

/// What is listed as values of the option is what there is.
TEST(Relayout, ListsItsAlgorithms) {
  std::string names;
  const Algorithm* relayout = nullptr;
  for (const Algorithm* one : algorithms()) {
    if (one->name() == "relayout")
      relayout = one;
    else
      names += (names.empty() ? "" : ", ") + std::string(one->name());
  }
  ASSERT_NE(relayout, nullptr);
  EXPECT_EQ(relayout->options()[0].range, names);
}

}  // namespace
}  // namespace shiftconv::plan
