#include "conv/algorithms/thin/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/thin/model.hpp"
#include "conv/plan/decoding.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/sm90_limits.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::thin;

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 31;  // of a tensor whose offsets are 32-bit
constexpr int64_t kMostGrid = 65535;              // gridDim.y
constexpr int64_t kLeastGroupChannels = 4;        // below, most of a product is padding

/// Of 8 bits: they become f16 in registers.
bool isDecoded(const Problem& p) { return bitsOf(p.inputType) == 8; }

/// The largest of 8, 4, 2 and 1 that divides all.
int32_t commonVector(std::initializer_list<int64_t> lengths) {
  uint64_t bits = kMostVector;
  for (const int64_t length : lengths) bits |= static_cast<uint64_t>(length);
  return 1 << std::countr_zero(bits);
}

/// Whether alpha, a bias, a residual and an activation are all, and everything has the operands' type; or, of 8 bits, what
/// PlainBytes has.
bool hasShortEpilogue(const Problem& p) {
  if (isPlainBytes(p) || isPlainHalves(p)) return true;
  Problem rest = p;
  rest.activation = Activation::None;
  rest.alpha = 1;
  return !isDecoded(p) && sm90::hasPlainEpilogue(rest) && p.outputType == p.inputType &&
         (!p.hasResidual() || p.residualType == p.outputType);
}

/// Whether there is a kernel for the tile, and segments of the whole epilogue lie in one group.
bool isPossible(const Problem& p, Tile tile, int32_t vector, bool isShort) {
  if (tile.channels == 16 && vector != kMostVector) return false;
  if (tile.pixels == 32 && (vector == 1 || (isDecoded(p) && vector != kMostVector))) return false;
  return isShort || p.groups == 1 || (p.k / p.groups) % segmentChannels(tile.channels) == 0;
}

Axis axisOf(int64_t extent, int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore, int64_t bytes) {
  return {static_cast<int32_t>(extent),   static_cast<int32_t>(taps),      static_cast<int32_t>(stride),
          static_cast<int32_t>(dilation), static_cast<int32_t>(padBefore), static_cast<int32_t>(bytes)};
}

layout::FastDivisor divisor(int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); }

/// What does not depend on the choices.
ThinPlan commonPlan(const Problem& p) {
  ThinPlan plan;
  const int64_t taps = p.t * p.r * p.s, elementBytes = bytesOf(p.inputType), pixelBytes = p.inputPitch() * elementBytes;
  plan.element = isDecoded(p) ? "bytes" : sm90::elementName(p);
  plan.vector = commonVector({p.groupChannels(), p.inputPitch()});
  Params& params = plan.params;
  params.vectors = static_cast<int32_t>(taps * p.groupChannels() / plan.vector);
  params.blocks = static_cast<int32_t>(ceilDivide(taps * p.groupChannels(), kBlockElements));
  params.taps = static_cast<int32_t>(taps);
  params.tapVectors = divisor(p.groupChannels() / plan.vector);
  params.filterWidth = divisor(p.s);
  params.filterHeight = divisor(p.r);
  params.depth = axisOf(p.d, p.t, p.strideD, p.dilationD, p.padFront, p.h * p.w * pixelBytes);
  params.height = axisOf(p.h, p.r, p.strideH, p.dilationH, p.padTop, p.w * pixelBytes);
  params.width = axisOf(p.w, p.s, p.strideW, p.dilationW, p.padLeft, pixelBytes);
  params.outputDepth = divisor(p.z());
  params.outputHeight = divisor(p.p());
  params.outputWidth = divisor(p.q());
  params.isDense =
      taps == 1 && p.padFront == 0 && p.padBack == 0 && p.padTop == 0 && p.padBottom == 0 && p.padLeft == 0 && p.padRight == 0;
  params.isLinear = params.isDense && p.strideD == 1 && p.strideH == 1 && p.strideW == 1;
  params.imageBytes = static_cast<int32_t>(p.d * p.h * p.w * pixelBytes);
  params.filterRowBytes = static_cast<int32_t>(taps * p.groupChannels() * elementBytes);
  params.groupOutputs = static_cast<int32_t>(p.k / p.groups);
  params.groupBytes = static_cast<int32_t>(p.groupChannels() * elementBytes);
  params.isWhole = !hasShortEpilogue(p);
  params.hasHalves = isPlainHalves(p);
  params.lean = leanOf(p);
  params.relu = p.activation == Activation::Relu && !p.addsResidualLast();
  params.inputs = decodingOf(p, p.inputType);
  params.filters = decodingOf(p, p.filterType);
  params.epilogue = epilogueOf(p);
  params.storeElements =
      commonVector({p.outputPitch(), p.hasResidual() ? p.residualPitch() : 0, p.groups > 1 ? p.k / p.groups : 0});
  return plan;
}

