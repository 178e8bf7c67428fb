// Plans that pack their filter once: the bits of the plan that they were separated from, and of the filter that was packed.
#include <gtest/gtest.h>
#include <shiftconv/packing.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/conv/api_fixture.hpp"
#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests::packing_test {
namespace {

/// Two parts of a plan, destroyed at the end.
struct Parts {
  explicit Parts(const Plan& plan) { EXPECT_OK(shiftconv_plan_separate_packing(plan.handle(), &packing, &rest)); }
  ~Parts() { shiftconv_plan_destroy(packing), shiftconv_plan_destroy(rest); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  shiftconv_plan_t packing = nullptr, rest = nullptr;
};

std::string describe(shiftconv_plan_t plan) {
  std::string text(4096, '\0');
  EXPECT_OK(shiftconv_plan_describe(plan, text.data(), text.size(), nullptr));
  return text.c_str();
}

class Packing : public testing::TestWithParam<std::string> {
 protected:
  Memory upload(const std::vector<std::byte>& bytes) {
    Memory memory(device_, bytes.size());
    device_.copyToDevice(memory.get(), bytes.data(), bytes.size());
    device_.synchronize();
    return memory;
  }
  std::vector<std::byte> download(const Memory& memory, size_t bytes) {
    std::vector<std::byte> result(bytes);
    device_.copyToHost(result.data(), memory.get(), bytes);
    device_.synchronize();
    return result;
  }

  /// The first algorithm that takes the problem and prepares something in a workspace.
  std::string withWorkspace(const Convolution& problem) {
    for (int i = 0; i < shiftconv_algorithm_count(); ++i) {
      const std::string algorithm = shiftconv_algorithm_name(i);
      PlanOptions options;
      options.algorithm = algorithm.c_str();
      if (refusal(problem, device_.properties(), algorithm).empty() &&
          Plan(problem, device_.properties(), options).workspaceBytes() != 0)
        return algorithm;
    }
    ADD_FAILURE() << "no algorithm prepares anything";
    return {};
  }

