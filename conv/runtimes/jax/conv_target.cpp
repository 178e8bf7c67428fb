// Targets of the XLA foreign function interface: one convolution on a GPU, or on the emulated device for arrays on the CPU.
//
//   operands   input, filter, and of bias, residual and channel scale those that the problem has, in this order; dense
//   results    output
//   attribute  problem: a line for PlanningDevice::plan
//
// Shapes are those of the problem; XLA's buffers have to have its types and sizes. A call that fails gives a status with the
// library's sentence.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conv/runtimes/jax/plans.hpp"
#include "xla/ffi/api/ffi.h"

namespace shiftconv::runtimes::jax {
namespace {

namespace ffi = xla::ffi;

ffi::ErrorCode codeOf(shiftconv_status_t status) {
  switch (status) {
    case SHIFTCONV_STATUS_INVALID_ARGUMENT:
      return ffi::ErrorCode::kInvalidArgument;
    case SHIFTCONV_STATUS_UNSUPPORTED:
      return ffi::ErrorCode::kUnimplemented;
    case SHIFTCONV_STATUS_OUT_OF_MEMORY:
      return ffi::ErrorCode::kResourceExhausted;
    case SHIFTCONV_STATUS_NOT_FOUND:
      return ffi::ErrorCode::kNotFound;
    default:
      return ffi::ErrorCode::kInternal;
  }
}

std::optional<int32_t> typeOf(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F16:
      return SHIFTCONV_TYPE_F16;
    case ffi::DataType::BF16:
      return SHIFTCONV_TYPE_BF16;
    case ffi::DataType::F32:
      return SHIFTCONV_TYPE_F32;
    case ffi::DataType::F8E4M3FN:
      return SHIFTCONV_TYPE_E4M3;
    case ffi::DataType::F8E5M2:
      return SHIFTCONV_TYPE_E5M2;
    case ffi::DataType::S8:
      return SHIFTCONV_TYPE_S8;
    case ffi::DataType::U8:
      return SHIFTCONV_TYPE_U8;
    case ffi::DataType::S32:
      return SHIFTCONV_TYPE_S32;
    default:
      return std::nullopt;
  }
}

[[noreturn]] void refuse(const std::string& sentence) { throw Error(SHIFTCONV_STATUS_INVALID_ARGUMENT, sentence); }

void checkBuffer(const char* name, const ffi::AnyBuffer& buffer, int32_t type, size_t bytes) {
  if (typeOf(buffer.element_type()) != type) refuse(std::string(name) + " has another element type than the problem says");
  if (buffer.size_bytes() != bytes)
    refuse(std::string(name) + " has " + std::to_string(buffer.size_bytes()) + " bytes, but the problem needs " +
           std::to_string(bytes));
}

struct Operand {
  const char* name;
  int32_t type;
  size_t bytes;  ///< 0: the problem has none
};

/// In the order of Addresses, without the output.
std::array<Operand, 5> operandsOf(const PlannedProblem& planned) {
  const Convolution& p = planned.problem();
  const TensorBytes& bytes = planned.bytes();
  return {{{"x", p.input_type, bytes.input},
           {"w", p.filter_type, bytes.filter},
           {"bias", p.bias_type, bytes.bias},
           {"residual", p.residual_type, bytes.residual},
           {"channel_scale", SHIFTCONV_TYPE_F32, bytes.channel_scale}}};
}

/// Checks everything that XLA hands over.
Addresses addressesOf(const PlannedProblem& planned, ffi::RemainingArgs& arguments, ffi::RemainingRets& results) {
  Addresses addresses{};
  size_t used = 0, at = 0;
  for (const Operand& operand : operandsOf(planned)) {
    const size_t place = at++;
    if (operand.bytes == 0) continue;
    const auto buffer = arguments.get<ffi::AnyBuffer>(used++);
    if (buffer.has_error()) refuse("the call lacks the operand " + std::string(operand.name));
    checkBuffer(operand.name, buffer.value(), operand.type, operand.bytes);
    addresses[place] = buffer->untyped_data();
  }
  if (arguments.size() != used)
    refuse("the call has " + std::to_string(arguments.size()) + " operands, but the problem " + std::to_string(used));
  auto output = results.get<ffi::AnyBuffer>(0);
  if (results.size() != 1 || output.has_error()) refuse("the call has " + std::to_string(results.size()) + " results instead of 1");
  checkBuffer("the result", *output.value(), planned.problem().output_type, planned.bytes().output);
  addresses.back() = output.value()->untyped_data();
  return addresses;
}

template <class Body>
ffi::Error boundary(Body&& body) noexcept {
  try {
    body();
    return ffi::Error::Success();
  } catch (const Error& error) {
    return ffi::Error(codeOf(error.status()), std::string("shiftconv.jax.conv: ") + error.what());
  } catch (const std::exception& exception) {
    return ffi::Error::Internal(exception.what());
  }
}

ffi::Error onGpu(void* stream, int32_t ordinal, std::string_view problem, ffi::RemainingArgs arguments,
                 ffi::RemainingRets results) {
  return boundary([&] {
    PlannedProblem& planned = gpu(ordinal).plan(problem);
    planned.bindingTo(addressesOf(planned, arguments, results))->run(stream);
  });
}

/// The emulated device has a memory of its own: everything is copied there and back.
ffi::Error onEmulatedDevice(std::string_view problem, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  return boundary([&] {
    PlanningDevice& owner = emulated();
    PlannedProblem& planned = owner.plan(problem);
    Addresses addresses = addressesOf(planned, arguments, results);
    std::vector<Memory> memory;
    size_t at = 0;
    for (const Operand& operand : operandsOf(planned)) {
      const void*& address = addresses[at++];
      if (operand.bytes == 0) continue;
      memory.emplace_back(owner.device(), operand.bytes);
      owner.device().copyToDevice(memory.back().get(), address, operand.bytes);
      address = memory.back().get();
    }
    const Memory output(owner.device(), planned.bytes().output);
    auto* const result = const_cast<void*>(std::exchange(addresses.back(), output.get()));
    planned.run(addresses);
    owner.device().copyToHost(result, output.get(), planned.bytes().output);
    owner.device().synchronize();
  });
}

}  // namespace
}  // namespace shiftconv::runtimes::jax

extern "C" {
__attribute__((visibility("default"))) XLA_FFI_Error* shiftconv_jax_conv_cuda(XLA_FFI_CallFrame*);
__attribute__((visibility("default"))) XLA_FFI_Error* shiftconv_jax_conv_cpu(XLA_FFI_CallFrame*);
}

// A run only enqueues launches, so XLA may record it in a command buffer (a CUDA graph).
XLA_FFI_DEFINE_HANDLER_SYMBOL(shiftconv_jax_conv_cuda, shiftconv::runtimes::jax::onGpu,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::PlatformStream<void*>>()
                                  .Ctx<xla::ffi::DeviceOrdinal>()
                                  .Attr<std::string_view>("problem")
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {xla::ffi::Traits::kCmdBufferCompatible});

XLA_FFI_DEFINE_HANDLER_SYMBOL(shiftconv_jax_conv_cpu, shiftconv::runtimes::jax::onEmulatedDevice,
                              xla::ffi::Ffi::Bind().Attr<std::string_view>("problem").RemainingArgs().RemainingRets());
