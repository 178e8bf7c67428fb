#include "conv/plan/phase_axis.hpp"

#include <algorithm>
#include <numeric>

#include "common/layout/ceil_divide.hpp"

namespace shiftconv::plan {

std::array<TransposedAxis, 3> transposedAxesOf(const Problem& p) {
  return {{{p.d, p.z(), p.t, p.strideD, p.dilationD, p.padFront},
           {p.h, p.p(), p.r, p.strideH, p.dilationH, p.padTop},
           {p.w, p.q(), p.s, p.strideW, p.dilationW, p.padLeft}}};
}

AxisPhase phaseOf(const TransposedAxis& axis, int64_t residue) {
  AxisPhase phase;
  if (residue >= axis.outputs) return phase;
  phase.outputs = ceilDivide(axis.outputs - residue, axis.stride);

  // Tap r adds input i to output i * stride + r * dilation - padBefore: those of this phase have the same r * dilation modulo
  // stride, so each is tapStep taps behind the one before, and finds the input dilation / gcd further in front.
  const int64_t common = std::gcd(axis.stride, axis.dilation);
  phase.tapStep = axis.stride / common;
  const int64_t reached = residue + axis.padBefore;
  int64_t first = 0;
  while (first < phase.tapStep && (reached - first * axis.dilation) % axis.stride != 0) ++first;
  if (first == phase.tapStep || first >= axis.taps) {
    phase.padBefore = phase.outputs;
    phase.computed = axis.extent + phase.padBefore;
    return phase;
  }
  phase.firstTap = first;
  phase.taps = (axis.taps - 1 - first) / phase.tapStep + 1;
  phase.dilation = phase.taps == 1 ? 1 : axis.dilation / common;

  // Output j finds input j + nearest with the first tap, and earlier ones with those after it, which come first in the
  // convolution.
  const int64_t nearest = (reached - first * axis.dilation) / axis.stride, reach = (phase.taps - 1) * phase.dilation;
  phase.padBefore = std::max<int64_t>(0, reach - nearest);
  phase.skip = std::max<int64_t>(0, nearest - reach);
  phase.padAfter = std::max<int64_t>(0, phase.outputs + phase.skip + reach - axis.extent - phase.padBefore);
  phase.computed = axis.extent + phase.padBefore + phase.padAfter - reach;
  return phase;
}

}  // namespace shiftconv::plan
