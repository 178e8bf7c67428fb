// Every line of the shape files, on the emulated device with the hardware's numerics: each output element must lie within the
// derived bound of the exact result, nothing else may be written, and all schedules of the asynchronous engines have to give the
// same bits: earliest and latest, and at night eight random ones.
#include <gtest/gtest.h>

#include <functional>

#include "tests/conv/convolution_case.hpp"
#include "tests/conv/shape_files.hpp"
#include "tests/support/schedules.hpp"

namespace shiftconv::tests {
namespace {

class ConvolutionShapes : public testing::TestWithParam<ShapeLine> {};

TEST_P(ConvolutionShapes, AreExactToTheBoundUnderEverySchedule) {
  static Device device(SHIFTCONV_DEVICE_EMULATED);
  const ConvolutionCase test = parseCase(GetParam().text);
  const uint64_t seed = std::hash<std::string>()(GetParam().text);
  const CaseTensors tensors = makeTensors(test, seed);
  const Plan plan = planFor(test, device);
  device.setOption("schedule", "earliest");
  const auto earliest = runCase(test, tensors, device, plan);
  EXPECT_EQ(judge(test, expectationOf(test, tensors, plan), earliest), "") << "shape " << GetParam().text << ", operands " << seed;
  device.setOption("schedule", "latest");
  EXPECT_TRUE(runCase(test, tensors, device, plan) == earliest) << "latest, operands " << seed;
  device.setOption("schedule", "random");
  for (uint64_t i = 0; i < randomSchedules(8); ++i) {
    const std::string schedule = std::to_string(seed + i);
    device.setOption("seed", schedule);
    EXPECT_TRUE(runCase(test, tensors, device, plan) == earliest) << "random schedule " << schedule << ", operands " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ConvolutionShapes, testing::ValuesIn(shapesFor("sm_100a", Sizes::Small)),
                         [](const auto& info) { return info.param.name; });

// The fixture itself must be able to fail.
TEST(ConvolutionFixture, NoticesOneWrongElementAndAWrittenGap) {
  const ConvolutionCase test = parseCase("1x3x5x8 f16 * 8x1x2x8 -> f32 pitch 16");
  const CaseTensors tensors = makeTensors(test, 1);
  const auto expected = reference::convolve(internalProblem(test.problem), tensors.operands());
  std::vector<std::byte> output(test.problem.tensorBytes().output, std::byte{0xCD});
  for (size_t pixel = 0; pixel < 12; ++pixel)
    for (size_t k = 0; k < 8; ++k)
      reinterpret_cast<float*>(output.data())[pixel * 16 + k] = static_cast<float>(expected.value[pixel * 8 + k]);
  ASSERT_EQ(judge(test, expected, output), "");

  std::vector<std::byte> wrong = output;
  float& element = reinterpret_cast<float*>(wrong.data())[5 * 16 + 3];
  element += static_cast<float>(3 * expected.bound[5 * 8 + 3]);
  EXPECT_NE(judge(test, expected, wrong).find("n=0,p=1,q=1,k=3"), std::string::npos) << judge(test, expected, wrong);

  wrong = output;
  wrong[(2 * 16 + 8) * sizeof(float)] = std::byte{0};
  EXPECT_NE(judge(test, expected, wrong).find("gap after output pixel 2"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::tests
