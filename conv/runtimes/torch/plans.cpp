#include "conv/runtimes/torch/plans.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "conv/runtimes/capture/relaxed_capture.hpp"
#include "conv/runtimes/torch/bounded_cache.hpp"
#include "conv/runtimes/torch/mix.hpp"
#include "conv/runtimes/torch/sentences.hpp"

namespace shiftconv::torch_glue {
namespace {

struct PlanKey {
  shiftconv_problem_t problem;
  const OpenDevice* device;
  std::string choice;

  bool operator==(const PlanKey& other) const {
    return std::memcmp(&problem, &other.problem, sizeof(problem)) == 0 && device == other.device && choice == other.choice;
  }
};
// Compared and hashed byte by byte, so there must be no padding.
static_assert(offsetof(shiftconv_problem_t, transposed) == SHIFTCONV_PROBLEM_SIZE_0_2 &&
              sizeof(shiftconv_problem_t) == SHIFTCONV_PROBLEM_SIZE_0_2 + 6 * sizeof(int32_t) + 9 * sizeof(int64_t));

struct BindingKey {
  uint64_t call;
  std::array<const void*, 8> addresses;

  bool operator==(const BindingKey&) const = default;
};

BindingKey keyOf(const Call& call, const Tensors& tensors) {
  return {call.id,
          {tensors.input, tensors.second_input, tensors.filter, tensors.bias, tensors.residual, tensors.channel_scale,
           tensors.output, tensors.workspace}};
}

struct KeyHash {
  size_t operator()(const PlanKey& key) const {
    uint64_t hash = std::hash<std::string>()(key.choice);
    uint64_t words[sizeof(key.problem) / sizeof(uint64_t)];
    std::memcpy(words, &key.problem, sizeof(words));
    for (const uint64_t word : words) hash = mix(hash, word);
    return mix(hash, reinterpret_cast<uintptr_t>(key.device));
  }
  size_t operator()(const BindingKey& key) const {
    uint64_t hash = key.call;
    for (const void* address : key.addresses) hash = mix(hash, reinterpret_cast<uintptr_t>(address));
    return hash;
  }
};

// Never destroyed: at the end of the process the CUDA driver may be gone before.
auto& plans() {
  static auto& cache = *new BoundedCache<PlanKey, std::shared_ptr<const Plan>, KeyHash>(kMostPlans);
  return cache;
}
auto& bindings() {
  static auto& cache = *new BoundedCache<BindingKey, std::shared_ptr<const Binding>, KeyHash>(kMostBindings);
  return cache;
}

std::shared_ptr<const Plan> makePlan(const PlanKey& key, OpenDevice& device) {
  PlanOptions options;
  std::string algorithm = key.choice, rest;
  if (const size_t colon = algorithm.find(':'); colon != std::string::npos) {
    rest = algorithm.substr(colon + 1);
    algorithm.resize(colon);
  }
  if (!algorithm.empty()) options.algorithm = algorithm.c_str();
  if (!rest.empty()) options.options = rest.c_str();
  Convolution problem;
  static_cast<shiftconv_problem_t&>(problem) = key.problem;
  return std::make_shared<const Plan>(problem, device.properties, options);
}

struct Named {
  const char* name;
  const void* address;
  size_t bytes;
  int64_t channels = 0, pitch = 0;  ///< of a pixel, and from one to the next, in bytes; 0: no pixels
};

/// Of the types that PyTorch has.
int64_t bytesOfType(int32_t type) {
  if (type == SHIFTCONV_TYPE_F32 || type == SHIFTCONV_TYPE_S32) return 4;
  return type == SHIFTCONV_TYPE_F16 || type == SHIFTCONV_TYPE_BF16 ? 2 : 1;
}

/// Slices of the channels of one tensor have no byte in common where they share no channel.
bool meet(const Named& one, const Named& other) {
  const auto a = reinterpret_cast<uintptr_t>(one.address), b = reinterpret_cast<uintptr_t>(other.address);
  if (a > b) return meet(other, one);
  if (b >= a + one.bytes || other.bytes == 0) return false;
  if (one.pitch == 0 || one.pitch != other.pitch) return true;
  const auto apart = static_cast<int64_t>((b - a) % static_cast<uintptr_t>(one.pitch));
  return apart < one.channels || apart + other.channels > one.pitch;
}

void checkAddresses(const shiftconv_problem_t& problem, const Tensors& tensors) {
  Convolution convolution;
  static_cast<shiftconv_problem_t&>(convolution) = problem;
  const TensorBytes bytes = convolution.tensorBytes();
  const auto pixels = [](const char* name, const void* address, size_t size, int64_t channels, int64_t pitch, int32_t type) {
    const int64_t element = bytesOfType(type);
    return Named{name, address, size, channels * element, (pitch != 0 ? pitch : channels) * element};
  };
  const int64_t first = problem.split_c != 0 ? problem.split_c : problem.c;
  const Named out = pixels("out", tensors.output, bytes.output, problem.k, problem.output_pixel_pitch, problem.output_type);
  for (const Named& one :
       {pixels("x", tensors.input, bytes.input, first, problem.input_pixel_pitch, problem.input_type),
        pixels("second", tensors.second_input, bytes.second_input, problem.split_c != 0 ? problem.c - first : problem.c,
               problem.second_pixel_pitch, problem.input_type),
        Named{"w", tensors.filter, bytes.filter}, Named{"bias", tensors.bias, bytes.bias},
        pixels("residual", tensors.residual, bytes.residual, problem.k, problem.residual_pixel_pitch, problem.residual_type),
        Named{"channel_scale", tensors.channel_scale, bytes.channel_scale}, out}) {
    const auto address = reinterpret_cast<uintptr_t>(one.address);
    if (address % 16 != 0)
      refuse(one.name, " must be aligned to 16 bytes, but its first element is ", std::to_string(address % 16),
             " bytes past a multiple");
    if (one.name != out.name && meet(one, out)) refuse("out", " must not overlap ", std::string(one.name));
  }
}

}  // namespace

std::shared_ptr<const Plan> planFor(const shiftconv_problem_t& problem, OpenDevice& device, const std::string& choice) {
  const PlanKey key{problem, &device, choice};
  if (std::optional<std::shared_ptr<const Plan>> found = plans().find(key)) return *std::move(found);
  std::shared_ptr<const Plan> plan = makePlan(key, device);
  plans().add(key, plan);
  return plan;
}

size_t workspaceBytesOf(const Call& call, OpenDevice& device) {
  size_t bytes = call.workspaceBytes.load(std::memory_order_relaxed);
  if (bytes == Call::kUnknown) {
    bytes = planFor(call.described.problem, device, call.plan)->workspaceBytes();
    call.workspaceBytes.store(bytes, std::memory_order_relaxed);
  }
  return bytes;
}

std::shared_ptr<const Binding> bindingFor(const Call& call, OpenDevice& device, const Tensors& tensors) {
  const BindingKey key = keyOf(call, tensors);
  if (std::optional<std::shared_ptr<const Binding>> found = bindings().find(key)) return *std::move(found);
  checkAddresses(call.described.problem, tensors);
  const runtimes::RelaxedCapture relaxed;
  auto binding = std::make_shared<const Binding>(*planFor(call.described.problem, device, call.plan), device.device, tensors);
  bindings().add(key, binding);
  return binding;
}

bool isBound(const Call& call, const Tensors& tensors) { return bindings().find(keyOf(call, tensors)).has_value(); }

void keepBindings(size_t most) { bindings().setMost(most); }
size_t keptBindings() { return bindings().size(); }
size_t keptPlans() { return plans().size(); }

}  // namespace shiftconv::torch_glue
