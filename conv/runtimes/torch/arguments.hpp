// The operators' schemas, and the problem that their arguments say.
#pragma once

#include <shiftconv/shiftconv.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "conv/runtimes/torch/settings.hpp"
#include "conv/runtimes/torch/tensor.hpp"

namespace shiftconv::torch_glue {

/// What follows the operator's name. A list has one number for all dimensions, or one for each; padding may also have two for each:
/// before, after. The second writes y, which torch.compile would not take by the name of out unless it were contiguous.
inline constexpr const char* kConvSchema =
    "(Tensor x, Tensor w, Tensor? bias=None, Tensor? residual=None, *, int[] stride=[1], int[] padding=[0], int[] dilation=[1], "
    "int groups=1, str activation=\"none\", float activation_a=0., float activation_b=0., Tensor? channel_scale=None, "
    "str compute=\"default\", str plan=\"\", bool residual_last=False, ScalarType? out_dtype=None) -> Tensor";
inline constexpr const char* kConvOutSchema =
    "(Tensor x, Tensor w, Tensor? bias=None, Tensor? residual=None, *, int[] stride=[1], int[] padding=[0], "
    "int[] dilation=[1], int groups=1, str activation=\"none\", float activation_a=0., float activation_b=0., "
    "Tensor? channel_scale=None, str compute=\"default\", str plan=\"\", bool residual_last=False, Tensor(a!) y) -> ()";
inline constexpr uint64_t kArguments = 16;

/// The same with everything that is no tensor in one text (settings.hpp), because PyTorch takes time for each argument: several
/// allocations for each list and text, given or not.
inline constexpr const char* kPreparedSchema =
    "(Tensor x, Tensor w, Tensor? bias, Tensor? residual, Tensor? channel_scale, str settings, ScalarType? out_dtype) -> Tensor";
inline constexpr const char* kPreparedOutSchema =
    "(Tensor x, Tensor w, Tensor? bias, Tensor? residual, Tensor? channel_scale, str settings, Tensor(a!) y) -> ()";
inline constexpr uint64_t kPreparedArguments = 7;

/// Likewise of x and second, joined along dimension `dim` of theirs: 1, the channels, or 2 of five, the depth. Neither is copied.
inline constexpr const char* kPairSchema =
    "(Tensor x, Tensor second, int dim, Tensor w, Tensor? bias, Tensor? residual, Tensor? channel_scale, str settings, "
    "ScalarType? out_dtype) -> Tensor";
inline constexpr const char* kPairOutSchema =
    "(Tensor x, Tensor second, int dim, Tensor w, Tensor? bias, Tensor? residual, Tensor? channel_scale, str settings, "
    "Tensor(a!) y) -> ()";
inline constexpr uint64_t kPairArguments = 9;

enum class Output { Returned, Given };

/// The tensors of a call.
struct Operands {
  /// Takes them over from the stack of a boxed kernel. The last argument is out or out_dtype.
  Operands(const StableIValue* stack, size_t channelScaleAt, size_t outAt, Output output);
  /// Those of kPairSchema.
  static Operands ofPair(const StableIValue* stack, Output output);

  Tensor x, second, w, bias, residual, channelScale, out;  ///< out: given, or to be allocated
  int64_t dimension = 1;                                   ///< along which second, if there is one, follows x
  std::optional<int32_t> outType;

  std::array<const Tensor*, 7> all() const { return {&x, &second, &w, &bias, &residual, &channelScale, &out}; }

 private:
  Operands() = default;
  void takeOutput(StableIValue value, Output output);
};

/// A problem with the shape that PyTorch gives its output.
struct Described {
  shiftconv_problem_t problem;
  std::array<int64_t, 5> outputSizes;  ///< N, K and as many extents as x has
  size_t rank;
  int32_t outputType;  ///< PyTorch's number
};

/// Throws std::invalid_argument with a sentence that names the argument.
Described describe(const Operands& operands, const Settings& settings);

/// Strides of a dense tensor whose channels lie next to each other.
std::array<int64_t, 5> channelsLastStrides(std::span<const int64_t> sizes);

}  // namespace shiftconv::torch_glue
