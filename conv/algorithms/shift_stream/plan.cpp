#include "conv/algorithms/shift_stream/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "common/gemm/shape.hpp"
#include "common/gemm/sm100/operand_plan.hpp"
#include "common/gemm/stages.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/shift_stream/cut.hpp"
#include "conv/algorithms/shift_stream/places.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/tile_widths.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

constexpr int64_t kMaximumTileN = 256;
constexpr int64_t kBlockHeights = 24;  // candidates of the model

/// What the cuts of a search have in common.
struct Search {
  const Problem& p;
  const device::Properties& properties;
  std::optional<uint32_t> clustersWanted;
  Channels channels;
  const Rates& rates = ratesOf(properties);
  int64_t rowBytes = channelBytes(p, p.inputType);
  double sectors = sectorsOf(rowBytes), outputBytes = outputBytesOf(p);
};

/// What all CTAs do together, of which `ofCluster` once for each cluster, and the model's time of the slowest. False, and nothing
/// that may be used, when the copies to Tensor Memory alone take more than `most` clocks.
bool count(const Search& search, const StreamBlocks& blocks, const Traffic& ofCluster, double most, StreamCut& cut) {
  const auto& [p, properties, clustersWanted, channels, rates, rowBytes, sectors, outputBytes] = search;
  cut.blockRows = blocks.height;
  cut.tiles = blocks.tiles;
  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors / cut.ctas());
  const int64_t available = std::max<int64_t>(1, multiprocessors / cut.passes);
  const int64_t wanted = clustersWanted ? int64_t{*clustersWanted} : available;
  const int64_t tilesPerCluster = ceilDivide(cut.tiles, std::min(cut.tiles, wanted));
  cut.clusters = ceilDivide(cut.tiles, tilesPerCluster);
  // The slowest multiprocessor: its share of the average tile's work, times its tiles.
  const double waves = static_cast<double>(ceilDivide(cut.clusters * cut.passes, multiprocessors));
  Load load;
  load.share = static_cast<double>(tilesPerCluster) / static_cast<double>(cut.tiles * cut.passes * cut.ctas());
  const auto copied = static_cast<double>(copiedBytes(p, channels, cut, blocks.work));
  if (waves * copied * load.share / rates.of(Resource::TensorCopy) > most) return false;
  cut.traffic = trafficOf(p, channels, cut, blocks.work);
  cut.traffic += ofCluster * cut.clusters;
  // Which of the pixels lie beside the image is counted for the best cut alone: they are few.
  load.fetchedBytes = static_cast<double>(loadedPixels(p, cut, blocks.work) * rowBytes + cut.traffic.filterBytes) * sectors;
  load.crowd = crowdOf(rates, properties, cut.clusters * cut.passes * cut.ctas());
  load.storedBytes = outputBytes;
  const Bound bound = slowest(rates, demandsOf(cut.traffic, load));
  cut.clocks = waves * bound.clocks;
  cut.bound = bound.resource;
  return true;
}

/// Boxes of `pixels` pixels of a row.
layout::TiledMap inputMap(const Problem& p, const Channels& channels, int64_t pixels) {
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const auto type = operandType(p, p.inputType);
  layout::TiledMap map;
  map.type = gemm::sm100::mapType(channels.kind, type);
  map.rank = 5;
  map.dims = {u(mapElements(channels.kind, p.c)), u(p.w), u(p.h), u(p.d), u(p.n)};
  const uint64_t pixel = u(numerics::packedBytes(type, p.inputPitch()));
  map.strides = {pixel, pixel * u(p.w), pixel * u(p.w * p.h), pixel * u(p.w * p.h * p.d)};
  map.box = {static_cast<uint32_t>(mapElements(channels.kind, channels.chunk)), static_cast<uint32_t>(pixels), 1, 1, 1};
  map.swizzle = layout::MapSwizzle::B128;
  return map;
}

/// The output as pieces of rows. Rank 0 where outputs are not staged.
layout::TiledMap outputMap(const Problem& p, const StreamCut& cut) {
  layout::TiledMap map = stagedOutputMap(p, cut.passes, cut.tileN);
  if (map.rank == 0 || stagedPieceRows(p, cut.lanes) == 0) return {};
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  map.rank = 3;
  map.dims = {map.dims[0], u(p.q()), u(p.n * p.z() * p.p())};
  map.strides = {u(outputPixelBytes(p)), u(outputPixelBytes(p) * p.q())};
  map.box = {map.box[0], static_cast<uint32_t>(cut.lanes.pieceOutputs), 1};
  return layout::refusal(map).empty() ? map : layout::TiledMap{};
}

