#include "conv/plan/sm90/common.hpp"

#include <fmt/format.h>

#include <limits>

namespace shiftconv::plan::sm90 {

std::string plainRefusal(std::string_view engine, const Problem& p, const device::Properties& properties) {
  const auto needs = [&](std::string_view what) { return fmt::format("{} {}", engine, what); };
  if (properties.computeMajor != 9)
    return needs(fmt::format("needs compute capability 9.0, but {} has {}.{}", properties.name, properties.computeMajor,
                             properties.computeMinor));
  if (!isTwoDimensional(p)) return needs("needs a 2-D problem, but fields of the depth are set");
  if (p.inputType != DataType::F16 && p.inputType != DataType::BF16)
    return needs(fmt::format("multiplies f16 or bf16, but the input type is {}", nameOf(p.inputType)));
  if (p.filterType != p.inputType || p.outputType != p.inputType)
    return needs(fmt::format("needs one type for input, filter and output, but they are {}, {} and {}", nameOf(p.inputType),
                             nameOf(p.filterType), nameOf(p.outputType)));
  if (p.compute != Compute::Default) return needs(fmt::format("sums in f32, but compute is {}", nameOf(p.compute)));
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0)
    return needs("takes no block scales");
  if (p.inputZeroPoint != 0 || p.filterZeroPoint != 0 || p.outputZeroPoint != 0) return needs("takes no zero points");
  if (p.alpha != 1 || p.hasResidual() || p.outScale != 1 || p.hasChannelScale || p.hasAmax)
    return needs("has bias and ReLU behind the sums, but alpha, beta, out_scale, channel_scale or amax asks for more");
  if (p.activation != Activation::None && p.activation != Activation::Relu)
    return needs(fmt::format("has ReLU, but the activation is {}", nameOf(p.activation)));
  if (p.hasBias && p.biasType != DataType::F32)
    return needs(fmt::format("adds an f32 bias, but its type is {}", nameOf(p.biasType)));
  if (p.k % 8 != 0) return needs(fmt::format("needs K to be a multiple of 8 (16-byte rows), but K is {}", p.k));
  if (p.outputPitch() % 8 != 0)
    return needs(fmt::format("needs an output pixel pitch that is a multiple of 8 elements, but it is {}", p.outputPitch()));
  // Coordinates of the copy engine and tile numbers are 32-bit, strides below 2^40 bytes (cuTensorMapEncodeTiled).
  constexpr int64_t kMostPixels = std::numeric_limits<int32_t>::max() / 4;
  if (p.inputPixels() > kMostPixels || p.outputPixels() > kMostPixels || p.k > kMostPixels || p.c > kMostPixels)
    return needs(fmt::format("needs fewer than {} pixels and channels (32-bit coordinates)", kMostPixels));
  if (p.inputPixels() * p.inputPitch() >= int64_t{1} << 38 || p.outputPixels() * p.outputPitch() >= int64_t{1} << 38 ||
      p.k * p.r * p.s * p.groupChannels() >= int64_t{1} << 38)
    return needs("needs tensors below 2^39 bytes (tensor-map strides)");
  if (p.padTop > kMostPixels || p.padLeft > kMostPixels || p.strideH * p.p() > kMostPixels || p.strideW * p.q() > kMostPixels)
    return needs("needs pads and strides that keep coordinates below 2^29");
  return {};
}

}  // namespace shiftconv::plan::sm90
