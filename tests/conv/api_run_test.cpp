// Runs: what is checked before a launch, what is counted, and one plan used by many threads.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "tests/conv/api_fixture.hpp"
#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests::api_run_test {
namespace {

class ApiRun : public EmulatedDeviceTest {
 protected:
  void SetUp() override {
    EmulatedDeviceTest::SetUp();
    problem_ = smallProblem();
    const auto properties = preset("emulated");
    // What the tests look at are bulk copies and the roles of warps, whatever the planner prefers for so small a problem.
    shiftconv_plan_options_t options = SHIFTCONV_PLAN_OPTIONS_INIT;
    options.algorithm = "halo_sm100";
    ASSERT_OK(shiftconv_plan_create(&problem_, &properties, &options, &plan_));
    shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
    ASSERT_OK(shiftconv_problem_tensor_bytes(&problem_, &bytes));
    bytes_[0] = bytes.input, bytes_[1] = bytes.filter, bytes_[2] = bytes.bias, bytes_[3] = bytes.output;
    // 16 spare bytes, for addresses that are off.
    for (size_t i = 0; i < 4; ++i) {
      ASSERT_OK(shiftconv_device_allocate(device_, bytes_[i] + 16, &tensors_[i]));
      ASSERT_OK(shiftconv_device_fill(device_, tensors_[i], 0x11, bytes_[i] + 16, nullptr));
    }
  }
  void TearDown() override {
    for (void* tensor : tensors_) EXPECT_OK(shiftconv_device_free(device_, tensor));
    EXPECT_OK(shiftconv_plan_destroy(plan_));
    EmulatedDeviceTest::TearDown();
  }

  static shiftconv_tensors_t named(void* input, void* filter, void* bias, void* output, void* workspace = nullptr) {
    shiftconv_tensors_t tensors = SHIFTCONV_TENSORS_INIT;
    tensors.input = input;
    tensors.filter = filter;
    tensors.bias = bias;
    tensors.output = output;
    tensors.workspace = workspace;
    return tensors;
  }
  shiftconv_status_t run(void* input, void* filter, void* bias, void* output, void* workspace = nullptr,
                         shiftconv_stream_t stream = nullptr) {
    const shiftconv_tensors_t tensors = named(input, filter, bias, output, workspace);
    return counted("shiftconv_run(", shiftconv_run(plan_, device_, &tensors, stream));
  }
  static void* off(void* pointer, size_t bytes) { return static_cast<char*>(pointer) + bytes; }

