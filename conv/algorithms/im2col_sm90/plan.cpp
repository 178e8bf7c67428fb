#include "conv/algorithms/im2col_sm90/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "common/gemm/window_plan.hpp"
#include "common/layout/ceil_divide.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/algorithms/im2col_sm90/model.hpp"
#include "conv/algorithms/im2col_sm90/packed.hpp"
#include "conv/algorithms/im2col_sm90/rows.hpp"
#include "conv/algorithms/im2col_sm90/tile_lists.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/problem_names.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan::sm90 {

using namespace im2col;
using namespace rates::im2col_sm90;

namespace {

// In the order of Shared. Of clusters of more than two: CTAs that share pixels x CTAs that share a filter.
constexpr std::array<std::string_view, kSharedShifts.size()> kSharedNames{"none", "pixels", "filter", "both",
                                                                          "4x1",  "1x4",    "4x2",    "2x4"};
constexpr int64_t kAtomRows = 8;  // of the 128-byte swizzle: what a CTA loads of an operand begins with a whole one

constexpr int64_t kLeastSharedSteps = 4;  // of a reduction, for the planner to share operands: shorter ones are mostly a start
constexpr int64_t kLeastFourSteps = 8;    // likewise, by four CTAs and more
constexpr uint32_t kMostSplitWaves = 2;   // of CTAs, one for each multiprocessor; with more the planner splits no reduction
constexpr int64_t kMostGroups = 65535;    // CTAs of a grid along y
constexpr int64_t kLeastDeepSteps = 16;  // of a reduction that is offered all shared memory; shorter ones gained 3 % at most (H200)

/// Whether there are kernels for the operands' types, and which.
bool hasKind(const Problem& p) {
  const bool areIntegers = (p.inputType == DataType::S8 || p.inputType == DataType::U8) && p.filterType == DataType::S8;
  return p.inputType == p.filterType ? isHalf(p.inputType) || p.inputType == DataType::E4M3 || p.inputType == DataType::S8
                                     : areIntegers;
}
std::string kindOf(const Problem& p) {
  return isHalf(p.inputType) ? std::string(elementName(p)) : fmt::format("{}_{}", nameOf(p.inputType), nameOf(p.filterType));
}
/// What the CTAs of a cluster do together, and who loads.
struct Launching {
  int32_t split;
  Shared shared;
  bool inPieces;
};
struct Kernel {
  Tile tile;  ///< as the kernel is compiled
  InCluster ability;
};
/// The kernel for a tile; nothing where there is none.
std::optional<Kernel> kernelOf(const Task& task, const Tile& tile, const Launching& how) {
  const Problem& p = task.p;
  const auto& [split, shared, inPieces] = how;
  const auto among = [&](const auto& tiles, InCluster ability) -> std::optional<Kernel> {
    const auto found = std::find_if(tiles.begin(), tiles.end(), [&](const Tile& other) { return other.isAsLargeAs(tile); });
    return found == tiles.end() ? std::nullopt : std::optional(Kernel{*found, ability});
  };
  if (task.phased) return split > 1 || inPieces ? std::nullopt : among(kPhasesTiles, InCluster::Operands);
  if (inPieces) {
    if (!canCopyPieces(p)) return std::nullopt;
    return isShifted(task.pieceBytes) ? among(kShiftedTiles, InCluster::Nothing) : among(kPiecesTiles, InCluster::Nothing);
  }
  if (!task.haveMaps()) return std::nullopt;
  if (!isHalf(p.inputType)) return split > 1 || shared != Shared::None ? std::nullopt : among(kBytesTiles, InCluster::Nothing);
  if (split > 1) return shared != Shared::None ? std::nullopt : among(kSplitTiles, InCluster::Reduction);
  if (shared == Shared::None && isAmong(kPlainTiles, tile)) return Kernel{tile, InCluster::Nothing};
  return among(kSharedTiles, InCluster::Operands);
}

const Tile& smallestTile(const Problem& p) {
  return p.transposed ? kPhasesTiles.front() : isHalf(p.inputType) ? kTiles.front() : kBytesTiles.front();
}

/// How loads find a group's channels, whose last chunk ends with zeros. `pixels`: the map of a window. Empty, or why they cannot.
std::string putGroups(const Problem& p, const gemm::Window& window, Params& params, layout::Im2colMap& pixels) {
  params.groupColumns = static_cast<int32_t>(groupColumns(p));
  if (p.groups == 1) return {};
  if (p.groupChannels() % chunkOf(p) == 0) {
    params.groupChannels = static_cast<int32_t>(p.groupChannels());
    return {};
  }
  params.groupImages = 1;
  if (gemm::putGroupsOutside(window, params.window, pixels)) {
    params.window.z.extent = params.window.z.positions = static_cast<int32_t>(p.n);
    return {};
  }
  if (gemm::putGroupsOutsideRows(window, params.window, pixels)) return {};
  return fmt::format(
      "the {} channels of a group are not a multiple of {}, so there is no depth, and padding and taps have the limits of three "
      "dimensions, of two where H and R are 1",
      p.groupChannels(), chunkOf(p));
}

/// What plans have in common that load boxes of so many pixels, or copy pieces. Empty, or why there are none.
std::string begin(const Task& task, int32_t boxPixels, bool inPieces, Im2colPlan& plan) {
  const Problem& p = task.p;
  Params& params = plan.params;
  const auto bytes = [&](int64_t elements) { return static_cast<uint64_t>(elements * elementBytes(p)); };
  const auto chunk = static_cast<uint32_t>(chunkOf(p));
  layout::TiledMap channels;
  channels.type = isHalf(p.inputType) ? elementMapType(p) : layout::MapType::U8;
  channels.rank = 2;
  channels.dims = {static_cast<uint64_t>(p.firstChannels()), static_cast<uint64_t>(p.firstPixels())};
  channels.strides = {bytes(roundUp(p.inputPitch(), mapChannels(p)))};  // pieces of rows have no map
  channels.box = {chunk, static_cast<uint32_t>(boxPixels)};
  channels.swizzle = layout::MapSwizzle::B128;
  layout::TiledMap second = channels;
  second.dims = {static_cast<uint64_t>(p.secondChannels()), static_cast<uint64_t>(p.secondPixels())};
  second.strides = {bytes(p.secondPitch())};
  layout::Im2colMap walked, secondWalked;
  if (std::string why = gemm::planWindow(task.window, boxPixels, channels, params.window, walked); !why.empty()) return why;
  if (p.isSplit())
    if (std::string why = gemm::secondWindowMap(task.window, boxPixels, second, secondWalked); !why.empty()) return why;
  const bool isMatrix = task.isMatrix();
  params.window.isUsed = !isMatrix;
  if (std::string why = putGroups(p, task.window, params, walked); !why.empty()) return why;
  plan.input = isMatrix ? MapDescription(channels) : MapDescription(walked);
  plan.second = isMatrix ? MapDescription(second) : MapDescription(secondWalked);
  plan.filter = channels;
  plan.filter.dims = {static_cast<uint64_t>(p.groupChannels()), static_cast<uint64_t>(p.k)};
  plan.filter.strides = {bytes(p.groupChannels())};
  plan.filter.box = {chunk, static_cast<uint32_t>(smallestTile(p).channels)};
  plan.filter = gemm::tapMap(windowOf(p), plan.filter);
  if (inPieces) {
    params.pieces.inputPitch = static_cast<int32_t>(bytes(p.inputPitch()));
    params.pieces.rowBytes = static_cast<int32_t>(bytes(p.c));
    params.pieces.bytes = task.pieceBytes;
  } else if (std::string why = layout::refusal(plan.filter); !why.empty()) {
    return why;
  }
  const auto divisor = [](int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); };
  if (task.phased) {
    const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
    params.window.x.step = narrow(task.phased->stepX), params.window.y.step = narrow(task.phased->stepY);
    params.window.z.step = narrow(task.phased->stepZ);
    plan.phases = std::make_shared<const kernels::im2col::Phases>(task.phased->phases);
  }
  params.positionsX = divisor(params.window.x.positions);
  params.positionsY = divisor(params.window.y.positions);
  params.positionsZ = divisor(params.window.z.positions);
  params.slicePixels = divisor(task.planePixels);
  const auto chunksOf = [&](int64_t count) { return static_cast<int32_t>(ceilDivide(count, int64_t{chunk})); };
  params.chunks = chunksOf(p.firstChannels() / p.groups) + (p.splitC != 0 ? chunksOf(p.secondChannels()) : 0);
  params.packed = packedOf(p);
  params.storesFours = storesFours(p);
  params.residualWaits = residualWaits(p);
  params.pieceBytes = pieceBytesOf(p);
  params.epilogue = epilogueOf(p);
  if (params.packed == Packed::Bytes) params.lean = leanBytes(p);
  if (isHalf(p.inputType) && params.packed == Packed::Halves) {
    const kernels::Lean lean = leanHalves(p);
    const bool hasLean = params.pieceBytes == 16 && !task.phased;
    if (hasLean) params.lean = lean;
    params.rectifiesNarrow = !hasLean && lean == kernels::Lean::Rectified;
  }
  plan.kind = kindOf(p);
  return {};
}

