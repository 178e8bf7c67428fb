// Pixels that lie beyond 2^31 elements of the first one: every engine computes them right, or refuses with a sentence. A few pixels
// with a large pitch between them; the emulated device has only the pages that are written.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/conv/api_fixture.hpp"
#include "tests/conv/convolution_case.hpp"
#include "tests/conv/property_rows.hpp"

namespace shiftconv::tests::large_offsets_test {
namespace {

using Bytes = std::vector<std::byte>;

/// A tensor on the device whose pixels lie far apart, and in front of each something that is not to be touched.
class FarPixels {
 public:
  FarPixels(Device& device, int64_t pixels, size_t pixelBytes, int64_t pitchBytes)
      : device_(device),
        pixels_(pixels),
        pixelBytes_(pixelBytes),
        pitchBytes_(pitchBytes),
        memory_(device, static_cast<size_t>((pixels - 1) * pitchBytes) + pixelBytes) {}

  void* get() const { return memory_.get(); }
  void put(const Bytes& dense) {
    for (int64_t i = 0; i < pixels_; ++i)
      device_.copyToDevice(place(i), dense.data() + static_cast<size_t>(i) * pixelBytes_, pixelBytes_);
  }
  Bytes dense() {
    Bytes all(static_cast<size_t>(pixels_) * pixelBytes_);
    for (int64_t i = 0; i < pixels_; ++i)
      device_.copyToHost(all.data() + static_cast<size_t>(i) * pixelBytes_, place(i), pixelBytes_);
    device_.synchronize();
    return all;
  }
  /// The bytes after every pixel but the last.
  Bytes gaps() {
    constexpr size_t kGap = 64;
    Bytes all(static_cast<size_t>(pixels_ - 1) * kGap);
    for (int64_t i = 0; i + 1 < pixels_; ++i)
      device_.copyToHost(all.data() + static_cast<size_t>(i) * kGap, static_cast<std::byte*>(place(i)) + pixelBytes_, kGap);
    device_.synchronize();
    return all;
  }

 private:
  void* place(int64_t pixel) const { return static_cast<std::byte*>(memory_.get()) + pixel * pitchBytes_; }

  Device& device_;
  int64_t pixels_;
  size_t pixelBytes_;
  int64_t pitchBytes_;
  Memory memory_;
};

int64_t farPitch(int64_t pixels) {
  constexpr int64_t kStep = 128;
  return (int64_t{1} << 31) / (pixels - 1) / kStep * kStep + kStep;
}

/// Cases with 8-bit types where there are some: their tensors are smaller.
class LargeOffsets : public testing::TestWithParam<const char*> {};

TEST_P(LargeOffsets, AreComputedOrRefused) {
  Device device(std::string("emulated:") + GetParam());
  if (device.properties().global_bytes < uint64_t{6} << 30) GTEST_SKIP() << "for tensors of 4 GiB, which take addresses only";
  for (const PropertyRow& row : propertyRows("far pixels"))
    for (const bool isInput : {true, false}) {
      if (row.where != GetParam()) continue;
      ASSERT_EQ(row.fields.size(), 3u) << row.algorithm;
      const std::string text = row.fields[0] + " | algorithm " + row.algorithm;
      const ConvolutionCase test = parseCase(text);
      SCOPED_TRACE(text + (isInput ? ", input" : ", output"));
      const Problem dense = internalProblem(test.problem);
      const CaseTensors tensors = makeTensors(test, 3);
      ConvolutionCase far = test;
      (isInput ? far.problem.input_pixel_pitch : far.problem.output_pixel_pitch) =
          farPitch(isInput ? dense.inputPixels() : dense.outputPixels());
      const std::string refused = refusal(far.problem, device.properties(), far.algorithm), words = row.fields[isInput ? 1 : 2];
      EXPECT_EQ(refused.empty(), words.empty()) << refused;
      EXPECT_NE(refused.find(words), std::string::npos) << refused;
      if (!refused.empty()) continue;
      const auto inputBytes = static_cast<size_t>(bytesOf(dense.inputType)),
                 outputBytes = static_cast<size_t>(bytesOf(dense.outputType));
      FarPixels input(device, dense.inputPixels(), static_cast<size_t>(dense.c) * inputBytes,
                      static_cast<int64_t>(inputBytes) * internalProblem(far.problem).inputPitch());
      FarPixels output(device, dense.outputPixels(), static_cast<size_t>(dense.k) * outputBytes,
                       static_cast<int64_t>(outputBytes) * internalProblem(far.problem).outputPitch());
      const Memory filter(device, tensors.filter.size()), bias(device, std::max<size_t>(tensors.bias.size(), 16));
      input.put(tensors.input);
      output.put(Bytes(static_cast<size_t>(dense.outputPixels() * dense.k) * outputBytes, std::byte{0xCD}));
      device.copyToDevice(filter.get(), tensors.filter.data(), tensors.filter.size());
      if (!tensors.bias.empty()) device.copyToDevice(bias.get(), tensors.bias.data(), tensors.bias.size());
      const Plan plan = planFor(far, device);
      const Memory workspace(device, std::max<size_t>(plan.workspaceBytes(), 256));
      Tensors arguments;
      arguments.input = input.get(), arguments.filter = filter.get(), arguments.output = output.get();
      arguments.bias = tensors.bias.empty() ? nullptr : bias.get();
      arguments.workspace = plan.workspaceBytes() == 0 ? nullptr : workspace.get();
      const Bytes before = isInput ? Bytes() : output.gaps();
      plan.run(device, arguments);
      EXPECT_EQ(judge(test, expectationOf(test, tensors, plan), output.dense()), "");
      if (!isInput) {
        EXPECT_TRUE(output.gaps() == before) << "something between the pixels was written";
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, LargeOffsets, testing::Values("sm_100a", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

/// Tensors of whole networks' forms that are as large without gaps.
TEST(LargeTensors, ArePlannedForTensorCores) {
  for (const char* device : {"H200", "B200"})
    for (const char* text :
         {"64x512x512x256 f16 * 64x3x3x256 pad 1,1,1,1 -> f16", "64x512x512x64 f16 * 256x3x3x64 pad 1,1,1,1 -> f16 relu",
          "1x512x512x512x32 bf16 * 32x3x3x3x32 pad 1,1,1,1,1,1 -> bf16", "400x224x224x128 e4m3 * 128x1x1x128 -> e4m3"}) {
      SCOPED_TRACE(std::string(device) + " " + text);
      const Plan plan(Convolution::parse(text), DeviceProperties::preset(device));
      EXPECT_NE(plan.algorithm(), "direct");
    }
}

}  // namespace
}  // namespace shiftconv::tests::large_offsets_test
