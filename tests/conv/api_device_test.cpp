// Version, statuses, log and devices of the C API.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

TEST(ApiVersion, OfLibraryHeaderAndProjectAgree) {
  EXPECT_EQ(shiftconv_version(), SHIFTCONV_VERSION);
  EXPECT_STREQ(shiftconv_version_string(), PROJECT_VERSION_TEXT);
  const std::string header = std::to_string(SHIFTCONV_VERSION_MAJOR) + "." + std::to_string(SHIFTCONV_VERSION_MINOR) + "." +
                             std::to_string(SHIFTCONV_VERSION_PATCH);
  EXPECT_EQ(header, PROJECT_VERSION_TEXT);
}

TEST(ApiStatus, EveryStatusHasAName) {
  for (int status = SHIFTCONV_STATUS_SUCCESS; status <= SHIFTCONV_STATUS_INTERNAL_ERROR; ++status)
    EXPECT_EQ(std::string(shiftconv_status_string(static_cast<shiftconv_status_t>(status))).find("SHIFTCONV_STATUS_"), 0u);
  EXPECT_STREQ(shiftconv_status_string(SHIFTCONV_STATUS_UNSUPPORTED), "SHIFTCONV_STATUS_UNSUPPORTED");
  EXPECT_STREQ(shiftconv_status_string(static_cast<shiftconv_status_t>(7)), "unknown status");
}

TEST(ApiStatus, LastErrorBelongsToTheThreadAndSurvivesSuccess) {
  EXPECT_FAILURE(shiftconv_device_count(nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "count must not be NULL");
  const std::string mine = shiftconv_last_error();
  std::thread([] {
    EXPECT_STREQ(shiftconv_last_error(), "");
    shiftconv_device_preset("no such device", nullptr);
    EXPECT_NE(std::strlen(shiftconv_last_error()), 0u);
  }).join();
  int count = 0;
  EXPECT_OK(shiftconv_device_count(&count));
  EXPECT_EQ(shiftconv_last_error(), mine);
}

using Messages = std::vector<std::pair<shiftconv_log_level_t, std::string>>;
void keepMessage(shiftconv_log_level_t level, const char* message, void* user) {
  static_cast<Messages*>(user)->emplace_back(level, message);
}

TEST(ApiLog, LevelsFilter) {
  Messages messages;
  ASSERT_OK(shiftconv_set_log(keepMessage, &messages, SHIFTCONV_LOG_OFF));
  shiftconv_device_t device = nullptr;
  ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &device));
  EXPECT_OK(shiftconv_device_close(device));
  EXPECT_TRUE(messages.empty());
  ASSERT_OK(shiftconv_set_log(keepMessage, &messages, SHIFTCONV_LOG_WARNING));
  ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &device));
  EXPECT_OK(shiftconv_device_close(device));
  EXPECT_TRUE(messages.empty()) << "who asked for the emulated device need not be told: " << messages[0].second;
  ASSERT_OK(shiftconv_set_log(keepMessage, &messages, SHIFTCONV_LOG_DEBUG));
  shiftconv_device_count(nullptr);
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_FAILURE(shiftconv_set_log(nullptr, nullptr, static_cast<shiftconv_log_level_t>(5)), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "level");
  ASSERT_OK(shiftconv_set_log(nullptr, nullptr, SHIFTCONV_LOG_WARNING));
}

