// The operators shiftconv::conv and shiftconv::conv_out for CPU tensors (on the emulated device) and CUDA tensors. Their fake
// kernels and the refusal of gradients are registered in Python.
#include <shiftconv/shiftconv.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "conv/runtimes/torch/arguments.hpp"
#include "conv/runtimes/torch/devices.hpp"
#include "conv/runtimes/torch/plans.hpp"
#include "conv/runtimes/torch/tensor.hpp"

namespace shiftconv::torch_glue {
namespace {

// PyTorch 2.11.0 in the form of its TORCH_ABI_VERSION: a byte each of major, minor and patch at the top.
constexpr uint64_t kTorchVersion = uint64_t{2} << 56 | uint64_t{11} << 48;

Tensor allocate(const Described& described, const Tensor& like) {
  const std::span<const int64_t> sizes(described.outputSizes.data(), described.rank);
  const std::array<int64_t, 5> strides = channelsLastStrides(sizes);
  AtenTensorHandle made = nullptr;
  checkTorch(aoti_torch_empty_strided(static_cast<int64_t>(described.rank), sizes.data(), strides.data(), described.outputType,
                                      like.deviceType(), like.deviceIndex(), &made));
  return Tensor(made);
}

Tensors addressesOf(const Arguments& arguments) {
  const auto address = [](const Tensor& tensor) { return tensor ? tensor.data() : nullptr; };
  Tensors tensors;
  tensors.input = address(arguments.x);
  tensors.filter = address(arguments.w);
  tensors.bias = address(arguments.bias);
  tensors.residual = address(arguments.residual);
  tensors.channel_scale = address(arguments.channelScale);
  tensors.output = address(arguments.out);
  return tensors;
}

void runOnGpu(const Described& described, const Arguments& arguments) {
  const int32_t index = arguments.x.deviceIndex();
  bindingFor(described.problem, cudaDevice(index), arguments.plan, addressesOf(arguments))->run(currentCudaStream(index));
}

// An emulated device has memory of its own.
void runEmulated(const Described& described, const Arguments& arguments) {
  OpenDevice& open = emulatedDevice();
  Device& device = open.device;
  Convolution problem;
  static_cast<shiftconv_problem_t&>(problem) = described.problem;
  const TensorBytes bytes = problem.tensorBytes();
  const std::shared_ptr<const Plan> plan = planFor(problem, open, arguments.plan);
  const Tensors host = addressesOf(arguments);
  const auto copied = [&](const void* from, size_t size) -> std::optional<Memory> {
    if (size == 0) return std::nullopt;
    Memory memory(device, size);
    device.copyToDevice(memory.get(), from, size);
    return memory;
  };
  const auto input = copied(host.input, bytes.input), filter = copied(host.filter, bytes.filter);
  const auto bias = copied(host.bias, bytes.bias), residual = copied(host.residual, bytes.residual);
  const auto channelScale = copied(host.channel_scale, bytes.channel_scale);
  const auto output = copied(host.output, bytes.output);  // gaps between pixels keep what they hold
  const auto address = [](const std::optional<Memory>& memory) { return memory ? memory->get() : nullptr; };
  Tensors tensors;
  tensors.input = address(input), tensors.filter = address(filter), tensors.bias = address(bias);
  tensors.residual = address(residual), tensors.channel_scale = address(channelScale), tensors.output = address(output);
  plan->run(device, tensors);
  device.copyToHost(host.output, tensors.output, bytes.output);
  device.synchronize();
}

using Run = void (*)(const Described&, const Arguments&);

void checkArgumentCount(uint64_t arguments) {
  if (arguments != kArguments) throw std::runtime_error("shiftconv: the operator was defined by another version of the library");
}

// A sentence of the library says nothing of who speaks.
void runAs(Run run, const Described& described, const Arguments& arguments) {
  try {
    run(described, arguments);
  } catch (const Error& error) {
    throw std::runtime_error(std::string("shiftconv: ") + error.what());
  }
}

template <Run kRun>
void conv(StableIValue* stack, uint64_t arguments, uint64_t) {
  checkArgumentCount(arguments);
  Arguments given(stack, Output::Returned);
  const Described described = describe(given);
  given.out = allocate(described, given.x);
  runAs(kRun, described, given);
  stack[0] = reinterpret_cast<StableIValue>(given.out.release());
}

template <Run kRun>
void convOut(StableIValue* stack, uint64_t arguments, uint64_t) {
  checkArgumentCount(arguments);
  const Arguments given(stack, Output::Given);
  runAs(kRun, describe(given), given);
}

// PyTorch keeps the libraries for the life of the process.
struct Registration {
  Registration() {
    TorchLibraryHandle definitions = nullptr;
    checkTorch(aoti_torch_library_init_fragment("shiftconv", __FILE__, __LINE__, &definitions));
    checkTorch(aoti_torch_library_def(definitions, kConvSchema));
    checkTorch(aoti_torch_library_def(definitions, kConvOutSchema));
    implement("CPU", conv<runEmulated>, convOut<runEmulated>);
    implement("CUDA", conv<runOnGpu>, convOut<runOnGpu>);
  }

  using Kernel = void (*)(StableIValue*, uint64_t, uint64_t);
  static void implement(const char* key, Kernel returning, Kernel writing) {
    TorchLibraryHandle library = nullptr;
    checkTorch(aoti_torch_library_init_impl("shiftconv", key, __FILE__, __LINE__, &library));
    checkTorch(torch_library_impl(library, "conv", returning, kTorchVersion));
    checkTorch(torch_library_impl(library, "conv_out", writing, kTorchVersion));
  }
};
const Registration registration;

}  // namespace
}  // namespace shiftconv::torch_glue

// What shiftconv.torch asks for by name.
extern "C" {
__attribute__((visibility("default"))) void shiftconv_torch_keep_bindings(size_t most) {
  shiftconv::torch_glue::keepBindings(most);
}
__attribute__((visibility("default"))) size_t shiftconv_torch_kept_bindings() { return shiftconv::torch_glue::keptBindings(); }
__attribute__((visibility("default"))) size_t shiftconv_torch_kept_plans() { return shiftconv::torch_glue::keptPlans(); }
}
