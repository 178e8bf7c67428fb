#include "conv/plan/sm100/shift_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "common/gemm/shape.hpp"
#include "common/gemm/sm100/operand_plan.hpp"
#include "common/gemm/stages.hpp"
#include "conv/kernels/sm100/shift_stream_rows.hpp"
#include "conv/plan/sm100/operands.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

constexpr int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDivide(a, b) * b; }

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kMaximumTileN = 256;
constexpr int64_t kTensorRows = gemm::sm100::kTileRows;
constexpr int64_t kAccumulatorStep = 32;  // columns; any alignment that hardware may ask for is met (no public document states one)
constexpr int64_t kMinimumOperandStages = 2;
constexpr int64_t kStreamingOperandStages = 4;
constexpr int64_t kProductBytes = 2;   // the model's unit of a product: 16-bit operands
constexpr int64_t kBlockHeights = 24;  // candidates of the model

int64_t rowStepOf(const Problem& p) { return p.strideH == 1 ? p.dilationH : 1; }
int64_t strips(const Problem& p) { return ceilDivide(p.q(), outputsPerStrip(static_cast<int32_t>(p.s))); }

/// Output rows that one input row contributes to at most.
int64_t liveRows(const Problem& p) { return ceilDivide(p.r, p.strideH); }

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

/// One way to cut the problem, and what it costs.
struct Cut {
  int64_t tileN = 0, passes = 0, blockRows = 0;
  bool pair = false, resident = false;
  int64_t accumulators = 0, slots = 0, operandStages = 0, filterStages = 0;
  int64_t scaleCopies = 0, scaleEntries = 0;
  bool scalesResident = false;
  int64_t tiles = 0, clusters = 0;
  Traffic traffic{};
  double clocks = 0;
  Resource bound = Resource::TensorCore;

  int64_t ctas() const { return pair ? 2 : 1; }
  int64_t scaleRowTiles() const { return ceilDivide(tileN, gemm::sm100::kScaleAtomRows); }
  int64_t filterStageBytes() const { return tileN / ctas() * layout::kSwizzle128RowBytes; }
  int64_t operandStageBytes(layout::MmaKind kind) const {
    return kStreamRowBytes + roundUp(scaleCopies * scaleTileBytes(kind), layout::kSwizzle128AtomBytes);
  }
  int64_t slotColumns(layout::MmaKind kind) const {
    return gemm::sm100::kOperandColumns + roundUp(scaleCopies * scaleTileColumns(kind), gemm::sm100::kSliceColumns);
  }
  int64_t scaleEntryColumns(const Problem& p, layout::MmaKind kind) const { return p.r * scaleRowTiles() * scaleTileColumns(kind); }
  int64_t columns(const Problem& p, layout::MmaKind kind) const {
    return accumulators * roundUp(tileN, kAccumulatorStep) + slots * slotColumns(kind) + scaleEntries * scaleEntryColumns(p, kind);
  }
  /// Of the scale factors of all taps of a pass.
  int64_t filterScaleBytes(const Problem& p, const Channels& channels) const {
    return scaleCopies == 0 ? 0 : p.t * p.r * p.s * channels.chunks * scaleRowTiles() * scaleTileBytes(channels.kind);
  }
  int64_t sharedBytes(const Problem& p, const Channels& channels) const {
    return layout::kSwizzle128AtomBytes + kStreamControlBytes + filterScaleBytes(p, channels) +
           operandStages * operandStageBytes(channels.kind) + filterStages * filterStageBytes();
  }
};

/// False when accumulators, slots and scale factors do not fit into Tensor Memory. Copying a row while another is multiplied and a
/// third still read takes three slots; one accumulator more than are live lets the epilogue drain a row while the next one begins;
/// the filter's scale factors are copied once if they can stay.
bool fitTensorMemory(const Problem& p, const Channels& channels, Cut& cut) {
  const int64_t allEntries = p.t * p.s * channels.chunks;
  for (const int64_t slots : {3, 2})
    for (const bool resident : {true, false})
      for (const int64_t spare : {1, 0}) {
        cut.slots = slots;
        cut.accumulators = liveRows(p) + spare;
        cut.scalesResident = resident;
        cut.scaleEntries = cut.scaleCopies == 0 ? 0 : resident ? allEntries : int64_t{kStreamMaximumScaleEntries};
        if (cut.columns(p, channels.kind) <= gemm::ColumnBudget::kAvailable) return true;
      }
  return false;
}

