#include "conv/algorithms/shift_stream/cut.hpp"

#include <algorithm>
#include <vector>

#include "common/gemm/shape.hpp"
#include "common/gemm/stages.hpp"
#include "common/layout/ceil_divide.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

constexpr int64_t kAccumulatorStep = 32;  // columns; any alignment that hardware may ask for is met (no public document states one)
constexpr int64_t kMinimumOperandStages = 2;
constexpr int64_t kStreamingOperandStages = 4;
constexpr int64_t kProductBytes = 2;  // the model's unit of a product: 16-bit operands

/// Every output row has a filter row inside of the image.
bool everyRowHasInput(const Problem& p) {
  for (int64_t row = 0; row < p.p(); ++row) {
    bool inside = false;
    for (int64_t r = 0; r < p.r && !inside; ++r) {
      const int64_t y = row * p.strideH + r * p.dilationH - p.padTop;
      inside = y >= 0 && y < p.h;
    }
    if (!inside) return false;
  }
  return true;
}

/// Pixels of `lanes` lanes of a piece, from lane `first` of it on, that lie in the image.
int64_t insidePixels(const ShiftStreamParams& g, const Place& place, int32_t first, int32_t lanes) {
  const int32_t x = place.column - g.padLeft + first;
  return std::max(0, std::min(x + lanes, g.width) - std::max(x, 0));
}

/// Loads of rows and depth taps of a piece that lie in the image, in a tile with such rows.
int64_t insideLoads(const ShiftStreamParams& g, const Place& place, const TileRows& rows) {
  int64_t depthTaps = 0;
  for (int32_t t = 0; t < g.filterDepth; ++t) {
    const int32_t plane = place.depth * g.strideDepth + t * g.dilationDepth - g.padFront;
    depthTaps += plane >= 0 && plane < g.depth;
  }
  const int32_t above = place.firstInputRow < 0 ? kernels::ceilDivide32(-place.firstInputRow, g.dilationH) : 0;
  const int32_t below = place.firstInputRow < g.height ? kernels::ceilDivide32(g.height - place.firstInputRow, g.dilationH) : 0;
  const int32_t begin = std::clamp(above, rows.begin, rows.end), end = std::clamp(below, begin, rows.end);
  return depthTaps * (stepsBefore(g, end) - stepsBefore(g, begin));
}

}  // namespace

int64_t liveRows(const Problem& p) { return ceilDivide(p.r, p.strideH); }

// ---- What a cut needs --------------------------------------------------------------------------------------------------------

int64_t StreamCut::scaleRowTiles() const { return ceilDivide(tileN, gemm::sm100::kScaleAtomRows); }
int64_t StreamCut::accumulatorColumns() const { return roundUp(tileN, kAccumulatorStep); }
int64_t StreamCut::slotColumns(layout::MmaKind kind) const {
  return gemm::sm100::kOperandColumns + roundUp(scaleCopies * scaleTileColumns(kind), gemm::sm100::kSliceColumns);
}
int64_t StreamCut::columns(const Problem& p, layout::MmaKind kind) const {
  const int64_t entryColumns = p.r * scaleRowTiles() * scaleTileColumns(kind);
  return accumulators * accumulatorColumns() + slots * slotColumns(kind) + scaleEntries * entryColumns;
}
int64_t StreamCut::operandStageBytes(const Problem& p, layout::MmaKind kind) const {
  return kStreamRowBytes + refillBytes(lanes, static_cast<int32_t>(p.s)) +
         roundUp(scaleCopies * scaleTileBytes(kind), layout::kSwizzle128AtomBytes);
}
int64_t StreamCut::sharedBytes(const Problem& p, const Channels& channels) const {
  const int64_t filterScaleBytes =
      scaleCopies == 0 ? 0 : p.t * p.r * p.s * channels.chunks * scaleRowTiles() * scaleTileBytes(channels.kind);
  return layout::kSwizzle128AtomBytes + kStreamControlBytes + filterScaleBytes +
         operandStages * operandStageBytes(p, channels.kind) + filterStages * filterStageBytes();
}

/// Copying a row while another is multiplied and a third still read takes three slots; one accumulator more than are live lets the
/// epilogue drain a row while the next one begins; the filter's scale factors are copied once if they can stay.
bool StreamCut::fitTensorMemory(const Problem& p, const Channels& channels) {
  const int64_t allEntries = p.t * p.s * channels.chunks;
  for (const int64_t someSlots : {3, 2})
    for (const bool scalesStay : {true, false})
      for (const int64_t spare : {1, 0}) {
        slots = someSlots;
        accumulators = liveRows(p) + spare;
        scalesResident = scalesStay;
        scaleEntries = scaleCopies == 0 ? 0 : scalesStay ? allEntries : int64_t{kStreamMaximumScaleEntries};
        if (columns(p, channels.kind) <= gemm::ColumnBudget::kAvailable) return true;
      }
  return false;
}