/// Empty, or why there is no such plan. `plan` is one that begin(...) began, with its tile and kernel.
std::string complete(const Task& task, const Tile& tile, const Im2colChoices& choices, Im2colPlan& plan) {
  const Problem& p = task.p;
  const device::Properties& properties = task.properties;
  Params& params = plan.params;
  plan.shared = choices.shared.value_or(Shared::None);
  params.pixelsShift = shiftsOf(plan.shared).pixels;
  params.filterShift = shiftsOf(plan.shared).filter;
  const int32_t ofPixels = 1 << params.pixelsShift, ofFilter = 1 << params.filterShift;
  if (ofFilter > 1 && p.splitD != 0) return "tiles of pixels in different tensors have taps of their own, and share no filter";
  if (tile.channels % (kAtomRows * ofFilter) != 0) return "the parts of a filter that CTAs share are whole groups of 8 channels";
  plan.filter.box[2] = static_cast<uint32_t>(tile.channels / ofFilter);
  const auto divisor = [](int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); };
  const int64_t channelTiles = roundUp(ceilDivide(groupColumns(p), tile.channels), int64_t{ofPixels});
  params.channelTiles = divisor(channelTiles / ofPixels);
  const int64_t sliceTiles = ceilDivide(task.planePixels, int64_t{tile.pixels});
  params.sliceTiles = divisor(sliceTiles);
  const int64_t pixelTiles =
      roundUp(p.splitD != 0 ? p.n * p.z() * sliceTiles : ceilDivide(task.pixels, tile.pixels), int64_t{ofFilter});
  const int32_t split = choices.split.value_or(1);
  if (split > params.chunks) return "there are fewer chunks of channels than CTAs that share them";
  params.splitShift = std::countr_zero(static_cast<uint32_t>(split));
  const int64_t tiles = pixelTiles * channelTiles * split * task.phases;  // of a group, a CTA each
  if (tiles * p.groups > std::numeric_limits<int32_t>::max()) return "there are more than 2^31 tiles";

  // As many stages as the reduction is long, and as leave room for as many CTAs as the kernel allows.
  const int64_t steps = task.taps * ceilDivide(params.chunks, split), stage = stageBytes(tile.groups(), tile.channels);
  const int64_t overhead = layout::kSwizzle128AtomBytes + controlBytes(tile.channels);
  const int64_t sums = params.packed == Packed::No ? sumsBytes(tile.groups(), tile.channels) : 0;
  const bool isStaged = params.packed != Packed::No || !params.storesFours;
  const int64_t staging = isStaged ? stagingBytes(tile.groups(), tile.channels) : 0;
  const int64_t waiting =  // while the stages are in use
      params.residualWaits ? stagingBytes(tile.groups(), tile.channels, bitsOf(p.residualType) / 8) : 0;
  const int64_t received = receivedBytes(split, tile.channels);  // likewise
  const auto stagesOf = [&](int64_t ctas) { return (sharedBytesOfEach(properties, ctas) - overhead - waiting - received) / stage; };
  const int64_t depth = std::min<int64_t>(steps, tile.pixels == kGroupPixels ? 4 : 3);
  int64_t most = tile.ctas;  // of a multiprocessor with stages enough
  while (most > 1 && stagesOf(most) < depth) --most;
  const int64_t ctas = ceilDivide(tiles * p.groups, std::max<uint32_t>(1, properties.multiprocessors));
  const bool isOneWave = ctas <= most;
  const int64_t usual =
      std::clamp<int64_t>(stagesOf(isOneWave ? std::max(ctas, std::min<int64_t>(2, most)) : most), 2, kMaximumStages);
  const int64_t wanted = choices.stages.value_or(usual);
  // A stage is released one step late: one stage serves one step alone.
  if (wanted == 1 && steps > 1) return "a ring of one stage serves a reduction of one step alone";
  params.stages = static_cast<int32_t>(std::min(wanted, steps));
  if (plan.isInPieces() && steps > 1) params.stages = static_cast<int32_t>(2 * std::min(wanted / 2, ceilDivide(steps, int64_t{2})));
  const int64_t deepest = std::min<int64_t>({stagesOf(1), kMaximumStages, steps});
  plan.deepStages =
      !plan.isInPieces() && ctas == 1 && steps >= kLeastDeepSteps && deepest > usual ? static_cast<int32_t>(deepest) : 0;
  // A residual that waits lies after the stages, and outputs take its place.
  const int64_t first = std::max(params.stages * stage, waiting > 0 ? sums : sums + staging);
  params.stagingOffset = static_cast<int32_t>(waiting > 0 ? first : sums);
  params.receivedOffset = static_cast<int32_t>(first + waiting);
  const int64_t shared = overhead + first + waiting + received;
  if (shared > static_cast<int64_t>(properties.sharedBytesPerBlock)) return "its stages do not fit into shared memory";
  plan.launch.grid = {static_cast<uint32_t>(tiles), static_cast<uint32_t>(p.groups), 1};
  plan.launch.cluster = {static_cast<uint32_t>(split * ofPixels * ofFilter), 1, 1};
  plan.launch.block = {static_cast<uint32_t>(plan.isInPieces() ? pieceThreads(tile.groups()) : threads(tile.groups())), 1, 1};
  // With two tiles a multiprocessor, say, it holds two CTAs and no third, which would be one of the next kernel's: it would come to
  // lie where there is room, not where there is least to do (see the kernel's notes).
  plan.launch.dynamicSharedBytes =
      static_cast<uint32_t>(isOneWave && ctas > 1 ? std::max(shared, sharedBytesOfEach(properties, ctas)) : shared);
  model(task, tile, plan);
  plan.dependsByDefault = task.isMatrix() || plan.modelledClocks < kShortClocks;
  params.filterAhead = choices.dependent == Dependence::Filter;
  plan.launch.programmaticDependent =
      !choices.dependent || params.filterAhead ? plan.dependsByDefault : choices.dependent == Dependence::Launch;
  return {};
}