/// False when the stages do not fit into shared memory.
bool fitSharedMemory(const Problem& p, const Channels& channels, int64_t available, std::optional<bool> residentWanted, Cut& cut) {
  const auto stagesOf = [&](int64_t operandStages, int64_t filterStages) {
    cut.operandStages = operandStages;
    cut.filterStages = filterStages;
    return available - cut.sharedBytes(p, channels);
  };
  const int64_t taps = p.t * p.r * p.s * channels.chunks;
  const int64_t left = stagesOf(kMinimumOperandStages, taps);
  cut.resident = residentWanted.value_or(left >= 0);
  if (cut.resident) {
    cut.operandStages = std::min<int64_t>(
        kStreamMaximumOperandStages, kMinimumOperandStages + std::max<int64_t>(left, 0) / cut.operandStageBytes(channels.kind));
    return left >= 0;
  }
  // The taps of a column are read together.
  const int64_t spare = stagesOf(kStreamingOperandStages, liveRows(p));
  cut.filterStages =
      std::min<int64_t>(kStreamMaximumFilterStages, liveRows(p) + std::max<int64_t>(spare, 0) / cut.filterStageBytes());
  return spare >= 0;
}

/// The part of the parameters that says what lies where: row blocks of `blockRows`, tiles of which the planner may choose.
ShiftStreamParams geometryOf(const Problem& p, int64_t blockRows) {
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
  params.strips = i(strips(p));
  params.blockRows = i(blockRows);
  params.blockWindows = i(p.n * p.z() * strips(p));
  // With a dilation, blocks of as many phases take turns; those of the last turn that would begin behind the last row do not exist.
  const int64_t step = rowStepOf(p), turns = ceilDivide(ceilDivide(p.p(), step), blockRows);
  const int64_t blocks = (turns - 1) * step + std::min(step, p.p() - (turns - 1) * blockRows * step);
  params.windows = i(blocks * params.blockWindows);
  params.skipsOutsideRows = everyRowHasInput(p);
  return params;
}

/// What tiles take of planes.
struct RowWork {
  int64_t steps = 0;    ///< input rows
  int64_t rowTaps = 0;  ///< products of an input row and a filter row
  int64_t outputRows = 0;

  RowWork& operator+=(const RowWork& other) {
    steps += other.steps, rowTaps += other.rowTaps, outputRows += other.outputRows;
    return *this;
  }
  RowWork operator*(int64_t count) const { return {steps * count, rowTaps * count, outputRows * count}; }
};

RowWork workOf(const ShiftStreamParams& g, const TileRows& rows) {
  RowWork work;
  work.outputRows = rows.outputRows;
  work.steps = stepsBefore(g, rows.end) - stepsBefore(g, rows.begin);
  for (int32_t row = 0; row < rows.outputRows; ++row)
    work.rowTaps += std::max(0, std::min(row * g.strideH + g.filterHeight, rows.end) - std::max(row * g.strideH, rows.begin));
  return work;
}

/// Row blocks of one height, and what all tiles of a width take.
struct Blocks {
  int64_t height = 0, tiles = 0;
  RowWork work;

  Blocks(const ShiftStreamParams& g, int32_t tileWindows) : height(g.blockRows), tiles(ceilDivide(g.windows, tileWindows)) {
    const int64_t inBlock = g.blockWindows;
    int64_t lastShared = -1;
    for (int64_t number = 0; number * inBlock < g.windows; ++number) {
      const int64_t first = ceilDivide(number * inBlock, tileWindows), end = (number + 1) * inBlock / tileWindows;
      const RowBlock block = rowBlock(g, static_cast<int32_t>(number));
      if (end > first) work += workOf(g, {block.outputRows, block.begin, block.end}) * (end - first);
      if ((number + 1) * inBlock % tileWindows == 0 || end == lastShared) continue;
      lastShared = end;  // windows of several blocks
      work += workOf(g, tileRows(g, static_cast<int32_t>(end * tileWindows), tileWindows));
    }
  }
};

/// Pixels of a strip's 32 that lie in the image.
int64_t insidePixels(const ShiftStreamParams& g, const Strip& place) {
  const int32_t first = place.column - g.padLeft;
  return std::max(0, std::min(first + kStreamWindowPixels, g.width) - std::max(first, 0));
}

