#include "conv/algorithms/shift_stream/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/gemm/sm100/operand_plan.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/plan/sm100_operands.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

/// Pieces of a frame that the loading warp can still find places for.
int64_t maximumPieces(int64_t frameLanes) { return kStreamMaximumPieces * frameLanes / kStreamLanes; }

LaneMap mapOf(int64_t frameLanes, int64_t pieces, int64_t pieceLanes, int64_t outputs) {
  LaneMap lanes;
  lanes.frameLanes = static_cast<int32_t>(frameLanes);
  lanes.framePieces = static_cast<int32_t>(pieces);
  lanes.pieceLanes = static_cast<int32_t>(pieceLanes);
  lanes.loadedLanes = static_cast<int32_t>(std::min(pieceLanes, frameLanes - (pieces - 1) * pieceLanes));
  lanes.pieceOutputs = static_cast<int32_t>(outputs);
  return lanes;
}

/// Whole rows, one behind the other: the zeros to the right of one are those to the left of the next. What the last row's taps find
/// after the frame is padding as well, which lanes that are disabled there do without; kinds without lane masks need it in the
/// frame. Nothing when no row fits.
LaneMap wholeRows(const Problem& p, int64_t frameLanes, bool isRefilled) {
  const int64_t pitch = std::max(p.w + std::max(p.padLeft, p.padRight), p.q());
  int64_t last = std::max(p.q(), p.padLeft + p.w);
  if (!isRefilled && isScaled(p)) last = std::max(last, p.q() + p.s - 1);
  if (last > frameLanes) return {};
  return mapOf(frameLanes, std::min((frameLanes - last) / pitch + 1, maximumPieces(frameLanes)), pitch, p.q());
}

/// `pieces` pieces with all their taps in a frame; rows are cut as evenly as may be. Nothing when none of that width has an output.
LaneMap cutRows(const Problem& p, int64_t frameLanes, int64_t pieces) {
  const int64_t most = frameLanes / pieces - (p.s - 1);
  if (most < 1) return {};
  const int64_t outputs = ceilDivide(p.q(), ceilDivide(p.q(), most)), pitch = outputs + p.s - 1;
  return mapOf(frameLanes, std::min(frameLanes / pitch, maximumPieces(frameLanes)), pitch, outputs);
}

/// Columns of a row that lanes hold where rows follow one another without padding: all outputs, and the pixels of their taps.
int64_t rowLanes(const Problem& p) { return std::max(p.q(), std::min(p.w, p.q() + p.s - 1 - p.padLeft)); }

/// Rows in `pieces` equal pieces, one behind the other: what else a piece's taps need lies in its neighbours, or is padding.
/// Nothing when masks do not repeat themselves soon enough.
LaneMap rowsEndToEnd(const Problem& p, int64_t pieces) {
  const int64_t outputs = ceilDivide(rowLanes(p), pieces);
  LaneMap lanes = mapOf(kStreamLanes, std::min(kStreamLanes / outputs, maximumPieces(kStreamLanes)), outputs, outputs);
  lanes.loadedLanes = lanes.pieceLanes;
  lanes.isMasked = true;
  lanes.firstTap = static_cast<int32_t>(p.padLeft);
  lanes.tailLanes = std::min(static_cast<int32_t>(p.s) - 1 - lanes.firstTap, kStreamLanes - lanes.framePieces * lanes.pieceLanes);
  if (maskPhases(p, lanes) > kStreamMaskPhases) return {};
  return lanes;
}

/// Fewer lanes for each output row: more than `margin` in 32 fewer.
bool isBetter(const Problem& p, const LaneMap& a, const LaneMap& b, int64_t margin = 0) {
  if (a.pieceOutputs == 0 || b.pieceOutputs == 0) return a.pieceOutputs != 0;
  return rowPieces(p, a) * b.framePieces * (32 + margin) < rowPieces(p, b) * a.framePieces * 32;
}

}  // namespace

int64_t rowPieces(const Problem& p, const LaneMap& lanes) {
  return ceilDivide(lanes.isMasked ? rowLanes(p) : p.q(), lanes.pieceOutputs);
}

