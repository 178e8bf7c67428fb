#include "conv/algorithms/phases/forms.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/layout/ceil_divide.hpp"

namespace shiftconv::plan::phases {
namespace {

using kernels::phases::kMostStride;

/// What a phase, or all of them, have of the whole.
Problem forward(const Problem& p) {
  Problem one = p;
  one.transposed = one.filterFlipped = false;
  one.outputPaddingD = one.outputPaddingH = one.outputPaddingW = 0;
  one.outputPixelPitch = one.residualPixelPitch = 0;
  one.strideD = one.strideH = one.strideW = 1;
  return one;
}

/// Tap i of a phase is tap first + i * step of `taps`.
TapChoice choiceOf(const AxisPhase& phase, int64_t taps, bool isFlipped) {
  const int64_t last = phase.firstTap + (phase.taps - 1) * phase.tapStep;
  return {taps, isFlipped ? taps - 1 - last : last, isFlipped ? phase.tapStep : -phase.tapStep};
}

std::optional<UnitedAxis> unitedAxis(const TransposedAxis& axis) {
  UnitedAxis united;
  int64_t low = 0, high = 1;  // where taps find inputs, from the output's own position
  for (int64_t rest = 0; rest < axis.stride; ++rest) {
    const AxisPhase& phase = united.phases.emplace_back(phaseOf(axis, rest));
    united.outputs = std::max(united.outputs, phase.outputs);
    if (phase.taps == 0 || phase.outputs == 0) continue;
    if (phase.dilation != 1) return {};
    const int64_t start = phase.skip - phase.padBefore;
    low = std::min(low, start), high = std::max(high, start + phase.taps);
  }
  united.taps = high - low;
  united.padBefore = -low;
  united.padAfter = std::max<int64_t>(0, united.outputs + united.taps - 1 - axis.extent - united.padBefore);
  for (const AxisPhase& phase : united.phases) {
    united.before.push_back(phase.skip - phase.padBefore - low);
    united.isExact = united.isExact && phase.outputs == united.outputs;
  }
  united.isExact = united.isExact && axis.extent + united.padBefore + united.padAfter - united.taps + 1 == united.outputs;
  united.outputs = axis.extent + united.padBefore + united.padAfter - united.taps + 1;
  return united;
}

}  // namespace

int64_t phaseCount(const Problem& p) {
  int64_t count = 1;
  for (const int64_t stride : {p.strideD, p.strideH, p.strideW}) count = std::min<int64_t>(int64_t{1} << 20, count * stride);
  return count;
}

std::vector<Phase> phasesOf(const Problem& p) {
  const auto [depth, height, width] = transposedAxesOf(p);
  std::vector<Phase> phases;
  for (int64_t z = 0; z < p.strideD; ++z)
    for (int64_t y = 0; y < p.strideH; ++y)
      for (int64_t x = 0; x < p.strideW; ++x) {
        Phase phase;
        phase.rests = {z, y, x};
        phase.axes = {phaseOf(depth, z), phaseOf(height, y), phaseOf(width, x)};
        const auto& [a, b, c] = phase.axes;
        Problem& one = phase.problem = forward(p);
        one.t = std::max<int64_t>(1, a.taps), one.r = std::max<int64_t>(1, b.taps), one.s = std::max<int64_t>(1, c.taps);
        one.dilationD = a.dilation, one.dilationH = b.dilation, one.dilationW = c.dilation;
        one.padFront = a.padBefore, one.padBack = a.padAfter;
        one.padTop = b.padBefore, one.padBottom = b.padAfter;
        one.padLeft = c.padBefore, one.padRight = c.padAfter;
        phase.sameAs = phases.size();
        for (size_t i = 0; i < phases.size(); ++i)
          if (phases[i].exists() && phase.exists() && phases[i].problem == one) {
            phase.sameAs = i;
            break;
          }
        phases.push_back(std::move(phase));
      }
  return phases;
}

std::optional<std::vector<Phase>> directPhases(const Problem& p) {
  constexpr int64_t kPixelBytes = 16;  // as the copy engine needs it, of every phase's first one
  if (p.groups != 1 || p.z() % p.strideD != 0 || p.outputPitch() * bytesOf(p.outputType) % kPixelBytes != 0 ||
      (p.hasResidual() && p.residualPitch() * bytesOf(p.residualType) % kPixelBytes != 0))
    return {};
  std::vector<Phase> phases = phasesOf(p);
  for (size_t i = 0; i < phases.size(); ++i) {
    Phase& phase = phases[i];
    phase.sameAs = i;
    if (!phase.exists()) continue;
    if (!phase.isExact() || phase.isEmpty()) return {};
    Problem& one = phase.problem;
    const int64_t row = p.q() * p.outputPitch();
    one.outputPixelPitch = p.strideW * p.outputPitch();
    one.outputRowStride = p.strideH * row;
    one.outputPlaneStride = p.strideD * p.p() * row;
    if (p.hasResidual()) one.residualPixelPitch = p.strideW * p.residualPitch();
    one.tapChoices = {choiceOf(phase.axes[0], p.t, p.filterFlipped), choiceOf(phase.axes[1], p.r, p.filterFlipped),
                      choiceOf(phase.axes[2], p.s, p.filterFlipped)};
  }
  return phases;
}

std::optional<Rows> rowsOf(const Problem& p) {
  const bool isDense = p.outputPitch() == p.k && (!p.hasResidual() || p.residualPitch() == p.k);
  if (p.groups != 1 || p.strideW == 1 || !isDense || p.z() % p.strideD != 0) return {};
  auto width = unitedAxis(transposedAxesOf(p)[2]);
  if (!width || !width->isExact) return {};
  Rows rows{std::move(*width), {}};
  Problem ofRows = p;  // without its width
  ofRows.strideW = 1, ofRows.s = 1, ofRows.dilationW = 1, ofRows.padLeft = ofRows.padRight = ofRows.outputPaddingW = 0;
  for (Phase& phase : phasesOf(ofRows)) {
    Problem& one = phase.problem;
    one.s = rows.width.taps;
    one.padLeft = rows.width.padBefore, one.padRight = rows.width.padAfter;
    one.k = p.strideW * p.k;
    one.outputRowStride = p.strideH * p.q() * p.k;
    one.outputPlaneStride = p.strideD * p.p() * p.q() * p.k;
    if (phase.exists() && !phase.isExact()) return {};
    rows.phases.push_back(std::move(phase));
  }
  return rows;
}

std::optional<United> unitedOf(const Problem& p) {
  if (p.groups != 1 || std::max({p.strideD, p.strideH, p.strideW}) > kMostStride) return {};
  const auto [depth, height, width] = transposedAxesOf(p);
  auto a = unitedAxis(depth), b = unitedAxis(height), c = unitedAxis(width);
  if (!a || !b || !c) return {};
  const bool isExact = a->isExact && b->isExact && c->isExact;
  if ((p.hasAmax || p.hasResidual()) && !isExact) return {};
  United united{{std::move(*a), std::move(*b), std::move(*c)}, forward(p)};
  Problem& one = united.problem;
  one.k = phaseCount(p) * p.k;
  one.dilationD = one.dilationH = one.dilationW = 1;
  one.t = united.axes[0].taps, one.r = united.axes[1].taps, one.s = united.axes[2].taps;
  one.padFront = united.axes[0].padBefore, one.padBack = united.axes[0].padAfter;
  one.padTop = united.axes[1].padBefore, one.padBottom = united.axes[1].padAfter;
  one.padLeft = united.axes[2].padBefore, one.padRight = united.axes[2].padAfter;
  united.writesOutput =
      isExact && p.strideD == 1 && p.strideH == 1 && p.outputPitch() == p.k && (!p.hasResidual() || p.residualPitch() == p.k);
  return united;
}

}  // namespace shiftconv::plan::phases
