#include "conv/algorithms/halo_sm100/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "common/gemm/sm100/operand_plan.hpp"
#include "common/gemm/window_plan.hpp"
#include "conv/algorithms/halo_sm100/cut.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/taps.hpp"
#include "conv/plan/tile_widths.hpp"

namespace shiftconv::plan::sm100 {

using namespace kernels::halo_sm100;
using namespace halo;

namespace {

constexpr int64_t kMaximumTileN = 256;
constexpr int64_t kMaximumBox = 256;          // elements of a box along each dimension (cuTensorMapEncodeTiled)
constexpr int64_t kMaximumElementStride = 8;  // likewise

/// Images lie inside the rows, so that the groups of an operand of several images are at one distance.
layout::TiledMap inputMap(const Problem& p, const Channels& channels, const Patches& patches) {
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const auto elements = [](int64_t count, int64_t stride) { return static_cast<uint32_t>((count - 1) * stride + 1); };
  const auto type = operandType(p, p.inputType);
  layout::TiledMap map;
  map.type = gemm::sm100::mapType(channels.kind, type);
  map.rank = 5;
  map.dims = {u(mapElements(channels.kind, p.c)), u(p.w), u(p.n), u(p.h), u(p.d)};
  const uint64_t pixel = u(numerics::packedBytes(type, p.inputPitch()));
  map.strides = {pixel, pixel * u(p.w * p.h * p.d), pixel * u(p.w), pixel * u(p.w * p.h)};
  map.box = {static_cast<uint32_t>(mapElements(channels.kind, channels.chunk)), elements(patches.width, p.strideW),
             static_cast<uint32_t>(patches.images), elements(patches.height, p.strideH), 1};
  map.elementStrides = {1, static_cast<uint32_t>(p.strideW), 1, static_cast<uint32_t>(patches.height == 1 ? 1 : p.strideH), 1};
  map.swizzle = layout::MapSwizzle::B128;
  return map;
}

/// The output as boxes of the 32 rows of an epilogue warp. Rank 0 where outputs are not staged.
layout::TiledMap outputMap(const Problem& p, const Cut& cut) {
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  layout::TiledMap map = stagedOutputMap(p, cut.passes, cut.tileN);
  if (map.rank == 0 || cut.streams()) return {};
  const int64_t pixel = outputPixelBytes(p), plane = pixel * p.q() * p.p();
  constexpr uint32_t kWarpGroups = 32 / kGroupPixels;
  const uint32_t images = std::min(static_cast<uint32_t>(cut.tileImages), kWarpGroups);
  map.rank = 5;
  map.dims = {map.dims[0], u(p.q()), u(p.n), u(p.p()), u(p.z())};
  map.strides = {u(pixel), u(plane * p.z()), u(pixel * p.q()), u(plane)};
  map.box = {map.box[0], kGroupPixels, images, kWarpGroups / images, 1};
  return layout::refusal(map).empty() ? map : layout::TiledMap{};
}

/// Which factors there are, how many tiles of them a tap has, and which pixels a tap reads.
void describeScales(const Problem& p, const Cut& cut, gemm::sm100::GemmParams& g) {
  gemm::GemmProblem problem = gemmTypes(p);
  problem.k = p.c;
  layout::TiledMap none;
  const auto built = [&](int64_t rows, int64_t rowTiles) {
    return gemm::sm100::planScales(problem, g.kind, {rows, rowTiles, gemm::sm100::kScaleAtomRows, 1, true, false}, none);
  };
  g.scaleA = built(p.inputPixels(), 1);
  g.scaleB = built(p.k * p.t * p.r * p.s, ceilDivide(cut.tileN, gemm::sm100::kScaleAtomRows));
  const gemm::Window window = windowOf(p);
  g.window.images = static_cast<int32_t>(p.n);
  g.window.x = gemm::axisParams(window.axes[0]);
  g.window.y = gemm::axisParams(window.axes[1]);
  g.window.z = gemm::axisParams(window.axes[2]);
}

HaloParams makeParams(const Problem& p, const Channels& channels, const Patches& patches, const Cut& cut) {
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  const layout::MmaKind kind = channels.kind;
  HaloParams params;
  gemm::sm100::GemmParams& g = params.gemm;
  g.tileN = i(cut.tileN);
  g.lineChunks = i(channels.chunks);
  g.lastChunkSlices = i(channels.lastChunkSlices);
  g.accumulators = i(cut.accumulators);
  g.accumulatorColumns = static_cast<uint32_t>(roundUp(cut.tileN, kColumnStep));
  // Tensor Memory is allocated in powers of two from 32 columns (PTX ISA 9.7.16.7).
  g.stageColumns = static_cast<uint32_t>(cut.scaleAtoms(kind)) * gemm::sm100::kScaleAtomColumns;
  g.allocatedColumns = std::bit_ceil(static_cast<uint32_t>(cut.accumulators) * g.accumulatorColumns +
                                     static_cast<uint32_t>(cut.scaleStages) * g.stageColumns);
  g.n = i(p.k);
  g.tileRows = gemm::sm100::kTileRows;
  g.kind = kind;
  g.a.descriptor = layout::swizzle128KMajorDescriptor(0, static_cast<uint32_t>(patches.width * layout::kSwizzle128RowBytes));
  g.b.descriptor = layout::swizzle128KMajorDescriptor(0);
  g.a.sliceBytes = g.b.sliceBytes = layout::kMmaRowBytes;
  g.a.chunkElements = i(mapElements(kind, channels.chunk));
  g.instructionDescriptor = instructionDescriptorOf(p, kind, cut.ctas(), cut.tileN);
  g.epilogue = epilogueOf(p);
  if (layout::isBlockScaled(kind)) describeScales(p, cut, g);

  params.images = i(p.n);
  params.outputDepth = i(p.z());
  params.outputHeight = i(p.p());
  params.outputWidth = i(p.q());
  params.strideDepth = i(p.strideD), params.strideH = i(p.strideH), params.strideW = i(p.strideW);
  params.dilationDepth = i(p.dilationD);
  params.padFront = i(p.padFront), params.padTop = i(p.padTop), params.padLeft = i(p.padLeft);
  params.filterDepth = i(p.t);
  params.tileImages = i(cut.tileImages);
  params.tileRows = i(cut.tileRows());
  params.columnBlocks = i(columnBlocks(p));
  params.rowBlocks = i(rowBlocks(p, cut));
  params.tiles = i(tilesOf(p, cut));
  params.patches = i(patches.count);
  params.patchBytes = static_cast<uint32_t>(patches.bytes());
  params.groupBytes = static_cast<uint32_t>(patches.boxBytes());
  params.patchCountedBytes =
      static_cast<uint32_t>(patches.boxes * patches.pixels()) * gemm::sm100::countedRowBytes(kind, operandType(p, p.inputType));
  params.patchStageBytes = static_cast<uint32_t>(patches.count * patches.bytes());
  params.patchStages = i(cut.patchStages);
  params.filter = filterParams(p, channels, cut.tileN / cut.ctas(), cut.filterStages, cut.resident);
  params.filterHeight = i(p.r), params.filterWidth = i(p.s);
  params.stagingTileBytes = static_cast<uint32_t>(cut.stagingTileBytes);
  params.scaleStages = i(cut.scaleStages);
  params.scaleStageBytes = static_cast<uint32_t>(cut.scaleStageBytes(kind));

  const Axis rows = rowsOf(p), columns = columnsOf(p);
  const auto across = static_cast<int64_t>(columns.phases.size());
  if (cut.streams()) {
    const int64_t common = std::gcd(p.strideH, p.dilationH);
    params.streamsRows = true;
    params.accumulatorsOfTile = i(cut.streamRows);
    params.dilationH = i(p.dilationH);
    params.patchRows = i(rows.streamOf(cut.streamRows));
    params.rowRuns = i(finishesRows(p, channels, cut) ? channels.chunks : 1);
    params.filterRowStep = i(p.strideH / common), params.outputRowStep = i(p.dilationH / common);
    for (int64_t phase = 0; phase < across; ++phase) params.origins[phase].x = i(columns.phases[static_cast<size_t>(phase)]);
    for (int64_t s = 0; s < p.s; ++s)
      params.tapOffsets[s] =
          static_cast<uint32_t>(columns.phaseIndexOf(s) * patches.bytes() + columns.stepOf(s) * layout::kSwizzle128RowBytes);
    return params;
  }
  for (int64_t patch = 0; patch < patches.count; ++patch)
    params.origins[patch] = {i(columns.phases[static_cast<size_t>(patch % across)]),
                             i(rows.phases[static_cast<size_t>(patch / across)])};
  for (int64_t r = 0; r < p.r; ++r)
    for (int64_t s = 0; s < p.s; ++s) {
      const int64_t patch = rows.phaseIndexOf(r) * across + columns.phaseIndexOf(s);
      const int64_t pixel = rows.stepOf(r) * patches.images * patches.width + columns.stepOf(s);
      params.tapOffsets[r * p.s + s] = static_cast<uint32_t>(patch * patches.bytes() + pixel * layout::kSwizzle128RowBytes);
    }
  return params;
}

/// Output rows of streams to compare: equal blocks of an image, and as many as there are accumulators for. Of equals the longest
/// reads least.
std::set<int64_t, std::greater<>> streamRowsOf(const Problem& p, int64_t accumulators) {
  std::set<int64_t, std::greater<>> rows{std::min(p.p(), accumulators)};
  for (const int64_t blocks : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32})
    rows.insert(std::min<int64_t>(ceilDivide(p.p(), blocks), kMaximumBlockRows));
  return rows;
}

/// Patches of every number of images, or row streams of every length: these only when asked for, because nobody has published what
/// the collector buffer saves where an MMA is bound by its operands (N below 128).
std::vector<Cut> cutsOf(const Problem& p, const HaloChoices& choices, bool pair, int64_t width) {
  Cut cut;
  cut.pair = pair;
  cut.tileN = width;
  cut.passes = ceilDivide(p.k, width);
  std::vector<Cut> cuts;
  const bool streams = choices.blockRows || choices.collector.value_or(false);
  for (int64_t images = 1; images <= kGroups; images *= 2) {
    if (streams || images != choices.tileImages.value_or(images)) continue;
    if (!choices.tileImages && images > 1 && (images / 2 >= p.n || kGroups / images * 2 <= p.p())) continue;  // half as many do
    cuts.push_back(cut);
    cuts.back().tileImages = images;
  }
  if (!streams) return cuts;
  const int64_t accumulators = std::min<int64_t>(kMaximumAccumulators, kColumns / roundUp(width, kColumnStep));
  auto lengths = streamRowsOf(p, accumulators);
  if (choices.blockRows) lengths = {std::min<int64_t>(*choices.blockRows, p.p())};
  for (const int64_t rows : lengths) {
    cuts.push_back(cut);
    cuts.back().streamRows = rows;
  }
  return cuts;
}

}  // namespace

