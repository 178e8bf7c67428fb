// Plans: made without a device, deterministic, and able to say what they will do.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
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
  EXPECT_STREQ(shiftconv_plan_algorithm(plan), "thin");
  EXPECT_TRUE(std::string(shiftconv_plan_kernel_name(plan)).starts_with("thin_")) << shiftconv_plan_kernel_name(plan);
  size_t workspace = 99;
  EXPECT_OK(shiftconv_plan_workspace_size(plan, &workspace));
  EXPECT_EQ(workspace, 0u);
  const std::string text = describe(plan);
  EXPECT_NE(text.find("1x5x7x16 f16 * 24x3x3x16"), std::string::npos) << text;
  EXPECT_NE(text.find("algorithm  thin"), std::string::npos) << text;
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

TEST(ApiPlan, FollowsItsOptions) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B200");
  shiftconv_plan_options_t options = SHIFTCONV_PLAN_OPTIONS_INIT;
  options.algorithm = "shift_window";
  struct Asked {
    const char *text, *kernel, *grid;
  };
  for (const auto& [text, kernel, grid] :
       {Asked{"tile_n=16,ctas=1,resident_weights=no,group=single", "shift_window_sm100_single", "grid 1x2"},
        Asked{" group = pair, tile_n=16 ,ctas=1,resident_weights=no", "shift_window_sm100_pair", "grid 2x2"}}) {
    options.options = text;
    shiftconv_plan_t plan = nullptr;
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan));
    EXPECT_STREQ(shiftconv_plan_kernel_name(plan), kernel);
    const std::string description = describe(plan);
    EXPECT_NE(description.find("x 16 output channels"), std::string::npos) << description;
    EXPECT_NE(description.find(grid), std::string::npos) << description;
    EXPECT_NE(description.find("streamed"), std::string::npos) << description;
    EXPECT_NE(std::string(shiftconv_plan_options(plan)).find("tile_n=16,ctas=1,resident_weights=no"), std::string::npos);
    EXPECT_OK(shiftconv_plan_destroy(plan));
  }
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
  options.algorithm = "shift_window";
  GetParam().apply(options);
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, &options, &plan), GetParam().status, GetParam().mentions);
  EXPECT_EQ(plan, nullptr);
}

