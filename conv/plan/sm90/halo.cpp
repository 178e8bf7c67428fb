#include "conv/plan/sm90/halo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "common/numerics/codec.hpp"
#include "conv/kernels/sm90/halo_shapes.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/sm90/common.hpp"

namespace shiftconv::plan {

using namespace kernels::halo;
using namespace sm90;

namespace {

constexpr int64_t floorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceilDivide(-a, b); }

struct ShapeEntry {
  std::string_view name;
  int first, second, tileN;
  bool separate, overBox;
  std::string_view kind{};  ///< "input_filter", with the whole epilogue

  int consumers() const { return second == 0 ? 1 : 2; }
  int stageBlocks() const { return separate ? first : first + second; }
  int members() const { return separate ? 2 : 1; }
  int64_t stagingBytes() const {
    if (!kind.empty()) return int64_t{4} * consumers() * kTurningBytes;
    return overBox ? 0 : int64_t{consumers()} * tileN * kRowBytes;
  }
};

constexpr bool Common = false, Separate = true, Own = false, OverBox = true;
#define SHIFTCONV_HALO_ENTRY(NAME, FIRST, SECOND, N, SHARE, STAGING) {#NAME, FIRST, SECOND, N, SHARE, STAGING},
constexpr ShapeEntry kShapes[] = {SHIFTCONV_HALO_SHAPES(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY

#define SHIFTCONV_HALO_ENTRY(KIND, NAME, FIRST, SECOND, N, SHARE) {#NAME, FIRST, SECOND, N, SHARE, Own, #KIND},
constexpr ShapeEntry kHalfShapes[] = {SHIFTCONV_HALO_HALF_KERNELS(SHIFTCONV_HALO_ENTRY)};
constexpr ShapeEntry kFloatShapes[] = {SHIFTCONV_HALO_FLOAT_KERNELS(SHIFTCONV_HALO_ENTRY)};
constexpr ShapeEntry kIntegerShapes[] = {SHIFTCONV_HALO_INTEGER_KERNELS(SHIFTCONV_HALO_ENTRY)};
#undef SHIFTCONV_HALO_ENTRY

std::string kindOf(const Problem& p) {
  const auto name = [&](DataType type) {
    return type == DataType::F32 && p.compute == Compute::TF32 ? std::string_view("tf32") : nameOf(type);
  };
  return fmt::format("{}_{}", name(p.inputType), name(p.filterType));
}

HaloModule moduleOf(const Problem& p) {
  if (bytesOf(p.inputType) == 2)
    return isTwoDimensional(p) && plainTypesRefusal("halo", p).empty() ? HaloModule::Plain : HaloModule::Half;
  return isInteger(p.inputType) ? HaloModule::Integer : HaloModule::Float;
}

std::span<const ShapeEntry> shapesOf(HaloModule module) {
  switch (module) {
    case HaloModule::Plain:
      return kShapes;
    case HaloModule::Half:
      return kHalfShapes;
    case HaloModule::Float:
      return kFloatShapes;
    case HaloModule::Integer:
      return kIntegerShapes;
  }
  return {};
}

bool hasKind(const Problem& p) {
  const std::string kind = kindOf(p);
  for (const HaloModule module : {HaloModule::Half, HaloModule::Float, HaloModule::Integer})
    for (const ShapeEntry& shape : shapesOf(module))
      if (shape.kind == kind) return true;
  return false;
}

/// The problem as the kernels see it. A 1x1 filter without pads and strides sees one row of N*H*W pixels.
struct Geometry {
  int64_t n, h, w, p, q, r, s;
  int64_t strideH, strideW, dilationH, dilationW, padTop, padLeft;
  int64_t c, k, inputPitch, outputPitch, groups;
  int64_t elementBytes, outputBytes;  ///< of an element
  // Planes of three dimensions; images are then the output planes of all images together.
  bool deep;
  int64_t d, t, planes, strideD, dilationD, padFront;
};

Geometry geometryOf(const Problem& p) {
  Geometry g{p.n,
             p.h,
             p.w,
             p.p(),
             p.q(),
             p.r,
             p.s,
             p.strideH,
             p.strideW,
             p.dilationH,
             p.dilationW,
             p.padTop,
             p.padLeft,
             p.c,
             p.k,
             p.inputPitch(),
             p.outputPitch(),
             p.groups,
             bytesOf(p.inputType),
             bytesOf(p.outputType),
             !isTwoDimensional(p),
             p.d,
             p.t,
             p.z(),
             p.strideD,
             p.dilationD,
             p.padFront};
  g.n *= g.planes;
  const bool plain =
      !g.deep && p.r == 1 && p.s == 1 && p.strideH == 1 && p.strideW == 1 && p.padTop + p.padBottom + p.padLeft + p.padRight == 0;
  if (plain) {
    g.q = g.w = p.n * p.h * p.w;
    g.n = g.h = g.p = 1;
  }
  return g;
}

/// Where an output pixel finds a filter row or column: `parity` of the stride, and `offset` in pixels of that parity.
struct Step {
  int64_t parity, offset;
};
Step stepOf(int64_t filterIndex, int64_t dilation, int64_t padBefore, int64_t stride) {
  const int64_t distance = filterIndex * dilation - padBefore;
  const int64_t offset = floorDivide(distance, stride);
  return {distance - offset * stride, offset};
}

/// One way to cut the output into tiles.
struct Cut {
  HaloCut kind = HaloCut::Columns;
  int64_t columns = 0, rows = 0, images = 1;  ///< output pixels of a tile
  int64_t pitch = 0;                          ///< positions from row to row of a tile; columns, except in flat tiles
  int64_t boxColumns = 0;                     ///< of the patches

  int64_t pixels() const { return columns * rows * images; }
};

struct Taps {
  std::vector<Step> rows, columns;  ///< of every filter row and column
  int64_t firstColumn = 0, lastColumn = 0;
};

Taps tapsOf(const Geometry& g) {
  Taps taps;
  for (int64_t r = 0; r < g.r; ++r) taps.rows.push_back(stepOf(r, g.dilationH, g.padTop, g.strideH));
  for (int64_t s = 0; s < g.s; ++s) taps.columns.push_back(stepOf(s, g.dilationW, g.padLeft, g.strideW));
  const auto byOffset = [](const Step& a, const Step& b) { return a.offset < b.offset; };
  taps.firstColumn = std::min_element(taps.columns.begin(), taps.columns.end(), byOffset)->offset;
  taps.lastColumn = std::max_element(taps.columns.begin(), taps.columns.end(), byOffset)->offset;
  return taps;
}

/// Tiles of at most `positions` positions in the given manner; false when there is none.
bool cutInto(const Geometry& g, const Taps& taps, HaloCut kind, int64_t positions, Cut& cut) {
  const int64_t reach = taps.lastColumn - taps.firstColumn;
  cut = {};
  cut.kind = kind;
  int64_t rows = 0;  // of all images together
  switch (kind) {
    case HaloCut::Columns:
      cut.columns = cut.pitch = 8;
      cut.boxColumns = 8 + reach;
      rows = positions / 8;
      break;
    case HaloCut::Flat: {
      // A position right of the image and one left of it are both pads: rows overlap by as many as there are of both, but every
      // output has a position of its own.
      const int64_t leftPads = std::max<int64_t>(0, -taps.firstColumn);
      const int64_t rightPads = std::max<int64_t>(0, g.q + taps.lastColumn - g.w);
      const bool one = g.strideH == 1 && g.strideW == 1;
      cut.columns = g.q;
      cut.pitch = cut.boxColumns = g.q + reach - (one ? std::min({leftPads, rightPads, reach}) : 0);
      if (g.q > positions) return false;
      rows = (positions - g.q) / cut.pitch + 1;
      break;
    }
    case HaloCut::Dense:
      cut.columns = cut.pitch = cut.boxColumns = std::min(g.q, positions);
      rows = positions / cut.columns;
      break;
  }
  cut.rows = std::min(rows, g.p);
  cut.images = g.deep ? 1 : std::min(rows / cut.rows, g.n);
  return cut.boxColumns <= kLargestBox && cut.images <= kLargestBox;
}

/// What the boxes of a tile and their taps are, in Params, and the maps of the input. False where a limit is passed.
bool placePatches(const Geometry& g, const Taps& taps, const Cut& cut, int64_t tileN, HaloPlan& plan) {
  Params& params = plan.params;
  const bool dense = cut.kind == HaloCut::Dense;
  int32_t maps = 0, tap = 0;
  int64_t slotRows = 0;
  uint32_t smallest = std::numeric_limits<uint32_t>::max(), largest = 0;
  params.patches = 0;
  for (int64_t parityH = 0; parityH < g.strideH; ++parityH) {
    for (int64_t parityW = 0; parityW < g.strideW; ++parityW) {
      std::vector<int64_t> rowsHere, columnsHere;
      for (int64_t r = 0; r < g.r; ++r)
        if (taps.rows[static_cast<size_t>(r)].parity == parityH) rowsHere.push_back(r);
      for (int64_t s = 0; s < g.s; ++s)
        if (taps.columns[static_cast<size_t>(s)].parity == parityW) columnsHere.push_back(s);
      if (rowsHere.empty() || columnsHere.empty()) continue;
      // Offsets ascend with the filter index.
      const int64_t firstRow = taps.rows[static_cast<size_t>(rowsHere.front())].offset;
      const int64_t boxRows = cut.rows + taps.rows[static_cast<size_t>(rowsHere.back())].offset - firstRow;
      if (maps == kMaximumInputMaps || boxRows > kLargestBox) return false;

      layout::TiledMap& map = plan.inputs[static_cast<size_t>(maps)];
      const uint64_t pixelBytes = static_cast<uint64_t>(g.inputPitch * g.elementBytes);
      map.rank = 4;
      map.dims = {static_cast<uint64_t>(g.c), static_cast<uint64_t>(ceilDivide(g.w - parityW, g.strideW)),
                  static_cast<uint64_t>(g.n), static_cast<uint64_t>(ceilDivide(g.h - parityH, g.strideH))};
      map.strides = {pixelBytes * static_cast<uint64_t>(g.strideW), pixelBytes * static_cast<uint64_t>(g.w * g.h),
                     pixelBytes * static_cast<uint64_t>(g.w * g.strideH)};
      const auto chunk = static_cast<uint32_t>(chunkChannels(static_cast<int32_t>(g.elementBytes)));
      map.box = {chunk, static_cast<uint32_t>(cut.boxColumns), static_cast<uint32_t>(cut.images), static_cast<uint32_t>(boxRows)};
      if (g.deep) {
        map.rank = 5;
        map.dims = {map.dims[0], map.dims[1], map.dims[3], static_cast<uint64_t>(g.d), static_cast<uint64_t>(g.n / g.planes)};
        map.strides = {map.strides[0], map.strides[2], map.strides[1], map.strides[1] * static_cast<uint64_t>(g.d)};
        map.box = {map.box[0], map.box[1], map.box[3], 1, 1};
      }
      map.globalAddress = pixelBytes * static_cast<uint64_t>(parityH * g.w + parityW);
      map.swizzle = layout::MapSwizzle::B128;
      if (map.dims[1] == 0 || map.dims[3] == 0) return false;

      const size_t boxesOfPlane = dense ? columnsHere.size() : 1;
      for (size_t box = 0; box < boxesOfPlane * static_cast<size_t>(g.t); ++box) {
        const size_t i = box % boxesOfPlane;
        const auto t = static_cast<int64_t>(box / boxesOfPlane);
        if (params.patches == kMaximumPatches) return false;
        Patch& patch = params.patch[params.patches++];
        const int64_t firstColumn = dense ? taps.columns[static_cast<size_t>(columnsHere[i])].offset : taps.firstColumn;
        patch = {maps,
                 static_cast<int32_t>(firstColumn),
                 static_cast<int32_t>(firstRow),
                 static_cast<int32_t>(t * g.dilationD - g.padFront),
                 tap,
                 0,
                 0};
        int64_t lastStart = 0;
        for (const int64_t r : rowsHere) {
          for (size_t j = dense ? i : 0; j < (dense ? i + 1 : columnsHere.size()); ++j) {
            if (tap == kMaximumTaps) return false;
            const int64_t s = columnsHere[j];
            const int64_t start = (taps.rows[static_cast<size_t>(r)].offset - firstRow) * cut.images * cut.boxColumns +
                                  taps.columns[static_cast<size_t>(s)].offset - firstColumn;
            if (start > std::numeric_limits<uint16_t>::max()) return false;
            lastStart = std::max(lastStart, start);
            params.tap[tap++] = {static_cast<uint16_t>((t * g.r + r) * g.s + s), static_cast<uint16_t>(start)};
          }
        }
        patch.endTap = tap;
        const int64_t boxPixels = boxRows * cut.images * cut.boxColumns;
        patch.bytes = static_cast<uint32_t>(boxPixels) * kRowBytes;
        smallest = std::min(smallest, patch.bytes);
        largest = std::max(largest, patch.bytes);
        const int64_t groupRows = cut.kind == HaloCut::Columns ? cut.boxColumns : 8;
        slotRows = std::max({slotRows, boxPixels, lastStart + (tileN / 8 - 1) * groupRows + 8, tileN});
      }
      ++maps;
    }
  }
  params.taps = tap;
  params.inputMaps = maps;
  params.deep = g.deep;
  params.planes = layout::FastDivisor(static_cast<uint32_t>(g.planes));
  params.planeStride = static_cast<int32_t>(g.strideD);
  params.filledBytes = smallest;
  params.boxesDiffer = smallest != largest;
  params.patchSlotBytes = static_cast<uint32_t>(roundUp(slotRows * kRowBytes, layout::kSwizzle128AtomBytes));
  params.groupStrideBytes =
      cut.kind == HaloCut::Columns ? static_cast<uint32_t>(cut.boxColumns) * kRowBytes : layout::kSwizzle128AtomBytes;
  for (int32_t i = maps; i < kMaximumInputMaps; ++i) plan.inputs[static_cast<size_t>(i)] = plan.inputs[0];
  return true;
}

/// Slots and stages that fit beside each other. False when the fewest do not.
bool fitShared(const ShapeEntry& shape, uint32_t sharedBytesPerBlock, bool weightsMayStay, int64_t tilesPerCta, HaloPlan& plan) {
  Params& params = plan.params;
  const int64_t budget = int64_t{sharedBytesPerBlock} - layout::kSwizzle128AtomBytes - kControlBytes - shape.stagingBytes();
  const int64_t slot = params.patchSlotBytes, stage = int64_t{shape.stageBlocks()} * kBlockBytes;
  const int64_t allStages = int64_t{params.taps} * params.chunks;
  const int64_t fewestSlots = shape.overBox ? shape.members() + 1 : 2 * shape.members();
  constexpr int64_t kFewestStages = 3;
  // No more than a CTA ever fills.
  const int64_t mostSlots =
      std::clamp<int64_t>(tilesPerCta * params.chunksPerRank * params.patches * shape.members(), fewestSlots, 8);
  const int64_t mostStages = std::clamp<int64_t>(tilesPerCta * params.chunksPerRank * params.taps, kFewestStages, 18);

  params.weightsStay = weightsMayStay && allStages <= kMaximumStages && allStages * stage + fewestSlots * slot <= budget;
  if (!params.weightsStay && params.groupChannels > 0) return false;
  int64_t slots = fewestSlots, stages = params.weightsStay ? allStages : kFewestStages;
  if (slots * slot + stages * stage > budget) return false;
  // As much of the reduction ahead in either ring: a box is worth as many stages as it has taps.
  const double tapsPerSlot = static_cast<double>(params.taps) / (params.patches * shape.members());
  while (true) {
    const int64_t left = budget - slots * slot - stages * stage;
    const bool canSlot = slots < mostSlots && slot <= left;
    const bool canStage = !params.weightsStay && stages < mostStages && stage <= left;
    if (!canSlot && !canStage) break;
    if (canStage && (!canSlot || static_cast<double>(stages) < static_cast<double>(slots) * tapsPerSlot))
      ++stages;
    else
      ++slots;
  }
  params.patchSlots = static_cast<int32_t>(slots);
  params.weightStages = static_cast<int32_t>(stages);
  plan.launch.dynamicSharedBytes =
      static_cast<uint32_t>(layout::kSwizzle128AtomBytes + kControlBytes + slots * slot + stages * stage + shape.stagingBytes());
  return true;
}

// Rates of one multiprocessor for the model, from measurements of a design study on H200.
constexpr double kMacsPerClock = 2048;         // wgmma in 16-bit types, dense
constexpr double kSharedBytesPerClock = 128;   // both operands of a wgmma from shared memory
constexpr double kWgmmaGapClocks = 8;          // what makes N = 128 6% and N = 64 20% slower than N = 256 for each pixel
constexpr double kL2BytesPerClock = 42;        // all multiprocessors loading at once
constexpr double kLoneTapClocks = 90;          // between the taps of a warpgroup that multiplies alone
constexpr double kStartClocks = 2800;          // launch to first wgmma and back
constexpr double kEpilogueClocksPerPixel = 5;  // of a block, staged in a buffer of its own
constexpr double kHiddenEpilogueShare = 0.15;  // of that, when the other warpgroup multiplies meanwhile
constexpr double kHandOverClocks = 300;        // a tile that the loading lane stores, when nobody multiplies meanwhile
constexpr double kReductionClocks = 300;       // two cluster barriers
constexpr double kMemoryBytesPerClock = 15.6;  // of the chip's memory, for each multiprocessor
constexpr double kL2ShareBesideMemory = 0.2;   // of the time of L2 transfers, added where the chip's memory decides

/// Two things that go on beside each other: the longer one decides, but of nearly the same length they hinder each other.
double together(double a, double b) { return std::pow(std::pow(a, 6) + std::pow(b, 6), 1.0 / 6); }

void model(const Geometry& g, const ShapeEntry& shape, uint32_t multiprocessors, HaloPlan& plan) {
  const Params& p = plan.params;
  const double blocks = shape.separate ? 2.0 * shape.first : shape.first + shape.second;
  const double wgmmaClocks =
      std::max(64.0 * shape.tileN * 16 / kMacsPerClock + kWgmmaGapClocks, (64.0 + shape.tileN) * 32 / kSharedBytesPerClock);
  const double steps = static_cast<double>(p.taps) * p.chunksPerRank;
  const double multiply = steps * (kChunkSlices * blocks * wgmmaClocks + (shape.consumers() == 1 ? kLoneTapClocks : 0));
  double boxBytes = 0;
  for (int32_t i = 0; i < p.patches; ++i) boxBytes += p.patch[i].bytes;
  const double weightBytes = steps * shape.stageBlocks() * kBlockBytes;
  const double loads = boxBytes * p.chunksPerRank * shape.members() + (p.weightsStay ? 0 : weightBytes);
  const double active = std::min<double>(multiprocessors, plan.launch.grid.x * plan.launch.grid.y);
  const double l2 = kL2BytesPerClock * (2 * active < multiprocessors ? 1.5 : 1.0);
  double epilogue = kEpilogueClocksPerPixel * shape.tileN * std::max(shape.first, shape.second);
  if (shape.overBox) epilogue = shape.separate ? epilogue * kHiddenEpilogueShare : epilogue + kHandOverClocks;
  // A guess: turned in shared memory and stored from registers, which nothing hides.
  if (!shape.kind.empty()) epilogue *= 3;
  if (p.split > 1)
    epilogue +=
        kReductionClocks + (p.split - 1) * static_cast<double>(accumulatorBytes(shape.first, shape.tileN)) / kL2BytesPerClock;

  const double tiles = static_cast<double>(p.tiles) * (p.channelTiles.divisor == 1 ? plan.launch.grid.y : 1) * p.split;
  plan.waves = std::max(1.0, static_cast<double>(ceilDivide(p.tiles * p.split, plan.launch.grid.x)));
  const double start = kStartClocks + (p.weightsStay ? weightBytes / l2 : 0);
  const double work = plan.waves * (together(multiply, loads / l2) + epilogue);
  plan.bound = multiply >= loads / l2 ? Resource::TensorCore : Resource::L2ToShared;
  const double outputBytes = static_cast<double>(g.n * g.p * g.q * g.k * g.outputBytes);
  const double memoryBytes =
      outputBytes +
      static_cast<double>((g.n / g.planes * g.d * g.h * g.w * g.c + g.k * g.t * g.r * g.s * g.c / g.groups) * g.elementBytes);
  const double memory = memoryBytes / (kMemoryBytesPerClock * multiprocessors) +
                        kL2ShareBesideMemory * (tiles * loads + outputBytes) / (kL2BytesPerClock * multiprocessors);
  if (memory > work) plan.bound = Resource::DeviceMemory;
  plan.modelledClocks = start + together(work, memory);
  const double multiplied = tiles / p.split * blocks * kBlockChannels * shape.tileN;
  plan.validFraction = static_cast<double>(g.n * g.p * g.q) * static_cast<double>(g.k) / multiplied;
}

layout::MapType mapTypeOf(const Problem& p) {
  switch (bytesOf(p.inputType)) {
    case 1:
      return layout::MapType::U8;
    case 4:
      return layout::MapType::F32;
    default:
      return elementMapType(p);
  }
}

/// What is decided before a plan is worked out.
struct Decision {
  const ShapeEntry& shape;
  HaloCut cut;
  int32_t split;
  std::optional<int32_t> lag;
};

bool complete(const Problem& problem, const Geometry& g, const Taps& taps, const Decision& decision,
              const device::Properties& properties, HaloPlan& plan) {
  const ShapeEntry& shape = decision.shape;
  const HaloCut kind = decision.cut;
  const int32_t split = decision.split;
  Cut cut;
  if (!cutInto(g, taps, kind, shape.tileN, cut)) return false;
  plan = {};
  plan.cut = kind;
  Params& params = plan.params;
  params.chunks = static_cast<int32_t>(ceilDivide(g.c, chunkChannels(static_cast<int32_t>(g.elementBytes))));
  if (g.groups > 1) {
    params.chunks = 1;
    params.groupChannels = static_cast<int32_t>(g.c / g.groups);
  }
  if (split > params.chunks) return false;
  params.split = split;
  params.chunksPerRank = static_cast<int32_t>(ceilDivide(params.chunks, split));
  if (int64_t{params.chunksPerRank} * (split - 1) >= params.chunks) return false;  // a rank would have nothing
  if (!placePatches(g, taps, cut, shape.tileN, plan)) return false;
  if (shape.overBox && (params.patches != 1 || params.chunks != 1 || split != 1)) return false;
  // The next flat tile in the slot reads zeros behind its box.
  if (shape.overBox && kind == HaloCut::Flat && params.filledBytes < static_cast<uint32_t>(shape.tileN) * kRowBytes) return false;
  if (g.groups > 1 && shape.stageBlocks() != 1) return false;

  // Tiles
  const int64_t tileChannels = int64_t{shape.stageBlocks()} * kBlockChannels;
  const int64_t channelTiles = ceilDivide(g.k, tileChannels);
  const int64_t columnTiles = ceilDivide(g.q, cut.columns), rowTiles = ceilDivide(g.p, cut.rows);
  const int64_t pixelTiles = ceilDivide(columnTiles * rowTiles * ceilDivide(g.n, cut.images), shape.members());
  if (pixelTiles * channelTiles * split > std::numeric_limits<int32_t>::max()) return false;
  params.columnTiles = layout::FastDivisor(static_cast<uint32_t>(columnTiles));
  params.rowTiles = layout::FastDivisor(static_cast<uint32_t>(rowTiles));
  params.tileColumns = static_cast<int32_t>(cut.columns);
  params.tileRows = static_cast<int32_t>(cut.rows);
  params.tileImages = static_cast<int32_t>(cut.images);
  params.flatPitch = layout::FastDivisor(cut.pitch == cut.columns ? 1 : static_cast<uint32_t>(cut.pitch));
  params.channels = static_cast<int32_t>(g.k);
  params.tileChannels = static_cast<int32_t>(tileChannels);
  params.relu = problem.activation == Activation::Relu;
  params.weightBoxes = static_cast<uint32_t>(ceilDivide(tileChannels, kLargestBox));
  params.weightBoxBytes = static_cast<uint32_t>(tileChannels) / params.weightBoxes * kRowBytes;

  const uint32_t multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const int64_t tilesPerCta = ceilDivide(pixelTiles * channelTiles * split, multiprocessors);
  if (!fitShared(shape, properties.sharedBytesPerBlock, split == 1, tilesPerCta, plan)) return false;
  if (split > 1) {
    const int64_t room =
        int64_t{params.patchSlots} * params.patchSlotBytes + int64_t{params.weightStages} * shape.stageBlocks() * kBlockBytes;
    if (int64_t{split - 1} * accumulatorBytes(std::max(shape.first, shape.second), shape.tileN) > room) return false;
    // Clusters of four do not fill a GPC: 28 were at work at once, 32 were not.
    if (pixelTiles * channelTiles * split > (split > 2 ? multiprocessors * 6 / 7 : multiprocessors)) return false;
  }
  // Weights that stay belong to one channel tile.
  const bool fixedChannels = params.weightsStay || channelTiles == 1;
  params.channelTiles = layout::FastDivisor(fixedChannels ? 1 : static_cast<uint32_t>(channelTiles));
  params.tiles = static_cast<int32_t>(fixedChannels ? pixelTiles : pixelTiles * channelTiles);
  const uint32_t gridY = fixedChannels ? static_cast<uint32_t>(channelTiles) : 1;
  const uint32_t mostCtas = std::max<uint32_t>(1, multiprocessors / gridY);
  const uint32_t waves = static_cast<uint32_t>(ceilDivide(params.tiles, mostCtas));
  plan.launch.grid = {
      split > 1 ? static_cast<uint32_t>(params.tiles * split) : static_cast<uint32_t>(ceilDivide(params.tiles, waves)), gridY, 1};
  plan.launch.block = {128u * (1u + static_cast<uint32_t>(shape.consumers())), 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(split), 1, 1};

  // How far the second warpgroup is behind the first: the length of an epilogue, as far as the rings hold it. Tiles of 8-column
  // groups gained up to 5%, the others nothing.
  constexpr int32_t kEpilogueTaps = 4;
  const int32_t tapsPerBox = params.taps / params.patches;
  const int32_t boxesAhead = params.patchSlots / shape.members() - 1;
  const int32_t boxTaps = boxesAhead > 0 ? boxesAhead * tapsPerBox - (tapsPerBox == 1 ? 1 : 0) : tapsPerBox - 1;
  const int32_t most =
      std::min({params.weightsStay ? params.taps : params.weightStages - 2, boxTaps, params.taps * params.chunksPerRank - 1});
  params.lag = shape.consumers() == 2
                   ? std::clamp(decision.lag.value_or(kind == HaloCut::Columns ? kEpilogueTaps : 0), 0, std::max(0, most))
                   : 0;

  // Maps of the filter and of the output
  for (layout::TiledMap& map : plan.inputs) map.type = mapTypeOf(problem);
  plan.filter = plan.output = plan.inputs[0];
  const uint64_t tapBytes = static_cast<uint64_t>(g.c / g.groups * g.elementBytes);
  plan.filter.globalAddress = 0;
  plan.filter.rank = 3;
  plan.filter.dims = {static_cast<uint64_t>(g.c / g.groups), static_cast<uint64_t>(g.t * g.r * g.s), static_cast<uint64_t>(g.k)};
  plan.filter.strides = {tapBytes, tapBytes * static_cast<uint64_t>(g.t * g.r * g.s)};
  plan.filter.box = {plan.inputs[0].box[0], 1, params.weightBoxBytes / kRowBytes};
  const uint64_t outputPixelBytes = static_cast<uint64_t>(g.outputPitch) * 2;
  plan.output.globalAddress = 0;
  plan.output.rank = 4;
  plan.output.dims = {static_cast<uint64_t>(g.k), static_cast<uint64_t>(g.q), static_cast<uint64_t>(g.n),
                      static_cast<uint64_t>(g.p)};
  plan.output.strides = {outputPixelBytes, outputPixelBytes * static_cast<uint64_t>(g.q * g.p),
                         outputPixelBytes * static_cast<uint64_t>(g.q)};
  plan.output.box = {kBlockChannels, static_cast<uint32_t>(cut.columns), static_cast<uint32_t>(cut.images),
                     static_cast<uint32_t>(cut.rows)};

  plan.shape = shape.name;
  plan.kernelName = shape.kind.empty() ? fmt::format("halo_sm90_{}_{}", elementName(problem), shape.name)
                                       : fmt::format("halo_sm90_{}_full_{}", shape.kind, shape.name);
  if (!shape.kind.empty()) {
    FullEpilogue& full = params.full;
    full.pitch = layout::FastDivisor(static_cast<uint32_t>(cut.pitch));
    full.images = layout::FastDivisor(static_cast<uint32_t>(cut.images));
    full.outputColumns = static_cast<int32_t>(g.q);
    full.outputRows = static_cast<int32_t>(g.p);
    full.outputImages = static_cast<int32_t>(g.n);
    full.epilogue = epilogueOf(problem);
  }
  model(g, shape, multiprocessors, plan);
  return true;
}

}  // namespace

std::string_view toString(HaloCut cut) {
  switch (cut) {
    case HaloCut::Columns:
      return "columns";
    case HaloCut::Flat:
      return "flat";
    case HaloCut::Dense:
      return "dense";
  }
  return "?";
}

std::string haloRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = anyRefusal("halo", p, properties); !reason.empty()) return reason;
  if (p.compute == Compute::F16 || !hasKind(p))
    return fmt::format(
        "halo multiplies f16, bf16 or tf32 with the same, and 8-bit floats or integers with each other, in f32 or s32, "
        "but the types are {} and {}, and compute is {}",
        nameOf(p.inputType), nameOf(p.filterType), nameOf(p.compute));
  if (std::string reason = epilogueRefusal("halo", p, kSegment); !reason.empty()) return reason;
  const int64_t step = 16 / bytesOf(p.inputType);
  if (p.c % step != 0) return fmt::format("halo needs C to be a multiple of {} (16-byte rows), but C is {}", step, p.c);
  if (p.inputPitch() % step != 0)
    return fmt::format("halo needs an input pixel pitch that is a multiple of {} elements, but it is {}", step, p.inputPitch());
  if (p.groups > 1) {
    const int64_t channels = p.groupChannels();
    if (p.c != p.k) return fmt::format("halo needs C = K with groups, but they are {} and {}", p.c, p.k);
    if (bytesOf(p.inputType) != 2)
      return fmt::format("halo needs f16 or bf16 with groups, but the type is {}", nameOf(p.inputType));
    if (channels % 8 != 0 || kBlockChannels % channels != 0)
      return fmt::format("halo needs 8, 16, 32 or 64 channels a group, but there are {}", channels);
  }
  if (haloCandidates(p, properties).empty())
    return fmt::format(
        "halo has no tile for a {}x{} filter with stride {}x{} and dilation {}x{}: the boxes of its taps, {} strides "
        "and {} taps at most, have to fit into shared memory",
        p.r, p.s, p.strideH, p.strideW, p.dilationH, p.dilationW, kMaximumInputMaps, kMaximumTaps);
  return {};
}

