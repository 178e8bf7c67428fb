#include "conv/problem/validation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace shiftconv {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
constexpr int64_t kLargestTensorBytes = int64_t{1} << 47;  // half of a 48-bit address space
constexpr int64_t kLargestBlock = 1024;

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

Status checkRanges(const Problem& p) {
  struct Field {
    const char* name;
    int64_t value;
    int64_t minimum;
  };
  for (const Field& field : std::initializer_list<Field>{{"n", p.n, 1},
                                                         {"d", p.d, 1},
                                                         {"h", p.h, 1},
                                                         {"w", p.w, 1},
                                                         {"c", p.c, 1},
                                                         {"k", p.k, 1},
                                                         {"t", p.t, 1},
                                                         {"r", p.r, 1},
                                                         {"s", p.s, 1},
                                                         {"groups", p.groups, 1},
                                                         {"pad_front", p.padFront, 0},
                                                         {"pad_back", p.padBack, 0},
                                                         {"pad_top", p.padTop, 0},
                                                         {"pad_bottom", p.padBottom, 0},
                                                         {"pad_left", p.padLeft, 0},
                                                         {"pad_right", p.padRight, 0},
                                                         {"stride_d", p.strideD, 1},
                                                         {"stride_h", p.strideH, 1},
                                                         {"stride_w", p.strideW, 1},
                                                         {"dilation_d", p.dilationD, 1},
                                                         {"dilation_h", p.dilationH, 1},
                                                         {"dilation_w", p.dilationW, 1},
                                                         {"upsample_d", p.upsampleD, 1},
                                                         {"upsample_h", p.upsampleH, 1},
                                                         {"upsample_w", p.upsampleW, 1},
                                                         {"split_c", p.splitC, 0},
                                                         {"split_d", p.splitD, 0},
                                                         {"input_pixel_pitch", p.inputPixelPitch, 0},
                                                         {"second_pixel_pitch", p.secondPixelPitch, 0},
                                                         {"output_pixel_pitch", p.outputPixelPitch, 0},
                                                         {"residual_pixel_pitch", p.residualPixelPitch, 0},
                                                         {"output_padding_d", p.outputPaddingD, 0},
                                                         {"output_padding_h", p.outputPaddingH, 0},
                                                         {"output_padding_w", p.outputPaddingW, 0}})
    if (field.value < field.minimum || field.value > kLargest)
      return invalid(fmt::format("{} must be in {}..{}, but is {}", field.name, field.minimum, kLargest, field.value));
  for (const auto& [name, value] :
       {std::pair{"d * upsample_d", p.imageD()}, {"h * upsample_h", p.imageH()}, {"w * upsample_w", p.imageW()}})
    if (value > kLargest) return invalid(fmt::format("{} must be at most {}, but is {}", name, kLargest, value));
  if (p.transposed && p.isUpsampled())
    return invalid(
        fmt::format("a transposed convolution must have upsample_d, upsample_h and upsample_w of 1, but they are {}, {} and {}",
                    p.upsampleD, p.upsampleH, p.upsampleW));
  if (p.c % p.groups != 0) return invalid(fmt::format("groups must divide c, but groups is {} and c is {}", p.groups, p.c));
  if (p.k % p.groups != 0) return invalid(fmt::format("groups must divide k, but groups is {} and k is {}", p.groups, p.k));
  return {};
}

