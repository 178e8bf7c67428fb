#include "common/gemm/sm100/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "common/gemm/sm100/operand_plan.hpp"
#include "common/gemm/sm100/rates.hpp"
#include "common/gemm/stages.hpp"
#include "common/gemm/window_plan.hpp"
#include "common/layout/ceil_divide.hpp"
#include "common/numerics/codec.hpp"

namespace shiftconv::gemm::sm100 {
namespace {

using layout::MmaKind;

constexpr std::array<int32_t, 5> kTileNs = {256, 192, 128, 64, 32};
constexpr std::array<int32_t, 2> kTileHeights = {kTileRows, kHalfTileRows};
constexpr std::array<Grouping, 2> kGroupings = {Grouping::Single, Grouping::Pair};
constexpr std::array<int32_t, 4> kSplits = {1, 2, 4, 8};
constexpr int64_t kFewestStages = 2;

int64_t ctasOf(Grouping grouping) { return grouping == Grouping::Single ? 1 : 2; }
int64_t ctaGroupOf(Grouping grouping) { return grouping == Grouping::Pair ? 2 : 1; }
const char* nameOf(Grouping grouping) {
  return grouping == Grouping::Single ? "single" : grouping == Grouping::Sharing ? "sharing" : "pair";
}

layout::MmaAccumulator accumulatorOf(NumberType type) {
  return type == NumberType::F16   ? layout::MmaAccumulator::F16
         : type == NumberType::S32 ? layout::MmaAccumulator::S32
                                   : layout::MmaAccumulator::F32;
}

/// The choices that a candidate makes.
struct Candidate {
  Engine engine;
  Grouping grouping;
  Schedule schedule;
  int32_t tileRows, tileN;
  int32_t splits;
  bool resident;
};

/// What the problem says of the epilogue; binding adds the rest. f16 accumulators reach it as f32.
EpilogueParams plannedEpilogue(const GemmProblem& p) {
  EpilogueParams epilogue;
  epilogue.rows = static_cast<int32_t>(p.m), epilogue.columns = static_cast<int32_t>(p.n);
  epilogue.accumulatorType = p.accumulator == NumberType::S32 ? NumberType::S32 : NumberType::F32;
  epilogue.outputType = p.output;
  epilogue.outputBlock = p.outputBlock;
  epilogue.outputPitch = p.outputPitch;
  return epilogue;
}

/// Of pixels in two tensors: what their maps cannot say.
std::string splitRefusal(const GemmProblem& p) {
  const Window& w = *p.window;
  const int64_t bits = numerics::storageBits(p.a.type);
  if (p.blockSize != 0) return "pixels in two tensors have no scale factors";
  if (bits < 8 || numerics::storageBits(p.b.type) < 8)
    return fmt::format("pixels in two tensors, and what they are multiplied with, are of whole bytes, but A and B are {} and {}",
                       numerics::name(p.a.type), numerics::name(p.b.type));
  if (w.firstChannels * bits % 128 != 0)
    return fmt::format("the channels in the first of two tensors must fill whole 16 bytes, but there are {} of {}", w.firstChannels,
                       numerics::name(p.a.type));
  if (const int64_t least = numerics::packedBytes(p.a.type, w.channels - w.firstChannels);
      w.secondPitch % 16 != 0 || w.secondPitch < least)
    return fmt::format("the pitch of the second tensor of pixels must be a multiple of 16 bytes and at least {}, but is {}", least,
                       w.secondPitch);
  return {};
}

std::string problemRefusal(const GemmProblem& p, const device::Properties& properties, MmaKind& kind) {
  const int cc = properties.computeMajor * 10 + properties.computeMinor;
  if (cc != 100 && cc != 103 && cc != 110)
    return fmt::format("these kernels need tcgen05 (compute capability 10.0, 10.3 or 11.0), but {} has {}.{}", properties.name,
                       properties.computeMajor, properties.computeMinor);
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max() - 2 * kMaximumTileN;
  for (const auto& [name, extent] : {std::pair{"M", p.m}, {"N", p.n}, {"K", p.k}})
    if (extent < 1 || extent > kLimit)
      return fmt::format("{} is {}, but it must lie in [1, {}] (32-bit TMA coordinates)", name, extent, kLimit);
  if (p.window && (p.m != p.window->rows() || p.k != p.window->taps() * p.window->channels))
    return fmt::format("M and K are {} and {}, but the window has {} positions, and {} taps of {} channels", p.m, p.k,
                       p.window->rows(), p.window->taps(), p.window->channels);
  if (p.window && p.window->isSplit())
    if (std::string why = splitRefusal(p); !why.empty()) return why;
  if (p.n % p.groups() != 0) return fmt::format("N is {}, but it must be a multiple of the {} groups", p.n, p.groups());
  std::string why;
  const std::optional<MmaKind> found = kindOf(p, why);
  if (!found) return why;
  kind = *found;
  if (kind == MmaKind::I8 && cc == 103)
    return fmt::format("{} has no kind::i8 (PTX ISA 9.7.16.10: sm_100a and sm_110a only)", properties.name);
  if (const auto refused = epilogueRefusal(plannedEpilogue(p), kRowColumns); refused && p.outputBlock == 0) return *refused;
  if (p.outputPitch < numerics::packedBytes(p.output, p.n))
    return fmt::format("outputPitch: {} bytes do not hold {} columns of {}", p.outputPitch, p.n, numerics::name(p.output));
  return {};
}

/// Groups have a dimension of their own, so that a box ends with its group.
layout::TiledMap outputMap(const GemmProblem& p, uint32_t windowRows) {
  const int64_t columns = p.n / p.groups();
  layout::TiledMap map = stagedRowsMap(p.output, columns, p.outputPitch);
  if (map.rank == 0) return map;
  map.rank = 2;
  map.dims[1] = static_cast<uint64_t>(p.m);
  map.strides = {static_cast<uint64_t>(p.outputPitch)};
  map.box[1] = windowRows;
  if (p.groups() != 1) {
    map.rank = 3;
    map.dims = {map.dims[0], static_cast<uint64_t>(p.groups()), map.dims[1]};
    map.strides = {static_cast<uint64_t>(numerics::packedBytes(p.output, columns)), map.strides[0]};
    map.box = {map.box[0], 1, windowRows};
  }
  return map;
}

/// The limits of an instruction that a candidate's tile of 64 rows meets.
std::string halfTileRefusal(const GemmProblem& p, MmaKind kind, const Candidate& c) {
  if (c.engine == Engine::TensorA)
    return "tile_rows is 64, but A is copied to Tensor Memory in tiles of 128 rows, which have a lane each";
  if (layout::isBlockScaled(kind) && c.grouping != Grouping::Pair)
    return fmt::format("tile_rows is 64, but {} multiplies 128 rows, or 64 in each CTA of a pair (PTX ISA table 39)",
                       toString(kind));
  if (c.tileN % (2 * kRowColumns) != 0)
    return fmt::format("tile_n is {}, but with tiles of 64 rows the epilogue handles {} columns at once", c.tileN, 2 * kRowColumns);
  if (p.outputBlock != 0)
    return "tile_rows is 64, but block-quantised outputs fill tiles of 128 rows of scale factors, which belong to one CTA";
  return {};
}

/// What a chunk that begins with a group's channels can hold besides them is not multiplied.
std::string groupRefusal(const GemmProblem& p, MmaKind kind, bool endsWithGroup) {
  if (p.groups() == 1) return {};
  if (p.window->isSplit()) return "pixels in two tensors have one group";
  const bool isWhole = layout::isBlockScaled(kind) || numerics::storageBits(p.a.type) < 8 || numerics::storageBits(p.b.type) < 8;
  const int64_t step = chunkElements(kind) / (isWhole ? 1 : kChunkSlices);
  if ((isWhole || !endsWithGroup) && p.window->channels % step != 0)
    return fmt::format("the channels of a group must be a multiple of {} ({}), but are {}", step,
                       isWhole ? "128 bytes of packed or scaled elements" : "32-byte slices", p.window->channels);
  if (p.outputBlock != 0 && p.n / p.groups() % kRowColumns != 0)
    return fmt::format("the columns of a group must be a multiple of {} with outputBlock, but are {}", kRowColumns,
                       p.n / p.groups());
  return {};
}

/// The limits of an instruction that a candidate's tile width meets.
std::string tileRefusal(const GemmProblem& p, MmaKind kind, const Candidate& c) {
  if (c.tileN < kRowColumns || c.tileN > kMaximumTileN || c.tileN % kRowColumns != 0)
    return fmt::format(
        "tile_n is {}, but it has to be a multiple of {}, which the epilogue handles at once, up to {} (PTX ISA table 39)", c.tileN,
        kRowColumns, kMaximumTileN);
  if (c.tileRows != kTileRows && c.tileRows != kHalfTileRows)
    return fmt::format("tile_rows is {}, but a CTA has 64 or 128 rows of a tile (PTX ISA table 39)", c.tileRows);
  if (c.tileRows == kHalfTileRows)
    if (std::string why = halfTileRefusal(p, kind, c); !why.empty()) return why;
  if (layout::isBlockScaled(kind) && kScaleAtomRows % c.tileN != 0 && c.tileN % kScaleAtomRows != 0)
    return fmt::format("tile_n is {}, but tiles of scale factors have 128 rows, so it has to be 32, 64, 128 or 256", c.tileN);
  if (c.engine == Engine::TensorA && p.a.mnMajor)
    return "A in Tensor Memory is always K-major, but M is contiguous in A (PTX ISA 9.7.16.10.4)";
  if (p.window && (c.grouping == Grouping::Sharing || p.a.mnMajor || p.b.mnMajor))
    return "a window needs K-major operands, and CTAs that load B for themselves";
  if (p.window && p.window->firstPlanes != 0) {
    const auto& [x, y, z] = p.window->axes;
    if (const int64_t positions = x.positions * y.positions; positions % c.tileRows != 0 && p.window->images * z.positions != 1)
      return fmt::format("tiles of {} rows need planes of whole tiles where pixels are split by planes, but one has {} positions",
                         c.tileRows, positions);
  }
  if (c.resident && (c.splits > 1 || c.schedule == Schedule::LaunchControl))
    return "resident weights need a CTA that stays in its columns: no split and no cluster launch control";
  return {};
}

/// Everything but the launch; empty, or why the candidate is none.
std::string planTile(const GemmProblem& p, MmaKind kind, const device::Properties& properties, const Candidate& c,
                     std::optional<int32_t> stagesWanted, GemmPlan& plan) {
  if (std::string why = tileRefusal(p, kind, c); !why.empty()) return why;
  const int64_t ctas = ctasOf(c.grouping), group = ctaGroupOf(c.grouping);
  GemmParams& params = plan.params;
  params = {};
  plan.problem = p;
  plan.engine = c.engine, plan.grouping = c.grouping, plan.schedule = c.schedule;

  const bool isHalf = c.tileRows == kHalfTileRows;
  const OperandShare shareA{p.m, c.tileRows, c.tileRows};
  const OperandShare shareB{p.n, c.tileN / group, c.tileN / ctas};
  for (const auto& [operand, name, share, operandParams, map] :
       {std::tie(p.a, "A", shareA, params.a, plan.mapA), std::tie(p.b, "B", shareB, params.b, plan.mapB)})
    if (std::string why = planOperand(p, kind, operand, name, share, operandParams, map); !why.empty()) return why;
  if (p.window) {
    if (std::string why = planWindow(*p.window, shareA.loadedRows, plan.mapA, params.window, plan.windowA); !why.empty())
      return why;
    if (p.window->isSplit()) {
      layout::TiledMap second = plan.mapA;
      second.dims[0] = static_cast<uint64_t>(p.window->channels - p.window->firstChannels);
      second.strides = {static_cast<uint64_t>(p.window->secondPitch)};
      if (std::string why = secondWindowMap(*p.window, shareA.loadedRows, second, plan.windowSecond); !why.empty()) return why;
    }
    if (p.groups() != 1 && putGroupsOutside(*p.window, params.window, plan.windowA))
      params.mapGroups = static_cast<int32_t>(p.groups());
    if (std::string why = groupRefusal(p, kind, params.mapGroups != 0); !why.empty()) return why;
    plan.mapA.rank = 0;
    plan.mapB = tapMap(*p.window, plan.mapB);
  }
  const bool expands = layout::isPadded(plan.mapA.type) && c.engine == Engine::TensorA;
  params.expandedBitsA = expands ? static_cast<uint8_t>(numerics::storageBits(p.a.type)) : uint8_t{0};

  const bool scaled = layout::isBlockScaled(kind);
  plan.mapScaleA = plan.mapScaleB = {};
  int64_t scaleBytes = 0, builtScales = 0, scaleColumns = 0;
  if (scaled) {
    const int64_t atoms = scaleAtomsPerChunk(kind);
    const auto isBuilt = [&](const Operand& operand) {
      return isHalf || p.window || operand.scaleLayout == layout::ScaleFactorLayout::RowMajor;
    };
    // Two CTAs with 64 rows each have halves of one tile of A's factors; B's are in two parts, one for each half of the columns.
    const int64_t rowsA = p.window ? p.window->pixels() : p.m, rowsB = p.window ? p.n * p.window->taps() : p.n;
    const ScaleShare scalesA{rowsA, 1, c.tileRows, 1, isBuilt(p.a), false};
    const ScaleShare scalesB =
        isHalf ? ScaleShare{rowsB, 2, c.tileN / 2, ctas, true, true}
               : ScaleShare{rowsB, std::max<int64_t>(1, c.tileN / kScaleAtomRows), kScaleAtomRows, ctas, isBuilt(p.b), false};
    params.scaleA = planScales(p, kind, scalesA, plan.mapScaleA);
    params.scaleB = planScales(p, kind, scalesB, plan.mapScaleB);
    for (const ScaleShare& share : {scalesA, scalesB}) {
      const int64_t bytes = share.rowTiles * atoms * kScaleAtomBytes;
      scaleBytes += bytes;
      builtScales += share.isBuilt ? bytes : 0;
    }
    params.scaleA.blocks *= static_cast<int32_t>(p.groups());  // a pixel's
    params.buildScales = builtScales != 0;
    scaleColumns = atoms * (params.scaleA.atomColumns + params.scaleB.atomColumns);
  }

  // Pixels in two tensors: the chunks of the first one's channels, and those of the second's.
  const int64_t before = p.window ? p.window->firstChannels : 0, line = p.lineElements() - before;
  const int64_t lineChunks = ceilDivide(line, chunkElements(kind));
  params.lineChunks = static_cast<int32_t>(ceilDivide(before, chunkElements(kind)) + lineChunks);
  params.chunks = static_cast<int32_t>(params.lineChunks * (p.window ? p.window->taps() : 1));
  params.lastChunkSlices =
      static_cast<int32_t>(ceilDivide(line - (lineChunks - 1) * chunkElements(kind), chunkElements(kind) / kChunkSlices));
  if (c.splits < 1 || c.splits > params.chunks)
    return fmt::format("splits is {}, but the reduction has {} chunk(s) of {} elements", c.splits, params.chunks,
                       chunkElements(kind));

  // A stage and what is there besides.
  plan.mapOutput = outputMap(p, isHalf && group == 1 ? 16 : 32);
  params.bulkOutput = plan.mapOutput.rank != 0;
  const int64_t resident = c.resident ? params.chunks * int64_t{params.b.stageBytes} : 0;
  constexpr int64_t kStaging = int64_t{kEpilogueWarpCount} * kStagingTiles * kStagingTileBytes;
  SharedBudget shared;
  shared.available = properties.sharedBytesPerBlock;
  shared.fixed = layout::kSwizzle128AtomBytes /* see alignedShared */ + kControlBytes + resident + kStaging;
  shared.stage = roundUp(params.a.stageBytes + (c.resident ? 0 : params.b.stageBytes) + scaleBytes, layout::kSwizzle128AtomBytes);
  ColumnBudget columns;
  // A pair with 64 rows in each CTA has the second half of the columns in lanes of its own.
  columns.accumulator = isHalf && group == 2 ? c.tileN / 2 : c.tileN;
  columns.stage = (c.engine == Engine::TensorA ? int64_t{kOperandColumns} : 0) + scaleColumns;
  const int64_t most = std::min<int64_t>(stagesWanted.value_or(kMaximumStages), kMaximumStages);
  // Two accumulators where that leaves a stage for loading and one for multiplying.
  columns.accumulators = 2;
  if (columns.stages(most) < std::min<int64_t>(most, kFewestStages)) columns.accumulators = 1;
  const int64_t stages = std::min({most, shared.stages(), columns.stages(most)});
  if (stages < 1 || stages < stagesWanted.value_or(1))
    return fmt::format(
        "{} stage(s) do not fit: shared memory takes {} (a stage has {} bytes, {} of {} are taken besides), Tensor Memory {}",
        stagesWanted.value_or(1), shared.stages(), shared.stage, shared.fixed, shared.available, columns.stages(most));

  params.kind = kind;
  params.accumulator = accumulatorOf(p.accumulator);
  params.m = static_cast<int32_t>(p.m), params.n = static_cast<int32_t>(p.n);
  params.tileRows = c.tileRows, params.tileN = c.tileN;
  params.tilesDown = static_cast<int32_t>(ceilDivide(p.m, c.tileRows * ctas));
  const int64_t groupColumns = p.n / p.groups(), groupTiles = ceilDivide(groupColumns, int64_t{c.tileN});
  params.tilesAcross = static_cast<int32_t>(groupTiles * p.groups());
  params.groupTiles = static_cast<int32_t>(groupTiles);
  params.groupColumns = static_cast<int32_t>(p.groups() == 1 ? groupTiles * c.tileN : groupColumns);
  if (params.mapGroups == 0)
    params.groupElements = static_cast<int32_t>(isPackedInShared(kind) ? p.lineElements() / 2 : p.lineElements());
  params.splits = c.splits;
  params.stages = static_cast<int32_t>(stages);
  params.accumulators = static_cast<int32_t>(columns.accumulators);
  params.accumulatorColumns = static_cast<uint32_t>(columns.accumulator);
  params.stageColumns = static_cast<uint32_t>(columns.stage);
  params.allocatedColumns = static_cast<uint32_t>(columns.allocated(stages));
  params.stageBytes = static_cast<uint32_t>(shared.stage);
  const int64_t loadedB = int64_t{params.b.boxes} * params.b.countedBytes * (c.grouping == Grouping::Sharing ? 2 : 1);
  params.loadedBytes = static_cast<uint32_t>(
      group * (int64_t{params.a.boxes} * params.a.countedBytes + (c.resident ? 0 : loadedB) + scaleBytes - builtScales));
  params.residentBytes = static_cast<uint32_t>(c.resident ? group * loadedB * params.chunks : 0);
  params.weightsResident = c.resident;
  params.tensorA = c.engine == Engine::TensorA;
  params.launchControl = c.schedule == Schedule::LaunchControl;
  params.instructionDescriptor =
      layout::instructionDescriptor({kind, p.a.type, p.b.type, params.accumulator, p.scale, p.a.mnMajor, p.b.mnMajor},
                                    static_cast<uint32_t>(c.tileRows * group), static_cast<uint32_t>(c.tileN));
  params.epilogue = plannedEpilogue(p);
  params.stagingOffset = static_cast<uint32_t>(stages * shared.stage + resident);
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(shared.used(stages));
  return {};
}

/// Modelled clocks of the whole launch, bound by the slowest resource of a tile.
void model(const device::Properties& properties, std::optional<uint32_t> clustersWanted, GemmPlan& plan) {
  const GemmParams& p = plan.params;
  const int64_t ctas = ctasOf(plan.grouping), group = ctaGroupOf(plan.grouping);
  const double chunks = static_cast<double>(p.chunks) / p.splits, slices = chunks * kChunkSlices;
  const double loaded = chunks * p.loadedBytes / static_cast<double>(group);
  const double stageA = chunks * p.a.stageBytes, copies = plan.engine == Engine::TensorA ? stageA : 0;
  const double reads =
      (plan.engine == Engine::TensorA ? copies : stageA) + slices * p.tileN / static_cast<double>(group) * layout::kMmaRowBytes;
  // Elements that tensor maps expand to bytes are fewer of them in memory; a cluster that shares B fetches it once.
  const auto saved = [&](const layout::TiledMap& map, const Operand& operand, double inShared) {
    return layout::isPadded(map.type) ? inShared * (1 - numerics::storageBits(operand.type) / 8.0) : 0.0;
  };
  const double stageB = p.weightsResident ? 0 : chunks * p.b.stageBytes,
               fetchedB = plan.grouping == Grouping::Sharing ? stageB / 2 : stageB;
  // Scale factors of B that bulk copies bring are the same in both CTAs of a cluster.
  const double scalesB = plan.mapScaleB.rank == 0 ? 0 : chunks * p.scaleB.rowTiles * scaleAtomsPerChunk(p.kind) * kScaleAtomBytes,
               sharedScalesB = scalesB * static_cast<double>(ctas - 1) / static_cast<double>(ctas);
  const double fromL2 = loaded - stageB + fetchedB - sharedScalesB - saved(plan.mapA, plan.problem.a, stageA) -
                        saved(plan.mapB, plan.problem.b, fetchedB);
  const double columnsPerClock = kMmaColumnsPerClock * (p.tileRows == kHalfTileRows && group == 2 ? 2 : 1);
  const struct {
    const char* name;
    double clocks;
  } resources[] = {{"tensor core", slices * p.tileN / columnsPerClock},
                   {"shared memory reads", reads / kSharedReadBytesPerClock},
                   {"L2 to shared memory", fromL2 / kL2BytesPerClock},
                   {"TMA writes to shared memory", loaded / kBulkWriteBytesPerClock},
                   {"shared memory to Tensor Memory", copies / kCopyBytesPerClock}};
  const auto* slowest = std::max_element(std::begin(resources), std::end(resources),
                                         [](const auto& a, const auto& b) { return a.clocks < b.clocks; });
  plan.modelledBound = slowest->name;

  const int64_t columns = p.weightsResident ? p.tilesAcross : 1;
  const int64_t units = int64_t{p.tilesDown} * (p.weightsResident ? 1 : p.tilesAcross) * p.splits;
  const int64_t available = std::max<int64_t>(1, properties.multiprocessors / ctas / columns);
  const int64_t clusters =
      plan.schedule == Schedule::LaunchControl ? units : std::min<int64_t>(units, clustersWanted.value_or(available));
  const double rounds = static_cast<double>(ceilDivide(units, std::min(clusters, available)));
  const double waves = static_cast<double>(ceilDivide(columns * ctas, std::max<int64_t>(1, properties.multiprocessors)));
  constexpr double kTileOverhead = 200;  // a pipeline that fills and drains, P 2.3
  plan.modelledClocks = waves * (rounds * slowest->clocks + kTileOverhead * (p.splits > 1 ? 2 : 1) +
                                 p.residentBytes / static_cast<double>(group) / kBulkWriteBytesPerClock);

  plan.launch.grid = {static_cast<uint32_t>(clusters * ctas), static_cast<uint32_t>(columns), 1};
  plan.launch.block = {threadsOf(p.buildScales), 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(ctas), 1, 1};
  const auto accumulatorWords = static_cast<uint64_t>(units * ctas * p.tileN * p.tileRows);
  plan.partialBytes = p.splits > 1 ? accumulatorWords * sizeof(uint32_t) : 0;
  plan.counterBytes = p.splits > 1 ? static_cast<uint64_t>(units / p.splits * ctas * 4) * sizeof(uint32_t) : 0;
}

}  // namespace

std::string planGemm(const GemmProblem& problem, const device::Properties& properties, const GemmChoices& choices, GemmPlan& plan) {
  MmaKind kind{};
  if (std::string why = problemRefusal(problem, properties, kind); !why.empty()) return why;
  if (choices.clusters && *choices.clusters == 0) return "clusters must be at least 1";

  const auto wanted = []<class T>(const std::optional<T>& choice, std::span<const T> all) {
    return choice ? std::span<const T>(&*choice, 1) : all;
  };
  const auto tileNs = wanted(choices.tileN, std::span<const int32_t>(kTileNs));
  const auto heights = wanted(choices.tileRows, std::span<const int32_t>(kTileHeights));
  const auto groupings = wanted(choices.grouping, std::span<const Grouping>(kGroupings));
  const bool isWhole = choices.residentWeights.value_or(false) || choices.schedule == Schedule::LaunchControl;
  const auto splits = wanted(choices.splits, std::span<const int32_t>(kSplits).first(isWhole ? 1 : kSplits.size()));

  // Ties go to the plain one: wide and high tiles, one CTA, no split.
  std::string firstRefusal;
  std::optional<GemmPlan> best;
  for (const int32_t parts : splits)
    for (const Grouping grouping : groupings)
      for (const int32_t tileRows : heights)
        for (const int32_t tileN : tileNs) {
          const Candidate candidate{choices.engine.value_or(Engine::SharedA),
                                    grouping,
                                    choices.schedule.value_or(Schedule::Static),
                                    tileRows,
                                    tileN,
                                    parts,
                                    choices.residentWeights.value_or(false)};
          GemmPlan offered;
          if (std::string why = planTile(problem, kind, properties, candidate, choices.stages, offered); !why.empty()) {
            if (firstRefusal.empty()) firstRefusal = std::move(why);
            continue;
          }
          model(properties, choices.clusters, offered);
          if (!best || offered.modelledClocks < best->modelledClocks) best = std::move(offered);
        }
  if (!best) return firstRefusal;
  plan = std::move(*best);
  plan.kernelName = "gemm_sm100_";
  plan.kernelName += nameOf(plan.grouping);
  return {};
}

std::string GemmPlan::describe() const {
  const GemmParams& p = params;
  std::string text = fmt::format("problem    {}\n", gemm::describe(problem));
  text += fmt::format("kernel     {}, {}\n", kernelName, toString(p.kind));
  text += fmt::format("tile       {} rows x {} columns, {} x {} tiles{}\n", p.tileRows * ctasOf(grouping), p.tileN, p.tilesDown,
                      p.tilesAcross,
                      p.splits > 1                          ? fmt::format(", the reduction in {} parts", p.splits)
                      : schedule == Schedule::LaunchControl ? ", by cluster launch control"
                                                            : "");
  text += fmt::format("reduction  {} chunks of {} elements, {} slices in the last{}\n", p.chunks, chunkElements(p.kind),
                      p.lastChunkSlices, p.window.isUsed ? fmt::format(" of each tap's {}", p.lineChunks) : "");
  const auto loads = [](const OperandParams& o) {
    return fmt::format("{} load(s) of {} bytes{}", o.boxes, o.boxBytes, o.mnMajor ? ", transposed" : "");
  };
  text += fmt::format("operands   A: {}{}; B: {}{}\n", loads(p.a), engine == Engine::TensorA ? ", to Tensor Memory" : "",
                      loads(p.b), p.weightsResident ? ", resident" : "");
  text += fmt::format("shared     {} stages of {} bytes, {} of {} in all\n", p.stages, p.stageBytes, launch.dynamicSharedBytes,
                      p.weightsResident ? "stages and weights" : "stages");
  text += fmt::format("Tensor Mem {} accumulator(s) of {} columns, {} of each stage, {} allocated\n", p.accumulators,
                      p.accumulatorColumns, p.stageColumns, p.allocatedColumns);
  text += fmt::format("launch     grid {}x{}, cluster {}, block {}, workspace {} bytes\n", launch.grid.x, launch.grid.y,
                      launch.cluster.x, launch.block.x, partialBytes + counterBytes);
  text +=
      fmt::format("modelled   {:.0f} clocks, bound by {} (a model of B200, not a measurement)\n", modelledClocks, modelledBound);
  return text;
}

}  // namespace shiftconv::gemm::sm100
