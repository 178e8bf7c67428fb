#include "conv/algorithms/shift_stream/places.hpp"

#include <algorithm>
#include <compare>
#include <numeric>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/taps.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

/// What tells two row blocks apart, to their tiles: their rows, and how many of these lie above and not below the image. No member
/// grows from a block to the next one, whose rows lie further down.
struct BlockKind {
  int32_t outputRows, begin, end, above, inside;
  auto operator<=>(const BlockKind&) const = default;
};

/// Steps above the image, and steps that begin above its end.
int32_t stepsAbove(const ShiftStreamParams& g, int32_t firstInputRow) {
  return firstInputRow < 0 ? kernels::ceilDivide32(-firstInputRow, g.dilationH) : 0;
}
int32_t stepsToEnd(const ShiftStreamParams& g, int32_t firstInputRow) {
  return firstInputRow < g.height ? kernels::ceilDivide32(g.height - firstInputRow, g.dilationH) : 0;
}

BlockKind kindOfBlock(const ShiftStreamParams& g, int64_t number) {
  const RowBlock block = rowBlock(g, static_cast<int32_t>(number));
  return {block.outputRows, block.begin, block.end, std::min(stepsAbove(g, block.firstInputRow), block.end),
          std::min(stepsToEnd(g, block.firstInputRow), block.end)};
}

/// The first block after `number` that differs from it, or `blocks`.
int64_t endOfAlike(const ShiftStreamParams& g, int64_t number, int64_t blocks) {
  const BlockKind kind = kindOfBlock(g, number);
  int64_t alike = number, other = blocks;
  while (other - alike > 1) {
    const int64_t middle = alike + (other - alike) / 2;
    (kindOfBlock(g, middle) == kind ? alike : other) = middle;
  }
  return other;
}

/// Input rows in the image that a piece of a block loads in a tile with such rows.
int64_t insideRows(const ShiftStreamParams& g, int32_t firstInputRow, const TileRows& rows) {
  const int32_t begin = std::clamp(stepsAbove(g, firstInputRow), rows.begin, rows.end);
  const int32_t end = std::clamp(stepsToEnd(g, firstInputRow), begin, rows.end);
  return stepsBefore(g, end) - stepsBefore(g, begin);
}

/// Lanes of a piece, from lane `offset` of it on.
struct LaneLoad {
  int32_t offset, lanes;
};

/// Loads of the pieces of a CTA: for each of them its own row, and what refills windows from it.
class PieceLoads {
 public:
  PieceLoads(const Problem& p, const ShiftStreamParams& g, const StreamCut& cut)
      : g_(g), loads_(static_cast<size_t>(g.lanes.pieces()), {{0, g.lanes.loadedLanes}}) {
    for (int32_t refill = 0; refill < cut.refills(p); ++refill) {
      const PieceLane at = refillOf(g.lanes, refill % kStreamWindows, refill / kStreamWindows + 1);
      loads_[static_cast<size_t>(at.piece)].push_back({at.offset, 1});
    }
    for (int32_t edge = 0; edge < g.lanes.edges(); ++edge) {
      const PieceLane at = edgePixel(g.lanes, edge).from;
      loads_[static_cast<size_t>(at.piece)].push_back({at.offset, 1});
    }
    for (const auto& loads : loads_) {
      int64_t lanes = 0;
      for (const LaneLoad& load : loads) {
        lanes += load.lanes;
        front_ = std::max<int64_t>(front_, -load.offset);
        reach_ = std::max<int64_t>(reach_, load.offset + load.lanes);
      }
      lanes_.push_back(lanes);
    }
    laneSum_ = std::accumulate(lanes_.begin(), lanes_.end(), int64_t{0});
  }

  int64_t pieces() const { return static_cast<int64_t>(loads_.size()); }

