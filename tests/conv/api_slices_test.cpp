// Slices of the channels of larger tensors: concatenations without a copy.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests::api_slices_test {
namespace {

/// f16 numbers of few bits.
std::vector<uint16_t> someHalves(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> halves(count);
  for (uint16_t& half : halves) half = static_cast<uint16_t>(0x3000 + (random() % 8 << 8) + (random() % 2 << 15));
  return halves;
}

/// Two convolutions read slices of one tensor's channels and write slices of another's: a concatenation without a copy.
TEST(ApiSlices, OfChannelsAreReadAndWrittenInPlace) {
  for (const char* name : {"emulated", "emulated:sm_90a"}) {
    SCOPED_TRACE(name);
    Device device{std::string(name)};
    constexpr size_t kPixels = 2 * 5 * 7, kInput = 48, kOutput = 40;
    const std::vector<uint16_t> all = someHalves(kPixels * kInput, 5);
    const Memory input(device, all.size() * 2), output(device, kPixels * kOutput * 2);
    device.copyToDevice(input.get(), all.data(), all.size() * 2);
    device.fill(output.get(), 0xCD, output.bytes());
    std::vector<uint16_t> expected(kPixels * kOutput, 0xCDCD);
    struct Slice {
      const char *sliced, *dense;
      size_t inputAt, c, outputAt, k;
    };
    for (const Slice& slice :
         {Slice{"2x5x7x16 f16 pitch 48 * 8x3x3x16 pad 1,1,1,1 -> f16 pitch 40", "2x5x7x16 f16 * 8x3x3x16 pad 1,1,1,1 -> f16", 0, 16,
                24, 8},
          Slice{"2x5x7x32 f16 pitch 48 * 16x1x1x32 -> f16 pitch 40 relu", "2x5x7x32 f16 * 16x1x1x32 -> f16 relu", 16, 32, 8, 16}}) {
      const Plan plan(Convolution::parse(slice.sliced), device.properties()),
          whole(Convolution::parse(slice.dense), device.properties());
      std::vector<uint16_t> own;
      for (size_t pixel = 0; pixel < kPixels; ++pixel)
        own.insert(own.end(), &all[pixel * kInput + slice.inputAt], &all[pixel * kInput + slice.inputAt] + slice.c);
      const std::vector<uint16_t> weights = someHalves(Convolution::parse(slice.dense).tensorBytes().filter / 2, 9);
      const Memory filter(device, weights.size() * 2), copied(device, own.size() * 2), dense(device, kPixels * slice.k * 2);
      device.copyToDevice(filter.get(), weights.data(), weights.size() * 2);
      device.copyToDevice(copied.get(), own.data(), own.size() * 2);
      Tensors tensors;
      tensors.filter = filter.get();
      tensors.input = copied.get(), tensors.output = dense.get();
      whole.run(device, tensors);
      tensors.input = static_cast<uint16_t*>(input.get()) + slice.inputAt;
      tensors.output = static_cast<uint16_t*>(output.get()) + slice.outputAt;
      plan.run(device, tensors);
      std::vector<uint16_t> result(kPixels * slice.k);
      device.copyToHost(result.data(), dense.get(), result.size() * 2);
      device.synchronize();
      for (size_t pixel = 0; pixel < kPixels; ++pixel)
        std::copy_n(&result[pixel * slice.k], slice.k, &expected[pixel * kOutput + slice.outputAt]);
    }
    std::vector<uint16_t> computed(expected.size());
    device.copyToHost(computed.data(), output.get(), computed.size() * 2);
    device.synchronize();
    EXPECT_EQ(computed, expected);
  }
}

constexpr uint16_t kNan = 0x7E01;

/// Pixels of one tensor: input, residual and output are slices of its channels, and what is between them is NaN.
class OneTensor {
 public:
  static constexpr size_t kPitch = 88, kOwn = 16, kInputAt = 8, kResidualAt = 32, kOutputAt = 64;

