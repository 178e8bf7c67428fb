#include "conv/algorithms/gathered/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/input_parts.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/segment_stores.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::gathered;
using namespace rates::gathered;

namespace {

constexpr std::array<Tile, 4> kTiles{k128x128, k128x64, k64x64, k128x32};
constexpr std::array<std::string_view, 4> kTileNames{"128x128", "128x64", "64x64", "128x32"};

/// What the kernels multiply: how their names have it, and bytes of an element.
struct Kind {
  std::string_view name;
  int64_t bytes;
};
std::optional<Kind> operandKind(const Problem& p) {
  using enum numerics::NumberType;
  const numerics::NumberType input = operandType(p, p.inputType), filter = operandType(p, p.filterType);
  const auto both = [&](numerics::NumberType a, numerics::NumberType b) {
    return (input == a || input == b) && (filter == a || filter == b);
  };
  if (both(F16, F16)) return Kind{"f16", 2};
  if (both(BF16, BF16)) return Kind{"bf16", 2};
  if (both(TF32, TF32)) return Kind{"tf32", 4};
  if (both(E4M3, E5M2)) return Kind{"f8", 1};
  if (both(S8, U8)) return Kind{"i8", 1};
  return std::nullopt;
}

struct Vectors {
  int32_t bytes;
  bool runs;  ///< of a filter row; else of a tap's channels
};
/// The widest vectors that no pixel, tap or group cuts and that there are kernels for; runs of filter rows where they make wider
/// ones.
Vectors vectorsOf(const Problem& p, const Kind& kind) {
  const auto widest = [&](int64_t elements) -> int32_t {
    const int64_t bytes = elements * kind.bytes;
    if (bytes % 16 == 0) return 16;
    if (bytes % 8 == 0 && kind.bytes == 2) return 8;
    if (bytes % 4 == 0) return 4;
    return static_cast<int32_t>(kind.bytes);
  };
  const int32_t channels = widest(p.groupChannels() | p.inputPitch() | p.splitC | (p.isSplit() ? p.secondPitch() : 0));
  const bool dense = p.groups == 1 && !p.isUpsampled() && !p.isSplit() && !p.transposed && p.dilationW == 1 &&
                     p.inputPitch() == p.c && p.inputPixels() * p.c < (int64_t{1} << 29);
  if (!dense || p.s == 1) return {channels, false};
  const int32_t runs = widest(p.s * p.c | p.strideW * p.c | p.padLeft * p.c | p.w * p.c);
  return runs > channels ? Vectors{runs, true} : Vectors{channels, false};
}

/// Narrow vectors have one tile, and the largest tile is of 16-bit elements.
bool hasKernel(size_t tile, const Kind& kind, int32_t vectorBytes) {
  if (vectorBytes != 16) return kTileNames[tile] == "128x64";
  return kind.bytes == 2 || kTileNames[tile] != "128x128";
}

layout::FastDivisor divisor(int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); }
Axis axis(int64_t stored, int64_t upsample, int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore) {
  return {static_cast<int32_t>(stored * upsample),
          static_cast<int32_t>(taps),
          static_cast<int32_t>(stride),
          static_cast<int32_t>(dilation),
          static_cast<int32_t>(padBefore),
          static_cast<int32_t>(stored),
          divisor(upsample)};
}

/// The phases of a transposed convolution; false where it has more than the kernels' table.
bool hasPhases(const Problem& p) { return std::max({p.strideD, p.strideH, p.strideW}) <= kMostStride; }
int64_t phaseCount(const Problem& p) { return p.transposed ? p.strideD * p.strideH * p.strideW : 1; }

/// How far the taps of each axis are apart, and how many a phase has at most.
struct PhaseTaps {
  int64_t step, dilation, most;

  PhaseTaps(int64_t taps, int64_t stride, int64_t dilation)
      : step(stride / std::gcd(stride, dilation)), dilation(dilation / std::gcd(stride, dilation)), most(ceilDivide(taps, step)) {}
};

