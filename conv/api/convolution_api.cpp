// Problems, support, plans and runs of the C API.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "common/device/profiler_range.hpp"
#include "conv/api/boundary.hpp"
#include "conv/api/convert.hpp"
#include "conv/api/handles.hpp"
#include "conv/api/log.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/plan/problem_checks.hpp"

using namespace shiftconv;
using namespace shiftconv::api;

namespace {

constexpr uintptr_t kTensorAlignment = 16;
constexpr uintptr_t kWorkspaceAlignment = 256;

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

struct Argument {
  const char* name;
  const void* pointer;
  size_t bytes;
  uintptr_t alignment;
};

Status checkArgument(const Argument& argument) {
  if (argument.bytes == 0) {
    if (!argument.pointer) return {};
    return invalid(fmt::format("{} must be NULL, because this plan uses none", argument.name));
  }
  if (!argument.pointer)
    return invalid(fmt::format("{} must not be NULL; this plan needs {} bytes of it", argument.name, argument.bytes));
  if (const uintptr_t rest = reinterpret_cast<uintptr_t>(argument.pointer) % argument.alignment)
    return invalid(fmt::format("{} must be aligned to {} bytes, but {} is {} bytes past a multiple", argument.name,
                               argument.alignment, argument.pointer, rest));
  return {};
}

bool overlap(const Argument& a, const Argument& b) {
  const auto startA = reinterpret_cast<uintptr_t>(a.pointer), startB = reinterpret_cast<uintptr_t>(b.pointer);
  return a.bytes != 0 && b.bytes != 0 && startA < startB + b.bytes && startB < startA + a.bytes;
}

Status checkDevice(const plan::Plan& plan, const device::Properties& properties) {
  if (plan.computeMajor() == properties.computeMajor && plan.computeMinor() == properties.computeMinor) return {};
  return invalid(fmt::format("the plan was made for compute capability {}.{}, but {} has {}.{}; make a plan from its properties",
                             plan.computeMajor(), plan.computeMinor(), properties.name, properties.computeMajor,
                             properties.computeMinor));
}

std::string describePlan(const plan::Plan& plan) {
  return fmt::format("problem    {}\nalgorithm  {} for compute capability {}.{}, workspace {} bytes\n{}", describe(plan.problem()),
                     plan.algorithm(), plan.computeMajor(), plan.computeMinor(), plan.workspaceBytes(), plan.describe());
}

}  // namespace

extern "C" {

shiftconv_status_t shiftconv_problem_validate(const shiftconv_problem_t* problem) {
  return boundary([&] {
    Problem converted;
    return fromC(problem, converted);
  });
}

shiftconv_status_t shiftconv_problem_output_size(const shiftconv_problem_t* problem, int64_t* p, int64_t* q) {
  return boundary([&]() -> Status {
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    if (Status status = require(p, "p"); !status.ok()) return status;
    if (Status status = require(q, "q"); !status.ok()) return status;
    *p = converted.p();
    *q = converted.q();
    return {};
  });
}

shiftconv_status_t shiftconv_problem_tensor_bytes(const shiftconv_problem_t* problem, size_t* input, size_t* filter, size_t* bias,
                                                  size_t* output) {
  return boundary([&]() -> Status {
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    const TensorBytes bytes = tensorBytes(converted);
    for (const auto& [target, value] :
         {std::pair{input, bytes.input}, {filter, bytes.filter}, {bias, bytes.bias}, {output, bytes.output}})
      if (target) *target = value;
    return {};
  });
}

shiftconv_status_t shiftconv_problem_describe(const shiftconv_problem_t* problem, char* buffer, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    Problem converted;
    if (Status status = fromC(problem, converted); !status.ok()) return status;
    return writeText(describe(converted), buffer, size, needed);
  });
}

int shiftconv_algorithm_count(void) { return static_cast<int>(plan::algorithms().size()); }