using Options = shiftconv_plan_options_t;
INSTANTIATE_TEST_SUITE_P(
    EveryField, ApiPlanOptions,
    testing::ValuesIn(std::vector<WrongOption>{
        WrongOption{"size", [](Options& o) { o.size = 4; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "size"},
        WrongOption{"algorithm", [](Options& o) { o.algorithm = "fft"; }, SHIFTCONV_STATUS_NOT_FOUND,
                    "known are shift_stream, shift_window"},
        WrongOption{"no_algorithm", [](Options& o) { o.algorithm = nullptr, o.options = "ctas=1"; },
                    SHIFTCONV_STATUS_INVALID_ARGUMENT, "algorithm is not set"},
        WrongOption{"unknown", [](Options& o) { o.options = "colour=red"; }, SHIFTCONV_STATUS_NOT_FOUND,
                    "known are group, tile_n, ctas, resident_weights"},
        WrongOption{"twice", [](Options& o) { o.options = "ctas=1,ctas=2"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT,
                    "ctas is set twice"},
        WrongOption{"batch_invariant", [](Options& o) { o.batch_invariant = 2; }, SHIFTCONV_STATUS_INVALID_ARGUMENT,
                    "batch_invariant must be 0 or 1"},
        WrongOption{"constant_filter", [](Options& o) { o.constant_filter = -1; }, SHIFTCONV_STATUS_INVALID_ARGUMENT,
                    "constant_filter must be 0 or 1"},
        WrongOption{"no_workspace", [](Options& o) { o.no_workspace = 2; }, SHIFTCONV_STATUS_INVALID_ARGUMENT,
                    "no_workspace must be 0 or 1"},
        WrongOption{"no_value", [](Options& o) { o.options = "ctas"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "name=value"},
        WrongOption{"empty_value", [](Options& o) { o.options = "ctas=,tile_n=16"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT,
                    "name=value"},
        WrongOption{"group", [](Options& o) { o.options = "group=magic"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "single"},
        WrongOption{"tile_n_odd", [](Options& o) { o.options = "tile_n=24"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "multiple of 16"},
        WrongOption{"tile_n_large", [](Options& o) { o.options = "tile_n=208"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "16 to 192"},
        WrongOption{"tile_n_negative", [](Options& o) { o.options = "tile_n=-16"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "tile_n"},
        WrongOption{"tile_n_text", [](Options& o) { o.options = "tile_n=16x"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "tile_n"},
        WrongOption{"ctas", [](Options& o) { o.options = "ctas=0"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "ctas"},
        WrongOption{"resident", [](Options& o) { o.options = "resident_weights=2"; }, SHIFTCONV_STATUS_INVALID_ARGUMENT,
                    "no, yes"}}),
    [](const auto& info) { return info.param.name; });

struct WrongProperty {
  const char* name;
  std::function<void(shiftconv_device_properties_t&)> apply;
  const char* mentions;
};

class ApiPlanProperties : public testing::TestWithParam<WrongProperty> {};

TEST_P(ApiPlanProperties, AreRefusedByName) {
  const shiftconv_problem_t problem = smallProblem();
  auto properties = preset("H200");
  GetParam().apply(properties);
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 GetParam().mentions);
  EXPECT_EQ(plan, nullptr);
  EXPECT_FAILURE(shiftconv_support(&problem, &properties, "halo", nullptr, 0, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 GetParam().mentions);
}

using Properties = shiftconv_device_properties_t;
INSTANTIATE_TEST_SUITE_P(
    EveryField, ApiPlanProperties,
    testing::ValuesIn(std::vector<WrongProperty>{
        {"size", [](Properties& p) { p.size = 8; }, "properties.size"},
        {"kind", [](Properties& p) { p.kind = SHIFTCONV_DEVICE_AUTO; },
         "properties.kind must be CUDA (1) or EMULATED (2), but is 0"},
        {"major_zero", [](Properties& p) { p.compute_major = 0; }, "properties.compute_major must be in 1..99, but is 0"},
        {"major_large", [](Properties& p) { p.compute_major = 100; }, "properties.compute_major must be in 1..99, but is 100"},
        {"minor_negative", [](Properties& p) { p.compute_minor = -1; }, "properties.compute_minor must be in 0..9, but is -1"},
        {"minor_large", [](Properties& p) { p.compute_minor = 10; }, "properties.compute_minor must be in 0..9, but is 10"},
        {"multiprocessors", [](Properties& p) { p.multiprocessors = 0; }, "properties.multiprocessors"},
        {"no_shared", [](Properties& p) { p.shared_bytes_per_block = 0; },
         "properties.shared_bytes_per_block must be at least 49152, what every CUDA device has, but is 0"},
        {"little_shared", [](Properties& p) { p.shared_bytes_per_block = 49151; }, "but is 49151"},
        {"reserved", [](Properties& p) { p.reserved = 1; }, "properties.reserved must be 0, but is 1"}}),
    [](const auto& info) { return info.param.name; });

/// Within their ranges, and refused for what they are.
TEST(ApiPlan, NeedsAComputeCapabilityThatItIsBuiltFor) {
  const shiftconv_problem_t problem = smallProblem();
  shiftconv_plan_t plan = nullptr;
  for (const auto& [major, minor] : {std::pair{9, 7}, {9, 1}, {10, 1}, {11, 1}, {12, 0}, {99, 9}, {1, 0}}) {
    auto properties = preset("H200");
    properties.compute_major = major, properties.compute_minor = minor;
    EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, nullptr, &plan), SHIFTCONV_STATUS_UNSUPPORTED,
                   "compute capability 9.0, 10.0, 10.3 and 11.0, but NVIDIA H200 has");
  }
  auto properties = preset("H200");
  properties.shared_bytes_per_block = 49152;
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

TEST(ApiPlan, WeightsThatDoNotFitCannotBeResident) {
  shiftconv_problem_t problem = smallProblem();
  problem.c = 1024;
  const auto properties = preset("B200");
  Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
  options.algorithm = "shift_window";
  shiftconv_plan_t plan = nullptr;
  // The option that is the cause is named, whether or not the other one is set.
  for (const char* text : {"resident_weights=yes", "resident_weights=yes,tile_n=16"}) {
    options.options = text;
    EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, &options, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                   "resident_weights=yes does not fit");
  }
  options.options = "tile_n=16";
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan));
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

std::string candidates(shiftconv_plan_t plan) {
  std::string text(100000, '\0');
  size_t needed = 0;
  EXPECT_OK(shiftconv_plan_candidates(plan, text.data(), text.size(), &needed));
  text.resize(needed - 1);
  return text;
}

/// The CTAs of the launch with most of them.
uint64_t mostCtas(shiftconv_plan_t plan) {
  const std::string text = describe(plan);
  uint64_t most = 0;
  for (size_t at = text.find(" grid "); at != std::string::npos; at = text.find(" grid ", at + 1)) {
    unsigned x = 0, y = 0, z = 0;
    if (std::sscanf(text.c_str() + at, " grid %ux%ux%u,", &x, &y, &z) == 3) most = std::max<uint64_t>(most, uint64_t{x} * y * z);
  }
  return most;
}

TEST(ApiPlan, KeepsToSomeMultiprocessors) {
  for (const char* device : {"H200", "B200"}) {
    SCOPED_TRACE(device);
    const auto properties = preset(device);
    shiftconv_problem_t problem = smallProblem();
    problem.n = 8, problem.h = problem.w = 56, problem.c = problem.k = 64;
    Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
    shiftconv_plan_t plan = nullptr;
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan));
    EXPECT_GT(mostCtas(plan), 40u);
    shiftconv_estimate_t all = SHIFTCONV_ESTIMATE_INIT, some = SHIFTCONV_ESTIMATE_INIT;
    ASSERT_OK(shiftconv_plan_estimate(plan, &all));
    EXPECT_OK(shiftconv_plan_destroy(plan));
    options.multiprocessors = 40;
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan));
    EXPECT_LE(mostCtas(plan), 40u);
    EXPECT_GE(mostCtas(plan), 20u);
    ASSERT_OK(shiftconv_plan_estimate(plan, &some));
    EXPECT_GT(some.seconds, all.seconds);
    EXPECT_OK(shiftconv_plan_destroy(plan));
    // Kernels with a CTA for every few pixels never do.
    options.algorithm = "direct";
    plan = nullptr;
    EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, &options, &plan), SHIFTCONV_STATUS_UNSUPPORTED,
                   "CTAs, but multiprocessors is limited to 40");
    EXPECT_EQ(plan, nullptr);
  }
}

size_t workspaceOf(const char* text, const char* device, const Options& options, std::string& algorithm) {
  shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
  EXPECT_OK(shiftconv_problem_parse(text, &problem));
  const auto properties = preset(device);
  shiftconv_plan_t plan = nullptr;
  EXPECT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan)) << text;
  size_t bytes = 0;
  EXPECT_OK(shiftconv_plan_workspace_size(plan, &bytes));
  algorithm = shiftconv_plan_algorithm(plan);
  EXPECT_OK(shiftconv_plan_destroy(plan));
  return bytes;
}