/// Output o gets tap t of input (o + padBefore - t * dilation) / stride, where that is whole.
void setPhases(AxisPhase (&phases)[kMostStride], int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore) {
  const PhaseTaps own(taps, stride, dilation);
  for (int64_t residue = 0; residue < stride; ++residue) {
    AxisPhase& phase = phases[residue] = {};
    int64_t first = 0;
    while (first < own.step && (residue + padBefore - first * dilation) % stride != 0) ++first;
    if (first == own.step || first >= taps) continue;
    phase.firstTap = static_cast<int16_t>(first);
    phase.taps = static_cast<int16_t>((taps - 1 - first) / own.step + 1);
    // The last of its taps reads farthest to the left.
    phase.padBefore = static_cast<int32_t>((phase.taps - 1) * own.dilation - (residue + padBefore - first * dilation) / stride);
  }
}

/// Share of `outputs` for which a tap finds an input. `first`: the first position o with o * stride >= first finds one.
double reachedBy(int64_t extent, int64_t outputs, int64_t stride, int64_t first) {
  const int64_t low = std::clamp<int64_t>(ceilDivide(std::max<int64_t>(first, 0), stride), 0, outputs);
  const int64_t high = std::clamp<int64_t>(ceilDivide(std::max<int64_t>(extent + first, 0), stride), 0, outputs);
  return static_cast<double>(high - low) / static_cast<double>(outputs);
}

/// Share of (tap, tile) pairs that are multiplied: a tile leaves out the taps outside of the image for all of its pixels. Of the
/// rows of filter taps, by the share of output rows that they reach.
double usefulTaps(const Problem& p) {
  const auto share = [](int64_t extent, int64_t outputs, int64_t taps, int64_t stride, int64_t dilation, int64_t before) {
    double reached = 0;
    for (int64_t tap = 0; tap < taps; ++tap) reached += reachedBy(extent, outputs, stride, before - tap * dilation);
    return reached / static_cast<double>(taps);
  };
  return share(p.imageD(), p.z(), p.t, p.strideD, p.dilationD, p.padFront) *
         share(p.imageH(), p.p(), p.r, p.strideH, p.dilationH, p.padTop);
}

/// Outputs along each axis: of a transposed convolution, those of the largest phase.
std::array<int64_t, 3> outputsOf(const Problem& p) {
  if (!p.transposed) return {p.z(), p.p(), p.q()};
  return {ceilDivide(p.z(), p.strideD), ceilDivide(p.p(), p.strideH), ceilDivide(p.q(), p.strideW)};
}

int64_t phasePixels(const Problem& p) {
  const auto [depth, height, width] = outputsOf(p);
  return p.n * depth * height * width;
}

void setPhases(const Problem& p, Params& params) {
  params.isTransposed = true;
  Phases& phases = params.phases;
  phases.count = divisor(phaseCount(p));
  const int64_t strides[3] = {p.strideD, p.strideH, p.strideW}, taps[3] = {p.t, p.r, p.s}, outputs[3] = {p.z(), p.p(), p.q()},
                dilations[3] = {p.dilationD, p.dilationH, p.dilationW}, pads[3] = {p.padFront, p.padTop, p.padLeft};
  Axis* const axes[3] = {&params.depth, &params.height, &params.width};
  for (int i = 0; i < 3; ++i) {
    const PhaseTaps own(taps[i], strides[i], dilations[i]);
    phases.stride[i] = static_cast<int32_t>(strides[i]);
    phases.tapStep[i] = static_cast<int32_t>(own.step);
    phases.filterTaps[i] = static_cast<int32_t>(taps[i]);
    phases.outputs[i] = static_cast<int32_t>(outputs[i]);
    axes[i]->stride = 1, axes[i]->padBefore = 0, axes[i]->dilation = static_cast<int32_t>(own.dilation);
    setPhases(phases.axis[i], taps[i], strides[i], dilations[i], pads[i]);
  }
}

/// The same of all phases; of filter columns, those that any output of a row reaches.
double usefulPhaseTaps(const Params& params, const std::array<int64_t, 3>& outputs) {
  const Axis* const axes[3] = {&params.depth, &params.height, &params.width};
  double share = 1;
  for (int i = 0; i < 3; ++i) {
    double reached = 0, all = 0;
    for (int32_t residue = 0; residue < params.phases.stride[i]; ++residue) {
      const AxisPhase& phase = params.phases.axis[i][residue];
      for (int32_t tap = 0; tap < phase.taps; ++tap) {
        const double one =
            reachedBy(axes[i]->extent, outputs[static_cast<size_t>(i)], 1, phase.padBefore - tap * axes[i]->dilation);
        reached += i < 2 ? one : std::ceil(one);
        ++all;
      }
    }
    share *= all > 0 ? reached / all : 0;
  }
  return share;
}

