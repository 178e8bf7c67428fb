#include "conv/algorithms/gathered/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/correction.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/sm90_limits.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::gathered;

namespace {

constexpr std::array<Tile, 4> kTiles{k128x128, k128x64, k64x64, k128x32};
constexpr std::array<std::string_view, 4> kTileNames{"128x128", "128x64", "64x64", "128x32"};
constexpr int64_t kElementBytes = 2;

struct Vectors {
  int32_t bytes;
  bool runs;  ///< of a filter row; else of a tap's channels
};
/// The widest vectors that no pixel, tap or group cuts; runs of filter rows where they make wider ones.
Vectors vectorsOf(const Problem& p) {
  const auto widest = [](int64_t common) {
    for (const int32_t bytes : {16, 8, 4})
      if (common % (bytes / kElementBytes) == 0) return bytes;
    return 2;
  };
  const int32_t channels = widest(p.groupChannels() | p.inputPitch());
  const bool dense = p.groups == 1 && p.dilationW == 1 && p.inputPitch() == p.c && p.inputPixels() * p.c < (int64_t{1} << 29);
  if (!dense || p.s == 1) return {channels, false};
  const int32_t runs = widest(p.s * p.c | p.strideW * p.c | p.padLeft * p.c | p.w * p.c);
  return runs > channels ? Vectors{runs, true} : Vectors{channels, false};
}

/// Narrow vectors have one tile.
bool hasKernel(size_t tile, int32_t vectorBytes) { return vectorBytes == 16 || kTileNames[tile] == "128x64"; }

Axis axis(int64_t extent, int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore) {
  return {static_cast<int32_t>(extent), static_cast<int32_t>(taps), static_cast<int32_t>(stride), static_cast<int32_t>(dilation),
          static_cast<int32_t>(padBefore)};
}
layout::FastDivisor divisor(int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); }

/// The short epilogue of the kernels.
bool isPlain(const Problem& p) {
  return sm90::hasPlainEpilogue(p) && p.outputType == p.inputType && (!p.hasResidual() || p.residualType == p.outputType) &&
         p.outputScale.blockSize == 0;
}

/// Share of (tap, tile) pairs that are multiplied: a tile leaves out the taps outside of the image for all of its pixels. Of the
/// rows of filter taps, by the share of output rows that they reach.
double usefulTaps(const Problem& p) {
  const auto share = [](int64_t extent, int64_t outputs, int64_t taps, int64_t stride, int64_t dilation, int64_t before) {
    double reached = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t first = before - tap * dilation;  // the first position o with o * stride >= first
      const int64_t low = std::clamp<int64_t>(ceilDivide(std::max<int64_t>(first, 0), stride), 0, outputs);
      const int64_t high = std::clamp<int64_t>(ceilDivide(std::max<int64_t>(extent + first, 0), stride), 0, outputs);
      reached += static_cast<double>(high - low) / static_cast<double>(outputs);
    }
    return reached / static_cast<double>(taps);
  };
  return share(p.d, p.z(), p.t, p.strideD, p.dilationD, p.padFront) * share(p.h, p.p(), p.r, p.strideH, p.dilationH, p.padTop);
}

// Rough: of an H200 under the layers of public networks.
constexpr double kLaunchClocks = 2600;   // an empty kernel in a graph
constexpr double kStartClocks = 1500;    // tables and the first operands
constexpr double kStepLatency = 250;     // barrier, ldmatrix and the last product of a step
constexpr double kProductShare = 0.5;    // of the tensor core's rate that mma.sync from shared memory reaches
constexpr double kVectorsPerClock = 16;  // vectors copied, with their addresses
constexpr double kOutputsPerClock = 24;  // of the epilogue