TEST(ApiDevices, EnumerationEndsWithTheEmulatedDevices) {
  int count = 0;
  ASSERT_OK(shiftconv_device_count(&count));
  ASSERT_GE(count, 2);
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  ASSERT_OK(shiftconv_device_enumerate(count - 1, &properties));
  EXPECT_EQ(properties.kind, SHIFTCONV_DEVICE_EMULATED);
  EXPECT_STREQ(properties.name, "emulated sm_90a");
  EXPECT_EQ(properties.compute_major, 9);
  EXPECT_EQ(properties.shared_bytes_per_block, 232448u);
  ASSERT_OK(shiftconv_device_enumerate(count - 2, &properties));
  EXPECT_EQ(properties.kind, SHIFTCONV_DEVICE_EMULATED);
  EXPECT_STREQ(properties.name, "emulated sm_100a");
  EXPECT_EQ(properties.compute_major, 10);
  EXPECT_EQ(properties.compute_minor, 0);
  EXPECT_EQ(properties.shared_bytes_per_block, 232448u);
  EXPECT_GT(properties.global_bytes, 0u);
  EXPECT_FAILURE(shiftconv_device_enumerate(count, &properties), SHIFTCONV_STATUS_NOT_FOUND, "there is no device");
  EXPECT_FAILURE(shiftconv_device_enumerate(-1, &properties), SHIFTCONV_STATUS_NOT_FOUND, "there is no device");
  EXPECT_FAILURE(shiftconv_device_enumerate(0, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "properties");
}

TEST(ApiDevices, PresetsByName) {
  const shiftconv_device_properties_t b200 = preset("B200");
  EXPECT_EQ(b200.kind, SHIFTCONV_DEVICE_CUDA);
  EXPECT_EQ(b200.compute_major, 10);
  EXPECT_EQ(b200.multiprocessors, 148u);
  EXPECT_EQ(preset("b300").compute_minor, 3);
  EXPECT_EQ(preset("thor").compute_major, 11);
  EXPECT_EQ(preset("H200").compute_major, 9);
  EXPECT_EQ(preset("Emulated").kind, SHIFTCONV_DEVICE_EMULATED);
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  EXPECT_FAILURE(shiftconv_device_preset("B2000", &properties), SHIFTCONV_STATUS_NOT_FOUND,
                 "B200, B300, Thor, H200, emulated, emulated_sm_90a");
  EXPECT_FAILURE(shiftconv_device_preset(nullptr, &properties), SHIFTCONV_STATUS_INVALID_ARGUMENT, "name");
}

/// What data sheets and drivers say of each; the emulated devices are like the GPUs of their architecture, but smaller.
TEST(ApiDevices, PresetsAreLikeTheirDevices) {
  constexpr uint64_t kBlackwellL2 = 132644864, kHopperL2 = 62914560;
  const struct {
    const char *preset, *name;
    int major, minor;
    uint32_t multiprocessors;
    uint64_t l2, gigabytes;  ///< 0: of the host
  } known[] = {{"B200", "NVIDIA B200", 10, 0, 148, kBlackwellL2, 180},
               {"B300", "NVIDIA B300", 10, 3, 148, kBlackwellL2, 288},
               {"Thor", "NVIDIA Thor", 11, 0, 20, 33554432, 128},
               {"H200", "NVIDIA H200", 9, 0, 132, kHopperL2, 141},
               {"emulated", "emulated sm_100a", 10, 0, 16, kBlackwellL2, 0},
               {"emulated_sm_90a", "emulated sm_90a", 9, 0, 16, kHopperL2, 0}};
  for (const auto& [preset, name, major, minor, multiprocessors, l2, gigabytes] : known) {
    SCOPED_TRACE(preset);
    shiftconv_device_properties_t got = SHIFTCONV_DEVICE_PROPERTIES_INIT;
    ASSERT_OK(shiftconv_device_preset(preset, &got));
    EXPECT_EQ(got.kind, gigabytes == 0 ? SHIFTCONV_DEVICE_EMULATED : SHIFTCONV_DEVICE_CUDA);
    EXPECT_STREQ(got.name, name);
    EXPECT_EQ(got.compute_major, major);
    EXPECT_EQ(got.compute_minor, minor);
    EXPECT_EQ(got.multiprocessors, multiprocessors);
    EXPECT_EQ(got.shared_bytes_per_block, 227u * 1024);
    EXPECT_EQ(got.l2_bytes, l2);
    EXPECT_EQ(got.reserved, 0u);
    if (gigabytes != 0) {
      EXPECT_EQ(got.global_bytes, gigabytes * 1'000'000'000);
    } else {
      EXPECT_GT(got.global_bytes, 1u << 30);
    }
  }
}

TEST(ApiDevices, PropertiesOfAnotherVersionOfTheStructure) {
  struct {
    shiftconv_device_properties_t known = SHIFTCONV_DEVICE_PROPERTIES_INIT;
    uint64_t later = 0x1234;
  } grown;
  grown.known.size = sizeof(grown);
  ASSERT_OK(shiftconv_device_preset("B200", &grown.known));
  EXPECT_EQ(grown.known.size, sizeof(grown));
  EXPECT_EQ(grown.known.multiprocessors, 148u);
  EXPECT_EQ(grown.later, 0x1234u);
  shiftconv_device_properties_t unset = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  unset.size = 0;
  EXPECT_FAILURE(shiftconv_device_preset("B200", &unset), SHIFTCONV_STATUS_INVALID_ARGUMENT, "properties.size");
}

/// The environment variable as long as the object lives; nullptr: not set.
class DeviceVariable {
 public:
  explicit DeviceVariable(const char* value) {
    if (const char* before = std::getenv(kName)) before_ = before;
    set(value);
  }
  ~DeviceVariable() { set(before_ ? before_->c_str() : nullptr); }
  DeviceVariable(const DeviceVariable&) = delete;
  DeviceVariable& operator=(const DeviceVariable&) = delete;

 private:
  static constexpr const char* kName = "SHIFTCONV_DEVICE";
  static void set(const char* value) { EXPECT_EQ(value ? setenv(kName, value, 1) : unsetenv(kName), 0); }
  std::optional<std::string> before_;
};

/// Opened, named and closed.
std::string nameOfAutomaticDevice() {
  shiftconv_device_t device = nullptr;
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  EXPECT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_AUTO, 0, &device));
  EXPECT_OK(shiftconv_device_get_properties(device, &properties));
  EXPECT_OK(shiftconv_device_close(device));
  return properties.name;
}

