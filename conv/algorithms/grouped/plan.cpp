#include "conv/algorithms/grouped/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/limits.hpp"
#include "conv/plan/output_tiles.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/sm90_limits.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::grouped;
using namespace rates::grouped;
using namespace sm90;

namespace {

constexpr int64_t kSlots = 2;

struct Tile {
  int64_t columns, rows, boxColumns, boxRows;

  int64_t slotBytes() const { return roundUp(boxColumns * boxRows * layout::kSwizzle128RowBytes, layout::kSwizzle128AtomBytes); }
  int64_t stagingBytes() const {
    return roundUp(roundUp(columns * rows, kStepPixels) * layout::kSwizzle128RowBytes, layout::kSwizzle128AtomBytes);
  }
  int64_t sharedBytes() const {
    return layout::kSwizzle128AtomBytes + kControlBytes + kSlots * slotBytes() + kStagings * stagingBytes();
  }
};

int32_t mostCtas(const Problem& p) { return ctasPerMultiprocessor(p.r * p.s, bytesOf(p.inputType)); }

/// Of a chunk, as a power of two.
int64_t blocksOf(const Problem& p) {
  const auto blocks = static_cast<uint64_t>(ceilDivide(p.c * bytesOf(p.inputType), kBlockBytes));
  return static_cast<int64_t>(std::min<uint64_t>(std::bit_ceil(blocks), kWarps));
}

Tile tileOf(const Problem& p, int64_t columns, int64_t rows) {
  return {columns, rows, (columns - 1) * p.strideW + (p.s - 1) * p.dilationW + 1,
          (rows - 1) * p.strideH + (p.r - 1) * p.dilationH + 1};
}

/// Columns in as few equal parts as fit, and the rows that cost least.
bool chooseTile(const Problem& p, const device::Properties& properties, Tile& best) {
  const int64_t room = sharedBytesOfEach(properties, mostCtas(p));
  const int64_t chunks = ceilDivide(p.c, chunkChannels(bytesOf(p.inputType)));
  const int64_t ctas = std::max<int64_t>(1, mostCtas(p) * int64_t{properties.multiprocessors} / chunks);
  const int64_t stepPixels = kWarps / blocksOf(p) * kStepPixels;  // of all warps of a block
  double least = 0;
  bool found = false;
  for (int64_t parts = 1; parts <= std::min<int64_t>(p.q(), 64); ++parts) {
    const int64_t columns = ceilDivide(p.q(), parts);
    for (int64_t rows = 1; rows <= p.p(); ++rows) {
      const Tile tile = tileOf(p, columns, rows);
      if (tile.boxColumns > kLargestBox || tile.boxRows > kLargestBox || tile.sharedBytes() > room) break;
      const double waves = static_cast<double>(ceilDivide(p.n * parts * ceilDivide(p.p(), rows), ctas));
      // A step of a warp costs about as much as loading 100 pixels; a tile costs a step or two by itself. Eight pixels that
      // pass the end of a row are read with bank conflicts.
      const double cost = waves *
                          (static_cast<double>(ceilDivide(columns * rows, stepPixels)) +
                           static_cast<double>(tile.boxColumns * tile.boxRows) / 100 + 1.5) *
                          (1 + 4.0 / static_cast<double>(columns));
      if (!found || cost < least) {
        found = true;
        least = cost;
        best = tile;
      }
    }
  }
  return found;
}

}  // namespace

std::string groupedRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = targetRefusal("grouped", properties); !reason.empty()) return reason;
  if (p.groupChannels() > kBlockBytes)
    return fmt::format("grouped needs at most {} channels a group, but C = {} and groups = {}", kBlockBytes, p.c, p.groups);
  if (std::string reason = limitsRefusal("grouped", p); !reason.empty()) return reason;
  if (!isTwoDimensional(p)) return "grouped needs a 2-D problem, but d, t, pad_front, pad_back, stride_d or dilation_d is set";
  if (std::string reason = bytesOf(p.inputType) == 1 ? bytesTypesRefusal("grouped", p) : shortTypesRefusal("grouped", p);
      !reason.empty())
    return reason;
  const int64_t channels = p.groupChannels(), most = kBlockBytes / bytesOf(p.inputType);
  if (p.k != p.c || channels < 2 || most % channels != 0)
    return fmt::format("grouped needs 2, 4{} or {} input and output channels a group, but C = {}, K = {} and groups = {}",
                       most == 16 ? ", 8" : "", most, p.c, p.k, p.groups);
  if (!((p.r == 3 && p.s == 3) || (p.r == 5 && p.s == 5)))
    return fmt::format("grouped has kernels for 3x3 and 5x5 filters, but the filter is {}x{}", p.r, p.s);
  if (p.inputPitch() % most != 0)
    return fmt::format("grouped needs input_pixel_pitch to be a multiple of {} elements, but it is {}", most, p.inputPitch());
  Tile tile{};
  if (!chooseTile(p, properties, tile))
    return fmt::format(
        "grouped needs the box of an output pixel in shared memory, but stride {}x{} and dilation {}x{} make it too large",
        p.strideH, p.strideW, p.dilationH, p.dilationW);
  return {};
}

