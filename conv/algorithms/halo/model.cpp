#include "conv/algorithms/halo/model.hpp"

#include <algorithm>
#include <cmath>

#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan::sm90::halo {

using namespace rates::halo;

namespace {

/// Two things that go on at once: the longer one decides, but of nearly the same length they hinder each other. The sixth root of
/// a^6 + b^6, or at most 0.014 % less: a quotient in place of pow(), which took 2 % of planning.
double together(double a, double b) {
  const double larger = std::max(a, b), ratio = larger > 0 ? std::min(a, b) / larger : 0, cube = ratio * ratio * ratio;
  const double sixth = cube * cube;
  return larger * (432 + sixth * (468 + sixth * 91)) / (432 + sixth * (396 + sixth * 55));
}

}  // namespace

void model(const Problem& problem, double bytes, const Geometry& g, const ShapeEntry& shape, int64_t boxBytes,
           const device::Properties& properties, HaloPlan& plan) {
  const uint32_t multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const Rates& rates = ratesOf(properties);
  const Params& p = plan.params;
  const double blocks = shape.blocks();
  const double wgmmaClocks = std::max(64.0 * shape.width() * 16 / rates.of(Resource::TensorCore) + kWgmmaGapClocks,
                                      (64.0 + shape.width()) * 32 / rates.of(Resource::SharedReads));
  const double steps = static_cast<double>(p.taps) * p.chunksPerRank;
  // Of nine taps three are narrower.
  const double width = 1 - static_cast<double>(shape.tail) / shape.tileN / 3;
  // Of the chunks on average.
  const double slices = kChunkSlices - (kChunkSlices - p.lastSlices) / static_cast<double>(p.chunks);
  const double multiply = steps * (slices * blocks * wgmmaClocks * width + (shape.consumers() == 1 ? kLoneTapClocks : 0));
  const double weightBytes = steps * static_cast<double>(shape.stageBytes());
  // Where warpgroups alternate, of a pair of boxes the last one may be missing.
  const double perCta = static_cast<double>(ceilDivide(p.tiles * p.split, plan.launch.grid.x));
  plan.waves = std::max(1.0, p.alternates ? std::ceil(perCta / 2) : perCta);
  const double boxes = p.alternates ? perCta / plan.waves : shape.members();
  const double loads = static_cast<double>(boxBytes) / (shape.sharesBoxes ? kSharedRate : 1) * p.chunksPerRank * boxes +
                       (p.weightsResident ? 0 : weightBytes);
  const double active = std::min<double>(multiprocessors, plan.launch.grid.x * plan.launch.grid.y);
  const double l2 = kL2BytesPerClock * (2 * active < multiprocessors ? kFewLoadRate : 1.0);
  const bool isRamp = shape.activated && leanActivated(problem, shape) == kernels::Lean::Ramp;
  const double activated = shape.kind.empty()             ? (isRamp ? kRampClocksPerPixel : kActivatedClocksPerPixel)
                           : isInteger(problem.inputType) ? kIntegersClocksPerPixel
                                                          : kBytesClocksPerPixel;
  const bool isActivated = shape.activated || (shape.residual && (problem.activation == Activation::Silu || !shape.kind.empty()));
  double epilogue = (kEpilogueClocksPerPixel + (isActivated ? activated : 0)) * shape.tileN * std::max(shape.first, shape.second);
  if (shape.pixelsAreA()) {
    epilogue = kPixelTileClocks + epilogue / shape.first * shape.channels() / kBlockChannels;
    if (!hasWholeRows(problem)) epilogue *= kStoredByThreads;
    // Of a pair of warpgroups one multiplies alone while the other is here.
    epilogue = kPixelEpilogueShare * epilogue + std::max(0.0, (1 - kPixelEpilogueShare) * epilogue - multiply / 2);
  }
  if (shape.overBox) epilogue = shape.separate() ? epilogue * kHiddenEpilogueShare : epilogue + kHandOverClocks;
  if (shape.residual) {
    // Read and added to in place. A tile comes when the output before it in its buffer has left: over a box after its products;
    // in a buffer of its own beside them, but for channel blocks that are more than the buffers.
    epilogue *= kResidualShare;
    const double pieces = shape.pieces(), buffers = p.residual.stagings / (p.halves ? 2 : 1);
    if (shape.overBox) {
      epilogue += kResidualClocks;
    } else {
      const double waits = epilogue + std::max(0.0, pieces - buffers) * kResidualClocks / buffers;
      epilogue = std::max(waits, (pieces * kResidualClocks + epilogue) / buffers - multiply);
    }
  }
  // Turned in shared memory and stored from registers, which nothing hides.
  if (shape.isFull()) epilogue *= problem.hasResidual() ? kFullWithResidual : kFull;
  if (shape.isFull() && !problem.hasResidual() && bytesOf(problem.inputType) == 1) epilogue *= kFullOfBytes;
  // Rows of outputs that are no multiple of 16 bytes leave element by element.
  if (shape.isFull() && problem.outputPitch() * g.outputBytes % 16 != 0) epilogue *= kSingleElements;
  if (p.split > 1) {
    // Sums to one rank, which finishes the tile; or half of them each way at once, and each rank finishes half.
    const double share = p.halves ? 0.5 : 1;
    epilogue = epilogue * share + kReductionClocks +
               (p.split - 1) * share * static_cast<double>(accumulatorBytes(shape.first, shape.width())) / kL2BytesPerClock;
  }

  const double tiles = (p.alternates ? 0.5 : 1.0) * p.tiles * plan.launch.grid.y * p.split;
  const double start = kStartClocks + (p.weightsResident ? weightBytes / l2 : 0);
  const double work = plan.waves * (together(multiply, loads / l2) + epilogue);
  plan.bound = multiply >= loads / l2 ? Resource::TensorCore : Resource::L2ToShared;
  const double outputBytes = static_cast<double>(g.n * g.p * g.q * g.k * g.outputBytes) * (shape.residual ? 2 : 1);
  const double memory = (shape.residual && shape.overBox ? kOverBoxMemory : 1) *
                        (bytes / rates.of(Resource::DeviceMemory) +
                         kL2ShareBesideMemory * (tiles * loads + outputBytes) / (kL2BytesPerClock * multiprocessors));
  if (memory > work) plan.bound = Resource::DeviceMemory;
  plan.modelledClocks = corrected(start + together(work, memory), kCorrection);
  if (shape.pixelsAreA() && !shape.residual && g.k % kBlockChannels == 0 && p.lastSlices == kChunkSlices)
    plan.modelledClocks *= kPixelsUntimed;
  const double ringBytes = static_cast<double>(p.patchSlots) * p.patchSlotBytes +
                           (p.weightsResident ? 0 : static_cast<double>(p.weightStages) * static_cast<double>(shape.stageBytes()));
  plan.modelParts = {static_cast<float>(loads / l2 / multiply), static_cast<float>(memory / work),
                     static_cast<float>(epilogue / multiply), static_cast<float>(ringBytes / 1024)};
  const double multiplied = tiles / p.split * shape.members() * shape.channels() * shape.tileN;
  plan.validFraction = static_cast<double>(g.n * g.p * g.q) * static_cast<double>(g.k) / multiplied;
}

}  // namespace shiftconv::plan::sm90::halo
