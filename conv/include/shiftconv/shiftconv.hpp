// ShiftConv for C++: owners and exceptions over the C API of shiftconv.h, nothing else. Header only; no symbol of the
// library beyond the C ABI is used. C++17.
//
// Every failing call throws shiftconv::Error, which carries the status and the library's sentence. Handles are closed by
// destructors; they are movable and not copyable. Rules about shapes, alignment, streams and lifetimes: shiftconv.h.
#pragma once

#include <shiftconv/shiftconv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace shiftconv {

/// A failed call. what() is the sentence of shiftconv_last_error().
class Error : public std::runtime_error {
 public:
  Error(shiftconv_status_t status, const std::string& message) : std::runtime_error(message), status_(status) {}
  shiftconv_status_t status() const noexcept { return status_; }

 private:
  shiftconv_status_t status_;
};

/// Throws Error unless `status` is SHIFTCONV_STATUS_SUCCESS.
inline void check(shiftconv_status_t status) {
  if (status != SHIFTCONV_STATUS_SUCCESS) throw Error(status, shiftconv_last_error());
}

/// Calls `function(buffer, size, needed)` of the C API until the whole text fits.
template <typename Function>
std::string textOf(Function&& function) {
  std::string text(1024, '\0');
  for (;;) {
    size_t needed = 0;
    check(function(text.data(), text.size(), &needed));
    const bool fits = needed <= text.size();
    text.resize(needed);
    if (!fits) continue;
    if (!text.empty()) text.pop_back();  // the terminating zero
    return text;
  }
}

/// Bytes of each tensor; 0 where the problem has none.
struct TensorBytes : shiftconv_tensor_bytes_t {
  TensorBytes() : shiftconv_tensor_bytes_t(SHIFTCONV_TENSOR_BYTES_INIT) {}
};

/// The convolution to compute; starts as SHIFTCONV_PROBLEM_INIT.
struct Convolution : shiftconv_problem_t {
  Convolution() : shiftconv_problem_t(SHIFTCONV_PROBLEM_INIT) {}

  /// From a line like those that describe() writes; see shiftconv_problem_parse.
  static Convolution parse(const std::string& text) {
    Convolution problem;
    check(shiftconv_problem_parse(text.c_str(), &problem));
    return problem;
  }

  void validate() const { check(shiftconv_problem_validate(this)); }
  int64_t outputDepth() const { return outputSize()[0]; }
  int64_t outputHeight() const { return outputSize()[1]; }
  int64_t outputWidth() const { return outputSize()[2]; }
  std::string describe() const {
    return textOf([this](char* b, size_t s, size_t* n) { return shiftconv_problem_describe(this, b, s, n); });
  }
  TensorBytes tensorBytes() const {
    TensorBytes bytes;
    check(shiftconv_problem_tensor_bytes(this, &bytes));
    return bytes;
  }

 private:
  std::array<int64_t, 3> outputSize() const {
    std::array<int64_t, 3> size{};
    check(shiftconv_problem_output_size(this, &size[0], &size[1], &size[2]));
    return size;
  }
};

/// What a plan needs to know of a device.
struct DeviceProperties : shiftconv_device_properties_t {
  DeviceProperties() : shiftconv_device_properties_t(SHIFTCONV_DEVICE_PROPERTIES_INIT) {}
  /// "B200", "B300", "Thor", "H200", "emulated".
  static DeviceProperties preset(const std::string& name) {
    DeviceProperties properties;
    check(shiftconv_device_preset(name.c_str(), &properties));
    return properties;
  }
  bool emulated() const noexcept { return kind == SHIFTCONV_DEVICE_EMULATED; }
};

