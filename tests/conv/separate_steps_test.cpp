// rounding separate with outputs of f32: each step is rounded to f32, bit for bit what a host makes of the plain convolution's
// outputs. The bound of `check` does not see a product and a sum that were rounded once.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests::separate_steps_test {
namespace {

std::vector<float> floatsOf(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

class SeparateSteps : public testing::TestWithParam<const char*> {};

TEST_P(SeparateSteps, OfF32AreThoseOfAHost) {
  const std::string problem = GetParam();
  const ConvolutionCase plain = parseCase(problem + " -> f32 | algorithm channelwise"),
                        steps =
                            parseCase(problem + " -> f32 alpha 1.37 channel_scale bias rounding separate | algorithm channelwise");
  const CaseTensors tensors = makeTensors(steps, 20261130);
  CaseTensors operands = tensors;
  operands.bias.clear(), operands.channelScale.clear();
  const Device device("emulated:sm_90a");
  const std::vector<float> sums = floatsOf(runCase(plain, operands, device, planFor(plain, device))),
                           found = floatsOf(runCase(steps, tensors, device, planFor(steps, device))), bias = floatsOf(tensors.bias),
                           scale = floatsOf(tensors.channelScale);
  ASSERT_EQ(found.size(), sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    volatile float value = sums[i] * 1.37f;  // volatile: the compiler may not fuse the steps either
    value = value * scale[i % scale.size()];
    value = value + bias[i % bias.size()];
    ASSERT_EQ(found[i], value) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Channelwise, SeparateSteps,
                         testing::Values("2x7x9x26 f16 * 26x5x5x1 groups 26 pad 2,1,2,1",
                                         "1x6x7x5 f32 * 10x3x2x1 groups 5 compute tf32",
                                         "1x9x8x21 bf16 * 21x3x4x1 groups 21 pad 1,1,0,1 stride 2,2"));

}  // namespace
}  // namespace shiftconv::tests::separate_steps_test
