// Plans: made without a device, deterministic, and able to say what they will do.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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
        WrongOption{"batch_invariant", [](Options& o) { o.batch_invariant = 2; }, SHIFTCONV_STATUS_INVALID_ARGUMENT, "batch_invariant must be 0 or 1"},
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

std::string optionsOf(shiftconv_plan_t plan) { return shiftconv_plan_options(plan); }

class ApiAutotune : public EmulatedDeviceTest {
 protected:
  void SetUp() override {
    EmulatedDeviceTest::SetUp();
    folder_ = testing::TempDir() + "/api_autotune_" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    how_.candidates = 2;
    how_.seconds = 3600;  // a slow machine changes nothing
    choices_.algorithm = "shift_window";
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    EmulatedDeviceTest::TearDown();
  }

  bool ran() {
    size_t needed = 0;
    EXPECT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_JSON, nullptr, 0, &needed));
    std::string json(needed, '\0');
    EXPECT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_JSON, json.data(), json.size(), nullptr));
    EXPECT_OK(shiftconv_device_reset_counters(device_));
    return json.find("\"launches\": 0,") == std::string::npos && json.find("\"launches\":0,") == std::string::npos;
  }
  /// Of a plan that is made and destroyed.
  std::string tunedOptions() {
    shiftconv_plan_t plan = nullptr;
    EXPECT_OK(shiftconv_plan_autotune(&problem_, device_, &choices_, &how_, &plan));
    EXPECT_STREQ(shiftconv_plan_algorithm(plan), "shift_window");
    const std::string options = optionsOf(plan);
    EXPECT_OK(shiftconv_plan_destroy(plan));
    return options;
  }

  shiftconv_problem_t problem_ = smallProblem();
  shiftconv_plan_options_t choices_ = SHIFTCONV_PLAN_OPTIONS_INIT;
  shiftconv_autotune_t how_ = SHIFTCONV_AUTOTUNE_INIT;
  std::string folder_;
};

TEST_F(ApiAutotune, MeasuresOnceAndRemembers) {
  const std::string cache = folder_ + "/cache";
  how_.cache = cache.c_str();
  const std::string first = tunedOptions();
  EXPECT_TRUE(ran());
  EXPECT_EQ(tunedOptions(), first);
  EXPECT_FALSE(ran());
  how_.cache = "";
  tunedOptions();
  EXPECT_TRUE(ran());
}

TEST_F(ApiAutotune, FindsItsCacheInTheEnvironment) {
  const std::string cache = folder_ + "/from_environment";
  ASSERT_EQ(setenv("SHIFTCONV_AUTOTUNE_CACHE", cache.c_str(), 1), 0);
  tunedOptions();
  EXPECT_TRUE(std::filesystem::exists(cache));
  EXPECT_TRUE(ran());
  tunedOptions();
  EXPECT_FALSE(ran());
  how_.cache = "";
  tunedOptions();
  EXPECT_TRUE(ran()) << "an empty path means no cache";
  ASSERT_EQ(unsetenv("SHIFTCONV_AUTOTUNE_CACHE"), 0);
}

/// Each level with those below it: errors, warnings, what was opened and planned, and what happens in detail.
TEST(ApiLog, TellsWhatTheLevelAsksFor) {
  shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
  ASSERT_OK(shiftconv_problem_parse("1x9x11x16 f16 * 16x3x3x16 pad 1,1,1,1 -> 1x9x11x16 f16 bias", &problem));
  const std::string planned =
      "planned 1x9x11x16 f16 * 16x3x3x16 pad 1,1,1,1 -> 1x9x11x16 f16 bias: direct dependent=no, kernel direct_f16_f16_vector";
  for (const auto& [level, expected] :
       {std::pair{SHIFTCONV_LOG_OFF, std::vector<std::string>{}},
        {SHIFTCONV_LOG_ERROR, std::vector<std::string>{}},
        {SHIFTCONV_LOG_WARNING, std::vector<std::string>{}},
        {SHIFTCONV_LOG_INFO, std::vector<std::string>{"opened emulated sm_100a", planned}},
        {SHIFTCONV_LOG_DEBUG,
         std::vector<std::string>{"opened emulated sm_100a", planned,
                                  "plan, again with: convolve --device emulated:sm_100a --algorithm direct --options dependent=no "
                                  "'1x9x11x16 f16 * 16x3x3x16 pad 1,1,1,1 -> 1x9x11x16 f16 bias'"}}}) {
    SCOPED_TRACE(level);
    std::vector<std::string> messages;
    const auto keep = [](shiftconv_log_level_t, const char* message, void* user) {
      static_cast<std::vector<std::string>*>(user)->push_back(message);
    };
    ASSERT_OK(shiftconv_set_log(keep, &messages, level));
    shiftconv_device_t device = nullptr;
    shiftconv_plan_t plan = nullptr;
    shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
    Options options = SHIFTCONV_PLAN_OPTIONS_INIT;
    options.algorithm = "direct", options.options = "dependent=no";
    EXPECT_OK(shiftconv_device_open_named("emulated", &device));
    EXPECT_OK(shiftconv_device_get_properties(device, &properties));
    EXPECT_OK(shiftconv_plan_create(&problem, &properties, &options, &plan));
    EXPECT_OK(shiftconv_set_log(nullptr, nullptr, SHIFTCONV_LOG_WARNING));
    EXPECT_EQ(messages, expected);
    EXPECT_OK(shiftconv_plan_destroy(plan));
    EXPECT_OK(shiftconv_device_close(device));
  }
}