void model(const Problem& p, const device::Properties& properties, const Tile& tile, GatheredPlan& plan) {
  const Rates& rates = ratesOf(properties);
  const double vectors = static_cast<double>(plan.params.taps) * plan.params.tapVectors.divisor * usefulTaps(p);
  const double stepVectors = static_cast<double>(kStepBytes / plan.vectorBytes);
  const double steps = std::ceil(vectors / stepVectors);
  const double products = static_cast<double>(tile.pixels) * tile.channels * (kStepBytes / kElementBytes);
  const Bound step = slowest(rates, std::array<Demand, 2>{{{Resource::TensorCore, products / kProductShare},
                                                           {Resource::L2ToShared, static_cast<double>(tile.stageBytes())}}});
  const double copies = (tile.pixels + tile.channels) * stepVectors / kVectorsPerClock;
  const double stepClocks = std::max(step.clocks, copies);
  const double epilogue = static_cast<double>(tile.pixels) * tile.channels / kOutputsPerClock;
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const double ctas = plan.launch.grid.x;
  const double perMultiprocessor = std::ceil(ctas / multiprocessors), rounds = std::ceil(perMultiprocessor / tile.ctas);
  const double throughput = perMultiprocessor * (steps * stepClocks + epilogue);
  const double chain = rounds * (kStartClocks + steps * (stepClocks + kStepLatency) + epilogue);
  // Fitted: mean error of the logarithm 0.12 over 1,590 candidates.
  constexpr Correction kCorrection{0.222, 0.215, -0.025};
  constexpr std::array<double, kTiles.size()> kOfTile{0, 0.157, 0.022, 0.073};
  const double ofVector = plan.vectorBytes == 16 ? 0 : plan.vectorBytes == 8 ? 0.133 : plan.vectorBytes == 4 ? 0.326 : 1.238;
  plan.modelledClocks =
      corrected(kLaunchClocks + std::max(throughput + kStartClocks, chain), kCorrection, kOfTile[plan.tile] + ofVector);
  plan.bound = step.resource;
}

}  // namespace

std::span<const std::string_view> gatheredTileNames() { return kTileNames; }

std::string gatheredRefusal(const Problem& p, const device::Properties& properties) {
  const auto needs = [](std::string_view what) { return fmt::format("gathered {}", what); };
  if (std::string refused = targetRefusal("gathered", properties); !refused.empty()) return refused;
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return needs("takes no block scales");
  if (p.inputType != DataType::F16 && p.inputType != DataType::BF16)
    return needs(fmt::format("multiplies f16 or bf16, but input_type is {}", nameOf(p.inputType)));
  if (p.filterType != p.inputType)
    return needs(
        fmt::format("needs filter_type to be input_type, but they are {} and {}", nameOf(p.filterType), nameOf(p.inputType)));
  if (p.compute != Compute::Default) return needs(fmt::format("sums in f32, but compute is {}", nameOf(p.compute)));
  const int64_t taps = p.t * p.r * p.s;
  if (taps > kMaximumTaps) return needs(fmt::format("needs at most {} taps T*R*S, but they are {}", kMaximumTaps, taps));
  if (p.groups > 1 && !isPlain(p) && (p.k / p.groups) % kSegmentColumns != 0)
    return needs(
        fmt::format("needs K/groups to be a multiple of {} with this epilogue, but it is {}", kSegmentColumns, p.k / p.groups));
  if (std::string refused = epilogueRefusal("gathered", p, kSegmentColumns); !refused.empty()) return refused;
  for (const auto& [name, value] : {std::pair{"T * dilation_d", p.t * p.dilationD},
                                    {"R * dilation_h", p.r * p.dilationH},
                                    {"S * dilation_w", p.s * p.dilationW}})
    if (value > kMostCoordinate) return needs(fmt::format("needs {} up to {}, but it is {}", name, kMostCoordinate, value));
  constexpr int64_t kLimit = int64_t{1} << 29;
  for (const auto& [name, value] : {std::pair{"D + pad_front", p.d + p.padFront},
                                    {"H + pad_top", p.h + p.padTop},
                                    {"W + pad_left", p.w + p.padLeft},
                                    {"Z * stride_d", p.z() * p.strideD},
                                    {"P * stride_h", p.p() * p.strideH},
                                    {"Q * stride_w", p.q() * p.strideW}})
    if (value > kLimit) return needs(fmt::format("needs {} up to 2^29 (32-bit coordinates), but it is {}", name, value));
  // Indices of pixels are 32-bit, also those of taps in the padding.
  const int64_t farthest =
      (p.n * p.d + p.padFront + p.t * p.dilationD + p.padBack) * (p.h + p.padTop + p.padBottom) * (p.w + p.padLeft + p.padRight);
  if (p.inputPixels() > kLimit || farthest > std::numeric_limits<int32_t>::max())
    return needs("needs fewer than 2^29 input pixels, and fewer than 2^31 with their padding");
  if (p.groupChannels() * taps > kLimit) return needs("needs fewer than 2^29 weights for each output channel");
  const int64_t tiles = ceilDivide(p.outputPixels(), 64) * p.groups * ceilDivide(p.k / p.groups, 32);
  if (tiles > std::numeric_limits<int32_t>::max()) return needs("needs fewer than 2^31 tiles of 64 pixels x 32 channels");
  if (properties.sharedBytesPerBlock <
      static_cast<uint64_t>(k64x64.stages * k64x64.stageBytes() + sharedTableBytes(k128x128.pixels, static_cast<int32_t>(taps))))
    return needs(fmt::format("has no tile for {} bytes of shared memory", properties.sharedBytesPerBlock));
  return {};
}