TEST(ApiDevices, AutomaticIsAGpuOrAnErrorThatSaysWhatThereIs) {
  for (const char* variable : {static_cast<const char*>(nullptr), "", "auto"}) {
    const DeviceVariable environment(variable);
    shiftconv_device_t device = nullptr;
    const shiftconv_status_t status = shiftconv_device_open(SHIFTCONV_DEVICE_AUTO, 0, &device);
    if (status == SHIFTCONV_STATUS_SUCCESS) {
      shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
      EXPECT_OK(shiftconv_device_get_properties(device, &properties));
      EXPECT_EQ(properties.kind, SHIFTCONV_DEVICE_CUDA);
      EXPECT_OK(shiftconv_device_close(device));
      continue;
    }
    EXPECT_EQ(status, SHIFTCONV_STATUS_NOT_FOUND);
    const std::string sentence = shiftconv_last_error();
    EXPECT_EQ(sentence.rfind("there is no GPU of compute capability 9.0, 10.0, 10.3 or 11.0: ", 0), 0u) << sentence;
    EXPECT_NE(sentence.find("SHIFTCONV_DEVICE_EMULATED"), std::string::npos) << sentence;
    EXPECT_FAILURE(shiftconv_device_open_named("auto", &device), SHIFTCONV_STATUS_NOT_FOUND, sentence);
    EXPECT_EQ(device, nullptr);
  }
}

TEST(ApiDevices, AutomaticTakesWhatTheEnvironmentNames) {
  for (const auto& [value, name] : {std::pair{"emulated", "emulated sm_100a"},
                                    {"emulated:sm_90a", "emulated sm_90a"},
                                    {"emulated:sm_100a", "emulated sm_100a"}}) {
    const DeviceVariable environment(value);
    EXPECT_EQ(nameOfAutomaticDevice(), name);
  }
  shiftconv_device_t device = nullptr;
  for (const char* wrong : {"gpu", "emulated:sm_80", "cuda:x"}) {
    const DeviceVariable environment(wrong);
    EXPECT_FAILURE(
        shiftconv_device_open(SHIFTCONV_DEVICE_AUTO, 0, &device), SHIFTCONV_STATUS_INVALID_ARGUMENT,
        std::string("the environment variable SHIFTCONV_DEVICE must be auto, cuda, cuda:N (GPU N of the driver), emulated, "
                    "emulated:sm_100a or emulated:sm_90a, but is \"") +
            wrong + "\"");
    EXPECT_FAILURE(shiftconv_device_open_named("auto", &device), SHIFTCONV_STATUS_INVALID_ARGUMENT, "SHIFTCONV_DEVICE must be");
  }
  const DeviceVariable environment("cuda:1000");
  EXPECT_FAILURE(shiftconv_device_open(SHIFTCONV_DEVICE_AUTO, 0, &device), SHIFTCONV_STATUS_NOT_FOUND, "CUDA");
  // What is named in code is that, whatever the environment says.
  ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 1, &device));
  EXPECT_OK(shiftconv_device_close(device));
}

