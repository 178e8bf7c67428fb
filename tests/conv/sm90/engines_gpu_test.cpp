// Every engine of sm_90a on the card: each output element must lie within the derived bound of the exact result, and nothing else
// may be written. Skipped where there is no GPU of compute capability 9.0.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/conv/convolution_case.hpp"
#include "tests/conv/sm90/shape_lists.hpp"

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

INSTANTIATE_TEST_SUITE_P(Files, HopperEngines, testing::ValuesIn(readShapeFiles(SM90_SHAPES_FOLDER, kGpuShapeFiles)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace shiftconv::tests
