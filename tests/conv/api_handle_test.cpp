// Handles that are used after they were closed, closed twice, of the wrong kind, or no handles at all: a sentence each time.
#include <cstdint>
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

class ApiHandles : public EmulatedDeviceTest {
 protected:
  void SetUp() override {
    EmulatedDeviceTest::SetUp();
    const shiftconv_problem_t problem = smallProblem();
    const auto properties = preset("emulated");
    ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan_));
  }
  void TearDown() override {
    EXPECT_OK(shiftconv_plan_destroy(plan_));
    EmulatedDeviceTest::TearDown();
  }

  /// Memory for every tensor of the plan.
  shiftconv_tensors_t tensors() {
    const shiftconv_problem_t problem = smallProblem();
    shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
    EXPECT_OK(shiftconv_problem_tensor_bytes(&problem, &bytes));
    shiftconv_tensors_t tensors = SHIFTCONV_TENSORS_INIT;
    tensors.input = memory(bytes.input);
    tensors.filter = memory(bytes.filter);
    tensors.bias = memory(bytes.bias);
    tensors.output = memory(bytes.output);
    return tensors;
  }
  void* memory(size_t bytes) {
    void* address = nullptr;
    EXPECT_OK(shiftconv_device_allocate(device_, bytes, &address));
    EXPECT_OK(shiftconv_device_fill(device_, address, 0, bytes, nullptr));
    return address;
  }

  shiftconv_plan_t plan_ = nullptr;
};

TEST_F(ApiHandles, OfDevicesThatWereClosed) {
  shiftconv_device_t device = nullptr;
  ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &device));
  ASSERT_OK(shiftconv_device_close(device));
  const char* words = "device is the handle of a device that was closed";
  EXPECT_FAILURE(shiftconv_device_close(device), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  EXPECT_FAILURE(shiftconv_device_get_properties(device, &properties), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  void* address = nullptr;
  EXPECT_FAILURE(shiftconv_device_allocate(device, 16, &address), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_device_free(device, &address), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_device_fill(device, &address, 0, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_copy_to_device(device, &address, &address, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_copy_to_host(device, &address, &address, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_device_set_option(device, "seed", "1"), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_device_reset_counters(device), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  shiftconv_stream_t stream = nullptr;
  EXPECT_FAILURE(shiftconv_stream_create(device, &stream), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_stream_synchronize(device, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_stream_destroy(device, &address), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_plan_prepare(plan_, device), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
}

TEST_F(ApiHandles, AreNeverUsedAgain) {
  shiftconv_device_t first = nullptr, second = nullptr;
  ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &first));
  ASSERT_OK(shiftconv_device_close(first));
  ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &second));
  EXPECT_NE(first, second);
  EXPECT_FAILURE(shiftconv_device_close(first), SHIFTCONV_STATUS_INVALID_ARGUMENT, "closed before");
  EXPECT_OK(shiftconv_device_close(second));
}

TEST_F(ApiHandles, OfPlansThatWereDestroyed) {
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("emulated");
  shiftconv_plan_t plan = nullptr;
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  ASSERT_OK(shiftconv_plan_destroy(plan));
  const char* words = "plan is the handle of a plan that was closed";
  EXPECT_FAILURE(shiftconv_plan_destroy(plan), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_FAILURE(shiftconv_plan_describe(plan, nullptr, 0, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  EXPECT_EQ(shiftconv_plan_algorithm(plan), nullptr);
  EXPECT_EQ(shiftconv_plan_kernel_name(plan), nullptr);
  const shiftconv_tensors_t all = tensors();
  EXPECT_FAILURE(shiftconv_run(plan, device_, &all, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
}

TEST_F(ApiHandles, OfAnotherKind) {
  const auto planAsDevice = reinterpret_cast<shiftconv_device_t>(plan_);
  const auto deviceAsPlan = reinterpret_cast<shiftconv_plan_t>(device_);
  EXPECT_FAILURE(shiftconv_device_close(planAsDevice), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "must be a device, but the handle is that of a plan");
  EXPECT_FAILURE(shiftconv_plan_destroy(deviceAsPlan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "must be a plan, but the handle is that of a device");
  EXPECT_FAILURE(shiftconv_binding_run(reinterpret_cast<shiftconv_binding_t>(plan_), nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "must be a binding");
  // An address in this process, a small number, and a handle that has not been given out yet.
  int local = 0;
  for (const uintptr_t number :
       {reinterpret_cast<uintptr_t>(&local), uintptr_t{42}, reinterpret_cast<uintptr_t>(device_) + (1u << 20)})
    EXPECT_FAILURE(shiftconv_device_reset_counters(reinterpret_cast<shiftconv_device_t>(number)), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                   "is no handle of this library");
}

TEST_F(ApiHandles, BindingsOutliveTheirPlanButNotTheirDevice) {
  shiftconv_device_t device = nullptr;
  ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &device));
  std::swap(device, device_);
  const shiftconv_tensors_t all = tensors();
  std::swap(device, device_);
  const shiftconv_problem_t problem = smallProblem();
  const auto properties = preset("emulated");
  shiftconv_plan_t plan = nullptr;
  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  shiftconv_binding_t binding = nullptr;
  ASSERT_OK(shiftconv_bind(plan, device, &all, &binding));
  ASSERT_OK(shiftconv_plan_destroy(plan));
  EXPECT_OK(shiftconv_binding_run(binding, nullptr));
  ASSERT_OK(shiftconv_device_close(device));
  EXPECT_FAILURE(shiftconv_binding_run(binding, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device of this binding was closed");
  EXPECT_OK(shiftconv_binding_destroy(binding));
  EXPECT_FAILURE(shiftconv_binding_destroy(binding), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "binding is the handle of a binding that was closed");
  EXPECT_FAILURE(shiftconv_binding_run(binding, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "closed before");
}

}  // namespace
}  // namespace shiftconv::tests
