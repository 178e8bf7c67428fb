#include "conv/algorithms/halo/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "conv/algorithms/halo/model.hpp"
#include "conv/algorithms/halo/places.hpp"
#include "conv/algorithms/halo/useful_shapes.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/limits.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan {

using namespace sm90;
using namespace sm90::halo;

namespace {

/// Buffers for tiles of residual that a multiplying warpgroup would like to have: one for each of its pieces, and one more
/// where a tile has few products, so that the next tile's residual comes while this one's output is stored.
int64_t wantedStagings(const ShapeEntry& shape, const Params& params) {
  // Of a tile: less than 2000 clocks.
  const int64_t fewSteps = shape.pixelsAreA() ? 1000 / (shape.first * shape.width()) : 6;
  const int64_t steps = int64_t{params.taps} * params.chunksPerRank;
  return std::min<int64_t>(shape.pieces() + (steps < fewSteps ? 1 : 0), kMaximumStagings / (params.halves ? 2 : 1));
}

/// Slots, stages and buffers that fit beside each other. False when the fewest do not.
bool fitShared(const ShapeEntry& shape, int64_t outputBytes, uint32_t sharedBytesPerBlock, bool weightsMayBeResident,
               int64_t tilesPerCta, HaloPlan& plan) {
  Params& params = plan.params;
  int64_t budget = int64_t{sharedBytesPerBlock} - layout::kSwizzle128AtomBytes - kControlBytes - shape.stagingBytes(outputBytes);
  const int64_t slot = params.patchSlotBytes, stage = shape.stageBytes();
  const int64_t allStages = int64_t{params.taps} * params.chunks;
  const int64_t fewestSlots = shape.overBox ? shape.members() + 1 : 2 * shape.members();
  constexpr int64_t kFewestStages = 3;
  // No more than a CTA ever fills.
  const int64_t mostSlots =
      std::clamp<int64_t>(tilesPerCta * params.chunksPerRank * params.patches * shape.members(), fewestSlots, 8);
  const int64_t mostStages = std::clamp<int64_t>(tilesPerCta * params.chunksPerRank * params.taps, kFewestStages, 18);

  // As much of the reduction ahead in either ring: a box is worth as many stages as it has taps. Resident weights must leave room
  // for some steps of it: with two boxes of one tap each, 1x1 layers took 1.6 to 3.5 times as long as with weights that stream
  // (H200).
  const double tapsPerSlot = static_cast<double>(params.taps) / (params.patches * shape.members());
  constexpr int32_t kFewestSteps = 4;
  const int64_t enoughSlots = params.groupChannels > 0  // whose weights have to stay
                                  ? fewestSlots
                                  : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(kFewestSteps / tapsPerSlot)), fewestSlots,
                                                        std::max(fewestSlots, mostSlots));
  params.weightsResident = weightsMayBeResident && allStages <= kMaximumStages && allStages * stage + enoughSlots * slot <= budget;
  if (!params.weightsResident && params.groupChannels > 0) return false;
  int64_t slots = fewestSlots, stages = params.weightsResident ? allStages : kFewestStages;
  int64_t stagings = 1;
  if (slots * slot + stages * stage > budget) return false;
  if (shape.residual && !shape.overBox) {
    for (const int64_t wanted = wantedStagings(shape, params);
         stagings < wanted && slots * slot + stages * stage + shape.stagingBytes(outputBytes) <= budget; ++stagings)
      budget -= shape.stagingBytes(outputBytes);
    const int64_t halves = params.halves ? 2 : 1;
    params.residual.stagings = static_cast<int32_t>(stagings * halves);
    params.residual.stagingBytes = static_cast<uint32_t>(shape.tileN / halves * shape.pieceRowBytes(outputBytes));
  }
  // In turn, as long as both rings may grow; then one of them.
  int64_t left = budget - slots * slot - stages * stage;
  while (!params.weightsResident && slots < mostSlots && slot <= left && stages < mostStages && stage <= left) {
    const bool isStage = static_cast<double>(stages) < static_cast<double>(slots) * tapsPerSlot;
    (isStage ? stages : slots) += 1;
    left -= isStage ? stage : slot;
  }
  if (slots < mostSlots && slot <= left)
    slots += std::min(mostSlots - slots, left / slot);
  else if (!params.weightsResident && stages < mostStages)
    stages += std::min(mostStages - stages, left / stage);
  // Of an odd number that two warpgroups take turns in, each box waits until the one before it has come (loads.cuh).
  if (shape.separate() && slots % 2 == 1 && slots > fewestSlots) {
    --slots;
    if (!params.weightsResident) stages = std::min(mostStages, (budget - slots * slot) / stage);
  }
  params.patchSlots = static_cast<int32_t>(slots);
  params.weightStages = static_cast<int32_t>(stages);
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(layout::kSwizzle128AtomBytes + kControlBytes + slots * slot +
                                                         stages * stage + stagings * shape.stagingBytes(outputBytes));
  return true;
}

