// Every engine of sm_90a from the PTX that ships, on the emulated sm_90a: each output element must lie within the derived bound of
// the exact result, nothing else may be written, the bits must be the same in whatever order asynchronous operations finish, and
// the hazard checker must have nothing to say, of any severity.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "conv/algorithms/channelwise/kinds.hpp"
#include "tests/conv/convolution_case.hpp"
#include "tests/conv/shape_files.hpp"
#include "tests/support/schedules.hpp"

namespace shiftconv::tests {
namespace {

class EmulatedHopperEngines : public testing::TestWithParam<ShapeLine> {
 protected:
  void exactUnderEverySchedule(uint64_t randomSchedules);
};

void EmulatedHopperEngines::exactUnderEverySchedule(uint64_t randomSchedules) {
  static Device device(SHIFTCONV_DEVICE_EMULATED, 1);
  const ConvolutionCase test = parseCase(GetParam().text);
  const uint64_t seed = std::hash<std::string>()(GetParam().text);
  SCOPED_TRACE("shape " + GetParam().text + ", operands " + std::to_string(seed));
  const CaseTensors tensors = makeTensors(test, seed);
  const Plan plan = planFor(test, device);
  ASSERT_EQ(plan.algorithm(), test.algorithm);
  device.setOption("hazards", "error");
  device.setOption("schedule", "earliest");
  const auto earliest = runCase(test, tensors, device, plan);
  EXPECT_EQ(judge(test, expectationOf(test, tensors, plan), earliest), "");
  device.setOption("schedule", "latest");
  EXPECT_TRUE(runCase(test, tensors, device, plan) == earliest) << "latest";
  device.setOption("schedule", "random");
  for (uint64_t i = 0; i < randomSchedules; ++i) {
    const std::string schedule = std::to_string(seed + i);
    device.setOption("seed", schedule);
    EXPECT_TRUE(runCase(test, tensors, device, plan) == earliest) << "random schedule " << schedule;
  }
}

TEST_P(EmulatedHopperEngines, AreExactUnderEverySchedule) { exactUnderEverySchedule(randomSchedules(1)); }

/// Many shapes of many tiles, at night.
class LargeOnEmulatedHopper : public EmulatedHopperEngines {};
TEST_P(LargeOnEmulatedHopper, IsExactUnderEverySchedule) { exactUnderEverySchedule(6); }

/// What a run of halo counts, worked out by hand. Two tiles of 8 columns and 4 rows, from boxes of 10 x 6 pixels; one wgmma for
/// each of 9 taps and 4 slices of 16 channels; 9 stages of 64 x 64 weights, which stay, for one CTA.
TEST(EmulatedHopperCounters, HaloMultipliesAndLoadsWhatItsPlanSays) {
  Device device(SHIFTCONV_DEVICE_EMULATED, 1);
  const ConvolutionCase test = parseCase(
      "1x8x8x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 | algorithm halo | options shape=k64_n32,cut=columns | multiprocessors 1");
  runCase(test, makeTensors(test, 1), device, planFor(test, device));
  const auto counters = nlohmann::json::parse(device.counters(SHIFTCONV_COUNTERS_JSON));
  const auto& kernel = counters["kernels"][0];
  EXPECT_EQ(kernel["kernel"], "halo_sm90_f16_k64_n32");
  EXPECT_EQ(kernel["ctas"], 1);
  const nlohmann::json mma{{"wgmma m64n32k16 f32.f16.f16 a:shared", 2 * 9 * 4}};
  EXPECT_EQ(kernel["mma"], mma);
  constexpr int kRowBytes = 128, kBoxes = 2 * 10 * 6 * kRowBytes, kWeights = 9 * 64 * kRowBytes, kOutput = 8 * 8 * kRowBytes;
  EXPECT_EQ(kernel["bytes"]["bulk_copy"]["shared_write"], kBoxes + kWeights);
  EXPECT_EQ(kernel["bytes"]["bulk_copy"]["global_write"], kOutput);
  EXPECT_EQ(kernel["bytes"]["tensor_core"]["shared_read"], 2 * 9 * 4 * (64 + 32) * 32);
}

/// Worked out by hand: one CTA of 8 threads along 32 channels by 2 units of 4 columns. Rows of 10 pixels come once each, those of
/// padding never; two CTAs of 4 output rows read the two rows around their border twice.
TEST(EmulatedHopperCounters, StreamLoadsEachRowOnce) {
  for (const auto& [rows, ctas, loaded] : {std::tuple{8, 1, 8}, {4, 2, 2 * 5}}) {
    Device device(SHIFTCONV_DEVICE_EMULATED, 1);
    const ConvolutionCase test = parseCase(
        "1x8x8x32 f16 * 32x3x3x1 groups 32 pad 1,1,1,1 -> f16 | algorithm channelwise | options "
        "form=stream,channels=4,columns=4,rows=" +
        std::to_string(rows));
    runCase(test, makeTensors(test, 1), device, planFor(test, device));
    const auto counters = nlohmann::json::parse(device.counters(SHIFTCONV_COUNTERS_JSON));
    const auto& kernel = counters["kernels"][0];
    EXPECT_EQ(kernel["kernel"], "channelwise_stream_3_c4_q4");
    EXPECT_EQ(kernel["ctas"], ctas);
    EXPECT_EQ(kernel["bytes"]["bulk_copy"]["shared_write"], loaded * 10 * 32 * 2);
  }
}

TEST(EmulatedHopperChannelwise, ShapesReachEveryKernel) {
  const Device device(SHIFTCONV_DEVICE_EMULATED, 1);
  std::string plans;
  for (const char* name : {"basic", "deep", "large", "long", "one_tap", "stream"})
    for (const ShapeLine& shape : readShapes(ALGORITHM_TESTS "/channelwise/shapes/sm_90a/" + std::string(name) + ".txt"))
      plans += planFor(parseCase(shape.text), device).describe();
  for (const auto& kind : kernels::channelwise::kKinds)
    EXPECT_NE(plans.find("launch     " + std::string(kind.name) + " grid"), std::string::npos) << kind.name;
}

/// A run in whole pairs reads a neighbour that belongs to no tap: with strides larger than the filter, infinite ones are read by
/// outputs that they must not reach.
void onlyOwnOutputsSeeInfinity(const std::string& line, int64_t lead) {
  SCOPED_TRACE(line);
  const Device device(SHIFTCONV_DEVICE_EMULATED, 1);
  const ConvolutionCase test = parseCase(line);
  const Problem problem = internalProblem(test.problem);
  CaseTensors tensors = makeTensors(test, 1);
  const Plan plan = planFor(test, device);
  const auto clean = runCase(test, tensors, device, plan);
  constexpr std::byte kInfinityF16[] = {std::byte{0x00}, std::byte{0x7C}};
  for (int64_t row = 0; row < problem.h; ++row)
    for (int64_t column = 0; column < problem.w; ++column) {
      const int64_t tap = (column + problem.padLeft) % problem.strideW;
      if (tap < problem.s) continue;
      for (int64_t element = 0; element < problem.c; ++element)
        std::copy_n(kInfinityF16, 2, tensors.input.begin() + ((row * problem.w + column) * problem.c + element) * 2);
    }
  EXPECT_EQ(lead, problem.padLeft * problem.c % 2);
  EXPECT_TRUE(runCase(test, tensors, device, plan) == clean);
}
TEST(EmulatedHopperRawRows, NeighboursThatNoTapReadsDoNotMatter) {
  onlyOwnOutputsSeeInfinity("1x3x21x3 f16 * 8x2x3x3 stride 1,4 -> f16 | algorithm raw_rows", 0);              // after the run
  onlyOwnOutputsSeeInfinity("1x3x21x3 f16 * 8x2x2x3 pad 0,0,3,0 stride 1,4 -> f16 | algorithm raw_rows", 1);  // in front of it
  onlyOwnOutputsSeeInfinity("1x3x20x3 f16 * 8x2x3x3 stride 1,5 -> f16 | algorithm raw_rows", 0);              // of either parity
}

/// A group's infinite channels reach its own outputs, and no other group's: chunks that begin with a group's last channels, and
/// tiles that hold filters of two groups.
void infinityStaysInItsGroup(const std::string& line) {
  SCOPED_TRACE(line);
  const Device device(SHIFTCONV_DEVICE_EMULATED, 1);
  const ConvolutionCase test = parseCase(line);
  const Problem problem = internalProblem(test.problem);
  const CaseTensors clean = makeTensors(test, 1);
  const Plan plan = planFor(test, device);
  const auto expected = runCase(test, clean, device, plan);
  constexpr std::byte kInfinityF16[] = {std::byte{0x00}, std::byte{0x7C}};
  const int64_t channels = problem.groupChannels(), columns = problem.k / problem.groups;
  for (int64_t group = 0; group < problem.groups; ++group) {
    SCOPED_TRACE(group);
    CaseTensors tensors = clean;
    for (int64_t pixel = 0; pixel < problem.inputPixels(); ++pixel)
      for (int64_t channel = 0; channel < channels; ++channel)
        std::copy_n(kInfinityF16, 2, tensors.input.begin() + (pixel * problem.c + group * channels + channel) * 2);
    const auto output = runCase(test, tensors, device, plan);
    int64_t changed = 0;
    for (int64_t i = 0; i < problem.outputPixels() * problem.k; ++i) {
      const bool isEqual = std::equal(output.begin() + i * 2, output.begin() + i * 2 + 2, expected.begin() + i * 2);
      if (i % problem.k / columns == group)
        changed += static_cast<int64_t>(!isEqual);
      else
        ASSERT_TRUE(isEqual) << "pixel " << i / problem.k << ", channel " << i % problem.k;
    }
    EXPECT_EQ(changed, problem.outputPixels() * columns);
  }
}
TEST(EmulatedHopperGroups, InfinityStaysInItsGroup) {
  for (const char* problem :
       {"2x5x7x120 f16 * 120x3x2x40 groups 3 pad 1,1,0,1 -> f16", "2x5x7x216 f16 * 120x1x1x72 groups 3 -> f16",
        "1x5x7x192 f16 * 120x2x3x64 groups 3 pad 0,1,1,1 -> f16", "2x5x7x192 f16 * 120x1x1x64 groups 3 -> f16",
        "1x5x3x4x192 f16 * 120x2x2x3x64 groups 3 pad 0,1,1,1,0,1 -> f16"})
    infinityStaysInItsGroup(std::string(problem) + " | algorithm im2col_sm90 | options tile=64x32");
  infinityStaysInItsGroup(
      "2x5x7x360 f16 * 192x2x1x120 groups 3 pad 1,0,0,0 -> f16 | algorithm im2col_sm90 | options tile=64x64,split=2");
}

const auto nameOfShape = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Files, EmulatedHopperEngines, testing::ValuesIn(shapesFor("sm_90a", Sizes::Small)), nameOfShape);
INSTANTIATE_TEST_SUITE_P(Nightly, LargeOnEmulatedHopper, testing::ValuesIn(shapesFor("sm_90a", Sizes::Large)), nameOfShape);

}  // namespace
}  // namespace shiftconv::tests
