// Host memory runs out: at each allocation of a call in turn, and for the rest of that call. It fails with OUT_OF_MEMORY or does
// without, keeps nothing, and does its work the next time.
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace {
constexpr int64_t kUnlimited = -1;
thread_local int64_t allocationsLeft = kUnlimited;
thread_local int64_t blocks = 0;  ///< of this thread's, that it has not given back
thread_local bool ranOut = false;

void* take(size_t bytes) noexcept {
  if (allocationsLeft == 0) {
    ranOut = true;
    return nullptr;
  }
  if (allocationsLeft > 0) --allocationsLeft;
  void* const memory = std::malloc(bytes);
  blocks += memory != nullptr;
  return memory;
}
void give(void* memory) noexcept {
  blocks -= memory != nullptr;
  std::free(memory);
}
}  // namespace

// A compiler that inlines only some of these sees memory of new go to free, and warns.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t bytes) {
  if (void* memory = take(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void operator delete(void* memory) noexcept { give(memory); }
void operator delete(void* memory, size_t) noexcept { give(memory); }

namespace shiftconv::tests {
namespace {

/// Calls until nothing is refused any more. `undo` takes back what a call that succeeded has made. Returns how many allocations the
/// call can do with.
int64_t runOutOfMemoryIn(const char* name, const std::function<shiftconv_status_t()>& call,
                         const std::function<void()>& undo = {}) {
  SCOPED_TRACE(name);
  const auto succeed = [&] {
    EXPECT_EQ(call(), SHIFTCONV_STATUS_SUCCESS) << shiftconv_last_error();
    if (undo) undo();
  };
  succeed();  // what the first call of a process makes stays
  for (int64_t left = 0;; left += 1 + left / 16) {
    const int64_t before = blocks;
    ranOut = false;
    allocationsLeft = left;
    const shiftconv_status_t status = call();
    allocationsLeft = kUnlimited;
    if (status == SHIFTCONV_STATUS_SUCCESS) {
      if (undo) undo();
    } else {
      EXPECT_STREQ(shiftconv_status_string(status), "SHIFTCONV_STATUS_OUT_OF_MEMORY") << shiftconv_last_error();
      EXPECT_STREQ(shiftconv_last_error(), "out of host memory");
    }
    EXPECT_EQ(blocks, before) << "after " << left << " allocations";
    if (!ranOut || testing::Test::HasFailure()) {
      succeed();
      return left;
    }
  }
}

TEST(ApiMemory, OfTheHostMayRunOutInEveryCall) {
  shiftconv_problem_t problem = smallProblem();
  const shiftconv_device_properties_t properties = preset("B200");
  shiftconv_problem_t parsed = SHIFTCONV_PROBLEM_INIT;
  runOutOfMemoryIn("parse", [&] { return shiftconv_problem_parse("1x5x7x16 f16 * 24x3x3x16 pad 1,1,1,1 -> f16", &parsed); });
  runOutOfMemoryIn("describe", [&] {
    char buffer[200];
    return shiftconv_problem_describe(&problem, buffer, sizeof buffer, nullptr);
  });
  runOutOfMemoryIn("support", [&] { return shiftconv_support(&problem, &properties, "halo_sm100", nullptr, 0, nullptr); });
  runOutOfMemoryIn("options", [&] { return shiftconv_algorithm_options("halo", nullptr, 0, nullptr); });

  shiftconv_device_t device = nullptr;
  runOutOfMemoryIn(
      "open", [&] { return shiftconv_device_open_named("emulated", &device); }, [&] { EXPECT_OK(shiftconv_device_close(device)); });
  shiftconv_plan_t plan = nullptr;
  const auto destroy = [&] { EXPECT_OK(shiftconv_plan_destroy(plan)); };
  EXPECT_GT(runOutOfMemoryIn(
                "plan", [&] { return shiftconv_plan_create(&problem, &properties, nullptr, &plan); }, destroy),
            100);

  ASSERT_OK(shiftconv_plan_create(&problem, &properties, nullptr, &plan));
  runOutOfMemoryIn("describe a plan", [&] { return shiftconv_plan_describe(plan, nullptr, 0, nullptr); });
  runOutOfMemoryIn("candidates", [&] { return shiftconv_plan_candidates(plan, nullptr, 0, nullptr); });
  std::vector<char> bytes(100'000);
  size_t used = 0;
  runOutOfMemoryIn("to bytes", [&] { return shiftconv_plan_to_bytes(plan, bytes.data(), bytes.size(), &used); });
  destroy();
  runOutOfMemoryIn(
      "from bytes", [&] { return shiftconv_plan_from_bytes(bytes.data(), used, &plan); }, destroy);

  ASSERT_OK(shiftconv_plan_from_bytes(bytes.data(), used, &plan));
  // Modules that a device has loaded stay until it is closed.
  runOutOfMemoryIn("prepare", [&] {
    const int64_t left = std::exchange(allocationsLeft, kUnlimited);
    EXPECT_OK(shiftconv_device_open_named("emulated", &device));
    allocationsLeft = left;
    const shiftconv_status_t status = shiftconv_plan_prepare(plan, device);
    allocationsLeft = kUnlimited;
    EXPECT_OK(shiftconv_device_close(device));
    return status;
  });

  ASSERT_OK(shiftconv_device_open_named("emulated", &device));
  shiftconv_tensor_bytes_t sizes = SHIFTCONV_TENSOR_BYTES_INIT;
  ASSERT_OK(shiftconv_problem_tensor_bytes(&problem, &sizes));
  shiftconv_tensors_t tensors = SHIFTCONV_TENSORS_INIT;
  void *input = nullptr, *filter = nullptr, *bias = nullptr;
  ASSERT_OK(shiftconv_device_allocate(device, sizes.input, &input));
  ASSERT_OK(shiftconv_device_allocate(device, sizes.filter, &filter));
  ASSERT_OK(shiftconv_device_allocate(device, sizes.bias, &bias));
  ASSERT_OK(shiftconv_device_allocate(device, sizes.output, &tensors.output));
  tensors.input = input, tensors.filter = filter, tensors.bias = bias;
  shiftconv_binding_t binding = nullptr;
  runOutOfMemoryIn(
      "bind", [&] { return shiftconv_bind(plan, device, &tensors, &binding); },
      [&] { EXPECT_OK(shiftconv_binding_destroy(binding)); });
  void* memory = nullptr;
  runOutOfMemoryIn(
      "allocate", [&] { return shiftconv_device_allocate(device, 1000, &memory); },
      [&] { EXPECT_OK(shiftconv_device_free(device, memory)); });
  runOutOfMemoryIn("set an option", [&] { return shiftconv_device_set_option(device, "schedule", "random"); });
  runOutOfMemoryIn("counters", [&] { return shiftconv_device_counters(device, SHIFTCONV_COUNTERS_JSON, nullptr, 0, nullptr); });
  EXPECT_OK(shiftconv_device_close(device));
  destroy();
}

}  // namespace
}  // namespace shiftconv::tests
