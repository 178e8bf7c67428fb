#include "conv/plan/sm100/shift_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "common/layout/ceil_divide.hpp"
#include "common/layout/instruction_descriptor.hpp"
#include "shift_window_image.hpp"

namespace shiftconv::plan {

using namespace kernels;

namespace {

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kTileNStep = 16;  // N of an M = 128 tcgen05.mma (PTX ISA table 39 allows 16, 32, .. 256)
constexpr int64_t kMinimumOperandStages = 3;
constexpr int64_t kStreamingOperandStages = 4;
constexpr int64_t kMinimumFilterStages = 2;

using Cut = ShiftWindowCut;

int64_t stageBudget(uint32_t sharedBytesPerBlock) { return int64_t{sharedBytesPerBlock} - sharedBytes(0, 0, 0); }

/// Stages of operands and filter; returns one sentence when the cut does not fit into shared memory.
std::string fitStages(const Problem& p, uint32_t sharedBytesPerBlock, std::optional<bool> residentWanted, Cut& cut) {
  const int64_t budget = stageBudget(sharedBytesPerBlock);
  const int64_t filterBytes = cut.tileN * layout::kSwizzle128RowBytes;
  const int64_t filterTiles = p.r * p.s * ceilDivide(p.c, kChunkChannels);
  const int64_t residentBytes = filterTiles * filterBytes + kMinimumOperandStages * kOperandStageBytes;
  const bool canStay = filterTiles <= kMaximumFilterStages && residentBytes <= budget;
  cut.resident = residentWanted.value_or(canStay);
  if (cut.resident) {
    if (!canStay)
      return fmt::format(
          "resident_weights=yes does not fit with tile_n={}: {} filter stages (at most {}) and {} operand stages take "
          "{} bytes of the {} that a CTA has for stages",
          cut.tileN, filterTiles, kMaximumFilterStages, kMinimumOperandStages, residentBytes, budget);
    cut.filterStages = filterTiles;
    cut.operandStages = std::min<int64_t>(kMaximumOperandStages, (budget - filterTiles * filterBytes) / kOperandStageBytes);
    return {};
  }
  cut.operandStages = kStreamingOperandStages;
  cut.filterStages = std::min<int64_t>(kMaximumFilterStages, (budget - cut.operandStages * kOperandStageBytes) / filterBytes);
  if (cut.filterStages >= kMinimumFilterStages) return {};
  return fmt::format(
      "tile_n={} leaves no room: {} filter stages of {} bytes and {} operand stages exceed the {} bytes that a CTA has "
      "for stages",
      cut.tileN, kMinimumFilterStages, filterBytes, kStreamingOperandStages, budget);
}

/// Demands of one tile in one pass of one CTA. Both producers are modelled alike: see Resource::Staging.
Bound timeOfTile(const Problem& p, const Rates& rates, const Cut& cut) {
  const int64_t chunks = ceilDivide(p.c, kChunkChannels), slices = ceilDivide(p.c, kSliceChannels);
  const double n = static_cast<double>(cut.tileN);
  const double mmas = static_cast<double>(p.r * p.s * slices);
  // Zero-filled channels of a box are written to shared memory but not read from L2, whose unit is a 32-byte sector.
  const double l2RowBytes = static_cast<double>(roundUp(p.c * 2, kSectorBytes));
  const double sharedRowBytes = static_cast<double>(chunks * layout::kSwizzle128RowBytes);
  const double operandRows = static_cast<double>(p.r) * kTensorLanes;
  const double filterRows = static_cast<double>(p.r * p.s) * n;
  const double rowsPerTile = operandRows + (cut.resident ? 0 : filterRows);
  const double operandCopies = static_cast<double>(p.r * slices) * kTensorLanes * layout::kMmaRowBytes;
  const Demand demands[] = {{Resource::TensorCore, mmas * n * kTensorLanes * kSliceChannels},
                            {Resource::L2ToShared, rowsPerTile * l2RowBytes},
                            {Resource::BulkWrites, rowsPerTile * sharedRowBytes},
                            {Resource::TensorCopy, operandCopies},
                            {Resource::SharedReads, operandCopies + mmas * n * layout::kMmaRowBytes}};
  return slowest(rates, demands);
}

void model(const Problem& p, int64_t tiles, const device::Properties& properties, std::optional<uint32_t> ctasWanted, Cut& cut) {
  const Rates& rates = ratesOf(properties);
  const Bound tile = timeOfTile(p, rates, cut);
  cut.clocksPerTile = tile.clocks;
  cut.bound = tile.resource;

  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors);
  const int64_t available = std::max<int64_t>(1, properties.multiprocessors / cut.passes);
  const int64_t tilesPerCta = ceilDivide(tiles, std::min(tiles, ctasWanted ? int64_t{*ctasWanted} : available));
  cut.ctas = ceilDivide(tiles, tilesPerCta);
  const double waves = static_cast<double>(ceilDivide(cut.ctas * cut.passes, multiprocessors));
  const double residentBytes =
      static_cast<double>(p.r * p.s * cut.tileN * ceilDivide(p.c, kChunkChannels)) * layout::kSwizzle128RowBytes;
  cut.clocks = waves * (static_cast<double>(tilesPerCta) * cut.clocksPerTile +
                        (cut.resident ? residentBytes / rates.of(Resource::BulkWrites) : 0));
}

layout::TiledMap inputMap(const Problem& p) {
  layout::TiledMap map;
  map.type = p.inputType == DataType::BF16 ? layout::MapType::BF16 : layout::MapType::F16;
  map.rank = 2;
  map.dims = {static_cast<uint64_t>(p.c), static_cast<uint64_t>(p.n * p.h * p.w)};
  map.strides = {static_cast<uint64_t>(p.inputPitch()) * bytesOf(p.inputType)};
  map.box = {kChunkChannels, kWindowLanes};
  map.swizzle = layout::MapSwizzle::B128;
  return map;
}

layout::TiledMap filterMap(const Problem& p, int64_t tileN) {
  layout::TiledMap map = inputMap(p);
  map.rank = 3;
  map.dims = {static_cast<uint64_t>(p.c), static_cast<uint64_t>(p.r * p.s), static_cast<uint64_t>(p.k)};
  const uint64_t tapBytes = static_cast<uint64_t>(p.c) * bytesOf(p.inputType);
  map.strides = {tapBytes, tapBytes * static_cast<uint64_t>(p.r * p.s)};
  map.box = {kChunkChannels, 1, static_cast<uint32_t>(tileN)};
  return map;
}

int64_t tileCount(const Problem& p) {
  return ceilDivide(p.n * p.h * p.w, int64_t{kWindows} * usefulLanes(static_cast<int32_t>(p.s)));
}

/// Of a tile in all passes, whatever of the tensors lies in it.
Traffic anyTile(const ShiftWindowPlan& plan) {
  const Problem& p = plan.problem;
  const int64_t chunks = ceilDivide(p.c, kChunkChannels), slices = ceilDivide(p.c, kSliceChannels), passes = plan.cut.passes;
  const int64_t filterStageBytes = plan.cut.tileN * layout::kSwizzle128RowBytes;
  Traffic traffic;
  traffic.mmas = passes * p.r * p.s * slices;
  traffic.products = traffic.mmas * kTensorLanes * plan.cut.tileN * kSliceChannels;
  traffic.multiplyReadBytes = traffic.mmas * plan.cut.tileN * layout::kMmaRowBytes;
  if (plan.producer == OperandProducer::TensorCopy)
    traffic.copyReadBytes = passes * p.r * slices * kTensorLanes * layout::kMmaRowBytes;
  traffic.writtenBytes = passes * p.r * chunks * kOperandStageBytes;
  traffic.multipliedRows = passes * kTensorLanes;
  if (!plan.cut.resident) {
    traffic.filterBytes = p.r * p.s * p.c * p.k * bytesOf(p.filterType);
    traffic.writtenBytes += passes * p.r * p.s * chunks * filterStageBytes;
  }
  return traffic;
}

/// Bytes of activations that `tiles` tiles from `tile` on load in all passes. Windows lie at equal distances; only the first and
/// last ones reach out of the tensor.
int64_t activationBytes(const ShiftWindowPlan& plan, int64_t tile, int64_t tiles) {
  const Problem& p = plan.problem;
  const int64_t distance = usefulLanes(static_cast<int32_t>(p.s)), windows = tiles * kWindows, end = p.n * p.h * p.w;
  int64_t rows = 0;
  for (int64_t r = 0; r < p.r; ++r) {
    const int64_t first = tile * kWindows * distance + (r * p.dilationH - p.padTop) * p.w - p.padLeft;
    const auto inside = [&](int64_t window) {
      const int64_t begin = first + window * distance;
      return std::max<int64_t>(0, std::min(begin + kWindowLanes, end) - std::max<int64_t>(begin, 0));
    };
    // Whole windows lie between these two.
    const int64_t low = std::clamp<int64_t>(first < 0 ? ceilDivide(-first, distance) : 0, 0, windows);
    const int64_t room = end - kWindowLanes - first;
    const int64_t high = std::clamp<int64_t>(room < 0 ? 0 : room / distance + 1, low, windows);
    rows += (high - low) * kWindowLanes;
    for (int64_t window = 0; window < low; ++window) rows += inside(window);
    for (int64_t window = high; window < windows && inside(window) > 0; ++window) rows += inside(window);
  }
  return plan.cut.passes * rows * p.c * bytesOf(p.inputType);
}

std::string kernelNameOf(const Problem& p, OperandProducer producer) {
#define SHIFTCONV_NAME(NAME, PATH, OUTPUT) \
  if (producer == OperandProducer::PATH && p.outputType == DataType::OUTPUT) return #NAME;
  SHIFTCONV_SHIFT_WINDOW_KERNELS(SHIFTCONV_NAME)
#undef SHIFTCONV_NAME
  return {};  // another output type, which is refused
}

/// Everything beyond a plain 2-D convolution of 16-bit types with bias and ReLU, by name.
std::string refusedFeature(const Problem& p) {
  if (!isTwoDimensional(p)) return fmt::format("is two-dimensional, but d is {} and t is {}", p.d, p.t);
  if (p.groups != 1) return fmt::format("does no groups, but groups is {}", p.groups);
  if (p.inputType != DataType::F16 && p.inputType != DataType::BF16)
    return fmt::format("multiplies f16 or bf16, but input_type is {}", nameOf(p.inputType));
  if (p.filterType != p.inputType)
    return fmt::format("needs filter_type = input_type, but they are {} and {}", nameOf(p.filterType), nameOf(p.inputType));
  if (p.outputType != DataType::F16 && p.outputType != DataType::BF16 && p.outputType != DataType::F32)
    return fmt::format("writes f16, bf16 or f32, but output_type is {}", nameOf(p.outputType));
  if (p.compute != Compute::Default) return fmt::format("sums in f32, but compute is {}", nameOf(p.compute));
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0)
    return "does no block scales, but input_block_scale, filter_block_scale or output_block_scale is set";
  if (p.alpha != 1) return fmt::format("does not scale its sums, but alpha is {}", p.alpha);
  if (p.hasChannelScale) return "does not scale its channels, but has_channel_scale is 1";
  if (p.hasBias && p.biasType != DataType::F32) return fmt::format("adds an f32 bias, but bias_type is {}", nameOf(p.biasType));
  if (p.hasResidual()) return fmt::format("adds no residual, but beta is {}", p.beta);
  if (p.activation != Activation::None && p.activation != Activation::Relu)
    return fmt::format("has the activation relu only, but activation is {}", nameOf(p.activation));
  if (p.hasAmax) return "computes no amax, but has_amax is 1";
  if (p.outScale != 1) return fmt::format("does not scale its outputs, but out_scale is {}", p.outScale);
  return {};  // zero points come with integer types only
}

}  // namespace