  shiftconv_problem_t problem_{};
  shiftconv_plan_t plan_ = nullptr;
  size_t bytes_[4] = {};
  void* tensors_[4] = {};
};

TEST_F(ApiRun, ChecksEveryArgument) {
  auto& [input, filter, bias, output] = tensors_;
  shiftconv_tensors_t all = named(input, filter, bias, output);
  EXPECT_FAILURE(shiftconv_run(nullptr, device_, &all, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_FAILURE(shiftconv_run(plan_, nullptr, &all, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  EXPECT_FAILURE(shiftconv_run(plan_, device_, nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_tensors");
  all.size = 0;
  EXPECT_FAILURE(shiftconv_run(plan_, device_, &all, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_tensors.size");
  all.size = sizeof(all);
  all.amax = bias;
  EXPECT_FAILURE(shiftconv_run(plan_, device_, &all, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "amax must be NULL");
  EXPECT_FAILURE(run(nullptr, filter, bias, output), SHIFTCONV_STATUS_INVALID_ARGUMENT, "input must not be NULL");
  EXPECT_FAILURE(run(input, nullptr, bias, output), SHIFTCONV_STATUS_INVALID_ARGUMENT, "filter must not be NULL");
  EXPECT_FAILURE(run(input, filter, nullptr, output), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bias must not be NULL");
  EXPECT_FAILURE(run(input, filter, bias, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "output must not be NULL");
  EXPECT_FAILURE(run(off(input, 8), filter, bias, output), SHIFTCONV_STATUS_INVALID_ARGUMENT, "input must be aligned to 16");
  EXPECT_FAILURE(run(input, off(filter, 2), bias, output), SHIFTCONV_STATUS_INVALID_ARGUMENT, "filter must be aligned to 16");
  EXPECT_FAILURE(run(input, filter, off(bias, 4), output), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bias must be aligned to 16");
  EXPECT_FAILURE(run(input, filter, bias, off(output, 1)), SHIFTCONV_STATUS_INVALID_ARGUMENT, "output must be aligned to 16");
  EXPECT_FAILURE(run(input, filter, bias, output, bias), SHIFTCONV_STATUS_INVALID_ARGUMENT, "workspace must be NULL");
  EXPECT_FAILURE(run(input, filter, bias, off(input, bytes_[0] - bytes_[0] % 16 - 16)), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "output must not overlap input");
  EXPECT_FAILURE(run(input, filter, bias, filter), SHIFTCONV_STATUS_INVALID_ARGUMENT, "output must not overlap filter");
  EXPECT_FAILURE(run(input, filter, bias, bias), SHIFTCONV_STATUS_INVALID_ARGUMENT, "output must not overlap bias");
  EXPECT_FAILURE(run(input, filter, bias, output, nullptr, bias), SHIFTCONV_STATUS_INVALID_ARGUMENT, "stream");
  EXPECT_OK(run(input, filter, bias, output));
}

TEST_F(ApiRun, RefusesABiasThatThePlanDoesNotUse) {
  shiftconv_problem_t plain = problem_;
  plain.has_bias = 0;
  const auto properties = preset("emulated");
  shiftconv_plan_t plan = nullptr;
  ASSERT_OK(shiftconv_plan_create(&plain, &properties, nullptr, &plan));
  const shiftconv_tensors_t with = named(tensors_[0], tensors_[1], tensors_[2], tensors_[3]);
  const shiftconv_tensors_t without = named(tensors_[0], tensors_[1], nullptr, tensors_[3]);
  EXPECT_FAILURE(shiftconv_run(plan, device_, &with, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bias must be NULL");
  EXPECT_OK(shiftconv_run(plan, device_, &without, nullptr));
  EXPECT_OK(shiftconv_plan_destroy(plan));
}

TEST_F(ApiRun, ReportsTensorsThatAreTooSmall) {
  void* small = nullptr;
  ASSERT_OK(shiftconv_device_allocate(device_, bytes_[3] / 2, &small));
  EXPECT_FAILURE(run(tensors_[0], tensors_[1], tensors_[2], small), SHIFTCONV_STATUS_DEVICE_ERROR,
                 shiftconv_plan_kernel_name(plan_));
  EXPECT_OK(shiftconv_device_free(device_, small));
  ASSERT_OK(shiftconv_device_allocate(device_, bytes_[0] / 2, &small));
  EXPECT_FAILURE(run(small, tensors_[1], tensors_[2], tensors_[3]), SHIFTCONV_STATUS_DEVICE_ERROR, "cp.async.bulk.tensor");
  EXPECT_OK(shiftconv_device_free(device_, small));
  EXPECT_OK(run(tensors_[0], tensors_[1], tensors_[2], tensors_[3]));  // the device stays usable
}

TEST_F(ApiRun, BindingsRunAgainAndAgain) {
  const shiftconv_tensors_t tensors = named(tensors_[0], tensors_[1], tensors_[2], tensors_[3]);
  shiftconv_binding_t binding = nullptr;
  ASSERT_OK(shiftconv_bind(plan_, device_, &tensors, &binding));
  std::vector<std::byte> once(bytes_[3]), again(bytes_[3]);
  ASSERT_OK(run(tensors_[0], tensors_[1], tensors_[2], tensors_[3]));
  ASSERT_OK(shiftconv_copy_to_host(device_, once.data(), tensors_[3], once.size(), nullptr));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(shiftconv_device_fill(device_, tensors_[3], 0xCD, bytes_[3], nullptr));
    ASSERT_OK(shiftconv_binding_run(binding, nullptr));
    ASSERT_OK(shiftconv_copy_to_host(device_, again.data(), tensors_[3], again.size(), nullptr));
    EXPECT_TRUE(again == once);
  }
  EXPECT_FAILURE(shiftconv_binding_run(binding, tensors_[0]), SHIFTCONV_STATUS_INVALID_ARGUMENT, "stream");
  EXPECT_OK(shiftconv_binding_destroy(binding));
  EXPECT_OK(shiftconv_binding_destroy(nullptr));
  EXPECT_FAILURE(shiftconv_binding_run(nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "binding");
  EXPECT_FAILURE(shiftconv_bind(plan_, device_, &tensors, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "binding");
}

TEST_F(ApiRun, BindingsRunWithOtherTensors) {
  auto& [input, filter, bias, output] = tensors_;
  const shiftconv_tensors_t bound = named(input, filter, bias, output);
  shiftconv_binding_t binding = nullptr;
  ASSERT_OK(shiftconv_bind(plan_, device_, &bound, &binding));
  void *otherInput = nullptr, *otherOutput = nullptr;
  ASSERT_OK(shiftconv_device_allocate(device_, bytes_[0], &otherInput));
  ASSERT_OK(shiftconv_device_allocate(device_, bytes_[3], &otherOutput));
  ASSERT_OK(shiftconv_device_fill(device_, otherInput, 0x2C, bytes_[0], nullptr));
  const shiftconv_tensors_t others = named(otherInput, filter, bias, otherOutput);
  std::vector<std::byte> first(bytes_[3]), second(bytes_[3]), expected(bytes_[3]);
  ASSERT_OK(shiftconv_run(plan_, device_, &others, nullptr));
  ASSERT_OK(shiftconv_copy_to_host(device_, expected.data(), otherOutput, expected.size(), nullptr));
  ASSERT_OK(shiftconv_device_fill(device_, output, 0xCD, bytes_[3], nullptr));
  ASSERT_OK(shiftconv_device_fill(device_, otherOutput, 0xCD, bytes_[3], nullptr));
  ASSERT_OK(shiftconv_binding_run_with(binding, &others, nullptr));
  ASSERT_OK(shiftconv_copy_to_host(device_, second.data(), otherOutput, second.size(), nullptr));
  ASSERT_OK(shiftconv_copy_to_host(device_, first.data(), output, first.size(), nullptr));
  EXPECT_TRUE(second == expected);
  EXPECT_TRUE(first == std::vector<std::byte>(bytes_[3], std::byte{0xCD})) << "the binding's own output";
  ASSERT_OK(shiftconv_binding_run(binding, nullptr));
  ASSERT_OK(shiftconv_copy_to_host(device_, first.data(), output, first.size(), nullptr));
  EXPECT_TRUE(first != second) << "of another input";

  shiftconv_tensors_t wrong = others;
  wrong.bias = nullptr;
  EXPECT_FAILURE(shiftconv_binding_run_with(binding, &wrong, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bias must not be NULL");
  wrong = named(otherInput, filter, bias, off(otherOutput, 8));
  EXPECT_FAILURE(shiftconv_binding_run_with(binding, &wrong, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "output must be aligned");
  EXPECT_FAILURE(shiftconv_binding_run_with(binding, nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_tensors");
  EXPECT_FAILURE(shiftconv_binding_run_with(nullptr, &others, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "binding");
  EXPECT_OK(shiftconv_binding_destroy(binding));
  EXPECT_OK(shiftconv_device_free(device_, otherInput));
  EXPECT_OK(shiftconv_device_free(device_, otherOutput));
}

TEST_F(ApiRun, PlansFromBytesComputeTheSame) {
  auto& [input, filter, bias, output] = tensors_;
  std::vector<std::byte> expected(bytes_[3]), computed(bytes_[3]);
  ASSERT_OK(run(input, filter, bias, output));
  ASSERT_OK(shiftconv_copy_to_host(device_, expected.data(), output, expected.size(), nullptr));
  size_t needed = 0;
  ASSERT_OK(shiftconv_plan_to_bytes(plan_, nullptr, 0, &needed));
  std::vector<unsigned char> bytes(needed);
  EXPECT_FAILURE(shiftconv_plan_to_bytes(plan_, bytes.data(), needed - 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "but the plan has");
  EXPECT_EQ(bytes, std::vector<unsigned char>(needed));
  EXPECT_FAILURE(shiftconv_plan_to_bytes(plan_, nullptr, needed, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "buffer");
  EXPECT_FAILURE(shiftconv_plan_to_bytes(nullptr, bytes.data(), needed, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  ASSERT_OK(shiftconv_plan_to_bytes(plan_, bytes.data(), needed, &needed));
  shiftconv_plan_t loaded = nullptr;
  EXPECT_FAILURE(shiftconv_plan_from_bytes(bytes.data(), bytes.size(), nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "plan must not be NULL");
  ASSERT_OK(shiftconv_plan_from_bytes(bytes.data(), bytes.size(), &loaded));
  ASSERT_OK(shiftconv_device_fill(device_, output, 0xCD, bytes_[3], nullptr));
  const shiftconv_tensors_t tensors = named(input, filter, bias, output);
  ASSERT_OK(shiftconv_run(loaded, device_, &tensors, nullptr));
  ASSERT_OK(shiftconv_copy_to_host(device_, computed.data(), output, computed.size(), nullptr));
  EXPECT_TRUE(computed == expected);
  EXPECT_OK(shiftconv_plan_destroy(loaded));
  bytes[bytes.size() / 2] ^= 1;
  loaded = nullptr;
  EXPECT_FAILURE(shiftconv_plan_from_bytes(bytes.data(), bytes.size(), &loaded), SHIFTCONV_STATUS_INVALID_ARGUMENT, "checksum");
  EXPECT_FAILURE(shiftconv_plan_from_bytes(nullptr, 4, &loaded), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bytes");
  EXPECT_EQ(loaded, nullptr);
}

/// Whichever call it is: a line that makes the run again.
TEST_F(ApiRun, TellsOfEveryRunInDetail) {
  const shiftconv_tensors_t tensors = named(tensors_[0], tensors_[1], tensors_[2], tensors_[3]);
  shiftconv_binding_t binding = nullptr;
  ASSERT_OK(shiftconv_bind(plan_, device_, &tensors, &binding));
  std::vector<std::string> messages;
  const auto keep = [](shiftconv_log_level_t, const char* message, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(message);
  };
  ASSERT_OK(shiftconv_set_log(keep, &messages, SHIFTCONV_LOG_DEBUG));
  EXPECT_OK(shiftconv_run(plan_, device_, &tensors, nullptr));
  EXPECT_OK(shiftconv_binding_run(binding, nullptr));
  EXPECT_OK(shiftconv_binding_run_with(binding, &tensors, nullptr));
  EXPECT_OK(shiftconv_set_log(nullptr, nullptr, SHIFTCONV_LOG_WARNING));
  EXPECT_EQ(messages.size(), 3u);
  for (const std::string& message : messages) {
    EXPECT_EQ(message.rfind("run, again with: convolve --device ", 0), 0u) << message;
    EXPECT_EQ(message, messages[0]);
  }
  EXPECT_OK(shiftconv_binding_destroy(binding));
}

TEST_F(ApiRun, CountsWhatItDid) {
  ASSERT_OK(run(tensors_[0], tensors_[1], tensors_[2], tensors_[3]));
  ASSERT_OK(run(tensors_[0], tensors_[1], tensors_[2], tensors_[3]));
  size_t needed = 0;
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_JSON, nullptr, 0, &needed));
  std::string text(needed, '\0');
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_JSON, text.data(), text.size(), nullptr));
  const auto json = nlohmann::json::parse(text.c_str());
  EXPECT_EQ(json["launches"], 2);
  const auto& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["kernel"], shiftconv_plan_kernel_name(plan_));
  uint64_t mmas = 0;
  for (const auto& [shape, count] : kernel["mma"].items()) mmas += count.get<uint64_t>();
  EXPECT_GE(mmas, 2u * 9) << text;  // one tile, 3x3 taps, one slice of 16 channels
  EXPECT_EQ(kernel["warps"][1]["role"], "mma") << text;

  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_TABLE, nullptr, 0, &needed));
  std::string table(needed, '\0');
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_TABLE, table.data(), table.size(), nullptr));
  EXPECT_NE(table.find(shiftconv_plan_kernel_name(plan_)), std::string::npos) << table;
  EXPECT_NE(table.find("epilogue 0"), std::string::npos) << table;

  ASSERT_OK(shiftconv_device_reset_counters(device_));
  ASSERT_OK(shiftconv_device_counters(device_, SHIFTCONV_COUNTERS_JSON, text.data(), text.size(), nullptr));
  EXPECT_EQ(nlohmann::json::parse(text.c_str())["launches"], 0);
}

TEST(ApiConcurrency, OnePlanRunsOnEightThreads) {
  ConvolutionCase test = parseCase("1x9x13x24 f16 * 40x3x3x24 pad 1,1,1,1 -> f16 bias relu");
  Device device(SHIFTCONV_DEVICE_EMULATED);
  const Plan plan(test.problem, device.properties(), test.options());
  constexpr size_t kThreads = 8;
  std::vector<std::string> verdicts(kThreads, "did not run");
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        try {
          // Half of the threads share the default stream, and every thread has operands of its own.
          const Stream own(device);
          const CaseTensors tensors = makeTensors(test, 100 + t);
          const auto output = runCase(test, tensors, device, plan, t % 2 ? own.get() : nullptr);
          const auto expected =
              reference::convolve(internalProblem(test.problem), tensors.operands(), reference::Accumulation::TensorCore, 1);
          verdicts[t] = judge(test, expected, output);
        } catch (const std::exception& error) {
          verdicts[t] = error.what();
        }
      });
  }
  for (size_t t = 0; t < kThreads; ++t) EXPECT_EQ(verdicts[t], "") << "thread " << t << ", seed " << 100 + t;
}

TEST(ApiConcurrency, OnePlanRunsOnSeveralDevices) {
  ConvolutionCase test = parseCase("1x4x6x8 f16 * 16x3x3x8 pad 1,1,1,1 -> f16");
  Device first(SHIFTCONV_DEVICE_EMULATED), second(SHIFTCONV_DEVICE_EMULATED);
  const Plan plan(test.problem, DeviceProperties::preset("B200"), test.options());
  const CaseTensors tensors = makeTensors(test, 5);
  EXPECT_EQ(runCase(test, tensors, first, plan), runCase(test, tensors, second, plan));
}

}  // namespace
}  // namespace shiftconv::tests::api_run_test