TEST_F(ApiAutotune, WarnsOfWhatItIgnores) {
  const std::string cache = folder_ + "/cache";
  std::ofstream(cache) << "my letters\n";
  how_.cache = cache.c_str();
  std::vector<std::string> messages;
  const auto keep = [](shiftconv_log_level_t, const char* message, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(message);
  };
  EXPECT_OK(shiftconv_set_log(keep, &messages, SHIFTCONV_LOG_WARNING));
  tunedOptions();
  EXPECT_OK(shiftconv_set_log(nullptr, nullptr, SHIFTCONV_LOG_WARNING));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].rfind("autotune: no cache is used: " + cache + " belongs to something else", 0), 0u) << messages[0];
}

TEST_F(ApiAutotune, KeepsToItsTimeAndItsCandidates) {
  std::vector<std::string> messages;
  const auto keep = [](shiftconv_log_level_t, const char* message, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(message);
  };
  EXPECT_OK(shiftconv_set_log(keep, &messages, SHIFTCONV_LOG_WARNING));
  how_.candidates = 3;
  how_.seconds = 1e-9;  // less than the first candidate takes
  tunedOptions();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "autotune: 1 of 3 candidates were measured within 1e-09 s");
  how_.candidates = 1;
  tunedOptions();
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_OK(shiftconv_set_log(nullptr, nullptr, SHIFTCONV_LOG_WARNING));
}

TEST_F(ApiAutotune, DestroysTheStreamThatItMeasuresIn) {
  // Streams of an emulated device are numbered.
  shiftconv_stream_t before = nullptr, after = nullptr;
  ASSERT_OK(shiftconv_stream_create(device_, &before));
  tunedOptions();
  ASSERT_OK(shiftconv_stream_create(device_, &after));
  const auto used = reinterpret_cast<uintptr_t>(before) + 1;
  ASSERT_EQ(reinterpret_cast<uintptr_t>(after), used + 1);
  EXPECT_FAILURE(shiftconv_stream_synchronize(device_, reinterpret_cast<shiftconv_stream_t>(used)),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "is not a stream");
}

TEST_F(ApiAutotune, NamesWhatIsWrong) {
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_autotune(nullptr, device_, nullptr, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, "problem");
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, nullptr, nullptr, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, nullptr, nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  Options limited = SHIFTCONV_PLAN_OPTIONS_INIT;
  limited.multiprocessors = 2;
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, &limited, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "multiprocessors must be 0");
  Options alike = SHIFTCONV_PLAN_OPTIONS_INIT;
  alike.batch_invariant = 1;
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, &alike, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "batch_invariant must be 0");
  for (const double seconds : {0.0, -1.0, 3600.5, 1e9, std::nan("")}) {
    how_.seconds = seconds;
    EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, nullptr, &how_, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                   "seconds");
  }
  how_.seconds = 1;
  how_.reserved = 1;
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, nullptr, &how_, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, "reserved");
  how_.reserved = 0;
  how_.size = 8;
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, nullptr, &how_, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, "size");
  how_.size = sizeof(how_);
  choices_.algorithm = "magic";
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, &choices_, &how_, &plan), SHIFTCONV_STATUS_NOT_FOUND, "magic");
  EXPECT_EQ(plan, nullptr);
}

}  // namespace
}  // namespace shiftconv::tests
