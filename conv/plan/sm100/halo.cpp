#include "conv/plan/sm100/halo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <vector>

#include "common/gemm/sm100/operand_plan.hpp"
#include "conv/plan/sm100/operands.hpp"

namespace shiftconv::plan::sm100 {

using namespace kernels::halo_sm100;

namespace {

constexpr int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDivide(a, b) * b; }

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kMaximumTileN = 256;
constexpr int64_t kMaximumBox = 256;          // elements of a box along each dimension (cuTensorMapEncodeTiled)
constexpr int64_t kMaximumElementStride = 8;  // likewise
constexpr int64_t kMinimumFilterStages = 2;
constexpr int64_t kProductElements = layout::kMmaRowBytes / 2;  // the model's unit of a product: 16-bit operands

/// One direction of an image.
struct Axis {
  int64_t extent, outputs, taps, stride, dilation, pad;
  std::vector<int64_t> phases{};  ///< of the taps among the rows or columns of a stride

  Axis(int64_t extentOf, int64_t outputsOf, int64_t tapsOf, int64_t strideOf, int64_t dilationOf, int64_t padOf)
      : extent(extentOf), outputs(outputsOf), taps(tapsOf), stride(strideOf), dilation(dilationOf), pad(padOf) {
    std::set<int64_t> found;
    for (int64_t tap = 0; tap < taps; ++tap) found.insert(tap * dilation % stride);
    phases.assign(found.begin(), found.end());
  }
  /// Steps of the stride from the first to the last tap of a phase.
  int64_t reach() const { return (taps - 1) * dilation / stride; }
  int64_t stepOf(int64_t tap) const { return tap * dilation / stride; }
  int64_t phaseIndexOf(int64_t tap) const {
    return std::find(phases.begin(), phases.end(), tap * dilation % stride) - phases.begin();
  }
  /// Of all phases' patches for `outputsOfTile` outputs from `first` on: rows or columns that lie inside.
  int64_t insideOf(int64_t first, int64_t outputsOfTile) const {
    int64_t inside = 0;
    for (const int64_t phase : phases)
      for (int64_t i = 0; i < outputsOfTile + reach(); ++i) {
        const int64_t place = (first + i) * stride + phase - pad;
        inside += place >= 0 && place < extent;
      }
    return inside;
  }
};
Axis columnsOf(const Problem& p) { return {p.w, p.q(), p.s, p.strideW, p.dilationW, p.padLeft}; }
Axis rowsOf(const Problem& p) { return {p.h, p.p(), p.r, p.strideH, p.dilationH, p.padTop}; }

/// One way to cut the problem, and what it costs.
struct Cut {
  int64_t tileN = 0, passes = 0, tileImages = 1;
  bool pair = false, resident = false;
  int64_t patchStages = 0, filterStages = 0, clusters = 0;
  Traffic traffic{};
  double clocks = 0;
  Resource bound = Resource::TensorCore;

  int64_t ctas() const { return pair ? 2 : 1; }
  int64_t tileRows() const { return kGroups / tileImages; }
  int64_t filterStageBytes() const { return tileN / ctas() * layout::kSwizzle128RowBytes; }
};

/// The shape of patches in shared memory.
struct Patches {
  int64_t width, height, images, count;