ShiftStreamParams makeParams(const Problem& p, const StreamCut& cut, const Channels& channels) {
  const layout::MmaKind kind = channels.kind;
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  ShiftStreamParams params = geometryOf(p, cut.lanes, cut.blockRows);
  params.tiles = i(cut.tiles);
  params.channelChunks = i(channels.chunks);
  params.chunkElements = i(mapElements(kind, channels.chunk));
  params.lastChunkSlices = i(channels.lastChunkSlices);
  params.tileN = i(cut.tileN);
  params.accumulators = i(cut.accumulators);
  params.accumulatorColumns = static_cast<uint32_t>(cut.accumulatorColumns());
  params.slots = i(cut.slots);
  params.copiesAhead = cut.slots >= 3;
  params.slotColumns = static_cast<uint32_t>(cut.slotColumns(kind));
  // Tensor Memory is allocated in powers of two from 32 columns (PTX ISA 9.7.16.7).
  params.allocatedColumns = std::bit_ceil(static_cast<uint32_t>(std::max<int64_t>(32, cut.columns(p, kind))));
  params.operandStages = i(cut.operandStages);
  params.operandCountedBytes =
      static_cast<uint32_t>(cut.loadedPixels(p)) * gemm::sm100::countedRowBytes(kind, operandType(p, p.inputType));
  params.operandStageBytes = static_cast<uint32_t>(cut.operandStageBytes(p, kind));
  params.filter = filterParams(p, channels, cut.tileN / cut.ctas(), cut.filterStages, cut.resident);
  params.stagingTileBytes = static_cast<uint32_t>(cut.stagingTileBytes);
  params.stagedPieceRows = i(stagedPieceRows(p, cut.lanes));
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
  params.maskPhases = i(maskPhases(p, cut.lanes));
  for (int64_t phase = 0; phase < params.maskPhases; ++phase)
    for (int64_t tap = 0; tap < p.s; ++tap) params.disabled[phase][tap] = disabledLanes(p, cut.lanes, phase, tap);
  params.kind = kind;

  params.instructionDescriptor = instructionDescriptorOf(p, kind, cut.ctas(), cut.tileN);
  params.epilogue = epilogueOf(p);
  return params;
}

/// Heights of row blocks to compare: every number of blocks that gives a height of its own, from one block on.
std::vector<int64_t> blockHeights(const Problem& p) {
  const int64_t rows = ceilDivide(p.p(), p.strideH == 1 ? p.dilationH : 1);
  std::vector<int64_t> heights;
  for (int64_t blocks = 1; blocks <= rows && static_cast<int64_t>(heights.size()) < kBlockHeights; ++blocks) {
    const int64_t height = ceilDivide(rows, blocks);
    if (heights.empty() || heights.back() != height) heights.push_back(height);
  }
  return heights;
}

/// Why not even the cut that takes least fits: the narrowest tile, of a pair, whose windows nothing refills and whose pixels' scale
/// factors are shifted.
std::string roomRefusal(const Problem& p, const Channels& channels, const device::Properties& properties) {
  StreamCut cut;
  cut.pair = true;
  cut.tileN = tileNStep(p, channels.kind);
  cut.scaleCopies = isScaled(p) ? 1 : 0;
  if (!cut.fitTensorMemory(p, channels))
    return fmt::format("shift_stream needs {} columns of Tensor Memory for R = {} and S = {}{}, but there are {}",
                       cut.columns(p, channels.kind), p.r, p.s, isScaled(p) ? " with block scales" : "",
                       gemm::ColumnBudget::kAvailable);
  if (!cut.fitSharedMemory(p, channels, properties.sharedBytesPerBlock, {}, false))
    return fmt::format("shift_stream needs {} bytes of shared memory a block{}, but {} has {}", cut.sharedBytes(p, channels),
                       isScaled(p) ? ", the filter's scale factors among them" : "", properties.name,
                       properties.sharedBytesPerBlock);
  return {};
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
      {"N*Z*P*Q", p.outputPixels()},
      {"N*D*H*W", p.inputPixels()},
      {"K*T*R*S", p.k * p.t * p.r * p.s},
      {"(P + R) * max(stride_h, dilation_h) + H + pad_top", (p.p() + p.r) * std::max(p.strideH, p.dilationH) + p.h + p.padTop},
      {"(Z + T) * max(stride_d, dilation_d) + D + pad_front", (p.z() + p.t) * std::max(p.strideD, p.dilationD) + p.d + p.padFront},
      {"Q + W + pad_left", p.q() + p.w + p.padLeft},
      {"K", p.k}};
  for (const auto& [name, value] : coordinates)
    if (value > kLimit / 2) return fmt::format("shift_stream needs {} below 2^30 (32-bit coordinates), but it is {}", name, value);
  if (std::string why = epilogueRefusal("shift_stream", p, gemm::rowStoreStep(static_cast<int32_t>(p.outputScale.blockSize)));
      !why.empty())
    return why;
  for (const layout::TiledMap& map :
       {inputMap(p, channels, kStreamWindowLanes), filterMap(p, channels, tileNStep(p, channels.kind))})
    if (const std::string refused = layout::refusal(map); !refused.empty()) return fmt::format("shift_stream: {}", refused);
  return roomRefusal(p, channels, properties);
}