Status checkTypes(const Problem& p) {
  struct Typed {
    const char* name;
    DataType type;
    const char* allowed;
    bool (*fits)(DataType);
  };
  const auto operand = [](DataType type) { return type != DataType::S32 && !isScaleFactor(type); };
  const auto result = [](DataType type) { return !isScaleFactor(type); };
  const auto wide = [](DataType type) { return type == DataType::F16 || type == DataType::BF16 || type == DataType::F32; };
  const char* operands = "a type of numbers other than S32: F16 (0) to U8 (9)";
  const char* results = "a type of numbers: F16 (0) to S32 (10)";
  const char* wideTypes = "F16 (0), BF16 (1) or F32 (2)";
  for (const Typed& one :
       {Typed{"input_type", p.inputType, operands, operand}, Typed{"filter_type", p.filterType, operands, operand},
        Typed{"output_type", p.outputType, results, result}, Typed{"bias_type", p.biasType, wideTypes, wide},
        Typed{"residual_type", p.residualType, results, result}}) {
    const auto value = static_cast<int>(one.type);
    if (value < 0 || value >= kDataTypes || !one.fits(one.type))
      return invalid(fmt::format("{} must be {}, but is {}", one.name, one.allowed, value));
  }
  if (isInteger(p.inputType) != isInteger(p.filterType))
    return invalid(fmt::format("input_type and filter_type must be both integers or both floating-point, but are {} and {}",
                               nameOf(p.inputType), nameOf(p.filterType)));
  if (!p.hasBias && p.biasType != DataType::F32)
    return invalid(
        fmt::format("bias_type must be F32 (2) without a bias (has_bias is 0), but is {}", static_cast<int>(p.biasType)));
  if (!p.hasResidual() && (p.residualType != DataType::F16 || p.residualPixelPitch != 0))
    return invalid("residual_type and residual_pixel_pitch must be 0 without a residual (beta is 0)");
  if (!p.hasResidual() && p.residualLast) return invalid("residual_last must be 0 without a residual (beta is 0)");
  const auto compute = static_cast<int>(p.compute);
  if (compute < 0 || compute >= kComputes)
    return invalid(fmt::format("compute must be DEFAULT (0), TF32 (1) or F16 (2), but is {}", compute));
  if (p.compute == Compute::TF32 && (p.inputType != DataType::F32 || p.filterType != DataType::F32))
    return invalid("compute TF32 (1) is for input_type and filter_type F32 (2)");
  if (p.compute == Compute::F16 && isInteger(p.inputType)) return invalid("compute F16 (2) is not for integer types");
  return {};
}

Status checkScale(const char* name, const BlockScale& scale, const char* typeName, DataType element) {
  if (scale.blockSize < 0 || scale.blockSize > kLargestBlock)
    return invalid(fmt::format("{}.block_size must be in 0..{}, but is {}", name, kLargestBlock, scale.blockSize));
  if (scale.blockSize == 0) {
    if (scale == BlockScale{}) return {};
    return invalid(fmt::format("{0}.type and {0}.order must be 0 without scale factors ({0}.block_size is 0)", name));
  }
  if (!isScaleFactor(scale.type))
    return invalid(fmt::format("{}.type must be UE8M0 (11) or UE4M3 (12), but is {}", name, static_cast<int>(scale.type)));
  if (scale.order != ScaleOrder::Plain && scale.order != ScaleOrder::Interleaved)
    return invalid(fmt::format("{}.order must be PLAIN (0) or INTERLEAVED (1), but is {}", name, static_cast<int>(scale.order)));
  if (isInteger(element) || bitsOf(element) > 8)
    return invalid(fmt::format("{} is for element types of 8 bits or less, but {} is {}", name, typeName, nameOf(element)));
  return {};
}

Status checkScales(const Problem& p) {
  if (Status status = checkScale("input_block_scale", p.inputScale, "input_type", p.inputType); !status.ok()) return status;
  if (Status status = checkScale("filter_block_scale", p.filterScale, "filter_type", p.filterType); !status.ok()) return status;
  if (Status status = checkScale("output_block_scale", p.outputScale, "output_type", p.outputType); !status.ok()) return status;
  for (const auto& [name, scale] : {std::pair{"input_block_scale", p.inputScale}, {"filter_block_scale", p.filterScale}})
    if (p.groups > 1 && scale.blockSize != 0 && p.groupChannels() % scale.blockSize != 0)
      return invalid(fmt::format("{}.block_size must divide c / groups with {} groups, but they are {} and {}", name, p.groups,
                                 scale.blockSize, p.groupChannels()));
  return {};
}

Status checkZeroPoint(const char* name, int32_t value, const char* typeName, DataType type) {
  if (value == 0) return {};
  const int low = type == DataType::S8 ? -128 : 0;
  const int high = type == DataType::S8 ? 127 : type == DataType::U8 ? 255 : 0;
  if (value >= low && value <= high) return {};
  return invalid(fmt::format("{} must be in {}..{} for {} {}, but is {}", name, low, high, typeName, nameOf(type), value));
}