bool StreamCut::fitSharedMemory(const Problem& p, const Channels& channels, int64_t available, std::optional<bool> residentWanted) {
  const auto leftWith = [&](int64_t someOperandStages, int64_t someFilterStages) {
    operandStages = someOperandStages;
    filterStages = someFilterStages;
    return available - sharedBytes(p, channels);
  };
  const int64_t taps = p.t * p.r * p.s * channels.chunks;
  const int64_t left = leftWith(kMinimumOperandStages, taps);
  resident = residentWanted.value_or(left >= 0);
  if (resident) {
    operandStages = std::min<int64_t>(kStreamMaximumOperandStages,
                                      kMinimumOperandStages + std::max<int64_t>(left, 0) / operandStageBytes(p, channels.kind));
    return left >= 0;
  }
  // The taps of a column are read together.
  const int64_t spare = leftWith(kStreamingOperandStages, liveRows(p));
  filterStages = std::min<int64_t>(kStreamMaximumFilterStages, liveRows(p) + std::max<int64_t>(spare, 0) / filterStageBytes());
  return spare >= 0;
}

ShiftStreamParams geometryOf(const Problem& p, const LaneMap& lanes, int64_t blockRows) {
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  ShiftStreamParams params;
  params.images = i(p.n);
  params.depth = i(p.d);
  params.height = i(p.h);
  params.width = i(p.w);
  params.outputHeight = i(p.p());
  params.outputWidth = i(p.q());
  params.outputDepth = i(p.z());
  params.filterDepth = i(p.t);
  params.filterHeight = i(p.r);
  params.filterWidth = i(p.s);
  params.strideDepth = i(p.strideD);
  params.strideH = i(p.strideH);
  params.dilationDepth = i(p.dilationD);
  params.dilationH = i(p.dilationH);
  params.padFront = i(p.padFront);
  params.padTop = i(p.padTop);
  params.padLeft = i(p.padLeft);
  params.lanes = lanes;
  params.rowPieces = i(rowPieces(p, lanes));
  params.blockRows = i(blockRows);
  params.blockPieces = i(p.n * p.z()) * params.rowPieces;
  // With a dilation, blocks of as many phases take turns; those of the last turn that would begin behind the last row do not exist.
  const int64_t step = rowStep(params), turns = ceilDivide(ceilDivide(p.p(), step), blockRows);
  const int64_t blocks = (turns - 1) * step + std::min(step, p.p() - (turns - 1) * blockRows * step);
  params.pieces = i(blocks * params.blockPieces);
  params.skipsOutsideRows = everyRowHasInput(p);
  return params;
}

// ---- What its tiles take -----------------------------------------------------------------------------------------------------

RowWork::RowWork(const ShiftStreamParams& g, const TileRows& rows) {
  outputRows = rows.outputRows;
  steps = stepsBefore(g, rows.end) - stepsBefore(g, rows.begin);
  // Between the first and the last rows every filter row has its step.
  const int32_t whole = std::min(kernels::ceilDivide32(rows.begin, g.strideH), rows.outputRows);
  const int32_t end = std::clamp((rows.end - g.filterHeight + g.strideH) / g.strideH, whole, rows.outputRows);
  const auto tapsOf = [&](int32_t row) {
    return std::max(0, std::min(row * g.strideH + g.filterHeight, rows.end) - std::max(row * g.strideH, rows.begin));
  };
  for (int32_t row = 0; row < whole; ++row) rowTaps += tapsOf(row);
  rowTaps += int64_t{end - whole} * g.filterHeight;
  for (int32_t row = end; row < rows.outputRows; ++row) rowTaps += tapsOf(row);
}
RowWork& RowWork::operator+=(const RowWork& other) {
  steps += other.steps, rowTaps += other.rowTaps, outputRows += other.outputRows;
  return *this;
}
RowWork operator*(RowWork work, int64_t count) {
  work.steps *= count, work.rowTaps *= count, work.outputRows *= count;
  return work;
}

StreamBlocks::StreamBlocks(const ShiftStreamParams& g, int64_t tilePieces)
    : height(g.blockRows), tiles(ceilDivide(g.pieces, tilePieces)) {
  const int64_t inBlock = g.blockPieces;
  int64_t lastShared = -1;
  for (int64_t number = 0; number * inBlock < g.pieces; ++number) {
    const int64_t first = ceilDivide(number * inBlock, tilePieces), end = (number + 1) * inBlock / tilePieces;
    const RowBlock block = rowBlock(g, static_cast<int32_t>(number));
    if (end > first) work += RowWork(g, {block.outputRows, block.begin, block.end}) * (end - first);
    if ((number + 1) * inBlock % tilePieces == 0 || end == lastShared) continue;
    lastShared = end;  // pieces of several blocks
    work += RowWork(g, tileRows(g, static_cast<int32_t>(end * tilePieces), static_cast<int32_t>(tilePieces)));
  }
}

