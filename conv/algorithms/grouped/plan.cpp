#include "conv/algorithms/grouped/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/output_tiles.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/sm90_limits.hpp"

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

Tile tileOf(const Problem& p, int64_t columns, int64_t rows) {
  return {columns, rows, (columns - 1) * p.strideW + (p.s - 1) * p.dilationW + 1,
          (rows - 1) * p.strideH + (p.r - 1) * p.dilationH + 1};
}

/// Columns in as few equal parts as fit, and the rows that cost least.
bool chooseTile(const Problem& p, const device::Properties& properties, Tile& best) {
  const int64_t room = sharedBytesOfEach(properties, ctasPerMultiprocessor(p.r * p.s));
  const int64_t chunks = ceilDivide(p.c, kChunkChannels);
  const int64_t ctas = std::max<int64_t>(1, ctasPerMultiprocessor(p.r * p.s) * int64_t{properties.multiprocessors} / chunks);
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
                          (static_cast<double>(ceilDivide(columns * rows, kStepPixels)) +
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
  if (std::string reason = plainRefusal("grouped", p, properties); !reason.empty()) return reason;
  const int64_t channels = p.groupChannels();
  if (p.k != p.c || (channels != 2 && channels != 4 && channels != kBlockChannels))
    return fmt::format("grouped needs 2, 4 or {} input and output channels a group, but C = {}, K = {} and groups = {}",
                       kBlockChannels, p.c, p.k, p.groups);
  if (!((p.r == 3 && p.s == 3) || (p.r == 5 && p.s == 5)))
    return fmt::format("grouped has kernels for 3x3 and 5x5 filters, but the filter is {}x{}", p.r, p.s);
  if (p.inputPitch() % 8 != 0)
    return fmt::format("grouped needs input_pixel_pitch to be a multiple of 8 elements, but it is {}", p.inputPitch());
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
  const int64_t chunks = ceilDivide(p.c, kChunkChannels);

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
  params.relu = p.activation == Activation::Relu;

  layout::TiledMap& in = plan.input;
  in.type = elementMapType(p);
  in.rank = 4;
  in.swizzle = layout::MapSwizzle::B128;
  const uint64_t inputPixel = static_cast<uint64_t>(p.inputPitch()) * 2, outputPixel = static_cast<uint64_t>(p.outputPitch()) * 2;
  in.dims = {static_cast<uint64_t>(p.c), static_cast<uint64_t>(p.w), static_cast<uint64_t>(p.h), static_cast<uint64_t>(p.n)};
  in.strides = {inputPixel, inputPixel * static_cast<uint64_t>(p.w), inputPixel * static_cast<uint64_t>(p.w * p.h)};
  in.box = {kChunkChannels, static_cast<uint32_t>(tile.boxColumns), static_cast<uint32_t>(tile.boxRows), 1};
  plan.output = in;
  plan.output.dims = {static_cast<uint64_t>(p.k), static_cast<uint64_t>(p.q()), static_cast<uint64_t>(p.p()),
                      static_cast<uint64_t>(p.n)};
  plan.output.strides = {outputPixel, outputPixel * static_cast<uint64_t>(p.q()),
                         outputPixel * static_cast<uint64_t>(p.q() * p.p())};
  plan.output.box = {kChunkChannels, static_cast<uint32_t>(tile.columns), static_cast<uint32_t>(tile.rows), 1};

  const int64_t mostCtas = std::max<int64_t>(1, ctasPerMultiprocessor(p.r * p.s) * int64_t{properties.multiprocessors} / chunks);
  const int64_t waves = ceilDivide(params.tiles, mostCtas);
  plan.waves = static_cast<double>(waves);
  plan.launch.grid = {static_cast<uint32_t>(ceilDivide(params.tiles, waves)), static_cast<uint32_t>(chunks), 1};
  plan.launch.block = {(kWarps + 1) * 32, 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(tile.sharedBytes());
  const double steps =
      static_cast<double>(params.tiles * chunks * kWarps) * static_cast<double>(ceilDivide(params.tilePixels, kStepPixels));
  const double wavefronts = steps * kTapWavefronts * static_cast<double>(p.r * p.s) / properties.multiprocessors;
  plan.modelledClocks = kStartClocks + kWavefrontClocks * wavefronts;
  plan.bound = Resource::SharedReads;
  plan.kernelName = fmt::format("grouped_sm90_{}_r{}s{}", elementName(p), p.r, p.s);
  return plan;
}

std::vector<std::string> groupedWarpRoles() {
  std::vector<std::string> roles(kWarps, "multiply");
  roles.push_back("load");
  return roles;
}

std::string GroupedPlan::describe() const {
  return fmt::format("{}, tile {}x{} pixels x {} channels; grid {}x{}, {} tiles, {:.0f} waves; {} bytes of shared memory",
                     kernelName, params.tileRows, params.tileColumns, kChunkChannels, launch.grid.x, launch.grid.y, params.tiles,
                     waves, launch.dynamicSharedBytes);
}

}  // namespace shiftconv::plan