Status checkEpilogue(const Problem& p) {
  if (Status status = checkZeroPoint("input_zero_point", p.inputZeroPoint, "input_type", p.inputType); !status.ok()) return status;
  if (Status status = checkZeroPoint("filter_zero_point", p.filterZeroPoint, "filter_type", p.filterType); !status.ok())
    return status;
  if (Status status = checkZeroPoint("output_zero_point", p.outputZeroPoint, "output_type", p.outputType); !status.ok())
    return status;
  for (const auto& [name, value] : {std::pair{"alpha", p.alpha},
                                    {"beta", p.beta},
                                    {"out_scale", p.outScale},
                                    {"activation_a", p.activationA},
                                    {"activation_b", p.activationB}})
    if (!std::isfinite(value)) return invalid(fmt::format("{} must be finite, but is {}", name, value));
  const auto activation = static_cast<int>(p.activation);
  if (activation < 0 || activation >= kActivations)
    return invalid(fmt::format("activation must be in NONE (0) .. TANH (9), but is {}", activation));
  const auto rounding = static_cast<int>(p.rounding);
  if (rounding < 0 || rounding >= kRoundings)
    return invalid(fmt::format("rounding must be ONCE (0) or SEPARATE (1), but is {}", rounding));
  if (p.rounding == Rounding::Separate && p.outputType != DataType::F16 && p.outputType != DataType::BF16 &&
      p.outputType != DataType::F32)
    return invalid(
        fmt::format("rounding SEPARATE (1) is for output_type F16 (0), BF16 (1) or F32 (2), but it is {}", nameOf(p.outputType)));
  const int read = parameterCount(p.activation);
  for (const auto& [name, value, isRead] :
       {std::tuple{"activation_a", p.activationA, read >= 1}, {"activation_b", p.activationB, read >= 2}})
    if (!isRead && (value != 0 || std::signbit(value)))  // the text of a problem leaves it out
      return invalid(
          fmt::format("activation {} does not read {}, which must be 0 then, but is {}", nameOf(p.activation), name, value));
  if (p.activation == Activation::Clamp && p.activationA > p.activationB)
    return invalid(
        fmt::format("activation clamp needs activation_a <= activation_b, but they are {} and {}", p.activationA, p.activationB));
  return {};
}

/// Tensors in NCHW are dense and of whole bytes.
Status checkLayouts(const Problem& p) {
  struct Tensor {
    const char* layout;
    Layout value;
    const char* type;
    DataType element;
    const char* pitch;
    int64_t pixelPitch;
    const char* scale;
    const BlockScale& blockScale;
  };
  for (const Tensor& tensor : {Tensor{"input_layout", p.inputLayout, "input_type", p.inputType, "input_pixel_pitch",
                                      p.inputPixelPitch, "input_block_scale", p.inputScale},
                               Tensor{"output_layout", p.outputLayout, "output_type", p.outputType, "output_pixel_pitch",
                                      p.outputPixelPitch, "output_block_scale", p.outputScale},
                               Tensor{"output_layout", p.outputLayout, "residual_type", p.residualType, "residual_pixel_pitch",
                                      p.residualPixelPitch, "output_block_scale", p.outputScale}}) {
    const auto value = static_cast<int>(tensor.value);
    if (value < 0 || value >= kLayouts)
      return invalid(fmt::format("{} must be NHWC (0) or NCHW (1), but is {}", tensor.layout, value));
    if (tensor.value == Layout::ChannelsLast) continue;
    if (tensor.pixelPitch != 0)
      return invalid(fmt::format("{} must be 0 with {} NCHW (1), but is {}", tensor.pitch, tensor.layout, tensor.pixelPitch));
    if (tensor.blockScale.blockSize != 0)
      return invalid(fmt::format("{} is for {} NHWC (0), but it is NCHW (1)", tensor.scale, tensor.layout));
    if (bitsOf(tensor.element) < 8)
      return invalid(fmt::format("{} NCHW (1) needs elements of whole bytes, but {} is {}", tensor.layout, tensor.type,
                                 nameOf(tensor.element)));
  }
  return {};
}

/// Two tensors, neither of them empty; in NHWC, and without block scales.
Status checkParts(const Problem& p) {
  for (const auto& [name, value, whole, extent] : {std::tuple{"split_c", p.splitC, "c", p.c}, {"split_d", p.splitD, "d", p.d}})
    if (value >= extent && value != 0)
      return invalid(fmt::format("{} must be 0 or below {} = {}, but is {}", name, whole, extent, value));
  if (p.splitC != 0 && p.splitD != 0)
    return invalid(fmt::format("one of split_c and split_d must be 0, but they are {} and {}", p.splitC, p.splitD));
  if (!p.isSplit()) {
    if (p.secondPixelPitch == 0) return {};
    return invalid(fmt::format("second_pixel_pitch must be 0 where split_c and split_d are, but is {}", p.secondPixelPitch));
  }
  if (p.inputLayout != Layout::ChannelsLast)
    return invalid(fmt::format("split_c and split_d must be 0 with input_layout NCHW (1), but are {} and {}", p.splitC, p.splitD));
  if (p.inputScale.blockSize != 0)
    return invalid(fmt::format("split_c and split_d must be 0 with input_block_scale, but are {} and {}", p.splitC, p.splitD));
  return {};
}