constexpr std::array<Launching, 11> kLaunchings{{{1, Shared::None, false},
                                                 {2, Shared::None, false},
                                                 {4, Shared::None, false},
                                                 {1, Shared::Pixels, false},
                                                 {1, Shared::Filter, false},
                                                 {1, Shared::Both, false},
                                                 {1, Shared::PixelsOfFour, false},
                                                 {1, Shared::FilterOfFour, false},
                                                 {1, Shared::BothFourPixels, false},
                                                 {1, Shared::BothFourFilter, false},
                                                 {1, Shared::None, true}}};
constexpr int64_t kMostRowInPieces = 256;  // bytes; the copy engine was as fast from 97 on, and rarely slower from 256 (H200)

/// How many tiles a problem's outputs make.
struct TileCounts {
  int64_t pixelTiles, channelTiles;
  double filled;  ///< of the outputs of all tiles, the share that exists

  TileCounts(const Task& task, const Tile& tile)
      : pixelTiles(ceilDivide(task.pixels, tile.pixels)), channelTiles(ceilDivide(groupColumns(task.p), tile.channels)) {
    filled = static_cast<double>(groupColumns(task.p) * task.pixels) /
             static_cast<double>(channelTiles * tile.channels * pixelTiles * tile.pixels);
  }
};

