// Short epilogues for which kernels have code of their own, in one piece: what is common in networks.
//
// im2col_sm90, thin and raw_rows have kernels of their own for them, named `_lean`, with no code for anything else. What a layer of
// a network takes grows with the size of its kernel, also by code that never runs. On an H200, with the same plans, sequences of
// layers took 0.11 to 0.22 us a layer less than with kernels for all epilogues, 1.2 to 5 times as large, and layers alone as
// long as before (bench/networks/sequences).
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// After the sums and a bias, or none. With jumps over cases that are not taken, layers of which each has a kernel of its own
/// took 0.4 to 1.4 us longer (measured on an H200 by `chains --own-code`), and repeated layers with SiLU or a residual 0.25 to 0.4
/// us.
enum class Lean : uint8_t {
  No,         ///< something else
  Rectified,  ///< ReLU or nothing; of 8 bits isLeanBytes
  Residual,   ///< a residual of the output's type, then ReLU or nothing
  Silu,
  Ramp,          ///< hard swish or leaky ReLU (gemm::Ramp); in `halo` also scales, with limits or nothing
  Clamp,         ///< between numbers of the output's type
  SiluResidual,  ///< SiLU, then a residual of the output's type (the blocks of YOLO)
};

template <Lean kLean>
inline constexpr bool kAddsResidual = kLean == Lean::Residual || kLean == Lean::SiluResidual;

/// The same as a kernel asks for it: one flag after the other, the most frequent case first. Comparisons of one value would become
/// a switch that asks for this case last: layers of 2 us with it took 2 % longer, on an H200.
struct LeanFlags {
  bool rectified = false, silu = false, residual = false, ramp = false, clamp = false, siluResidual = false;

  constexpr LeanFlags() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): the same choice.
  constexpr LeanFlags(Lean lean)
      : rectified(lean == Lean::Rectified),
        silu(lean == Lean::Silu),
        residual(lean == Lean::Residual),
        ramp(lean == Lean::Ramp),
        clamp(lean == Lean::Clamp),
        siluResidual(lean == Lean::SiluResidual) {}
  friend constexpr bool operator==(const LeanFlags&, const LeanFlags&) = default;
};

}  // namespace shiftconv::kernels