/// That a CTA looks for.
int64_t mostTaps(const Problem& p) {
  if (!p.transposed) return p.t * p.r * p.s;
  return PhaseTaps(p.t, p.strideD, p.dilationD).most * PhaseTaps(p.r, p.strideH, p.dilationH).most *
         PhaseTaps(p.s, p.strideW, p.dilationW).most;
}

/// Products of mma.sync from shared memory; 8-bit floats become f16.
double productsPerClock(const Kind& kind, const device::Properties& properties) {
  const double ofF16 = ratesOf(properties).of(Resource::WarpProducts);
  if (kind.name == "i8")
    return ofF16 * (properties.computeMajor == 10 && properties.computeMinor == 3 ? kIntegersRateOnB300 : kIntegersRate);
  return kind.bytes == 4 ? ofF16 * kTf32Rate : ofF16;
}

void model(const Problem& p, const Kind& kind, const device::Properties& properties, const Tile& tile, GatheredPlan& plan) {
  const Rates& rates = ratesOf(properties);
  // A phase has its share of a transposed convolution's taps.
  const double taps =
      p.transposed ? static_cast<double>(p.taps()) / static_cast<double>(phaseCount(p)) * usefulPhaseTaps(plan.params, outputsOf(p))
                   : static_cast<double>(plan.params.taps) * usefulTaps(p);
  const double vectors = std::max(taps, 1.0) * plan.params.tapVectors.divisor;
  const double stepVectors = static_cast<double>(kStepBytes / plan.vectorBytes);
  const double steps = std::ceil(vectors / stepVectors);
  const double products = static_cast<double>(tile.pixels * tile.channels * (kStepBytes / kind.bytes));
  const double multiply = products / productsPerClock(kind, properties);
  const double loads = static_cast<double>(tile.stageBytes()) / rates.of(Resource::L2ToShared);
  const double copies = (tile.pixels + tile.channels) * stepVectors / kVectorsPerClock;
  const double stepClocks = std::max({multiply, loads, copies});
  const double outputs = static_cast<double>(tile.pixels * tile.channels);
  const double epilogue = std::max(outputs / kOutputsPerClock, segmentStoreClocks(p, rates, outputs));
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const double ctas = plan.launch.grid.x;
  const double perMultiprocessor = std::ceil(ctas / multiprocessors), rounds = std::ceil(perMultiprocessor / tile.ctas);
  const double throughput = perMultiprocessor * (steps * stepClocks + epilogue);
  const double chain = rounds * (kStartClocks + steps * (stepClocks + kStepLatency) + epilogue);
  constexpr std::array kOfTile{0.0, kTile128x64Share, kTile64x64Share, kTile128x32Share};
  static_assert(kOfTile.size() == kTiles.size());
  const double ofVector = plan.vectorBytes == 16  ? 0
                          : plan.vectorBytes == 8 ? kVector8Share
                          : plan.vectorBytes == 4 ? kVector4Share
                          : plan.vectorBytes == 2 ? kVector2Share
                                                  : kVector1Share;
  const double ofPhases = p.transposed && bytesOnce(p) > static_cast<double>(properties.l2Bytes) ? kPhasesShare : 0;
  plan.modelledClocks = corrected(rates.launchClocks.perClock + std::max(throughput + kStartClocks, chain), kCorrection,
                                  kOfTile[plan.tile] + ofVector + ofPhases);
  plan.bound = multiply >= loads ? Resource::TensorCore : Resource::L2ToShared;
}

}  // namespace

std::span<const std::string_view> gatheredTileNames() { return kTileNames; }

