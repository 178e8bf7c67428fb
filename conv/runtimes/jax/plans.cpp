#include "conv/runtimes/jax/plans.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "conv/runtimes/capture/relaxed_capture.hpp"

namespace shiftconv::runtimes::jax {
namespace {

Tensors tensorsAt(const Addresses& addresses) {
  Tensors tensors;
  tensors.input = addresses[0];
  tensors.filter = addresses[1];
  tensors.bias = addresses[2];
  tensors.residual = addresses[3];
  tensors.channel_scale = addresses[4];
  tensors.output = const_cast<void*>(addresses[5]);
  return tensors;
}

/// Takes what stands after " | word " off the end of the text.
std::string takeChoice(std::string& text, const std::string& word) {
  const std::string mark = " | " + word + " ";
  const size_t at = text.find(mark);
  if (at == std::string::npos) return {};
  const size_t begin = at + mark.size(), end = std::min(text.find(" | ", begin), text.size());
  std::string choice = text.substr(begin, end - begin);
  text.erase(at, end - at);
  return choice;
}

}  // namespace

PlannedProblem::PlannedProblem(const Convolution& problem, const Device& device, const PlanOptions& options)
    : problem_(problem), device_(device), plan_(problem, device.properties(), options), bytes_(problem.tensorBytes()) {}

std::shared_ptr<const Binding> PlannedProblem::bindingTo(const Addresses& addresses) {
  const std::lock_guard lock(mutex_);
  if (const auto found = bindings_.find(addresses); found != bindings_.end()) return found->second;
  const RelaxedCapture relaxed;  // XLA may be recording a command buffer
  auto binding = std::make_shared<const Binding>(plan_, device_, tensorsAt(addresses));
  // Programs reuse their buffers, so that few combinations occur. Where that is not so, there is nothing to gain from old ones.
  if (bindings_.size() >= kMostBindings) bindings_.clear();
  bindings_.emplace(addresses, binding);
  return binding;
}

void PlannedProblem::run(const Addresses& addresses) const { plan_.run(device_, tensorsAt(addresses)); }

PlannedProblem& PlanningDevice::plan(std::string_view text) {
  {
    const std::shared_lock reading(mutex_);
    if (const auto found = plans_.find(text); found != plans_.end()) return found->second;
  }
  const std::unique_lock writing(mutex_);
  if (const auto found = plans_.find(text); found != plans_.end()) return found->second;
  std::string line(text);
  const std::string choices = takeChoice(line, "options"), algorithm = takeChoice(line, "algorithm");
  PlanOptions options;
  // XLA frees what a call allocates for itself when the call returns, and may replay it later in a command buffer.
  options.no_workspace = 1;
  if (!algorithm.empty()) options.algorithm = algorithm.c_str();
  if (!choices.empty()) options.options = choices.c_str();
  return plans_.try_emplace(std::string(text), Convolution::parse(line), device_, options).first->second;
}

// Devices are never closed: their memory and streams may be in use until the process ends.
PlanningDevice& gpu(int ordinal) {
  static std::mutex mutex;
  static auto& devices = *new std::map<int, std::unique_ptr<PlanningDevice>>;
  const std::lock_guard lock(mutex);
  auto& device = devices[ordinal];
  if (!device) device = std::make_unique<PlanningDevice>("cuda:" + std::to_string(ordinal));
  return *device;
}

PlanningDevice& emulated() {
  const char* name = std::getenv("SHIFTCONV_DEVICE");
  if (name == nullptr || std::strncmp(name, "emulated", std::strlen("emulated")) != 0)
    throw Error(SHIFTCONV_STATUS_UNSUPPORTED,
                "arrays on the CPU are convolved by the emulated device only, which must be asked for: set SHIFTCONV_DEVICE to "
                "emulated or emulated:sm_90a, or put the arrays on a GPU");
  static std::mutex mutex;
  static auto& devices = *new std::map<std::string, std::unique_ptr<PlanningDevice>>;
  const std::lock_guard lock(mutex);
  auto& device = devices[name];
  if (!device) device = std::make_unique<PlanningDevice>(name);
  return *device;
}

}  // namespace shiftconv::runtimes::jax
