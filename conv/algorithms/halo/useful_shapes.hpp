// Which shapes of `halo` are of use to a problem, before anything is worked out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/halo/cut.hpp"
#include "conv/algorithms/halo/kernels.hpp"
#include "conv/algorithms/halo/places.hpp"
#include "conv/algorithms/halo/plan.hpp"

namespace shiftconv::plan::sm90::halo {

/// Whether tiles of so many channels are of use. Where they are all rows of operand B: whole blocks, of 8 bits also whole pieces
/// that a pixel's outputs are staged in, or all channels and less than twice as many. (Several tiles of 96 or 160 channels in 16
/// bits gain nothing: with their times in 6,000 layers and trees fitted to these, choices that changed took 1.00 of the time in 322
/// layers of networks, and 1.02 in 32 that the fit did not know. Measured on an H200.)
///
/// Groups: 64 channels, which read as many of a pixel. A row of 128 bytes has twice as many of 8 bits: then two warpgroups with a
/// block each share a box.
inline bool suits(const ShapeEntry& shape, const Geometry& g) {
  const int64_t tile = shape.channels();
  const bool isPair = g.elementBytes == 1 && !shape.isFull() && !shape.pixelsAreA() && shape.first == 1 && shape.second == 1;
  if (g.groups > 1 && tile != kBlockChannels && !(isPair && tile == 2 * kBlockChannels)) return false;
  if (!shape.pixelsAreA()) return true;
  const bool isByte = shape.pixelOutputBytes() == 1;
  if (tile >= g.k) return tile < 2 * roundUp(g.k, isByte ? 16 : 8);
  return tile >= kBlockChannels && tile % (isByte ? shape.pieceChannels() : kBlockChannels) == 0;
}

/// Of the outputs of all tiles, the share that exists. Columns of a cut may leave out more.
inline double filledShare(const ShapeEntry& shape, const Geometry& g) {
  const int64_t pixels = g.n * g.p * g.q;
  return static_cast<double>(g.k * pixels) /
         static_cast<double>(roundUp(g.k, int64_t{shape.channels()}) * roundUp(pixels, int64_t{shape.tileN}));
}

/// The shapes that are worth a look where nothing is asked for: with weights as operand A, those whose tiles are more than half as
/// full as the fullest. Two fifths of all are not; in 5 of 20,351 recorded problems one of these was the fastest candidate, by 3 %
/// at most.
class FullShapes {
 public:
  FullShapes(const Task& task, const HaloChoices& choices) : task_(task) {
    if (choices.shape || choices.cut || choices.split || choices.lag || task.g.groups > 1) return;
    for (size_t m = 0; m < task.modules.size(); ++m)
      for (const ShapeEntry& shape : shapesOf(task.modules[m]))
        if (!shape.pixelsAreA() && suits(shape, task.g) && task.has(shape, m))
          fullest_ = std::max(fullest_, filledShare(shape, task.g));
  }
  bool operator()(const ShapeEntry& shape) const {
    return shape.pixelsAreA() || fullest_ == 0 || 2 * filledShare(shape, task_.g) > fullest_;
  }

 private:
  const Task& task_;
  double fullest_ = 0;
};
inline constexpr auto anyShape = [](const ShapeEntry&) { return true; };

}  // namespace shiftconv::plan::sm90::halo