layout::MapType mapTypeOf(const Problem& p) {
  const int64_t bytes = bytesOf(p.inputType);
  return bytes == 1 ? layout::MapType::U8 : bytes == 4 ? layout::MapType::F32 : elementMapType(p);
}

constexpr int32_t kMostSharing = 3;  ///< offers of pairs that share boxes, the best by the model; it tells them from others badly

/// Pixels that are an odd number of 16 bytes apart begin within a sector of L2, so that a row of a box touches five sectors, not
/// four. There large 1x1 layers with more than four chunks took 0.83 of the time of the same tile without a pair, and others 0.98
/// (geometric means of 68 and 360, H200).
bool sharingMayPay(const Geometry& g) {
  constexpr int64_t kSectorBytes = 32, kFewestChunks = 5;
  return g.inputPitch * g.elementBytes % kSectorBytes != 0 &&
         ceilDivide(g.c, int64_t{chunkChannels(static_cast<int32_t>(g.elementBytes))}) >= kFewestChunks;
}

/// What is decided before a plan is worked out.
struct Decision {
  const ShapeEntry& shape;
  const Place& place;
  int32_t split;
  std::optional<int32_t> lag;
};

/// What is the same for all plans of a problem.
HaloPlan commonPlan(const Problem& problem, const Geometry& g, const HaloChoices& choices) {
  HaloPlan plan;
  Params& params = plan.params;
  const int32_t chunk = chunkChannels(static_cast<int32_t>(g.elementBytes));
  params.chunks = static_cast<int32_t>(ceilDivide(g.splitC, chunk) + ceilDivide(g.c - g.splitC, chunk));
  if (g.groups > 1) {
    params.chunks = 1;
    params.groupChannels = static_cast<int32_t>(g.c / g.groups);
    if (g.elementBytes == 1) params.blockInputBytes = kBlockChannels;
  }
  params.channels = static_cast<int32_t>(g.k);
  params.deep = g.deep;
  params.limits = limitsOf(problem), params.bias.type = numberType(problem.biasType);
  params.filterAhead = choices.dependent == Dependence::Filter;
  plan.launch.programmaticDependent = choices.dependent != Dependence::None;
  return plan;
}

/// Whether every CTA that shares a reduction has a part of it.
bool canSplit(const ShapeEntry& shape, int32_t boxes, int32_t chunks, int32_t split) {
  if (split > chunks || ceilDivide(chunks, split) * (split - 1) >= chunks) return false;
  return !shape.overBox || (boxes == 1 && chunks == 1 && split == 1);
}