/// Whether there are neighbours to share with, for nearly every CTA, operands enough, and CTAs enough to wait for what comes from
/// L2.
bool mayPay(const Task& task, const TileCounts& tiles, Shared shared) {
  if (shared == Shared::None) return true;
  if (task.steps < kLeastSharedSteps) return false;
  const int64_t all = tiles.pixelTiles * tiles.channelTiles;
  if (2 * all * task.p.groups * task.phases <= task.properties.multiprocessors) return false;
  const int64_t paired = roundUp(tiles.channelTiles, int64_t{1} << shiftsOf(shared).pixels) *
                         roundUp(tiles.pixelTiles, int64_t{1} << shiftsOf(shared).filter);
  return static_cast<double>(paired) <= kMostPairing * static_cast<double>(all);
}

bool isOfFour(Shared shared) { return shiftsOf(shared).pixels + shiftsOf(shared).filter > 1; }
/// Of clusters of four CTAs and more, the most clocks that they may be modelled to take, over those of the better pairs of their
/// tile. The model knows little of what sharing by four gains. It was fastest where long reductions are one wave of such clusters.
double foursLimit(const Task& task, const Im2colPlan& plan) {
  const int64_t steps = task.taps * plan.params.chunks, ctas = plan.launch.grid.count();
  if (steps >= kLeastFourSteps && ctas <= mostClusteredCtas(task.properties, plan.launch.cluster.x)) return 1;
  return plan.shared == Shared::Both ? kFoursGain : 0;
}

}  // namespace

