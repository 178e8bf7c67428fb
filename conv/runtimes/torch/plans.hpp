// Plans by problem and bindings by call and address, so that a call that was made before only launches.
#pragma once

#include <shiftconv/shiftconv.hpp>

#include <cstddef>
#include <memory>
#include <string>

#include "conv/runtimes/torch/calls.hpp"
#include "conv/runtimes/torch/devices.hpp"

namespace shiftconv::torch_glue {

inline constexpr size_t kMostPlans = 4096;
inline constexpr size_t kMostBindings = 2048;

/// The plan for a problem on a device. `choice` is "", "algorithm" or "algorithm:options". Throws Error.
std::shared_ptr<const Plan> planFor(const shiftconv_problem_t& problem, OpenDevice& device, const std::string& choice);

/// What a run of the call's plan needs. Throws Error.
size_t workspaceBytesOf(const Call& call, OpenDevice& device);

/// The plan of a call with its tensors, a workspace among them where it needs one. Throws Error, and std::invalid_argument where
/// tensors are misaligned or overlap, with the names that the operator has for them.
std::shared_ptr<const Binding> bindingFor(const Call& call, OpenDevice& device, const Tensors& tensors);

/// Whether bindingFor would find its binding.
bool isBound(const Call& call, const Tensors& tensors);

/// How many bindings are kept from now on; those used longest ago go first.
void keepBindings(size_t most);
size_t keptBindings();
size_t keptPlans();

}  // namespace shiftconv::torch_glue
