// Short epilogues of 16-bit outputs of which kernels have code of their own, in one piece: what is common in networks.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// After the sums and an f32 bias, or none. With jumps over cases that are not taken, layers of which each has a kernel of its own
/// took 0.4 to 1.4 us longer (measured on an H200 by `chains --own-code`), and repeated layers with SiLU or a residual 0.25 to 0.4
/// us.
enum class Lean : uint8_t {
  No,         ///< something else
  Rectified,  ///< ReLU or nothing; of 8 bits isLeanBytes
  Residual,   ///< a residual of the output's type, then ReLU or nothing
  Silu,
};

}  // namespace shiftconv::kernels