  /// Pixels in the image of piece `piece` of a CTA, if it is piece `inRow` of its output row.
  int64_t pixels(int64_t piece, int64_t inRow) const {
    const int64_t first = inRow * g_.lanes.pieceOutputs - leftPadding();
    int64_t pixels = 0;
    for (const LaneLoad& load : loads_[static_cast<size_t>(piece)]) {
      const int64_t x = first + load.offset;
      pixels += std::max<int64_t>(0, std::min<int64_t>(x + load.lanes, g_.width) - std::max<int64_t>(x, 0));
    }
    return pixels;
  }

  /// Of the first `count` pieces of an output row, whose first one is piece `piece` of its CTA. Only pieces at the edges of the
  /// image are looked at one by one.
  int64_t pixelsOfRow(int64_t count, int64_t piece) const {
    const int64_t outputs = g_.lanes.pieceOutputs, pad = leftPadding(), end = g_.width + pad;
    const int64_t some = pad < reach_ ? 0 : (pad - reach_) / outputs + 1;     // pieces that reach into the image
    const int64_t none = std::min(count, ceilDivide(end + front_, outputs));  // and those after it
    const int64_t whole = std::min(ceilDivide(pad + front_, outputs), none);
    const int64_t wholeEnd = std::clamp(end < reach_ ? 0 : (end - reach_) / outputs + 1, whole, none);
    int64_t sum = 0;
    for (int64_t i = some; i < whole; ++i) sum += pixels((piece + i) % pieces(), i);
    for (int64_t i = wholeEnd; i < none; ++i) sum += pixels((piece + i) % pieces(), i);
    sum += (wholeEnd - whole) / pieces() * laneSum_;
    for (int64_t i = wholeEnd - (wholeEnd - whole) % pieces(); i < wholeEnd; ++i)
      sum += lanes_[static_cast<size_t>((piece + i) % pieces())];
    return sum;
  }

 private:
  /// In front of the first pixel that the first piece of a row begins with.
  int64_t leftPadding() const { return g_.padLeft - g_.lanes.firstTap; }

  const ShiftStreamParams& g_;
  std::vector<std::vector<LaneLoad>> loads_;
  std::vector<int64_t> lanes_;
  int64_t laneSum_ = 0;
  int64_t front_ = 0, reach_ = 0;  ///< lanes that loads of a piece begin in front of it, and end after its begin
};

/// Loads of pieces in the image, for an input row that lies in it: pixels times depth taps, summed over many pieces. Which piece of
/// its CTA the first piece of an output row is repeats itself after some rows, whose number divides that of a CTA's pieces.
class PlaneLoads {
 public:
  PlaneLoads(const Problem& p, const ShiftStreamParams& g, const StreamCut& cut)
      : g_(g), pieces_(p, g, cut), cycle_(pieces_.pieces() / std::gcd(pieces_.pieces(), int64_t{g.rowPieces})) {
    for (int64_t row = 0; row < cycle_; ++row) {
      ofRow_.push_back(pieces_.pixelsOfRow(g.rowPieces, firstPiece(row)));
      tapsOfImage_.push_back(depthTaps(g.outputDepth, row));
    }
  }

  int64_t of(int64_t piece) const {
    const int64_t row = piece / g_.rowPieces;
    return depthTaps(row) * pieces_.pixels(piece % pieces_.pieces(), piece % g_.rowPieces);
  }

  /// Of the first `count` pieces.
  int64_t ofFirst(int64_t count) const {
    const int64_t rows = count / g_.rowPieces, images = rows / g_.outputDepth, rest = rows % g_.outputDepth;
    int64_t sum = depthTaps(rows) * pieces_.pixelsOfRow(count % g_.rowPieces, firstPiece(rows));
    // The cycle goes on from image to image.
    for (int64_t image = 0; image < std::min(images, cycle_); ++image) {
      const int64_t alike = ceilDivide(images - image, cycle_);
      for (int64_t row = 0; row < cycle_; ++row) sum += alike * tapsOfImage_[at(row)] * ofRow_[at(image * g_.outputDepth + row)];
    }
    for (int64_t row = 0; row < cycle_; ++row) sum += depthTaps(rest, row) * ofRow_[at(images * g_.outputDepth + row)];
    return sum;
  }