/// Whether pixels that one tile of channels alone reads are dropped from L2 first. They have no further use, and the outputs find
/// room. Measured on an H200, as a part of the time with nothing dropped:
///  - everything that fits four fifths of L2: up to 1.2, as the next run reads it again;
///  - outputs that fit nearly half of it, or everything that fits a tenth more than all of it: 0.94 to 1.0;
///  - more: 0.92 to 1.18 (32x512x512x256 -> 128), 1x1 filters most;
///  - boxes that share lines of 128 bytes: up to 1.27.
bool inputShouldLeaveFirst(const Geometry& g, double bytes, const device::Properties& properties, const Params& params,
                           const Boxes& boxes) {
  const bool shareLines = (params.chunks > 1 || boxes.maps > 1) && g.inputPitch * g.elementBytes % 128 != 0;
  const double l2 = static_cast<double>(properties.l2Bytes);
  const double outputs = static_cast<double>(g.n * g.p * g.q * g.k * g.outputBytes);
  return !params.deep && !shareLines && bytes > 0.8 * l2 && (outputs < 0.45 * l2 || bytes < 1.1 * l2);
}

/// Params::lastSlices, of so many bytes in the last chunk.
int32_t lastSlicesOf(const ShapeEntry& shape, int32_t chunks, int64_t bytes) {
  const auto slices = static_cast<int32_t>(ceilDivide(bytes, kRowBytes / kChunkSlices));
  if (!shape.kind.empty()) return !shape.isFull() && chunks == 1 ? slices : kChunkSlices;
  return shape.pixelsAreA() && slices <= kChunkSlices / 2 ? kChunkSlices / 2 : kChunkSlices;
}