GroupedPlan planGrouped(const Problem& p, const device::Properties& properties) {
  GroupedPlan plan;
  Tile tile{};
  chooseTile(p, properties, tile);
  const int64_t elementBytes = bytesOf(p.inputType);
  const int32_t chunkOf = chunkChannels(elementBytes);
  const int64_t chunks = ceilDivide(p.c, chunkOf);

  Params& params = plan.params;
  setOutputTiles(p, tile.rows, tile.columns, params);
  params.tileColumns = static_cast<int32_t>(tile.columns);
  params.tileRows = static_cast<int32_t>(tile.rows);
  params.byTileColumns = layout::FastDivisor(static_cast<uint32_t>(tile.columns));
  params.tilePixels = static_cast<int32_t>(tile.columns * tile.rows);
  params.strideH = static_cast<int32_t>(p.strideH);
  params.strideW = static_cast<int32_t>(p.strideW);
  params.dilationH = static_cast<int32_t>(p.dilationH);
  params.dilationW = static_cast<int32_t>(p.dilationW);
  params.boxColumns = static_cast<int32_t>(tile.boxColumns);
  params.boxBytes = static_cast<uint32_t>(tile.boxColumns * tile.boxRows) * layout::kSwizzle128RowBytes;
  params.slotBytes = static_cast<uint32_t>(tile.slotBytes());
  params.stagingBytes = static_cast<uint32_t>(tile.stagingBytes());
  params.slots = static_cast<int32_t>(kSlots);
  params.channels = static_cast<int32_t>(p.k);
  params.groupChannels = static_cast<int32_t>(p.groupChannels());
  params.blockBits = std::bit_width(static_cast<uint64_t>(blocksOf(p))) - 1;
  params.limits = limitsOf(p);
  params.bias.type = numberType(p.biasType);

  const bool isActivated = elementBytes == 2 && !hasPlainEpilogue(p);
  plan.scales = elementBytes == 1 || isActivated;
  params.isLean = isLeanBytes(p);
  params.epilogue = epilogueOf(p);

  layout::TiledMap& in = plan.input;
  in.type = elementBytes == 1 ? layout::MapType::U8 : elementMapType(p);
  in.rank = 4;
  in.swizzle = layout::MapSwizzle::B128;
  const uint64_t inputPixel = static_cast<uint64_t>(p.inputPitch() * elementBytes),
                 outputPixel = static_cast<uint64_t>(p.outputPitch() * elementBytes);
  in.dims = {static_cast<uint64_t>(p.c), static_cast<uint64_t>(p.w), static_cast<uint64_t>(p.h), static_cast<uint64_t>(p.n)};
  in.strides = {inputPixel, inputPixel * static_cast<uint64_t>(p.w), inputPixel * static_cast<uint64_t>(p.w * p.h)};
  in.box = {static_cast<uint32_t>(chunkOf), static_cast<uint32_t>(tile.boxColumns), static_cast<uint32_t>(tile.boxRows), 1};
  plan.output = in;
  plan.output.dims = {static_cast<uint64_t>(p.k), static_cast<uint64_t>(p.q()), static_cast<uint64_t>(p.p()),
                      static_cast<uint64_t>(p.n)};
  plan.output.strides = {outputPixel, outputPixel * static_cast<uint64_t>(p.q()),
                         outputPixel * static_cast<uint64_t>(p.q() * p.p())};
  plan.output.box = {static_cast<uint32_t>(chunkOf), static_cast<uint32_t>(tile.columns), static_cast<uint32_t>(tile.rows), 1};

  const int64_t ctas = std::max<int64_t>(1, mostCtas(p) * int64_t{properties.multiprocessors} / chunks);
  const int64_t waves = ceilDivide(params.tiles, ctas);
  plan.waves = static_cast<double>(waves);
  plan.launch.grid = {static_cast<uint32_t>(ceilDivide(params.tiles, waves)), static_cast<uint32_t>(chunks), 1};
  plan.launch.block = {(kWarps + 1) * 32, 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(tile.sharedBytes());
  // In 16 bits as if no warps shared a block: the trees were fitted to that.
  const int64_t warps = elementBytes == 2 ? kWarps : blocksOf(p);
  const double steps =
      static_cast<double>(params.tiles * chunks * warps) * static_cast<double>(ceilDivide(params.tilePixels, kStepPixels));
  const double tapWavefronts = kTapWavefronts * (elementBytes == 2 ? 1.0 : isInteger(p.inputType) ? kIntegerTaps : kFloatTaps);
  const double wavefronts = steps * tapWavefronts * static_cast<double>(p.r * p.s) / properties.multiprocessors;
  plan.modelledClocks =
      kStartClocks + kWavefrontClocks * wavefronts + (isActivated ? kActivatedStepClocks * steps / properties.multiprocessors : 0);
  plan.bound = Resource::SharedReads;
  const std::string kind =
      elementBytes == 1 ? fmt::format("{}_{}", nameOf(p.inputType), nameOf(p.filterType)) : std::string(elementName(p));
  plan.kernelName = fmt::format("grouped_{}_r{}s{}{}", kind, p.r, p.s, isActivated ? "_activated" : "");
  return plan;
}

std::vector<std::string> groupedWarpRoles() {
  std::vector<std::string> roles(kWarps, "multiply");
  roles.push_back("load");
  return roles;
}

std::string GroupedPlan::describe() const {
  return fmt::format("{}, tile {}x{} pixels x {} channels; grid {}x{}, {} tiles, {:.0f} waves; {} bytes of shared memory",
                     kernelName, params.tileRows, params.tileColumns, input.box[0], launch.grid.x, launch.grid.y, params.tiles,
                     waves, launch.dynamicSharedBytes);
}

}  // namespace shiftconv::plan
