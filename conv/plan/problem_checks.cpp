#include "conv/plan/problem_checks.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace shiftconv {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
constexpr int64_t kLargestTensorBytes = int64_t{1} << 47;  // half of a 48-bit address space

struct Field {
  const char* name;
  int64_t value;
  int64_t minimum;
};

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

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

/// rows * pitch * size, or -1 when that exceeds the limit.
int64_t boundedBytes(std::array<int64_t, 3> rows, int64_t pitch, int64_t size) {
  int64_t bytes = size;
  for (int64_t factor : {rows[0], rows[1], rows[2], pitch}) {
    if (factor > kLargestTensorBytes / bytes) return -1;
    bytes *= factor;
  }
  return bytes;
}

Status checkSizes(const Problem& p) {
  struct Tensor {
    const char* name;
    const char* shape;
    int64_t bytes;
  };
  const int64_t inputSize = bytesOf(p.inputType), outputSize = bytesOf(p.outputType);
  for (const Tensor& tensor :
       {Tensor{"input", "n*h*w*input_pixel_pitch", boundedBytes({p.n, p.h, p.w}, p.inputPitch(), inputSize)},
        Tensor{"filter", "k*r*s*c", boundedBytes({p.k, p.r, p.s}, p.c, inputSize)},
        Tensor{"output", "n*p*q*output_pixel_pitch", boundedBytes({p.n, p.p(), p.q()}, p.outputPitch(), outputSize)}})
    if (tensor.bytes < 0)
      return invalid(fmt::format("the {} tensor ({}) exceeds {} bytes, the largest that is addressed", tensor.name, tensor.shape,
                                 kLargestTensorBytes));
  return {};
}

}  // namespace

Status validate(const Problem& p) {
  for (const Field& field : std::initializer_list<Field>{{"n", p.n, 1},
                                                         {"h", p.h, 1},
                                                         {"w", p.w, 1},
                                                         {"c", p.c, 1},
                                                         {"k", p.k, 1},
                                                         {"r", p.r, 1},
                                                         {"s", p.s, 1},
                                                         {"pad_top", p.padTop, 0},
                                                         {"pad_bottom", p.padBottom, 0},
                                                         {"pad_left", p.padLeft, 0},
                                                         {"pad_right", p.padRight, 0},
                                                         {"stride_h", p.strideH, 1},
                                                         {"stride_w", p.strideW, 1},
                                                         {"dilation_h", p.dilationH, 1},
                                                         {"dilation_w", p.dilationW, 1},
                                                         {"input_pixel_pitch", p.inputPixelPitch, 0},
                                                         {"output_pixel_pitch", p.outputPixelPitch, 0}})
    if (field.value < field.minimum || field.value > kLargest)
      return invalid(fmt::format("{} must be in {}..{}, but is {}", field.name, field.minimum, kLargest, field.value));

  if (p.inputType != DataType::F16 && p.inputType != DataType::BF16)
    return invalid(fmt::format("input_type must be F16 (0) or BF16 (1), but is {}", static_cast<int>(p.inputType)));
  if (p.outputType != DataType::F16 && p.outputType != DataType::BF16 && p.outputType != DataType::F32)
    return invalid(fmt::format("output_type must be F16 (0), BF16 (1) or F32 (2), but is {}", static_cast<int>(p.outputType)));
  if (p.activation != Activation::None && p.activation != Activation::Relu)
    return invalid(fmt::format("activation must be NONE (0) or RELU (1), but is {}", static_cast<int>(p.activation)));
  if (p.inputPixelPitch != 0 && p.inputPixelPitch < p.c)
    return invalid(fmt::format("input_pixel_pitch must be 0 or at least c = {}, but is {}", p.c, p.inputPixelPitch));
  if (p.outputPixelPitch != 0 && p.outputPixelPitch < p.k)
    return invalid(fmt::format("output_pixel_pitch must be 0 or at least k = {}, but is {}", p.k, p.outputPixelPitch));

  if (Status status = checkWindow("h", p.h, p.padTop, p.padBottom, "pad_top + pad_bottom", p.dilationH, "dilation_h", p.r, "r");
      !status.ok())
    return status;
  if (Status status = checkWindow("w", p.w, p.padLeft, p.padRight, "pad_left + pad_right", p.dilationW, "dilation_w", p.s, "s");
      !status.ok())
    return status;
  return checkSizes(p);
}

TensorBytes tensorBytes(const Problem& p) {
  const auto span = [](int64_t pixels, int64_t pitch, int64_t channels, uint32_t size) {
    return static_cast<size_t>((pixels - 1) * pitch + channels) * size;
  };
  TensorBytes bytes;
  bytes.input = span(p.n * p.h * p.w, p.inputPitch(), p.c, bytesOf(p.inputType));
  bytes.filter = span(p.k * p.r * p.s, p.c, p.c, bytesOf(p.inputType));
  bytes.bias = p.hasBias ? static_cast<size_t>(p.k) * sizeof(float) : 0;
  bytes.output = span(p.n * p.p() * p.q(), p.outputPitch(), p.k, bytesOf(p.outputType));
  return bytes;
}

const char* nameOf(DataType type) {
  switch (type) {
    case DataType::F16:
      return "f16";
    case DataType::BF16:
      return "bf16";
    case DataType::F32:
      return "f32";
  }
  return "?";
}

std::string describe(const Problem& p) {
  std::string text = fmt::format("{}x{}x{}x{} {} * {}x{}x{}x{} pad {},{},{},{}", p.n, p.h, p.w, p.c, nameOf(p.inputType), p.k, p.r,
                                 p.s, p.c, p.padTop, p.padBottom, p.padLeft, p.padRight);
  if (p.strideH != 1 || p.strideW != 1) text += fmt::format(" stride {},{}", p.strideH, p.strideW);
  if (p.dilationH != 1 || p.dilationW != 1) text += fmt::format(" dilation {},{}", p.dilationH, p.dilationW);
  if (p.inputPitch() != p.c) text += fmt::format(" input pitch {}", p.inputPitch());
  text += fmt::format(" -> {}x{}x{}x{} {}", p.n, p.p(), p.q(), p.k, nameOf(p.outputType));
  if (p.outputPitch() != p.k) text += fmt::format(" output pitch {}", p.outputPitch());
  if (p.hasBias) text += " bias";
  if (p.activation == Activation::Relu) text += " relu";
  return text;
}

}  // namespace shiftconv