std::string haloRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string why = operandRefusal("halo_sm100", p, properties); !why.empty()) return why;
  if (p.r * p.s > kMaximumTaps)
    return fmt::format("halo_sm100 needs at most {} taps R*S, but they are {} x {}", kMaximumTaps, p.r, p.s);
  const Axis rows = rowsOf(p), columns = columnsOf(p);
  for (const auto& [name, axis, outputs] : {std::tuple("h", &rows, int64_t{1}), std::tuple("w", &columns, int64_t{kGroupPixels})}) {
    if (axis->stride > kMaximumElementStride)
      return fmt::format("halo_sm100 needs stride_{} of at most {}, but it is {}", name, kMaximumElementStride, axis->stride);
    const int64_t box = (outputs + axis->reach() - 1) * axis->stride + 1;
    if (box > kMaximumBox)
      return fmt::format("halo_sm100 needs boxes of at most {} pixels, but taps and strides along {} make them {}", kMaximumBox,
                         name, box);
  }
  const Channels channels(p, *kindOf(p));
  const int64_t patches = static_cast<int64_t>(rows.phases.size() * columns.phases.size());
  if (patches > kMaximumPatches)
    return fmt::format("halo_sm100 needs at most {} phases of the strides, but taps at stride {}x{} have {}", kMaximumPatches,
                       p.strideH, p.strideW, patches);
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max() / 2;
  const std::pair<const char*, int64_t> coordinates[] = {
      {"N*Z*P*Q", p.outputPixels()},
      {"N*D*H*W", p.inputPixels()},
      {"K*T*R*S", p.k * p.t * p.r * p.s},
      {"H + pad_top + 16 * stride_h", p.h + p.padTop + kGroups * p.strideH},
      {"W + pad_left + 8 * stride_w", p.w + p.padLeft + kGroupPixels * p.strideW},
      {"D + pad_front", p.d + p.padFront}};
  for (const auto& [name, value] : coordinates)
    if (value > kLimit) return fmt::format("halo_sm100 needs {} below 2^30 (32-bit coordinates), but it is {}", name, value);
  if (std::string why = epilogueRefusal("halo_sm100", p, gemm::rowStoreStep(static_cast<int32_t>(p.outputScale.blockSize)));
      !why.empty())
    return why;
  HaloPlan plan;
  return planHalo(p, properties, {.pair = false, .tileN = static_cast<uint32_t>(tileNStep(p, channels.kind))}, plan);
}