std::string shiftWindowRefusal(const Problem& p, const device::Properties& properties) {
  const int cc = properties.computeMajor * 10 + properties.computeMinor;
  if (cc != 100 && cc != 103 && cc != 110)
    return fmt::format("shift_window needs tcgen05 (compute capability 10.0, 10.3 or 11.0), but {} has {}.{}", properties.name,
                       properties.computeMajor, properties.computeMinor);
  if (const std::string feature = refusedFeature(p); !feature.empty()) return "shift_window " + feature;
  if (p.strideH != 1 || p.strideW != 1)
    return fmt::format("shift_window needs stride 1 (a shift moves by one pixel), but stride is {}x{}", p.strideH, p.strideW);
  if (p.dilationW != 1)
    return fmt::format("shift_window needs dilation_w = 1 (a shift moves by one pixel), but it is {}", p.dilationW);
  if (p.s < 2 || p.s > kMaximumFilterExtent)
    return fmt::format("shift_window needs a filter width S of 2 to {}, but S is {}", kMaximumFilterExtent, p.s);
  if (p.r > kMaximumFilterExtent)
    return fmt::format("shift_window needs a filter height R of at most {}, but R is {}", kMaximumFilterExtent, p.r);
  if (p.p() > p.h)
    return fmt::format("shift_window needs P <= H, but pad_top + pad_bottom = {} exceeds (R-1)*dilation_h = {}",
                       p.padTop + p.padBottom, (p.r - 1) * p.dilationH);
  if (p.q() > p.w)
    return fmt::format("shift_window needs Q <= W, but pad_left + pad_right = {} exceeds S-1 = {}", p.padLeft + p.padRight,
                       p.s - 1);
  if (p.c % 8 != 0) return fmt::format("shift_window needs C to be a multiple of 8 (16-byte rows), but C is {}", p.c);
  if (p.k % 8 != 0) return fmt::format("shift_window needs K to be a multiple of 8 (16-byte stores), but K is {}", p.k);
  if (p.inputPitch() % 8 != 0)
    return fmt::format("shift_window needs an input pixel pitch that is a multiple of 8 elements, but it is {}", p.inputPitch());
  if (p.outputPitch() % 8 != 0)
    return fmt::format("shift_window needs an output pixel pitch that is a multiple of 8 elements, but it is {}", p.outputPitch());
  // Row numbers of a tile, with the rows that its filter reaches below it, are 32-bit coordinates.
  const int64_t lastRow = p.n * p.h * p.w + p.r * p.dilationH * p.w + 2 * kTensorLanes;
  if (lastRow > std::numeric_limits<int32_t>::max())
    return fmt::format("shift_window needs N*H*W + R*dilation_h*W below 2^31 (32-bit TMA coordinates), but it is {}", lastRow);
  if (stageBudget(properties.sharedBytesPerBlock) <
      kStreamingOperandStages * int64_t{kOperandStageBytes} + kMinimumFilterStages * kTileNStep * layout::kSwizzle128RowBytes)
    return fmt::format("shift_window needs more shared memory per block than the {} bytes of {}", properties.sharedBytesPerBlock,
                       properties.name);
  return {};
}

