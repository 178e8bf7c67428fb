// ShiftConv for C++17: owners and exceptions over the C API of shiftconv.h, nothing else. Header only; it uses no symbol of the
// library beyond the C ABI.
//
//  - Errors. A call that fails throws shiftconv::Error, with the status and the library's sentence.
//  - Lifetimes. Device, Memory, Stream, Plan and Binding own a handle and close it in their destructors. They can be moved, not
//    copied. Memory and Stream must not outlive their Device. A Plan may go before its Bindings. After a move, only assign to or
//    destroy the object that was moved from.
//  - Shapes, layouts, units, alignment and stream order: see the functions and structures of shiftconv.h.
#pragma once

#include <shiftconv/packing.h>
#include <shiftconv/shiftconv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace shiftconv {

/// A failed call: its status, and in what() the sentence of shiftconv_last_error().
class Error : public std::runtime_error {
 public:
  Error(shiftconv_status_t status, const std::string& message) : std::runtime_error(message), status_(status) {}
  shiftconv_status_t status() const noexcept { return status_; }

 private:
  shiftconv_status_t status_;
};

/// Throws Error unless `status` is SHIFTCONV_STATUS_SUCCESS. Call it on the thread that made the call.
inline void check(shiftconv_status_t status) {
  if (status != SHIFTCONV_STATUS_SUCCESS) throw Error(status, shiftconv_last_error());
}

/// The whole text of a function of the C API: calls `function(buffer, size, needed)` with larger buffers until the text fits.
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

/// Bytes of each tensor of a problem; 0 where the problem has no such tensor.
struct TensorBytes : shiftconv_tensor_bytes_t {
  TensorBytes() : shiftconv_tensor_bytes_t(SHIFTCONV_TENSOR_BYTES_INIT) {}
};

/// The convolution to compute. Starts as SHIFTCONV_PROBLEM_INIT; the fields, shapes and layouts are those of shiftconv_problem_t.
struct Convolution : shiftconv_problem_t {
  Convolution() : shiftconv_problem_t(SHIFTCONV_PROBLEM_INIT) {}

  /// Reads a line such as describe() writes: "1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias relu". Throws with the word that
  /// is wrong. See shiftconv_problem_parse.
  static Convolution parse(const std::string& text) {
    Convolution problem;
    check(shiftconv_problem_parse(text.c_str(), &problem));
    return problem;
  }

  /// D[M][N] = A[M][K] * B[N][K]^T: input, filter and output are A, B and D. The rest of the fields is set as for any convolution.
  /// See shiftconv_gemm.
  static Convolution gemm(int64_t m, int64_t n, int64_t k) {
    Convolution problem;
    check(shiftconv_gemm(m, n, k, &problem));
    return problem;
  }

  /// Throws with the field that is wrong.
  void validate() const { check(shiftconv_problem_validate(this)); }
  // Z, P and Q. Throw when the problem is invalid.
  int64_t outputDepth() const { return outputSize()[0]; }
  int64_t outputHeight() const { return outputSize()[1]; }
  int64_t outputWidth() const { return outputSize()[2]; }
  /// One line that parse() reads back.
  std::string describe() const {
    return textOf([this](char* b, size_t s, size_t* n) { return shiftconv_problem_describe(this, b, s, n); });
  }
  /// What to allocate for each tensor, in bytes. Throws when the problem is invalid.
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
  /// Of a known device, which need not be present: "B200", "B300", "Thor", "H200", "emulated", "emulated_sm_90a".
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
  /// What a Plan needs to know.
  DeviceProperties properties() const {
    DeviceProperties properties;
    check(shiftconv_device_get_properties(handle_, &properties));
    return properties;
  }
  /// Emulated devices only; see shiftconv_device_set_option.
  void setOption(const std::string& name, const std::string& value) {
    check(shiftconv_device_set_option(handle_, name.c_str(), value.c_str()));
  }
  /// What the launches did since the device was opened or resetCounters() was called. Emulated devices only.
  std::string counters(shiftconv_counters_format_t format = SHIFTCONV_COUNTERS_TABLE) const {
    return textOf([&](char* b, size_t s, size_t* n) { return shiftconv_device_counters(handle_, format, b, s, n); });
  }
  void resetCounters() { check(shiftconv_device_reset_counters(handle_)); }
  // Copies and fills are enqueued in `stream`; nullptr: the default stream. Sizes are in bytes.
  void copyToDevice(void* destination, const void* source, size_t bytes, shiftconv_stream_t stream = nullptr) {
    check(shiftconv_copy_to_device(handle_, destination, source, bytes, stream));
  }
  void copyToHost(void* destination, const void* source, size_t bytes, shiftconv_stream_t stream = nullptr) {
    check(shiftconv_copy_to_host(handle_, destination, source, bytes, stream));
  }
  void fill(void* memory, uint8_t value, size_t bytes, shiftconv_stream_t stream = nullptr) {
    check(shiftconv_device_fill(handle_, memory, value, bytes, stream));
  }
  /// Waits for all work in `stream`, and throws when that work failed.
  void synchronize(shiftconv_stream_t stream = nullptr) { check(shiftconv_stream_synchronize(handle_, stream)); }