void complete(const Problem& p, double bytes, const device::Properties& properties, ThinPlan& plan) {
  Params& params = plan.params;
  const int64_t own = threadChannels(plan.tile.channels);
  if (params.storeElements < own || p.k / p.groups % own != 0) params.lean = {};
  if (params.lean != kernels::LeanFlags()) params.isWhole = false;
  const int64_t groupTiles = ceilDivide(p.k / p.groups, plan.tile.channels);
  params.groupTiles = divisor(groupTiles);
  params.channelTiles = static_cast<int32_t>(p.groups * groupTiles);
  params.splitShift = static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(plan.split)));
  params.channelWarpsShift = static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(plan.channelWarps)));
  const uint32_t warps = static_cast<uint32_t>(plan.split * plan.pixelWarps * plan.channelWarps);
  plan.launch.grid = {static_cast<uint32_t>(ceilDivide(p.outputPixels(), int64_t{plan.tile.pixels} * plan.pixelWarps)),
                      static_cast<uint32_t>(ceilDivide(params.channelTiles, plan.channelWarps)), 1};
  plan.launch.block = {warps * 32, 1, 1};
  const bool exchanges = plan.split > 1 || params.isWhole;
  plan.launch.dynamicSharedBytes = exchanges ? warps * exchangeBytes(plan.tile) : 0;
  modelThin(p, bytes, properties, plan);
}

}  // namespace

std::string_view nameOf(Tile tile) {
  constexpr std::array<std::string_view, std::size(kTiles)> kNames{"16x8", "16x16", "16x32", "32x32"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kTiles[i].pixels == tile.pixels && kTiles[i].channels == tile.channels) return kNames[i];
  return "?";
}

std::string thinRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string refused = targetRefusal("thin", properties); !refused.empty()) return refused;
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return "thin takes no block scales";
  using enum DataType;
  const auto both = [&](DataType a, DataType b) {
    return (p.inputType == a || p.inputType == b) && (p.filterType == a || p.filterType == b);
  };
  if (!both(F16, F16) && !both(BF16, BF16) && !both(E4M3, E5M2) && !both(S8, U8))
    return fmt::format(
        "thin multiplies f16 or bf16 with the same, and 8-bit floats or integers with each other, but input_type and filter_type "
        "are "
        "{} and {}",
        nameOf(p.inputType), nameOf(p.filterType));
  if (p.compute != Compute::Default) return fmt::format("thin sums in f32, but compute is {}", nameOf(p.compute));
  if (std::string refused = zeroPointRefusal("thin", p); !refused.empty()) return refused;
  if (p.groups > 1 && p.groupChannels() < kLeastGroupChannels)
    return fmt::format("thin needs {} input channels a group or more, but there are {}", kLeastGroupChannels, p.groupChannels());
  if (p.t + p.r + p.s > kMostTapPositions)
    return fmt::format("thin needs T + R + S up to {} (a bit for each), but they are {}, {} and {}", kMostTapPositions, p.t, p.r,
                       p.s);
  const int64_t elementBytes = bytesOf(p.inputType);
  if (p.inputPixels() * p.inputPitch() * elementBytes >= kMostBytes ||
      p.k * p.t * p.r * p.s * p.groupChannels() * elementBytes >= kMostBytes)
    return "thin needs an input and a filter below 2^31 bytes (32-bit offsets)";
  // From tap 0 of the first output to the last tap of the last one; pads have offsets, too.
  const int64_t reach = (p.inputPixels() - p.d * p.h * p.w) + (p.padFront + p.d - 1 + p.padBack) * p.h * p.w +
                        (p.padTop + p.h - 1 + p.padBottom) * p.w + p.padLeft + p.w + p.padRight;
  if (reach >= ceilDivide(kMostBytes, p.inputPitch() * elementBytes))
    return "thin needs an input below 2^31 bytes with its pads (32-bit offsets)";
  if (p.outputPixels() >= kMostBytes / 2) return "thin needs fewer than 2^30 output pixels";
  if (p.groups * ceilDivide(p.k / p.groups, kTiles[0].channels) > kMostGrid)
    return fmt::format("thin needs K up to {} and as many groups, but they are {} and {}", kMostGrid * kTiles[0].channels, p.k,
                       p.groups);
  if (hasShortEpilogue(p)) return {};
  const int64_t segment = segmentChannels(kTiles[0].channels);
  if (p.groups > 1 && (p.k / p.groups) % segment != 0)
    return fmt::format("thin needs K / groups to be a multiple of {} for this epilogue, but it is {}", segment, p.k / p.groups);
  return epilogueRefusal("thin", p, static_cast<int32_t>(segment));
}

