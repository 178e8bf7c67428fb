// Plans with batch_invariant: an image among others has the outputs, bit for bit, that it has alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include "tests/conv/api_fixture.hpp"
#include "tests/conv/convolution_case.hpp"
#include "tests/conv/property_rows.hpp"

namespace shiftconv::tests::batch_invariance_test {
namespace {

using Bytes = std::vector<std::byte>;

Plan planOf(const ConvolutionCase& test, const DeviceProperties& properties, int64_t n, bool isInvariant) {
  Convolution problem = test.problem;
  problem.n = n;
  PlanOptions options;
  options.algorithm = test.algorithm.empty() ? nullptr : test.algorithm.c_str();
  options.batch_invariant = isInvariant;
  return Plan(problem, properties, options);
}

/// Algorithm and options of a plan, and of those between its copies, without what only spreads work over the device.
std::string sumsOf(const Plan& plan) {
  std::string text = plan.algorithm() + " " + plan.options() + "\n";
  std::string lines = plan.describe();
  const std::regex inner("(between|phase) [^:\n]*");
  for (std::sregex_iterator it(lines.begin(), lines.end(), inner), end; it != end; ++it) text += it->str() + "\n";
  return std::regex_replace(text, std::regex(",?(clusters|ctas|dependent|tile_images)=\\w+"), "");
}

class BatchInvariance : public testing::TestWithParam<const char*> {};

TEST_P(BatchInvariance, AnImageAmongOthersIsTheImageAlone) {
  const Device device(std::string("emulated:") + GetParam());
  for (const PropertyRow& row : propertyRows("images")) {
    if (row.where != GetParam()) continue;
    const std::string text = row.caseText();
    SCOPED_TRACE(text);
    ConvolutionCase three = parseCase(text);
    three.data = DataKind::Wide;  // in which another order gives other bits
    const int64_t images = three.problem.n;
    ASSERT_EQ(images, 3);
    const CaseTensors tensors = makeTensors(three, 11);
    const Bytes together = runCase(three, tensors, device, planOf(three, device.properties(), images, true));
    ConvolutionCase one = three;
    one.problem.n = 1;
    const Plan alone = planOf(one, device.properties(), 1, true);
    const size_t inputBytes = tensors.input.size() / static_cast<size_t>(images),
                 outputBytes = together.size() / static_cast<size_t>(images);
    for (int64_t image = 0; image < images; ++image) {
      CaseTensors own = tensors;
      const auto first = tensors.input.begin() + static_cast<ptrdiff_t>(inputBytes) * image;
      own.input.assign(first, first + static_cast<ptrdiff_t>(inputBytes));
      const Bytes separate = runCase(one, own, device, alone);
      const auto expected = together.begin() + static_cast<ptrdiff_t>(outputBytes) * image;
      EXPECT_TRUE(std::equal(separate.begin(), separate.end(), expected)) << "image " << image;
    }
  }
}

/// All bits of it set: NaN in every type of float.
void spoil(Bytes& bytes, size_t first, size_t count) {
  std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(first), count, std::byte{0xFF});
}

/// What is loaded beyond an operand's rows must be zeros on both sides of a product, as zeros alone would not stop NaN.
TEST_P(BatchInvariance, NotANumberStaysInItsImageAndItsChannel) {
  const Device device(std::string("emulated:") + GetParam());
  for (const PropertyRow& row : propertyRows("images")) {
    if (row.where != GetParam()) continue;
    const std::string text = row.caseText();
    SCOPED_TRACE(text);
    const ConvolutionCase test = parseCase(text);
    const CaseTensors tensors = makeTensors(test, 12);
    const Plan plan = planOf(test, device.properties(), test.problem.n, false);
    const Bytes expected = runCase(test, tensors, device, plan);

    CaseTensors others = tensors;
    const size_t image = tensors.input.size() / 3, outputImage = expected.size() / 3;
    spoil(others.input, 0, image);
    spoil(others.input, 2 * image, image);
    const Bytes ofImage = runCase(test, others, device, plan);
    const auto second = static_cast<ptrdiff_t>(outputImage);
    EXPECT_TRUE(std::equal(ofImage.begin() + second, ofImage.begin() + 2 * second, expected.begin() + second)) << "NaN of an image";
    EXPECT_FALSE(std::equal(ofImage.begin(), ofImage.begin() + second, expected.begin())) << "its own outputs are as they were";

    if (text.find("nchw") != std::string::npos || text.find("transposed") != std::string::npos) continue;  // other layouts
    others = tensors;
    const auto channels = static_cast<size_t>(test.problem.k);
    const size_t filterRow = tensors.filter.size() / channels, channel = 1;
    spoil(others.filter, 0, channel * filterRow);
    spoil(others.filter, (channel + 1) * filterRow, (channels - channel - 1) * filterRow);
    const Bytes ofChannel = runCase(test, others, device, plan);
    const size_t element = text.find("-> f32") != std::string::npos ? 4 : text.find("-> e4m3") != std::string::npos ? 1 : 2;
    const size_t pixel = channels * element;
    for (size_t at = channel * element; at < expected.size(); at += pixel) {
      const auto from = static_cast<ptrdiff_t>(at);
      ASSERT_TRUE(
          std::equal(ofChannel.begin() + from, ofChannel.begin() + from + static_cast<ptrdiff_t>(element), expected.begin() + from))
          << "NaN of another channel's weights, at byte " << at;
    }
  }
}

/// Or the test above would show nothing.
TEST(BatchInvarianceOperands, GiveOtherBitsInAnotherOrder) {
  const Device device("emulated");
  ConvolutionCase test = parseCase("3x4x5x512 f16 * 24x1x1x512 -> f32 | algorithm thin | options split=1");
  test.data = DataKind::Wide;
  const CaseTensors tensors = makeTensors(test, 11);
  const Bytes together = runCase(test, tensors, device, planFor(test, device));
  test.planOptions = "split=4";
  EXPECT_NE(runCase(test, tensors, device, planFor(test, device)), together);
}

INSTANTIATE_TEST_SUITE_P(Devices, BatchInvariance, testing::Values("sm_100a", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

TEST(BatchInvariancePlans, ChooseOneWayToSumForAnyNumberOfImages) {
  int changed = 0;
  for (const char* device : {"H200", "B200", "Thor"})
    for (const char* text :
         {"1x7x7x512 f16 * 512x3x3x512 pad 1,1,1,1 -> f16 relu", "1x14x14x256 f16 * 1024x1x1x256 -> f16 residual 1 relu",
          "1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "1x224x224x3 f16 * 64x7x7x3 pad 3,3,3,3 stride 2,2 -> f16",
          "1x28x28x96 f16 * 96x5x5x1 groups 96 pad 2,2,2,2 -> f16 silu", "1x1x1x2048 f16 * 1000x1x1x2048 -> f16 bias",
          "1x14x14x128 bf16 * 64x4x4x128 pad 1,1,1,1 stride 2,2 transposed -> bf16",
          "1x20x20x128 f16 nchw * 96x3x3x128 pad 1,1,1,1 -> f16 nchw",
          "1x16x16x320 f16 upsample 2,2 * 320x3x3x320 pad 1,1,1,1 -> f16", "1x14x14x64 f16 * 96x3x3x64 flipped -> f16"}) {
      SCOPED_TRACE(std::string(device) + " " + text);
      ConvolutionCase test = parseCase(text);
      test.algorithm.clear();
      const DeviceProperties properties = DeviceProperties::preset(device);
      const std::string alone = sumsOf(planOf(test, properties, 1, true));
      for (const int64_t n : {2, 5, 8, 32, 100, 256}) {
        EXPECT_EQ(sumsOf(planOf(test, properties, n, true)), alone) << n;
        changed += sumsOf(planOf(test, properties, n, false)) != alone;
      }
    }
  EXPECT_GT(changed, 60) << "the free choice depends on n, as this test is about";
}

TEST(BatchInvariancePlans, AreDescribedAndKeptAsOthers) {
  const ConvolutionCase test = parseCase("1x7x7x512 f16 * 512x3x3x512 pad 1,1,1,1 -> f16 relu | algorithm im2col");
  const DeviceProperties properties = DeviceProperties::preset("B200");
  const Plan plan = planOf(test, properties, 32, true);
  const auto bytes = plan.toBytes();
  EXPECT_EQ(Plan::fromBytes(bytes.data(), bytes.size()).describe(), plan.describe());
  EXPECT_NE(plan.candidates().find("chosen     im2col " + plan.options()), std::string::npos) << plan.candidates();
  EXPECT_GE(plan.estimate().seconds, planOf(test, properties, 32, false).estimate().seconds);
  // What is free is how many clusters there are: as many as 32 images keep busy.
  EXPECT_NE(plan.options(), planOf(test, properties, 1, true).options());
  EXPECT_EQ(sumsOf(plan), sumsOf(planOf(test, properties, 1, true)));
}

}  // namespace
}  // namespace shiftconv::tests::batch_invariance_test
