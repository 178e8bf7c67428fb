// How long a plan of `im2col_sm90` takes on an H200: a model of CTAs, tensor core, loads and device memory; and what all plans of a
// problem share, which it is worked out from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/device/device.hpp"
#include "common/gemm/window_plan.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/im2col_sm90/packed.hpp"
#include "conv/algorithms/im2col_sm90/phased_window.hpp"
#include "conv/algorithms/im2col_sm90/plan.hpp"
#include "conv/algorithms/im2col_sm90/rows.hpp"
#include "conv/algorithms/im2col_sm90/tile_lists.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/sm90_limits.hpp"
#include "conv/plan/taps.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm90::im2col {

/// Logarithms of the CTAs that share an operand.
struct SharedShifts {
  int32_t pixels, filter;
};
inline constexpr std::array<SharedShifts, 8> kSharedShifts{
    {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {0, 2}, {2, 1}, {1, 2}}};  // in the order of Shared
constexpr SharedShifts shiftsOf(Shared shared) { return kSharedShifts[static_cast<size_t>(shared)]; }
static_assert(shiftsOf(Shared::BothFourFilter).filter == 2 && shiftsOf(Shared::Both).pixels == 1);

inline int64_t elementBytes(const Problem& p) { return isHalf(p.inputType) ? 2 : 1; }
inline int64_t chunkOf(const Problem& p) { return chunkChannels(static_cast<int32_t>(elementBytes(p))); }

/// Of the taps along an axis, the share that a row of outputs reads inside of the image.
double usefulTaps(const gemm::Window::Axis& axis);

/// What is the same for all plans of a problem.
struct Task {
  const Problem& p;
  const device::Properties& properties;
  const Rates& rates = ratesOf(properties);
  std::optional<PhasedWindow> phased = p.transposed ? std::optional(phasedWindowOf(p)) : std::nullopt;
  gemm::Window window = phased ? phased->window : windowOf(p);
  double bytes = bytesOnce(p);
  /// Of the output, or of a phase of it.
  int64_t planePixels = window.axes[0].positions * window.axes[1].positions, imagePixels = window.axes[2].positions * planePixels,
          pixels = p.n * imagePixels;
  int64_t phases = phased ? phased->count : 1;
  int64_t taps = phased ? phased->mostTaps : window.taps();  ///< of a tile, at most
  double meanTaps = phased ? phased->meanTaps : static_cast<double>(taps);
  double usefulRows = usefulTaps(window.axes[1]), usefulPlanes = usefulTaps(window.axes[2]);
  int32_t pieceBytes = rowPieceBytes(p);
  int64_t steps = taps * ceilDivide(p.groupChannels(), chunkOf(p));  ///< of a reduction

  Task(const Problem& asked, const device::Properties& of) : p(asked), properties(of) {}
  /// Whether the copy engine can load rows, or threads only.
  bool haveMaps() const { return pieceBytes == kMapBytes; }
  /// The copy engine reads whole boxes of a matrix faster than it walks along pixels.
  bool isMatrix() const {
    return !phased && isPixelByPixel(p) && (p.groups == 1 || p.groupChannels() % chunkOf(p) == 0) && p.splitD == 0;
  }
};

/// Fills in modelledClocks, bound and modelParts of a plan that is complete but for them.
void model(const Task& task, const Tile& tile, Im2colPlan& plan);

}  // namespace shiftconv::plan::sm90::im2col