std::string gatheredRefusal(const Problem& p, const device::Properties& properties) {
  const auto needs = [](std::string_view what) { return fmt::format("gathered {}", what); };
  if (std::string refused = targetRefusal("gathered", properties); !refused.empty()) return refused;
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return needs("takes no block scales");
  if (!operandKind(p))
    return needs(
        fmt::format("multiplies f16, bf16, or f32 as tf32 with the same, and 8-bit floats or integers with each other, but "
                    "input_type and filter_type are {} and {} with compute {}",
                    nameOf(p.inputType), nameOf(p.filterType), nameOf(p.compute)));
  if (p.compute == Compute::F16) return needs("sums in f32, but compute is f16");
  if (std::string refused = zeroPointRefusal("gathered", p); !refused.empty()) return refused;
  if (p.transposed) {
    if (p.isUpsampled() || p.isSplit()) return needs("takes upsampled and split inputs of convolutions that are not transposed");
    if (p.inputZeroPoint != 0 || p.filterZeroPoint != 0) return needs("takes zero points of convolutions that are not transposed");
    if (!hasPhases(p))
      return needs(fmt::format("needs strides up to {} of a transposed convolution, but they are {}, {} and {}", kMostStride,
                               p.strideD, p.strideH, p.strideW));
  }
  const int64_t taps = mostTaps(p);
  if (taps > kMaximumTaps)
    return needs(
        fmt::format("needs at most {} taps {}, but they are {}", kMaximumTaps, p.transposed ? "of a phase" : "T*R*S", taps));
  if (std::string refused = epilogueRefusal("gathered", p, kSegmentColumns); !refused.empty()) return refused;
  for (const auto& [name, value] : {std::pair{"T * dilation_d", p.t * p.dilationD},
                                    {"R * dilation_h", p.r * p.dilationH},
                                    {"S * dilation_w", p.s * p.dilationW}})
    if (value > kMostCoordinate) return needs(fmt::format("needs {} up to {}, but it is {}", name, kMostCoordinate, value));
  constexpr int64_t kLimit = int64_t{1} << 29;
  for (const auto& [name, value] :
       {std::pair{p.upsampleD == 1 ? "D + pad_front" : "D * upsample_d + pad_front", p.imageD() + p.padFront},
        {p.upsampleH == 1 ? "H + pad_top" : "H * upsample_h + pad_top", p.imageH() + p.padTop},
        {p.upsampleW == 1 ? "W + pad_left" : "W * upsample_w + pad_left", p.imageW() + p.padLeft},
        {"Z * stride_d", p.z() * p.strideD},
        {"P * stride_h", p.p() * p.strideH},
        {"Q * stride_w", p.q() * p.strideW}})
    if (value > kLimit) return needs(fmt::format("needs {} up to 2^29 (32-bit coordinates), but it is {}", name, value));
  // Indices of pixels are 32-bit, also those of taps in the padding.
  const int64_t farthest =
      (p.n * p.d + p.padFront + p.t * p.dilationD + p.padBack) * (p.h + p.padTop + p.padBottom) * (p.w + p.padLeft + p.padRight);
  if (p.inputPixels() > kLimit || farthest > std::numeric_limits<int32_t>::max())
    return needs("needs fewer than 2^29 input pixels, and fewer than 2^31 with their padding");
  if (p.groupChannels() * p.t * p.r * p.s > kLimit / 2) return needs("needs at most 2^28 weights for each output channel");
  const int64_t tiles = phaseCount(p) * ceilDivide(phasePixels(p), 64) * p.groups * ceilDivide(p.k / p.groups, 32);
  if (tiles > std::numeric_limits<int32_t>::max()) return needs("needs fewer than 2^31 tiles of 64 pixels x 32 channels");
  if (properties.sharedBytesPerBlock <
      static_cast<uint64_t>(k64x64.stages * k64x64.stageBytes() +
                            sharedTableBytes(k128x128.pixels, static_cast<int32_t>(taps), p.transposed)))
    return needs(fmt::format("has no tile for {} bytes of shared memory", properties.sharedBytesPerBlock));
  return {};
}

