#include "conv/plan/epilogue.hpp"

#include <fmt/format.h>

#include <limits>

#include "common/numerics/codec.hpp"
#include "conv/plan/problem_names.hpp"
#include "conv/problem/tensors.hpp"

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
  epilogue.correctionPitch = static_cast<int32_t>((p.k + 3) / 4 * 4);
  epilogue.alpha = p.alpha;
  epilogue.biasType = numberType(p.biasType);
  epilogue.beta = p.beta;
  epilogue.residualType = numberType(p.residualType);
  epilogue.residualPitch = p.residualPitch() * bytesOf(p.residualType);
  epilogue.residualLast = p.addsResidualLast();
  epilogue.activation = static_cast<gemm::Activation>(p.activation);
  epilogue.activationA = p.activationA;
  epilogue.activationB = p.activationB;
  // Steps in f32 are rounded to f32 as they are.
  epilogue.roundsSteps = p.rounding == Rounding::Separate && p.outputType != DataType::F32;
  epilogue.outputScale = p.outScale;
  epilogue.outputType = numberType(p.outputType);
  epilogue.outputZeroPoint = p.outputZeroPoint;
  epilogue.outputBlock = static_cast<int32_t>(p.outputScale.blockSize);
  epilogue.outputScaleLayout = layoutOf(p.outputScale.order);
  epilogue.outputPitch = numerics::packedBytes(epilogue.outputType, p.outputPitch());
  return epilogue;
}

void bindEpilogue(Parameter& parameter, size_t offset) {
  parameter.address(offset + offsetof(EpilogueParams, output), {TensorName::Output})
      .address(offset + offsetof(EpilogueParams, bias), {TensorName::Bias})
      .address(offset + offsetof(EpilogueParams, residual), {TensorName::Residual})
      .address(offset + offsetof(EpilogueParams, columnScale), {TensorName::ChannelScale})
      .address(offset + offsetof(EpilogueParams, largest), {TensorName::Amax})
      .address(offset + offsetof(EpilogueParams, outputScales), {TensorName::OutputScale});
}

std::string epilogueRefusal(std::string_view engine, const Problem& p, int32_t segmentColumns) {
  // The epilogue takes the type of factors from the block.
  const DataType factor = p.outputScale.blockSize == 16 ? DataType::UE4M3 : DataType::UE8M0;
  if (p.outputScale.blockSize != 0 && p.outputScale.type != factor)
    return fmt::format("{} quantises outputs in blocks of 32 with ue8m0 or of 16 with ue4m3, but output_block_scale is {}/{}",
                       engine, nameOf(p.outputScale.type), p.outputScale.blockSize);
  if (p.outputScale.blockSize != 0 && segmentColumns % p.outputScale.blockSize != 0)
    return fmt::format("{} quantises no outputs in blocks of {} channels (output_block_scale)", engine, p.outputScale.blockSize);
  if (p.outputPixels() > std::numeric_limits<int32_t>::max() || p.k > std::numeric_limits<int32_t>::max())
    return fmt::format("{} needs fewer than 2^31 output pixels and channels", engine);
  if (p.hasResidual() && bitsOf(p.residualType) < 8)
    return fmt::format("{} needs residual elements of whole bytes, but they are {}", engine, nameOf(p.residualType));
  // Where a tensor will be bound stands an address that has the alignment which bindings check.
  EpilogueParams epilogue = epilogueOf(p);
  constexpr uintptr_t kSomewhere = 256;
  epilogue.output = reinterpret_cast<void*>(kSomewhere);
  if (p.hasBias) epilogue.bias = reinterpret_cast<const void*>(kSomewhere);
  if (p.hasResidual()) epilogue.residual = reinterpret_cast<const void*>(kSomewhere);
  if (p.hasChannelScale) epilogue.columnScale = reinterpret_cast<const float*>(kSomewhere);
  if (p.hasAmax) epilogue.largest = reinterpret_cast<float*>(kSomewhere);
  if (p.outputScale.blockSize != 0) epilogue.outputScales = reinterpret_cast<uint8_t*>(kSomewhere);
  if (const auto refused = gemm::epilogueRefusal(epilogue, segmentColumns))
    return fmt::format("{}: {}", engine, inNamesOfProblems(*refused));
  return {};
}

}  // namespace shiftconv::plan
