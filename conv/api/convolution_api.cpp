// Problems, support, plans, bindings and runs of the C API.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/device/profiler_range.hpp"
#include "conv/api/boundary.hpp"
#include "conv/api/convert.hpp"
#include "conv/api/handles.hpp"
#include "conv/api/log.hpp"
#include "conv/api/replay.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/planner/autotune.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/plan_bytes.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"

using namespace shiftconv;
using namespace shiftconv::api;

namespace {

/// Text of a live plan, which the caller keeps alive.
template <class Text>
const char* planText(shiftconv_plan_t handle, Text&& text) noexcept {
  try {
    std::shared_ptr<OpenPlan> plan;
    if (!plans().find(handle, "plan", plan).ok()) return nullptr;
    return text(*plan).c_str();
  } catch (...) {
    return nullptr;  // the message of the failure found no memory
  }
}

Status bind(shiftconv_plan_t planHandle, shiftconv_device_t deviceHandle, const shiftconv_tensors_t* source, OpenBinding& bound) {
  std::shared_ptr<OpenPlan> plan;
  if (Status status = plans().find(planHandle, "plan", plan); !status.ok()) return status;
  if (Status status = devices().find(deviceHandle, "device", bound.device); !status.ok()) return status;
  plan::TensorAddresses tensors;
  if (Status status = fromC(source, tensors); !status.ok()) return status;
  return plan::Binding::make(plan->plan, bound.device->kernels(), tensors, bound.binding);
}

shiftconv_plan_t handOut(std::shared_ptr<const plan::Plan> plan) {
  if (isLogged(SHIFTCONV_LOG_INFO))
    log(SHIFTCONV_LOG_INFO,
        fmt::format("planned {}: {} {}, kernel {}", describe(plan->problem), plan->algorithm, plan->options, plan->kernelName()));
  if (isLogged(SHIFTCONV_LOG_DEBUG)) log(SHIFTCONV_LOG_DEBUG, "plan, again with: " + replayOf(*plan));
  auto made = std::make_shared<OpenPlan>();
  made->algorithm = plan->algorithm;
  made->plan = std::move(plan);
  return plans().add(std::move(made));
}

void logRun(const plan::Plan& plan) {
  if (isLogged(SHIFTCONV_LOG_DEBUG)) log(SHIFTCONV_LOG_DEBUG, "run, again with: " + replayOf(plan));
}

device::Stream streamOf(shiftconv_stream_t stream) { return reinterpret_cast<device::Stream>(stream); }

Status findOpen(shiftconv_binding_t handle, std::shared_ptr<OpenBinding>& bound) {
  if (Status status = bindings().find(handle, "binding", bound); !status.ok()) return status;
  if (bound->device->closed()) return {StatusCode::InvalidArgument, "the device of this binding was closed before"};
  return {};
}

}  // namespace

extern "C" {

shiftconv_status_t shiftconv_problem_validate(const shiftconv_problem_t* problem) {
  return boundary([&] {
    Problem converted;
    return fromC(problem, converted);
  });
}

shiftconv_status_t shiftconv_problem_output_size(const shiftconv_problem_t* problem, int64_t* z, int64_t* p, int64_t* q) {
  return boundary([&]() -> Status {
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    if (z) *z = converted.z();
    if (p) *p = converted.p();
    if (q) *q = converted.q();
    return {};
  });
}

shiftconv_status_t shiftconv_problem_tensor_bytes(const shiftconv_problem_t* problem, shiftconv_tensor_bytes_t* bytes) {
  return boundary([&]() -> Status {
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    return toC(tensorBytes(converted), bytes);
  });
}

shiftconv_status_t shiftconv_problem_describe(const shiftconv_problem_t* problem, char* buffer, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    return writeText(describe(converted), buffer, size, needed);
  });
}

shiftconv_status_t shiftconv_problem_parse(const char* text, shiftconv_problem_t* problem) {
  return boundary([&]() -> Status {
    if (Status status = require(text, "text"); !status.ok()) return status;
    Problem parsed;
    if (Status status = parse(text, parsed); !status.ok()) return status;
    return toC(parsed, problem);
  });
}

shiftconv_status_t shiftconv_gemm(int64_t m, int64_t n, int64_t k, shiftconv_problem_t* problem) {
  return boundary([&] { return matrixToC(m, n, k, problem); });
}

int shiftconv_algorithm_count(void) { return static_cast<int>(plan::algorithms().size()); }

const char* shiftconv_algorithm_name(int index) {
  const auto table = plan::algorithms();
  if (index < 0 || static_cast<size_t>(index) >= table.size()) return nullptr;
  return table[static_cast<size_t>(index)]->name().data();  // names are literals
}

shiftconv_status_t shiftconv_algorithm_options(const char* algorithm, char* buffer, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    if (Status status = require(algorithm, "algorithm"); !status.ok()) return status;
    const plan::Algorithm* found = nullptr;
    if (Status status = plan::findAlgorithm(algorithm, found); !status.ok()) return status;
    return writeText(plan::describe(found->options()), buffer, size, needed);
  });
}

