#include "conv/algorithms/thin/model.hpp"

#include <algorithm>
#include <cmath>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/correction.hpp"
#include "conv/plan/estimate.hpp"

namespace shiftconv::plan {

using namespace kernels::thin;

namespace {

// In clocks of a multiprocessor. Measured on an H200: a kernel that brings 8 KB into each multiprocessor and stores them again
// takes 1.4 us beside 0.7 of an empty one.
constexpr double kStartClocks = 2600;  // launch, place of the pixels, the first batch of loads, the store
constexpr double kCtaClocks = 900;     // the same of a CTA after another one, less the launch
// Guesses.
constexpr double kBatchClocks = 650;     // of loads that come from L2
constexpr double kExchangeClocks = 150;  // of sums between warps
constexpr double kResidualClocks = 100;
constexpr double kWholeEpilogueClocks = 400;  // after the sums, beyond the short one
constexpr double kL2BytesPerClock = 48;       // into a multiprocessor, all at once
constexpr double kLoadBytesPerClock = 64;     // from its L1 cache: rows of 64 bytes each
constexpr double kProductsPerClock = 1024;    // mma.sync, half of wgmma
constexpr double kInstructionsPerClock = 3;   // of four schedulers
constexpr double kSerialShare = 0.1;          // of what is not the slowest: what does not overlap

// Fitted: mean error of the logarithm 0.17 over 3,933 candidates.
constexpr Correction kCorrection{0.446, -0.08, 0.004};
double shareOf(const ThinPlan& plan, int32_t taps) {
  double share = 0.045 * std::log2(plan.split) + 0.048 * std::log2(plan.pixelWarps) - 0.046 * std::log2(plan.channelWarps);
  if (plan.tile.pixels == 32) share += 0.155;
  if (plan.tile.channels == 8) share -= 0.059;
  if (taps > 1) share += 0.127;
  if (plan.vector == 4) share += 0.172;
  if (plan.vector == 2) share += 0.211;
  if (plan.vector == 1) share += 0.504;
  return share;
}

/// Registers of a thread; ptxas takes a little less.
int64_t registersOf(Tile tile) {
  if (tile.pixels == 32) return 192;
  return tile.channels == 8 ? 96 : 128;
}

}  // namespace

void modelThin(const Problem& p, double bytes, const device::Properties& properties, ThinPlan& plan) {
  constexpr int64_t kRegisters = 65536, kMostThreads = 2048, kMostCtas = 32;
  const Params& params = plan.params;
  const Rates& rates = ratesOf(properties);
  const int64_t multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const int64_t ctas = static_cast<int64_t>(plan.launch.grid.count()), threads = plan.launch.block.x, warps = threads / 32;
  const int64_t resident = std::min({kRegisters / (registersOf(plan.tile) * threads), kMostThreads / threads, kMostCtas});
  const int64_t waves = ceilDivide(ctas, multiprocessors * resident), ctasOfOne = ceilDivide(ctas, multiprocessors);
  plan.params.launchEarly = waves == 1;

  // Of the warp with the longest share of the reduction.
  const int64_t steps = ceilDivide(params.blocks, kStepBlocks), ownSteps = ceilDivide(steps, plan.split);
  const int64_t batches = ceilDivide(ownSteps * kStepBlocks, batchBlocks(plan.tile, plan.vector));
  const double tail = (plan.split > 1 ? kExchangeClocks : 0) + (p.hasResidual() ? kResidualClocks : 0) +
                      (params.isWhole ? kWholeEpilogueClocks : 0);
  const double first = static_cast<double>(batches - 1) * kBatchClocks + tail;
  const double latency = first + static_cast<double>(waves - 1) * (first + kCtaClocks);

  // Of a multiprocessor.
  const double blocks = static_cast<double>(params.blocks * warps / plan.split * ctasOfOne);
  const double rowBytes = static_cast<double>(kBlockElements * bytesOf(p.inputType));
  const double loaded = blocks * (plan.tile.pixels + plan.tile.channels) * rowBytes;
  const double distinct = static_cast<double>(params.blocks * ctasOfOne) * rowBytes / static_cast<double>(params.taps) *
                          (plan.tile.pixels * plan.pixelWarps + plan.tile.channels * plan.channelWarps * params.taps);
  const double products = blocks * kBlockElements * plan.tile.pixels * plan.tile.channels;
  const int32_t vectors = kMostVector / plan.vector;
  const double instructions = blocks * ((plan.tile.pixels + plan.tile.channels) / 8 * vectors * 4 +
                                        plan.tile.pixels * plan.tile.channels / 64 + (params.taps > 1 ? 30 : 4) * vectors);
  // To f16, of a pair of 8-bit elements; counted in the source.
  const double ofPair = bitsOf(p.inputType) != 8 ? 0 : isInteger(p.inputType) ? 5 : 1;
  const double decoding = blocks * (plan.tile.pixels + plan.tile.channels) / 8 * (kMostVector / 2) * ofPair;
  const double memory = bytes / rates.of(Resource::DeviceMemory);
  struct {
    double clocks;
    Resource resource;
  } const limits[] = {{latency, Resource::L2ToShared},
                      {distinct / kL2BytesPerClock, Resource::L2ToShared},
                      {loaded / kLoadBytesPerClock, Resource::SharedReads},
                      {products / kProductsPerClock, Resource::TensorCore},
                      {(instructions + decoding) / kInstructionsPerClock, Resource::CudaCores},
                      {memory, Resource::DeviceMemory}};
  const auto& slowest =
      *std::max_element(std::begin(limits), std::end(limits), [](const auto& a, const auto& b) { return a.clocks < b.clocks; });
  double others = -slowest.clocks;
  for (const auto& limit : limits) others += limit.clocks;
  plan.modelledClocks = corrected(kStartClocks + slowest.clocks + kSerialShare * others, kCorrection, shareOf(plan, params.taps));
  plan.bound = slowest.resource;
}

}  // namespace shiftconv::plan
