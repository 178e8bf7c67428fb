#include "conv/plan/sm90_limits.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>

#include "conv/plan/limits.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan::sm90 {

std::string anyRefusal(std::string_view engine, const Problem& p, const device::Properties& properties) {
  if (!isHopper(properties))
    return fmt::format("{} needs compute capability 9.0, but {} has {}.{}", engine, properties.name, properties.computeMajor,
                       properties.computeMinor);
  return limitsRefusal(engine, p);
}

std::string limitsRefusal(std::string_view engine, const Problem& p) {
  const auto needs = [&](std::string_view what) { return fmt::format("{} {}", engine, what); };
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return needs("takes no block scales");
  if (p.outputScale.blockSize != 0)
    return needs(fmt::format("quantises no outputs in blocks of {} channels (output_block_scale)", p.outputScale.blockSize));
  if (p.inputZeroPoint != 0 || p.filterZeroPoint != 0)
    return needs(fmt::format("takes no zero points of operands, but input_zero_point and filter_zero_point are {} and {}",
                             p.inputZeroPoint, p.filterZeroPoint));
  // Coordinates of the copy engine and tile numbers are 32-bit, strides below 2^40 bytes (cuTensorMapEncodeTiled).
  constexpr int64_t kMostPixels = std::numeric_limits<int32_t>::max() / 4;
  constexpr int64_t kMostElements = (int64_t{1} << 38) - 1;
  struct Limit {
    const char* name;
    int64_t value, most;
    const char* reason;
  };
  constexpr const char* kCoordinates = "32-bit coordinates";
  constexpr const char* kStrides = "strides of tensor maps";
  for (const Limit& limit :
       std::initializer_list<Limit>{{"N*D*H*W", p.inputPixels(), kMostPixels, kCoordinates},
                                    {"N*Z*P*Q", p.outputPixels(), kMostPixels, kCoordinates},
                                    {"K", p.k, kMostPixels, kCoordinates},
                                    {"C", p.c, kMostPixels, kCoordinates},
                                    {"N*D*H*W*input_pixel_pitch", p.inputPixels() * p.inputPitch(), kMostElements, kStrides},
                                    {"N*Z*P*Q*output_pixel_pitch", p.outputPixels() * p.outputPitch(), kMostElements, kStrides},
                                    {"K*T*R*S*C/groups", p.k * p.t * p.r * p.s * p.groupChannels(), kMostElements, kStrides},
                                    {"pad_front", p.padFront, kMostPixels, kCoordinates},
                                    {"pad_top", p.padTop, kMostPixels, kCoordinates},
                                    {"pad_left", p.padLeft, kMostPixels, kCoordinates},
                                    {"Z*stride_d", p.strideD * p.z(), kMostPixels, kCoordinates},
                                    {"P*stride_h", p.strideH * p.p(), kMostPixels, kCoordinates},
                                    {"Q*stride_w", p.strideW * p.q(), kMostPixels, kCoordinates},
                                    {"T*dilation_d", p.dilationD * p.t, kMostPixels, kCoordinates}})
    if (limit.value > limit.most)
      return needs(fmt::format("needs {} up to {} ({}), but it is {}", limit.name, limit.most, limit.reason, limit.value));
  return {};
}

std::string plainRefusal(std::string_view engine, const Problem& p, const device::Properties& properties, ResidualAdded residual) {
  if (std::string reason = anyRefusal(engine, p, properties); !reason.empty()) return reason;
  if (!isTwoDimensional(p))
    return fmt::format("{} needs a 2-D problem, but d, t, pad_front, pad_back, stride_d or dilation_d is set", engine);
  return plainTypesRefusal(engine, p, residual);
}

