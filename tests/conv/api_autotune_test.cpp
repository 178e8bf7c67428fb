// Plans by measured times: what is remembered, and what is logged and refused.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

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
    shiftconv_plan_options_t options = SHIFTCONV_PLAN_OPTIONS_INIT;
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
  shiftconv_plan_options_t limited = SHIFTCONV_PLAN_OPTIONS_INIT;
  limited.multiprocessors = 2;
  EXPECT_FAILURE(shiftconv_plan_autotune(&problem_, device_, &limited, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "multiprocessors must be 0");
  shiftconv_plan_options_t alike = SHIFTCONV_PLAN_OPTIONS_INIT;
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
