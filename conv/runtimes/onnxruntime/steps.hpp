// What a claimed node computes, in the library's terms. Extents may still be unknown.
#pragma once

#include <shiftconv/shiftconv.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "conv/runtimes/onnxruntime/graph.hpp"

namespace shiftconv::runtimes::onnx {

struct Activation {
  int32_t kind = SHIFTCONV_ACTIVATION_NONE;
  float a = 0, b = 0;
};

enum class AutoPad : uint8_t { Explicit, SameUpper, SameLower };

/// Of convolutions and pools; a number for each spatial axis, `pads` two: all those in front, then all those behind.
struct Window {
  std::vector<int64_t> taps, strides, dilations, pads;
  AutoPad autoPad = AutoPad::Explicit;
  bool ceil = false;  ///< windows that are partly after the padding count, too
};

/// Inputs: the activations, and the residual where there is one. A Gemm is one, too: of pixels [M, K].
struct Convolution {
  int filter = kAbsent, bias = kAbsent;  ///< constants; [K, C/groups, taps...]
  Window window;
  int64_t groups = 1;
  bool matrix = false;  ///< a Gemm; the filter is [K, C], or [C, K] if it is transposed
  bool transposed = false;
  float alpha = 1;
  Activation activation;
  bool residualLast = false;  ///< the residual is added after the activation
};
struct Pool {
  Window window;
  bool average = false, whole = false, countPadding = false;  ///< whole: over all pixels of an image
  bool flat = false;                                          ///< whole, without spatial axes in the result
};
/// clamp(factor * x + summand, 0, 1)
struct HardSigmoid {
  float factor = 0, summand = 0;
};
/// Of one or two tensors, whose channels may be shared by all pixels of an image.
struct Pointwise {
  int32_t operation = SHIFTCONV_OPERATION_NONE;
  Activation activation;
  int constant = kAbsent;  ///< instead of a second tensor: one number for each channel
};
/// With constant statistics, where no convolution before it has taken it.
struct BatchNorm {
  int scale = kAbsent, bias = kAbsent, mean = kAbsent, variance = kAbsent;  ///< constants of C numbers
  float epsilon = 0;
  Activation activation;
};
/// Some channels of a tensor.
struct Slice {
  int64_t begin = 0, end = 0;
};
/// Of each image, group of channels by group.
struct Normalize {
  int scale = kAbsent, bias = kAbsent;  ///< constants of C numbers
  int64_t groups = 0;                   ///< 0: as many as channels
  float epsilon = 0;
  Activation activation;
};
struct Resize {
  std::vector<int64_t> factors;  ///< of the spatial axes: each pixel is repeated
};
struct Transpose {
  std::vector<int64_t> permutation;
};
struct Cast {};
/// Elements in ONNX's order with other extents: 0 keeps one, -1 is what remains. Or flattened from an axis on. Or with those of the
/// second input.
struct Reshape {
  std::vector<int64_t> shape;
  std::optional<int64_t> flattenFrom;
  int like = kAbsent;
};
/// Computes nothing: the extents of a tensor, for nodes Reshape of the same island.
struct Extents {};
struct Concat {};  ///< along the channels

struct Step {
  std::string name;  ///< of the node; of those that were fused, the last
  std::variant<Convolution, Pool, HardSigmoid, Pointwise, BatchNorm, Normalize, Slice, Resize, Transpose, Cast, Reshape, Extents,
               Concat>
      what;
  std::vector<int> inputs;  ///< of Graph::values
  int output = kAbsent;
};

/// The constant that has to fit to a step's input: a convolution's filter, a normalisation's scale, a pointwise operation's second
/// operand; else kAbsent.
int constantOf(const Step& step);

/// The nodes that read the extents that a node Shape gives, where all of them take it as the shape of a Reshape; else nothing.
std::vector<size_t> reshapesOf(const Graph& graph, const Node& shape);

/// The steps of a node, one for each output; none where the library has none, with one sentence about what is in the way.
std::vector<Step> stepsOf(const Graph& graph, const Node& node, std::string& refusal);

}  // namespace shiftconv::runtimes::onnx
