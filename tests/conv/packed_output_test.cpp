// 4-bit outputs with an odd number of channels: the last one shares its byte with the gap behind it, whose half stays as it was.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "common/numerics/packed.hpp"
#include "conv/problem/text.hpp"
#include "conv/reference/block_output.hpp"
#include "tests/conv/random_tensors.hpp"

namespace shiftconv::tests {
namespace {

constexpr uint8_t kPoison = 0xC5;  // halves that differ from each other and from 0

struct OddOutput {
  std::string name, algorithm, filter, output;
};
void PrintTo(const OddOutput& one, std::ostream* stream) { *stream << one.name; }

std::vector<OddOutput> oddOutputs() {
  std::vector<OddOutput> all;
  for (const char* algorithm : {"shift_stream", "shift_window", "halo_sm100", "im2col"})
    for (const char* block : {"ue8m0/32", "ue4m3/16"})
      // In 32 columns a last segment with one missing, which would leave as whole vectors or by the copy engine.
      for (const auto& [channels, pitch] : {std::pair{17, 18}, {31, 32}, {47, 64}, {1, 6}})
        all.push_back({fmt::format("{}_{}_{}_of_{}", algorithm, std::string_view(block).substr(0, 5), channels, pitch), algorithm,
                       fmt::format("{}x3x3x16 pad 1,1,0,1", channels), fmt::format("e2m1 pitch {} scale {}", pitch, block)});
  return all;
}

class OddOutputs : public testing::TestWithParam<OddOutput> {};

TEST_P(OddOutputs, LeaveTheOtherHalfOfTheLastByte) {
  const std::string text = fmt::format("2x3x7x16 f16 * {} -> {}", GetParam().filter, GetParam().output);
  Problem p;
  ASSERT_TRUE(parse(text, p).ok());
  std::mt19937_64 random(1);
  const TensorBytes host = randomTensors(p, random);
  Device device(SHIFTCONV_DEVICE_EMULATED);
  device.setOption("hazards", "error");
  const auto sizes = tensorBytes(p);
  PerTensor<std::unique_ptr<Memory>> memory;
  for (const TensorName name : {TensorName::Input, TensorName::Filter, TensorName::Output, TensorName::OutputScale}) {
    memory[name] = std::make_unique<Memory>(device, sizes[name]);
    if (!host.bytes[name].empty()) device.copyToDevice(memory[name]->get(), host.bytes[name].data(), sizes[name]);
  }
  device.fill(memory[TensorName::Output]->get(), kPoison, sizes[TensorName::Output]);
  Tensors tensors;
  tensors.input = memory[TensorName::Input]->get(), tensors.filter = memory[TensorName::Filter]->get();
  tensors.output = memory[TensorName::Output]->get(), tensors.output_scale = memory[TensorName::OutputScale]->get();
  PlanOptions options;
  options.algorithm = GetParam().algorithm.c_str();
  Plan(Convolution::parse(text), device.properties(), options).run(device, tensors);
  std::vector<std::byte> output(sizes[TensorName::Output]), scales(sizes[TensorName::OutputScale]);
  device.copyToHost(output.data(), tensors.output, output.size());
  device.copyToHost(scales.data(), tensors.output_scale, scales.size());
  device.synchronize();

  EXPECT_EQ(blockOutputDifference(p, reference::convolve(p, host.operands()), output, scales), "");
  const auto codes = static_cast<int64_t>(output.size()) * 2;
  for (int64_t at = 0; at < codes; ++at)
    if (at % p.outputPitch() >= p.k) {
      ASSERT_EQ(numerics::loadPacked(numerics::NumberType::E2M1, output.data(), at), at % 2 == 0 ? kPoison & 15u : kPoison >> 4u)
          << "element " << at % p.outputPitch() << " of pixel " << at / p.outputPitch();
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, OddOutputs, testing::ValuesIn(oddOutputs()), [](const auto& info) { return info.param.name; });

TEST(OddOutputsWithoutAPitch, AreRefused) {
  Problem p;
  const Status status = parse("2x3x7x16 f16 * 17x3x3x16 -> e2m1 scale ue8m0/32", p);
  EXPECT_NE(status.message().find("output pixel pitch of 17 elements of type e2m1 must fill whole bytes"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace shiftconv::tests