std::string shiftWindowCuts(const Problem& p, const device::Properties& properties, const ShiftWindowChoices& choices,
                            std::vector<Cut>& cuts) {
  if (choices.tileN && (*choices.tileN % kTileNStep != 0 || *choices.tileN < kTileNStep || *choices.tileN > kMaximumTileN))
    return fmt::format("tile_n must be a multiple of {} from {} to {}, but it is {}", kTileNStep, kTileNStep, kMaximumTileN,
                       *choices.tileN);
  if (choices.ctas && *choices.ctas == 0) return "ctas must be at least 1";

  const int64_t tiles = tileCount(p);
  std::string reason;
  const auto offer = [&](int64_t tileN) {
    Cut cut;
    cut.tileN = tileN;
    cut.passes = ceilDivide(p.k, tileN);
    reason = fitStages(p, properties.sharedBytesPerBlock, choices.residentWeights, cut);
    if (!reason.empty()) return;
    model(p, tiles, properties, choices.ctas, cut);
    cuts.push_back(cut);
  };
  cuts.clear();
  if (choices.tileN) {
    offer(*choices.tileN);
  } else {
    // Every pass count with a tile of its own.
    int64_t lastTileN = 0;
    for (int64_t passes = ceilDivide(p.k, kMaximumTileN); passes <= ceilDivide(p.k, kTileNStep); ++passes) {
      const int64_t tileN = roundUp(ceilDivide(p.k, passes), kTileNStep);
      if (tileN != lastTileN) offer(tileN);
      lastTileN = tileN;
    }
  }
  return cuts.empty() ? reason : std::string();
}