std::span<const std::string_view> im2colTileNames() { return kTileNames; }
std::span<const std::string_view> im2colSharedNames() { return kSharedNames; }

std::string im2colRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = anyRefusal("im2col_sm90", p, properties); !reason.empty()) return reason;
  const auto needs = [](std::string_view what) { return fmt::format("im2col_sm90 {}", what); };
  if (!hasKind(p))
    return needs(
        fmt::format("multiplies f16, bf16, e4m3 or s8 with the same, or u8 with s8, but input_type and filter_type are {} and {}",
                    nameOf(p.inputType), nameOf(p.filterType)));
  if (p.compute != Compute::Default) return needs(fmt::format("sums in f32 or s32, but compute is {}", nameOf(p.compute)));
  if (p.rounding != Rounding::Once) return needs("rounds once, but rounding is separate");
  const int64_t whole = mapChannels(p);
  if (p.groups > 1) {
    if (p.isSplit()) return needs(fmt::format("needs groups = 1 with inputs in two tensors, but it is {}", p.groups));
    if (p.groups > kMostGroups) return needs(fmt::format("needs groups up to {}, but it is {}", kMostGroups, p.groups));
    if (p.groupChannels() % whole != 0)
      return needs(fmt::format("needs C / groups to be a multiple of {} (16-byte rows), but it is {}", whole, p.groupChannels()));
    if (groupColumns(p) % kFragmentColumns != 0)
      return needs(fmt::format("needs K / groups to be a multiple of {}, but it is {}", kFragmentColumns, groupColumns(p)));
  }
  if (p.transposed) {
    if (!isHalf(p.inputType))
      return needs(fmt::format("computes transposed convolutions of f16 and bf16, but input_type is {}", nameOf(p.inputType)));
    if (p.groups > 1) return needs(fmt::format("needs groups = 1 of a transposed convolution, but it is {}", p.groups));
    if (p.isSplit()) return needs("takes inputs in two tensors of convolutions that are not transposed");
    if (std::string why = phasedWindowRefusal(p); !why.empty()) return needs(why);
  }
  if (std::string why = rowRefusal(p); !why.empty()) return needs(why);
  if (p.splitC % whole != 0)
    return needs(fmt::format("needs split_c to be a multiple of {} (16-byte rows), but it is {}", whole, p.splitC));
  if (p.isSplit() && p.secondPitch() % whole != 0)
    return needs(fmt::format("needs second_pixel_pitch to be a multiple of {} elements, but it is {}", whole, p.secondPitch()));
  if (std::string refused = epilogueRefusal("im2col_sm90", p, kFragmentColumns); !refused.empty()) return refused;
  const Task task(p, properties);
  Im2colPlan smallest;
  std::string why = begin(task, smallestTile(p).pixels, !task.haveMaps(), smallest);
  if (why.empty()) why = complete(task, smallestTile(p), {}, smallest);
  if (!why.empty()) return needs(fmt::format("has no plan: {}", inNamesOfProblems(why)));
  return {};
}