shiftconv_status_t shiftconv_support(const shiftconv_problem_t* problem, const shiftconv_device_properties_t* properties,
                                     const char* algorithm, char* reason, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    const auto answer = [&]() -> Status {
      Problem converted;
      if (Status status = fromC(problem, converted); !status.ok()) return status;
      device::Properties device;
      if (Status status = fromC(properties, device); !status.ok()) return status;
      if (Status status = require(algorithm, "algorithm"); !status.ok()) return status;
      const plan::Algorithm* found = nullptr;
      if (Status status = plan::findAlgorithm(algorithm, found); !status.ok()) return status;
      std::string refusal = refusalOf(*found, converted, device);
      return refusal.empty() ? Status() : Status(StatusCode::Unsupported, std::move(refusal));
    };
    const Status status = answer();
    if (Status written = writeText(status.message(), reason, size, needed); !written.ok()) return written;
    return status;
  });
}

shiftconv_status_t shiftconv_plan_create(const shiftconv_problem_t* problem, const shiftconv_device_properties_t* properties,
                                         const shiftconv_plan_options_t* options, shiftconv_plan_t* plan) {
  return boundary([&]() -> Status {
    const device::ProfilerRange range("shiftconv_plan_create");
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    device::Properties device;
    if (Status status = fromC(properties, device); !status.ok()) return status;
    plan::PlanOptions choices;
    if (Status status = fromC(options, choices); !status.ok()) return status;
    if (Status status = require(plan, "plan"); !status.ok()) return status;
    std::shared_ptr<const plan::Plan> made;
    std::vector<std::string> notes;
    const Status planned = plan::makePlan(converted, device, choices, made, &notes);
    for (const std::string& note : notes) log(SHIFTCONV_LOG_WARNING, "plan: " + note);
    if (!planned.ok()) return planned;
    *plan = handOut(std::move(made));
    return {};
  });
}

shiftconv_status_t shiftconv_plan_autotune(const shiftconv_problem_t* problem, shiftconv_device_t deviceHandle,
                                           const shiftconv_plan_options_t* options, const shiftconv_autotune_t* autotune,
                                           shiftconv_plan_t* plan) {
  return boundary([&]() -> Status {
    const device::ProfilerRange range("shiftconv_plan_autotune");
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    std::shared_ptr<OpenDevice> open;
    if (Status status = devices().find(deviceHandle, "device", open); !status.ok()) return status;
    plan::PlanOptions choices;
    if (Status status = fromC(options, choices); !status.ok()) return status;
    if (choices.multiprocessors != 0)
      return {StatusCode::InvalidArgument, "multiprocessors must be 0 in a plan by measurement, which takes what the device has"};
    if (choices.batchInvariant)
      return {StatusCode::InvalidArgument, "batch_invariant must be 0 in a plan by measurement, which measures this n"};
    plan::AutotuneOptions how;
    if (Status status = fromC(autotune, how); !status.ok()) return status;
    if (Status status = require(plan, "plan"); !status.ok()) return status;
    device::Stream stream = 0;
    if (Status status = open->device().createStream(stream); !status.ok()) return status;
    std::shared_ptr<const plan::Plan> made;
    std::vector<std::string> notes;
    const Status tuned =
        plan::autotune(converted, open->kernels(), stream, choices, how, plan::deviceClock(open->device(), stream), made, notes);
    const Status destroyed = open->device().destroyStream(stream);
    for (const std::string& note : notes) log(SHIFTCONV_LOG_WARNING, "autotune: " + note);
    if (!tuned.ok()) return tuned;
    if (!destroyed.ok()) return destroyed;
    *plan = handOut(std::move(made));
    return {};
  });
}

shiftconv_status_t shiftconv_plan_to_bytes(shiftconv_plan_t handle, void* buffer, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(handle, "plan", plan); !status.ok()) return status;
    if (size > 0)
      if (Status status = require(buffer, "buffer"); !status.ok()) return status;
    if (plan->plan->isPart)
      return {StatusCode::Unsupported, "this plan is a part of another; keep that one's bytes, and separate it again"};
    const std::string bytes = plan::bytesOf(*plan->plan, shiftconv_version_string());
    if (needed) *needed = bytes.size();
    if (size == 0) return {};
    if (size < bytes.size())
      return {StatusCode::InvalidArgument, fmt::format("size is {}, but the plan has {} bytes", size, bytes.size())};
    std::memcpy(buffer, bytes.data(), bytes.size());
    return {};
  });
}

shiftconv_status_t shiftconv_plan_from_bytes(const void* bytes, size_t size, shiftconv_plan_t* plan) {
  return boundary([&]() -> Status {
    if (Status status = require(bytes, "bytes"); !status.ok()) return status;
    if (Status status = require(plan, "plan"); !status.ok()) return status;
    std::shared_ptr<const plan::Plan> made;
    if (Status status = plan::planOf({static_cast<const char*>(bytes), size}, shiftconv_version_string(), made); !status.ok())
      return status;
    *plan = handOut(std::move(made));
    return {};
  });
}