  OneTensor(Device& device, size_t pixels) : device_(device), memory_(device, pixels * kPitch * 2), halves_(pixels * kPitch, kNan) {
    const std::vector<uint16_t> own = someHalves(pixels * 2 * kOwn, 11);
    for (size_t pixel = 0; pixel < pixels; ++pixel) {
      std::copy_n(&own[pixel * 2 * kOwn], kOwn, &halves_[pixel * kPitch + kInputAt]);
      std::copy_n(&own[pixel * 2 * kOwn + kOwn], kOwn, &halves_[pixel * kPitch + kResidualAt]);
    }
  }
  void fill() { device_.copyToDevice(memory_.get(), halves_.data(), halves_.size() * 2); }
  uint16_t* at(size_t channel) const { return static_cast<uint16_t*>(memory_.get()) + channel; }
  std::vector<uint16_t> slice(size_t channel) const {
    std::vector<uint16_t> own;
    for (size_t from = channel; from < halves_.size(); from += kPitch) own.insert(own.end(), &halves_[from], &halves_[from] + kOwn);
    return own;
  }
  /// The tensor with these numbers as its output.
  std::vector<uint16_t> with(const std::vector<uint16_t>& outputs) const {
    std::vector<uint16_t> all = halves_;
    for (size_t i = 0; i < outputs.size(); ++i) all[i / kOwn * kPitch + kOutputAt + i % kOwn] = outputs[i];
    return all;
  }
  std::vector<uint16_t> read() const {
    std::vector<uint16_t> all(halves_.size());
    device_.copyToHost(all.data(), memory_.get(), all.size() * 2);
    device_.synchronize();
    return all;
  }