  Patches(const Axis& rows, const Axis& columns, const Cut& cut)
      : width(kGroupPixels + columns.reach()),
        height(cut.tileRows() + rows.reach()),
        images(cut.tileImages),
        count(static_cast<int64_t>(rows.phases.size() * columns.phases.size())) {}
  int64_t pixels() const { return width * height * images; }
  int64_t boxBytes() const { return pixels() * layout::kSwizzle128RowBytes; }
  int64_t bytes() const { return roundUp(boxBytes(), layout::kSwizzle128AtomBytes); }
};

int64_t rowBlocks(const Problem& p, const Cut& cut) { return ceilDivide(p.p(), cut.tileRows()); }
int64_t columnBlocks(const Problem& p) { return ceilDivide(p.q(), kGroupPixels); }
int64_t tilesOf(const Problem& p, const Cut& cut) {
  return ceilDivide(ceilDivide(p.n, cut.tileImages) * p.z() * rowBlocks(p, cut) * columnBlocks(p), cut.ctas());
}

int64_t sharedBytes(const Patches& patches, const Cut& cut) {
  return layout::kSwizzle128AtomBytes + kControlBytes + cut.patchStages * patches.count * patches.bytes() +
         cut.filterStages * cut.filterStageBytes();
}

/// False when the stages do not fit into shared memory. Two patches are worth more than a resident filter with one.
bool fitSharedMemory(const Problem& p, const Channels& channels, const Patches& patches, int64_t available,
                     std::optional<bool> residentWanted, Cut& cut) {
  const int64_t taps = p.t * p.r * p.s * channels.chunks;
  for (const int64_t fewest : {2, 1})
    for (const bool resident : {true, false}) {
      if (resident != residentWanted.value_or(resident)) continue;
      cut.resident = resident;
      cut.patchStages = fewest;
      cut.filterStages = resident ? taps : kMinimumFilterStages;
      int64_t left = available - sharedBytes(patches, cut);
      if (left < 0) continue;
      if (!resident) {
        const int64_t more = std::min({left / cut.filterStageBytes(), p.r * p.s, kMaximumFilterStages - cut.filterStages});
        cut.filterStages += more;
        left -= more * cut.filterStageBytes();
      }
      cut.patchStages += std::min(left / (patches.count * patches.bytes()), kMaximumPatchStages - fewest);
      return true;
    }
  return false;
}

/// Of `tiles` tiles in all passes, whatever of the image and the output lies in them.
Traffic anyTile(const Problem& p, const Channels& channels, const Patches& patches, const Cut& cut) {
  const int64_t taps = p.t * p.r * p.s;
  Traffic traffic;
  traffic.mmas = cut.passes * taps * channels.slices();
  traffic.products = traffic.mmas * cut.ctas() * gemm::sm100::kTileRows * cut.tileN * kProductElements;
  traffic.multiplyReadBytes = traffic.mmas * (cut.ctas() * gemm::sm100::kTileRows + cut.tileN) * layout::kMmaRowBytes;
  traffic.writtenBytes = cut.passes * cut.ctas() * p.t * channels.chunks * patches.count * patches.boxBytes();
  traffic.multipliedRows = cut.passes * cut.ctas() * gemm::sm100::kTileRows;
  if (!cut.resident) {
    traffic.filterBytes = taps * p.k * channelBytes(p, p.filterType);
    traffic.writtenBytes += cut.passes * cut.ctas() * taps * channels.chunks * cut.filterStageBytes();
  }
  return traffic;
}

Traffic clusterTraffic(const Problem& p, const Channels& channels, const Cut& cut) {
  Traffic traffic;
  if (!cut.resident) return traffic;
  const int64_t taps = p.t * p.r * p.s;
  traffic.filterBytes = taps * p.k * channelBytes(p, p.filterType);
  traffic.writtenBytes = cut.passes * cut.ctas() * taps * channels.chunks * cut.filterStageBytes();
  return traffic;
}

/// What all CTAs do together, and the model's time of the slowest.
void count(const Problem& p, const Channels& channels, const Patches& patches, const device::Properties& properties,
           std::optional<uint32_t> clustersWanted, Cut& cut) {
  const int64_t tiles = tilesOf(p, cut);
  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors / cut.ctas());
  const int64_t wanted = clustersWanted ? int64_t{*clustersWanted} : std::max<int64_t>(1, multiprocessors / cut.passes);
  const int64_t tilesPerCluster = ceilDivide(tiles, std::min(tiles, wanted));
  cut.clusters = ceilDivide(tiles, tilesPerCluster);
  cut.traffic = anyTile(p, channels, patches, cut) * tiles;
  cut.traffic += clusterTraffic(p, channels, cut) * cut.clusters;
  const Axis rows = rowsOf(p), columns = columnsOf(p);
  int64_t insideRows = 0, insideColumns = 0;
  for (int64_t block = 0; block < rowBlocks(p, cut); ++block) insideRows += rows.insideOf(block * cut.tileRows(), cut.tileRows());
  for (int64_t block = 0; block < columnBlocks(p); ++block)
    insideColumns += columns.insideOf(block * kGroupPixels, int64_t{kGroupPixels});
  cut.traffic.activationBytes = cut.passes * p.n * tapsInside(p.d, p.z(), p.t, p.strideD, p.dilationD, p.padFront) * insideRows *
                                insideColumns * channelBytes(p, p.inputType);
  cut.traffic.storedRows = cut.passes * p.outputPixels();

