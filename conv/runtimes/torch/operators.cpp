// The operators shiftconv::conv and shiftconv::conv_out for CPU tensors (on the emulated device) and CUDA tensors; _prepared and
// _prepared_out, which are the same for callers in a hurry; and _pair and _pair_out, which read x in two tensors. Their fake
// kernels and the refusal of gradients are registered in Python.
#include <shiftconv/shiftconv.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "conv/runtimes/torch/arguments.hpp"
#include "conv/runtimes/torch/calls.hpp"
#include "conv/runtimes/torch/devices.hpp"
#include "conv/runtimes/torch/plans.hpp"
#include "conv/runtimes/torch/settings.hpp"
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

Tensors addressesOf(const Operands& operands) {
  const auto address = [](const Tensor& tensor) { return tensor ? tensor.data() : nullptr; };
  Tensors tensors;
  tensors.input = address(operands.x);
  tensors.second_input = address(operands.second);
  tensors.filter = address(operands.w);
  tensors.bias = address(operands.bias);
  tensors.residual = address(operands.residual);
  tensors.channel_scale = address(operands.channelScale);
  tensors.output = address(operands.out);
  return tensors;
}

/// Bytes from PyTorch's allocator, which knows of streams and captures: given back when the call returns, they are used again only
/// after its launches. Equal calls mostly get equal addresses, so that bindings are found.
Tensor allocateWorkspace(size_t bytes, const Tensor& like) {
  const int64_t size = static_cast<int64_t>(bytes), stride = 1;
  AtenTensorHandle made = nullptr;
  checkTorch(aoti_torch_empty_strided(1, &size, &stride, aoti_torch_dtype_uint8(), like.deviceType(), like.deviceIndex(), &made));
  return Tensor(made);
}

void runOnGpu(const Call& call, const Operands& operands) {
  const int32_t index = operands.x.deviceIndex();
  OpenDevice& device = cudaDevice(index);
  Tensors tensors = addressesOf(operands);
  Tensor workspace;
  if (const size_t bytes = workspaceBytesOf(call, device); bytes != 0) {
    workspace = allocateWorkspace(bytes, operands.x);
    tensors.workspace = workspace.data();
  }
  bindingFor(call, device, tensors)->run(currentCudaStream(index));
}

// An emulated device has memory of its own.
void runEmulated(const Call& call, const Operands& operands) {
  OpenDevice& open = emulatedDevice();
  Device& device = open.device;
  Convolution problem;
  static_cast<shiftconv_problem_t&>(problem) = call.described.problem;
  const TensorBytes bytes = problem.tensorBytes();
  const std::shared_ptr<const Plan> plan = planFor(problem, open, call.plan);
  const Tensors host = addressesOf(operands);
  const auto copied = [&](const void* from, size_t size) -> std::optional<Memory> {
    if (size == 0) return std::nullopt;
    Memory memory(device, size);
    device.copyToDevice(memory.get(), from, size);
    return memory;
  };
  const auto input = copied(host.input, bytes.input), second = copied(host.second_input, bytes.second_input);
  const auto filter = copied(host.filter, bytes.filter);
  const auto bias = copied(host.bias, bytes.bias), residual = copied(host.residual, bytes.residual);
  const auto channelScale = copied(host.channel_scale, bytes.channel_scale);
  const auto output = copied(host.output, bytes.output);  // gaps between pixels keep what they hold
  const auto address = [](const std::optional<Memory>& memory) { return memory ? memory->get() : nullptr; };
  Tensors tensors;
  tensors.input = address(input), tensors.second_input = address(second);
  tensors.filter = address(filter), tensors.bias = address(bias);
  tensors.residual = address(residual), tensors.channel_scale = address(channelScale), tensors.output = address(output);
  const Memory workspace(device, plan->workspaceBytes());
  tensors.workspace = workspace.get();
  plan->run(device, tensors);
  device.copyToHost(host.output, tensors.output, bytes.output);
  device.synchronize();
}

using Run = void (*)(const Call&, const Operands&);

void checkArgumentCount(uint64_t arguments, uint64_t right) {
  if (arguments != right) throw std::runtime_error("shiftconv: the operator was defined by another version of the library");
}

// A sentence of the library says nothing of who speaks.
void runAs(Run run, const Call& call, const Operands& operands) {
  try {
    run(call, operands);
  } catch (const Error& error) {
    throw std::runtime_error(std::string("shiftconv: ") + error.what());
  }
}

/// Allocates the output where it is to be returned, into stack[0].
template <Run kRun, Output kOutput>
void finish(StableIValue* stack, const Call& call, Operands& operands) {
  if (kOutput == Output::Returned) operands.out = allocate(call.described, operands.x);
  runAs(kRun, call, operands);
  if (kOutput == Output::Returned) stack[0] = reinterpret_cast<StableIValue>(operands.out.release());
}

