// The exact convolution and its error bound for tests in Python: what the tests in C++ judge by, as one function.
#include <cstring>
#include <exception>
#include <string>

#include "tests/conv/convolution_case.hpp"

using namespace shiftconv;
using namespace shiftconv::tests;

namespace {

std::vector<std::byte> copyOf(const void* tensor, size_t bytes) {
  std::vector<std::byte> copy(bytes);
  if (bytes != 0) std::memcpy(copy.data(), tensor, bytes);
  return copy;
}

}  // namespace

/// `line` as parseCase reads it; `device`: a name as for shiftconv_device_open_named. The planner's choice for it says how products
/// are summed. Dense tensors, NULL where the problem has none. Writes N*Z*P*Q*K exact values before the conversion to the output
/// type, and how far a result may be from each. Returns NULL, or what is wrong.
extern "C" __attribute__((visibility("default"))) const char* reference_convolve(const char* line, const char* device,
                                                                                 const void* const* operands, double* value,
                                                                                 double* bound) {
  static thread_local std::string failure;
  try {
    ConvolutionCase test = parseCase(line);
    if (std::strstr(line, "| algorithm ") == nullptr) test.algorithm.clear();
    const TensorBytes bytes = test.problem.tensorBytes();
    CaseTensors tensors;
    tensors.input = copyOf(operands[0], bytes.input);
    tensors.filter = copyOf(operands[1], bytes.filter);
    tensors.bias = copyOf(operands[2], bytes.bias);
    tensors.residual = copyOf(operands[3], bytes.residual);
    tensors.channelScale = copyOf(operands[4], bytes.channel_scale);
    PlanOptions options = test.options();
    if (test.algorithm.empty()) options.algorithm = nullptr;
    const Plan plan(test.problem, Device(device).properties(), options);
    const reference::Expectation expected = expectationOf(test, tensors, plan);
    std::memcpy(value, expected.value.data(), expected.value.size() * sizeof(double));
    std::memcpy(bound, expected.bound.data(), expected.bound.size() * sizeof(double));
    return nullptr;
  } catch (const std::exception& error) {
    failure = error.what();
    return failure.c_str();
  }
}