  const double share = static_cast<double>(tilesPerCluster) / static_cast<double>(tiles * cut.passes * cut.ctas());
  const double waves = static_cast<double>(ceilDivide(cut.clusters * cut.passes, multiprocessors));
  const double sectors = static_cast<double>(roundUp(channelBytes(p, p.inputType), kSectorBytes)) /
                         static_cast<double>(channels.chunks * layout::kSwizzle128RowBytes);
  const Bound bound = slowest(ratesOf(properties), demandsOf(cut.traffic, share, sectors));
  cut.clocks = waves * bound.clocks;
  cut.bound = bound.resource;
}

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
  map.elementStrides = {1, static_cast<uint32_t>(p.strideW), 1, static_cast<uint32_t>(p.strideH), 1};
  map.swizzle = layout::MapSwizzle::B128;
  return map;
}

HaloParams makeParams(const Problem& p, const Channels& channels, const Patches& patches, const Cut& cut) {
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  const layout::MmaKind kind = channels.kind;
  HaloParams params;
  gemm::sm100::GemmParams& g = params.gemm;
  g.tileN = i(cut.tileN);
  g.lineChunks = i(channels.chunks);
  g.lastChunkSlices = i(channels.lastChunkSlices);
  g.accumulators = kAccumulators;
  g.accumulatorColumns = static_cast<uint32_t>(roundUp(cut.tileN, 32));
  // Tensor Memory is allocated in powers of two from 32 columns (PTX ISA 9.7.16.7).
  g.allocatedColumns = std::bit_ceil(kAccumulators * g.accumulatorColumns);
  g.kind = kind;
  g.a.descriptor = layout::swizzle128KMajorDescriptor(0, static_cast<uint32_t>(patches.width * layout::kSwizzle128RowBytes));
  g.b.descriptor = layout::swizzle128KMajorDescriptor(0);
  g.a.sliceBytes = g.b.sliceBytes = layout::kMmaRowBytes;
  g.a.chunkElements = g.b.chunkElements = i(mapElements(kind, channels.chunk));
  g.b.stageBytes = static_cast<uint32_t>(cut.filterStageBytes());
  g.b.shareRows = i(cut.tileN / cut.ctas());
  layout::MmaTypes types;
  types.kind = kind;
  types.a = operandType(p, p.inputType);
  types.b = operandType(p, p.filterType);
  types.accumulator = kind == layout::MmaKind::I8 ? layout::MmaAccumulator::S32
                      : p.compute == Compute::F16 ? layout::MmaAccumulator::F16
                                                  : layout::MmaAccumulator::F32;
  g.instructionDescriptor = layout::instructionDescriptor(types, static_cast<uint32_t>(gemm::sm100::kTileRows * cut.ctas()),
                                                          static_cast<uint32_t>(cut.tileN));
  g.epilogue = epilogueOf(p);

  params.images = i(p.n);
  params.outputDepth = i(p.z());
  params.outputHeight = i(p.p());
  params.outputWidth = i(p.q());
  params.strideDepth = i(p.strideD), params.strideH = i(p.strideH), params.strideW = i(p.strideW);
  params.dilationDepth = i(p.dilationD);
  params.padFront = i(p.padFront), params.padTop = i(p.padTop), params.padLeft = i(p.padLeft);
  params.filterDepth = i(p.t);
  params.taps = i(p.r * p.s);
  params.tileImages = i(cut.tileImages);
  params.tileRows = i(cut.tileRows());
  params.columnBlocks = i(columnBlocks(p));
  params.rowBlocks = i(rowBlocks(p, cut));
  params.tiles = i(tilesOf(p, cut));
  params.patches = i(patches.count);
  params.patchBytes = static_cast<uint32_t>(patches.bytes());
  params.patchCountedBytes =
      static_cast<uint32_t>(patches.pixels()) * gemm::sm100::countedRowBytes(kind, operandType(p, p.inputType));
  params.patchStageBytes = static_cast<uint32_t>(patches.count * patches.bytes());
  params.patchStages = i(cut.patchStages);
  params.filterStages = i(cut.filterStages);
  params.filterCountedBytes =
      static_cast<uint32_t>(cut.tileN / cut.ctas()) * gemm::sm100::countedRowBytes(kind, operandType(p, p.filterType));
  params.filterResident = cut.resident;

  const Axis rows = rowsOf(p), columns = columnsOf(p);
  const auto across = static_cast<int64_t>(columns.phases.size());
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

/// The part of a plan's cut that its traffic depends on.
Cut cutOf(const HaloPlan& plan) {
  Cut cut;
  cut.pair = plan.pair;
  cut.tileN = plan.params.gemm.tileN;
  cut.passes = plan.launch.grid.y;
  cut.tileImages = plan.params.tileImages;
  cut.resident = plan.params.filterResident;
  return cut;
}

}  // namespace