/// Output extent along one axis must be positive.
Status checkWindow(const char* axis, int64_t extent, int64_t before, int64_t after, const char* pads, int64_t dilation,
                   const char* dilationName, int64_t filter, const char* filterName) {
  const int64_t padded = extent + before + after;
  const int64_t reach = dilation * (filter - 1) + 1;
  if (reach <= padded) return {};
  return invalid(
      fmt::format("the output is empty: the filter reaches over {}*({}-1)+1 = {} pixels, but {} + {} is only {}; enlarge {} or the "
                  "padding, or use a smaller filter",
                  dilationName, filterName, reach, axis, pads, padded, axis));
}

/// What makes an extent of the output: "z", "p" or "q".
const char* sourcesOf(std::string_view extent) {
  if (extent == "z") return "d, upsample_d, t, stride_d, dilation_d, pad_front, pad_back and output_padding_d";
  if (extent == "p") return "h, upsample_h, r, stride_h, dilation_h, pad_top, pad_bottom and output_padding_h";
  return "w, upsample_w, s, stride_w, dilation_w, pad_left, pad_right and output_padding_w";
}

struct TransposedAxis {
  const char* output;        ///< "p"
  std::string_view padding;  ///< "output_padding_h"
  int64_t extent, outputPadding, stride, dilation;
};

/// The output of a transposed convolution, and the rows that are added after it: fewer than a stride or a dilation makes.
Status checkTransposed(const TransposedAxis& axis, bool transposed) {
  if (!transposed) {
    if (axis.outputPadding == 0) return {};
    return invalid(fmt::format("{} must be 0 unless the convolution is transposed, but is {}", axis.padding, axis.outputPadding));
  }
  if (const int64_t limit = std::max(axis.stride, axis.dilation); axis.outputPadding >= limit)
    return invalid(fmt::format("{0} must be below stride_{1} or dilation_{1}, {2}, but is {3}", axis.padding, axis.padding.back(),
                               limit, axis.outputPadding));
  if (axis.extent >= 1 && axis.extent <= kLargest) return {};
  return invalid(fmt::format("the output's extent {} must be in 1..{}, but is {}; it comes from {}", axis.output, kLargest,
                             axis.extent, sourcesOf(axis.output)));
}

struct Factor {
  const char* name;
  int64_t value;
};
/// The channels of a pixel, or the pitch where there is one.
Factor rowOf(const char* pitch, int64_t pitchValue, const char* channels, int64_t channelsValue) {
  return pitchValue != 0 ? Factor{pitch, pitchValue} : Factor{channels, channelsValue};
}

struct SizedTensor {
  const char* name;
  std::array<Factor, 5> factors;
  const char* typeName;
  DataType type;
  bool isThere = true, hasOutputExtents = false;
};

/// Whether its bytes are at most the largest that is addressed.
bool isAddressed(const SizedTensor& tensor) {
  int64_t bits = bitsOf(tensor.type);
  for (const Factor& factor : tensor.factors) {
    if (factor.value > 8 * kLargestTensorBytes / bits) return false;
    bits *= factor.value;
  }
  return true;
}

/// What makes the largest extent of an output.
std::string largestExtent(const Problem& p) {
  const int64_t largest = std::max({p.z(), p.p(), p.q()});
  const char* const axis = largest == p.p() ? "p" : largest == p.q() ? "q" : "z";
  return fmt::format("; {} = {} comes from {}", axis, largest, sourcesOf(axis));
}

