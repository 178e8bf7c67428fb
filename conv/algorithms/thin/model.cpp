#include "conv/algorithms/thin/model.hpp"

#include <algorithm>
#include <cmath>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/estimate.hpp"

namespace shiftconv::plan {

using namespace kernels::thin;
using namespace rates::thin;

namespace {

double shareOf(const ThinPlan& plan, int32_t taps) {
  double share = kSplitShare * std::log2(plan.split) + kPixelWarpsShare * std::log2(plan.pixelWarps) +
                 kChannelWarpsShare * std::log2(plan.channelWarps);
  if (plan.tile.pixels == 32) share += kTile32Share;
  if (plan.tile.channels == 8) share += kTile8Share;
  if (taps > 1) share += kTapsShare;
  if (plan.vector == 4) share += kVector4Share;
  if (plan.vector == 2) share += kVector2Share;
  if (plan.vector == 1) share += kVector1Share;
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
  const double products = blocks * kBlockElements * plan.tile.pixels * plan.tile.channels * (isInteger(p.inputType) ? 0.5 : 1.0);
  const int32_t vectors = kMostVector / plan.vector;
  const double instructions = blocks * ((plan.tile.pixels + plan.tile.channels) / 8 * vectors * 4 +
                                        plan.tile.pixels * plan.tile.channels / 64 + (params.taps > 1 ? 30 : 4) * vectors);
  // To f16, of a pair of 8-bit floats; counted in the source. Integers are multiplied as they are, twice as fast.
  const double ofPair = bitsOf(p.inputType) != 8 || isInteger(p.inputType) ? 0 : 1;
  const double finishing = params.isWhole && bitsOf(p.inputType) == 8
                               ? static_cast<double>(warps / plan.split * ctasOfOne) * plan.tile.pixels * plan.tile.channels / 32 *
                                     kWholeInstructionsOfBytes
                               : 0;
  const double decoding = blocks * (plan.tile.pixels + plan.tile.channels) / 8 * (kMostVector / 2) * ofPair;
  const double memory = bytes / rates.of(Resource::DeviceMemory);
  struct {
    double clocks;
    Resource resource;
  } const limits[] = {{latency, Resource::L2ToShared},
                      {distinct / kL2BytesPerClock, Resource::L2ToShared},
                      {loaded / kLoadBytesPerClock, Resource::SharedReads},
                      {products / rates.of(Resource::WarpProducts), Resource::TensorCore},
                      {(instructions + decoding + finishing) / kInstructionsPerClock, Resource::CudaCores},
                      {memory, Resource::DeviceMemory}};
  const auto& slowest =
      *std::max_element(std::begin(limits), std::end(limits), [](const auto& a, const auto& b) { return a.clocks < b.clocks; });
  double others = -slowest.clocks;
  for (const auto& limit : limits) others += limit.clocks;
  plan.modelledClocks = corrected(kStartClocks + slowest.clocks + kSerialShare * others, kCorrection, shareOf(plan, params.taps));
  plan.bound = slowest.resource;
  const auto share = [&](double clocks) { return static_cast<float>(clocks / slowest.clocks); };
  plan.modelParts = {share(latency), share(memory), share(loaded / kLoadBytesPerClock),
                     share((instructions + decoding) / kInstructionsPerClock)};
}

}  // namespace shiftconv::plan