std::vector<GatheredPlan> gatheredCandidates(const Problem& p, const device::Properties& properties,
                                             const GatheredChoices& choices) {
  std::vector<GatheredPlan> plans;
  const Kind kind = *operandKind(p);
  const Vectors vectors = vectorsOf(p, kind);
  const int32_t vectorBytes = vectors.bytes;
  const int64_t unit = vectors.runs ? p.c : 1;  // elements of the width that a pixel counts for
  for (size_t i = 0; i < kTiles.size(); ++i) {
    if ((choices.tile && *choices.tile != i) || !hasKernel(i, kind, vectorBytes)) continue;
    const Tile& tile = kTiles[i];
    GatheredPlan plan;
    plan.tile = i;
    plan.vectorBytes = vectorBytes;
    Params& params = plan.params;
    params.depth = axis(p.d, p.upsampleD, p.t, p.strideD, p.dilationD, p.padFront);
    params.height = axis(p.h, p.upsampleH, p.r, p.strideH, p.dilationH, p.padTop);
    params.width = axis(p.w * unit, p.upsampleW, vectors.runs ? 1 : p.s, p.strideW * unit, p.dilationW, p.padLeft * unit);
    const auto [outputDepth, outputHeight, outputWidth] = outputsOf(p);
    params.outputDepth = divisor(outputDepth);
    params.outputHeight = divisor(outputHeight);
    params.outputWidth = divisor(outputWidth);
    const int64_t pixels = phasePixels(p);
    params.pixels = static_cast<int32_t>(pixels);
    params.filterHeight = divisor(p.r);
    params.filterWidth = divisor(params.width.taps);
    const int64_t groupOutputs = p.k / p.groups, channelTiles = ceilDivide(groupOutputs, tile.channels);
    params.channelTiles = divisor(channelTiles);
    params.allChannelTiles = divisor(channelTiles * p.groups);
    const int64_t tapVectors = (vectors.runs ? p.s * p.c : p.groupChannels()) * kind.bytes / vectorBytes;
    params.tapVectors = divisor(tapVectors);
    params.taps = static_cast<int32_t>(p.transposed ? mostTaps(p) : p.t * p.r * params.width.taps);
    params.groupOutputs = static_cast<int32_t>(groupOutputs);
    params.groupVectors = static_cast<int32_t>(vectors.runs ? 0 : tapVectors);
    params.runs = vectors.runs;
    params.indirect = p.isUpsampled() || p.isSplit();
    std::ranges::copy(inputParts(p), params.parts);
    if (vectors.runs) params.parts[0].pixelBytes = kind.bytes;
    params.filterRowBytes = p.t * p.r * p.s * p.groupChannels() * kind.bytes;
    if (p.transposed) setPhases(p, params);
    params.stagesOffset = sharedTableBytes(tile.pixels, params.taps, p.transposed);
    params.types = {p.inputType == DataType::E5M2, p.filterType == DataType::E5M2, p.inputType == DataType::S8,
                    p.filterType == DataType::S8};
    params.plain = isPlainSegment(p) || isPlainBytes(p);
    params.epilogue = epilogueOf(p);
    plan.launch.grid = {static_cast<uint32_t>(ceilDivide(pixels, tile.pixels) * channelTiles * p.groups * phaseCount(p)), 1, 1};
    plan.launch.block = {static_cast<uint32_t>(tile.threads()), 1, 1};
    plan.launch.dynamicSharedBytes = static_cast<uint32_t>(params.stagesOffset + tile.stages * tile.stageBytes());
    plan.launch.programmaticDependent = choices.dependent;
    if (plan.launch.dynamicSharedBytes > properties.sharedBytesPerBlock) continue;
    plan.kernelName.append("gathered_").append(kind.name).append("_").append(kTileNames[i]).append("_v");
    plan.kernelName += std::to_string(vectorBytes);
    model(p, kind, properties, tile, plan);
    plans.push_back(std::move(plan));
  }
  fastestFirst(plans);
  return plans;
}

Tiling GatheredPlan::tiling() const { return {kTiles[tile].pixels, kTiles[tile].channels, 1, {vectorBytes}}; }

std::string GatheredPlan::describe() const {
  return fmt::format(
      "{}, tiles of {} pixels x channels in vectors of {} bytes; {} CTAs, {} bytes of shared memory; modelled {:.0f} clocks",
      kernelName, kTileNames[tile], vectorBytes, launch.grid.x, launch.dynamicSharedBytes, modelledClocks);
}

}  // namespace shiftconv::plan