std::vector<ThinPlan> thinCandidates(const Problem& p, const device::Properties& properties, const ThinChoices& choices) {
  const ThinPlan common = commonPlan(p);
  const double bytes = bytesOnce(p);
  const int64_t steps = ceilDivide(common.params.blocks, kStepBlocks),
                mostUsefulSplit = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(steps)));
  constexpr size_t kUsual = 32;
  std::vector<ThinPlan> plans;
  plans.reserve(kUsual);
  const auto add = [&](size_t tile, int32_t split, int32_t pixelWarps, int32_t channelWarps) {
    if ((choices.pixelWarps && *choices.pixelWarps != pixelWarps) ||
        (choices.channelWarps && *choices.channelWarps != channelWarps))
      return;
    ThinPlan& plan = plans.emplace_back(common);
    plan.tile = kTiles[tile];
    plan.split = split;
    plan.pixelWarps = pixelWarps;
    plan.channelWarps = channelWarps;
    complete(p, bytes, properties, plan);
    plan.launch.programmaticDependent = choices.dependent;
    spreadEvenly(properties, plan.launch);
  };
  const bool isOpen = !choices.split && !choices.pixelWarps && !choices.channelWarps;
  for (size_t tile = 0; tile < std::size(kTiles); ++tile) {
    if ((choices.tile && *choices.tile != tile) || !isPossible(p, kTiles[tile], common.vector, !common.params.isWhole)) continue;
    const int64_t pixelTiles = ceilDivide(p.outputPixels(), kTiles[tile].pixels);
    const int64_t tiles = pixelTiles * p.groups * ceilDivide(p.k / p.groups, kTiles[tile].channels);
    for (int32_t split = 1; split <= kMostWarps; split *= 2) {
      const bool isFew = tiles * split <= int64_t{kMostWarps} / 2 * properties.multiprocessors;
      if (choices.split ? *choices.split != split : split > mostUsefulSplit) continue;
      for (int32_t warps = split; warps <= kMostWarps; warps *= 2)
        for (int32_t pixelWarps = 1; pixelWarps * split <= warps; pixelWarps *= 2) {
          const int32_t channelWarps = warps / split / pixelWarps;
          // Unless asked for: 4 or 8 warps, fewer where that makes few CTAs, side by side along the groups, or along the pixels as
          // far as there are any.
          const int32_t usual =
              p.groups > 1
                  ? 1
                  : static_cast<int32_t>(std::min<int64_t>(warps / split, std::bit_ceil(static_cast<uint64_t>(pixelTiles))));
          if (isOpen && (pixelWarps != usual || (warps < kMostWarps / 2 && !(isFew && warps == split)))) continue;
          add(tile, split, pixelWarps, channelWarps);
        }
    }
  }
  fastestFirst(plans);
  return plans;
}

std::string ThinPlan::kernelName() const {
  return fmt::format("thin_{}_v{}_{}{}", element, vector, nameOf(tile), leanSuffix(params.lean));
}

std::string ThinPlan::options() const {
  return OptionText()
      .add("tile", nameOf(tile))
      .add("split", split)
      .add("pixel_warps", pixelWarps)
      .add("channel_warps", channelWarps)
      .addIf(!launch.programmaticDependent, "dependent", "no")
      .text();
}

std::string ThinPlan::describe() const {
  return fmt::format(
      "{}, tile {} pixels x channels of a warp, reduction split by {}, {} x {} tiles a CTA; grid {}x{}, {} blocks of 32 by loads "
      "of "
      "{} elements; {} bytes of shared memory; modelled {:.0f} clocks",
      kernelName(), nameOf(tile), split, pixelWarps, channelWarps, launch.grid.x, launch.grid.y, params.blocks, vector,
      launch.dynamicSharedBytes, modelledClocks);
}

}  // namespace shiftconv::plan
