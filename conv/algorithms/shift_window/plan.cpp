#include "conv/algorithms/shift_window/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/gemm/sm100/operand_plan.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/tile_widths.hpp"
#include "shift_window_image.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kMinimumOperandStages = 3;
constexpr int64_t kStreamingOperandStages = 4;
constexpr int64_t kMinimumFilterStages = 2;
constexpr int64_t kProductElements = layout::kMmaRowBytes / 2;  // the model's unit of a product: 16-bit operands

using Cut = ShiftWindowCut;

Channels channelsOf(const Problem& p) { return {p, *kindOf(p)}; }
int64_t tapsOf(const Problem& p) { return p.t * p.r * p.s; }
int64_t filterStageBytes(const Cut& cut) {
  return kernels::filterStageBytes(static_cast<int32_t>(cut.tileN), static_cast<int32_t>(cut.ctas()));
}

int64_t stageBudget(uint32_t sharedBytesPerBlock, int64_t ctas) {
  return int64_t{sharedBytesPerBlock} - sharedBytes(0, 0, 0, static_cast<int32_t>(ctas));
}

/// Lines of anchors (see StagedLines): planes, or, where every pixel has an output, a single one that ends with the tensor.
bool hasOneLine(const Problem& p) { return p.p() == p.h && p.z() == p.d; }
StagedLines stagedLines(const Problem& p) {
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  if (hasOneLine(p)) return {std::numeric_limits<int32_t>::max(), 1, 1};
  return {i(p.h * p.w), i(p.d), i(p.z())};
}

/// The output as lines of pixels. Rank 0 where outputs are not staged: where rows leave gaps, and where no window lies within a
/// line.
layout::TiledMap outputMap(const Problem& p, const Cut& cut) {
  layout::TiledMap map = stagedOutputMap(p, cut.passes, cut.tileN);
  const StagedLines lines = stagedLines(p);
  const int32_t useful = usefulLanes(static_cast<int32_t>(p.s));
  if (map.rank == 0 || p.q() != p.w || lines.anchors < useful) return {};
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const int64_t linePixels = hasOneLine(p) ? p.outputPixels() : p.p() * p.q();
  map.rank = 3;
  map.dims = {map.dims[0], u(linePixels), u(p.outputPixels() / linePixels)};
  map.strides = {u(outputPixelBytes(p)), u(outputPixelBytes(p) * linePixels)};
  map.box = {map.box[0], static_cast<uint32_t>(useful), 1};
  return layout::refusal(map).empty() ? map : layout::TiledMap{};
}

/// Stages of operands and filter, and of outputs where there is room besides the fewest of these; returns one sentence when the cut
/// does not fit into shared memory.
std::string fitStages(const Problem& p, const Channels& channels, uint32_t sharedBytesPerBlock, std::optional<bool> residentWanted,
                      Cut& cut) {
  int64_t budget = stageBudget(sharedBytesPerBlock, cut.ctas());
  const int64_t filterBytes = filterStageBytes(cut);
  const auto stageWith = [&](int64_t fewest) {
    const int64_t tileBytes =
        outputMap(p, cut).rank != 0 ? int64_t{gemm::sm100::stagingTileBytes(numberType(p.outputType))} : int64_t{0};
    cut.stagingTileBytes = fewest + gemm::sm100::kStagingTilesOfCta * tileBytes <= budget ? tileBytes : 0;
    budget -= gemm::sm100::kStagingTilesOfCta * cut.stagingTileBytes;
  };
  const int64_t filterTiles = tapsOf(p) * channels.chunks;
  const int64_t residentBytes = filterTiles * filterBytes + kMinimumOperandStages * kOperandStageBytes;
  const bool mayBeResident = filterTiles <= kMaximumFilterStages && residentBytes <= budget;
  cut.resident = residentWanted.value_or(mayBeResident);
  if (cut.resident) {
    if (!mayBeResident)
      return fmt::format(
          "resident_weights=yes does not fit with tile_n={}: {} filter stages (at most {}) and {} operand stages take "
          "{} bytes of the {} that a CTA has for stages",
          cut.tileN, filterTiles, kMaximumFilterStages, kMinimumOperandStages, residentBytes, budget);
    cut.filterStages = filterTiles;
    stageWith(residentBytes);
    cut.operandStages = std::min<int64_t>(kMaximumOperandStages, (budget - filterTiles * filterBytes) / kOperandStageBytes);
    return {};
  }
  cut.operandStages = kStreamingOperandStages;
  stageWith(cut.operandStages * kOperandStageBytes + kMinimumFilterStages * filterBytes);
  cut.filterStages = std::min<int64_t>(kMaximumFilterStages, (budget - cut.operandStages * kOperandStageBytes) / filterBytes);
  if (cut.filterStages >= kMinimumFilterStages) return {};
  return fmt::format(
      "tile_n={} leaves no room: {} filter stages of {} bytes and {} operand stages exceed the {} bytes that a CTA has "
      "for stages",
      cut.tileN, kMinimumFilterStages, filterBytes, kStreamingOperandStages, budget);
}

