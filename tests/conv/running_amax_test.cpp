// amax is a running maximum: a run raises what it finds there and never lowers it, with every engine that has one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests::running_amax_test {
namespace {

struct Engine {
  const char* name;
  int device;  ///< of the emulated ones
  const char* text;
};
void PrintTo(const Engine& engine, std::ostream* stream) { *stream << engine.name; }

class RunningAmax : public testing::TestWithParam<Engine> {
 protected:
  /// What a run leaves where it found `before`.
  float after(float before) {
    tensors_.amaxBefore = before;
    const auto result = runCase(test_, tensors_, device_, plan_);
    float amax = 0;
    std::memcpy(&amax, result.data() + result.size() - sizeof(amax), sizeof(amax));
    return amax;
  }

  Device device_{SHIFTCONV_DEVICE_EMULATED, GetParam().device};
  ConvolutionCase test_ = parseCase(GetParam().text);
  CaseTensors tensors_ = makeTensors(test_, 1);
  Plan plan_ = planFor(test_, device_);
};

TEST_P(RunningAmax, IsRaisedAndNeverLowered) {
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

INSTANTIATE_TEST_SUITE_P(
    Engines, RunningAmax,
    testing::Values(
        Engine{"shift_stream", 0, "2x7x9x16 f16 * 24x3x3x16 pad 1,0,2,1 -> f16 amax | algorithm shift_stream"},
        Engine{"shift_stream_zero_points", 0,
               "1x5x7x16 s8 zero 7 * 24x3x3x16 zero -2 pad 1,0,0,1 -> s8 alpha 0.001 zero 3 amax | algorithm shift_stream"},
        Engine{"shift_window", 0, "1x7x9x16 f16 * 24x3x3x16 pad 1,0,0,1 -> f16 relu amax | algorithm shift_window"},
        Engine{"halo_sm100", 0, "1x7x9x16 bf16 * 24x3x3x16 pad 1,0,0,1 stride 2,1 -> f32 bias amax | algorithm halo_sm100"},
        Engine{"halo_sm100_collector", 0,
               "1x14x13x24 f16 * 24x3x3x24 pad 1,1,1,1 -> f16 amax | algorithm halo_sm100 | options collector=yes"},
        Engine{"im2col", 0, "2x7x9x16 e4m3 * 24x3x3x16 pad 1,0,0,1 -> e4m3 amax | algorithm im2col | options group=pair"},
        Engine{"direct_sm100", 0, "1x7x9x6 f32 * 5x3x3x6 pad 1,0,0,1 -> f32 silu amax | algorithm direct"},
        Engine{"halo", 1, "2x7x9x16 f16 * 24x3x3x16 pad 1,0,0,1 -> f16 amax | algorithm halo | multiprocessors 2"},
        Engine{"im2col_sm90", 1, "2x7x9x64 f16 * 64x3x3x64 pad 1,0,0,1 -> f16 amax | algorithm im2col_sm90"},
        Engine{"channelwise", 1, "1x9x11x24 f16 * 24x3x3x1 groups 24 pad 1,0,0,1 stride 2,2 -> f16 amax | algorithm channelwise"},
        Engine{"gathered", 1, "1x9x11x5 f16 * 24x3x3x5 pad 1,0,0,1 -> f16 amax | algorithm gathered"},
        Engine{"pointwise", 1, "1x9x31x16 f16 * 24x1x1x16 -> f16 amax | algorithm pointwise | multiprocessors 1"},
        Engine{"thin", 1, "1x9x11x16 f16 * 16x3x3x16 pad 1,0,0,1 -> f16 amax | algorithm thin"},
        Engine{"halo_split", 1, "1x7x7x200 f16 * 24x3x3x200 pad 1,0,0,1 -> f16 amax | algorithm halo | options split=4"},
        Engine{"depthwise", 1, "1x18x34x40 f16 * 40x3x3x1 groups 40 pad 1,1,1,1 -> f16 amax | algorithm depthwise"},
        Engine{"direct", 1,
               "1x7x9x6 s8 * 5x3x3x6 u8 pad 1,0,0,1 -> u8 alpha 0.001 zero 9 amax | algorithm direct | options dependent=no"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shiftconv::tests::running_amax_test