  Device device_{GetParam()};
};

TEST_P(Packing, OnceServesManyRuns) {
  for (const char* text :
       {"1x5x7x16 f16 * 24x3x3x16 pad 1,1,1,1 stride 2,2 transposed output_padding 1,0 -> f16 bias relu | algorithm phases",
        "2x4x6x32 u8 zero 7 * 16x3x3x32 s8 pad 1,0,1,1 -> s8 alpha 0.01 zero 3"}) {
    ConvolutionCase test = parseCase(text);
    if (test.problem.input_zero_point != 0) test.algorithm = withWorkspace(test.problem);
    SCOPED_TRACE(test.problem.describe() + " by " + test.algorithm);
    const CaseTensors one = makeTensors(test, 5), other = makeTensors(test, 6);
    const Plan plan = planFor(test, device_);
    const Parts parts(plan);
    const size_t bytes = test.problem.tensorBytes().output;
    ASSERT_GT(plan.workspaceBytes(), 0u);

    Memory filter = upload(one.filter);
    const Memory firstInput = upload(one.input), secondInput = upload(other.input), output(device_, bytes),
                 workspace(device_, plan.workspaceBytes());
    Memory bias(device_, std::max<size_t>(one.bias.size(), 16));
    if (!one.bias.empty()) bias = upload(one.bias);
    Tensors tensors;
    tensors.filter = filter.get(), tensors.output = output.get(), tensors.workspace = workspace.get();
    if (!one.bias.empty()) tensors.bias = bias.get();
    const auto result = [&](shiftconv_plan_t which, const Memory& input) {
      tensors.input = input.get();
      device_.fill(output.get(), 0xCD, bytes);
      EXPECT_OK(shiftconv_run(which, device_.handle(), &tensors, nullptr));
      return download(output, bytes);
    };
    const auto first = result(plan.handle(), firstInput), second = result(plan.handle(), secondInput);
    ASSERT_NE(first, second);
    device_.fill(workspace.get(), 0xCD, plan.workspaceBytes());
    EXPECT_NE(result(parts.rest, firstInput), first) << "without what has to be packed";

    device_.fill(workspace.get(), 0xCD, plan.workspaceBytes());
    tensors.input = secondInput.get();
    device_.fill(output.get(), 0xCD, bytes);
    EXPECT_OK(shiftconv_run(parts.packing, device_.handle(), &tensors, nullptr));
    EXPECT_EQ(download(output, bytes), std::vector<std::byte>(bytes, std::byte{0xCD})) << "packing writes no output";
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(result(parts.rest, firstInput), first);
      EXPECT_EQ(result(parts.rest, secondInput), second);
    }
    shiftconv_binding_t binding = nullptr;
    EXPECT_OK(shiftconv_bind(parts.rest, device_.handle(), &tensors, &binding));
    device_.fill(output.get(), 0xCD, bytes);
    EXPECT_OK(shiftconv_binding_run(binding, nullptr));
    EXPECT_EQ(download(output, bytes), second);
    EXPECT_OK(shiftconv_binding_destroy(binding));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Packing, testing::Values("emulated", "emulated:sm_90a"),
                         [](const auto& info) { return info.param.size() > 8 ? "sm_90a" : "sm_100a"; });

TEST(PackingPlans, AreWhatTheyWereSeparatedFrom) {
  ConvolutionCase test = parseCase("1x5x7x16 f16 * 24x3x3x16 stride 2,3 transposed -> f16 | algorithm phases");
  const Plan plan = planFor(test, DeviceProperties::preset("H200"));
  const std::string before = plan.describe();
  const Parts parts(plan);
  EXPECT_EQ(plan.describe(), before);
  EXPECT_STREQ(shiftconv_plan_algorithm(parts.rest), "phases");
  EXPECT_STREQ(shiftconv_plan_kernel_name(parts.packing), "gather_phase_filters");
  EXPECT_STREQ(shiftconv_plan_kernel_name(parts.rest), shiftconv_plan_kernel_name(plan.handle()));
  for (const shiftconv_plan_t part : {parts.packing, parts.rest}) {
    size_t bytes = 0;
    EXPECT_OK(shiftconv_plan_workspace_size(part, &bytes));
    EXPECT_EQ(bytes, plan.workspaceBytes());
    EXPECT_NE(describe(part), before);
    EXPECT_FAILURE(shiftconv_plan_to_bytes(part, nullptr, 0, nullptr), SHIFTCONV_STATUS_UNSUPPORTED, "a part of another");
    shiftconv_plan_t packing = part, rest = part;
    EXPECT_FAILURE(shiftconv_plan_separate_packing(part, &packing, &rest), SHIFTCONV_STATUS_UNSUPPORTED, "that could be kept");
    EXPECT_EQ(packing, part);
    EXPECT_EQ(rest, part);
  }
}

TEST(PackingPlans, RefuseWhatHasNothingToPack) {
  const Plan plan(Convolution::parse("1x5x7x16 f16 * 24x3x3x16 -> f16"), DeviceProperties::preset("B200"));
  shiftconv_plan_t packing = nullptr, rest = nullptr;
  EXPECT_FAILURE(shiftconv_plan_separate_packing(plan.handle(), &packing, &rest), SHIFTCONV_STATUS_UNSUPPORTED, plan.algorithm());
  EXPECT_EQ(packing, nullptr);
  EXPECT_EQ(rest, nullptr);
  EXPECT_FAILURE(shiftconv_plan_separate_packing(nullptr, &packing, &rest), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_FAILURE(shiftconv_plan_separate_packing(plan.handle(), nullptr, &rest), SHIFTCONV_STATUS_INVALID_ARGUMENT, "packing");
  EXPECT_FAILURE(shiftconv_plan_separate_packing(plan.handle(), &packing, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "rest");
}

}  // namespace
}  // namespace shiftconv::tests::packing_test
