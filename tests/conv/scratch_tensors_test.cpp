// Tensors for measurements: what they hold, workspaces that grow, and that nothing of them stays on the device.
#include "conv/planner/scratch_tensors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/numerics/codec.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/counting_device.hpp"

namespace shiftconv::plan {
namespace {

using tests::CountingDevice;

Problem problemOf(const std::string& text) {
  Problem problem;
  const Status status = parse(text, problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return problem;
}

TEST(ScratchTensors, AreThereAsThePlanTakesThemAndGoneAfterwards) {
  CountingDevice device("sm_100a");
  const Problem problem =
      problemOf("1x4x5x16 s8 * 24x3x3x16 pad 1,1,1,1 -> s8 channel_scale bias residual 1 residual_type f16 amax");
  const PerTensor<size_t> bytes = tensorBytes(problem);
  {
    ScratchTensors tensors(device, 0);
    ASSERT_TRUE(tensors.make(problem).ok());
    Plan plan;
    const TensorAddresses without = tensors.of(plan);
    for (size_t i = 0; i < kTensors; ++i) {
      const device::Address address = without.values[i];
      EXPECT_EQ(address != 0, bytes.values[i] != 0) << i;
      if (address != 0) {
        EXPECT_EQ(device.live.at(address), bytes.values[i]) << i;
      }
    }
    EXPECT_EQ(device.live.size(), 7u);

    // A workspace only grows, and only plans that need one get it.
    const size_t tensorsOnly = device.allocated.size();
    for (const size_t wanted : {256, 1024, 512, 1024}) {
      ASSERT_TRUE(tensors.makeWorkspace(wanted).ok());
      plan.workspaceBytes = wanted;
      const device::Address workspace = tensors.of(plan)[TensorName::Workspace];
      ASSERT_TRUE(device.live.contains(workspace));
      EXPECT_GE(device.live.at(workspace), wanted);
      EXPECT_EQ(device.live.size(), 8u);
    }
    EXPECT_EQ(std::vector<size_t>(device.allocated.begin() + static_cast<ptrdiff_t>(tensorsOnly), device.allocated.end()),
              (std::vector<size_t>{256, 1024}));
    plan.workspaceBytes = 0;
    EXPECT_EQ(tensors.of(plan)[TensorName::Workspace], 0u);
  }
  EXPECT_TRUE(device.live.empty());
}

TEST(ScratchTensors, StartAtZeroWhereRunsWriteAndHaveFactorsOfOne) {
  CountingDevice device("sm_100a");
  const Problem problem = problemOf("1x4x5x128 e4m3 scale ue8m0/32 * 32x1x1x128 scale ue8m0/32 -> f16");
  ScratchTensors tensors(device, 0);
  ASSERT_TRUE(tensors.make(problem).ok());
  const TensorAddresses addresses = tensors.of(Plan{});
  for (const TensorName factors : {TensorName::InputScale, TensorName::FilterScale}) {
    const std::vector<uint8_t>& values = device.copied.at(addresses[factors]);
    EXPECT_EQ(values.size(), tensorBytes(problem)[factors]);
    EXPECT_EQ(std::set<uint8_t>(values.begin(), values.end()), std::set<uint8_t>{127}) << "2^0 in ue8m0";
  }
  EXPECT_FALSE(device.copied.contains(addresses[TensorName::Output]));
  std::vector<uint8_t> output(tensorBytes(problem)[TensorName::Output], 1);
  ASSERT_TRUE(device.copyToHost(output.data(), addresses[TensorName::Output], output.size(), 0).ok());
  EXPECT_EQ(output, std::vector<uint8_t>(output.size(), 0));
}

TEST(ScratchTensors, HoldNumbersOfTheirTypes) {
  CountingDevice device("sm_100a");
  const auto input = [&](const std::string& text) {
    device.copied.clear();
    ScratchTensors tensors(device, 0);
    EXPECT_TRUE(tensors.make(problemOf(text)).ok());
    return device.copied.at(tensors.of(Plan{})[TensorName::Input]);
  };
  const std::vector<uint8_t> u8 = input("1x16x16x16 u8 * 16x1x1x16 s8 -> s32");
  EXPECT_LE(*std::max_element(u8.begin(), u8.end()), 100);
  EXPECT_GE(*std::max_element(u8.begin(), u8.end()), 90);
  EXPECT_LT(std::count(u8.begin(), u8.end(), 0), 4096 / 50) << "a negative number would become 0";
  const std::vector<uint8_t> s8 = input("1x16x16x16 s8 * 16x1x1x16 s8 -> s32");
  const auto negative = std::count_if(s8.begin(), s8.end(), [](uint8_t value) { return value >= 128; });
  EXPECT_GT(negative, 4096 / 3);
  EXPECT_LT(negative, 4096 * 2 / 3);
  EXPECT_TRUE(std::all_of(s8.begin(), s8.end(), [](uint8_t value) { return value <= 100 || value >= 256 - 100; }));
  const std::vector<uint8_t> f16 = input("1x16x16x16 f16 * 16x1x1x16 -> f16");
  double largest = 0;
  for (size_t i = 0; i < f16.size(); i += 2) {
    const double value = numerics::decode(numerics::NumberType::F16, static_cast<uint32_t>(f16[i] | f16[i + 1] << 8));
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_LE(largest, 1.0);
  EXPECT_GT(largest, 0.9);
}

}  // namespace
}  // namespace shiftconv::plan
