#include "conv/algorithms/depthwise/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/decoding.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/limits.hpp"
#include "conv/plan/output_tiles.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/sm90_limits.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::depthwise;
using namespace rates::depthwise;
using namespace sm90;

namespace {

constexpr int64_t kRowAlignment = 16;  // bytes, of what the copy engine takes

uint32_t sharedBytes(const Problem& p) {
  const int32_t r = static_cast<int32_t>(p.r), s = static_cast<int32_t>(p.s), bytes = static_cast<int32_t>(bytesOf(p.inputType));
  return layout::kSwizzle128AtomBytes + kControlBytes + kSlots * alignedBoxBytes(r, bytes) + stagingBytes(bytes) +
         diagonalBytes(r) + filterBytes(r, s, bytes);
}

/// Operands that become f16 in registers.
bool isDecoded(const Problem& p) { return bitsOf(p.inputType) == 8; }

std::string_view operandsName(const Problem& p) {
  if (!isDecoded(p)) return elementName(p);
  return isInteger(p.inputType) ? "integers" : "e4m3";
}

/// Whether the epilogue is none that stages the outputs for the copy engine: the plain one, of 16 bits with a residual or a short
/// activation.
bool needsFullEpilogue(const Problem& p) {
  if (isDecoded(p)) return !isLeanBytes(p) || p.outputPitch() % kRowAlignment != 0;
  return !plainTypesRefusal("depthwise", p, ResidualAdded::Yes).empty() && !shortTypesRefusal("depthwise", p).empty();
}

}  // namespace

std::string depthwiseRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = targetRefusal("depthwise", properties); !reason.empty()) return reason;
  if (p.groups != p.c || p.k != p.c)
    return fmt::format("depthwise needs as many groups and output channels as input channels, but C = {}, K = {} and groups = {}",
                       p.c, p.k, p.groups);
  if (std::string reason = limitsRefusal("depthwise", p); !reason.empty()) return reason;
  if (!isTwoDimensional(p)) return "depthwise needs a 2-D problem, but d, t, pad_front, pad_back, stride_d or dilation_d is set";
  using enum DataType;
  const bool takesTypes = isInteger(p.inputType)
                              ? (p.inputType == S8 || p.inputType == U8) && (p.filterType == S8 || p.filterType == U8)
                              : (p.inputType == F16 || p.inputType == BF16 || p.inputType == E4M3) && p.filterType == p.inputType;
  if (!takesTypes)
    return fmt::format(
        "depthwise multiplies f16, bf16 or e4m3 with the same, and 8-bit integers with each other, but input_type and filter_type "
        "are {} and {}",
        nameOf(p.inputType), nameOf(p.filterType));
  if (const int64_t products = p.r * p.s; isInteger(p.inputType) && products > mostExactProducts(p))
    return fmt::format("depthwise needs at most {} products R*S of {} and {}, but they are {}", mostExactProducts(p),
                       nameOf(p.inputType), nameOf(p.filterType), products);
  if (p.compute != Compute::Default) return fmt::format("depthwise sums in f32, but compute is {}", nameOf(p.compute));
  if (std::string reason = epilogueRefusal("depthwise", p, kWarpChannels); !reason.empty()) return reason;
  if (p.strideH != 1 || p.strideW != 1 || p.dilationH != 1 || p.dilationW != 1)
    return fmt::format("depthwise needs stride and dilation 1, but they are {}x{} and {}x{}", p.strideH, p.strideW, p.dilationH,
                       p.dilationW);
  if (p.s > kMaximumFilterWidth)
    return fmt::format("depthwise needs a filter width S of at most {}, but S is {}", kMaximumFilterWidth, p.s);
  if (p.r > 256 || sharedBytes(p) > properties.sharedBytesPerBlock)
    return fmt::format("depthwise needs its rows of {} input pixels in shared memory, but R = {} makes them too many", kBoxColumns,
                       p.r);
  const int64_t aligned = kRowAlignment / bytesOf(p.inputType);
  if (p.c % aligned != 0)
    return fmt::format("depthwise needs C to be a multiple of {} (16-byte accesses), but C is {}", aligned, p.c);
  if (p.inputPitch() % aligned != 0)
    return fmt::format("depthwise needs input_pixel_pitch to be a multiple of {} elements, but it is {}", aligned, p.inputPitch());
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
  const auto elementBytes = static_cast<int32_t>(bytesOf(p.inputType));
  params.boxBytes = boxBytes(params.filterHeight, elementBytes);
  params.limits = limitsOf(p);
  params.bias.type = numberType(p.biasType);

  layout::TiledMap& map = plan.input;
  map.type = isDecoded(p) ? layout::MapType::U8 : elementMapType(p);
  map.rank = 4;
  map.swizzle = isDecoded(p) ? layout::MapSwizzle::B32 : layout::MapSwizzle::B64;
  const uint64_t pixel = static_cast<uint64_t>(p.inputPitch() * elementBytes);
  map.dims = {static_cast<uint64_t>(p.c), static_cast<uint64_t>(p.w), static_cast<uint64_t>(p.h), static_cast<uint64_t>(p.n)};
  map.strides = {pixel, pixel * static_cast<uint64_t>(p.w), pixel * static_cast<uint64_t>(p.w * p.h)};
  map.box = {kCtaChannels, kBoxColumns, static_cast<uint32_t>(kTileRows + p.r - 1), 1};

  plan.output = map;
  const uint64_t outputPixel = static_cast<uint64_t>(p.outputPitch() * elementBytes);
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
  plan.full = needsFullEpilogue(p);
  const bool isActivated = !plan.full && !isDecoded(p) && !hasPlainEpilogue(p);
  plan.scales = isDecoded(p) || isActivated;
  params.beta = p.beta;
  if (plan.full || plan.scales) params.epilogue = epilogueOf(p);
  params.inputs = decodingOf(p, p.inputType);
  params.filters = decodingOf(p, p.filterType);
  const double epilogue = plan.full ? kFullEpilogueClocks : isActivated ? kActivatedClocks : 0;
  plan.modelledClocks = corrected(kStartClocks + plan.waves * (static_cast<double>(p.r) * kRowClocks + epilogue), kCorrection);
  plan.bound = Resource::SharedReads;
  plan.kernelName = fmt::format("depthwise_{}{}", operandsName(p),
                                plan.full         ? "_full"
                                : isActivated     ? "_activated"
                                : p.hasResidual() ? "_residual"
                                                  : "");
  return plan;
}

std::vector<std::string> depthwiseWarpRoles() { return std::vector<std::string>(kWarps, "multiply"); }

std::string DepthwisePlan::describe() const {
  return fmt::format("{}, tile {}x{} pixels x {} channels; grid {}x{}, {} tiles, {:.0f} waves; {} bytes of shared memory",
                     kernelName, kTileRows, kTileColumns, kCtaChannels, launch.grid.x, launch.grid.y, params.tiles, waves,
                     launch.dynamicSharedBytes);
}

}  // namespace shiftconv::plan