/// Demands of one tile in one pass of each CTA.
Bound timeOfTile(const Problem& p, const Channels& channels, const Rates& rates, const Cut& cut, double crowd) {
  const double ownColumns = static_cast<double>(cut.tileN / cut.ctas());  // of B
  const double mmas = static_cast<double>(tapsOf(p) * channels.slices());
  // Zero-filled channels of a box are written to shared memory but not read from L2, whose unit is a 32-byte sector.
  const double l2RowBytes = static_cast<double>(roundUp(channelBytes(p, p.inputType), kSectorBytes));
  const double sharedRowBytes = static_cast<double>(channels.chunks * layout::kSwizzle128RowBytes);
  const double operandRows = static_cast<double>(p.t * p.r) * kTensorLanes;
  const double filterRows = static_cast<double>(tapsOf(p)) * ownColumns;
  const double rowsPerTile = operandRows + (cut.resident ? 0 : filterRows);
  const double operandCopies = static_cast<double>(p.t * p.r * channels.slices()) * kTensorLanes * layout::kMmaRowBytes;
  const Demand demands[] = {{Resource::TensorCore, mmas * static_cast<double>(cut.tileN) * kTensorLanes * kProductElements},
                            {Resource::L2ToShared, rowsPerTile * l2RowBytes * crowd},
                            {Resource::BulkWrites, rowsPerTile * sharedRowBytes},
                            {Resource::TensorCopy, operandCopies},
                            {Resource::SharedReads, operandCopies + mmas * ownColumns * layout::kMmaRowBytes},
                            {Resource::BulkStores, static_cast<double>(kTensorLanes * cut.tileN * bitsOf(p.outputType)) / 8}};
  return slowest(rates, demands);
}

int64_t tileCount(const Problem& p, int64_t ctas) {
  return ceilDivide(p.inputPixels(), ctas * kWindows * usefulLanes(static_cast<int32_t>(p.s)));
}

void model(const Problem& p, const Channels& channels, const device::Properties& properties, std::optional<uint32_t> clustersWanted,
           Cut& cut) {
  const Rates& rates = ratesOf(properties);
  const int64_t tiles = tileCount(p, cut.ctas());
  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors / cut.ctas());
  const int64_t available = std::max<int64_t>(1, multiprocessors / cut.passes);
  const int64_t tilesPerCluster = ceilDivide(tiles, std::min(tiles, clustersWanted ? int64_t{*clustersWanted} : available));
  cut.clusters = ceilDivide(tiles, tilesPerCluster);
  const Bound tile = timeOfTile(p, channels, rates, cut, crowdOf(rates, properties, cut.clusters * cut.passes * cut.ctas()));
  cut.clocksPerTile = tile.clocks;
  cut.bound = tile.resource;
  cut.clocksAround = clocksAround(rates, p, kTensorLanes, cut.tileN);
  const double waves = static_cast<double>(ceilDivide(cut.clusters * cut.passes, multiprocessors));
  const double residentBytes = static_cast<double>(tapsOf(p) * channels.chunks * filterStageBytes(cut));
  cut.clocks = waves * (static_cast<double>(tilesPerCluster) * cut.clocksPerTile +
                        (cut.resident ? residentBytes / rates.of(Resource::BulkWrites) : 0));
}

