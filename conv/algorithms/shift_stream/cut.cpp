#include "conv/algorithms/shift_stream/cut.hpp"

#include <algorithm>
#include <vector>

#include "common/gemm/shape.hpp"
#include "common/gemm/stages.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/shift_stream/places.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

constexpr int64_t kAccumulatorStep = 32;  // columns; any alignment that hardware may ask for is met (no public document states one)
constexpr int64_t kMinimumOperandStages = 2;
constexpr int64_t kStreamingOperandStages = 4;
constexpr int64_t kTensorRows = gemm::sm100::kTileRows;
constexpr int64_t kProductBytes = 2;  // the model's unit of a product: 16-bit operands

/// Every output row has a filter row inside of the image. Output rows that find theirs there with filter row r are neighbours, and
/// those of smaller r lie further down.
bool everyRowHasInput(const Problem& p) {
  int64_t rows = 0;  // from the first on that have one
  for (int64_t r = p.r - 1; r >= 0; --r) {
    const int64_t above = p.padTop - r * p.dilationH;  // image rows above the first output row's filter row
    if (above + p.h <= 0) continue;
    const int64_t begin = above <= 0 ? 0 : ceilDivide(above, p.strideH), end = ceilDivide(above + p.h, p.strideH);
    if (begin > rows) return false;
    rows = std::max(rows, end);
  }
  return rows >= p.p();
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
  return frontBytes(lanes) + kStreamRowBytes + refillBytes(lanes, static_cast<int32_t>(p.s)) +
         roundUp(scaleCopies * scaleTileBytes(kind), layout::kSwizzle128AtomBytes);
}
int64_t StreamCut::sharedBytes(const Problem& p, const Channels& channels) const {
  const int64_t filterScaleBytes =
      scaleCopies == 0 ? 0 : p.t * p.r * p.s * channels.chunks * scaleRowTiles() * scaleTileBytes(channels.kind);
  return layout::kSwizzle128AtomBytes + kStreamControlBytes + filterScaleBytes +
         operandStages * operandStageBytes(p, channels.kind) + filterStages * filterStageBytes() +
         gemm::sm100::kStagingTilesOfCta * stagingTileBytes;
}

/// Copying a row while another is multiplied and a third still read takes three slots; one accumulator more than are live lets the
/// epilogue drain a row while the next one begins; the filter's scale factors are copied once if they can stay.
bool StreamCut::fitTensorMemory(const Problem& p, const Channels& channels) {
  const int64_t allEntries = p.t * p.s * channels.chunks;
  for (const int64_t someSlots : {3, 2})
    for (const bool allScales : {true, false})
      for (const int64_t spare : {1, 0}) {
        slots = someSlots;
        accumulators = liveRows(p) + spare;
        scalesResident = allScales;
        scaleEntries = scaleCopies == 0 ? 0 : allScales ? allEntries : int64_t{kStreamMaximumScaleEntries};
        if (columns(p, channels.kind) <= gemm::ColumnBudget::kAvailable) return true;
      }
  return false;
}

bool StreamCut::fitSharedMemory(const Problem& p, const Channels& channels, int64_t available, std::optional<bool> residentWanted,
                                bool mayStage) {
  const auto leftWith = [&](int64_t someOperandStages, int64_t someFilterStages) {
    operandStages = someOperandStages;
    filterStages = someFilterStages;
    return available - sharedBytes(p, channels);
  };
  // What is left behind the staging tiles, which go before more stages.
  const auto stage = [&](int64_t left) {
    const int64_t tileBytes = mayStage ? int64_t{gemm::sm100::stagingTileBytes(numberType(p.outputType))} : 0;
    const int64_t bytes = gemm::sm100::kStagingTilesOfCta * tileBytes;
    if (bytes > left) return std::max<int64_t>(left, 0);
    stagingTileBytes = tileBytes;
    return left - bytes;
  };
  stagingTileBytes = 0;
  const int64_t taps = p.t * p.r * p.s * channels.chunks;
  const int64_t left = leftWith(kMinimumOperandStages, taps);
  resident = residentWanted.value_or(left >= 0);
  if (resident) {
    operandStages =
        std::min<int64_t>(kStreamMaximumOperandStages, kMinimumOperandStages + stage(left) / operandStageBytes(p, channels.kind));
    return left >= 0;
  }
  // The taps of a column are read together.
  const int64_t spare = leftWith(kStreamingOperandStages, liveRows(p));
  filterStages = std::min<int64_t>(kStreamMaximumFilterStages, liveRows(p) + stage(spare) / filterStageBytes());
  return spare >= 0;
}