TEST(ApiDevices, OpenByName) {
  const DeviceVariable environment("emulated:sm_90a");
  for (const auto& [text, name] :
       {std::pair{"emulated", "emulated sm_100a"}, {"emulated:sm_90a", "emulated sm_90a"}, {"auto", "emulated sm_90a"}}) {
    shiftconv_device_t device = nullptr;
    ASSERT_OK(shiftconv_device_open_named(text, &device));
    shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
    EXPECT_OK(shiftconv_device_get_properties(device, &properties));
    EXPECT_STREQ(properties.name, name);
    EXPECT_OK(shiftconv_device_close(device));
  }
  shiftconv_device_t device = nullptr;
  EXPECT_FAILURE(shiftconv_device_open_named("gpu", &device), SHIFTCONV_STATUS_INVALID_ARGUMENT, "name must be auto, cuda, ");
  EXPECT_FAILURE(shiftconv_device_open_named("cuda:1000", &device), SHIFTCONV_STATUS_NOT_FOUND, "CUDA");
  EXPECT_FAILURE(shiftconv_device_open_named(nullptr, &device), SHIFTCONV_STATUS_INVALID_ARGUMENT, "name must not be NULL");
  EXPECT_FAILURE(shiftconv_device_open_named("emulated", nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device must not be NULL");
  EXPECT_EQ(device, nullptr);
}

TEST(ApiDevices, OpenRefusesWhatDoesNotExist) {
  shiftconv_device_t device = nullptr;
  EXPECT_FAILURE(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_FAILURE(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 2, &device), SHIFTCONV_STATUS_NOT_FOUND, "emulated device 2");
  EXPECT_FAILURE(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, -1, &device), SHIFTCONV_STATUS_NOT_FOUND, "emulated device -1");
  EXPECT_FAILURE(shiftconv_device_open(SHIFTCONV_DEVICE_AUTO, 2, &device), SHIFTCONV_STATUS_INVALID_ARGUMENT, "index");
  EXPECT_FAILURE(shiftconv_device_open(static_cast<shiftconv_device_kind_t>(9), 0, &device), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "kind");
  EXPECT_FAILURE(shiftconv_device_open(SHIFTCONV_DEVICE_CUDA, 1000, &device), SHIFTCONV_STATUS_NOT_FOUND, "CUDA");
  EXPECT_EQ(device, nullptr);
  EXPECT_OK(shiftconv_device_close(nullptr));
}

class ApiDevice : public EmulatedDeviceTest {};

TEST_F(ApiDevice, MemoryIsCopiedFilledAndFreed) {
  void* memory = nullptr;
  ASSERT_OK(shiftconv_device_allocate(device_, 100, &memory));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  std::vector<uint8_t> bytes(100, 7), back(100);
  ASSERT_OK(shiftconv_copy_to_device(device_, memory, bytes.data(), bytes.size(), nullptr));
  ASSERT_OK(shiftconv_device_fill(device_, static_cast<char*>(memory) + 40, 9, 3, nullptr));
  ASSERT_OK(shiftconv_copy_to_host(device_, back.data(), memory, back.size(), nullptr));
  ASSERT_OK(shiftconv_stream_synchronize(device_, nullptr));
  bytes[40] = bytes[41] = bytes[42] = 9;
  EXPECT_EQ(back, bytes);
  EXPECT_FAILURE(shiftconv_device_free(device_, static_cast<char*>(memory) + 16), SHIFTCONV_STATUS_DEVICE_ERROR, "");
  EXPECT_OK(shiftconv_device_free(device_, memory));
  EXPECT_OK(shiftconv_device_free(device_, nullptr));
}

TEST_F(ApiDevice, MemoryCallsNameTheBadArgument) {
  void* memory = nullptr;
  uint8_t byte = 0;
  EXPECT_FAILURE(shiftconv_device_allocate(nullptr, 1, &memory), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_FAILURE(shiftconv_device_allocate(device_, 0, &memory), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bytes");
  EXPECT_FAILURE(shiftconv_device_allocate(device_, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "memory");
  EXPECT_FAILURE(shiftconv_device_allocate(device_, size_t{1} << 46, &memory), SHIFTCONV_STATUS_OUT_OF_MEMORY, "");
  EXPECT_FAILURE(shiftconv_device_free(nullptr, &byte), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_FAILURE(shiftconv_copy_to_device(device_, nullptr, &byte, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "destination");
  EXPECT_FAILURE(shiftconv_copy_to_device(device_, &byte, nullptr, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "source");
  EXPECT_FAILURE(shiftconv_copy_to_host(device_, nullptr, &byte, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "destination");
  EXPECT_FAILURE(shiftconv_copy_to_host(nullptr, &byte, &byte, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_FAILURE(shiftconv_device_fill(device_, nullptr, 0, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "memory");
  EXPECT_FAILURE(shiftconv_device_fill(device_, &byte, 0, 1, nullptr), SHIFTCONV_STATUS_DEVICE_ERROR, "");
  EXPECT_OK(shiftconv_copy_to_host(device_, nullptr, nullptr, 0, nullptr));
}

TEST_F(ApiDevice, StreamsAreMadeUsedAndDestroyed) {
  shiftconv_stream_t stream = nullptr;
  ASSERT_OK(shiftconv_stream_create(device_, &stream));
  EXPECT_NE(stream, nullptr);
  EXPECT_OK(shiftconv_stream_synchronize(device_, stream));
  EXPECT_OK(shiftconv_stream_destroy(device_, stream));
  EXPECT_OK(shiftconv_stream_destroy(device_, nullptr));
  EXPECT_FAILURE(shiftconv_stream_synchronize(device_, stream), SHIFTCONV_STATUS_INVALID_ARGUMENT, "stream");
  EXPECT_FAILURE(shiftconv_stream_create(device_, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "stream");
  EXPECT_FAILURE(shiftconv_stream_create(nullptr, &stream), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
}

TEST_F(ApiDevice, OptionsAreSetByText) {
  EXPECT_OK(shiftconv_device_set_option(device_, "schedule", "random"));
  EXPECT_OK(shiftconv_device_set_option(device_, "seed", "42"));
  EXPECT_OK(shiftconv_device_set_option(device_, "numerics", "fast"));
  EXPECT_OK(shiftconv_device_set_option(device_, "semantics.U3", "1"));
  EXPECT_OK(shiftconv_device_set_option(device_, "host_threads", "1"));
  EXPECT_FAILURE(shiftconv_device_set_option(device_, "numerics", "slow"), SHIFTCONV_STATUS_INVALID_ARGUMENT, "hardware, fast");
  EXPECT_FAILURE(shiftconv_device_set_option(device_, "colour", "red"), SHIFTCONV_STATUS_NOT_FOUND, "schedule");
  EXPECT_FAILURE(shiftconv_device_set_option(device_, nullptr, "1"), SHIFTCONV_STATUS_INVALID_ARGUMENT, "name");
  EXPECT_FAILURE(shiftconv_device_set_option(device_, "seed", nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "value");
  EXPECT_FAILURE(shiftconv_device_set_option(nullptr, "seed", "1"), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
}

TEST_F(ApiDevice, CountersStartEmptyAndTextIsCutToTheBuffer) {
  size_t needed = 0;
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_TABLE, nullptr, 0, &needed));
  std::string table(needed, 'x');
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_TABLE, table.data(), table.size(), nullptr));
  EXPECT_EQ(table.find("no launches"), 0u);
  EXPECT_EQ(table.back(), '\0');

  char cut[6] = "xxxxx";
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_TABLE, cut, sizeof(cut), &needed));
  EXPECT_STREQ(cut, table.substr(0, 5).c_str());
  EXPECT_EQ(needed, table.size());

  char json[256];
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_JSON, json, sizeof(json), nullptr));
  EXPECT_EQ(nlohmann::json::parse(json)["launches"], 0);
  EXPECT_OK(shiftconv_device_reset_counters(device_));

  EXPECT_FAILURE(shiftconv_device_counters(device_, static_cast<shiftconv_counters_format_t>(2), json, sizeof(json), nullptr),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "format");
  EXPECT_FAILURE(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_JSON, nullptr, 3, nullptr),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "buffer");
  EXPECT_FAILURE(shiftconv_device_counters(nullptr, SHIFTCONV_COUNTERS_JSON, json, 3, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "device");
  EXPECT_FAILURE(shiftconv_device_reset_counters(nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_FAILURE(shiftconv_device_get_properties(nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
}

}  // namespace
}  // namespace shiftconv::tests