/// In all passes; without what is done once for a cluster, and what depends on where in the image tiles lie.
Traffic trafficOf(const Problem& p, const Channels& channels, const Cut& cut, const RowWork& work) {
  const int64_t slices = p.t * channels.slices(), runs = p.t * channels.chunks;
  const int64_t steps = cut.passes * work.steps, rowTaps = cut.passes * work.rowTaps * p.s;
  Traffic traffic;
  traffic.mmas = rowTaps * slices;
  traffic.shifts = steps * (p.s - 1) * slices;
  traffic.products = traffic.mmas * cut.ctas() * kTensorRows * cut.tileN * (layout::kMmaRowBytes / kProductBytes);
  traffic.multiplyReadBytes = traffic.mmas * cut.tileN * layout::kMmaRowBytes;
  traffic.copyReadBytes = cut.ctas() * steps * slices * kTensorRows * layout::kMmaRowBytes;
  traffic.writtenBytes = cut.ctas() * steps * runs * kStreamRowBytes;
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

/// What depends on where in the image and the output a tile lies.
void addPlaces(const Problem& p, const ShiftStreamParams& g, const Cut& cut, int64_t tile, Traffic& traffic) {
  const auto windows = static_cast<int32_t>(kStreamWindows * cut.ctas()), first = static_cast<int32_t>(tile) * windows;
  const TileRows rows = tileRows(g, first, windows);
  for (int32_t window = first; window < std::min(first + windows, g.windows); ++window) {
    const Strip place = strip(g, window);
    int64_t depthTaps = 0;
    for (int32_t t = 0; t < g.filterDepth; ++t) {
      const int32_t plane = place.depth * g.strideDepth + t * g.dilationDepth - g.padFront;
      depthTaps += plane >= 0 && plane < g.depth;
    }
    // Steps whose image row lies inside.
    const int32_t above = place.firstInputRow < 0 ? kernels::ceilDivide(-place.firstInputRow, g.dilationH) : 0;
    const int32_t below = place.firstInputRow < g.height ? kernels::ceilDivide(g.height - place.firstInputRow, g.dilationH) : 0;
    const int32_t begin = std::clamp(above, rows.begin, rows.end), end = std::clamp(below, begin, rows.end);
    traffic.activationBytes += cut.passes * depthTaps * insidePixels(g, place) * (stepsBefore(g, end) - stepsBefore(g, begin)) *
                               channelBytes(p, p.inputType);
    traffic.storedRows += cut.passes * place.outputRows * std::min(outputsPerStrip(g.filterWidth), g.outputWidth - place.column);
  }
}

/// What is done once for a cluster, in all passes.
Traffic clusterTraffic(const Problem& p, const Channels& channels, const Cut& cut) {
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

/// What all CTAs do together, and the model's time of the slowest.
void count(const Problem& p, const Channels& channels, const device::Properties& properties, std::optional<uint32_t> clustersWanted,
           const Blocks& blocks, Cut& cut) {
  cut.blockRows = blocks.height;
  cut.tiles = blocks.tiles;
  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors / cut.ctas());
  const int64_t available = std::max<int64_t>(1, multiprocessors / cut.passes);
  const int64_t wanted = clustersWanted ? int64_t{*clustersWanted} : available;
  const int64_t tilesPerCluster = ceilDivide(cut.tiles, std::min(cut.tiles, wanted));
  cut.clusters = ceilDivide(cut.tiles, tilesPerCluster);
  cut.traffic = trafficOf(p, channels, cut, blocks.work);
  cut.traffic += clusterTraffic(p, channels, cut) * cut.clusters;

  // The slowest multiprocessor: its share of the average tile's work, times its tiles.
  const double share = static_cast<double>(tilesPerCluster) / static_cast<double>(cut.tiles * cut.passes * cut.ctas());
  const double waves = static_cast<double>(ceilDivide(cut.clusters * cut.passes, multiprocessors));
  const double sectors = static_cast<double>(roundUp(numerics::packedBytes(numberType(p.inputType), p.c), kSectorBytes)) /
                         static_cast<double>(channels.chunks * layout::kSwizzle128RowBytes);
  const Bound bound = slowest(ratesOf(properties), demandsOf(cut.traffic, share, sectors));
  cut.clocks = waves * bound.clocks;
  cut.bound = bound.resource;
}

layout::TiledMap inputMap(const Problem& p, const Channels& channels) {
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const auto type = operandType(p, p.inputType);
  layout::TiledMap map;
  map.type = gemm::sm100::mapType(channels.kind, type);
  map.rank = 5;
  map.dims = {u(mapElements(channels.kind, p.c)), u(p.w), u(p.h), u(p.d), u(p.n)};
  const uint64_t pixel = u(numerics::packedBytes(type, p.inputPitch()));
  map.strides = {pixel, pixel * u(p.w), pixel * u(p.w * p.h), pixel * u(p.w * p.h * p.d)};
  map.box = {static_cast<uint32_t>(mapElements(channels.kind, channels.chunk)), kStreamWindowPixels, 1, 1, 1};
  map.swizzle = layout::MapSwizzle::B128;
  return map;
}

ShiftStreamParams makeParams(const Problem& p, const Cut& cut, const Channels& channels) {
  const layout::MmaKind kind = channels.kind;
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  ShiftStreamParams params = geometryOf(p, cut.blockRows);
  params.tiles = i(cut.tiles);
  params.channelChunks = i(channels.chunks);
  params.chunkElements = i(mapElements(kind, channels.chunk));
  params.lastChunkSlices = i(channels.lastChunkSlices);
  params.tileN = i(cut.tileN);
  params.accumulators = i(cut.accumulators);
  params.accumulatorColumns = static_cast<uint32_t>(roundUp(cut.tileN, kAccumulatorStep));
  params.slots = i(cut.slots);
  params.copiesAhead = cut.slots >= 3;
  params.slotColumns = static_cast<uint32_t>(cut.slotColumns(kind));
  // Tensor Memory is allocated in powers of two from 32 columns (PTX ISA 9.7.16.7).
  params.allocatedColumns = std::bit_ceil(static_cast<uint32_t>(std::max<int64_t>(32, cut.columns(p, kind))));
  params.operandStages = i(cut.operandStages);
  params.operandCountedBytes = static_cast<uint32_t>(kTensorRows) * gemm::sm100::countedRowBytes(kind, operandType(p, p.inputType));
  params.operandStageBytes = static_cast<uint32_t>(cut.operandStageBytes(kind));
  params.filterStages = i(cut.filterStages);
  params.filterCountedBytes =
      static_cast<uint32_t>(cut.tileN / cut.ctas()) * gemm::sm100::countedRowBytes(kind, operandType(p, p.filterType));
  params.filterStageBytes = static_cast<uint32_t>(cut.filterStageBytes());
  params.filterResident = cut.resident;
  if (isScaled(p)) {
    const int64_t blocks = ceilDivide(p.c, p.inputScale.blockSize);
    params.inputScales.rows = i(p.inputPixels());
    params.filterScales.rows = i(p.k * p.t * p.r * p.s);
    params.inputScales.blocks = params.filterScales.blocks = i(blocks);
    params.filterScales.rowTiles = i(cut.scaleRowTiles());
    params.scaleCopies = i(cut.scaleCopies);
    params.scaleEntries = i(cut.scaleEntries);
    params.scalesResident = cut.scalesResident;
  }
  const int bitsA = bitsOf(p.inputType);
  params.expandedBitsA = bitsA < 8 && !gemm::sm100::isPackedInShared(kind) ? static_cast<uint8_t>(bitsA) : uint8_t{0};
  params.kind = kind;

  layout::MmaTypes types;
  types.kind = kind;
  types.a = operandType(p, p.inputType);
  types.b = operandType(p, p.filterType);
  if (isScaled(p)) types.scale = numberType(p.inputScale.type);
  types.accumulator = kind == layout::MmaKind::I8 ? layout::MmaAccumulator::S32
                      : p.compute == Compute::F16 ? layout::MmaAccumulator::F16
                                                  : layout::MmaAccumulator::F32;
  params.instructionDescriptor =
      layout::instructionDescriptor(types, static_cast<uint32_t>(kTensorRows * cut.ctas()), static_cast<uint32_t>(cut.tileN));

  params.epilogue = epilogueOf(p);
  return params;
}

/// Heights of row blocks to compare: every number of blocks that gives a height of its own, from one block on.
std::vector<int64_t> blockHeights(const Problem& p) {
  const int64_t rows = ceilDivide(p.p(), rowStepOf(p));
  std::vector<int64_t> heights;
  for (int64_t blocks = 1; blocks <= rows && static_cast<int64_t>(heights.size()) < kBlockHeights; ++blocks) {
    const int64_t height = ceilDivide(rows, blocks);
    if (heights.empty() || heights.back() != height) heights.push_back(height);
  }
  return heights;
}

}  // namespace