/// Numbers of tiles, stages and slots, and what the plan would take. `plan` begins as commonPlan(...), and may have been worked out
/// for another decision before. The shape suits, and can be split.
bool work(const Problem& problem, double bytes, const Geometry& g, const Decision& decision, const device::Properties& properties,
          HaloPlan& plan) {
  const ShapeEntry& shape = decision.shape;
  const Cut& cut = decision.place.cut;
  const Boxes& placed = decision.place.boxes;
  const HaloCut kind = cut.kind;
  const int32_t split = decision.split;
  Params& params = plan.params;
  params.split = split;
  params.chunksPerRank = static_cast<int32_t>(ceilDivide(params.chunks, split));
  params.patches = placed.boxes;
  params.taps = placed.taps;
  params.filledBytes = placed.smallest;
  params.patchSlotBytes = placed.slotBytes;
  // The next flat tile in the slot reads zeros after its box.
  if (shape.overBox && kind == HaloCut::Flat && params.filledBytes < static_cast<uint32_t>(shape.tileN) * kRowBytes) return false;

  // Tiles
  const int64_t tileChannels = shape.channels();
  const int64_t channelTiles = ceilDivide(g.k, tileChannels);
  const int64_t boxes = decision.place.ofOutput;
  const int64_t pixelTiles = ceilDivide(boxes, shape.members());
  if (shape.sharesBoxes && (channelTiles % 2 != 0 || params.patches > 1)) return false;
  if (boxes * channelTiles * split > std::numeric_limits<int32_t>::max()) return false;
  if (split > 1 && pixelTiles * channelTiles * split > mostClusteredCtas(properties, split)) return false;
  params.residual = {};
  const int64_t reduced = g.groups > 1 ? std::min<int64_t>(g.c, kBlockChannels) : g.c - g.splitC;
  params.lastSlices = lastSlicesOf(shape, params.chunks, (reduced * g.elementBytes - 1) % kRowBytes + 1);
  // Halves of whole rows, which are groups of 8 pixels.
  params.halves = split == 2 && !shape.isFull() && shape.share == PixelShare::Common && shape.tileN <= 128 &&
                  kind == HaloCut::Columns && cut.images == 1 && cut.rows % 2 == 0 && cut.pixels() == shape.tileN;

  const uint32_t multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const int64_t tilesPerCta = ceilDivide(pixelTiles * channelTiles * split, multiprocessors);
  // A CTA for each tile of channels: of more than there are multiprocessors, the last would have the card for themselves.
  const bool mayStay = split == 1 && shape.tail == 0 && !shape.sharesBoxes && (g.groups > 1 || channelTiles <= multiprocessors);
  if (!fitShared(shape, g.outputBytes, properties.sharedBytesPerBlock, mayStay, tilesPerCta, plan)) return false;
  if (split > 1) {
    const int64_t room = int64_t{params.patchSlots} * params.patchSlotBytes + int64_t{params.weightStages} * shape.stageBytes();
    const int64_t owned = ceilDivide(shape.consumers(), split);  // warpgroups whose sums a rank receives, at most
    if (owned * (split - 1) * accumulatorBytes(std::max(shape.first, shape.second), shape.width()) > room) return false;
  }
  // Resident weights belong to one channel tile.
  const bool fixedChannels = params.weightsResident || channelTiles == 1;
  params.tiles = static_cast<int32_t>(fixedChannels ? pixelTiles : pixelTiles * channelTiles);
  // The last wave is then shorter by half where only one warpgroup has work.
  params.alternates = shape.pixelsAreA() && fixedChannels && split == 1;
  if (params.alternates) params.tiles = static_cast<int32_t>(boxes);
  params.inputLeavesFirst = channelTiles == 1 && inputShouldLeaveFirst(g, bytes, properties, params, placed);
  const uint32_t gridY = fixedChannels ? static_cast<uint32_t>(channelTiles) : 1;
  const uint32_t mostCtas = std::max<uint32_t>(1, multiprocessors / gridY);
  const uint32_t waves = static_cast<uint32_t>(ceilDivide(params.tiles, mostCtas));
  // As few CTAs as take no longer, or, of dense tiles with weights as operand A, as many as there is room for. Memory binds those
  // most, and on an H200 they take 0.994 of the time so (geometric mean), 0.89 at best.
  const bool spreads = kind == HaloCut::Dense && !shape.pixelsAreA();
  const uint32_t ctas =
      std::min(static_cast<uint32_t>(params.tiles), spreads ? mostCtas : static_cast<uint32_t>(ceilDivide(params.tiles, waves)));
  const uint32_t together = shape.sharesBoxes ? 2 : 1;  // CTAs of a cluster that have tiles of their own
  const uint32_t clusters = (ctas + together - 1) / together;
  plan.launch.grid = {split > 1 ? static_cast<uint32_t>(params.tiles * split) : clusters * together, gridY, 1};
  plan.launch.block = {128u * (1u + static_cast<uint32_t>(shape.consumers())), 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(split) * together, 1, 1};

  // How far a warpgroup is behind the one before it: the length of an epilogue, as far as the rings hold it. Tiles of 8-column
  // groups gained up to 5%, the others nothing.
  constexpr int32_t kEpilogueTaps = 4;
  const int32_t tapsPerBox = params.taps / params.patches;
  const int32_t boxesAhead = params.patchSlots / shape.members() - 1;
  // On average; and never more than lie in boxes that are there at once, as the warpgroup behind keeps the first until then. (Of
  // warpgroups with boxes of their own it keeps its own, and one box more would do.)
  const int32_t boxTaps = std::min(boxesAhead > 0 ? boxesAhead * tapsPerBox - (tapsPerBox == 1 ? 1 : 0) : tapsPerBox - 1,
                                   placed.tapsOfFirst(params.patchSlots / shape.members()));
  const int32_t whole = std::max(1, params.chunksPerRank - (params.lastSlices < kChunkSlices ? 1 : 0));  // chunks
  const int32_t most = std::min({params.weightsResident ? params.taps : params.weightStages - 2, boxTaps, params.taps * whole - 1});
  const int32_t followers = shape.consumers() - 1;
  params.lag = followers > 0 && shape.tail == 0 ? std::clamp(decision.lag.value_or(kind == HaloCut::Columns ? kEpilogueTaps : 0), 0,
                                                             std::max(0, most) / followers)
                                                : 0;

  model(problem, bytes, g, shape, placed.bytes, properties, plan);
  return true;
}