/// Boxes of a window of neighbouring pixels, whatever rows, planes and images they belong to.
layout::TiledMap inputMap(const Problem& p, const Channels& channels) {
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const auto type = operandType(p, p.inputType);
  layout::TiledMap map;
  map.type = gemm::sm100::mapType(channels.kind, type);
  map.rank = 2;
  map.dims = {u(p.c), u(p.inputPixels())};
  map.strides = {u(numerics::packedBytes(type, p.inputPitch()))};
  map.box = {static_cast<uint32_t>(channels.chunk), kWindowLanes};
  map.swizzle = layout::MapSwizzle::B128;
  return map;
}

/// Of a tile in all passes, whatever of the tensors lies in it.
Traffic anyTile(const Problem& p, const Cut& cut) {
  const Channels channels = channelsOf(p);
  const int64_t taps = tapsOf(p), lanes = cut.ctas() * kTensorLanes;
  Traffic traffic;
  traffic.mmas = cut.passes * taps * channels.slices();
  traffic.products = traffic.mmas * lanes * cut.tileN * kProductElements;
  traffic.multiplyReadBytes = traffic.mmas * cut.tileN * layout::kMmaRowBytes;
  traffic.copyReadBytes = cut.passes * p.t * p.r * channels.slices() * lanes * layout::kMmaRowBytes;
  traffic.writtenBytes = cut.passes * p.t * p.r * channels.chunks * cut.ctas() * kOperandStageBytes;
  traffic.multipliedRows = cut.passes * lanes;
  if (!cut.resident) {
    traffic.filterBytes = taps * p.k * channelBytes(p, p.filterType);
    traffic.writtenBytes += cut.passes * taps * channels.chunks * cut.ctas() * filterStageBytes(cut);
  }
  return traffic;
}

/// Bytes of activations that `tiles` tiles from `tile` on load in all passes. Windows lie at equal distances; only the first and
/// last ones reach out of the tensor.
int64_t activationBytes(const Problem& p, const Cut& cut, int64_t tile, int64_t tiles) {
  const int64_t distance = usefulLanes(static_cast<int32_t>(p.s)), perTile = cut.ctas() * kWindows, windows = tiles * perTile;
  const int64_t end = p.inputPixels();
  int64_t rows = 0;
  for (int64_t t = 0; t < p.t; ++t)
    for (int64_t r = 0; r < p.r; ++r) {
      const int64_t first =
          tile * perTile * distance + ((t * p.dilationD - p.padFront) * p.h + r * p.dilationH - p.padTop) * p.w - p.padLeft;
      const auto inside = [&](int64_t window) {
        const int64_t begin = first + window * distance;
        return std::max<int64_t>(0, std::min(begin + kWindowLanes, end) - std::max<int64_t>(begin, 0));
      };
      // Whole windows lie between these two.
      const int64_t low = std::clamp<int64_t>(first < 0 ? ceilDivide(-first, distance) : 0, 0, windows);
      const int64_t room = end - kWindowLanes - first;
      const int64_t high = std::clamp<int64_t>(room < 0 ? 0 : room / distance + 1, low, windows);
      rows += (high - low) * kWindowLanes;
      for (int64_t window = low; window > 0 && inside(window - 1) > 0; --window) rows += inside(window - 1);
      for (int64_t window = high; window < windows && inside(window) > 0; ++window) rows += inside(window);
    }
  return cut.passes * rows * channelBytes(p, p.inputType);
}