std::string shiftStreamRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string why = operandRefusal("shift_stream", p, properties); !why.empty()) return why;
  if (p.strideW != 1) return fmt::format("shift_stream needs stride_w = 1 (a shift moves by one pixel), but it is {}", p.strideW);
  if (p.dilationW != 1)
    return fmt::format("shift_stream needs dilation_w = 1 (a shift moves by one pixel), but it is {}", p.dilationW);
  if (p.strideH != 1 && p.dilationH != 1)
    return fmt::format("shift_stream needs stride_h or dilation_h to be 1, but they are {} and {}", p.strideH, p.dilationH);
  if (p.s > kStreamMaximumFilterExtent || p.r > kStreamMaximumFilterExtent)
    return fmt::format("shift_stream needs R and S of at most {}, but they are {} and {}", kStreamMaximumFilterExtent, p.r, p.s);
  const Channels channels(p, *kindOf(p));
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
  const std::pair<const char*, int64_t> coordinates[] = {
      {"N*O*ceil(Q / strip)", p.n * p.z() * strips(p)},
      {"N*O*P*Q", p.outputPixels()},
      {"N*D*H*W", p.inputPixels()},
      {"K*T*R*S", p.k * p.t * p.r * p.s},
      {"H + pad_top", (p.p() + p.r) * std::max(p.strideH, p.dilationH) + p.h + p.padTop},
      {"D + pad_front", (p.z() + p.t) * std::max(p.strideD, p.dilationD) + p.d + p.padFront},
      {"W + pad_left", p.q() + p.w + p.padLeft},
      {"K", p.k}};
  for (const auto& [name, value] : coordinates)
    if (value > kLimit / 2) return fmt::format("shift_stream needs {} below 2^30 (32-bit coordinates), but it is {}", name, value);
  if (std::string why = epilogueRefusal("shift_stream", p, gemm::rowStoreStep(static_cast<int32_t>(p.outputScale.blockSize)));
      !why.empty())
    return why;
  for (const layout::TiledMap& map : {inputMap(p, channels), filterMap(p, channels, tileNStep(p, channels.kind))})
    if (const std::string refused = layout::refusal(map); !refused.empty()) return fmt::format("shift_stream: {}", refused);
  return {};
}

