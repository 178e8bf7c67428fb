// A planned launch on the emulator, below the public API: addresses and tensor maps are filled in as a binding does.
#pragma once

#include <cstdint>

#include "conv/plan/plan.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests {

/// `tensors`: addresses in the emulator's memory, 0 for those that the plan has not. Throws std::invalid_argument when a tensor map
/// cannot be encoded.
Observation launchPlanned(DeviceRun& device, const plan::PlannedLaunch& launch, const PerTensor<uint64_t>& tensors,
                          const emulator::Options& options);

}  // namespace shiftconv::tests