/// Of the rows of outputs that are staged.
layout::MapSwizzle swizzleOf(const ShapeEntry& shape, const Geometry& g) {
  using enum layout::MapSwizzle;
  if (!shape.pixelsAreA()) return g.outputBytes == 1 ? B64 : B128;
  switch (shape.pieceRowBytes(g.outputBytes)) {
    case 16:
      return None;
    case 32:
      return B32;
    case 64:
      return B64;
    default:
      return B128;
  }
}

/// Where the copy engine cannot store the rows of the output, threads do: as many share a row as it has elements of up to 4 bytes,
/// a warp at most. Nobody uses the map of the output then.
void storeByThreads(const Geometry& g, HaloPlan& plan) {
  Params& params = plan.params;
  params.storedBytes = static_cast<int32_t>(std::gcd(std::gcd(g.k, g.outputPitch) * g.outputBytes, 4));
  const int64_t elements = std::min<int64_t>(g.k, params.tileChannels) * g.outputBytes / params.storedBytes;
  params.storingLanes = static_cast<int32_t>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(elements, 32))));
  plan.output = plan.filter;
}

/// How tiles are counted and where their pixels lie.
void completeTiles(const Geometry& g, const Cut& cut, const ShapeEntry& shape, HaloPlan& plan) {
  const auto divisor = [](int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); };
  Params& params = plan.params;
  plan.cut = cut.kind;
  params.columnTiles = divisor(ceilDivide(g.q, cut.columns));
  params.rowTiles = divisor(ceilDivide(g.p, cut.rows));
  const int64_t channelTiles = ceilDivide(g.k, shape.channels());
  params.channelTiles = divisor(params.weightsResident ? 1 : channelTiles);
  params.tileColumns = static_cast<int32_t>(cut.columns);
  params.tileRows = static_cast<int32_t>(cut.rows);
  params.tileImages = static_cast<int32_t>(cut.images);
  params.tileChannels = static_cast<int32_t>(shape.channels());
  params.flatPitch = divisor(cut.pitch == cut.columns ? 1 : cut.pitch);
  if (shape.isFull() || shape.pixelsAreA() || shape.converts) params.full.pitch = divisor(cut.pitch);
  params.full.positions = static_cast<int32_t>((cut.rows * cut.images - 1) * cut.pitch + cut.columns);
  params.weightBoxes = static_cast<uint32_t>(ceilDivide(params.tileChannels, kLargestBox));
  params.weightBoxBytes = static_cast<uint32_t>(params.tileChannels) / params.weightBoxes * kRowBytes;
}