/// What the rules of operands and epilogue leave open.
std::string refusedFeature(const Problem& p) {
  if (isScaled(p)) return "does no block scales of operands (they have no .ashift)";
  for (const auto& [name, type] : {std::pair("input_type", p.inputType), std::pair("filter_type", p.filterType)})
    if (bitsOf(type) < 8) return fmt::format("multiplies elements of whole bytes, but {} is {}", name, nameOf(type));
  return {};
}

}  // namespace

std::string shiftWindowRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string why = operandRefusal("shift_window", p, properties); !why.empty()) return why;
  if (const std::string feature = refusedFeature(p); !feature.empty()) return "shift_window " + feature;
  if (p.strideH != 1 || p.strideW != 1)
    return fmt::format("shift_window needs stride 1 (a shift moves by one pixel), but stride is {}x{}", p.strideH, p.strideW);
  if (p.strideD != 1) return fmt::format("shift_window needs stride_d = 1, but it is {}", p.strideD);
  if (p.dilationW != 1)
    return fmt::format("shift_window needs dilation_w = 1 (a shift moves by one pixel), but it is {}", p.dilationW);
  if (p.s < 2 || p.s > kMaximumFilterExtent)
    return fmt::format("shift_window needs a filter width S of 2 to {}, but S is {}", kMaximumFilterExtent, p.s);
  if (p.r > kMaximumFilterExtent)
    return fmt::format("shift_window needs a filter height R of at most {}, but R is {}", kMaximumFilterExtent, p.r);
  if (p.t > kMaximumFilterExtent)
    return fmt::format("shift_window needs a filter depth T of at most {}, but T is {}", kMaximumFilterExtent, p.t);
  if (p.z() > p.d)
    return fmt::format("shift_window needs Z <= D, but pad_front + pad_back = {} exceeds (T-1)*dilation_d = {}",
                       p.padFront + p.padBack, (p.t - 1) * p.dilationD);
  if (p.p() > p.h)
    return fmt::format("shift_window needs P <= H, but pad_top + pad_bottom = {} exceeds (R-1)*dilation_h = {}",
                       p.padTop + p.padBottom, (p.r - 1) * p.dilationH);
  if (p.q() > p.w)
    return fmt::format("shift_window needs Q <= W, but pad_left + pad_right = {} exceeds S-1 = {}", p.padLeft + p.padRight,
                       p.s - 1);
  // Row numbers of a tile, with the rows that its filter reaches below it, are 32-bit coordinates.
  const int64_t reach = p.t * p.dilationD * p.h + p.r * p.dilationH;
  const int64_t lastRow = p.inputPixels() + reach * p.w + 3 * kTensorLanes;
  if (lastRow > std::numeric_limits<int32_t>::max())
    return fmt::format(
        "shift_window needs N*D*H*W + (T*dilation_d*H + R*dilation_h)*W below 2^31 (32-bit TMA coordinates), but it is {}",
        lastRow);
  if (std::string why = epilogueRefusal("shift_window", p, gemm::rowStoreStep(static_cast<int32_t>(p.outputScale.blockSize)));
      !why.empty())
    return why;
  const Channels channels = channelsOf(p);
  const int64_t step = tileNStep(p, channels.kind);
  for (const layout::TiledMap& map : {inputMap(p, channels), filterMap(p, channels, step)})
    if (const std::string refused = layout::refusal(map); !refused.empty()) return fmt::format("shift_window: {}", refused);
  if (stageBudget(properties.sharedBytesPerBlock, 1) <
      kStreamingOperandStages * int64_t{kOperandStageBytes} + kMinimumFilterStages * step * layout::kSwizzle128RowBytes)
    return fmt::format("shift_window needs more shared memory per block than the {} bytes of {}", properties.sharedBytesPerBlock,
                       properties.name);
  return {};
}