std::string planHalo(const Problem& p, const device::Properties& properties, const HaloChoices& choices, HaloPlan& plan) {
  const Channels channels(p, *kindOf(p));
  const int64_t step = tileNStep(p, channels.kind);
  if (choices.tileN && (*choices.tileN % step != 0 || *choices.tileN < step || *choices.tileN > kMaximumTileN))
    return fmt::format("tile_n must be a multiple of {} from {} to {}, but it is {}", step, step, kMaximumTileN, *choices.tileN);
  if (choices.clusters && *choices.clusters == 0) return "clusters must be at least 1";
  if (choices.tileImages && (!std::has_single_bit(*choices.tileImages) || *choices.tileImages > kGroups))
    return fmt::format("tile_images must be 1, 2, 4, 8 or 16, but it is {}", *choices.tileImages);
  if (choices.blockRows && (*choices.blockRows == 0 || *choices.blockRows > kMaximumBlockRows))
    return fmt::format("block_rows must be 1 to {}, but it is {}", kMaximumBlockRows, *choices.blockRows);
  if (isScaled(p) && (choices.blockRows || choices.collector.value_or(false)))
    return "collector=yes takes no block scales: the factors of all filter rows that use a kept operand would have to lie in "
           "Tensor Memory at once, which is not built";
  if (choices.blockRows && !choices.collector.value_or(true)) return "block_rows is of collector=yes, but collector is no";
  if (choices.tileImages && (choices.blockRows || choices.collector.value_or(false)))
    return "tile_images is of collector=no, but collector is yes or block_rows set";
  const std::vector<int64_t> widths = choices.tileN ? std::vector<int64_t>{*choices.tileN} : tileWidths(p.k, step, kMaximumTileN);
  const Axis rows = rowsOf(p), columns = columnsOf(p);
  Cut best;
  std::string refused;
  for (const bool pair : {false, true}) {
    if (pair != choices.pair.value_or(pair)) continue;
    for (const int64_t width : widths)
      for (Cut& cut : cutsOf(p, choices, pair, width)) {
        const Patches patches(rows, columns, cut);
        if (refused = layout::refusal(inputMap(p, channels, patches)); !refused.empty()) continue;
        fitTensorMemory(channels, cut);
        if (!fitSharedMemory(p, channels, patches, properties.sharedBytesPerBlock, choices.residentWeights,
                             outputMap(p, cut).rank != 0, cut)) {
          if (best.tileN == 0)
            refused = fmt::format("{} patch(es) of {} bytes and the filter taps do not fit into shared memory", patches.count,
                                  patches.bytes());
          continue;
        }
        const bool rowByRow = cut.streams() && finishesRows(p, channels, cut);
        if (const int64_t needed = rowByRow ? rows.live() : cut.streamRows; cut.streams() && needed > cut.accumulators) {
          if (best.tileN == 0)
            refused = fmt::format("{} output rows at once need as many accumulators, but Tensor Memory holds {} of {} columns",
                                  needed, cut.accumulators, cut.tileN);
          continue;
        }
        const double most = best.tileN == 0 ? std::numeric_limits<double>::infinity() : best.clocks;
        if (count(p, channels, rows, columns, properties, choices.clusters, most, cut) && cut.clocks < most) best = cut;
      }
  }
  if (best.tileN == 0) return fmt::format("halo_sm100: {}", refused);

  const Patches patches(rows, columns, best);
  plan.problem = p;
  plan.cut = best;
  plan.params = makeParams(p, channels, patches, best);
  plan.input = inputMap(p, channels, patches);
  plan.filter = filterMap(p, channels, best.tileN / best.ctas());
  plan.output = best.stagingTileBytes != 0 ? outputMap(p, best) : layout::TiledMap{};
  plan.kernelName = fmt::format("halo_sm100_{}{}", best.streams() ? "rows_" : "", best.pair ? "pair" : "single");
  plan.launch.grid = {static_cast<uint32_t>(best.clusters * best.ctas()), static_cast<uint32_t>(best.passes), 1};
  plan.launch.block = {gemm::sm100::threadsOf(isScaled(p)), 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(best.ctas()), 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(sharedBytes(channels, patches, best));
  plan.traffic = best.traffic;
  const Rates& rates = ratesOf(properties);
  plan.estimate = estimate(p, rates, best.clocks, best.bound, clocksAround(rates, p, gemm::sm100::kTileRows, best.tileN));
  return {};
}

Traffic HaloPlan::ofTile(int64_t tile) const {
  const Problem& p = problem;
  const Axis rows = rowsOf(p), columns = columnsOf(p);
  Traffic traffic = anyTile(p, Channels(p, params.gemm.kind), Patches(rows, columns, cut), cut);
  int64_t inside = 0, stored = 0;
  const int64_t units = cut.ctas() * cut.unitsOfOperand();
  for (int64_t unit = tile * units; unit < (tile + 1) * units; ++unit) {
    const int64_t column = unit % params.columnBlocks * kGroupPixels, line = unit / params.columnBlocks;
    const int64_t row = line % params.rowBlocks * params.tileRows, plane = line / params.rowBlocks;
    const int64_t images = std::clamp<int64_t>(p.n - plane / p.z() * params.tileImages, 0, params.tileImages);
    const int64_t depthTaps = tapsInside(p.d, 1, p.t, 1, p.dilationD, p.padFront - plane % p.z() * p.strideD);
    inside += images * depthTaps * insideRowsOf(rows, cut, row, 1) * columns.insideOf(column, int64_t{kGroupPixels}, 1);
    stored += images * std::min<int64_t>(params.tileRows, p.p() - row) * std::min<int64_t>(kGroupPixels, p.q() - column);
  }
  traffic.activationBytes = cut.passes * inside * channelBytes(p, p.inputType);
  traffic.storedRows = cut.passes * stored;
  return traffic;
}

Traffic HaloPlan::ofCluster() const { return clusterTraffic(problem, Channels(problem, params.gemm.kind), cut); }

std::string HaloPlan::describe() const {
  const HaloParams& p = params;
  std::string text;
  if (p.streamsRows) {
    text += fmt::format(
        "tile       {} CTA(s) of {} streams of {} columns x {} rows x {} output channels, {} tiles, {} pass(es)\n"
        "reduction  {} depth taps x {} channel chunks; {} rows of a stream, each read once for up to {} filter rows (collector), "
        "all "
        "chunks of a row {}\n",
        cut.ctas(), kGroups, kGroupPixels, p.tileRows, p.gemm.tileN, p.tiles, launch.grid.y, p.filterDepth, p.gemm.lineChunks,
        rowsOf(problem).readOf(p.tileRows), p.filterHeight, p.rowRuns == p.gemm.lineChunks ? "together" : "apart");
  } else {
    text += fmt::format("tile       {} CTA(s) of {} columns x {} rows x {} image(s) x {} output channels, {} tiles, {} pass(es)\n",
                        cut.ctas(), kGroupPixels, p.tileRows, p.tileImages, p.gemm.tileN, p.tiles, launch.grid.y);
    text += fmt::format("reduction  {} depth taps x {} channel chunks, a patch each, then {} taps of it\n", p.filterDepth,
                        p.gemm.lineChunks, p.filter.taps);
  }
  text += fmt::format("shared mem {} stages of {} patch(es) of {} bytes; filter {}, {} stages of {} bytes; {} bytes in all\n",
                      p.patchStages, p.patches, p.patchBytes, p.filter.resident ? "resident" : "streamed for every tile",
                      p.filter.stages, p.filter.stageBytes, launch.dynamicSharedBytes);
  text += gemm::sm100::describeStaging(p.stagingTileBytes);
  text += fmt::format("Tensor Mem {} accumulators of {} columns\n", p.gemm.accumulators, p.gemm.accumulatorColumns);
  if (p.scaleStages != 0)
    text += fmt::format(
        "scales     {} stages of {} bytes, {} columns: the factors of a tap's pixels and of its filter, for every tap\n",
        p.scaleStages, p.scaleStageBytes, p.gemm.stageColumns);
  text += fmt::format("counted    {}\n", plan::describe(traffic));
  return text;
}

}  // namespace shiftconv::plan::sm100