std::vector<GatheredPlan> gatheredCandidates(const Problem& p, const device::Properties& properties,
                                             const GatheredChoices& choices) {
  std::vector<GatheredPlan> plans;
  const Vectors vectors = vectorsOf(p);
  const int32_t vectorBytes = vectors.bytes;
  const int64_t unit = vectors.runs ? p.c : 1;  // elements of the width that a pixel counts for
  for (size_t i = 0; i < kTiles.size(); ++i) {
    if ((choices.tile && *choices.tile != i) || !hasKernel(i, vectorBytes)) continue;
    const Tile& tile = kTiles[i];
    GatheredPlan plan;
    plan.tile = i;
    plan.vectorBytes = vectorBytes;
    Params& params = plan.params;
    params.depth = axis(p.d, p.t, p.strideD, p.dilationD, p.padFront);
    params.height = axis(p.h, p.r, p.strideH, p.dilationH, p.padTop);
    params.width = axis(p.w * unit, vectors.runs ? 1 : p.s, p.strideW * unit, p.dilationW, p.padLeft * unit);
    params.outputDepth = divisor(p.z());
    params.outputHeight = divisor(p.p());
    params.outputWidth = divisor(p.q());
    params.filterHeight = divisor(p.r);
    params.filterWidth = divisor(params.width.taps);
    const int64_t groupOutputs = p.k / p.groups, channelTiles = ceilDivide(groupOutputs, tile.channels);
    params.channelTiles = divisor(channelTiles);
    params.allChannelTiles = divisor(channelTiles * p.groups);
    const int64_t tapVectors = (vectors.runs ? p.s * p.c : p.groupChannels()) * kElementBytes / vectorBytes;
    params.tapVectors = divisor(tapVectors);
    params.taps = static_cast<int32_t>(p.t * p.r * params.width.taps);
    params.groupOutputs = static_cast<int32_t>(groupOutputs);
    params.groupVectors = static_cast<int32_t>(vectors.runs ? 0 : tapVectors);
    params.runs = vectors.runs;
    params.pixelBytes = (vectors.runs ? 1 : p.inputPitch()) * kElementBytes;
    params.filterRowBytes = p.t * p.r * p.s * p.groupChannels() * kElementBytes;
    params.stagesOffset = sharedTableBytes(tile.pixels, params.taps);
    params.plain = isPlain(p);
    params.epilogue = epilogueOf(p);
    plan.launch.grid = {static_cast<uint32_t>(ceilDivide(p.outputPixels(), tile.pixels) * channelTiles * p.groups), 1, 1};
    plan.launch.block = {static_cast<uint32_t>(tile.threads()), 1, 1};
    plan.launch.dynamicSharedBytes = static_cast<uint32_t>(params.stagesOffset + tile.stages * tile.stageBytes());
    plan.launch.programmaticDependent = choices.dependent;
    if (plan.launch.dynamicSharedBytes > properties.sharedBytesPerBlock) continue;
    plan.kernelName.append("gathered_").append(nameOf(p.inputType)).append("_").append(kTileNames[i]).append("_v");
    plan.kernelName += std::to_string(vectorBytes);
    model(p, properties, tile, plan);
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
