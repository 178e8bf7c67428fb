#include "conv/algorithms/halo/kernels.hpp"

#include <fmt/format.h>

#include <array>

#include "common/numerics/codec.hpp"
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/plan/limits.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan::sm90::halo {

namespace {

using enum PixelShare;
constexpr bool Own = false, OverBox = true;
#define SHIFTCONV_HALO_ENTRY(NAME, FIRST, SECOND, N, SHARE, STAGING, TAIL) {#NAME, FIRST, SECOND, N, SHARE, STAGING, TAIL},
#define SHIFTCONV_HALO_WIDE_ENTRY(NAME, N) {#NAME, 1, 1, N, Common, Own, 0, {}, false, false, 0, 3},
constexpr ShapeEntry kShapes[] = {SHIFTCONV_HALO_SHAPES(SHIFTCONV_HALO_ENTRY)
                                      SHIFTCONV_HALO_WIDE_SHAPES(SHIFTCONV_HALO_WIDE_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY
#undef SHIFTCONV_HALO_WIDE_ENTRY

#define SHIFTCONV_HALO_ENTRY(NAME, N, MULTIPLYING) {#NAME, 1, 1, N, Common, Own, 0, {}, false, false, 0, MULTIPLYING, true},
constexpr ShapeEntry kSharedShapes[] = {SHIFTCONV_HALO_SHARED_SHAPES(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY

#define SHIFTCONV_HALO_ENTRY(NAME, BLOCKS, CHANNELS) \
  {#NAME, BLOCKS, BLOCKS, BLOCKS * kBlockPixels, Separate, Own, 0, {}, false, false, CHANNELS},
constexpr ShapeEntry kPixelShapes[] = {SHIFTCONV_HALO_PIXEL_SHAPES(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY
#define SHIFTCONV_HALO_ENTRY(NAME, BLOCKS, CHANNELS) \
  {#NAME, BLOCKS, BLOCKS, BLOCKS * kBlockPixels, Separate, Own, 0, {}, false, true, CHANNELS},
constexpr ShapeEntry kActivatedPixelShapes[] = {SHIFTCONV_HALO_ACTIVATED_PIXEL_SHAPES(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY

#define SHIFTCONV_HALO_ENTRY(NAME, BLOCKS, CHANNELS) \
  {#NAME, BLOCKS, BLOCKS, BLOCKS * kBlockPixels, Separate, Own, 0, {}, true, false, CHANNELS},
constexpr ShapeEntry kResidualPixelShapes[] = {SHIFTCONV_HALO_RESIDUAL_PIXEL_SHAPES(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY

#define SHIFTCONV_HALO_ENTRY(NAME, FIRST, SECOND, N, SHARE, STAGING) {#NAME, FIRST, SECOND, N, SHARE, STAGING, 0, {}, false, true},
#define SHIFTCONV_HALO_WIDE_ENTRY(NAME, N) {#NAME, 1, 1, N, Common, Own, 0, {}, false, true, 0, 3},
constexpr ShapeEntry kActivatedShapes[] = {SHIFTCONV_HALO_ACTIVATED_SHAPES(SHIFTCONV_HALO_ENTRY)
                                               SHIFTCONV_HALO_WIDE_SHAPES(SHIFTCONV_HALO_WIDE_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY
#undef SHIFTCONV_HALO_WIDE_ENTRY
#define SHIFTCONV_HALO_ENTRY(KIND, NAME, FIRST, SECOND, N, SHARE, STAGING) \
  {#NAME, FIRST, SECOND, N, SHARE, STAGING, 0, #KIND, false, true},
#define SHIFTCONV_HALO_WIDE_ENTRY(KIND, NAME, N) {#NAME, 1, 1, N, Common, Own, 0, #KIND, false, true, 0, 3},
#define SHIFTCONV_HALO_PIXEL_ENTRY(KIND, NAME, BLOCKS, CHANNELS) \
  {#NAME, BLOCKS, BLOCKS, BLOCKS * kBlockPixels, Separate, Own, 0, #KIND, false, true, CHANNELS},
constexpr ShapeEntry kActivatedFloatShapes[] = {SHIFTCONV_HALO_ACTIVATED_FLOAT_KERNELS(SHIFTCONV_HALO_ENTRY)
                                                    SHIFTCONV_HALO_ACTIVATED_FLOAT_WIDE_KERNELS(SHIFTCONV_HALO_WIDE_ENTRY)
                                                        SHIFTCONV_HALO_ACTIVATED_FLOAT_PIXEL_KERNELS(SHIFTCONV_HALO_PIXEL_ENTRY)};
constexpr ShapeEntry kActivatedIntegerShapes[] = {SHIFTCONV_HALO_ACTIVATED_INTEGER_KERNELS(
    SHIFTCONV_HALO_ENTRY) SHIFTCONV_HALO_ACTIVATED_INTEGER_WIDE_KERNELS(SHIFTCONV_HALO_WIDE_ENTRY)
                                                      SHIFTCONV_HALO_ACTIVATED_INTEGER_PIXEL_KERNELS(SHIFTCONV_HALO_PIXEL_ENTRY)};
#undef SHIFTCONV_HALO_WIDE_ENTRY
#undef SHIFTCONV_HALO_PIXEL_ENTRY
#undef SHIFTCONV_HALO_ENTRY

#define SHIFTCONV_HALO_ENTRY(NAME, FIRST, SECOND, N, SHARE, STAGING) {#NAME, FIRST, SECOND, N, SHARE, STAGING, 0, {}, true},
constexpr ShapeEntry kResidualShapes[] = {SHIFTCONV_HALO_RESIDUAL_SHAPES(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY

#define SHIFTCONV_HALO_ENTRY(KIND, NAME, FIRST, SECOND, N, SHARE, STAGING) \
  {#NAME, FIRST, SECOND, N, SHARE, STAGING, 0, #KIND, true},
#define SHIFTCONV_HALO_PIXEL_ENTRY(KIND, NAME, BLOCKS, CHANNELS) \
  {#NAME, BLOCKS, BLOCKS, BLOCKS * kBlockPixels, Separate, Own, 0, #KIND, true, false, CHANNELS},
constexpr ShapeEntry kResidualFloatShapes[] = {SHIFTCONV_HALO_RESIDUAL_BYTES_SHAPES(
    e4m3_e4m3, SHIFTCONV_HALO_ENTRY) SHIFTCONV_HALO_RESIDUAL_BYTES_PIXEL_SHAPES(e4m3_e4m3, SHIFTCONV_HALO_PIXEL_ENTRY)};
constexpr ShapeEntry kResidualIntegerShapes[] = {SHIFTCONV_HALO_RESIDUAL_BYTES_SHAPES(s8_s8, SHIFTCONV_HALO_ENTRY)
                                                     SHIFTCONV_HALO_RESIDUAL_BYTES_PIXEL_SHAPES(s8_s8, SHIFTCONV_HALO_PIXEL_ENTRY)};
#undef SHIFTCONV_HALO_PIXEL_ENTRY
#undef SHIFTCONV_HALO_ENTRY

#define SHIFTCONV_HALO_ENTRY(KIND, NAME, FIRST, SECOND, N, SHARE) {#NAME, FIRST, SECOND, N, SHARE, Own, 0, #KIND},
constexpr ShapeEntry kHalfShapes[] = {SHIFTCONV_HALO_HALF_KERNELS(SHIFTCONV_HALO_ENTRY)};
constexpr ShapeEntry kFloatShapes[] = {SHIFTCONV_HALO_FLOAT_KERNELS(SHIFTCONV_HALO_ENTRY)};
constexpr ShapeEntry kIntegerShapes[] = {SHIFTCONV_HALO_INTEGER_KERNELS(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY

template <size_t kCount>
constexpr std::array<ShapeEntry, kCount> converting(const ShapeEntry (&shapes)[kCount]) {
  auto converting = std::to_array(shapes);
  for (ShapeEntry& shape : converting) shape.activated = shape.converts = true;
  return converting;
}
constexpr auto kConvertedShapes = converting(kActivatedShapes);
#define SHIFTCONV_HALO_ENTRY(KIND, NAME, FIRST, SECOND, N, SHARE, STAGING) {#NAME, FIRST, SECOND, N, SHARE, STAGING, 0, #KIND},
#define SHIFTCONV_HALO_WIDE_ENTRY(KIND, NAME, N) {#NAME, 1, 1, N, Common, Own, 0, #KIND, false, false, 0, 3},
constexpr auto kConvertedFloatShapes = converting({SHIFTCONV_HALO_CONVERTED_BYTES_SHAPES(
    e4m3_e4m3, SHIFTCONV_HALO_ENTRY) SHIFTCONV_HALO_CONVERTED_BYTES_WIDE_SHAPES(e4m3_e4m3, SHIFTCONV_HALO_WIDE_ENTRY)});
constexpr auto kConvertedIntegerShapes = converting({SHIFTCONV_HALO_CONVERTED_BYTES_SHAPES(
    s8_s8, SHIFTCONV_HALO_ENTRY) SHIFTCONV_HALO_CONVERTED_BYTES_WIDE_SHAPES(s8_s8, SHIFTCONV_HALO_WIDE_ENTRY)});
#undef SHIFTCONV_HALO_ENTRY
#undef SHIFTCONV_HALO_WIDE_ENTRY

/// Of 8-bit operands: a short epilogue, with output scale and zero point, and outputs of a type that they are staged as.
bool isStaged(const Problem& p) {
  const bool areIntegers = isInteger(p.inputType), isHalf = bitsOf(p.outputType) == 16;
  const bool isByte = areIntegers ? p.outputType == DataType::S8 || p.outputType == DataType::U8 : p.outputType == DataType::E4M3;
  if (!(isByte || (isHalf && p.outScale == 1)) || p.hasResidual() || p.outputScale.blockSize != 0) return false;
  Problem others = p;
  others.outScale = 1;
  others.outputZeroPoint = 0;
  return hasShortEpilogue(others) && (isByte || hasWholeRows(p));
}

/// Nothing, or what limitsOf says of outputs of 16 bits.
bool isLimited(const Problem& p) {
  return p.activation == Activation::None || p.activation == Activation::Relu || clampsToOutputs(p);
}

/// The problem with rows of output that the copy engine can store.
Problem withWholeRows(const Problem& p) {
  Problem whole = p;
  whole.k = roundUp(p.k, 8);
  whole.outputPixelPitch = roundUp(p.outputPitch(), 8);
  return whole;
}

/// A short epilogue, the largest output, an output scale, and outputs of a type that they are staged as.
bool isConverted(const Problem& p) {
  using enum DataType;
  const bool isStagedType =
      bitsOf(p.outputType) == 16 || p.outputType == F32 || p.outputType == E4M3 || p.outputType == S8 || p.outputType == U8;
  if (!isStagedType || p.hasResidual() || p.outputScale.blockSize != 0 || !hasWholeRows(p)) return false;
  Problem others = p;
  others.outputType = bitsOf(p.inputType) == 16 ? p.inputType : DataType::F16;
  others.hasAmax = false;
  others.outScale = 1;
  others.outputZeroPoint = 0;
  return hasShortEpilogue(others) &&
         (bitsOf(p.inputType) != 16 || plainTypesRefusal("halo", withPlainEpilogue(withWholeRows(others))).empty());
}

/// Of 8-bit operands: a residual that the copy engine brings to where outputs of its type are staged. Of 16 bits only before ReLU,
/// a clamp or nothing.
bool isStagedOverResidual(const Problem& p) {
  const kernels::Lean lean = leanBytes(p);
  const bool areBytes = lean == kernels::Lean::Residual || lean == kernels::Lean::SiluResidual;
  const bool areHalves = hasPlainSumsOfBytes(p) && bitsOf(p.outputType) == 16 && p.residualType == p.outputType &&
                         p.outScale == 1 && p.hasResidual() && !p.addsResidualLast() && isLimited(p);
  return (areBytes || areHalves) && hasWholeRows(p) && p.residualPitch() * bytesOf(p.outputType) % 16 == 0;
}

/// Whether SiLU is of the sums with their residual, and nothing else is asked for.
bool isSiluOfResidual(const Problem& p) {
  if (p.activation != Activation::Silu || !hasPlainSumsOfHalves(p)) return false;
  Problem plain = p;
  plain.activation = Activation::None;
  return leanHalves(plain) == kernels::Lean::Residual;
}

/// The problem with a residual after the sums themselves, where there is SiLU before or after it: kernels with a residual do all.
Problem withoutSilu(const Problem& p) {
  Problem plain = p;
  if (leanOf(p) == kernels::Lean::SiluResidual || isSiluOfResidual(p)) plain.activation = Activation::None;
  return plain;
}

}  // namespace

ResidualOrder residualOrder(const Problem& p) {
  if (p.addsResidualLast()) return ResidualOrder::AfterSilu;
  return isSiluOfResidual(p) ? ResidualOrder::BeforeSilu : ResidualOrder::Alone;
}

bool hasWholeRows(const Problem& p) {
  const int64_t whole = 16 / bytesOf(p.outputType);
  return p.k % whole == 0 && p.outputPitch() % whole == 0;
}

kernels::Lean leanActivated(const Problem& p, const ShapeEntry& shape) {
  using kernels::Lean;
  if (shape.converts)
    return p.activation == Activation::None || p.activation == Activation::Relu || p.activation == Activation::Clamp ? Lean::Clamp
           : isRamp(p)                                                                                               ? Lean::Ramp
                                                                                                                     : Lean::No;
  const Lean lean = leanOf(p);
  if (bytesOf(p.inputType) == 1 || lean == Lean::Silu) return lean;
  // With pixels as operand A a warp keeps the biases of all channels, and has no registers for their scales.
  return (isLimited(p) || isRamp(p)) && !(shape.pixelsAreA() && p.hasChannelScale) ? Lean::Ramp : Lean::No;
}

std::string kindOf(const Problem& p) {
  const auto name = [&](DataType type) {
    return type == DataType::F32 && p.compute == Compute::TF32 ? std::string_view("tf32") : nameOf(type);
  };
  return fmt::format("{}_{}", name(p.inputType), name(p.filterType));
}

std::vector<HaloModule> modulesOf(const Problem& p) {
  if (bytesOf(p.inputType) != 2) {
    const bool areIntegers = isInteger(p.inputType);
    const HaloModule whole = areIntegers ? HaloModule::Integer : HaloModule::Float;
    if (bytesOf(p.inputType) == 1 && isStaged(p))
      return {areIntegers ? HaloModule::ActivatedInteger : HaloModule::ActivatedFloat, whole};
    if (bytesOf(p.inputType) == 1 && isStagedOverResidual(p))
      return {areIntegers ? HaloModule::ResidualInteger : HaloModule::ResidualFloat, whole};
    if (bytesOf(p.inputType) == 1 && isConverted(p))
      return {areIntegers ? HaloModule::ConvertedInteger : HaloModule::ConvertedFloat, whole};
    return {whole};
  }
  if (plainTypesRefusal("halo", withoutSilu(p), ResidualAdded::Yes).empty()) {
    if (p.hasResidual()) return {HaloModule::Residual, HaloModule::ResidualPixels, HaloModule::Half};
    if (!p.isSplit() && isTwoDimensional(p)) return {HaloModule::Plain, HaloModule::Pixels, HaloModule::Shared};
  }
  if (plainTypesRefusal("halo", withWholeRows(p)).empty() && !p.isSplit() && isTwoDimensional(p))
    return {HaloModule::Pixels, HaloModule::Half};
  if (hasShortEpilogue(p) && plainTypesRefusal("halo", withPlainEpilogue(withWholeRows(p))).empty()) {
    if (hasWholeRows(p)) return {HaloModule::Activated, HaloModule::ActivatedPixels, HaloModule::Half};
    return {HaloModule::ActivatedPixels, HaloModule::Half};
  }
  if (isConverted(p)) return {HaloModule::Converted, HaloModule::Half};
  return {HaloModule::Half};
}

std::span<const ShapeEntry> shapesOf(HaloModule module) {
  switch (module) {
    case HaloModule::Plain:
      return kShapes;
    case HaloModule::Pixels:
      return kPixelShapes;
    case HaloModule::Shared:
      return kSharedShapes;
    case HaloModule::ActivatedPixels:
      return kActivatedPixelShapes;
    case HaloModule::Activated:
      return kActivatedShapes;
    case HaloModule::Converted:
      return kConvertedShapes;
    case HaloModule::ConvertedFloat:
      return kConvertedFloatShapes;
    case HaloModule::ConvertedInteger:
      return kConvertedIntegerShapes;
    case HaloModule::ActivatedFloat:
      return kActivatedFloatShapes;
    case HaloModule::ActivatedInteger:
      return kActivatedIntegerShapes;
    case HaloModule::Residual:
      return kResidualShapes;
    case HaloModule::ResidualPixels:
      return kResidualPixelShapes;
    case HaloModule::ResidualFloat:
      return kResidualFloatShapes;
    case HaloModule::ResidualInteger:
      return kResidualIntegerShapes;
    case HaloModule::Half:
      return kHalfShapes;
    case HaloModule::Float:
      return kFloatShapes;
    case HaloModule::Integer:
      return kIntegerShapes;
  }
  return {};
}

std::string kernelNameOf(const Problem& p, const ShapeEntry& shape) {
  const std::string_view epilogue = shape.isFull()      ? "full_"
                                    : shape.residual    ? "residual_"
                                    : shape.converts    ? "converted_"
                                    : shape.activated   ? "activated_"
                                    : shape.sharesBoxes ? "shared_"
                                                        : "";
  return fmt::format("halo_sm90_{}_{}{}", shape.kind.empty() ? elementName(p) : shape.kind, epilogue, shape.name);
}

bool hasKind(const Problem& p) {
  const std::string kind = kindOf(p);
  for (const HaloModule module : {HaloModule::Half, HaloModule::Float, HaloModule::Integer})
    for (const ShapeEntry& shape : shapesOf(module))
      if (shape.kind == kind) return true;
  return false;
}

}  // namespace shiftconv::plan::sm90::halo