std::string planShiftWindow(const Problem& p, const device::Properties& properties, const ShiftWindowChoices& choices,
                            ShiftWindowPlan& plan) {
  std::vector<Cut> cuts;
  if (std::string reason = shiftWindowCuts(p, properties, choices, cuts); !reason.empty()) return reason;
  // The fewest passes win a tie, because each copies the activations again.
  const Cut& best = *std::min_element(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.clocks < b.clocks; });
  plan.cut = best;

  plan.producer = choices.producer.value_or(OperandProducer::TensorCopy);
  plan.kernelName = kernelNameOf(p, plan.producer);
  plan.input = inputMap(p);
  plan.filter = filterMap(p, best.tileN);

  ShiftWindowParams& params = plan.params;
  params = {};
  params.height = static_cast<int32_t>(p.h);
  params.width = static_cast<int32_t>(p.w);
  params.outputHeight = static_cast<int32_t>(p.p());
  params.outputWidth = static_cast<int32_t>(p.q());
  params.filterHeight = static_cast<int32_t>(p.r);
  params.filterWidth = static_cast<int32_t>(p.s);
  params.dilationH = static_cast<int32_t>(p.dilationH);
  params.padTop = static_cast<int32_t>(p.padTop);
  params.padLeft = static_cast<int32_t>(p.padLeft);
  params.anchors = static_cast<int32_t>(p.n * p.h * p.w);
  params.outputChannels = static_cast<int32_t>(p.k);
  params.outputPitch = p.outputPitch();
  params.channelChunks = static_cast<int32_t>(ceilDivide(p.c, kChunkChannels));
  params.lastChunkSlices =
      static_cast<int32_t>(ceilDivide(p.c - (params.channelChunks - 1) * int64_t{kChunkChannels}, kSliceChannels));
  params.tileN = static_cast<int32_t>(best.tileN);
  params.tiles = static_cast<int32_t>(tileCount(p));
  params.operandStages = static_cast<int32_t>(best.operandStages);
  params.filterStages = static_cast<int32_t>(best.filterStages);
  params.filterResident = best.resident;
  params.relu = p.activation == Activation::Relu;
  params.instructionDescriptor =
      layout::instructionDescriptorF16(p.inputType == DataType::BF16 ? numerics::NumberType::BF16 : numerics::NumberType::F16,
                                       layout::MmaAccumulator::F32, kTensorLanes, static_cast<uint32_t>(best.tileN));
  params.byWidth = layout::FastDivisor(static_cast<uint32_t>(p.w));
  params.byImage = layout::FastDivisor(static_cast<uint32_t>(p.h * p.w));

  plan.launch.grid = {static_cast<uint32_t>(best.ctas), static_cast<uint32_t>(best.passes), 1};
  plan.launch.block = {threadsOf(plan.producer), 1, 1};
  plan.launch.cluster = {1, 1, 1};
  plan.launch.dynamicSharedBytes = sharedBytes(params.operandStages, params.filterStages, params.tileN);

  plan.problem = p;
  plan.traffic = anyTile(plan) * plan.tiles();
  plan.traffic += plan.ofCluster() * plan.clusters();
  plan.traffic.activationBytes = activationBytes(plan, 0, plan.tiles());
  plan.traffic.storedRows = best.passes * p.outputPixels();
  return {};
}