std::string cutShiftStream(const Problem& p, const device::Properties& properties, const ShiftStreamChoices& choices,
                           ShiftStreamPlan& plan) {
  const Channels channels(p, *kindOf(p));
  const int64_t step = tileNStep(p, channels.kind);
  if (choices.tileN && (*choices.tileN % step != 0 || *choices.tileN < step || *choices.tileN > kMaximumTileN))
    return fmt::format("tile_n must be a multiple of {} from {} to {}, but it is {}", step, step, kMaximumTileN, *choices.tileN);
  if (choices.clusters && *choices.clusters == 0) return "clusters must be at least 1";
  if (choices.blockRows && *choices.blockRows == 0) return "block_rows must be at least 1";

  const std::vector<int64_t> widths = choices.tileN ? std::vector<int64_t>{*choices.tileN} : tileWidths(p.k, step, kMaximumTileN);
  std::vector<int64_t> heights = blockHeights(p);
  if (choices.blockRows) heights = {*choices.blockRows};
  const Search search{p, properties, choices.clusters, channels};
  StreamCut best;
  std::string mapRefusal;
  for (const StreamMap map : kStreamMaps) {
    if (choices.map ? *choices.map != map : isRefilled(map)) continue;
    StreamCut cut;
    cut.map = map;
    if (isScaled(p)) cut.scaleCopies = choices.shiftedScales.value_or(false) ? 1 : p.s;
    mapRefusal = arrangeLanes(p, map, cut.lanes);
    if (mapRefusal.empty() && isRefilled(map) && choices.shiftedScales.value_or(false))
      mapRefusal =
          fmt::format("map={} needs scales=copies: nothing refills scale factors", kStreamMapNames[static_cast<size_t>(cut.map)]);
    if (!mapRefusal.empty()) continue;
    ShiftStreamParams geometry = geometryOf(p, cut.lanes, heights.front());
    for (const bool pair : {false, true}) {
      if (pair != choices.pair.value_or(pair)) continue;
      cut.pair = pair;
      std::vector<StreamBlocks> works;
      works.reserve(heights.size());
      for (const int64_t height : heights) {
        cutIntoBlocks(geometry, height);
        works.emplace_back(geometry, cut.tilePieces());
      }
      for (const int64_t tileN : widths) {
        cut.tileN = tileN;
        cut.passes = ceilDivide(p.k, tileN);
        if (!cut.fitTensorMemory(p, channels) ||
            !cut.fitSharedMemory(p, channels, properties.sharedBytesPerBlock, choices.residentWeights, outputMap(p, cut).rank != 0))
          continue;
        const Traffic ofCluster = clusterTraffic(p, channels, cut);
        for (const StreamBlocks& blocks : works) {
          constexpr double kAny = std::numeric_limits<double>::infinity();
          if (!count(search, blocks, ofCluster, best.tileN == 0 ? kAny : best.clocks, cut)) continue;
          if (best.tileN == 0 || std::tuple(cut.clocks, cut.traffic.products) < std::tuple(best.clocks, best.traffic.products))
            best = cut;
        }
      }
    }
  }
  if (best.tileN == 0 && !mapRefusal.empty()) return mapRefusal;
  if (best.tileN == 0) {
    std::string causes;
    if (choices.tileN) causes += fmt::format(" with tile_n = {}", *choices.tileN);
    if (choices.residentWeights) causes += fmt::format(" with resident_weights = {}", *choices.residentWeights ? "yes" : "no");
    if (choices.map) causes += fmt::format(" with map = {}", kStreamMapNames[static_cast<size_t>(*choices.map)]);
    if (choices.pair) causes += fmt::format(" with group = {}", *choices.pair ? "pair" : "single");
    return fmt::format("shift_stream finds no room for {} accumulators and {} x {} filter taps of C = {}{}", liveRows(p), p.r, p.s,
                       p.c, causes);
  }

  plan.problem = p;
  plan.cut = best;
  plan.params = makeParams(p, best, channels);
  plan.input = inputMap(p, channels, best.lanes.loadedLanes);
  plan.refill = inputMap(p, channels, 1);
  plan.filter = filterMap(p, channels, best.tileN / best.ctas());
  plan.output = best.stagingTileBytes != 0 ? outputMap(p, best) : layout::TiledMap{};
  plan.kernelName = isScaled(p) ? "shift_stream_sm100_scaled_" : "shift_stream_sm100_dense_";
  plan.kernelName += best.pair ? "pair" : "single";
  plan.launch.grid = {static_cast<uint32_t>(best.clusters * best.ctas()), static_cast<uint32_t>(best.passes), 1};
  plan.launch.block = {gemm::sm100::threadsOf(isScaled(p)), 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(best.ctas()), 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(best.sharedBytes(p, channels));
  plan.traffic = best.traffic;
  plan.estimate = estimate(p, search.rates, best.clocks, best.bound, clocksAround(search.rates, p, kStreamLanes, best.tileN));
  return {};
}

void ShiftStreamPlan::countPlaces() {
  traffic.activationBytes = activationBytes(problem, params, cut);
  traffic.storedRows = cut.passes * problem.outputPixels();
}

std::string planShiftStream(const Problem& problem, const device::Properties& properties, const ShiftStreamChoices& choices,
                            ShiftStreamPlan& plan) {
  if (std::string why = cutShiftStream(problem, properties, choices, plan); !why.empty()) return why;
  plan.countPlaces();
  return {};
}

Traffic ShiftStreamPlan::ofTile(int64_t tile) const {
  const auto pieces = static_cast<int32_t>(cut.tilePieces());
  const TileRows rows = tileRows(params, static_cast<int32_t>(tile) * pieces, pieces);
  Traffic traffic = trafficOf(problem, Channels(problem, params.kind), cut, RowWork(params, rows));
  traffic.activationBytes = activationBytes(problem, params, cut, tile);
  for (int32_t piece = static_cast<int32_t>(tile) * pieces;
       piece < std::min(static_cast<int32_t>(tile + 1) * pieces, params.pieces); ++piece) {
    const Place place = placeOf(params, piece);
    traffic.storedRows +=
        cut.passes * place.outputRows * std::clamp(params.outputWidth - place.column, 0, params.lanes.pieceOutputs);
  }
  return traffic;
}

Traffic ShiftStreamPlan::ofCluster() const { return clusterTraffic(problem, Channels(problem, params.kind), cut); }

std::string ShiftStreamPlan::describe() const {
  const ShiftStreamParams& p = params;
  std::string text;
  text += fmt::format("tile       {} pieces of {} output columns x {} output rows x {} output channels{}, {} tiles, {} pass(es)\n",
                      p.lanes.pieces() * cut.ctas(), p.lanes.pieceOutputs, p.blockRows, p.tileN,
                      cut.pair ? ", multiplied by CTA pairs" : "", p.tiles, launch.grid.y);
  text += fmt::format("lanes      {}: a piece every {} lanes, {} in {} lanes{}\n", kStreamMapNames[static_cast<size_t>(cut.map)],
                      p.lanes.pieceLanes, p.lanes.framePieces, p.lanes.frameLanes,
                      p.lanes.isRefilled ? "; the last lane of every window is refilled" : "");
  if (p.lanes.isMasked)
    text += fmt::format("masks      none at tap column {}, which goes first; the others repeat themselves after {} CTA(s)\n",
                        p.lanes.firstTap, p.maskPhases);
  text += fmt::format("reduction  {} depth taps x {} channel chunks for each input row, then {} filter rows x {} taps by shift\n",
                      p.filterDepth, p.channelChunks, p.filterHeight, p.filterWidth);
  text += fmt::format("Tensor Mem {} accumulators of {} columns, {} slots of {} columns; {} columns allocated\n", p.accumulators,
                      p.accumulatorColumns, p.slots, p.slotColumns, p.allocatedColumns);
  if (p.scaleCopies != 0)
    text += fmt::format("scales     of pixels {}; of the filter {}\n",
                        p.scaleCopies == 1 ? "shifted with them" : "in a copy for every tap column",
                        p.scalesResident ? "resident in Tensor Memory" : "copied for every tap column");
  text += fmt::format("shared mem {} stages of 16 KiB for rows; filter {}, {} stages of {} bytes; {} bytes in all\n",
                      p.operandStages, p.filter.resident ? "resident" : "streamed for every row", p.filter.stages,
                      p.filter.stageBytes, launch.dynamicSharedBytes);
  text += gemm::sm100::describeStaging(p.stagingTileBytes);
  text += fmt::format("counted    {}\n", plan::describe(traffic));
  return text;
}

}  // namespace shiftconv::plan