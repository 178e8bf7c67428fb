// A transposed convolution as `im2col_sm90` computes it: the phases, each with its taps, as positions of one window.
#pragma once

#include <cstdint>
#include <string>

#include "common/gemm/shape.hpp"
#include "conv/algorithms/im2col_sm90/phase.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm90::im2col {

struct PhasedWindow {
  /// Positions of the largest phase, and for taps all pixels that those of any phase read.
  gemm::Window window;
  int64_t stepX = 1, stepY = 1, stepZ = 1;  ///< pixels between the taps of a phase
  int64_t mostTaps = 1;                     ///< of a phase
  double meanTaps = 1;                      ///< of all phases
  int64_t count = 1;                        ///< of phases
  kernels::im2col::Phases phases;
};

/// Empty, or why there is none for a transposed convolution.
std::string phasedWindowRefusal(const Problem& problem);

/// Requires phasedWindowRefusal(problem) to be empty.
PhasedWindow phasedWindowOf(const Problem& problem);

}  // namespace shiftconv::plan::sm90::im2col
