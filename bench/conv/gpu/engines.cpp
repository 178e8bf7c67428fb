#include "bench/conv/gpu/engines.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

#include "common/device/cuda_device.hpp"
#include "conv/include/shiftconv/shiftconv.h"
#include "conv/plan/algorithm.hpp"
#include "conv/planner/autotune.hpp"
#include "conv/planner/binding.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/kernel_cache.hpp"

namespace shiftconv::gpu {
namespace {

void accept(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

std::string choiceNameOf(const plan::Plan& plan) { return fmt::format("{}:{}", plan.algorithm, plan.options); }

}  // namespace

struct Library::State {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<plan::KernelCache> kernels;
};

Library::Library() : state_(std::make_unique<State>()) {
  if (const Status status = device::openCudaDevice(0, state_->device); !status.ok()) {
    fmt::print(stderr, "{}\n", status.message());
    std::exit(2);
  }
  state_->kernels = std::make_unique<plan::KernelCache>(*state_->device);
}
Library::~Library() = default;

BoundConvolution Library::bind(const Problem& problem, const Tensors& tensors, const std::string& choice) {
  plan::PlanOptions options;
  options.algorithm = choice.substr(0, choice.find(':'));
  if (choice.find(':') != std::string::npos) options.options = choice.substr(choice.find(':') + 1);
  std::shared_ptr<const plan::Plan> plan;
  accept(plan::makePlan(problem, state_->device->properties(), options, plan));
  plan::TensorAddresses addresses{};
  addresses[TensorName::Input] = tensors.input;
  addresses[TensorName::Filter] = tensors.filter;
  addresses[TensorName::Bias] = tensors.bias;
  addresses[TensorName::ChannelScale] = tensors.channelScale;
  addresses[TensorName::Residual] = tensors.residual;
  addresses[TensorName::Output] = tensors.output;
  addresses[TensorName::Amax] = tensors.amax;
  std::shared_ptr<Buffer> workspace;
  if (const size_t bytes = plan::bytesOfRun(*plan)[TensorName::Workspace]; bytes > 0) {
    workspace = std::make_shared<Buffer>(bytes);
    addresses[TensorName::Workspace] = workspace->address();
  }
  std::unique_ptr<plan::Binding> made;
  accept(plan::Binding::make(plan, *state_->kernels, addresses, made));
  return {choiceNameOf(*plan), fmt::format("{} {}: {}", plan->algorithm, plan->options, plan->details),
          [binding = std::shared_ptr<plan::Binding>(std::move(made)), workspace](CUstream stream) {
            if (const Status status = binding->run(reinterpret_cast<device::Stream>(stream)); !status.ok()) {
              fmt::print(stderr, "{}\n", status.message());
              std::exit(2);
            }
          }};
}

std::vector<std::string> Library::candidates(const Problem& problem, bool constantFilter) const {
  plan::Candidates candidates;
  plan::PlanOptions options;
  options.constantFilter = constantFilter;
  accept(plan::findCandidates(problem, state_->device->properties(), options, candidates));
  std::vector<std::string> names;
  for (const size_t i : candidates.byEstimate()) {
    const plan::Candidate& candidate = candidates.all[i];
    names.push_back(fmt::format("{}:{}", candidate.algorithm->name(), candidate.options()));
  }
  return names;
}

std::string Library::autotune(const Problem& problem, const std::string& cache, double seconds) const {
  plan::AutotuneOptions how;
  how.cache = cache;
  how.version = fmt::format("{}.{}.{}", SHIFTCONV_VERSION_MAJOR, SHIFTCONV_VERSION_MINOR, SHIFTCONV_VERSION_PATCH);
  how.seconds = seconds;
  device::Stream stream = 0;
  std::shared_ptr<const plan::Plan> plan;
  std::vector<std::string> notes;
  accept(state_->device->createStream(stream));
  accept(plan::autotune(problem, *state_->kernels, stream, {}, how, plan::deviceClock(*state_->device, stream), plan, notes));
  accept(state_->device->destroyStream(stream));
  for (const std::string& note : notes) fmt::print(stderr, "autotune: {}\n", note);
  return choiceNameOf(*plan);
}

}  // namespace shiftconv::gpu