std::string haloRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string why = operandRefusal("halo_sm100", p, properties); !why.empty()) return why;
  if (isScaled(p)) return "halo_sm100 does no block scales";
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
  const std::pair<const char*, int64_t> coordinates[] = {{"N*O*P*Q", p.outputPixels()},
                                                         {"N*D*H*W", p.inputPixels()},
                                                         {"K*T*R*S", p.k * p.t * p.r * p.s},
                                                         {"H + pad_top", p.h + p.padTop + kGroups * p.strideH},
                                                         {"W + pad_left", p.w + p.padLeft + kGroupPixels * p.strideW},
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
  std::vector<int64_t> widths;
  if (choices.tileN) {
    widths = {*choices.tileN};
  } else {
    for (int64_t passes = 1; passes <= ceilDivide(p.k, step); ++passes) {
      const int64_t width = roundUp(ceilDivide(p.k, passes), step);
      if (width <= kMaximumTileN && (widths.empty() || widths.back() != width)) widths.push_back(width);
    }
  }
  const Axis rows = rowsOf(p), columns = columnsOf(p);
  Cut best;
  std::string refused;
  for (const bool pair : {false, true})
    for (int64_t images = 1; images <= kGroups; images *= 2) {
      if (pair != choices.pair.value_or(pair) || images != choices.tileImages.value_or(images)) continue;
      if (!choices.tileImages && images > 1 && (images / 2 >= p.n || kGroups / images * 2 <= p.p())) continue;  // half as many do
      for (const int64_t width : widths) {
        Cut cut;
        cut.pair = pair;
        cut.tileN = width;
        cut.passes = ceilDivide(p.k, width);
        cut.tileImages = images;
        const Patches patches(rows, columns, cut);
        if (refused = layout::refusal(inputMap(p, channels, patches)); !refused.empty()) continue;
        if (!fitSharedMemory(p, channels, patches, properties.sharedBytesPerBlock, choices.residentWeights, cut)) {
          refused = fmt::format("{} patch(es) of {} bytes and the filter taps do not fit into shared memory", patches.count,
                                patches.bytes());
          continue;
        }
        count(p, channels, patches, properties, choices.clusters, cut);
        if (best.tileN == 0 || cut.clocks < best.clocks) best = cut;
      }
    }
  if (best.tileN == 0) return fmt::format("halo_sm100: {}", refused);

  const Patches patches(rows, columns, best);
  plan.problem = p;
  plan.pair = best.pair;
  plan.params = makeParams(p, channels, patches, best);
  plan.input = inputMap(p, channels, patches);
  plan.filter = filterMap(p, channels, best.tileN / best.ctas());
  plan.kernelName = best.pair ? "halo_sm100_pair" : "halo_sm100_single";
  plan.launch.grid = {static_cast<uint32_t>(best.clusters * best.ctas()), static_cast<uint32_t>(best.passes), 1};
  plan.launch.block = {kThreads, 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(best.ctas()), 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(sharedBytes(patches, best));
  plan.traffic = best.traffic;
  plan.estimate = estimate(p, ratesOf(properties), best.clocks, best.bound);
  return {};
}

Traffic HaloPlan::ofTile(int64_t tile) const {
  const Cut cut = cutOf(*this);
  const Problem& p = problem;
  const Axis rows = rowsOf(p), columns = columnsOf(p);
  Traffic traffic = anyTile(p, Channels(p, params.gemm.kind), Patches(rows, columns, cut), cut);
  int64_t inside = 0, stored = 0;
  for (int64_t unit = tile * cut.ctas(); unit < (tile + 1) * cut.ctas(); ++unit) {
    const int64_t column = unit % params.columnBlocks * kGroupPixels, line = unit / params.columnBlocks;
    const int64_t row = line % params.rowBlocks * params.tileRows, plane = line / params.rowBlocks;
    const int64_t images = std::clamp<int64_t>(p.n - plane / p.z() * params.tileImages, 0, params.tileImages);
    int64_t depthTaps = 0;
    for (int64_t t = 0; t < p.t; ++t) {
      const int64_t z = plane % p.z() * p.strideD + t * p.dilationD - p.padFront;
      depthTaps += z >= 0 && z < p.d;
    }
    inside += images * depthTaps * rows.insideOf(row, params.tileRows) * columns.insideOf(column, int64_t{kGroupPixels});
    stored += images * std::min<int64_t>(params.tileRows, p.p() - row) * std::min<int64_t>(kGroupPixels, p.q() - column);
  }
  traffic.activationBytes = cut.passes * inside * channelBytes(p, p.inputType);
  traffic.storedRows = cut.passes * stored;
  return traffic;
}

Traffic HaloPlan::ofCluster() const { return clusterTraffic(problem, Channels(problem, params.gemm.kind), cutOf(*this)); }

std::string HaloPlan::describe() const {
  const HaloParams& p = params;
  std::string text;
  text += fmt::format("tile       {} CTA(s) of {} columns x {} rows x {} image(s) x {} output channels, {} tiles, {} pass(es)\n",
                      pair ? 2 : 1, kGroupPixels, p.tileRows, p.tileImages, p.gemm.tileN, p.tiles, launch.grid.y);
  text += fmt::format("reduction  {} depth taps x {} channel chunks, a patch each, then {} taps of it\n", p.filterDepth,
                      p.gemm.lineChunks, p.taps);
  text += fmt::format("shared mem {} stages of {} patch(es) of {} bytes; filter {}, {} stages of {} bytes; {} bytes in all\n",
                      p.patchStages, p.patches, p.patchBytes, p.filterResident ? "resident" : "streamed for every tile",
                      p.filterStages, p.gemm.b.stageBytes, launch.dynamicSharedBytes);
  text += fmt::format("Tensor Mem {} accumulators of {} columns\n", kAccumulators, p.gemm.accumulatorColumns);
  text += fmt::format("counted    {}\n", plan::describe(traffic));
  return text;
}

}  // namespace shiftconv::plan::sm100