std::string plainTypesRefusal(std::string_view engine, const Problem& p, ResidualAdded residual) {
  const auto needs = [&](std::string_view what) { return fmt::format("{} {}", engine, what); };
  if (p.inputType != DataType::F16 && p.inputType != DataType::BF16)
    return needs(fmt::format("multiplies f16 or bf16, but input_type is {}", nameOf(p.inputType)));
  if (p.filterType != p.inputType || p.outputType != p.inputType)
    return needs(fmt::format("needs input_type, filter_type and output_type to be one, but they are {}, {} and {}",
                             nameOf(p.inputType), nameOf(p.filterType), nameOf(p.outputType)));
  if (p.compute != Compute::Default) return needs(fmt::format("sums in f32, but compute is {}", nameOf(p.compute)));
  if (const std::string more = beyondPlainEpilogue(p); !more.empty())
    return needs(fmt::format("has nothing but a bias and ReLU or a clamp after the sums, but {}", more));
  if (p.hasResidual() && residual == ResidualAdded::No) return needs(fmt::format("adds no residual, but beta is {}", p.beta));
  if (p.k % 8 != 0) return needs(fmt::format("needs K to be a multiple of 8 (16-byte rows), but K is {}", p.k));
  if (p.outputPitch() % 8 != 0)
    return needs(fmt::format("needs output_pixel_pitch to be a multiple of 8 elements, but it is {}", p.outputPitch()));
  if (p.hasResidual() && p.residualType != p.outputType)
    return needs(
        fmt::format("adds a residual of output_type, {}, but residual_type is {}", nameOf(p.outputType), nameOf(p.residualType)));
  if (p.hasResidual() && p.residualPitch() % 8 != 0)
    return needs(fmt::format("needs residual_pixel_pitch to be a multiple of 8 elements, but it is {}", p.residualPitch()));
  return {};
}

std::string beyondPlainEpilogue(const Problem& p) {
  if (p.alpha != 1) return fmt::format("alpha is {}", p.alpha);
  if (p.outScale != 1) return fmt::format("out_scale is {}", p.outScale);
  if (p.hasChannelScale) return "there is a channel_scale";
  if (p.hasAmax) return "there is an amax";
  if (p.rounding != Rounding::Once) return "rounding is separate";
  if (p.outputZeroPoint != 0) return fmt::format("output_zero_point is {}", p.outputZeroPoint);
  if (p.addsResidualLast()) return "the residual is added after the activation (residual_last)";
  if (p.activation != Activation::None && p.activation != Activation::Relu && !clampsToOutputs(p))
    return fmt::format("activation is {}", nameOf(p.activation));
  return {};
}
bool hasPlainEpilogue(const Problem& p) { return beyondPlainEpilogue(p).empty(); }

bool hasShortEpilogue(const Problem& p) { return hasPlainEpilogue(withPlainEpilogue(p)); }

std::string shortTypesRefusal(std::string_view engine, const Problem& p) {
  const Problem rest = withPlainEpilogue(p);
  if (const std::string more = beyondPlainEpilogue(rest); !more.empty())
    return fmt::format("{} has scales, a bias and an activation after the sums, and nothing else, but {}", engine, more);
  return plainTypesRefusal(engine, rest);
}

std::string bytesTypesRefusal(std::string_view engine, const Problem& p) {
  const auto needs = [&](std::string_view what) { return fmt::format("{} {}", engine, what); };
  const bool areIntegers = isInteger(p.inputType);
  const DataType filter = areIntegers ? DataType::S8 : DataType::E4M3;
  if (p.filterType != filter || (!areIntegers && p.inputType != filter))
    return needs(fmt::format("multiplies e4m3, s8 or, with a filter of s8, u8, but input_type and filter_type are {} and {}",
                             nameOf(p.inputType), nameOf(p.filterType)));
  if (areIntegers ? p.outputType != DataType::S8 && p.outputType != DataType::U8 : p.outputType != filter)
    return needs(fmt::format("needs output_type to be {} after {}, but it is {}", areIntegers ? "s8 or u8" : "e4m3",
                             nameOf(p.inputType), nameOf(p.outputType)));
  if (p.compute != Compute::Default) return needs(fmt::format("sums in f32 or s32, but compute is {}", nameOf(p.compute)));
  Problem others = p;
  others.outScale = 1;
  others.outputZeroPoint = 0;
  if (!hasShortEpilogue(others) || p.hasResidual())
    return needs("has scales, a bias, an activation, out_scale and output_zero_point after the sums, and nothing else");
  if (p.k % 16 != 0 || p.outputPitch() % 16 != 0)
    return needs(fmt::format("needs K and output_pixel_pitch to be multiples of 16 (16-byte rows), but they are {} and {}", p.k,
                             p.outputPitch()));
  return {};
}

Problem withPlainEpilogue(const Problem& p) {
  Problem plain = p;
  plain.alpha = 1;
  plain.hasChannelScale = false;
  plain.activation = Activation::None;
  return plain;
}

}  // namespace shiftconv::plan::sm90
