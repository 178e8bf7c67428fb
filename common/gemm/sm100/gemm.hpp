// A planned GEMM on a device: bound once to addresses, then run. Internal; the library's own algorithms, tests and benchmarks use
// it.
#pragma once

#include <string_view>

#include "common/device/device.hpp"
#include "common/gemm/sm100/plan.hpp"

namespace shiftconv::gemm::sm100 {

/// Device addresses. Operands are 16-byte aligned, packed 4- and 6-bit ones that tensor maps expand 32-byte aligned; scale factors
/// in 128x4 tiles 16-byte aligned; the workspace has partialBytes + counterBytes of the plan, 16-byte aligned, its counters zero.
struct GemmTensors {
  device::Address a = 0, b = 0, scaleA = 0, scaleB = 0, output = 0, workspace = 0;
  /// Scales, bias, residual, activation, the largest value, output scale factors. What the problem says (extents, types, block and
  /// pitch of the output) and the output's address come from there.
  EpilogueParams epilogue;
};

/// What a launch passes to a kernel. Tensor maps come first, as in the kernels' parameters.
struct alignas(128) GemmMaps {
  device::TensorMap a, b, scaleA, scaleB, output;
  device::TensorMap second;  ///< of a window's second tensor of pixels
};

class Gemm {
 public:
  /// Loads the kernel and encodes the tensor maps. The device outlives the result.
  static Status bind(device::Device& device, const GemmPlan& plan, const GemmTensors& tensors, Gemm& gemm);
  /// Enqueues one launch; allocates nothing and does not wait. Two runs that share a workspace must be ordered.
  Status run(device::Stream stream) const;

 private:
  device::Device* device_ = nullptr;
  const device::Kernel* kernel_ = nullptr;
  LaunchConfig launch_;
  GemmMaps maps_;
  GemmParams params_;
};

/// Puts addresses into the maps and parameters of a plan. `encode` makes a map of a description and returns "" or why it cannot.
template <class Encode>
std::string bindAddresses(const GemmPlan& plan, const GemmTensors& tensors, const Encode& encode, GemmMaps& maps,
                          GemmParams& params) {
  const auto encodeAt = [&](layout::TiledMap description, device::Address address, device::TensorMap& map) -> std::string {
    if (description.rank == 0) return {};
    description.globalAddress = address;
    return encode(description, map);
  };
  params = plan.params;
  if (plan.problem.window) return "operands that are windows are bound by whoever plans them";
  for (std::string why :
       {encodeAt(plan.mapA, tensors.a, maps.a), encodeAt(plan.mapB, tensors.b, maps.b),
        encodeAt(plan.mapScaleA, tensors.scaleA, maps.scaleA), encodeAt(plan.mapScaleB, tensors.scaleB, maps.scaleB),
        encodeAt(plan.mapOutput, tensors.output, maps.output)})
    if (!why.empty()) return why;
  const auto buildFrom = [](const Operand& operand, const layout::TiledMap& map, device::Address address, auto& scales) {
    const auto* const factors = map.rank == 0 ? reinterpret_cast<const uint8_t*>(address) : nullptr;
    (operand.scaleLayout == layout::ScaleFactorLayout::RowMajor ? scales.rowMajor : scales.tiles) = factors;
  };
  buildFrom(plan.problem.a, plan.mapScaleA, tensors.scaleA, params.scaleA);
  buildFrom(plan.problem.b, plan.mapScaleB, tensors.scaleB, params.scaleB);
  params.epilogue = tensors.epilogue;
  const EpilogueParams& planned = plan.params.epilogue;
  params.epilogue.rows = planned.rows, params.epilogue.columns = planned.columns;
  params.epilogue.accumulatorType = planned.accumulatorType;
  params.epilogue.outputType = planned.outputType, params.epilogue.outputBlock = planned.outputBlock;
  params.epilogue.outputPitch = planned.outputPitch;
  params.epilogue.output = reinterpret_cast<void*>(tensors.output);
  if (const auto refused = epilogueRefusal(params.epilogue, kRowColumns)) return *refused;
  params.partials = reinterpret_cast<uint32_t*>(tensors.workspace);
  params.counters = reinterpret_cast<uint32_t*>(tensors.workspace + plan.partialBytes);
  return {};
}

}  // namespace shiftconv::gemm::sm100
