#include "conv/algorithms/im2col_sm90/model.hpp"

#include <algorithm>
#include <cmath>

#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/shared_memory.hpp"

namespace shiftconv::plan::sm90::im2col {

using namespace rates::im2col_sm90;

namespace {

double productShare(int32_t channels) {
  if (channels >= 256) return kProductShareOf256;
  if (channels >= 128) return kProductShareOf128;
  return channels >= 64 ? kProductShareOf64 : kProductShareOfFewer;
}

/// CTAs of a multiprocessor at once.
double residentCtas(const Tile& tile, const device::Properties& properties, const Im2colPlan& plan) {
  const int64_t shared = static_cast<int64_t>(properties.sharedBytesPerBlock) + kReservedSharedBytes;
  return static_cast<double>(std::clamp<int64_t>(shared / (plan.launch.dynamicSharedBytes + kReservedSharedBytes), 1, tile.ctas));
}

/// How many times as fast as rows of its own a CTA gets those that 2^shift CTAs share.
double sharedRate(int32_t shift) { return shift == 0 ? 1 : shift == 1 ? kSharedRate : kSharedRate * kSharedRate; }

}  // namespace

double usefulTaps(const gemm::Window::Axis& axis) {
  double reached = 0;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    const int64_t first = axis.before - tap * axis.step;  // the first position o with o * stride >= first
    const int64_t low = std::clamp<int64_t>(ceilDivide(std::max<int64_t>(first, 0), axis.stride), 0, axis.positions);
    const int64_t high = std::clamp<int64_t>(ceilDivide(std::max<int64_t>(axis.extent + first, 0), axis.stride), 0, axis.positions);
    reached += static_cast<double>(high - low);
  }
  return reached / static_cast<double>(axis.taps * axis.positions);
}

void model(const Task& task, const Tile& tile, Im2colPlan& plan) {
  const Problem& p = task.p;
  const device::Properties& properties = task.properties;
  const Rates& rates = task.rates;
  // A tile has whole rows, so that taps are left out by rows and planes only, and none where it has whole planes or images.
  const double ofRows = tile.pixels < task.planePixels ? task.usefulRows : 1;
  const double ofPlanes = tile.pixels < task.imagePixels ? task.usefulPlanes : 1;
  const int32_t split = 1 << plan.params.splitShift;
  const auto chunks = static_cast<double>(ceilDivide(plan.params.chunks, split));
  const double steps = std::max(1.0, task.meanTaps * ofRows * ofPlanes) * chunks,
               longest = std::max(1.0, static_cast<double>(task.taps) * ofRows * ofPlanes) * chunks;
  const double rows = tile.pixels + tile.channels,
               rowBytes = static_cast<double>(std::min<int64_t>(p.groupChannels() * elementBytes(p), kRowBytes));
  // Of 128 bytes, whatever they are: 8-bit operands have twice the rate.
  const double products = static_cast<double>(tile.pixels) * tile.channels * chunkChannels(2) /
                          (rates.of(Resource::TensorCore) * productShare(tile.channels));
  // Of rows that a CTA shares it asks for its part.
  const auto [pixelsShift, filterShift] = shiftsOf(plan.shared);
  const double loadBytes = (tile.pixels / sharedRate(pixelsShift) + tile.channels / sharedRate(filterShift)) * rowBytes;
  const double ownRows = (tile.pixels >> pixelsShift) + (tile.channels >> filterShift);
  const double requests = plan.isInPieces() ? rows * kRowBytes / std::max(plan.params.pieces.bytes, 2) / kPiecesPerClock
                                            : ownRows / rates.rowsPerClock(p.groupChannels() * elementBytes(p));
  const double loads = std::max(loadBytes / kLoadBytesPerClock, requests), step = std::max(products, loads);
  const bool passes = plan.params.packed == kernels::im2col::Packed::No;
  const double epilogue =
      static_cast<double>(tile.pixels) * tile.channels * 2 / (passes ? kPassedOutputBytesPerClock : kOutputBytesPerClock);
  const auto atOnce = static_cast<double>(mostClusteredCtas(properties, plan.launch.cluster.x));
  const double ctas = std::ceil(static_cast<double>(plan.launch.grid.count()) / atOnce);
  const double rounds = std::ceil(ctas / residentCtas(tile, properties, plan));
  const double reduction = split == 1 ? 0 : kReductionClocks + receivedBytes(split, tile.channels) / kSumBytesPerClock;
  const double work = ctas * (kCtaClocks + steps * step + (epilogue + reduction) / split);
  const double peers = plan.shared == Shared::None ? 0 : kPeersClocks;
  const double loneLoads = loadBytes / rates.loneL2ToShared.perClock * (plan.isDeep() ? kDeepShare : 1);
  const double waits = plan.shiftsWords() ? steps * kShiftedClocks : 0;
  const double chain =
      rounds * (rates.startClocks.perClock + peers + epilogue + reduction + waits) + longest * std::max(step, loneLoads);
  const double memory = task.bytes / (rates.of(Resource::DeviceMemory) * kMemoryShare);
  const double slowest = std::max({work, chain, memory});
  plan.modelParts = {static_cast<float>(loads / products), static_cast<float>(memory / work), static_cast<float>(chain / work)};
  plan.modelledClocks = kLaunchClocks + slowest + kSerialShare * (work + chain + memory - slowest);
  plan.bound = slowest == memory ? Resource::DeviceMemory : products > loads ? Resource::TensorCore : Resource::L2ToShared;
}

}  // namespace shiftconv::plan::sm90::im2col
