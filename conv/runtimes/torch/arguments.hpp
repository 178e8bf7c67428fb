// The arguments of shiftconv::conv and shiftconv::conv_out, and the problem that they say.
#pragma once

#include <shiftconv/shiftconv.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "conv/runtimes/torch/tensor.hpp"

namespace shiftconv::torch_glue {

/// The schemas. A list has one number for all dimensions, or one for each; padding may also have two for each: before, after. The
/// second writes y, which torch.compile would not take by the name of out unless it were contiguous.
inline constexpr const char* kConvSchema =
    "conv(Tensor x, Tensor w, Tensor? bias=None, Tensor? residual=None, *, int[] stride=[1], int[] padding=[0], int[] "
    "dilation=[1], "
    "int groups=1, str activation=\"none\", float activation_a=0., float activation_b=0., Tensor? channel_scale=None, "
    "str compute=\"default\", str plan=\"\", ScalarType? out_dtype=None) -> Tensor";
inline constexpr const char* kConvOutSchema =
    "conv_out(Tensor x, Tensor w, Tensor? bias=None, Tensor? residual=None, *, int[] stride=[1], int[] padding=[0], "
    "int[] dilation=[1], int groups=1, str activation=\"none\", float activation_a=0., float activation_b=0., "
    "Tensor? channel_scale=None, str compute=\"default\", str plan=\"\", Tensor(a!) y) -> ()";
inline constexpr uint64_t kArguments = 15;

enum class Output { Returned, Given };

struct Arguments {
  /// Takes over everything on the stack of a boxed kernel.
  Arguments(StableIValue* stack, Output output);

  Tensor x, w, bias, residual, channelScale, out;  ///< out: given, or to be allocated
  Integers stride, padding, dilation;
  int64_t groups;
  std::string activation;
  double activationA, activationB;
  std::string compute, plan;  ///< plan: "", "algorithm" or "algorithm:options"
  std::optional<int32_t> outType;
};

/// A problem with the shape that PyTorch gives its output.
struct Described {
  shiftconv_problem_t problem;
  std::array<int64_t, 5> outputSizes;  ///< N, K and as many extents as x has
  size_t rank;
  int32_t outputType;  ///< PyTorch's number
};

/// Throws std::invalid_argument with a sentence that names the argument.
Described describe(const Arguments& arguments);

/// Strides of a dense tensor whose channels lie next to each other.
std::array<int64_t, 5> channelsLastStrides(std::span<const int64_t> sizes);

}  // namespace shiftconv::torch_glue