std::vector<Im2colPlan> im2colCandidates(const Problem& p, const device::Properties& properties, const Im2colChoices& choices) {
  std::vector<Im2colPlan> plans;
  plans.reserve(4 * kTiles.size());
  const Task task(p, properties);
  struct Beginning {
    int32_t boxPixels;
    bool inPieces;
    Im2colPlan plan;
    bool isPossible;
  };
  constexpr size_t kUsual = 6;
  std::vector<Beginning> begun;
  begun.reserve(kUsual);
  const auto beginningOf = [&](int32_t boxPixels, bool inPieces) -> const Beginning& {
    for (const Beginning& one : begun)
      if (one.boxPixels == boxPixels && one.inPieces == inPieces) return one;
    Beginning& one = begun.emplace_back(boxPixels, inPieces);
    one.isPossible = begin(task, boxPixels, inPieces, one.plan).empty();
    return one;
  };
  const double fullest = TileCounts(task, smallestTile(p)).filled;  // pixels and channels of the others are multiples of its own
  for (size_t i = 0; i < kTiles.size(); ++i) {
    if (choices.tile && *choices.tile != i) continue;
    // Tiles that are at most half as full were the fastest in none of 20,351 recorded problems.
    const TileCounts tiles(task, kTiles[i]);
    if (!choices.tile && 2 * tiles.filled <= fullest) continue;
    double pairs = std::numeric_limits<double>::infinity();  // clocks of the better of those that share one operand
    for (const auto& launching : kLaunchings) {
      const auto& [split, shared, inPieces] = launching;
      if (choices.inPieces.value_or(inPieces) != inPieces) continue;
      if (inPieces && !choices.inPieces && task.haveMaps() && p.c * elementBytes(p) > kMostRowInPieces) continue;
      if ((choices.split && *choices.split != split) || (choices.shared && *choices.shared != shared)) continue;
      if (!choices.shared && !mayPay(task, tiles, shared)) continue;
      const std::optional<Kernel> kernel = kernelOf(task, kTiles[i], launching);
      if (!kernel) continue;
      Im2colChoices some = choices;
      some.split = split;
      some.shared = shared;
      const Beginning& beginning = beginningOf(kernel->tile.pixels >> shiftsOf(shared).pixels, inPieces);
      if (!beginning.isPossible) continue;
      // Plans are large: worked out in their place, and taken back where they are not offered.
      const auto offers = [&](Im2colPlan& plan) {
        plan.tile = i;
        plan.kernel = kernel->ability;
        if (!complete(task, kernel->tile, some, plan).empty()) return false;
        // Splitting is for tiles that leave multiprocessors idle.
        if (!choices.split && split > 1 && plan.launch.grid.count() > kMostSplitWaves * properties.multiprocessors) return false;
        return choices.shared || !isOfFour(shared) || plan.modelledClocks <= foursLimit(task, plan) * pairs;
      };
      if (!offers(plans.emplace_back(beginning.plan))) {
        plans.pop_back();
        continue;
      }
      if (shared != Shared::None && !isOfFour(shared)) pairs = std::min(pairs, plans.back().modelledClocks);
      if (choices.stages || plans.back().deepStages == 0) continue;
      some.stages = plans.back().deepStages;
      if (!complete(task, kernel->tile, some, plans.emplace_back(Im2colPlan(plans.back()))).empty()) plans.pop_back();
    }
  }
  fastestFirst(plans);
  return plans;
}

Tiling Im2colPlan::tiling() const {
  return {kTiles[tile].pixels,
          kTiles[tile].channels,
          1 << params.splitShift,
          {params.stages, static_cast<int32_t>(shared), params.pieces.bytes},
          modelParts,
          phases          ? "im2col_phases"
          : shiftsWords() ? "im2col_unaligned"
                          : ""};
}

std::string Im2colPlan::kernelName() const {
  constexpr std::array<std::string_view, 3> kSuffixes{"", "_split", "_shared"};  // in the order of InCluster
  return fmt::format("im2col_sm90_{}_{}{}{}", kind, kTileNames[tile],
                     phases          ? "_phases"
                     : shiftsWords() ? "_shifted"
                     : isInPieces()  ? "_pieces"
                                     : kSuffixes[static_cast<size_t>(kernel)],
                     leanSuffix(params.lean));
}

std::string Im2colPlan::describe() const {
  return fmt::format(
      "{}, tiles of {} pixels x channels, reduction split by {}{}; {} CTAs, {} stages, {} bytes of shared memory; modelled {:.0f} "
      "clocks",
      kernelName(), kTileNames[tile], 1 << params.splitShift,
      shared == Shared::None ? "" : fmt::format(", sharing {}", kSharedNames[static_cast<size_t>(shared)]), launch.grid.count(),
      params.stages, launch.dynamicSharedBytes, modelledClocks);
}

std::vector<std::string> Im2colPlan::warpRoles() const {
  std::vector<std::string> roles(launch.block.x / 32, "multiply");
  if (!isInPieces()) roles.back() = "load";
  return roles;
}

}  // namespace shiftconv::plan::sm90
