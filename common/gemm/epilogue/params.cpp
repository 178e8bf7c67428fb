#include "common/gemm/epilogue/params.hpp"

#include <fmt/format.h>

#include <array>

#include "common/numerics/codec.hpp"

namespace shiftconv::gemm {
namespace {

bool misaligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 != 0; }

bool isOneOf(NumberType type, std::initializer_list<NumberType> types) {
  for (const NumberType candidate : types)
    if (type == candidate) return true;
  return false;
}

/// What output type S32 leaves out.
bool hasArithmetic(const EpilogueParams& p) {
  return p.alpha != 1 || p.rowScale != nullptr || p.columnScale != nullptr || p.bias != nullptr || p.residual != nullptr ||
         p.activation != Activation::None || p.largest != nullptr || p.outputScale != 1;
}

std::optional<std::string> outputRefusal(const EpilogueParams& p, int32_t segmentColumns) {
  using enum NumberType;
  const std::string_view type = numerics::name(p.outputType);
  if (!isOneOf(p.outputType, {F32, F16, BF16, E4M3, E5M2, E3M2, E2M3, E2M1, S8, U8, S32}))
    return fmt::format("outputType: {} is no output of the epilogue", type);
  if (p.outputType == S32 && p.accumulatorType != S32) return "outputType: s32 is for s32 accumulators";
  if (p.outputType == S32 && hasArithmetic(p))
    return "outputType: s32 stores accumulators as they are, without scales, bias or activation";
  const int32_t lowest = p.outputType == S8 ? -128 : 0, highest = p.outputType == S8 ? 127 : p.outputType == U8 ? 255 : 0;
  if (p.outputZeroPoint < lowest || p.outputZeroPoint > highest)
    return fmt::format("outputZeroPoint: {} is not from {} to {}, the integers of {}", p.outputZeroPoint, lowest, highest, type);
  if (p.roundsSteps && !isOneOf(p.outputType, {F16, BF16}))
    return fmt::format("roundsSteps: for f16 and bf16, but outputType is {}", type);
  if (p.outputBlock == 0 && numerics::storageBits(p.outputType) < 8)
    return fmt::format("outputType: {} needs an outputBlock of {}32", type, p.outputType == E2M1 ? "16 or " : "");
  if (p.outputBlock != 0) {
    const bool mx = p.outputBlock == 32 && isOneOf(p.outputType, {E4M3, E5M2, E3M2, E2M3, E2M1});
    const bool nv = p.outputBlock == 16 && p.outputType == E2M1;
    if (!mx && !nv) return fmt::format("outputBlock: {} elements of {} have no common scale factor", p.outputBlock, type);
    if (segmentColumns % p.outputBlock != 0)
      return fmt::format("outputBlock: {} does not divide the {} columns that a thread holds", p.outputBlock, segmentColumns);
    if (p.outputScales == nullptr) return "outputScales: null, but outputBlock asks for scale factors";
  }
  const int64_t elementBytes = numerics::storageBits(p.outputType) < 8 ? 1 : numerics::storageBits(p.outputType) / 8;
  if (p.outputPitch % elementBytes != 0)
    return fmt::format("outputPitch: {} is no multiple of an element of {}", p.outputPitch, type);
  if (p.output != nullptr && p.outputPitch < numerics::packedBytes(p.outputType, p.columns))
    return fmt::format("outputPitch: {} bytes do not hold {} columns of {}", p.outputPitch, p.columns, type);
  return std::nullopt;
}

}  // namespace

std::string_view name(Activation activation) {
  constexpr std::array<std::string_view, kActivations> kNames = {"none",      "relu", "leaky_relu", "clamp",   "gelu_erf",
                                                                 "gelu_tanh", "silu", "hard_swish", "sigmoid", "tanh"};
  return kNames[static_cast<size_t>(activation)];
}

std::optional<std::string> epilogueRefusal(const EpilogueParams& p, int32_t segmentColumns) {
  using enum NumberType;
  if (!isOneOf(p.accumulatorType, {F32, S32, F16}))
    return fmt::format("accumulatorType: {}, not f32, s32 or f16", numerics::name(p.accumulatorType));
  if (p.columnCorrection != nullptr && p.accumulatorType != S32) return "columnCorrection: for s32 accumulators only";
  if (p.rowCorrection != nullptr && p.accumulatorType != S32) return "rowCorrection: for s32 accumulators only";
  if (p.rowClass != nullptr && (p.correctionPitch < p.columns || p.correctionPitch % 4 != 0))
    return fmt::format("correctionPitch: {} elements do not hold {} columns, or are no multiple of 4", p.correctionPitch,
                       p.columns);
  if (p.bias != nullptr && !isOneOf(p.biasType, {F32, F16, BF16}))
    return fmt::format("biasType: {}, not f32, f16 or bf16", numerics::name(p.biasType));
  if (p.residual != nullptr && !isOneOf(p.residualType, {F32, F16, BF16, S8, U8, E4M3}))
    return fmt::format("residualType: {}, not f32, f16, bf16, s8, u8 or e4m3", numerics::name(p.residualType));
  if (p.residual != nullptr && p.residualPitch % (numerics::storageBits(p.residualType) / 8) != 0)
    return fmt::format("residualPitch: {} is no multiple of an element", p.residualPitch);
  if (p.activation == Activation::Clamp && !(p.activationA <= p.activationB))
    return fmt::format("activationA: the lower limit {} is not below the upper limit {}", p.activationA, p.activationB);
  if (misaligned(p.columnCorrection)) return "columnCorrection: not 16-byte aligned";
  if (misaligned(p.columnScale)) return "columnScale: not 16-byte aligned";
  if (misaligned(p.bias)) return "bias: not 16-byte aligned";
  if (misaligned(p.residual)) return "residual: not 16-byte aligned";
  if (misaligned(p.output)) return "output: not 16-byte aligned";
  return outputRefusal(p, segmentColumns);
}

}  // namespace shiftconv::gemm
