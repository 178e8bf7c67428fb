// The C++ header: owners that move and close, exceptions that carry status and sentence. And the C header in C99.
#include <gtest/gtest.h>

#include <shiftconv/shiftconv.hpp>
#include <type_traits>

#include "tests/conv/c99_use.h"

namespace shiftconv::tests {
namespace {

Convolution smallConvolution() {
  Convolution problem;
  problem.n = 1;
  problem.h = 3;
  problem.w = 4;
  problem.c = problem.k = 8;
  problem.r = problem.s = 2;
  problem.output_type = SHIFTCONV_TYPE_F32;
  return problem;
}

TEST(CHeader, WorksInC99) { EXPECT_EQ(shiftconv_c99_use(), nullptr) << shiftconv_c99_use() << ": " << shiftconv_last_error(); }

TEST(CppHeader, OwnersMoveAndDoNotCopy) {
  static_assert(!std::is_copy_constructible_v<Device> && std::is_nothrow_move_constructible_v<Device>);
  static_assert(!std::is_copy_constructible_v<Plan> && std::is_nothrow_move_assignable_v<Plan>);
  static_assert(!std::is_copy_constructible_v<Memory> && !std::is_copy_constructible_v<Binding> &&
                !std::is_copy_constructible_v<Stream>);
  Device first(SHIFTCONV_DEVICE_EMULATED);
  const shiftconv_device_t handle = first.handle();
  Device second(std::move(first));
  EXPECT_EQ(second.handle(), handle);
  EXPECT_EQ(first.handle(), nullptr);  // NOLINT: moved-from owners are documented to be empty
  EXPECT_EQ(Device("emulated:sm_90a").properties().compute_major, 9);
  EXPECT_THROW(Device("gpu"), Error);
  EXPECT_EQ(Memory(second, 0).get(), nullptr);
  Memory memory(second, 64), other(second, 128);
  void* address = memory.get();
  other = std::move(memory);
  EXPECT_EQ(other.get(), address);
  EXPECT_EQ(other.bytes(), 64u);
}

TEST(CppHeader, ErrorsCarryStatusAndSentence) {
  Convolution problem = smallConvolution();
  problem.k = 0;
  try {
    problem.validate();
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), SHIFTCONV_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("k must be in"), std::string::npos);
  }
  EXPECT_THROW(DeviceProperties::preset("B9000"), Error);
}

TEST(CppHeader, ComputesAConvolution) {
  Device device(SHIFTCONV_DEVICE_EMULATED);
  device.setOption("schedule", "latest");
  const Convolution problem = smallConvolution();
  EXPECT_EQ(problem.outputDepth(), 1);
  EXPECT_EQ(problem.outputHeight(), 2);
  EXPECT_EQ(problem.outputWidth(), 3);
  EXPECT_EQ(problem.describe(), "1x3x4x8 f16 * 8x2x2x8 pad 0,0,0,0 -> 1x2x3x8 f32");
  EXPECT_EQ(refusal(problem, device.properties(), "shift_window"), "");
  EXPECT_TRUE(device.properties().emulated());

  PlanOptions asked;
  asked.algorithm = "halo_sm100";
  const Plan plan(problem, device.properties(), asked);
  EXPECT_EQ(plan.algorithm(), "halo_sm100");
  EXPECT_NE(plan.describe().find(plan.kernelName()), std::string::npos);
  EXPECT_EQ(plan.workspaceBytes(), 0u);
  plan.prepare(device);

  const auto bytes = problem.tensorBytes();
  const Memory input(device, bytes.input), filter(device, bytes.filter), output(device, bytes.output);
  const std::vector<uint16_t> twos(bytes.input / 2, 0x4000), halves(bytes.filter / 2, 0x3800);
  Stream stream(device);
  device.copyToDevice(input.get(), twos.data(), bytes.input, stream.get());
  device.copyToDevice(filter.get(), halves.data(), bytes.filter, stream.get());
  device.fill(output.get(), 0xCD, bytes.output, stream.get());
  Tensors tensors;
  tensors.input = input.get();
  tensors.filter = filter.get();
  tensors.output = output.get();
  plan.run(device, tensors, stream.get());
  std::vector<float> result(bytes.output / sizeof(float));
  device.copyToHost(result.data(), output.get(), bytes.output, stream.get());
  stream.synchronize();
  for (const float value : result) EXPECT_EQ(value, 32.0f);  // 2 * 0.5 over 4 taps of 8 channels

  const Binding binding(plan, device, tensors);
  device.fill(output.get(), 0xCD, bytes.output, stream.get());
  binding.run(stream.get());
  device.copyToHost(result.data(), output.get(), bytes.output, stream.get());
  stream.synchronize();
  for (const float value : result) EXPECT_EQ(value, 32.0f);

  device.fill(output.get(), 0xCD, bytes.output, stream.get());
  Tensors others = tensors;
  const Memory otherInput(device, bytes.input);
  others.input = otherInput.get();
  const std::vector<uint16_t> fours(bytes.input / 2, 0x4400);
  device.copyToDevice(otherInput.get(), fours.data(), bytes.input, stream.get());
  binding.run(others, stream.get());
  device.copyToHost(result.data(), output.get(), bytes.output, stream.get());
  stream.synchronize();
  for (const float value : result) EXPECT_EQ(value, 64.0f);

  const std::vector<unsigned char> stored = plan.toBytes();
  const Plan loaded = Plan::fromBytes(stored.data(), stored.size());
  EXPECT_EQ(loaded.describe(), plan.describe());
  EXPECT_EQ(loaded.candidates(), plan.candidates());
  EXPECT_THROW(Plan::fromBytes(stored.data(), stored.size() - 1), Error);

  EXPECT_NE(device.counters().find(plan.kernelName()), std::string::npos);
  EXPECT_NE(device.counters(SHIFTCONV_COUNTERS_JSON).find("\"launches\":3"), std::string::npos);
  device.resetCounters();
  EXPECT_NE(device.counters().find("no launches"), std::string::npos);
  device.synchronize();
}

