// Runs a shift_window kernel, or a broken variant of it, on the emulator, below the public API: the PTX, the schedule and the
// semantics are the caller's choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/device/embedded_ptx.hpp"
#include "common/emulator/emulator.hpp"
#include "conv/algorithms/shift_window/plan.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::tests {

/// Tensors of one convolution, 16-bit elements as bit patterns. Layouts as in conv/problem/problem.hpp.
struct ConvolutionInputs {
  std::vector<uint16_t> activations;  ///< N*H*W rows of inputPitch() elements
  std::vector<uint16_t> filter;       ///< K*R*S*C
  std::vector<float> bias;            ///< K, or empty
  std::vector<uint16_t> residual;     ///< N*P*Q rows of residualPitch() elements, or empty
};

struct KernelRun {
  std::vector<std::byte> output;  ///< N*P*Q rows of outputPitch() elements, 0xCD where the kernel stored nothing
  emulator::Counters counters;
  std::vector<emulator::Hazard> hazards;
};

/// The part of an sm_100 device that the planner looks at, with few multiprocessors so that CTAs have several tiles each.
device::Properties smallBlackwell(uint32_t multiprocessors = 2);

class KernelRunner {
 public:
  explicit KernelRunner(std::string_view ptx = device::ptxFor(plan::shiftWindowImage(), "sm_100a"));

  /// Single CTAs unless the choices say otherwise. Throws EmulatorError when the machine stops the kernel, std::invalid_argument
  /// when the planner refuses.
  KernelRun run(const Problem& problem, const ConvolutionInputs& inputs, plan::ShiftWindowChoices choices,
                const emulator::Options& options);

 private:
  emulator::Emulator emulator_;
  std::shared_ptr<const emulator::LoadedModule> module_;
};

}  // namespace shiftconv::tests