/// What a candidate does not need to compete: tiles, boxes and taps, maps, the whole epilogue, the kernel's name.
void complete(const Problem& problem, const Geometry& g, const Taps& taps, const Decision& decision, HaloPlan& plan) {
  const ShapeEntry& shape = decision.shape;
  const Place& place = decision.place;
  Params& params = plan.params;
  completeTiles(g, place.cut, shape, plan);
  placePatches(g, taps, place.cut, shape.tail, place.boxes, params, plan.inputs);
  for (layout::TiledMap& map : plan.inputs) map.type = mapTypeOf(problem);
  plan.filter = plan.output = plan.inputs[0];
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const uint64_t tapBytes = u(g.c / g.groups * g.elementBytes);
  plan.filter.globalAddress = 0;
  plan.filter.rank = 3;
  plan.filter.dims = {u(g.c / g.groups), u(problem.storedTaps()), u(g.k)};
  plan.filter.strides = {tapBytes, tapBytes * plan.filter.dims[1]};
  for (Tap& tap : params.tap) tap.filterIndex = static_cast<uint16_t>(problem.storedTap(tap.filterIndex));
  // Filters of groups are spread by threads. Groups of less than 16 bytes would not make a map.
  if (tapBytes % 16 != 0) plan.filter.dims = {8, 1, 1}, plan.filter.strides = {16, 16};
  plan.filter.box = {plan.inputs[0].box[0], 1, params.weightBoxBytes / kRowBytes};
  const uint64_t outputPixelBytes = u(g.outputPitch * g.outputBytes);
  if (!shape.kind.empty() || shape.converts) {
    using enum layout::MapType;
    plan.output.type = g.outputBytes == 1 ? U8 : g.outputBytes == 2 ? F16 : F32;
  }
  plan.output.swizzle = swizzleOf(shape, g);
  plan.output.globalAddress = 0;
  plan.output.rank = 4;
  plan.output.dims = {u(g.k), u(g.q), u(g.n), u(g.p)};
  const bool isSpread = problem.hasSpreadOutput();  // else g's, whose rows may be images
  const int64_t row = isSpread ? problem.rowStride() : g.outputPitch * g.q, plane = isSpread ? problem.planeStride() : row * g.p;
  plan.output.strides = {outputPixelBytes, u(plane * g.outputBytes), u(row * g.outputBytes)};
  const uint32_t rowChannels =
      static_cast<uint32_t>(shape.pixelsAreA() ? shape.pieceRowBytes(g.outputBytes) / shape.pixelOutputBytes()
                                               : std::min<int64_t>(shape.channels(), stagedChannels(g.outputBytes)));
  plan.output.box = {rowChannels, static_cast<uint32_t>(params.tileColumns), static_cast<uint32_t>(params.tileImages),
                     static_cast<uint32_t>(params.halves ? params.tileRows / 2 : params.tileRows)};

  plan.residual = plan.output;
  const uint64_t residualPixelBytes = u(problem.residualPitch() * g.outputBytes);
  for (uint64_t& stride : plan.residual.strides) stride = stride * residualPixelBytes / outputPixelBytes;
  const auto& box = plan.output.box;
  params.residual.beta = problem.beta;
  if (shape.residual) params.residual.order = residualOrder(problem);
  params.residual.bytes = box[0] * box[1] * box[2] * box[3] * static_cast<uint32_t>(g.outputBytes);

  plan.kernelName = kernelNameOf(problem, shape);
  const bool byThreads = shape.pixelsAreA() && !hasWholeRows(problem);
  if (byThreads) storeByThreads(g, plan);
  if (shape.activated) params.full.epilogue = epilogueOf(problem), params.full.lean = leanActivated(problem, shape);
  if (plan.addsResidualOfBytes()) params.full.epilogue = epilogueOf(problem), params.full.lean = leanBytes(problem);
  if (shape.converts) {  // its activation comes before the output scale
    Problem unlimited = problem;
    unlimited.activation = Activation::None;
    params.limits = limitsOf(unlimited);
  }
  if (shape.isFull() || byThreads || shape.converts) {
    FullEpilogue& full = params.full;
    full.images = layout::FastDivisor(static_cast<uint32_t>(params.tileImages));
    full.outputColumns = static_cast<int32_t>(g.q);
    full.outputRows = static_cast<int32_t>(g.p);
    full.outputImages = static_cast<int32_t>(g.n);
    full.epilogue = epilogueOf(problem);
  }
}

