#include "conv/algorithms/stem/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/limits.hpp"
#include "conv/plan/output_tiles.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan {

using namespace kernels::stem;
using namespace rates::stem;
using namespace sm90;

namespace {

constexpr int64_t kChannels = 4;

int64_t boxRows(const Problem& p) { return (kTileRows - 1) * p.strideH + p.r; }
int64_t stageBytes(const Problem& p) { return ceilDivide(boxRows(p) * kBoxRowBytes, 128) * 128; }
int64_t sharedBytes(const Problem& p) {
  return layout::kSwizzle128AtomBytes + kControlBytes + kTileRows * kRowStagingBytes + kStages * stageBytes(p);
}

}  // namespace

std::string stemRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = plainRefusal("stem", p, properties, ResidualAdded::Yes); !reason.empty()) return reason;
  if (p.groups != 1) return fmt::format("stem needs groups = 1, but it is {}", p.groups);
  if (p.c != kChannels || p.inputPitch() != kChannels || p.strideW != kStride)
    return fmt::format("stem needs C = 4, input_pixel_pitch = 4 and stride_w = 2, but they are {}, {} and {}", p.c, p.inputPitch(),
                       p.strideW);
  if (p.dilationH != 1 || p.dilationW != 1)
    return fmt::format("stem needs dilation_h and dilation_w of 1, but they are {} and {}", p.dilationH, p.dilationW);
  if (p.w % 2 != 0) return fmt::format("stem needs an even W (rows of whole 16 bytes), but W is {}", p.w);
  if (p.r != 3 && p.r != 7) return fmt::format("stem has kernels for filter heights R of 3 and 7, but R is {}", p.r);
  if (p.s + p.padLeft % 2 > kWindowPixels)
    return fmt::format("stem needs a filter width S of at most {}, one less with an odd pad_left, but S is {}", kWindowPixels, p.s);
  if (boxRows(p) > kLargestBox || sharedBytes(p) > int64_t{properties.sharedBytesPerBlock})
    return fmt::format("stem needs {} input rows in shared memory, too many with stride_h = {}", boxRows(p), p.strideH);
  return {};
}

StemPlan planStem(const Problem& p, const device::Properties& properties) {
  StemPlan plan;
  Params& params = plan.params;
  const int64_t channelTiles = ceilDivide(p.k, kBlockChannels);
  setOutputTiles(p, kTileRows, kTileColumns, params);
  params.outputHeight = static_cast<int32_t>(p.p());
  params.channels = static_cast<int32_t>(p.k);
  params.strideH = static_cast<int32_t>(p.strideH);
  params.lead = static_cast<int32_t>(p.padLeft % 2);
  params.filterWidth = static_cast<int32_t>(p.s);
  params.boxBytes = static_cast<uint32_t>(boxRows(p)) * kBoxRowBytes;
  params.stageBytes = static_cast<uint32_t>(stageBytes(p));
  params.limits = limitsOf(p);
  params.bias.type = numberType(p.biasType);
  params.beta = p.beta;

  // A pixel is one 8-byte element.
  layout::TiledMap& in = plan.input;
  in.type = layout::MapType::U64;
  in.rank = 3;
  const uint64_t rowBytes = static_cast<uint64_t>(p.w) * kPixelBytes;
  in.dims = {static_cast<uint64_t>(p.w), static_cast<uint64_t>(p.h), static_cast<uint64_t>(p.n)};
  in.strides = {rowBytes, rowBytes * static_cast<uint64_t>(p.h)};
  in.box = {kBoxColumns, static_cast<uint32_t>(boxRows(p)), 1};
  layout::TiledMap& out = plan.output;
  out.type = elementMapType(p);
  out.rank = 4;
  out.swizzle = layout::MapSwizzle::B128;
  const uint64_t pixel = static_cast<uint64_t>(p.outputPitch()) * 2;
  out.dims = {static_cast<uint64_t>(p.k), static_cast<uint64_t>(p.q()), static_cast<uint64_t>(p.p()), static_cast<uint64_t>(p.n)};
  out.strides = {pixel, pixel * static_cast<uint64_t>(p.q()), pixel * static_cast<uint64_t>(p.q() * p.p())};
  out.box = {kBlockChannels, kTileColumns, 1, 1};
  plan.residual = out;
  const uint64_t residualPixel = static_cast<uint64_t>(p.residualPitch()) * 2;
  plan.residual.strides = {residualPixel, residualPixel * static_cast<uint64_t>(p.q()),
                           residualPixel * static_cast<uint64_t>(p.q() * p.p())};

  const int64_t mostCtas = std::max<int64_t>(1, int64_t{properties.multiprocessors} / channelTiles);
  const int64_t waves = ceilDivide(params.tiles, mostCtas);
  plan.waves = static_cast<double>(waves);
  plan.launch.grid = {static_cast<uint32_t>(ceilDivide(params.tiles, waves)), static_cast<uint32_t>(channelTiles), 1};
  plan.launch.block = {384, 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(sharedBytes(p));
  plan.modelledClocks = kStartClocks + plan.waves * kTileRows * static_cast<double>(p.r) * 2 * kTileColumns / 2;
  plan.bound = Resource::TensorCore;
  plan.kernelName = fmt::format("stem_sm90_{}_r{}{}", elementName(p), p.r, p.hasResidual() ? "_residual" : "");
  return plan;
}

std::vector<std::string> stemWarpRoles() {
  std::vector<std::string> roles(12, "multiply");
  roles[0] = "load";
  roles[1] = roles[2] = roles[3] = "idle";
  return roles;
}

std::string StemPlan::describe() const {
  return fmt::format("{}, tile {}x{} pixels x {} channels; grid {}x{}, {} tiles, {:.0f} waves; {} bytes of shared memory",
                     kernelName, kTileRows, kTileColumns, kBlockChannels, launch.grid.x, launch.grid.y, params.tiles, waves,
                     launch.dynamicSharedBytes);
}

}  // namespace shiftconv::plan
