#include "conv/plan/epilogue.hpp"

#include <fmt/format.h>

#include <limits>

namespace shiftconv::plan {

using gemm::EpilogueParams;

numerics::NumberType accumulatorType(const Problem& p) {
  return isInteger(p.inputType)      ? numerics::NumberType::S32
         : p.compute == Compute::F16 ? numerics::NumberType::F16
                                     : numerics::NumberType::F32;
}

EpilogueParams epilogueOf(const Problem& p) {
  EpilogueParams epilogue;
  epilogue.rows = static_cast<int32_t>(p.outputPixels());
  epilogue.columns = static_cast<int32_t>(p.k);
  epilogue.accumulatorType = accumulatorType(p);
  epilogue.alpha = p.alpha;
  epilogue.beta = p.beta;
  epilogue.residualType = numberType(p.residualType);
  epilogue.residualPitch = p.residualPitch() * bytesOf(p.residualType);
  epilogue.activation = static_cast<gemm::Activation>(p.activation);
  epilogue.activationA = p.activationA;
  epilogue.activationB = p.activationB;
  epilogue.outputScale = p.outScale;
  epilogue.outputType = numberType(p.outputType);
  epilogue.outputPitch = p.outputPitch() * bytesOf(p.outputType);
  return epilogue;
}

void bindEpilogue(Parameter& parameter, size_t offset) {
  parameter.address(offset + offsetof(EpilogueParams, output), {TensorName::Output})
      .address(offset + offsetof(EpilogueParams, bias), {TensorName::Bias})
      .address(offset + offsetof(EpilogueParams, residual), {TensorName::Residual})
      .address(offset + offsetof(EpilogueParams, columnScale), {TensorName::ChannelScale})
      .address(offset + offsetof(EpilogueParams, largest), {TensorName::Amax});
}

std::string epilogueRefusal(std::string_view engine, const Problem& p, int32_t segmentColumns) {
  if (p.outputScale.blockSize != 0) return fmt::format("{} does not quantise its output in blocks", engine);
  if (p.outputZeroPoint != 0) return fmt::format("{} adds no output zero point, but it is {}", engine, p.outputZeroPoint);
  if (p.hasBias && p.biasType != DataType::F32)
    return fmt::format("{} needs bias_type f32, but it is {}", engine, nameOf(p.biasType));
  if (p.outputPixels() > std::numeric_limits<int32_t>::max() || p.k > std::numeric_limits<int32_t>::max())
    return fmt::format("{} needs fewer than 2^31 output pixels and channels", engine);
  if (bitsOf(p.outputType) < 8 || (p.hasResidual() && bitsOf(p.residualType) < 8))
    return fmt::format("{} needs output and residual elements of whole bytes, but they are {} and {}", engine, nameOf(p.outputType),
                       nameOf(p.residualType));
  // Where a tensor will be bound stands an address that has the alignment which bindings check.
  EpilogueParams epilogue = epilogueOf(p);
  constexpr uintptr_t kSomewhere = 256;
  epilogue.output = reinterpret_cast<void*>(kSomewhere);
  if (p.hasBias) epilogue.bias = reinterpret_cast<const float*>(kSomewhere);
  if (p.hasResidual()) epilogue.residual = reinterpret_cast<const void*>(kSomewhere);
  if (p.hasChannelScale) epilogue.columnScale = reinterpret_cast<const float*>(kSomewhere);
  if (p.hasAmax) epilogue.largest = reinterpret_cast<float*>(kSomewhere);
  if (const auto refused = gemm::epilogueRefusal(epilogue, segmentColumns)) return fmt::format("{}: {}", engine, *refused);
  return {};
}

}  // namespace shiftconv::plan
