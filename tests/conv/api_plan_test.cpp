// Plans: made without a device, deterministic, and able to say what they will do.
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

std::string describe(shiftconv_plan_t plan) {
  size_t needed = 0;
  EXPECT_OK(shiftconv_plan_describe(plan, nullptr, 0, &needed));
  std::string text(needed, '\0');
  EXPECT_OK(shiftconv_plan_describe(plan, text.data(), text.size(), nullptr));
  text.pop_back();
  return text;
}

TEST(ApiPlan, NeedsNoDevice) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B200");
  shiftconv_plan_t plan = nullptr;
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  EXPECT_STREQ(shiftconv_plan_algorithm(plan), "shift_window");
  EXPECT_NE(std::string(shiftconv_plan_kernel_name(plan)).find("shift_window_sm100"), std::string::npos);
  size_t workspace = 99;
  EXPECT_OK(shiftconv_plan_workspace_size(plan, &workspace));
  EXPECT_EQ(workspace, 0u);
  const std::string text = describe(plan);
  EXPECT_NE(text.find("1x5x7x16 f16 * 24x3x3x16"), std::string::npos) << text;
  EXPECT_NE(text.find("shift_window"), std::string::npos) << text;
  EXPECT_NE(text.find(shiftconv_plan_kernel_name(plan)), std::string::npos) << text;
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

TEST(ApiPlan, IsDeterministic) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B200");
  std::vector<std::string> texts(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& text : texts)
      threads.emplace_back([&] {
        shiftconv_plan_t plan = nullptr;
        ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
        text = describe(plan);
        EXPECT_OK(shiftconv_plan_destroy(plan));
      });
  }
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST(ApiPlan, TakesLittleTime) {
  shiftconv_problem_t problem = smallProblem();
  problem.n = 32, problem.h = problem.w = 224, problem.c = 256, problem.k = 512;
  const auto properties = preset("B200");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    shiftconv_plan_t plan = nullptr;
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
    EXPECT_OK(shiftconv_plan_destroy(plan));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 100;
  EXPECT_LT(seconds, 1e-3);  // microseconds in a quiet release build; room for sanitizers and loaded machines
}

TEST(ApiPlan, FollowsItsOptions) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B200");
  shiftconv_plan_options_t options = SHIFTCONV_PLAN_OPTIONS_INIT;
  options.algorithm = "shift_window";
  options.tile_n = 16;
  options.ctas = 1;
  options.resident_weights = 0;
  std::vector<std::string> kernels;
  for (const char* producer : {"tensor_copy", "register_store"}) {
    options.producer = producer;
    shiftconv_plan_t plan = nullptr;
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan));
    kernels.push_back(shiftconv_plan_kernel_name(plan));
    const std::string text = describe(plan);
    EXPECT_NE(text.find("x 16 output channels"), std::string::npos) << text;
    EXPECT_NE(text.find("grid 1x2"), std::string::npos) << text;
    EXPECT_NE(text.find("streamed"), std::string::npos) << text;
    EXPECT_OK(shiftconv_plan_destroy(plan));
  }
  EXPECT_NE(kernels[0], kernels[1]);
}

struct WrongOption {
  const char* name;
  std::function<void(shiftconv_plan_options_t&)> apply;
  shiftconv_status_t status;
  const char* mentions;
};

class ApiPlanOptions : public testing::TestWithParam<WrongOption> {};

TEST_P(ApiPlanOptions, AreRefusedByName) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B200");
  shiftconv_plan_options_t options = SHIFTCONV_PLAN_OPTIONS_INIT;
  GetParam().apply(options);
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, &options, &plan), GetParam().status, GetParam().mentions);
  EXPECT_EQ(plan, nullptr);
}

using Options = shiftconv_plan_options_t;
INSTANTIATE_TEST_SUITE_P(
    EveryField, ApiPlanOptions,
    testing::Values(
        WrongOption{"size", [](Options& o) { o.size = 4; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "size"},
        WrongOption{"algorithm", [](Options& o) { o.algorithm = "fft"; }, SHIFTCONV_STATUS_NOT_FOUND, "known are shift_window"},
        WrongOption{"producer", [](Options& o) { o.producer = "magic"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "tensor_copy"},
        WrongOption{"tile_n_odd", [](Options& o) { o.tile_n = 24; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "tile_n"},
        WrongOption{"tile_n_large", [](Options& o) { o.tile_n = 208; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "tile_n"},
        WrongOption{"tile_n_negative", [](Options& o) { o.tile_n = -16; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "tile_n"},
        WrongOption{"ctas", [](Options& o) { o.ctas = -1; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "ctas"},
        WrongOption{"resident", [](Options& o) { o.resident_weights = 2; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "resident_weights"},
        WrongOption{"reserved", [](Options& o) { o.reserved = 1; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "reserved"}),
    [](const auto& info) { return info.param.name; });

TEST(ApiPlan, WeightsThatDoNotFitCannotBeResident) {
  shiftconv_problem_t problem = smallProblem();
  problem.c = 1024;
  const auto properties = preset("B200");
  Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
  options.resident_weights = 1;
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, &options, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, "resident");
}

TEST(ApiPlan, NullIsRefused) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B200");
  size_t size = 0;
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_create(nullptr, &properties, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, "problem");
  EXPECT_FAILURE(shiftconv_plan_create(&problem, nullptr, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, "properties");
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_FAILURE(shiftconv_plan_describe(nullptr, nullptr, 0, &size), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_FAILURE(shiftconv_plan_workspace_size(nullptr, &size), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_FAILURE(shiftconv_plan_prepare(nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_EQ(shiftconv_plan_algorithm(nullptr), nullptr);
  EXPECT_EQ(shiftconv_plan_kernel_name(nullptr), nullptr);
  EXPECT_OK(shiftconv_plan_destroy(nullptr));
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  EXPECT_FAILURE(shiftconv_plan_workspace_size(plan, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bytes");
  EXPECT_FAILURE(shiftconv_plan_prepare(plan, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

class ApiPlanOnDevice : public EmulatedDeviceTest {};

TEST_F(ApiPlanOnDevice, PreparesEveryKernel) {
  const auto properties = preset("B200");  // a plan for a B200 runs on the emulated sm_100a too
  for (const int32_t outputType : {SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_BF16, SHIFTCONV_TYPE_F32})
    for (const char* producer : {"tensor_copy", "register_store"}) {
      shiftconv_problem_t problem = smallProblem();
      problem.output_type = outputType;
      Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
      options.producer = producer;
      shiftconv_plan_t plan = nullptr;
      ASSERT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan));
      EXPECT_OK(shiftconv_plan_prepare(plan, device_));
      EXPECT_OK(shiftconv_plan_prepare(plan, device_));
      EXPECT_OK(shiftconv_plan_destroy(plan));
    }
}

TEST_F(ApiPlanOnDevice, RefusesADeviceOfAnotherArchitecture) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B300");
  shiftconv_plan_t plan = nullptr;
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  EXPECT_FAILURE(shiftconv_plan_prepare(plan, device_), SHIFTCONV_STATUS_INVALID_ARGUMENT, "compute capability 10.3");
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

}  // namespace
}  // namespace shiftconv::tests