std::vector<HaloPlan> haloCandidates(const Problem& problem, const device::Properties& properties, const HaloChoices& choices) {
  const Geometry g = geometryOf(problem);
  if (g.strideH * g.strideW > kMaximumInputMaps || g.t * g.r * g.s > kMaximumTaps) return {};
  const Taps taps = tapsOf(g);
  const HaloModule module = moduleOf(problem);
  const std::string kind = kindOf(problem);
  std::vector<HaloPlan> plans;
  for (const ShapeEntry& shape : shapesOf(module)) {
    if (!shape.kind.empty() && shape.kind != kind) continue;
    if (choices.shape && *choices.shape != shape.name) continue;
    for (const HaloCut kind : {HaloCut::Columns, HaloCut::Flat, HaloCut::Dense}) {
      if (choices.cut && *choices.cut != kind) continue;
      for (const int32_t split : {1, 2, 4}) {
        if (choices.split && *choices.split != split) continue;
        HaloPlan plan;
        if (complete(problem, g, taps, {shape, kind, split, choices.lag}, properties, plan)) {
          plan.module = module;
          plan.launch.programmaticDependent = choices.dependent;
          plans.push_back(std::move(plan));
        }
      }
    }
  }
  std::stable_sort(plans.begin(), plans.end(),
                   [](const HaloPlan& a, const HaloPlan& b) { return a.modelledClocks < b.modelledClocks; });
  return plans;
}

