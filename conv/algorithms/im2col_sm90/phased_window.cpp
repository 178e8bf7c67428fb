#include "conv/algorithms/im2col_sm90/phased_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/phase_axis.hpp"
#include "conv/plan/taps.hpp"

namespace shiftconv::plan::sm90::im2col {

using kernels::im2col::kMostStride;
using kernels::im2col::PhasedAxis;

namespace {

/// Where the first tap of a phase reads for its first output.
int64_t startOf(const AxisPhase& phase) { return phase.skip - phase.padBefore; }

/// One axis, for host and device.
struct Told {
  gemm::Window::Axis window;
  int64_t step = 1, mostTaps = 1, allTaps = 0;
  PhasedAxis phases;
};
Told tell(const TransposedAxis& axis) {
  Told told;
  int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
  std::array<AxisPhase, kMostStride> phases;
  for (int64_t rest = 0; rest < axis.stride; ++rest) {
    const AxisPhase& phase = phases[static_cast<size_t>(rest)] = phaseOf(axis, rest);
    told.allTaps += phase.taps;
    if (phase.outputs == 0) continue;
    if (phase.taps > 1) told.step = phase.dilation;
    told.mostTaps = std::max(told.mostTaps, phase.taps);
    low = std::min(low, startOf(phase)), high = std::max(high, startOf(phase) + (phase.taps - 1) * phase.dilation + 1);
  }
  told.window = {.extent = axis.extent,
                 .positions = ceilDivide(axis.outputs, axis.stride),
                 .taps = high - low,
                 .before = -low,
                 .stride = 1,
                 .step = 1};
  told.phases.stride = layout::FastDivisor(static_cast<uint32_t>(axis.stride));
  told.phases.outputs = static_cast<int32_t>(axis.outputs);
  told.phases.filterTaps = static_cast<int32_t>(axis.taps);
  for (int64_t rest = 0; rest < axis.stride; ++rest) {
    const AxisPhase& phase = phases[static_cast<size_t>(rest)];
    auto& own = told.phases.phases[rest];
    own.taps = 1;  // where it has no outputs; nothing is stored then
    if (phase.outputs == 0) continue;
    own.taps = static_cast<int16_t>(phase.taps);
    own.before = static_cast<int16_t>(startOf(phase) - low);
    own.firstTap = static_cast<int32_t>(phase.firstTap + (phase.taps - 1) * phase.tapStep);
    told.phases.tapStep = static_cast<int32_t>(-phase.tapStep);
  }
  return told;
}

}  // namespace

std::string phasedWindowRefusal(const Problem& p) {
  if (std::max({p.strideD, p.strideH, p.strideW}) > kMostStride)
    return fmt::format("needs strides up to {} of a transposed convolution, but they are {}, {} and {}", kMostStride, p.strideD,
                       p.strideH, p.strideW);
  constexpr std::array kNames{"T", "R", "S"};
  const auto axes = transposedAxesOf(p);
  for (size_t i = 0; i < axes.size(); ++i)
    for (int64_t rest = 0; rest < std::min(axes[i].stride, axes[i].outputs); ++rest)
      if (phaseOf(axes[i], rest).taps == 0)
        return fmt::format("needs a tap for every output of a transposed convolution, but along {} some have none", kNames[i]);
  return {};
}

PhasedWindow phasedWindowOf(const Problem& p) {
  const auto [depth, height, width] = transposedAxesOf(p);
  const Told x = tell(width), y = tell(height), z = tell(depth);
  PhasedWindow made;
  made.window = windowOf(p);
  made.window.axes = {x.window, y.window, z.window};
  made.stepX = x.step, made.stepY = y.step, made.stepZ = z.step;
  made.mostTaps = x.mostTaps * y.mostTaps * z.mostTaps;
  made.count = p.strideD * p.strideH * p.strideW;
  made.meanTaps = static_cast<double>(x.allTaps * y.allTaps * z.allTaps) / static_cast<double>(made.count);
  made.phases.count = layout::FastDivisor(static_cast<uint32_t>(made.count));
  made.phases.pixels = static_cast<int32_t>(p.n * x.window.positions * y.window.positions * z.window.positions);
  made.phases.x = x.phases, made.phases.y = y.phases, made.phases.z = z.phases;
  return made;
}

}  // namespace shiftconv::plan::sm90::im2col