shiftconv_status_t shiftconv_plan_destroy(shiftconv_plan_t plan) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> removed;
    return plan ? plans().remove(plan, "plan", removed) : Status();
  });
}

shiftconv_status_t shiftconv_plan_describe(shiftconv_plan_t handle, char* buffer, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(handle, "plan", plan); !status.ok()) return status;
    return writeText(plan::describe(*plan->plan), buffer, size, needed);
  });
}

shiftconv_status_t shiftconv_plan_candidates(shiftconv_plan_t handle, char* buffer, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(handle, "plan", plan); !status.ok()) return status;
    return writeText(plan::choiceOf(*plan->plan), buffer, size, needed);
  });
}

shiftconv_status_t shiftconv_plan_estimate(shiftconv_plan_t handle, shiftconv_estimate_t* estimate) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(handle, "plan", plan); !status.ok()) return status;
    return toC(plan->plan->estimate, estimate);
  });
}

const char* shiftconv_plan_algorithm(shiftconv_plan_t plan) {
  return planText(plan, [](const OpenPlan& open) -> const std::string& { return open.algorithm; });
}

const char* shiftconv_plan_options(shiftconv_plan_t plan) {
  return planText(plan, [](const OpenPlan& open) -> const std::string& { return open.plan->options; });
}

const char* shiftconv_plan_kernel_name(shiftconv_plan_t plan) {
  return planText(plan, [](const OpenPlan& open) -> const std::string& { return open.plan->kernelName(); });
}

shiftconv_status_t shiftconv_plan_workspace_size(shiftconv_plan_t handle, size_t* bytes) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(handle, "plan", plan); !status.ok()) return status;
    if (Status status = require(bytes, "bytes"); !status.ok()) return status;
    *bytes = bytesOfRun(*plan->plan)[TensorName::Workspace];
    return {};
  });
}

shiftconv_status_t shiftconv_plan_prepare(shiftconv_plan_t planHandle, shiftconv_device_t deviceHandle) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(planHandle, "plan", plan); !status.ok()) return status;
    std::shared_ptr<OpenDevice> device;
    if (Status status = devices().find(deviceHandle, "device", device); !status.ok()) return status;
    if (Status status = plan::checkDevice(*plan->plan, device->device().properties()); !status.ok()) return status;
    return device->kernels().prepare(*plan->plan);
  });
}

shiftconv_status_t shiftconv_bind(shiftconv_plan_t plan, shiftconv_device_t device, const shiftconv_tensors_t* tensors,
                                  shiftconv_binding_t* binding) {
  return boundary([&]() -> Status {
    if (Status status = require(binding, "binding"); !status.ok()) return status;
    auto bound = std::make_shared<OpenBinding>();
    if (Status status = bind(plan, device, tensors, *bound); !status.ok()) return status;
    *binding = bindings().add(std::move(bound));
    return {};
  });
}

shiftconv_status_t shiftconv_binding_destroy(shiftconv_binding_t binding) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenBinding> removed;
    return binding ? bindings().remove(binding, "binding", removed) : Status();
  });
}

shiftconv_status_t shiftconv_binding_run(shiftconv_binding_t handle, shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenBinding> bound;
    if (Status status = findOpen(handle, bound); !status.ok()) return status;
    logRun(bound->binding->plan());
    const device::ProfilerRange range(bound->binding->plan().kernelName().c_str());
    return bound->binding->run(streamOf(stream));
  });
}

shiftconv_status_t shiftconv_binding_run_with(shiftconv_binding_t handle, const shiftconv_tensors_t* tensors,
                                              shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenBinding> bound;
    if (Status status = findOpen(handle, bound); !status.ok()) return status;
    plan::TensorAddresses addresses;
    if (Status status = fromC(tensors, addresses); !status.ok()) return status;
    logRun(bound->binding->plan());
    const device::ProfilerRange range(bound->binding->plan().kernelName().c_str());
    return bound->binding->run(addresses, streamOf(stream));
  });
}

shiftconv_status_t shiftconv_run(shiftconv_plan_t planHandle, shiftconv_device_t deviceHandle, const shiftconv_tensors_t* tensors,
                                 shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenPlan> plan;
    if (Status status = plans().find(planHandle, "plan", plan); !status.ok()) return status;
    std::shared_ptr<OpenDevice> device;
    if (Status status = devices().find(deviceHandle, "device", device); !status.ok()) return status;
    plan::TensorAddresses addresses;
    if (Status status = fromC(tensors, addresses); !status.ok()) return status;
    logRun(*plan->plan);
    const device::ProfilerRange range(plan->plan->kernelName().c_str());
    return plan::runOnce(*plan->plan, device->kernels(), addresses, streamOf(stream));
  });
}

}  // extern "C"