std::string planShiftStream(const Problem& p, const device::Properties& properties, const ShiftStreamChoices& choices,
                            ShiftStreamPlan& plan) {
  const Channels channels(p, *kindOf(p));
  const int64_t step = tileNStep(p, channels.kind);
  if (choices.tileN && (*choices.tileN % step != 0 || *choices.tileN < step || *choices.tileN > kMaximumTileN))
    return fmt::format("tile_n must be a multiple of {} from {} to {}, but it is {}", step, step, kMaximumTileN, *choices.tileN);
  if (choices.clusters && *choices.clusters == 0) return "clusters must be at least 1";
  if (choices.blockRows && *choices.blockRows == 0) return "block_rows must be at least 1";

  std::vector<int64_t> widths, heights = blockHeights(p);
  if (choices.tileN) {
    widths = {*choices.tileN};
  } else {
    for (int64_t passes = 1; passes <= ceilDivide(p.k, step); ++passes) {
      const int64_t width = roundUp(ceilDivide(p.k, passes), step);
      if (width <= kMaximumTileN && (widths.empty() || widths.back() != width)) widths.push_back(width);
    }
  }
  if (choices.blockRows) heights = {*choices.blockRows};
  Cut best;
  for (const bool pair : {false, true}) {
    if (pair != choices.pair.value_or(pair)) continue;
    std::vector<Blocks> works;
    for (const int64_t height : heights) works.emplace_back(geometryOf(p, height), kStreamWindows * (pair ? 2 : 1));
    for (const int64_t tileN : widths)
      for (const Blocks& blocks : works) {
        Cut cut;
        cut.pair = pair;
        cut.tileN = tileN;
        cut.passes = ceilDivide(p.k, tileN);
        if (isScaled(p)) cut.scaleCopies = choices.shiftedScales.value_or(false) ? 1 : p.s;
        if (!fitTensorMemory(p, channels, cut) ||
            !fitSharedMemory(p, channels, properties.sharedBytesPerBlock, choices.residentWeights, cut))
          continue;
        count(p, channels, properties, choices.clusters, blocks, cut);
        if (best.tileN == 0 || cut.clocks < best.clocks) best = cut;
      }
  }
  if (best.tileN == 0) {
    std::string causes;
    if (choices.tileN) causes += fmt::format(" with tile_n = {}", *choices.tileN);
    if (choices.residentWeights) causes += fmt::format(" with resident_weights = {}", *choices.residentWeights ? "yes" : "no");
    if (choices.pair) causes += fmt::format(" with pair = {}", *choices.pair ? "yes" : "no");
    return fmt::format("shift_stream finds no room for {} accumulators and {} x {} filter taps of C = {}{}", liveRows(p), p.r, p.s,
                       p.c, causes);
  }

  plan.problem = p;
  plan.pair = best.pair;
  plan.params = makeParams(p, best, channels);
  plan.input = inputMap(p, channels);
  plan.filter = filterMap(p, channels, best.tileN / best.ctas());
  plan.kernelName = fmt::format("shift_stream_sm100_{}_strips_{}", isScaled(p) ? "scaled" : "dense", best.pair ? "pair" : "single");
  plan.launch.grid = {static_cast<uint32_t>(best.clusters * best.ctas()), static_cast<uint32_t>(best.passes), 1};
  plan.launch.block = {streamThreads(isScaled(p)), 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(best.ctas()), 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(best.sharedBytes(p, channels));
  plan.traffic = best.traffic;
  for (int64_t tile = 0; tile < best.tiles; ++tile) addPlaces(p, plan.params, best, tile, plan.traffic);
  plan.estimate = estimate(p, ratesOf(properties), best.clocks, best.bound);
  return {};
}

namespace {

/// The part of a plan's cut that its traffic depends on.
Cut cutOf(const ShiftStreamPlan& plan) {
  const ShiftStreamParams& p = plan.params;
  Cut cut;
  cut.pair = plan.pair;
  cut.tileN = p.tileN;
  cut.passes = plan.launch.grid.y;
  cut.blockRows = p.blockRows;
  cut.resident = p.filterResident;
  cut.scaleCopies = p.scaleCopies;
  cut.scalesResident = p.scalesResident;
  return cut;
}

}  // namespace

Traffic ShiftStreamPlan::ofTile(int64_t tile) const {
  const Cut cut = cutOf(*this);
  const auto windows = static_cast<int32_t>(kStreamWindows * cut.ctas());
  const TileRows rows = tileRows(params, static_cast<int32_t>(tile) * windows, windows);
  Traffic traffic = trafficOf(problem, Channels(problem, params.kind), cut, workOf(params, rows));
  addPlaces(problem, params, cut, tile, traffic);
  return traffic;
}

Traffic ShiftStreamPlan::ofCluster() const { return clusterTraffic(problem, Channels(problem, params.kind), cutOf(*this)); }

std::vector<std::string> shiftStreamWarpRoles(bool scaled) {
  std::vector<std::string> roles = {"operand load", "mma",        "filter load", "idle",
                                    "epilogue 0",   "epilogue 1", "epilogue 2",  "epilogue 3"};
  for (int warp = 0; scaled && warp < 4; ++warp) roles.push_back(fmt::format("scales {}", warp));
  return roles;
}

std::string ShiftStreamPlan::describe() const {
  const ShiftStreamParams& p = params;
  std::string text;
  text += fmt::format("tile       {} strips of {} output columns x {} output rows x {} output channels{}, {} tiles, {} pass(es)\n",
                      kStreamWindows * (pair ? 2 : 1), outputsPerStrip(p.filterWidth), p.blockRows, p.tileN,
                      pair ? ", multiplied by CTA pairs" : "", p.tiles, launch.grid.y);
  text += fmt::format("reduction  {} depth taps x {} channel chunks for each input row, then {} filter rows x {} taps by shift\n",
                      p.filterDepth, p.channelChunks, p.filterHeight, p.filterWidth);
  text += fmt::format("Tensor Mem {} accumulators of {} columns, {} slots of {} columns; {} columns allocated\n", p.accumulators,
                      p.accumulatorColumns, p.slots, p.slotColumns, p.allocatedColumns);
  if (p.scaleCopies != 0)
    text += fmt::format("scales     of pixels {}; of the filter {}\n",
                        p.scaleCopies == 1 ? "shifted with them" : "in a copy for every tap column",
                        p.scalesResident ? "resident in Tensor Memory" : "copied for every tap column");
  text += fmt::format("shared mem {} stages of 16 KiB for rows; filter {}, {} stages of {} bytes; {} bytes in all\n",
                      p.operandStages, p.filterResident ? "resident" : "streamed for every row", p.filterStages, p.filterStageBytes,
                      launch.dynamicSharedBytes);
  text += fmt::format("counted    {}\n", plan::describe(traffic));
  return text;
}

}  // namespace shiftconv::plan