const char* shiftconv_algorithm_name(int index) {
  const auto table = plan::algorithms();
  if (index < 0 || static_cast<size_t>(index) >= table.size()) return nullptr;
  return table[static_cast<size_t>(index)]->name().data();  // names are literals
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
      std::string known;
      const plan::Algorithm* found = plan::findAlgorithm(algorithm, known);
      if (!found) return {StatusCode::NotFound, fmt::format("there is no algorithm \"{}\"; known are {}", algorithm, known)};
      std::string refusal = found->refusal(converted, device);
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
    auto made = std::make_unique<shiftconv_plan>();
    if (Status status = plan::makePlan(converted, device, choices, made->plan); !status.ok()) return status;
    log(SHIFTCONV_LOG_INFO,
        fmt::format("planned {}: {}, kernel {}", describe(converted), made->plan->algorithm(), made->plan->kernelName()));
    *plan = made.release();
    return {};
  });
}

shiftconv_status_t shiftconv_plan_destroy(shiftconv_plan_t plan) {
  return boundary([&]() -> Status {
    delete plan;
    return {};
  });
}

shiftconv_status_t shiftconv_plan_describe(shiftconv_plan_t plan, char* buffer, size_t size, size_t* needed) {
  return boundary([&]() -> Status {
    if (Status status = require(plan, "plan"); !status.ok()) return status;
    return writeText(describePlan(*plan->plan), buffer, size, needed);
  });
}

const char* shiftconv_plan_algorithm(shiftconv_plan_t plan) { return plan ? plan->plan->algorithm().data() : nullptr; }

const char* shiftconv_plan_kernel_name(shiftconv_plan_t plan) { return plan ? plan->plan->kernelName().c_str() : nullptr; }

shiftconv_status_t shiftconv_plan_workspace_size(shiftconv_plan_t plan, size_t* bytes) {
  return boundary([&]() -> Status {
    if (Status status = require(plan, "plan"); !status.ok()) return status;
    if (Status status = require(bytes, "bytes"); !status.ok()) return status;
    *bytes = plan->plan->workspaceBytes();
    return {};
  });
}

shiftconv_status_t shiftconv_plan_prepare(shiftconv_plan_t plan, shiftconv_device_t device) {
  return boundary([&]() -> Status {
    if (Status status = require(plan, "plan"); !status.ok()) return status;
    if (Status status = require(device, "device"); !status.ok()) return status;
    if (Status status = checkDevice(*plan->plan, device->device().properties()); !status.ok()) return status;
    const device::Kernel* kernel = nullptr;
    return device->kernelOf(*plan->plan, kernel);
  });
}

shiftconv_status_t shiftconv_run(shiftconv_plan_t plan, shiftconv_device_t device, const void* input, const void* filter,
                                 const void* bias, void* output, void* workspace, shiftconv_stream_t stream) {
  return boundary([&]() -> Status {
    if (Status status = require(plan, "plan"); !status.ok()) return status;
    if (Status status = require(device, "device"); !status.ok()) return status;
    const plan::Plan& work = *plan->plan;
    const device::ProfilerRange range(work.kernelName().c_str());
    if (Status status = checkDevice(work, device->device().properties()); !status.ok()) return status;

    const TensorBytes bytes = tensorBytes(work.problem());
    const std::array<Argument, 5> arguments{{{"output", output, bytes.output, kTensorAlignment},
                                             {"input", input, bytes.input, kTensorAlignment},
                                             {"filter", filter, bytes.filter, kTensorAlignment},
                                             {"bias", bias, bytes.bias, kTensorAlignment},
                                             {"workspace", workspace, work.workspaceBytes(), kWorkspaceAlignment}}};
    for (const Argument& argument : arguments)
      if (Status status = checkArgument(argument); !status.ok()) return status;
    for (size_t i = 1; i < arguments.size(); ++i)
      if (overlap(arguments[0], arguments[i])) return invalid(fmt::format("output must not overlap {}", arguments[i].name));

    const device::Kernel* kernel = nullptr;
    if (Status status = device->kernelOf(work, kernel); !status.ok()) return status;
    const auto address = [](const void* pointer) { return reinterpret_cast<device::Address>(pointer); };
    const plan::RunTensors tensors{address(input), address(filter), address(bias), address(output), address(workspace)};
    return work.run(device->device(), *kernel, tensors, reinterpret_cast<device::Stream>(stream));
  });
}

}  // extern "C"