std::vector<std::string> HaloPlan::warpRoles() const {
  std::vector<std::string> roles(launch.block.x / 32, "multiply");
  roles[0] = "load boxes";
  roles[1] = "load weights";
  roles[2] = roles[3] = "idle";
  return roles;
}

std::string HaloPlan::describe() const {
  const Params& p = params;
  std::string text = fmt::format("{} {}, tile {}x{}x{} pixels x {} channels", kernelName, toString(cut), p.tileImages, p.tileRows,
                                 p.tileColumns, p.tileChannels);
  if (p.split > 1) text += fmt::format(", reduction split by {}", p.split);
  if (p.lag > 0) text += fmt::format(", lag {}", p.lag);
  text += fmt::format(
      "; grid {}x{}, {} tiles, {:.0f} waves, {:.0f}% valid; {} boxes of {} KiB slots x {}, {} weight stages{}; {} bytes "
      "of shared memory; modelled {:.0f} clocks",
      launch.grid.x, launch.grid.y, p.tiles, waves, 100 * validFraction, p.patches, p.patchSlotBytes / 1024, p.patchSlots,
      p.weightStages, p.weightsStay ? " that stay" : "", launch.dynamicSharedBytes, modelledClocks);
  return text;
}

}  // namespace shiftconv::plan