template <Run kRun, Output kOutput>
void conv(StableIValue* stack, uint64_t arguments, uint64_t) {
  checkArgumentCount(arguments, kArguments);
  Operands operands(stack, 11, 15, kOutput);
  const Settings settings(stack);
  const CallKey key(operands, bytesOf(settings));
  std::shared_ptr<const Call> call = findCall(key);
  if (!call) call = addCall(key, operands, settings);
  finish<kRun, kOutput>(stack, *call, operands);
}

template <Run kRun, Output kOutput>
void runPrepared(StableIValue* stack, Operands operands, const std::string& settings) {
  const CallKey key(operands, settings);
  std::shared_ptr<const Call> call = findCall(key);
  if (!call) call = addCall(key, operands, parseSettings(settings));
  finish<kRun, kOutput>(stack, *call, operands);
}

template <Run kRun, Output kOutput>
void prepared(StableIValue* stack, uint64_t arguments, uint64_t) {
  checkArgumentCount(arguments, kPreparedArguments);
  Operands operands(stack, 4, 6, kOutput);
  runPrepared<kRun, kOutput>(stack, std::move(operands), takeText(stack[5]));
}

template <Run kRun, Output kOutput>
void pair(StableIValue* stack, uint64_t arguments, uint64_t) {
  checkArgumentCount(arguments, kPairArguments);
  Operands operands = Operands::ofPair(stack, kOutput);
  runPrepared<kRun, kOutput>(stack, std::move(operands), takeText(stack[7]));
}

/// What a call of conv_out or _prepared_out costs in PyTorch itself.
void nothing(StableIValue* stack, uint64_t arguments, uint64_t) {
  checkArgumentCount(arguments, kArguments);
  const Operands operands(stack, 11, 15, Output::Given);
  const Settings settings(stack);
}
void nothingPrepared(StableIValue* stack, uint64_t arguments, uint64_t) {
  checkArgumentCount(arguments, kPreparedArguments);
  const Operands operands(stack, 4, 6, Output::Given);
  const std::string settings = takeText(stack[5]);
}

/// All that a call of _prepared_out does on the host, but the launch.
void look(const Call& call, const Operands& operands) { isBound(call, addressesOf(operands)); }

using Kernel = void (*)(StableIValue*, uint64_t, uint64_t);
struct Operator {
  const char* name;
  const char* schema;
  Kernel cpu, cuda;
};
constexpr Output kReturned = Output::Returned, kGiven = Output::Given;
constexpr std::array kOperators{
    Operator{"conv", kConvSchema, conv<runEmulated, kReturned>, conv<runOnGpu, kReturned>},
    Operator{"conv_out", kConvOutSchema, conv<runEmulated, kGiven>, conv<runOnGpu, kGiven>},
    Operator{"_prepared", kPreparedSchema, prepared<runEmulated, kReturned>, prepared<runOnGpu, kReturned>},
    Operator{"_prepared_out", kPreparedOutSchema, prepared<runEmulated, kGiven>, prepared<runOnGpu, kGiven>},
    Operator{"_pair", kPairSchema, pair<runEmulated, kReturned>, pair<runOnGpu, kReturned>},
    Operator{"_pair_out", kPairOutSchema, pair<runEmulated, kGiven>, pair<runOnGpu, kGiven>},
    // For bench/runtimes/call only.
    Operator{"_nothing", kConvOutSchema, nothing, nothing},
    Operator{"_nothing_prepared", kPreparedOutSchema, nothingPrepared, nothingPrepared},
    Operator{"_look", kPreparedOutSchema, prepared<look, kGiven>, prepared<look, kGiven>},
};

// PyTorch keeps the libraries for the life of the process.
struct Registration {
  Registration() {
    TorchLibraryHandle definitions = nullptr, cpu = nullptr, cuda = nullptr;
    checkTorch(aoti_torch_library_init_fragment("shiftconv", __FILE__, __LINE__, &definitions));
    checkTorch(aoti_torch_library_init_impl("shiftconv", "CPU", __FILE__, __LINE__, &cpu));
    checkTorch(aoti_torch_library_init_impl("shiftconv", "CUDA", __FILE__, __LINE__, &cuda));
    for (const Operator& one : kOperators) {
      checkTorch(aoti_torch_library_def(definitions, (std::string(one.name) + one.schema).c_str()));
      checkTorch(torch_library_impl(cpu, one.name, one.cpu, kTorchVersion));
      checkTorch(torch_library_impl(cuda, one.name, one.cuda, kTorchVersion));
    }
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