/// Calls visit(plan, decision) for every plan that fits of shapes for which wants(shape), without what complete() adds, until it
/// returns false. The plan is the visitor's to look at: the next one is worked out in its place.
template <class Wants, class Visit>
void forEachPlan(const Task& task, const HaloChoices& choices, Wants&& wants, Visit&& visit) {
  if (!task.isPossible()) return;
  HaloPlan plan = commonPlan(task.problem, task.g, choices);
  Places places(task);
  for (size_t m = 0; m < task.modules.size(); ++m) {
    plan.module = task.modules[m];
    for (const ShapeEntry& shape : shapesOf(task.modules[m])) {
      if ((choices.shape && *choices.shape != shape.name) || (choices.sharesBoxes && *choices.sharesBoxes != shape.sharesBoxes) ||
          !suits(shape, task.g) || !wants(shape) || !task.has(shape, m))
        continue;
      plan.shape = shape.name;
      for (const HaloCut cut : {HaloCut::Columns, HaloCut::Flat, HaloCut::Dense}) {
        if (choices.cut ? *choices.cut != cut : task.isDense() && cut != HaloCut::Dense) continue;
        const Place& place = places.of(shape, cut);
        if (!place.isPossible) continue;
        for (const int32_t split : {1, 2, 4}) {
          if ((choices.split && *choices.split != split) || (shape.sharesBoxes && split > 1)) continue;
          if (!canSplit(shape, place.boxes.boxes, plan.params.chunks, split)) continue;
          const Decision decision{shape, place, split, choices.lag};
          if (work(task.problem, task.bytes, task.g, decision, task.properties, plan) && !visit(plan, decision)) return;
        }
      }
    }
  }
}

}  // namespace

std::string haloRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = anyRefusal("halo", p, properties); !reason.empty()) return reason;
  if (p.compute == Compute::F16 || !hasKind(p))
    return fmt::format(
        "halo multiplies f16, bf16 or tf32 with the same, and 8-bit floats or integers with each other, in f32 or s32, "
        "but input_type and filter_type are {} and {}, and compute is {}",
        nameOf(p.inputType), nameOf(p.filterType), nameOf(p.compute));
  if (std::string reason = epilogueRefusal("halo", p, kSegment); !reason.empty()) return reason;
  const int64_t step = 16 / bytesOf(p.inputType);
  if (p.c % step != 0) return fmt::format("halo needs C to be a multiple of {} (16-byte rows), but C is {}", step, p.c);
  if (p.inputPitch() % step != 0)
    return fmt::format("halo needs input_pixel_pitch to be a multiple of {} elements, but it is {}", step, p.inputPitch());
  if (p.splitC % step != 0)
    return fmt::format("halo needs split_c to be a multiple of {} (16-byte rows), but it is {}", step, p.splitC);
  if (p.isSplit() && p.secondPitch() % step != 0)
    return fmt::format("halo needs second_pixel_pitch to be a multiple of {} elements, but it is {}", step, p.secondPitch());
  if (p.groups > 1) {
    const int64_t channels = p.groupChannels();
    if (p.splitC != 0) return fmt::format("halo needs groups = 1 with split_c, but it is {}", p.groups);
    if (p.c != p.k) return fmt::format("halo needs C = K with groups, but they are {} and {}", p.c, p.k);
    if (bytesOf(p.inputType) == 4)
      return fmt::format("halo needs operands of 16 or 8 bits with groups, but input_type is {}", nameOf(p.inputType));
    const bool isByte = bytesOf(p.inputType) == 1;
    if (channels < (isByte ? 16 : 2) || kBlockChannels % channels != 0)
      return fmt::format("halo needs {}16, 32 or 64 channels of {} a group, but there are {}", isByte ? "" : "2, 4, 8, ",
                         nameOf(p.inputType), channels);
  }
  bool fits = false;
  forEachPlan(Task(p, properties), {}, anyShape, [&](const HaloPlan&, const Decision&) {
    fits = true;
    return false;
  });
  if (!fits) {
    const auto size = [&](int64_t depth, int64_t height, int64_t width) {
      return isTwoDimensional(p) ? fmt::format("{}x{}", height, width) : fmt::format("{}x{}x{}", depth, height, width);
    };
    return fmt::format(
        "halo has no tile for a {} filter with stride {} and dilation {}: the boxes of its taps, {} strides and {} taps at most, "
        "in at most {} boxes that begin at a pixel each, have to fit into shared memory",
        size(p.t, p.r, p.s), size(p.strideD, p.strideH, p.strideW), size(p.dilationD, p.dilationH, p.dilationW), kMaximumInputMaps,
        kMaximumTaps, kMaximumPatches);
  }
  return {};
}

