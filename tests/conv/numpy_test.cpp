// Block-scaled and transposed convolutions against NumPy on dequantised operands (numpy_convolution.py): decoding and sums of
// another hand. Only the error that is allowed is the library's own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <ostream>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "conv/problem/text.hpp"
#include "tests/conv/random_tensors.hpp"
#include "tests/support/shell.hpp"
#include "tests/temporary_folder.hpp"

namespace shiftconv::tests::numpy_test {
namespace {

struct Numpy {
  const char* name;
  const char* problem;
  const char* algorithm;
};
void PrintTo(const Numpy& one, std::ostream* stream) { *stream << one.name; }

class AgainstNumpy : public testing::TestWithParam<Numpy> {};

TEST_P(AgainstNumpy, SumsAgree) {
  Problem p;
  ASSERT_TRUE(parse(GetParam().problem, p).ok());
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const TensorBytes tensors = randomTensors(p, random);

  const TemporaryFolder folder;
  const auto write = [&](const char* name, TensorName tensor) {
    const auto& bytes = tensors.bytes[tensor];
    std::ofstream file(folder / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  write("input", TensorName::Input), write("input_scale", TensorName::InputScale);
  write("filter", TensorName::Filter), write("filter_scale", TensorName::FilterScale);
  std::ofstream(folder / "problem.txt") << fmt::format(
      "n {}\nh {}\nw {}\nc {}\nk {}\nr {}\ns {}\npad_top {}\npad_bottom {}\npad_left {}\npad_right {}\nstride_h {}\nstride_w {}\n"
      "dilation_h {}\ndilation_w {}\ntransposed {}\noutput_padding_h {}\noutput_padding_w {}\ninput_type {}\nfilter_type {}\nblock "
      "{}\nscale_type {}\n",
      p.n, p.h, p.w, p.c, p.k, p.r, p.s, p.padTop, p.padBottom, p.padLeft, p.padRight, p.strideH, p.strideW, p.dilationH,
      p.dilationW, p.transposed ? 1 : 0, p.outputPaddingH, p.outputPaddingW, nameOf(p.inputType), nameOf(p.filterType),
      p.inputScale.blockSize, nameOf(p.inputScale.type));
  const Outcome run = runShell(fmt::format("{} {} '{}'", NUMPY_PYTHON, NUMPY_CONVOLUTION, folder / ""));
  ASSERT_EQ(run.exitCode, 0) << run.text;
  const std::string raw = fileContents(folder / "sums");
  std::vector<double> sums(raw.size() / sizeof(double));
  std::memcpy(sums.data(), raw.data(), sums.size() * sizeof(double));
  ASSERT_EQ(sums.size(), static_cast<size_t>(p.outputPixels() * p.k));

  Device device(SHIFTCONV_DEVICE_EMULATED);
  PerTensor<std::unique_ptr<Memory>> memory;
  const auto sizes = tensorBytes(p);
  for (const TensorName name :
       {TensorName::Input, TensorName::InputScale, TensorName::Filter, TensorName::FilterScale, TensorName::Output}) {
    if (sizes[name] == 0) continue;
    memory[name] = std::make_unique<Memory>(device, sizes[name]);
    if (name != TensorName::Output) device.copyToDevice(memory[name]->get(), tensors.bytes[name].data(), sizes[name]);
  }
  device.fill(memory[TensorName::Output]->get(), 0xCD, sizes[TensorName::Output]);
  Tensors arguments;
  const auto addressOf = [&](TensorName name) { return memory[name] ? memory[name]->get() : nullptr; };
  arguments.input = addressOf(TensorName::Input), arguments.input_scale = addressOf(TensorName::InputScale);
  arguments.filter = addressOf(TensorName::Filter), arguments.filter_scale = addressOf(TensorName::FilterScale);
  arguments.output = addressOf(TensorName::Output);
  PlanOptions options;
  options.algorithm = GetParam().algorithm;
  const Plan plan(Convolution::parse(GetParam().problem), device.properties(), options);
  const Memory workspace(device, std::max<size_t>(plan.workspaceBytes(), 16));
  arguments.workspace = plan.workspaceBytes() == 0 ? nullptr : workspace.get();
  plan.run(device, arguments);
  std::vector<float> computed(sums.size());
  device.copyToHost(computed.data(), arguments.output, computed.size() * sizeof(float));
  device.synchronize();

  const reference::Expectation allowed = reference::convolve(p, tensors.operands());
  for (size_t i = 0; i < sums.size(); ++i) {
    // NumPy's own double sums.
    const double slack = 1e-12 * std::abs(sums[i]) + 1e-9 * allowed.bound[i] + 1e-12;
    ASSERT_NEAR(static_cast<double>(computed[i]), sums[i], allowed.bound[i] + slack) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, AgainstNumpy,
    testing::Values(
        Numpy{"mxfp8_shift_stream", "2x9x18x96 e4m3 scale ue8m0/32 * 40x3x3x96 e5m2 pad 1,1,1,1 scale ue8m0/32 -> f32",
              "shift_stream"},
        Numpy{"mxfp6_im2col", "1x9x11x128 e3m2 scale ue8m0/32 * 24x3x3x128 e2m3 stride 2,2 pad 1,1,1,1 scale ue8m0/32 -> f32",
              "im2col"},
        Numpy{"mxfp4_shift_stream", "1x7x20x64 e2m1 scale ue8m0/32 * 32x3x5x64 e2m1 pad 1,1,2,2 scale ue8m0/32 -> f32",
              "shift_stream"},
        Numpy{"nvfp4_shift_stream", "1x7x20x96 e2m1 scale ue4m3/16 * 32x3x3x96 e2m1 pad 1,1,1,1 scale ue4m3/16 -> f32",
              "shift_stream"},
        Numpy{"mxfp8_halo", "1x9x10x96 e5m2 scale ue8m0/32 * 32x3x3x96 e4m3 stride 2,1 pad 1,1,1,1 scale ue8m0/32 -> f32",
              "halo_sm100"},
        Numpy{"transposed_phases",
              "2x5x7x16 f16 * 24x3x4x16 pad 1,0,2,1 stride 2,3 dilation 1,2 transposed output_padding 1,2 -> f32", "phases"},
        Numpy{"transposed_alike", "2x5x6x64 f16 * 40x4x4x64 pad 1,1,1,1 stride 2,2 transposed -> f32", "phases"},
        Numpy{"transposed_direct", "2x5x7x9 f16 * 7x3x2x9 pad 0,1,0,2 stride 3,2 dilation 2,3 transposed output_padding 0,1 -> f32",
              "direct"},
        Numpy{"nvfp4_im2col", "1x7x9x64 e2m1 scale ue4m3/16 * 32x3x3x64 e2m1 pad 2,2,2,2 dilation 2,2 scale ue4m3/16 -> f32",
              "im2col"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shiftconv::tests::numpy_test
