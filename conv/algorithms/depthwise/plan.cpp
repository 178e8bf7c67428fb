#include "conv/algorithms/depthwise/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/output_tiles.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan {

using namespace kernels::depthwise;
using namespace rates::depthwise;
using namespace sm90;

namespace {

uint32_t sharedBytes(const Problem& p) {
  const int32_t r = static_cast<int32_t>(p.r), s = static_cast<int32_t>(p.s);
  return layout::kSwizzle128AtomBytes + kControlBytes + kSlots * alignedBoxBytes(r) + kStagingBytes + diagonalBytes(r) +
         filterBytes(r, s);
}

}  // namespace

std::string depthwiseRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = anyRefusal("depthwise", p, properties); !reason.empty()) return reason;
  if (!isTwoDimensional(p)) return "depthwise needs a 2-D problem, but d, t, pad_front, pad_back, stride_d or dilation_d is set";
  if ((p.inputType != DataType::F16 && p.inputType != DataType::BF16) || p.filterType != p.inputType)
    return fmt::format("depthwise multiplies f16 or bf16 with the same, but input_type and filter_type are {} and {}",
                       nameOf(p.inputType), nameOf(p.filterType));
  if (p.compute != Compute::Default) return fmt::format("depthwise sums in f32, but compute is {}", nameOf(p.compute));
  if (std::string reason = epilogueRefusal("depthwise", p, kWarpChannels); !reason.empty()) return reason;
  if (p.groups != p.c || p.k != p.c)
    return fmt::format("depthwise needs as many groups and output channels as input channels, but C = {}, K = {} and groups = {}",
                       p.c, p.k, p.groups);
  if (p.strideH != 1 || p.strideW != 1 || p.dilationH != 1 || p.dilationW != 1)
    return fmt::format("depthwise needs stride and dilation 1, but they are {}x{} and {}x{}", p.strideH, p.strideW, p.dilationH,
                       p.dilationW);
  if (p.s > kMaximumFilterWidth)
    return fmt::format("depthwise needs a filter width S of at most {}, but S is {}", kMaximumFilterWidth, p.s);
  if (p.r > 256 || sharedBytes(p) > properties.sharedBytesPerBlock)
    return fmt::format("depthwise needs its rows of {} input pixels in shared memory, but R = {} makes them too many", kBoxColumns,
                       p.r);
  if (p.c % 8 != 0) return fmt::format("depthwise needs C to be a multiple of 8 (16-byte accesses), but C is {}", p.c);
  if (p.inputPitch() % 8 != 0)
    return fmt::format("depthwise needs input_pixel_pitch to be a multiple of 8 elements, but it is {}", p.inputPitch());
  return {};
}

DepthwisePlan planDepthwise(const Problem& p, const device::Properties& properties) {
  DepthwisePlan plan;
  Params& params = plan.params;
  const int64_t columnTiles = ceilDivide(p.q(), kTileColumns);
  const int64_t channelTiles = ceilDivide(p.c, kCtaChannels);
  setOutputTiles(p, kTileRows, kTileColumns, params);
  params.outputHeight = static_cast<int32_t>(p.p());
  params.outputWidth = static_cast<int32_t>(p.q());
  params.channels = static_cast<int32_t>(p.c);
  params.filterHeight = static_cast<int32_t>(p.r);
  params.filterWidth = static_cast<int32_t>(p.s);
  params.boxBytes = boxBytes(params.filterHeight);
  params.relu = p.activation == Activation::Relu;

  layout::TiledMap& map = plan.input;
  map.type = elementMapType(p);
  map.rank = 4;
  map.swizzle = layout::MapSwizzle::B64;
  const uint64_t pixel = static_cast<uint64_t>(p.inputPitch()) * 2;
  map.dims = {static_cast<uint64_t>(p.c), static_cast<uint64_t>(p.w), static_cast<uint64_t>(p.h), static_cast<uint64_t>(p.n)};
  map.strides = {pixel, pixel * static_cast<uint64_t>(p.w), pixel * static_cast<uint64_t>(p.w * p.h)};
  map.box = {kCtaChannels, kBoxColumns, static_cast<uint32_t>(kTileRows + p.r - 1), 1};

  plan.output = map;
  const uint64_t outputPixel = static_cast<uint64_t>(p.outputPitch()) * 2;
  plan.output.dims = {static_cast<uint64_t>(p.c), static_cast<uint64_t>(p.q()), static_cast<uint64_t>(p.p()),
                      static_cast<uint64_t>(p.n)};
  plan.output.strides = {outputPixel, outputPixel * static_cast<uint64_t>(p.q()),
                         outputPixel * static_cast<uint64_t>(p.q() * p.p())};
  plan.output.box = {kCtaChannels, kTileColumns, kTileRows, 1};
  plan.residual = plan.output;
  const uint64_t residualPixel = static_cast<uint64_t>(p.residualPitch()) * 2;
  plan.residual.strides = {residualPixel, residualPixel * static_cast<uint64_t>(p.q()),
                           residualPixel * static_cast<uint64_t>(p.q() * p.p())};

  const int64_t mostCtas = std::max<int64_t>(1, int64_t{properties.multiprocessors} * kCtasPerMultiprocessor / channelTiles);
  const int64_t waves = ceilDivide(params.tiles, mostCtas);
  plan.waves = static_cast<double>(waves);
  // Tiles at the right edge may take less time: no CTA shall have only them, nor none.
  int64_t ctas = ceilDivide(params.tiles, waves);
  if (columnTiles > 1 && ctas % columnTiles == 0 && ctas < std::min<int64_t>(mostCtas, params.tiles)) ++ctas;
  plan.launch.grid = {static_cast<uint32_t>(ctas), static_cast<uint32_t>(channelTiles), 1};
  plan.launch.block = {kWarps * 32, 1, 1};
  plan.launch.dynamicSharedBytes = sharedBytes(p);
  plan.full = !plainTypesRefusal("depthwise", p, ResidualAdded::Yes).empty();
  params.beta = p.beta;
  if (plan.full) params.epilogue = epilogueOf(p);
  plan.modelledClocks = corrected(
      kStartClocks + plan.waves * (static_cast<double>(p.r) * kRowClocks + (plan.full ? kFullEpilogueClocks : 0)), kCorrection);
  plan.bound = Resource::SharedReads;
  plan.kernelName = fmt::format("depthwise_sm90_{}{}", elementName(p), plan.full ? "_full" : p.hasResidual() ? "_residual" : "");
  return plan;
}

std::vector<std::string> depthwiseWarpRoles() { return std::vector<std::string>(kWarps, "multiply"); }

std::string DepthwisePlan::describe() const {
  return fmt::format("{}, tile {}x{} pixels x {} channels; grid {}x{}, {} tiles, {:.0f} waves; {} bytes of shared memory",
                     kernelName, kTileRows, kTileColumns, kCtaChannels, launch.grid.x, launch.grid.y, params.tiles, waves,
                     launch.dynamicSharedBytes);
}

}  // namespace shiftconv::plan
