// Layers in a chain: what one writes, elements and scale factors, the next one reads where it lies. Nothing comes to the host
// between them; then every layer is held to the reference of what its predecessor wrote.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "conv/problem/text.hpp"
#include "conv/reference/block_output.hpp"
#include "tests/conv/random_tensors.hpp"

namespace shiftconv::tests::chain_test {
namespace {

struct Layer {
  const char* text;
  const char* algorithm;
};
struct Chain {
  const char* name;
  std::vector<Layer> layers;
};
void PrintTo(const Chain& chain, std::ostream* stream) { *stream << chain.name; }

/// What a layer has besides what its predecessor wrote, on the device.
struct Placed {
  Problem problem;
  TensorBytes host;
  PerTensor<std::unique_ptr<Memory>> device;
};

class Chains : public testing::TestWithParam<Chain> {};

TEST_P(Chains, StayOnTheDeviceAndWithinTheBound) {
  Device device(SHIFTCONV_DEVICE_EMULATED);
  device.setOption("hazards", "error");
  device.setOption("schedule", "random");
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  device.setOption("seed", std::to_string(seed));
  std::mt19937_64 random(seed);

  std::vector<Placed> placed;
  for (const Layer& layer : GetParam().layers) {
    const Convolution problem = Convolution::parse(layer.text);
    Placed own;
    ASSERT_TRUE(parse(layer.text, own.problem).ok());
    own.host = randomTensors(own.problem, random);
    const auto sizes = tensorBytes(own.problem);
    const auto place = [&](TensorName name) {
      if (sizes[name] != 0) own.device[name] = std::make_unique<Memory>(device, sizes[name]);
    };
    for (const TensorName name : {TensorName::Input, TensorName::InputScale}) {
      if (!placed.empty()) continue;
      place(name);
      if (own.device[name]) device.copyToDevice(own.device[name]->get(), own.host.bytes[name].data(), sizes[name]);
    }
    for (const TensorName name : {TensorName::Filter, TensorName::FilterScale, TensorName::Bias}) {
      place(name);
      if (own.device[name]) device.copyToDevice(own.device[name]->get(), own.host.bytes[name].data(), sizes[name]);
    }
    for (const TensorName name : {TensorName::Output, TensorName::OutputScale}) {
      place(name);
      if (own.device[name]) device.fill(own.device[name]->get(), 0xFF, sizes[name]);
    }
    const auto addressOf = [&](const Placed& of, TensorName name) { return of.device[name] ? of.device[name]->get() : nullptr; };
    Tensors tensors;
    tensors.input = placed.empty() ? addressOf(own, TensorName::Input) : addressOf(placed.back(), TensorName::Output);
    tensors.input_scale =
        placed.empty() ? addressOf(own, TensorName::InputScale) : addressOf(placed.back(), TensorName::OutputScale);
    tensors.filter = addressOf(own, TensorName::Filter), tensors.filter_scale = addressOf(own, TensorName::FilterScale);
    tensors.bias = addressOf(own, TensorName::Bias);
    tensors.output = addressOf(own, TensorName::Output), tensors.output_scale = addressOf(own, TensorName::OutputScale);
    PlanOptions options;
    options.algorithm = layer.algorithm;
    const Plan plan(problem, device.properties(), options);
    plan.run(device, tensors);
    placed.push_back(std::move(own));
  }

  for (size_t i = 0; i < placed.size(); ++i) {
    SCOPED_TRACE(GetParam().layers[i].text);
    Placed& layer = placed[i];
    for (const TensorName name : {TensorName::Output, TensorName::OutputScale})
      if (layer.device[name]) {
        layer.host.bytes[name].resize(layer.device[name]->bytes());
        device.copyToHost(layer.host.bytes[name].data(), layer.device[name]->get(), layer.device[name]->bytes());
      }
    device.synchronize();
    reference::Operands operands = layer.host.operands();
    if (i != 0) {
      operands.input = placed[i - 1].host.bytes[TensorName::Output];
      operands.inputScale = placed[i - 1].host.bytes[TensorName::OutputScale];
    }
    const Problem& p = layer.problem;
    const reference::Expectation expected = reference::convolve(p, operands);
    const std::vector<std::byte>& output = layer.host.bytes[TensorName::Output];
    if (p.outputScale.blockSize != 0) {
      ASSERT_EQ(blockOutputDifference(p, expected, output, layer.host.bytes[TensorName::OutputScale]), "");
      continue;
    }
    for (size_t element = 0; element < expected.value.size(); ++element) {
      const auto code = numerics::loadPacked(numberType(p.outputType), output.data(), static_cast<int64_t>(element));
      const auto computed = static_cast<float>(numerics::decode(numberType(p.outputType), code));
      ASSERT_TRUE(reference::agrees(p, expected.value[element], expected.bound[element], computed))
          << element << ": " << computed << " for " << expected.value[element] << " +- " << expected.bound[element];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Chains,
    testing::Values(
        Chain{"mxfp8",
              {{"2x7x20x32 f16 * 96x3x3x32 pad 1,1,1,1 -> e4m3 bias relu scale ue8m0/32", "halo_sm100"},
               {"2x7x20x96 e4m3 scale ue8m0/32 * 64x3x3x96 e4m3 pad 1,1,1,1 scale ue8m0/32 -> e5m2 bias relu scale ue8m0/32",
                "shift_stream"},
               {"2x7x20x64 e5m2 scale ue8m0/32 * 32x1x1x64 e4m3 scale ue8m0/32/interleaved -> bf16", "im2col"}}},
        Chain{"mxfp4",
              {{"1x9x17x64 e2m1 scale ue8m0/32 * 128x3x3x64 e2m1 pad 1,1,1,1 scale ue8m0/32/interleaved -> e2m1 relu scale "
                "ue8m0/32/interleaved",
                "im2col"},
               {"1x9x17x128 e2m1 scale ue8m0/32/interleaved * 32x3x3x128 e2m1 pad 1,1,1,1 scale ue8m0/32 -> f32", "shift_stream"}}},
        Chain{"nvfp4",
              {{"1x9x17x64 e2m1 scale ue4m3/16 * 96x3x3x64 e2m1 pad 1,1,1,1 scale ue4m3/16 -> e2m1 alpha 0.25 silu scale ue4m3/16",
                "shift_stream"},
               {"1x9x17x96 e2m1 scale ue4m3/16 * 64x3x3x96 e2m1 stride 2,2 pad 1,1,1,1 scale ue4m3/16 -> e2m1 out_scale 0.125 "
                "scale ue4m3/16",
                "im2col"},
               {"1x5x9x64 e2m1 scale ue4m3/16 * 24x3x3x64 e2m1 pad 1,1,1,1 scale ue4m3/16 -> f32", "shift_stream"}}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shiftconv::tests::chain_test
