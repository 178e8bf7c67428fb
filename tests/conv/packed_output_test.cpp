// 4-bit and 6-bit outputs whose last channel shares its byte with the gap after it: the gap's part stays as it was.
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

namespace shiftconv::tests::packed_output_test {
namespace {

constexpr uint8_t kPoison = 0xC5;  // parts that differ from each other and from 0

struct OddOutput {
  std::string name, algorithm, filter, output;
};
void PrintTo(const OddOutput& one, std::ostream* stream) { *stream << one.name; }

std::vector<OddOutput> oddOutputs() {
  std::vector<OddOutput> all;
  const auto add = [&](const char* algorithm, std::string_view type, std::string_view block, int channels, int pitch) {
    all.push_back({fmt::format("{}_{}_{}_{}_of_{}", algorithm, type, block.substr(0, 5), channels, pitch), algorithm,
                   fmt::format("{}x3x3x16 pad 1,1,0,1", channels), fmt::format("{} pitch {} scale {}", type, pitch, block)});
  };
  for (const char* algorithm : {"shift_stream", "shift_window", "halo_sm100", "im2col"}) {
    // In 32 columns a last segment with one missing, which would leave as whole vectors or by the copy engine.
    for (const char* block : {"ue8m0/32", "ue4m3/16"})
      for (const auto& [channels, pitch] : {std::pair{17, 18}, {31, 32}, {47, 64}, {1, 6}})
        add(algorithm, "e2m1", block, channels, pitch);
    // Rows that begin at a multiple of 4 bytes and between; ends after two, four and six bits of a byte, and at one.
    for (const char* type : {"e3m2", "e2m3"})
      for (const auto& [channels, pitch] : {std::pair{47, 64}, {18, 20}, {33, 36}, {64, 64}})
        add(algorithm, type, "ue8m0/32", channels, pitch);
  }
  return all;
}

class OddOutputs : public testing::TestWithParam<OddOutput> {};

TEST_P(OddOutputs, LeaveTheRestOfTheLastByte) {
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
  const std::vector<std::byte> before(output.size(), std::byte{kPoison});
  const numerics::NumberType type = numberType(p.outputType);
  const auto codes = static_cast<int64_t>(output.size()) * 8 / bitsOf(p.outputType);
  for (int64_t at = 0; at < codes; ++at)
    if (at % p.outputPitch() >= p.k) {
      ASSERT_EQ(numerics::loadPacked(type, output.data(), at), numerics::loadPacked(type, before.data(), at))
          << "element " << at % p.outputPitch() << " of pixel " << at / p.outputPitch();
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, OddOutputs, testing::ValuesIn(oddOutputs()), [](const auto& info) { return info.param.name; });

TEST(OddOutputsWithoutAPitch, AreRefused) {
  Problem p;
  const Status status = parse("2x3x7x16 f16 * 17x3x3x16 -> e2m1 scale ue8m0/32", p);
  EXPECT_NE(status.message().find("k of the output must fill whole bytes, but is 17 elements of output_type e2m1"),
            std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace shiftconv::tests::packed_output_test