std::vector<HaloOffer> haloOffers(const Problem& problem, const device::Properties& properties, const HaloChoices& choices) {
  std::vector<HaloOffer> offers;
  offers.reserve(64);
  const Task task(problem, properties);
  forEachPlan(task, choices, FullShapes(task, choices), [&](const HaloPlan& plan, const Decision& decision) {
    const ShapeEntry& shape = decision.shape;
    // Few CTAs do not wait for L2, and other cuts of 1x1 layers take longer, or as long.
    const bool maySharePay = 2 * plan.launch.grid.count() > properties.multiprocessors &&
                             decision.place.cut.kind == HaloCut::Dense && sharingMayPay(task.g);
    if (shape.sharesBoxes && !choices.sharesBoxes && !maySharePay) return true;
    offers.push_back({shape.name, decision.place.cut.kind, plan.params.split, plan.params.lag, shape.sharesBoxes, shape.tileN,
                      shape.channels(), shape.pixelsAreA(), plan.params.weightsResident, choices.dependent, plan.modelledClocks,
                      plan.bound, plan.modelParts});
    return true;
  });
  fastestFirst(offers);
  if (!choices.shape && !choices.sharesBoxes) {
    int32_t sharing = 0;
    std::erase_if(offers, [&](const HaloOffer& offer) { return offer.sharesBoxes && ++sharing > kMostSharing; });
  }
  return offers;
}

std::vector<HaloPlan> haloCandidates(const Problem& problem, const device::Properties& properties, const HaloChoices& choices) {
  std::vector<HaloPlan> plans;
  const Task task(problem, properties);
  forEachPlan(task, choices, anyShape, [&](const HaloPlan& plan, const Decision& decision) {
    complete(problem, task.g, task.taps, decision, plans.emplace_back(plan));
    return true;
  });
  fastestFirst(plans);
  return plans;
}

std::vector<std::string> HaloPlan::warpRoles() const {
  std::vector<std::string> roles(launch.block.x / 32, "multiply");
  roles[0] = "load boxes";
  roles[1] = "load weights";
  roles[2] = roles[3] = "idle";
  if (addsResidual())
    for (size_t i = 2; i < roles.size() / 4 + 1; ++i) roles[i] = "load residual";
  return roles;
}

std::string HaloPlan::describe() const {
  const Params& p = params;
  std::string text = fmt::format("{} {}, tile {}x{}x{} pixels x {} channels", kernelName, toString(cut), p.tileImages, p.tileRows,
                                 p.tileColumns, p.tileChannels);
  if (p.split > 1)
    text += fmt::format(", reduction split by {}{}", p.split, p.halves ? ", which finish half of the rows each" : "");
  if (p.lastSlices < kChunkSlices) text += fmt::format(", {} of {} slices of the last chunk", p.lastSlices, kChunkSlices);
  if (p.lag > 0) text += fmt::format(", lag {}", p.lag);
  if (module == HaloModule::Shared) text += ", pairs share boxes";
  if (p.inputLeavesFirst) text += ", input leaves L2 first";
  text += fmt::format(
      "; grid {}x{}, {} tiles, {:.0f} waves, {:.0f}% valid; {} boxes of {} KiB slots x {}, {} weight stages{}; {} bytes "
      "of shared memory; modelled {:.0f} clocks",
      launch.grid.x, launch.grid.y, p.tiles, waves, 100 * validFraction, p.patches, p.patchSlotBytes / 1024, p.patchSlots,
      p.weightStages, p.weightsResident ? ", resident" : "", launch.dynamicSharedBytes, modelledClocks);
  return text;
}

}  // namespace shiftconv::plan