 private:
  size_t at(int64_t row) const { return static_cast<size_t>(row % cycle_); }
  int64_t firstPiece(int64_t row) const { return row * g_.rowPieces % pieces_.pieces(); }
  /// Depth taps in the image of the plane that output row `row` of all images belongs to.
  int64_t depthTaps(int64_t row) const {
    return tapsInside(g_.depth, 1, g_.filterDepth, 1, g_.dilationDepth, g_.padFront - row % g_.outputDepth * g_.strideDepth);
  }
  /// Of every cycle_-th of `planes` planes, from plane `first` on.
  int64_t depthTaps(int64_t planes, int64_t first) const {
    if (first >= planes) return 0;
    return tapsInside(g_.depth, ceilDivide(planes - first, cycle_), g_.filterDepth, cycle_ * g_.strideDepth, g_.dilationDepth,
                      g_.padFront - first * g_.strideDepth);
  }

  const ShiftStreamParams& g_;
  PieceLoads pieces_;
  int64_t cycle_;
  std::vector<int64_t> ofRow_, tapsOfImage_;
};

int64_t loadsOf(const ShiftStreamParams& g, const StreamCut& cut, const PlaneLoads& planes, int64_t tile) {
  const int64_t first = tile * cut.tilePieces(), end = std::min<int64_t>(first + cut.tilePieces(), g.pieces);
  const TileRows rows = tileRows(g, static_cast<int32_t>(first), static_cast<int32_t>(cut.tilePieces()));
  int64_t loads = 0;
  for (int64_t piece = first; piece < end; ++piece)
    loads += planes.of(piece) * insideRows(g, placeOf(g, static_cast<int32_t>(piece)).firstInputRow, rows);
  return loads;
}

}  // namespace

TileRuns tileRuns(const ShiftStreamParams& g, int64_t tilePieces) {
  constexpr size_t kUsual = 8;
  TileRuns runs;
  runs.alike.reserve(kUsual), runs.others.reserve(kUsual);
  const int64_t inBlock = g.blockPieces, blocks = g.pieces / inBlock;
  for (int64_t number = 0; number < blocks;) {
    const int64_t next = endOfAlike(g, number, blocks);
    const int64_t begin = ceilDivide(number * inBlock, tilePieces), end = next * inBlock / tilePieces;
    if (end > begin) runs.alike.push_back({begin, end, rowBlock(g, static_cast<int32_t>(number))});
    const bool isCut = next * inBlock % tilePieces != 0;
    if (isCut && (runs.others.empty() || runs.others.back() != end)) runs.others.push_back(end);
    number = next;
  }
  return runs;
}

int64_t activationBytes(const Problem& p, const ShiftStreamParams& g, const StreamCut& cut, int64_t tile) {
  return cut.passes * channelBytes(p, p.inputType) * loadsOf(g, cut, PlaneLoads(p, g, cut), tile);
}

int64_t activationBytes(const Problem& p, const ShiftStreamParams& g, const StreamCut& cut) {
  const PlaneLoads planes(p, g, cut);
  const TileRuns runs = tileRuns(g, cut.tilePieces());
  int64_t loads = 0;
  for (const AlikeTiles& tiles : runs.alike) {
    const int64_t ofPieces = planes.ofFirst(tiles.end * cut.tilePieces()) - planes.ofFirst(tiles.begin * cut.tilePieces());
    loads += ofPieces * insideRows(g, tiles.block.firstInputRow, {tiles.block.outputRows, tiles.block.begin, tiles.block.end});
  }
  for (const int64_t tile : runs.others) loads += loadsOf(g, cut, planes, tile);
  return cut.passes * channelBytes(p, p.inputType) * loads;
}

}  // namespace shiftconv::plan