TEST(ApiPlan, ForGoesAWorkspace) {
  struct Row {
    const char *problem, *usual;
  };
  for (const Row& row : {Row{"8x160x160x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16", "joined"},
                         Row{"32x64x64x64 f16 * 256x3x3x16 groups 4 pad 1,1,1,1 -> f16", "merged"},
                         Row{"4x32x32x898 f16 * 896x3x3x898 pad 1,1,1,1 -> f16", "padded"}}) {
    SCOPED_TRACE(row.problem);
    std::string algorithm;
    Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
    EXPECT_GT(workspaceOf(row.problem, "H200", options, algorithm), 0u);
    EXPECT_EQ(algorithm, row.usual);
    options.no_workspace = 1;
    EXPECT_EQ(workspaceOf(row.problem, "H200", options, algorithm), 0u);
    EXPECT_NE(algorithm, row.usual);
    options.batch_invariant = 1;
    EXPECT_EQ(workspaceOf(row.problem, "H200", options, algorithm), 0u);
  }
  // What others compute by copying has the last resort, which copies nothing.
  Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
  options.no_workspace = 1;
  std::string algorithm;
  EXPECT_EQ(workspaceOf("1x9x9x16 u8 zero 3 * 8x3x3x16 s8 pad 1,1,1,1 stride 2,2 transposed -> s8", "H200", options, algorithm), 0u);
  EXPECT_EQ(algorithm, "direct");
  // Where an algorithm is asked for that copies, it says so.
  const auto properties = preset("H200");
  shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
  ASSERT_OK(shiftconv_problem_parse("1x160x160x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16", &problem));
  options.algorithm = "joined";
  shiftconv_plan_t plan = nullptr;
  for (const char* choices : {static_cast<const char*>(nullptr), "algorithm=halo"}) {
    options.options = choices;
    EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, &options, &plan), SHIFTCONV_STATUS_UNSUPPORTED,
                   "joined needs a workspace for this problem, but no_workspace is set");
  }
  EXPECT_EQ(plan, nullptr);
}

