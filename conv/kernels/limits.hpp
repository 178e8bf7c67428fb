// Between what numbers of a 16-bit type outputs are held: ReLU, a clamp between numbers of the type, or nothing.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// Of each, the number twice: as the upper and the lower half. NaN stays NaN.
struct Limits {
  uint32_t least = 0, most = 0;
};

}  // namespace shiftconv::kernels