/// An open device: by default what SHIFTCONV_DEVICE_AUTO stands for, which throws where there is no GPU.
class Device {
 public:
  /// By name: "auto", "cuda:1", "emulated", "emulated:sm_90a"; see shiftconv_device_open_named.
  explicit Device(const std::string& name) { check(shiftconv_device_open_named(name.c_str(), &handle_)); }
  explicit Device(shiftconv_device_kind_t kind = SHIFTCONV_DEVICE_AUTO, int index = 0) {
    check(shiftconv_device_open(kind, index, &handle_));
  }
  ~Device() { shiftconv_device_close(handle_); }
  Device(Device&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Device& operator=(Device&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  shiftconv_device_t handle() const noexcept { return handle_; }
  DeviceProperties properties() const {
    DeviceProperties properties;
    check(shiftconv_device_get_properties(handle_, &properties));
    return properties;
  }
  void setOption(const std::string& name, const std::string& value) {
    check(shiftconv_device_set_option(handle_, name.c_str(), value.c_str()));
  }
  std::string counters(shiftconv_counters_format_t format = SHIFTCONV_COUNTERS_TABLE) const {
    return textOf([&](char* b, size_t s, size_t* n) { return shiftconv_device_counters(handle_, format, b, s, n); });
  }
  void resetCounters() { check(shiftconv_device_reset_counters(handle_)); }
  void copyToDevice(void* destination, const void* source, size_t bytes, shiftconv_stream_t stream = nullptr) {
    check(shiftconv_copy_to_device(handle_, destination, source, bytes, stream));
  }
  void copyToHost(void* destination, const void* source, size_t bytes, shiftconv_stream_t stream = nullptr) {
    check(shiftconv_copy_to_host(handle_, destination, source, bytes, stream));
  }
  void fill(void* memory, uint8_t value, size_t bytes, shiftconv_stream_t stream = nullptr) {
    check(shiftconv_device_fill(handle_, memory, value, bytes, stream));
  }
  void synchronize(shiftconv_stream_t stream = nullptr) { check(shiftconv_stream_synchronize(handle_, stream)); }

 private:
  shiftconv_device_t handle_ = nullptr;
};

/// Device memory. Must not outlive its device.
class Memory {
 public:
  Memory(const Device& device, size_t bytes) : device_(device.handle()), bytes_(bytes) {
    check(shiftconv_device_allocate(device_, bytes, &address_));
  }
  ~Memory() { shiftconv_device_free(device_, address_); }
  Memory(Memory&& other) noexcept
      : device_(other.device_), address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  void* get() const noexcept { return address_; }
  size_t bytes() const noexcept { return bytes_; }

 private:
  shiftconv_device_t device_ = nullptr;
  void* address_ = nullptr;
  size_t bytes_ = 0;
};

/// A stream. Must not outlive its device.
class Stream {
 public:
  explicit Stream(const Device& device) : device_(device.handle()) { check(shiftconv_stream_create(device_, &handle_)); }
  ~Stream() { shiftconv_stream_destroy(device_, handle_); }
  Stream(Stream&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  shiftconv_stream_t get() const noexcept { return handle_; }
  void synchronize() { check(shiftconv_stream_synchronize(device_, handle_)); }

 private:
  shiftconv_device_t device_ = nullptr;
  shiftconv_stream_t handle_ = nullptr;
};

/// Choices left to the planner unless set.
struct PlanOptions : shiftconv_plan_options_t {
  PlanOptions() : shiftconv_plan_options_t(SHIFTCONV_PLAN_OPTIONS_INIT) {}
};

/// How Plan::autotuned measures: where choices are remembered, and how long it may take.
struct Autotune : shiftconv_autotune_t {
  Autotune() : shiftconv_autotune_t(SHIFTCONV_AUTOTUNE_INIT) {}
};

/// "" when `algorithm` can run the problem on such a device, else the reason. Throws when the question itself is wrong.
inline std::string refusal(const Convolution& problem, const DeviceProperties& properties, const std::string& algorithm) {
  return textOf([&](char* b, size_t s, size_t* n) {
    const shiftconv_status_t status = shiftconv_support(&problem, &properties, algorithm.c_str(), b, s, n);
    return status == SHIFTCONV_STATUS_UNSUPPORTED ? SHIFTCONV_STATUS_SUCCESS : status;
  });
}

/// The options of an algorithm, a line each.
inline std::string algorithmOptions(const std::string& algorithm) {
  return textOf([&](char* b, size_t s, size_t* n) { return shiftconv_algorithm_options(algorithm.c_str(), b, s, n); });
}

/// What the cost model says of a plan.
struct Estimate : shiftconv_estimate_t {
  Estimate() : shiftconv_estimate_t(SHIFTCONV_ESTIMATE_INIT) {}
};

/// Device memory of the tensors of a run.
struct Tensors : shiftconv_tensors_t {
  Tensors() : shiftconv_tensors_t(SHIFTCONV_TENSORS_INIT) {}
};

/// How a problem is computed. Immutable; may be used by several devices and host threads at once.
class Plan {
 public:
  Plan(const Convolution& problem, const DeviceProperties& properties, const PlanOptions& options = PlanOptions()) {
    check(shiftconv_plan_create(&problem, &properties, &options, &handle_));
  }
  /// The fastest candidate by measurement on the device, or what the cache remembers; see shiftconv_plan_autotune.
  static Plan autotuned(const Convolution& problem, const Device& device, const Autotune& autotune = Autotune(),
                        const PlanOptions& options = PlanOptions()) {
    Plan plan;
    check(shiftconv_plan_autotune(&problem, device.handle(), &options, &autotune, &plan.handle_));
    return plan;
  }
  ~Plan() { shiftconv_plan_destroy(handle_); }
  Plan(Plan&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Plan& operator=(Plan&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  shiftconv_plan_t handle() const noexcept { return handle_; }
  std::string describe() const {
    return textOf([this](char* b, size_t s, size_t* n) { return shiftconv_plan_describe(handle_, b, s, n); });
  }
  /// What the plan was chosen from.
  std::string candidates() const {
    return textOf([this](char* b, size_t s, size_t* n) { return shiftconv_plan_candidates(handle_, b, s, n); });
  }
  Estimate estimate() const {
    Estimate estimate;
    check(shiftconv_plan_estimate(handle_, &estimate));
    return estimate;
  }
  std::string algorithm() const { return shiftconv_plan_algorithm(handle_); }
  std::string options() const { return shiftconv_plan_options(handle_); }
  std::string kernelName() const { return shiftconv_plan_kernel_name(handle_); }
  size_t workspaceBytes() const {
    size_t bytes = 0;
    check(shiftconv_plan_workspace_size(handle_, &bytes));
    return bytes;
  }
  void prepare(const Device& device) const { check(shiftconv_plan_prepare(handle_, device.handle())); }

  /// Binds and enqueues the convolution once; see shiftconv_run.
  void run(const Device& device, const Tensors& tensors, shiftconv_stream_t stream = nullptr) const {
    check(shiftconv_run(handle_, device.handle(), &tensors, stream));
  }

 private:
  Plan() = default;
  shiftconv_plan_t handle_ = nullptr;
};

/// A plan with its tensors on a device. Immutable; may run on several streams and host threads at once.
class Binding {
 public:
  Binding(const Plan& plan, const Device& device, const Tensors& tensors) {
    check(shiftconv_bind(plan.handle(), device.handle(), &tensors, &handle_));
  }
  ~Binding() { shiftconv_binding_destroy(handle_); }
  Binding(Binding&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Binding& operator=(Binding&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  shiftconv_binding_t handle() const noexcept { return handle_; }
  /// Enqueues the convolution; see shiftconv_binding_run.
  void run(shiftconv_stream_t stream = nullptr) const { check(shiftconv_binding_run(handle_, stream)); }

 private:
  shiftconv_binding_t handle_ = nullptr;
};

}  // namespace shiftconv
