// Every engine of sm_90a on the card: each output element must lie within the derived bound of the exact result, and nothing else
// may be written. Skipped where there is no GPU of compute capability 9.0.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/conv/convolution_case.hpp"
#include "tests/conv/shape_files.hpp"

namespace shiftconv::tests {
namespace {

/// Null where there is none.
Device* hopper() {
  static const std::unique_ptr<Device> device = []() -> std::unique_ptr<Device> {
    try {
      auto opened = std::make_unique<Device>(SHIFTCONV_DEVICE_CUDA);
      if (opened->properties().compute_major == 9) return opened;
    } catch (const Error&) {
    }
    return nullptr;
  }();
  return device.get();
}

class HopperEngines : public testing::TestWithParam<ShapeLine> {};

TEST_P(HopperEngines, AreExactToTheBound) {
  if (hopper() == nullptr) GTEST_SKIP() << "no GPU of compute capability 9.0";
  const ConvolutionCase test = parseCase(GetParam().text);
  const uint64_t seed = std::hash<std::string>()(GetParam().text);
  EXPECT_EQ(check(test, *hopper(), seed), "") << "shape " << GetParam().text << ", seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Files, HopperEngines, testing::ValuesIn(shapesFor("sm_90a", Sizes::All)),
                         [](const auto& info) { return info.param.name; });

/// Products of matrices as shiftconv_gemm makes them, by the planner's choice; tails in every extent.
TEST(HopperProducts, AreExactToTheBound) {
  if (hopper() == nullptr) GTEST_SKIP() << "no GPU of compute capability 9.0";
  std::vector<Convolution> products;
  const auto add = [&](int64_t m, int64_t n, int64_t k, int32_t type, int32_t output) -> Convolution& {
    Convolution& product = products.emplace_back(Convolution::gemm(m, n, k));
    product.input_type = product.filter_type = type;
    product.output_type = output;
    return product;
  };
  add(300, 136, 264, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16).has_bias = 1;
  add(1, 1000, 520, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F32).has_bias = 1;
  add(77, 33, 72, SHIFTCONV_TYPE_BF16, SHIFTCONV_TYPE_BF16).activation = SHIFTCONV_ACTIVATION_SILU;
  Convolution& added = add(2050, 65, 40, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16);
  added.beta = -0.5f, added.residual_type = SHIFTCONV_TYPE_F16;
  add(130, 72, 44, SHIFTCONV_TYPE_F32, SHIFTCONV_TYPE_F32).compute = SHIFTCONV_COMPUTE_TF32;
  add(61, 24, 19, SHIFTCONV_TYPE_F32, SHIFTCONV_TYPE_F32);
  add(150, 96, 80, SHIFTCONV_TYPE_E4M3, SHIFTCONV_TYPE_F16).has_channel_scale = 1;
  add(140, 56, 208, SHIFTCONV_TYPE_S8, SHIFTCONV_TYPE_S32);
  uint64_t seed = 20261123;
  for (const Convolution& product : products) {
    ConvolutionCase test;
    test.problem = product;
    test.algorithm = Plan(product, hopper()->properties()).algorithm();
    EXPECT_EQ(check(test, *hopper(), ++seed), "") << product.describe() << " by " << test.algorithm << ", seed " << seed;
  }
}

}  // namespace
}  // namespace shiftconv::tests