std::string shiftWindowCuts(const Problem& p, const device::Properties& properties, const ShiftWindowChoices& choices,
                            std::vector<Cut>& cuts) {
  const Channels channels = channelsOf(p);
  const int64_t step = tileNStep(p, channels.kind);
  if (choices.tileN && (*choices.tileN % step != 0 || *choices.tileN < step || *choices.tileN > kMaximumTileN))
    return fmt::format("tile_n must be a multiple of {} from {} to {}, but it is {}", step, step, kMaximumTileN, *choices.tileN);
  if (choices.clusters && *choices.clusters == 0) return "ctas must be at least 1";

  std::string reason;
  cuts.clear();
  for (const bool pair : {false, true}) {
    if (pair != choices.pair.value_or(pair)) continue;
    const auto offer = [&](int64_t tileN) {
      Cut cut;
      cut.pair = pair;
      cut.tileN = tileN;
      cut.passes = ceilDivide(p.k, tileN);
      reason = fitStages(p, channels, properties.sharedBytesPerBlock, choices.residentWeights, cut);
      if (!reason.empty()) return;
      model(p, channels, properties, choices.clusters, cut);
      cuts.push_back(cut);
    };
    if (choices.tileN) {
      offer(*choices.tileN);
      continue;
    }
    for (const int64_t tileN : tileWidths(p.k, step, kMaximumTileN)) offer(tileN);
  }
  return cuts.empty() ? reason : std::string();
}

void completeShiftWindow(const Problem& p, const Cut& cut, ShiftWindowPlan& plan) {
  plan.cut = cut;

  const Channels channels = channelsOf(p);
  const auto ctas = static_cast<int32_t>(cut.ctas());
  plan.kernelName = cut.pair ? "shift_window_sm100_pair" : "shift_window_sm100_single";
  plan.input = inputMap(p, channels);
  plan.filter = filterMap(p, channels, cut.tileN / cut.ctas());
  plan.output = cut.stagingTileBytes != 0 ? outputMap(p, cut) : layout::TiledMap{};

  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  ShiftWindowParams& params = plan.params;
  params = {};
  params.depth = i(p.d), params.height = i(p.h), params.width = i(p.w);
  params.outputDepth = i(p.z()), params.outputHeight = i(p.p()), params.outputWidth = i(p.q());
  params.filterDepth = i(p.t), params.filterHeight = i(p.r), params.filterWidth = i(p.s);
  params.dilationDepth = i(p.dilationD), params.dilationH = i(p.dilationH);
  params.padFront = i(p.padFront), params.padTop = i(p.padTop), params.padLeft = i(p.padLeft);
  params.anchors = i(p.inputPixels());
  params.channelChunks = i(channels.chunks);
  params.chunkElements = i(channels.chunk);
  params.lastChunkSlices = i(channels.lastChunkSlices);
  params.tileN = i(cut.tileN);
  params.tiles = i(tileCount(p, cut.ctas()));
  params.operandStages = i(cut.operandStages);
  params.filter = filterParams(p, channels, cut.tileN / cut.ctas(), cut.filterStages, cut.resident);
  params.stagingTileBytes = static_cast<uint32_t>(cut.stagingTileBytes);
  params.staged = stagedLines(p);
  params.kind = channels.kind;
  params.instructionDescriptor = instructionDescriptorOf(p, channels.kind, cut.ctas(), cut.tileN);
  params.byWidth = layout::FastDivisor(static_cast<uint32_t>(p.w));
  params.byPlane = layout::FastDivisor(static_cast<uint32_t>(p.h * p.w));
  params.byDepth = layout::FastDivisor(static_cast<uint32_t>(p.d));
  params.epilogue = epilogueOf(p);

  plan.launch.grid = {static_cast<uint32_t>(cut.clusters * cut.ctas()), static_cast<uint32_t>(cut.passes), 1};
  plan.launch.block = {gemm::sm100::threadsOf(false), 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(ctas), 1, 1};
  plan.launch.dynamicSharedBytes =
      sharedBytes(params.operandStages, params.filter.stages, params.tileN, ctas, params.stagingTileBytes);

  plan.problem = p;
  plan.traffic = anyTile(p, cut) * plan.tiles();
  plan.traffic += plan.ofCluster() * plan.clusters();
  plan.traffic.activationBytes = activationBytes(p, cut, 0, plan.tiles());
  plan.traffic.storedRows = cut.passes * p.outputPixels();
}

