#include "conv/plan/sm90_limits.hpp"

#include <fmt/format.h>

#include <limits>

namespace shiftconv::plan::sm90 {

bool isBuiltFor(const device::Properties& properties) { return properties.computeMajor == 9 && properties.computeMinor == 0; }

std::string anyRefusal(std::string_view engine, const Problem& p, const device::Properties& properties) {
  const auto needs = [&](std::string_view what) { return fmt::format("{} {}", engine, what); };
  if (!isBuiltFor(properties))
    return needs(fmt::format("needs compute capability 9.0, but {} has {}.{}", properties.name, properties.computeMajor,
                             properties.computeMinor));
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0)
    return needs("takes no block scales");
  if (p.inputZeroPoint != 0 || p.filterZeroPoint != 0) return needs("takes no zero points of operands");
  // Coordinates of the copy engine and tile numbers are 32-bit, strides below 2^40 bytes (cuTensorMapEncodeTiled).
  constexpr int64_t kMostPixels = std::numeric_limits<int32_t>::max() / 4;
  if (p.inputPixels() > kMostPixels || p.outputPixels() > kMostPixels || p.k > kMostPixels || p.c > kMostPixels)
    return needs(fmt::format("needs fewer than {} pixels and channels (32-bit coordinates)", kMostPixels));
  constexpr int64_t kMostElements = int64_t{1} << 38;
  if (p.inputPixels() * p.inputPitch() >= kMostElements || p.outputPixels() * p.outputPitch() >= kMostElements ||
      p.k * p.t * p.r * p.s * p.groupChannels() >= kMostElements)
    return needs("needs tensors below 2^38 elements (tensor-map strides)");
  if (p.padFront > kMostPixels || p.padTop > kMostPixels || p.padLeft > kMostPixels || p.strideD * p.z() > kMostPixels ||
      p.strideH * p.p() > kMostPixels || p.strideW * p.q() > kMostPixels || p.dilationD * p.t > kMostPixels)
    return needs("needs pads, strides and dilations that keep coordinates below 2^29");
  return {};
}

std::string plainRefusal(std::string_view engine, const Problem& p, const device::Properties& properties, ResidualAdded residual) {
  if (std::string reason = anyRefusal(engine, p, properties); !reason.empty()) return reason;
  if (!isTwoDimensional(p)) return fmt::format("{} needs a 2-D problem, but fields of the depth are set", engine);
  return plainTypesRefusal(engine, p, residual);
}

std::string plainTypesRefusal(std::string_view engine, const Problem& p, ResidualAdded residual) {
  const auto needs = [&](std::string_view what) { return fmt::format("{} {}", engine, what); };
  if (p.inputType != DataType::F16 && p.inputType != DataType::BF16)
    return needs(fmt::format("multiplies f16 or bf16, but the input type is {}", nameOf(p.inputType)));
  if (p.filterType != p.inputType || p.outputType != p.inputType)
    return needs(fmt::format("needs one type for input, filter and output, but they are {}, {} and {}", nameOf(p.inputType),
                             nameOf(p.filterType), nameOf(p.outputType)));
  if (p.compute != Compute::Default) return needs(fmt::format("sums in f32, but compute is {}", nameOf(p.compute)));
  if (!hasPlainEpilogue(p) || (p.hasResidual() && residual == ResidualAdded::No))
    return needs(
        "has a bias in f32 and ReLU behind the sums, but alpha, beta, out_scale, channel_scale, amax, the bias type or the "
        "activation asks for more");
  if (p.k % 8 != 0) return needs(fmt::format("needs K to be a multiple of 8 (16-byte rows), but K is {}", p.k));
  if (p.outputPitch() % 8 != 0)
    return needs(fmt::format("needs an output pixel pitch that is a multiple of 8 elements, but it is {}", p.outputPitch()));
  if (p.hasResidual() && p.residualType != p.outputType)
    return needs(
        fmt::format("adds a residual of the output's type, {}, but its type is {}", nameOf(p.outputType), nameOf(p.residualType)));
  if (p.hasResidual() && p.residualPitch() % 8 != 0)
    return needs(fmt::format("needs a residual pixel pitch that is a multiple of 8 elements, but it is {}", p.residualPitch()));
  return {};
}

bool hasPlainEpilogue(const Problem& p) {
  return p.alpha == 1 && p.outScale == 1 && !p.hasChannelScale && !p.hasAmax && p.outputZeroPoint == 0 &&
         (p.activation == Activation::None || p.activation == Activation::Relu) && (!p.hasBias || p.biasType == DataType::F32);
}

}  // namespace shiftconv::plan::sm90