TEST(ApiPlan, ShowsWhatItWasChosenFrom) {
  shiftconv_problem_t problem = smallProblem();
  problem.k = 256;
  const auto properties = preset("B200");
  shiftconv_plan_t plan = nullptr;
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  const std::string text = candidates(plan);
  EXPECT_EQ(text.find(std::string("chosen     ") + shiftconv_plan_algorithm(plan) + " " + shiftconv_plan_options(plan) + ":"), 0u)
      << text;
  EXPECT_NE(text.find("\ncandidate  shift_window group="), std::string::npos) << text;
  EXPECT_NE(text.find("unproven U3"), std::string::npos) << text;
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

TEST(ApiPlan, OptionsMakeThePlanAgain) {
  shiftconv_problem_t problem = smallProblem();
  problem.n = 7, problem.h = 33, problem.w = 41, problem.c = 136, problem.k = 392;
  for (const char* name : {"emulated", "B200", "Thor"}) {
    const auto properties = preset(name);
    shiftconv_plan_t plan = nullptr, again = nullptr;
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
    Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
    options.algorithm = shiftconv_plan_algorithm(plan);
    options.options = shiftconv_plan_options(plan);
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, &options, &again));
    EXPECT_EQ(describe(plan), describe(again));
    EXPECT_OK(shiftconv_plan_destroy(plan));
    EXPECT_OK(shiftconv_plan_destroy(again));
  }
}

TEST(ApiPlan, EstimatesCountTheConvolution) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("B200");
  shiftconv_plan_t plan = nullptr;
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  shiftconv_estimate_t estimate = SHIFTCONV_ESTIMATE_INIT;
  ASSERT_OK(shiftconv_plan_estimate(plan, &estimate));
  EXPECT_EQ(estimate.size, sizeof(estimate));
  EXPECT_EQ(estimate.flops, 2.0 * 5 * 7 * 24 * 3 * 3 * 16);
  EXPECT_EQ(estimate.bytes, 2.0 * (5 * 7 * 16 + 24 * 9 * 16 + 5 * 7 * 24) + 4 * 24);
  EXPECT_GT(estimate.seconds, 1e-8);
  EXPECT_LT(estimate.seconds, 1e-5);
  EXPECT_NE(describe(plan).find(estimate.bound), std::string::npos);
  EXPECT_FAILURE(shiftconv_plan_estimate(plan, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_estimate");
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

TEST(ApiPlan, AlgorithmsListTheirOptions) {
  char text[2000];
  size_t needed = 0;
  ASSERT_OK(shiftconv_algorithm_options("shift_window", text, sizeof(text), &needed));
  EXPECT_LE(needed, sizeof(text));
  for (const char* word : {"group", "single, pair", "tile_n", "multiples of 16 from 16 to 192", "ctas", "resident_weights"})
    EXPECT_NE(std::string(text).find(word), std::string::npos) << text;
  EXPECT_FAILURE(shiftconv_algorithm_options("fft", text, sizeof(text), nullptr), SHIFTCONV_STATUS_NOT_FOUND, "known are");
  EXPECT_FAILURE(shiftconv_algorithm_options(nullptr, text, sizeof(text), nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "algorithm");
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
  EXPECT_EQ(shiftconv_plan_options(nullptr), nullptr);
  EXPECT_FAILURE(shiftconv_plan_candidates(nullptr, nullptr, 0, &size), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_FAILURE(shiftconv_plan_estimate(nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
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
    for (const char* group : {"group=single", "group=pair"}) {
      shiftconv_problem_t problem = smallProblem();
      problem.output_type = outputType;
      Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
      options.algorithm = "shift_window";
      options.options = group;
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
