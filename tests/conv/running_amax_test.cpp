// amax is a running maximum: a run raises what it finds there and never lowers it, with every engine that has one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tests/conv/convolution_case.hpp"
#include "tests/conv/property_rows.hpp"

namespace shiftconv::tests::running_amax_test {
namespace {

const char* deviceOf(const PropertyRow& row) { return row.where == "sm_90a" ? "emulated:sm_90a" : "emulated:sm_100a"; }

class RunningAmax : public testing::TestWithParam<PropertyRow> {
 protected:
  /// What a run leaves where it found `before`.
  float after(float before) {
    tensors_.amaxBefore = before;
    const auto result = runCase(test_, tensors_, device_, plan_);
    float amax = 0;
    std::memcpy(&amax, result.data() + result.size() - sizeof(amax), sizeof(amax));
    return amax;
  }

  Device device_{std::string(deviceOf(GetParam()))};
  ConvolutionCase test_ = parseCase(GetParam().caseText());
  CaseTensors tensors_ = makeTensors(test_, 1);
  Plan plan_ = planFor(test_, device_);
};

TEST_P(RunningAmax, IsRaisedAndNeverLowered) {
  SCOPED_TRACE(GetParam().caseText());
  device_.setOption("hazards", "error");
  const auto expected = expectationOf(test_, tensors_, plan_);
  ASSERT_GT(expected.amax, 4 * expected.amaxBound);
  const float largest = after(0);
  EXPECT_NEAR(static_cast<double>(largest), expected.amax, expected.amaxBound);
  EXPECT_EQ(after(largest / 2), largest);
  EXPECT_EQ(after(largest), largest);
  const float above = std::nextafter(largest, std::numeric_limits<float>::infinity());
  EXPECT_EQ(after(above), above);
  EXPECT_EQ(after(std::numeric_limits<float>::max()), std::numeric_limits<float>::max());
}

INSTANTIATE_TEST_SUITE_P(Engines, RunningAmax, testing::ValuesIn(propertyRows("amax")), [](const auto& info) {
  return info.param.algorithm + "_" + info.param.where + "_" + std::to_string(info.index);
});

}  // namespace
}  // namespace shiftconv::tests::running_amax_test