Traffic ShiftWindowPlan::ofTile(int64_t tile) const {
  const Problem& p = problem;
  Traffic traffic = anyTile(*this);
  traffic.activationBytes = activationBytes(*this, tile, 1);
  const int64_t anchors = int64_t{kWindows} * usefulLanes(params.filterWidth);
  for (int64_t anchor = tile * anchors; anchor < std::min<int64_t>((tile + 1) * anchors, params.anchors); ++anchor)
    if (anchor % p.w < p.q() && anchor / p.w % p.h < p.p()) traffic.storedRows += cut.passes;
  return traffic;
}

Traffic ShiftWindowPlan::ofCluster() const {
  Traffic traffic;
  if (!cut.resident) return traffic;
  traffic.filterBytes = problem.r * problem.s * problem.c * problem.k * bytesOf(problem.filterType);
  traffic.writtenBytes = cut.passes * cut.filterStages * cut.tileN * int64_t{layout::kSwizzle128RowBytes};
  return traffic;
}

std::string ShiftWindowPlan::describe() const {
  const ShiftWindowParams& p = params;
  std::string text;
  text += fmt::format("tile       {} pixels ({} windows of {} useful lanes) x {} output channels, {} tiles, {} pass(es)\n",
                      kWindows * usefulLanes(p.filterWidth), kWindows, usefulLanes(p.filterWidth), p.tileN, p.tiles, launch.grid.y);
  text += fmt::format("reduction  {} filter rows x {} channel chunks x {} taps by {}, 16-channel slices in the last chunk: {}\n",
                      p.filterHeight, p.channelChunks, p.filterWidth, "shift", p.lastChunkSlices);
  text += fmt::format("operands   shared memory -> Tensor Memory by {}, {} stages of 16 KiB, {} slots of {} columns\n",
                      producer == OperandProducer::TensorCopy ? "tcgen05.cp" : "ld.shared + tcgen05.st", p.operandStages,
                      kOperandSlots, kSlotColumns);
  text += fmt::format("filter     {}, {} stages of {} bytes\n",
                      p.filterResident ? "resident in shared memory" : "streamed for every tile", p.filterStages,
                      p.tileN * static_cast<int32_t>(layout::kSwizzle128RowBytes));
  text += fmt::format("Tensor Mem {} of {} columns\n", kAccumulators * accumulatorColumns(p.tileN) + kOperandSlots * kSlotColumns,
                      kTensorColumns);
  text += fmt::format("modelled   {:.0f} clocks a tile, bound by {}; {:.0f} clocks in all\n", cut.clocksPerTile, nameOf(cut.bound),
                      cut.clocks);
  return text;
}

std::vector<std::string> shiftWindowWarpRoles(OperandProducer producer) {
  static_assert(std::size(kWarpRoles) == warpsOf(OperandPath::RegisterStore), "a name for every warp");
  return {std::begin(kWarpRoles), std::begin(kWarpRoles) + warpsOf(producer)};
}

device::ModuleImage shiftWindowImage() { return images::shift_window(); }

}  // namespace shiftconv::plan