int64_t maskPhases(const Problem& p, const LaneMap& lanes) {
  if (!lanes.isMasked) return 1;
  const int64_t pieces = rowPieces(p, lanes);
  return pieces / std::gcd(pieces, int64_t{lanes.pieces()});
}

DisabledLanes disabledLanes(const Problem& p, const LaneMap& lanes, int64_t phase, int64_t tap) {
  DisabledLanes disabled;
  if (tap == lanes.firstTap) return disabled;
  if (!lanes.isRefilled)
    for (uint32_t& window : disabled.window) window = ~0u << (kStreamWindowLanes - tap);
  if (!lanes.isMasked) return disabled;
  const int64_t inRow = rowPieces(p, lanes);
  int64_t piece = phase * lanes.pieces() % inRow;
  int32_t lane = 0;
  const auto disable = [&] { disabled.window[lane / kStreamWindowLanes] |= 1u << lane % kStreamWindowLanes; };
  for (int32_t of = 0; of < lanes.pieces(); ++of) {
    const int64_t first = piece * lanes.pieceOutputs + tap - p.padLeft;
    for (int64_t x = first; x < first + lanes.pieceLanes; ++x, ++lane)
      if (x < 0 || x >= p.w) disable();
    piece = piece + 1 == inRow ? 0 : piece + 1;
  }
  for (; lane < kStreamLanes; ++lane) disable();
  return disabled;
}

std::string arrangeLanes(const Problem& p, StreamMap map, LaneMap& lanes) {
  const auto name = kStreamMapNames[static_cast<size_t>(map)];
  if (isRefilled(map)) {
    if (p.s == 1) return fmt::format("map={} needs S of at least 2: with 1 nothing is shifted or refilled", name);
    std::string why;
    const auto kind = kindOf(p, why);
    if (bitsOf(p.inputType) < 8 && !gemm::sm100::isPackedInShared(*kind))
      return fmt::format("map={} cannot refill {}: nobody has said that tcgen05.cp.4x256b expands elements", name,
                         nameOf(p.inputType));
  }
  if (map == StreamMap::FlatMasked) {
    if (isScaled(p)) return fmt::format("map={} needs lane masks, which block-scaled kinds do not have", name);
    if (p.padLeft >= p.s)
      return fmt::format(
          "map={} needs pad_left below S, so that some tap lies in the image for every output column, but they are {} "
          "and {}",
          name, p.padLeft, p.s);
  }
  const int64_t frame = map == StreamMap::FlatRefill || map == StreamMap::FlatMasked ? kStreamLanes : kStreamWindowLanes;
  switch (map) {
    case StreamMap::Strips:
      lanes = mapOf(frame, 1, frame, frame + 1 - p.s);
      break;
    case StreamMap::StripsRefill:
      lanes = mapOf(frame, 1, frame, frame);
      break;
    case StreamMap::Packed:
    case StreamMap::FlatRefill:
      lanes = wholeRows(p, frame, isRefilled(map));
      for (int64_t pieces = map == StreamMap::Packed ? 2 : 1; pieces <= maximumPieces(frame); ++pieces)
        if (const LaneMap cut = cutRows(p, frame, pieces); isBetter(p, cut, lanes)) lanes = cut;
      break;
    case StreamMap::FlatMasked:
      lanes = {};
      // More pieces than that have no masks that repeat themselves soon enough. Each is a box that one thread loads, so that a few
      // lanes are not worth smaller ones.
      for (int64_t pieces = ceilDivide(rowLanes(p), frame);
           pieces <= std::min<int64_t>(rowLanes(p), kStreamMaskPhases * kStreamMaximumPieces); ++pieces)
        if (const LaneMap cut = rowsEndToEnd(p, pieces); isBetter(p, cut, lanes, 1)) lanes = cut;
      if (lanes.pieceOutputs == 0)
        return fmt::format(
            "map={} needs rows whose masks repeat themselves after {} CTAs, but in none of its ways to cut Q = {} do they", name,
            kStreamMaskPhases, p.q());
      break;
  }
  lanes.isRefilled = isRefilled(map);
  return {};
}

}  // namespace shiftconv::plan