Traffic trafficOf(const Problem& p, const Channels& channels, const StreamCut& cut, const RowWork& work) {
  constexpr int64_t kTensorRows = gemm::sm100::kTileRows;
  const int64_t slices = p.t * channels.slices(), runs = p.t * channels.chunks;
  const int64_t steps = cut.passes * work.steps, rowTaps = cut.passes * work.rowTaps * p.s;
  Traffic traffic;
  traffic.mmas = rowTaps * slices;
  traffic.shifts = steps * (p.s - 1) * slices;
  traffic.products = traffic.mmas * cut.ctas() * kTensorRows * cut.tileN * (layout::kMmaRowBytes / kProductBytes);
  traffic.multiplyReadBytes = traffic.mmas * cut.tileN * layout::kMmaRowBytes;
  traffic.copyReadBytes = cut.ctas() * steps * slices * (kTensorRows + cut.refills(p)) * layout::kMmaRowBytes;
  traffic.writtenBytes = cut.ctas() * steps * runs * (cut.lanes.pieces() * cut.lanes.loadedLanes + cut.refills(p)) *
                         int64_t{layout::kSwizzle128RowBytes};
  traffic.multipliedRows = cut.passes * cut.ctas() * work.outputRows * kTensorRows;
  if (!cut.resident) {
    traffic.filterBytes = work.rowTaps * p.s * p.t * p.k * channelBytes(p, p.filterType);
    traffic.writtenBytes += cut.ctas() * rowTaps * runs * cut.filterStageBytes();
  }
  if (cut.scaleCopies != 0) {
    const int64_t tileBytes = scaleTileBytes(channels.kind), tileColumns = scaleTileColumns(channels.kind);
    traffic.copyReadBytes += cut.ctas() * steps * runs * cut.scaleCopies * tileBytes;
    if (!cut.scalesResident) traffic.copyReadBytes += cut.ctas() * rowTaps * runs * cut.scaleRowTiles() * tileBytes;
    if (cut.scaleCopies == 1) traffic.shifts += steps * runs * (p.s - 1) * ceilDivide(tileColumns, gemm::sm100::kSliceColumns);
  }
  return traffic;
}

void addPlaces(const Problem& p, const ShiftStreamParams& g, const StreamCut& cut, int64_t tile, Traffic& traffic) {
  const auto pieces = static_cast<int32_t>(cut.tilePieces()), first = static_cast<int32_t>(tile) * pieces;
  const TileRows rows = tileRows(g, first, pieces);
  const int32_t ctaPieces = g.lanes.pieces();
  for (int32_t begin = first; begin < std::min(first + pieces, g.pieces); begin += ctaPieces) {
    int64_t pixels = 0;
    const auto load = [&](int32_t piece, int32_t offset, int32_t lanes) {
      if (begin + piece >= g.pieces) return;
      const Place place = placeOf(g, begin + piece);
      pixels += insideLoads(g, place, rows) * insidePixels(g, place, offset, lanes);
    };
    for (int32_t piece = 0; piece < ctaPieces; ++piece) load(piece, 0, g.lanes.loadedLanes);
    for (int32_t refill = 0; refill < cut.refills(p); ++refill) {
      const PieceLane at = refillOf(g.lanes, refill % kStreamWindows, refill / kStreamWindows + 1);
      load(at.piece, at.offset, 1);
    }
    traffic.activationBytes += cut.passes * pixels * channelBytes(p, p.inputType);
    for (int32_t piece = begin; piece < std::min(begin + ctaPieces, g.pieces); ++piece) {
      const Place place = placeOf(g, piece);
      traffic.storedRows += cut.passes * place.outputRows * std::min(g.lanes.pieceOutputs, g.outputWidth - place.column);
    }
  }
}

Traffic clusterTraffic(const Problem& p, const Channels& channels, const StreamCut& cut) {
  Traffic traffic;
  const int64_t taps = p.t * p.r * p.s;
  if (cut.resident) {
    traffic.filterBytes = taps * p.k * channelBytes(p, p.filterType);
    traffic.writtenBytes = cut.passes * cut.ctas() * taps * channels.chunks * cut.filterStageBytes();
  }
  if (cut.scaleCopies != 0 && cut.scalesResident)
    traffic.copyReadBytes = cut.passes * cut.ctas() * taps * channels.chunks * cut.scaleRowTiles() * scaleTileBytes(channels.kind);
  return traffic;
}

}  // namespace shiftconv::plan
