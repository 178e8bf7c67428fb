// The order in which shift_stream walks through an image: the same for every role, and for the planner.
#pragma once

#include <cstdint>

#include "conv/algorithms/shift_stream/params.hpp"

namespace shiftconv::kernels {

SHIFTCONV_HOST_DEVICE constexpr int32_t ceilDivide32(int32_t a, int32_t b) { return (a + b - 1) / b; }
SHIFTCONV_HOST_DEVICE constexpr int32_t rowStep(const ShiftStreamParams& p) { return p.strideH == 1 ? p.dilationH : 1; }

/// A block of output rows, and the input rows that it walks through: step `t` is image row firstInputRow + t * dilationH.
struct RowBlock {
  int32_t firstOutputRow, outputRows;
  int32_t firstInputRow, begin, end;  // steps
};

SHIFTCONV_HOST_DEVICE constexpr RowBlock rowBlock(const ShiftStreamParams& p, int32_t number) {
  const int32_t step = rowStep(p);
  RowBlock block{};
  block.firstOutputRow = number % step + number / step * p.blockRows * step;
  const int32_t left = block.firstOutputRow < p.outputHeight ? ceilDivide32(p.outputHeight - block.firstOutputRow, step) : 0;
  block.outputRows = left < p.blockRows ? left : p.blockRows;
  block.firstInputRow = block.firstOutputRow * p.strideH - p.padTop;
  block.begin = 0;
  block.end = block.outputRows == 0 ? 0 : (block.outputRows - 1) * p.strideH + p.filterHeight;
  if (p.skipsOutsideRows && block.end != 0) {
    if (block.firstInputRow < 0) block.begin = ceilDivide32(-block.firstInputRow, p.dilationH);
    const int32_t inside = ceilDivide32(p.height - block.firstInputRow, p.dilationH);
    if (inside < block.end) block.end = inside;
  }
  return block;
}

/// The steps and output rows of a tile: of all blocks that its pieces lie in. A piece whose own block has fewer multiplies zeros,
/// or rows that only others need, and stores nothing of that.
struct TileRows {
  int32_t outputRows, begin, end;
};
/// `first`, `count`: pieces of the tile, of all CTAs of a cluster.
SHIFTCONV_HOST_DEVICE constexpr TileRows tileRows(const ShiftStreamParams& p, int32_t first, int32_t count) {
  const int32_t last = (first + count < p.pieces ? first + count : p.pieces) - 1;
  TileRows rows{};
  for (int32_t number = first / p.blockPieces; number <= last / p.blockPieces; ++number) {
    const RowBlock block = rowBlock(p, number);
    if (block.outputRows == 0) continue;
    if (rows.outputRows == 0 || block.begin < rows.begin) rows.begin = block.begin;
    if (block.end > rows.end) rows.end = block.end;
    if (block.outputRows > rows.outputRows) rows.outputRows = block.outputRows;
  }
  return rows;
}

/// Output rows of the tile that step `t` contributes to: `first`.. `first + count - 1`, filter row t - i * strideH for row i.
struct Contribution {
  int32_t first, count;
};
SHIFTCONV_HOST_DEVICE constexpr Contribution contribution(const ShiftStreamParams& p, const TileRows& rows, int32_t t) {
  const int32_t before = t - p.filterHeight + 1;
  const int32_t first = before > 0 ? ceilDivide32(before, p.strideH) : 0;
  const int32_t last = t / p.strideH < rows.outputRows - 1 ? t / p.strideH : rows.outputRows - 1;
  return {first, last - first + 1};
}

/// Steps before `t` that contribute to something, in a tile that begins with step 0.
SHIFTCONV_HOST_DEVICE constexpr int32_t stepsBefore(const ShiftStreamParams& p, int32_t t) {
  const int32_t whole = t / p.strideH, rest = t - whole * p.strideH;
  return whole * (p.filterHeight < p.strideH ? p.filterHeight : p.strideH) + (rest < p.filterHeight ? rest : p.filterHeight);
}

/// Where a piece lies: image, output depth, first output column, its block's rows. Pieces after the last are of an image that does
/// not exist.
struct Place {
  int32_t image, depth, column;
  int32_t firstOutputRow, outputRows, firstInputRow;
};
SHIFTCONV_HOST_DEVICE constexpr Place placeOf(const ShiftStreamParams& p, int32_t piece) {
  if (piece >= p.pieces) return {p.images, 0, 0, 0, 0, 0};
  const int32_t number = piece / p.blockPieces, inBlock = piece - number * p.blockPieces, row = inBlock / p.rowPieces;
  const RowBlock block = rowBlock(p, number);
  return {row / p.outputDepth,  row % p.outputDepth, (inBlock - row * p.rowPieces) * p.lanes.pieceOutputs,
          block.firstOutputRow, block.outputRows,    block.firstInputRow};
}

/// What lane `lane` of a frame belongs to: a piece of the frame, and how far into it. Lanes after the frame belong to its last.
struct PieceLane {
  int32_t piece, offset;
};
SHIFTCONV_HOST_DEVICE constexpr PieceLane pieceLane(const LaneMap& map, int32_t lane) {
  const int32_t piece = lane / map.pieceLanes < map.framePieces ? lane / map.pieceLanes : map.framePieces - 1;
  return {piece, lane - piece * map.pieceLanes};
}
/// The same for a lane of the CTA: the piece is one of the CTA's.
SHIFTCONV_HOST_DEVICE constexpr PieceLane ctaPieceLane(const LaneMap& map, int32_t lane) {
  const int32_t frame = lane / map.frameLanes;
  const PieceLane inFrame = pieceLane(map, lane - frame * map.frameLanes);
  return {frame * map.framePieces + inFrame.piece, inFrame.offset};
}

/// Tap columns whose products follow one another while shifts lead from each to the next. A copy of the row begins them.
struct TapRange {
  int32_t begin, end;
};
/// An input row's first products (`opens`) take two such ranges, if the first tap has others in front of it.
SHIFTCONV_HOST_DEVICE constexpr int32_t tapRanges(const LaneMap& map, bool opens) { return opens && map.firstTap != 0 ? 2 : 1; }
SHIFTCONV_HOST_DEVICE constexpr TapRange tapRange(const LaneMap& map, int32_t filterWidth, bool opens, int32_t index) {
  return {opens && index == 0 ? map.firstTap : 0, index == 0 ? filterWidth : map.firstTap};
}

/// What the last lane of window `window` takes for tap column `tap`: the pixel that began as many lanes further as there are taps
/// from the first one.
SHIFTCONV_HOST_DEVICE constexpr PieceLane refillOf(const LaneMap& map, int32_t window, int32_t tap) {
  const int32_t frame = window * kStreamWindowLanes / map.frameLanes;
  const int32_t lane = (window + 1) * kStreamWindowLanes - 1 + tap - map.firstTap - frame * map.frameLanes;
  const PieceLane inFrame = pieceLane(map, lane);
  return {frame * map.framePieces + inFrame.piece, inFrame.offset};
}

/// A pixel that is loaded by itself into lane `lane`: in front of the first piece of the CTA, or after the last one.
struct EdgePixel {
  int32_t lane;
  PieceLane from;
};
SHIFTCONV_HOST_DEVICE constexpr EdgePixel edgePixel(const LaneMap& map, int32_t edge) {
  const int32_t last = map.framePieces - 1, lane = edge - map.firstTap;
  if (lane < 0) return {lane, {0, lane}};
  return {map.framePieces * map.pieceLanes + lane, {last, map.pieceLanes + lane}};
}

}  // namespace shiftconv::kernels