TEST(CppHeader, PlansSayWhatTheyChose) {
  const Convolution problem = Convolution::parse("1x3x4x8 f16 * 8x2x2x8 -> f32");
  EXPECT_EQ(problem.describe(), smallConvolution().describe());
  PlanOptions options;
  options.algorithm = "shift_window";
  options.options = "tile_n=16";
  const Plan plan(problem, DeviceProperties::preset("B200"), options);
  EXPECT_EQ(plan.options(), "group=single,tile_n=16,ctas=1,resident_weights=yes");
  EXPECT_EQ(plan.candidates().rfind("chosen     shift_window group=single", 0), 0u) << plan.candidates();
  EXPECT_EQ(plan.estimate().flops, 2.0 * 2 * 3 * 8 * 2 * 2 * 8);
  EXPECT_NE(algorithmOptions("shift_window").find("tile_n"), std::string::npos);
  EXPECT_THROW(Convolution::parse("1x3x4x8 f16"), Error);
}

TEST(CppHeader, MultipliesMatrices) {
  Convolution problem = Convolution::gemm(100, 40, 72);
  problem.output_type = SHIFTCONV_TYPE_F32;
  EXPECT_EQ(problem.describe(), "1x1x100x72 f16 * 40x1x1x72 pad 0,0,0,0 -> 1x1x100x40 f32");
  PlanOptions options;
  options.algorithm = "gemm";
  options.options = "splits=2,tile_n=64";
  const Plan plan(problem, DeviceProperties::preset("B200"), options);
  EXPECT_NE(plan.options().find("splits=2"), std::string::npos) << plan.options();
  EXPECT_GE(plan.workspaceBytes(), 2u * 128 * 64 * 4);
  EXPECT_THROW(Convolution::gemm(0, 40, 72), Error);
}

TEST(CppHeader, SaysWhyAProblemIsRefused) {
  Convolution problem = smallConvolution();
  problem.stride_w = 2;
  EXPECT_NE(refusal(problem, DeviceProperties::preset("B200"), "shift_window").find("stride"), std::string::npos);
  EXPECT_THROW(refusal(problem, DeviceProperties::preset("B200"), "no such algorithm"), Error);
  EXPECT_EQ(Plan(problem, DeviceProperties::preset("B200")).algorithm(), "thin");
  problem.filter_type = SHIFTCONV_TYPE_E4M3;  // which nothing multiplies with f16
  EXPECT_THROW(Plan(problem, DeviceProperties::preset("B200")), Error);
}

TEST(CppHeader, PlansByMeasurement) {
  const Device device(SHIFTCONV_DEVICE_EMULATED);
  PlanOptions options;
  options.algorithm = "shift_window";
  Autotune autotune;
  autotune.cache = "";
  autotune.candidates = 1;
  const Plan plan = Plan::autotuned(smallConvolution(), device, autotune, options);
  EXPECT_EQ(plan.algorithm(), "shift_window");
  EXPECT_NE(plan.candidates().find("us measured"), std::string::npos) << plan.candidates();
  autotune.seconds = 0;
  EXPECT_THROW(Plan::autotuned(smallConvolution(), device, autotune, options), Error);
}

}  // namespace
}  // namespace shiftconv::tests
