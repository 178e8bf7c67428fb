// Every line of the shape files under earliest, latest and eight random schedules of the asynchronous engines: the same bits.
#include <gtest/gtest.h>

#include <functional>

#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests {
namespace {

constexpr int kRandomSchedules = 8;

class ConvolutionSchedules : public testing::TestWithParam<ShapeLine> {};

TEST_P(ConvolutionSchedules, GiveTheSameBits) {
  static Device device(SHIFTCONV_DEVICE_EMULATED);
  const ConvolutionCase test = parseCase(GetParam().text);
  const uint64_t seed = std::hash<std::string>()(GetParam().text);
  const CaseTensors tensors = makeTensors(test, seed);
  const Plan plan(test.problem, device.properties(), test.options());
  device.setOption("schedule", "earliest");
  const auto earliest = runCase(test, tensors, device, plan);
  device.setOption("schedule", "latest");
  EXPECT_TRUE(runCase(test, tensors, device, plan) == earliest) << "latest, operands " << seed;
  device.setOption("schedule", "random");
  for (int i = 0; i < kRandomSchedules; ++i) {
    const std::string schedule = std::to_string(seed + static_cast<uint64_t>(i));
    device.setOption("seed", schedule);
    EXPECT_TRUE(runCase(test, tensors, device, plan) == earliest) << "random schedule " << schedule << ", operands " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ConvolutionSchedules, testing::ValuesIn(allShapes(SHAPES_FOLDER)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace shiftconv::tests