Status checkSizes(const Problem& p) {
  const Factor inputRow = rowOf("input_pixel_pitch", p.inputPixelPitch, p.splitC != 0 ? "split_c" : "c", p.firstChannels());
  const Factor secondRow =
      rowOf("second_pixel_pitch", p.secondPixelPitch, p.splitC != 0 ? "(c - split_c)" : "c", p.secondChannels());
  const Factor outputRow = rowOf("output_pixel_pitch", p.outputPixelPitch, "k", p.k);
  const Factor residualRow = rowOf("residual_pixel_pitch", p.residualPixelPitch, "k", p.k);
  const Factor n{"n", p.n}, h{"h", p.h}, w{"w", p.w}, z{"z", p.z()}, y{"p", p.p()}, x{"q", p.q()};
  const std::array<SizedTensor, 5> tensors{
      {{"input", {n, {p.splitD != 0 ? "split_d" : "d", p.firstDepth()}, h, w, inputRow}, "input_type", p.inputType},
       {"second_input",
        {n, {p.splitD != 0 ? "(d - split_d)" : "d", p.secondDepth()}, h, w, secondRow},
        "input_type",
        p.inputType,
        p.isSplit()},
       {"filter",
        {{{"k", p.k}, {"t", p.t}, {"r", p.r}, {"s", p.s}, {"(c / groups)", p.groupChannels()}}},
        "filter_type",
        p.filterType},
       {"output", {n, z, y, x, outputRow}, "output_type", p.outputType, true, true},
       {"residual", {n, z, y, x, residualRow}, "residual_type", p.residualType, p.hasResidual(), true}}};
  for (const SizedTensor& tensor : tensors) {
    if (!tensor.isThere || isAddressed(tensor)) continue;
    std::vector<const char*> names;
    std::vector<int64_t> values;
    for (const Factor& factor : tensor.factors) names.push_back(factor.name), values.push_back(factor.value);
    return invalid(fmt::format("the {} tensor of {} = {} elements of {} {} exceeds {} bytes, the largest that is addressed{}",
                               tensor.name, fmt::join(names, " * "), fmt::join(values, " * "), tensor.typeName, nameOf(tensor.type),
                               kLargestTensorBytes, tensor.hasOutputExtents ? largestExtent(p) : ""));
  }
  for (const SizedTensor& tensor : tensors) {
    const Factor& row = tensor.factors.back();
    if (tensor.isThere && row.value * bitsOf(tensor.type) % 8 != 0)
      return invalid(fmt::format("{} of the {} must fill whole bytes, but is {} elements of {} {}", row.name, tensor.name,
                                 row.value, tensor.typeName, nameOf(tensor.type)));
  }
  return {};
}

}  // namespace

Status validate(const Problem& p) {
  for (const auto check : {checkRanges, checkTypes, checkScales, checkEpilogue, checkLayouts, checkParts})
    if (Status status = check(p); !status.ok()) return status;
  struct Pitch {
    const char* name;
    int64_t value;
    const char* least;
    int64_t minimum;
  };
  for (const Pitch& pitch :
       {Pitch{"input_pixel_pitch", p.inputPixelPitch, p.splitC != 0 ? "split_c" : "c", p.firstChannels()},
        Pitch{"second_pixel_pitch", p.secondPixelPitch, p.splitC != 0 ? "c - split_c" : "c", p.secondChannels()},
        Pitch{"output_pixel_pitch", p.outputPixelPitch, "k", p.k}, Pitch{"residual_pixel_pitch", p.residualPixelPitch, "k", p.k}})
    if (pitch.value != 0 && pitch.value < pitch.minimum)
      return invalid(
          fmt::format("{} must be 0 or at least {} = {}, but is {}", pitch.name, pitch.least, pitch.minimum, pitch.value));
  for (const TransposedAxis& axis : {TransposedAxis{"z", "output_padding_d", p.z(), p.outputPaddingD, p.strideD, p.dilationD},
                                     {"p", "output_padding_h", p.p(), p.outputPaddingH, p.strideH, p.dilationH},
                                     {"q", "output_padding_w", p.q(), p.outputPaddingW, p.strideW, p.dilationW}})
    if (Status status = checkTransposed(axis, p.transposed); !status.ok()) return status;
  if (p.transposed) return checkSizes(p);
  if (Status status =
          checkWindow("d", p.imageD(), p.padFront, p.padBack, "pad_front + pad_back", p.dilationD, "dilation_d", p.t, "t");
      !status.ok())
    return status;
  if (Status status =
          checkWindow("h", p.imageH(), p.padTop, p.padBottom, "pad_top + pad_bottom", p.dilationH, "dilation_h", p.r, "r");
      !status.ok())
    return status;
  if (Status status =
          checkWindow("w", p.imageW(), p.padLeft, p.padRight, "pad_left + pad_right", p.dilationW, "dilation_w", p.s, "s");
      !status.ok())
    return status;
  return checkSizes(p);
}

}  // namespace shiftconv