 private:
  shiftconv_device_t handle_ = nullptr;
};

/// Device memory, aligned to 256 bytes, with undefined contents; of 0 bytes there is none, and get() is nullptr. Must not outlive
/// its device, nor be destroyed while work uses it.
class Memory {
 public:
  Memory(const Device& device, size_t bytes) : device_(device.handle()), bytes_(bytes) {
    if (bytes != 0) check(shiftconv_device_allocate(device_, bytes, &address_));
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

/// A stream, which does not synchronise with the default stream. Must not outlive its device.
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

/// Choices that the planner makes unless they are set.
struct PlanOptions : shiftconv_plan_options_t {
  PlanOptions() : shiftconv_plan_options_t(SHIFTCONV_PLAN_OPTIONS_INIT) {}
};

/// How Plan::autotuned measures: the file that remembers choices, and how long it may take.
struct Autotune : shiftconv_autotune_t {
  Autotune() : shiftconv_autotune_t(SHIFTCONV_AUTOTUNE_INIT) {}
};

/// "" when `algorithm` can run the problem on such a device, else the reason. Throws when the problem is invalid or there is no
/// such algorithm.
inline std::string refusal(const Convolution& problem, const DeviceProperties& properties, const std::string& algorithm) {
  return textOf([&](char* b, size_t s, size_t* n) {
    const shiftconv_status_t status = shiftconv_support(&problem, &properties, algorithm.c_str(), b, s, n);
    return status == SHIFTCONV_STATUS_UNSUPPORTED ? SHIFTCONV_STATUS_SUCCESS : status;
  });
}

/// The options of an algorithm, one line each: name, values, meaning.
inline std::string algorithmOptions(const std::string& algorithm) {
  return textOf([&](char* b, size_t s, size_t* n) { return shiftconv_algorithm_options(algorithm.c_str(), b, s, n); });
}

/// What the cost model predicts for a plan: modelled, not measured.
struct Estimate : shiftconv_estimate_t {
  Estimate() : shiftconv_estimate_t(SHIFTCONV_ESTIMATE_INIT) {}
};

/// Addresses of a run's tensors in device memory: exactly those that the problem has, the others nullptr. Aligned to 16 bytes,
/// workspace and packed filter to 256.
struct Tensors : shiftconv_tensors_t {
  Tensors() : shiftconv_tensors_t(SHIFTCONV_TENSORS_INIT) {}
};

/// How a problem is computed on one kind of device. Immutable; several devices, streams and host threads may use it at once.
class Plan {
 public:
  /// The planner's choice; needs no device. Throws with each algorithm's reason when none can run the problem.
  Plan(const Convolution& problem, const DeviceProperties& properties, const PlanOptions& options = PlanOptions()) {
    check(shiftconv_plan_create(&problem, &properties, &options, &handle_));
  }
  /// The fastest candidate as measured on the device, or what the cache remembers. Runs kernels and waits for them; see
  /// shiftconv_plan_autotune.
  static Plan autotuned(const Convolution& problem, const Device& device, const Autotune& autotune = Autotune(),
                        const PlanOptions& options = PlanOptions()) {
    Plan plan;
    check(shiftconv_plan_autotune(&problem, device.handle(), &options, &autotune, &plan.handle_));
    return plan;
  }
  /// The plan that toBytes() wrote, made without a search. Throws for damaged bytes, and for those of another version.
  static Plan fromBytes(const void* bytes, size_t size) {
    Plan plan;
    check(shiftconv_plan_from_bytes(bytes, size, &plan.handle_));
    return plan;
  }
  ~Plan() { shiftconv_plan_destroy(handle_); }
  Plan(Plan&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Plan& operator=(Plan&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  shiftconv_plan_t handle() const noexcept { return handle_; }
  /// Several lines for people: algorithm, options, launches, tile, memory, traffic, estimate.
  std::string describe() const {
    return textOf([this](char* b, size_t s, size_t* n) { return shiftconv_plan_describe(handle_, b, s, n); });
  }
  /// For a file; see shiftconv_plan_to_bytes.
  std::vector<unsigned char> toBytes() const {
    size_t needed = 0;
    check(shiftconv_plan_to_bytes(handle_, nullptr, 0, &needed));
    std::vector<unsigned char> bytes(needed);
    check(shiftconv_plan_to_bytes(handle_, bytes.data(), bytes.size(), nullptr));
    return bytes;
  }
  /// What the plan was chosen from, and which algorithms refused, one line each.
  std::string candidates() const {
    return textOf([this](char* b, size_t s, size_t* n) { return shiftconv_plan_candidates(handle_, b, s, n); });
  }
  Estimate estimate() const {
    Estimate estimate;
    check(shiftconv_plan_estimate(handle_, &estimate));
    return estimate;
  }
  // algorithm() and options() make the same plan again, as fields of PlanOptions. kernelName() is what profilers show.
  std::string algorithm() const { return shiftconv_plan_algorithm(handle_); }
  std::string options() const { return shiftconv_plan_options(handle_); }
  std::string kernelName() const { return shiftconv_plan_kernel_name(handle_); }
  /// What Tensors::workspace must have room for; runs that may overlap need one each.
  size_t workspaceBytes() const {
    size_t bytes = 0;
    check(shiftconv_plan_workspace_size(handle_, &bytes));
    return bytes;
  }
  /// For filters that stay the same: a plan that packs the filter into Tensors::packed_filter, and one that does the rest. Throws
  /// where a run makes nothing of its filter; see shiftconv_plan_separate_packing.
  std::pair<Plan, Plan> separatePacking() const {
    std::pair<Plan, Plan> parts{Plan(), Plan()};
    check(shiftconv_plan_separate_packing(handle_, &parts.first.handle_, &parts.second.handle_));
    return parts;
  }
  /// What Tensors::packed_filter must have room for, of either part; 0 of other plans.
  size_t packedFilterBytes() const {
    size_t bytes = 0;
    check(shiftconv_plan_packed_filter_size(handle_, &bytes));
    return bytes;
  }
  /// Loads the kernels now rather than at the first binding.
  void prepare(const Device& device) const { check(shiftconv_plan_prepare(handle_, device.handle())); }

  /// Binds, and enqueues the convolution once; keep a Binding to run the same tensors repeatedly.
  void run(const Device& device, const Tensors& tensors, shiftconv_stream_t stream = nullptr) const {
    check(shiftconv_run(handle_, device.handle(), &tensors, stream));
  }

 private:
  Plan() = default;
  shiftconv_plan_t handle_ = nullptr;
};

/// A plan with its tensors on a device. Immutable; may run on several streams and host threads at once. The tensors must stay valid
/// as long as it runs.
class Binding {
 public:
  /// Checks the tensors, loads the kernels, encodes the tensor maps. Throws with the tensor that is missing, misaligned or
  /// overlapping.
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
  /// Enqueues the convolution in `stream` (nullptr: the default stream). On a GPU it neither allocates nor synchronises.
  void run(shiftconv_stream_t stream = nullptr) const { check(shiftconv_binding_run(handle_, stream)); }
  /// The same once with other tensors; the binding stays as it is. Neither allocates nor synchronises on a GPU.
  void run(const Tensors& tensors, shiftconv_stream_t stream = nullptr) const {
    check(shiftconv_binding_run_with(handle_, &tensors, stream));
  }

 private:
  shiftconv_binding_t handle_ = nullptr;
};

}  // namespace shiftconv
