// Helpers of the C API's tests.
#pragma once

#include <gtest/gtest.h>
#include <shiftconv/shiftconv.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace shiftconv::tests {

/// How often each function has succeeded and failed in this process; api_coverage_test.cpp asks at the end.
struct CallCounts {
  int succeeded = 0, failed = 0;
};
inline std::map<std::string, CallCounts, std::less<>>& callCounts() {
  static std::map<std::string, CallCounts, std::less<>> counts;
  return counts;
}
/// Counts a call that is written "shiftconv_function(...)" and hands its status through.
inline shiftconv_status_t counted(const std::string& call, shiftconv_status_t status) {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  CallCounts& counts = callCounts()[call.substr(0, call.find('('))];
  ++(status == SHIFTCONV_STATUS_SUCCESS ? counts.succeeded : counts.failed);
  return status;
}

/// The call must fail with `status` and a sentence that contains `word`.
#define EXPECT_FAILURE(call, status, word)                                                                  \
  do {                                                                                                      \
    const shiftconv_status_t status_ = ::shiftconv::tests::counted(#call, call);                            \
    EXPECT_STREQ(shiftconv_status_string(status_), shiftconv_status_string(status));                        \
    EXPECT_NE(std::string(shiftconv_last_error()).find(word), std::string::npos) << shiftconv_last_error(); \
  } while (false)

#define EXPECT_OK(call) EXPECT_EQ(::shiftconv::tests::counted(#call, call), SHIFTCONV_STATUS_SUCCESS) << shiftconv_last_error()
#define ASSERT_OK(call) ASSERT_EQ(::shiftconv::tests::counted(#call, call), SHIFTCONV_STATUS_SUCCESS) << shiftconv_last_error()

/// A field with another value, which a sentence has to mention.
struct ProblemChange {
  const char* name;
  void (*apply)(shiftconv_problem_t&);
  const char* mentions;
};

/// 1x5x7x16 -> 24, 3x3 "same", f16, bias and ReLU: something every algorithm of this library can do.
inline shiftconv_problem_t smallProblem() {
  shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
  problem.n = 1;
  problem.h = 5;
  problem.w = 7;
  problem.c = 16;
  problem.k = 24;
  problem.r = problem.s = 3;
  problem.pad_top = problem.pad_bottom = problem.pad_left = problem.pad_right = 1;
  problem.has_bias = 1;
  problem.activation = SHIFTCONV_ACTIVATION_RELU;
  return problem;
}

inline shiftconv_device_properties_t preset(const char* name) {
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  EXPECT_OK(shiftconv_device_preset(name, &properties));
  return properties;
}

/// An emulated device for the life of a test.
class EmulatedDeviceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &device_)); }
  void TearDown() override { EXPECT_OK(shiftconv_device_close(device_)); }
  shiftconv_device_t device_ = nullptr;
};

}  // namespace shiftconv::tests