 private:
  Device& device_;
  Memory memory_;
  std::vector<uint16_t> halves_;
};

/// Every algorithm, bit for bit what dense tensors give; sums of numbers of so few bits are exact in any order.
TEST(ApiSlices, OneTensorHoldsWhatIsReadAndWhatIsWritten) {
  constexpr size_t kPixels = 2 * 5 * 7;
  for (const char* name : {"emulated", "emulated:sm_90a"}) {
    Device device{std::string(name)};
    OneTensor one(device, kPixels);
    int runs = 0;
    for (const char* filter :
         {"16x3x3x16 pad 1,1,1,1", "16x1x1x16", "16x3x3x1 groups 16 pad 1,1,1,1", "16x3x3x8 groups 2 pad 1,1,1,1"})
      for (int i = 0; i < shiftconv_algorithm_count(); ++i) {
        const std::string algorithm = shiftconv_algorithm_name(i), end = " residual 0.5 silu residual_last";
        const auto dense = Convolution::parse("2x5x7x16 f16 * " + std::string(filter) + " -> f16" + end),
                   sliced = Convolution::parse("2x5x7x16 f16 pitch 88 * " + std::string(filter) +
                                               " -> f16 pitch 88 residual_pitch 88" + end);
        if (!refusal(dense, device.properties(), algorithm).empty() || !refusal(sliced, device.properties(), algorithm).empty())
          continue;
        SCOPED_TRACE(testing::Message() << name << ", " << algorithm << ", " << filter);
        PlanOptions options;
        options.algorithm = algorithm.c_str();
        const Plan whole(dense, device.properties(), options), plan(sliced, device.properties(), options);
        const std::vector<uint16_t> weights = someHalves(dense.tensorBytes().filter / 2, 9), input = one.slice(OneTensor::kInputAt),
                                    residual = one.slice(OneTensor::kResidualAt);
        const Memory filterMemory(device, weights.size() * 2), inputMemory(device, input.size() * 2),
            residualMemory(device, residual.size() * 2), output(device, input.size() * 2),
            workspace(device, std::max<size_t>({plan.workspaceBytes(), whole.workspaceBytes(), 16}));
        device.copyToDevice(filterMemory.get(), weights.data(), weights.size() * 2);
        device.copyToDevice(inputMemory.get(), input.data(), input.size() * 2);
        device.copyToDevice(residualMemory.get(), residual.data(), residual.size() * 2);
        Tensors tensors;
        tensors.filter = filterMemory.get(), tensors.input = inputMemory.get(), tensors.residual = residualMemory.get();
        tensors.output = output.get();
        tensors.workspace = whole.workspaceBytes() != 0 ? workspace.get() : nullptr;
        whole.run(device, tensors);
        std::vector<uint16_t> outputs(kPixels * OneTensor::kOwn);
        device.copyToHost(outputs.data(), output.get(), outputs.size() * 2);
        one.fill();
        tensors.input = one.at(OneTensor::kInputAt), tensors.residual = one.at(OneTensor::kResidualAt);
        tensors.output = one.at(OneTensor::kOutputAt);
        tensors.workspace = plan.workspaceBytes() != 0 ? workspace.get() : nullptr;
        plan.run(device, tensors);
        device.synchronize();
        EXPECT_EQ(one.read(), one.with(outputs));
        EXPECT_EQ(std::ranges::count(outputs, kNan), 0);
        ++runs;
      }
    EXPECT_GE(runs, 12) << name;
  }
}

Problem problemOf(const std::string& text) {
  Problem problem;
  const Status status = parse(text, problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return problem;
}

/// Offsets of the output from the input, worked out by hand: 6 pixels of 16 channels in 40, of 2 bytes.
TEST(TensorSpans, MeetWhereTheyHaveAByteInCommon) {
  using enum TensorName;
  const Problem p = problemOf("1x2x3x16 f16 pitch 40 * 8x1x1x16 -> f16 pitch 40 residual 1 residual_pitch 40");
  const auto meets = [&](TensorName one, uint64_t at, TensorName other, uint64_t otherAt) {
    const PerTensor<size_t> bytes = tensorBytes(p);
    const bool result = meet(p, {one, at, bytes[one]}, {other, otherAt, bytes[other]});
    EXPECT_EQ(meet(p, {other, otherAt, bytes[other]}, {one, at, bytes[one]}), result);
    return result;
  };
  EXPECT_EQ(tensorBytes(p)[Input], 5u * 80 + 32);
  EXPECT_EQ(tensorBytes(p)[Output], 5u * 80 + 16);
  EXPECT_TRUE(meets(Input, 4096, Output, 4096));
  EXPECT_TRUE(meets(Input, 4096, Output, 4096 + 16));   // channels 8 to 15
  EXPECT_FALSE(meets(Input, 4096, Output, 4096 + 32));  // 16 to 23
  EXPECT_FALSE(meets(Input, 4096, Output, 4096 + 64));  // 32 to 39
  EXPECT_TRUE(meets(Input, 4096, Output, 4096 + 80));   // 0 to 7 of the next pixel
  EXPECT_FALSE(meets(Input, 4096, Output, 4096 + 4 * 80 + 32));
  EXPECT_TRUE(meets(Input, 4096 + 72, Output, 4096));            // an input from channel 36 on reaches into the next pixel
  EXPECT_FALSE(meets(Input, 4096 + 16, Output, 4096));           // 8 to 23, behind the output
  EXPECT_TRUE(meets(Input, 4096 + 8, Output, 4096));             // 4 to 19
  EXPECT_FALSE(meets(Input, 4096, Output, 4096 + 5 * 80 + 32));  // behind its end
  EXPECT_FALSE(meets(Residual, 4096 + 16, Output, 4096));
  EXPECT_TRUE(meets(Filter, 4096, Output, 4096 + 32));  // no pixels
  // Another pitch; channels first.
  EXPECT_TRUE(meet(problemOf("1x2x3x16 f16 pitch 40 * 8x1x1x16 -> f16 pitch 48"), {Input, 4096, 432}, {Output, 4096 + 32, 496}));
  EXPECT_TRUE(meet(problemOf("1x2x3x16 f16 nchw * 8x1x1x16 -> f16 pitch 16"), {Input, 4096, 192}, {Output, 4096 + 16, 176}));
}

}  // namespace
}  // namespace shiftconv::tests::api_slices_test