std::string planShiftWindow(const Problem& p, const device::Properties& properties, const ShiftWindowChoices& choices,
                            ShiftWindowPlan& plan) {
  std::vector<Cut> cuts;
  if (std::string reason = shiftWindowCuts(p, properties, choices, cuts); !reason.empty()) return reason;
  // The fewest passes win a tie, because each copies the activations again.
  completeShiftWindow(
      p, *std::min_element(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.clocks < b.clocks; }), plan);
  return {};
}

Traffic ShiftWindowPlan::ofTile(int64_t tile) const {
  const Problem& p = problem;
  Traffic traffic = anyTile(p, cut);
  traffic.activationBytes = activationBytes(p, cut, tile, 1);
  const int64_t anchors = cut.ctas() * kWindows * usefulLanes(params.filterWidth);
  for (int64_t anchor = tile * anchors; anchor < std::min<int64_t>((tile + 1) * anchors, params.anchors); ++anchor)
    if (anchor % p.w < p.q() && anchor / p.w % p.h < p.p() && anchor / (p.w * p.h) % p.d < p.z()) traffic.storedRows += cut.passes;
  return traffic;
}

Traffic ShiftWindowPlan::ofCluster() const {
  Traffic traffic;
  if (!cut.resident) return traffic;
  traffic.filterBytes = tapsOf(problem) * problem.k * channelBytes(problem, problem.filterType);
  traffic.writtenBytes = cut.passes * cut.filterStages * cut.ctas() * filterStageBytes(cut);
  return traffic;
}

std::string ShiftWindowPlan::describe() const {
  const ShiftWindowParams& p = params;
  std::string text;
  text += fmt::format(
      "tile       {} CTA(s) of {} pixels ({} windows of {} useful lanes) x {} output channels, {} tiles, {} pass(es)\n", cut.ctas(),
      kWindows * usefulLanes(p.filterWidth), kWindows, usefulLanes(p.filterWidth), p.tileN, p.tiles, launch.grid.y);
  text += fmt::format("reduction  {} filter rows x {} channel chunks x {} taps by shift, 32-byte slices in the last chunk: {}\n",
                      p.filterDepth * p.filterHeight, p.channelChunks, p.filterWidth, p.lastChunkSlices);
  text += fmt::format("operands   shared memory -> Tensor Memory, {} stages of 16 KiB, {} slots of {} columns\n", p.operandStages,
                      kOperandSlots, kSlotColumns);
  text += fmt::format("filter     {}, {} stages of {} bytes\n",
                      p.filter.resident ? "resident in shared memory" : "streamed for every tile", p.filter.stages,
                      filterStageBytes(cut));
  text += gemm::sm100::describeStaging(p.stagingTileBytes);
  text += fmt::format("Tensor Mem {} of {} columns\n", kAccumulators * accumulatorColumns(p.tileN) + kOperandSlots * kSlotColumns,
                      kTensorColumns);
  text += fmt::format("modelled   {:.0f} clocks a tile, bound by {}; {:.0f} clocks in all\n", cut.clocksPerTile, nameOf(cut.bound),
                      cut.clocks);
  return text;
}

device::ModuleImage shiftWindowImage() { return images::shift_window(); }

}  // namespace shiftconv::plan
