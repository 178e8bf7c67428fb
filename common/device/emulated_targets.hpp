// The GPUs that an emulated device can be. Nothing here needs the emulator.
#pragma once

#include <span>
#include <string_view>

#include "common/device/device.hpp"

namespace shiftconv::device {

/// By the numbers that openDevice takes: "sm_100a", "sm_90a".
std::span<const std::string_view> emulatedTargets();
/// Few multiprocessors, because each CTA of a persistent kernel costs set-up that the host executes too. `target`: one of
/// emulatedTargets().
Properties emulatedProperties(std::string_view target = emulatedTargets().front());

}  // namespace shiftconv::device