int64_t stagedPieceRows(const Problem& p, const LaneMap& lanes) {
  if (lanes.frameLanes != kStreamWindowLanes) return 0;
  // Tensor stores begin at multiples of 128 bytes of shared memory (PTX ISA, cp.async.bulk.tensor).
  constexpr int64_t kAlignment = 128;
  const int64_t rowBytes = gemm::stagingBoxBytes(numberType(p.outputType), gemm::sm100::kRowColumns);
  const int64_t rows = roundUp(lanes.pieceOutputs, kAlignment / rowBytes);
  return lanes.framePieces * rows <= kStreamWindowLanes ? rows : 0;
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
  params.blockPieces = i(p.n * p.z()) * params.rowPieces;
  params.skipsOutsideRows = everyRowHasInput(p);
  cutIntoBlocks(params, blockRows);
  return params;
}

void cutIntoBlocks(ShiftStreamParams& params, int64_t blockRows) {
  params.blockRows = static_cast<int32_t>(blockRows);
  // With a dilation, blocks of as many phases take turns; those of the last turn that would begin after the last row do not exist.
  const int64_t rows = params.outputHeight, step = rowStep(params), turns = ceilDivide(ceilDivide(rows, step), blockRows);
  const int64_t blocks = (turns - 1) * step + std::min(step, rows - (turns - 1) * blockRows * step);
  params.pieces = static_cast<int32_t>(blocks * params.blockPieces);
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
  const TileRuns runs = tileRuns(g, tilePieces);
  for (const auto& [begin, end, block] : runs.alike) work += RowWork(g, {block.outputRows, block.begin, block.end}) * (end - begin);
  for (const int64_t tile : runs.others)
    work += RowWork(g, tileRows(g, static_cast<int32_t>(tile * tilePieces), static_cast<int32_t>(tilePieces)));
}

int64_t loadedPixels(const Problem& p, const StreamCut& cut, const RowWork& work) {
  return cut.ctas() * cut.passes * work.steps * p.t * cut.loadedPixels(p);
}

namespace {

/// Of an input row: slices that are copied, and their shifts.
struct RowCopies {
  int64_t copies, shifts;

  RowCopies(const Problem& p, const Channels& channels, const StreamCut& cut) {
    const int64_t slices = p.t * channels.slices();
    // The slices that an input row opens with are copied twice and miss a shift if their taps come in two ranges.
    const int64_t twice = tapRanges(cut.lanes, true) - 1,
                  opening = channels.chunks == 1 ? channels.lastChunkSlices : gemm::sm100::kChunkSlices;
    copies = slices + twice * opening;
    shifts = slices * (p.s - 1) - twice * opening;
  }
};

}  // namespace

int64_t copiedBytes(const Problem& p, const Channels& channels, const StreamCut& cut, const RowWork& work) {
  const RowCopies row(p, channels, cut);
  const int64_t refilled = cut.lanes.isRefilled ? row.shifts * kStreamWindows : 0;
  return cut.ctas() * cut.passes * work.steps * (row.copies * kTensorRows + refilled) * layout::kMmaRowBytes;
}

Traffic trafficOf(const Problem& p, const Channels& channels, const StreamCut& cut, const RowWork& work) {
  const int64_t slices = p.t * channels.slices(), runs = p.t * channels.chunks;
  const int64_t steps = cut.passes * work.steps, rowTaps = cut.passes * work.rowTaps * p.s;
  Traffic traffic;
  traffic.mmas = rowTaps * slices;
  traffic.shifts = steps * RowCopies(p, channels, cut).shifts;
  traffic.products = traffic.mmas * cut.ctas() * kTensorRows * cut.tileN * (layout::kMmaRowBytes / kProductBytes);
  traffic.multiplyReadBytes = traffic.mmas * cut.tileN * layout::kMmaRowBytes;
  traffic.copyReadBytes = copiedBytes(p, channels, cut, work);
  traffic.writtenBytes = loadedPixels(p, cut, work) * channels.chunks * int64_t{layout::kSwizzle128RowBytes};
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
