// The `shift_window` algorithm: support and plan. See kernels/sm100/shift_window.cu for the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "conv/kernels/sm100/shift_window_params.hpp"
#include "conv/plan/problem.hpp"

namespace shiftconv::plan {

/// How activations get from shared memory into Tensor Memory.
enum class OperandProducer : uint8_t {
  TensorCopy,     ///< tcgen05.cp.128x256b
  RegisterStore,  ///< ld.shared + tcgen05.st: every step observed on hardware by vendor examples
};

/// Overrides of the planner's own choices; nullopt lets it choose.
struct ShiftWindowChoices {
  std::optional<OperandProducer> producer;
  std::optional<uint32_t> tileN;  ///< multiple of 16, 16..192
  std::optional<uint32_t> ctas;   ///< CTAs along the tiles
  std::optional<bool> residentWeights;
};

/// Everything `run` needs, made without a device. Pointers are filled in per run.
struct ShiftWindowPlan {
  kernels::ShiftWindowParams params{};
  device::TiledMap input{};  ///< globalAddress is set per run
  device::TiledMap filter{};
  LaunchConfig launch{};
  std::string kernelName;
  OperandProducer producer = OperandProducer::TensorCopy;
  double modelledClocksPerTile = 0;  ///< of one pass of one CTA
  double modelledClocks = 0;         ///< of the slowest CTA
  std::string modelledBound;         ///< the resource that decides

  /// Several lines: tile, windows, stages, Tensor Memory columns, shared memory, modelled traffic.
  std::string describe() const;
};

/// Empty when the algorithm can run the problem on such a device, else one sentence naming field and limit.
std::string shiftWindowRefusal(const Problem& problem, const device::Properties& properties);

/// Requires shiftWindowRefusal(...) to be empty; returns one sentence when an override cannot be met.
std::string planShiftWindow(const Problem& problem, const device::Properties& properties, const ShiftWindowChoices& choices,
                            ShiftWindowPlan& plan);

/// Names of a CTA's warps, for counters and profiles.
std::vector<std::string> shiftWindowWarpRoles(OperandProducer producer);

/// The compiled kernels (PTX and SASS), embedded in the library.
device::ModuleImage shiftWindowImage();

}  // namespace shiftconv::plan
