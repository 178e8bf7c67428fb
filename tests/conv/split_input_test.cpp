// Inputs in two tensors through the public API: what is checked, and that every run reads both where it is told to.
#include <shiftconv/shiftconv.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/conv/api_fixture.hpp"
#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests {
namespace {

constexpr const char* kDevices[] = {"emulated", "emulated:sm_90a"};

/// Problems that split the input, with the same convolution of an input in one tensor.
struct Pair {
  const char *split, *whole;
};
const Pair kPairs[] = {
    {"2x5x6x32 f16 split_c 16 * 24x3x3x32 pad 1,0,1,1 -> f16 bias", "2x5x6x32 f16 * 24x3x3x32 pad 1,0,1,1 -> f16 bias"},
    {"2x4x3x5x16 bf16 split_d 1 * 16x3x3x3x16 pad 0,1,1,1,1,0 -> f32", "2x4x3x5x16 bf16 * 16x3x3x3x16 pad 0,1,1,1,1,0 -> f32"},
};

std::vector<std::string> algorithmsFor(const Convolution& problem, const Device& device) {
  std::vector<std::string> names;
  for (int i = 0; i < shiftconv_algorithm_count(); ++i)
    if (refusal(problem, device.properties(), shiftconv_algorithm_name(i)).empty()) names.emplace_back(shiftconv_algorithm_name(i));
  return names;
}

/// The second tensor as it is, and as one that no kernel may take for it: results must differ, and both be right.
TEST(SplitInput, EveryAlgorithmReadsTheSecondTensor) {
  for (const char* name : kDevices) {
    Device device{std::string(name)};
    for (const Pair& pair : kPairs) {
      ConvolutionCase test;
      test.problem = Convolution::parse(pair.split);
      const auto algorithms = algorithmsFor(test.problem, device);
      EXPECT_GE(algorithms.size(), 2u) << pair.split;
      for (const std::string& algorithm : algorithms) {
        SCOPED_TRACE(algorithm + " on " + name + ": " + pair.split);
        test.algorithm = algorithm;
        CaseTensors tensors = makeTensors(test, 7), others = tensors;
        others.secondInput = makeTensors(test, 8).secondInput;
        const Plan plan = planFor(test, device);
        const auto output = runCase(test, tensors, device, plan), changed = runCase(test, others, device, plan);
        EXPECT_EQ(judge(test, expectationOf(test, tensors, plan), output), "");
        EXPECT_EQ(judge(test, expectationOf(test, others, plan), changed), "");
        EXPECT_NE(judge(test, expectationOf(test, tensors, plan), changed), "") << "whatever the second tensor holds";
      }
    }
  }
}

/// Replaces the second tensor in a binding, in a run with other tensors, and in plans from bytes.
TEST(SplitInput, RunsWithOtherAddresses) {
  for (const char* name : kDevices) {
    SCOPED_TRACE(name);
    Device device{std::string(name)};
    ConvolutionCase test;
    test.problem = Convolution::parse(kPairs[0].split);
    test.algorithm = "gathered";
    const Plan made = planFor(test, device);
    const auto stored = made.toBytes();
    const Plan plan = Plan::fromBytes(stored.data(), stored.size());
    EXPECT_EQ(plan.describe(), made.describe());
    const CaseTensors one = makeTensors(test, 3), other = makeTensors(test, 4);
    const auto upload = [&](const std::vector<std::byte>& bytes) {
      Memory memory(device, bytes.size());
      device.copyToDevice(memory.get(), bytes.data(), bytes.size());
      return memory;
    };
    const Memory input = upload(one.input), first = upload(one.secondInput), second = upload(other.secondInput),
                 filter = upload(one.filter), bias = upload(one.bias);
    const size_t bytes = test.problem.tensorBytes().output;
    const Memory output(device, bytes), otherOutput(device, bytes);
    Tensors tensors;
    tensors.input = input.get(), tensors.second_input = first.get(), tensors.filter = filter.get(), tensors.bias = bias.get();
    tensors.output = output.get();
    Tensors others = tensors;
    others.second_input = second.get(), others.output = otherOutput.get();
    const Binding binding(plan, device, tensors);
    device.fill(output.get(), 0xCD, bytes), device.fill(otherOutput.get(), 0xCD, bytes);
    binding.run(others);
    binding.run();
    const auto download = [&](const Memory& memory) {
      std::vector<std::byte> result(bytes);
      device.copyToHost(result.data(), memory.get(), bytes);
      device.synchronize();
      return result;
    };
    CaseTensors mixed = one;
    mixed.secondInput = other.secondInput;
    EXPECT_EQ(judge(test, expectationOf(test, one, plan), download(output)), "");
    EXPECT_EQ(judge(test, expectationOf(test, mixed, plan), download(otherOutput)), "");
    device.fill(otherOutput.get(), 0xCD, bytes);
    plan.run(device, others);
    EXPECT_EQ(judge(test, expectationOf(test, mixed, plan), download(otherOutput)), "");
  }
}

TEST(SplitInput, TheSecondTensorIsChecked) {
  Device device{"emulated"};
  const Convolution problem = Convolution::parse(kPairs[0].split);
  const Plan plan(problem, device.properties());
  Tensors tensors;
  const auto place = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
  tensors.input = place(0x100000), tensors.filter = place(0x200000), tensors.bias = place(0x300000),
  tensors.output = place(0x400000);
  const auto refused = [&](const Tensors& wrong, const char* words) {
    EXPECT_FAILURE(shiftconv_run(plan.handle(), device.handle(), &wrong, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  };
  refused(tensors, "second_input must not be NULL; this plan needs 1920 bytes of it");
  tensors.second_input = place(0x500008);
  refused(tensors, "second_input must be aligned to 16 bytes");
  tensors.second_input = place(0x400010);
  refused(tensors, "output must not overlap second_input");
  // A program that was compiled without the field passes none.
  tensors.second_input = place(0x500000);
  tensors.size = offsetof(shiftconv_tensors_t, second_input);
  refused(tensors, "second_input must not be NULL");
  tensors.size = sizeof(shiftconv_tensors_t);
  const Plan whole(Convolution::parse(kPairs[0].whole), device.properties());
  EXPECT_FAILURE(shiftconv_run(whole.handle(), device.handle(), &tensors, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "second_input must be NULL, because this plan uses none");
}

TEST(SplitInput, OlderProgramsCannotBeToldOfIt) {
  shiftconv_problem_t older = SHIFTCONV_PROBLEM_INIT;
  older.size = offsetof(shiftconv_problem_t, split_c);
  EXPECT_FAILURE(shiftconv_problem_parse(kPairs[0].split, &older), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "the problem is one of a split input");
  EXPECT_OK(shiftconv_problem_parse("2x5x6x32 f16 nchw upsample 2,2 * 24x3x3x32 -> f16", &older));
  shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
  const Convolution problem = Convolution::parse(kPairs[1].split);
  EXPECT_OK(shiftconv_problem_tensor_bytes(&problem, &bytes));
  EXPECT_EQ(bytes.input, size_t{2} * 1 * 15 * 16 * 2);
  EXPECT_EQ(bytes.second_input, size_t{2} * 3 * 15 * 16 * 2);
}

/// Every type of the portable engines has a plan that reads both tensors where they are.
TEST(SplitInput, IsCopiedForNoType) {
  for (const char* device : {"H200", "B200", "B300"})
    for (const std::string type : {"f16", "bf16", "e4m3", "e5m2", "s8", "u8", "f32"})
      for (const char* part : {"split_c 32", "split_d 2"}) {
        const std::string compute = type == "f32" ? " compute tf32" : "";
        const std::string text = "1x5x9x11x96 " + type + " " + part + " * 64x3x3x3x96 pad 0,0,1,1,1,1" + compute + " -> f16";
        const Plan plan(Convolution::parse(text), DeviceProperties::preset(device));
        EXPECT_EQ(plan.workspaceBytes(), 0u) << text;
        EXPECT_NE(plan.algorithm(), "direct") << text << " on " << device;
      }
}

/// The input counts once, in one tensor or two.
TEST(SplitInput, TakesTheSameEstimateOfBytes) {
  for (const Pair& pair : kPairs) {
    const DeviceProperties properties = DeviceProperties::preset("H200");
    PlanOptions options;
    options.algorithm = "gathered";
    const Plan split(Convolution::parse(pair.split), properties, options),
        whole(Convolution::parse(pair.whole), properties, options);
    EXPECT_EQ(split.estimate().bytes, whole.estimate().bytes);
    EXPECT_EQ(split.workspaceBytes(), 0u) << "nothing is copied";
  }
}

}  // namespace
}  // namespace shiftconv::tests
