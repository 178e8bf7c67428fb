#include <fmt/format.h>

#include <cmath>

#include "conv/problem/text.hpp"

namespace shiftconv {
namespace {

std::string describe(const BlockScale& scale) {
  if (scale.blockSize == 0) return {};
  return fmt::format(" scale {}/{}{}", nameOf(scale.type), scale.blockSize,
                     scale.order == ScaleOrder::Interleaved ? "/interleaved" : "");
}

std::string number(const char* word, int64_t value) { return value == 0 ? std::string() : fmt::format(" {} {}", word, value); }

/// The shortest text that reads back as the same f32.
std::string real(const char* word, float value, float usual) {
  return value == usual ? std::string() : fmt::format(" {} {}", word, value);
}

std::string describeEpilogue(const Problem& p) {
  std::string text = real("alpha", p.alpha, 1);
  if (p.hasChannelScale) text += " channel_scale";
  if (p.hasBias) text += " bias";
  if (p.biasType != DataType::F32) text += fmt::format(" {}", nameOf(p.biasType));
  if (p.hasResidual() || std::signbit(p.beta)) text += fmt::format(" residual {}", p.beta);
  if (p.residualType != DataType::F16) text += fmt::format(" residual_type {}", nameOf(p.residualType));
  text += number("residual_pitch", p.residualPixelPitch);
  if (p.activation != Activation::None) text += fmt::format(" {}", nameOf(p.activation));
  if (parameterCount(p.activation) > 0) text += fmt::format(" {}", p.activationA);
  if (parameterCount(p.activation) > 1) text += fmt::format(",{}", p.activationB);
  if (p.residualLast) text += " residual_last";
  if (p.hasAmax) text += " amax";
  if (p.rounding == Rounding::Separate) text += " rounding separate";
  return text + real("out_scale", p.outScale, 1);
}

}  // namespace

std::string describe(const Problem& p) {
  const bool flat = isTwoDimensional(p);
  const auto shape = [&](int64_t first, int64_t depth, int64_t height, int64_t width, int64_t channels) {
    return flat ? fmt::format("{}x{}x{}x{}", first, height, width, channels)
                : fmt::format("{}x{}x{}x{}x{}", first, depth, height, width, channels);
  };
  std::string text = fmt::format("{} {}", shape(p.n, p.d, p.h, p.w, p.c), nameOf(p.inputType));
  text += number("split_c", p.splitC) + number("split_d", p.splitD);
  text += number("pitch", p.inputPixelPitch) + number("second_pitch", p.secondPixelPitch);
  text += number("zero", p.inputZeroPoint) + describe(p.inputScale);
  const auto steps = [&](const char* word, int64_t depth, int64_t height, int64_t width, int64_t usual = 1) {
    if (depth == usual && height == usual && width == usual) return std::string();
    return flat ? fmt::format(" {} {},{}", word, height, width) : fmt::format(" {} {},{},{}", word, depth, height, width);
  };
  const auto layout = [](Layout of) { return of == Layout::ChannelsFirst ? " nchw" : ""; };
  text += layout(p.inputLayout);
  text += steps("upsample", p.upsampleD, p.upsampleH, p.upsampleW);
  text += fmt::format(" * {}", shape(p.k, p.t, p.r, p.s, p.groupChannels()));
  if (p.filterType != p.inputType) text += fmt::format(" {}", nameOf(p.filterType));
  if (p.groups != 1) text += fmt::format(" groups {}", p.groups);
  text += flat ? fmt::format(" pad {},{},{},{}", p.padTop, p.padBottom, p.padLeft, p.padRight)
               : fmt::format(" pad {},{},{},{},{},{}", p.padFront, p.padBack, p.padTop, p.padBottom, p.padLeft, p.padRight);
  text += steps("stride", p.strideD, p.strideH, p.strideW) + steps("dilation", p.dilationD, p.dilationH, p.dilationW);
  if (p.transposed) text += " transposed";
  text += steps("output_padding", p.outputPaddingD, p.outputPaddingH, p.outputPaddingW, 0);
  if (p.filterFlipped) text += " flipped";
  if (p.compute != Compute::Default) text += fmt::format(" compute {}", nameOf(p.compute));
  text += number("zero", p.filterZeroPoint) + describe(p.filterScale);
  text += fmt::format(" -> {} {}", shape(p.n, p.z(), p.p(), p.q(), p.k), nameOf(p.outputType));
  text += layout(p.outputLayout);
  text += number("pitch", p.outputPixelPitch) + describeEpilogue(p);
  return text + number("zero", p.outputZeroPoint) + describe(p.outputScale);
}

}  // namespace shiftconv
