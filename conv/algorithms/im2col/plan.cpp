#include "conv/algorithms/im2col/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/gemm/sm100/operand_plan.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/plan/problem_names.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/taps.hpp"
#include "conv/plan/tile_widths.hpp"

namespace shiftconv::plan {
namespace {

using gemm::sm100::GemmParams;
using gemm::sm100::kTileRows;

constexpr int64_t kTileNStep = gemm::sm100::kRowColumns;
constexpr int64_t kProductElements = layout::kMmaRowBytes / 2;  // the model's unit of a product: 16-bit operands

gemm::GemmProblem gemmProblem(const Problem& p) {
  gemm::GemmProblem gemm = gemmTypes(p);
  const gemm::Window& window = gemm.window.emplace(windowOf(p));
  gemm.m = window.rows();
  gemm.n = p.k;
  gemm.k = window.taps() * p.groupChannels();
  gemm.a.pitch = numerics::packedBytes(gemm.a.type, p.inputPitch());
  gemm.b.pitch = numerics::packedBytes(gemm.b.type, p.groupChannels());
  return gemm;
}

/// Of inputs in two tensors: rows of channels are of whole bytes and begin at multiples of 16, and a tile lies in one slice.
std::string splitRefusal(const Problem& p) {
  if (!p.isSplit()) return {};
  for (const auto& [name, type] : {std::pair{"input_type", p.inputType}, {"filter_type", p.filterType}})
    if (bitsOf(type) < 8) return fmt::format("im2col takes inputs in two tensors of whole bytes, but {} is {}", name, nameOf(type));
  const int64_t step = 128 / bitsOf(p.inputType);
  for (const auto& [name, elements] : {std::pair{"split_c", p.splitC}, {"second_pixel_pitch", p.secondPitch()}})
    if (elements % step != 0)
      return fmt::format("im2col needs {} to be a multiple of {} for {} (16-byte rows), but it is {}", name, step,
                         nameOf(p.inputType), elements);
  if (const int64_t pixels = p.p() * p.q(); p.splitD != 0 && pixels % kTileRows != 0 && p.n * p.z() != 1)
    return fmt::format("im2col needs P * Q to be a multiple of {} with split_d (a tile reads one slice), but it is {}", kTileRows,
                       pixels);
  return {};
}

/// Channels of one group lie in whole slices, which planGemm sees to; a thread looks at the largest value of 16 columns.
std::string groupRefusal(const Problem& p) {
  if (p.groups == 1) return {};
  if (p.isSplit()) return fmt::format("im2col needs groups = 1 with inputs in two tensors, but it is {}", p.groups);
  for (const DataType type : {p.inputType, p.filterType})
    if (const int64_t step = 128 / bitsOf(type); bitsOf(type) >= 8 && p.groupChannels() % step != 0)
      return fmt::format("im2col needs C / groups to be a multiple of {} for {} (16-byte rows), but it is {}", step, nameOf(type),
                         p.groupChannels());
  if (constexpr int64_t kColumns = 16; p.hasAmax && p.k / p.groups % kColumns != 0)
    return fmt::format("im2col needs K / groups to be a multiple of {} with amax, but it is {}", kColumns, p.k / p.groups);
  // 32-bit words that lie by output channels are read 16 bytes at a time from a group's first one on.
  constexpr int64_t kWords = 4;
  if ((p.hasChannelScale || p.inputZeroPoint != 0) && p.k / p.groups % kWords != 0)
    return fmt::format("im2col needs K / groups to be a multiple of {} with {} (16 bytes), but it is {}", kWords,
                       p.hasChannelScale ? "channel_scale" : "input_zero_point", p.k / p.groups);
  return {};
}

/// Bytes of a group's channels.
int64_t groupBytes(const Problem& p, DataType type) { return numerics::packedBytes(operandType(p, type), p.groupChannels()); }

/// Of one pixel, loaded for a tile of each group: whole chunks, which end with the pixel if the map does not end with the group.
int64_t pixelBytes(const Problem& p, const GemmParams& g) {
  if (p.groups == 1 || g.mapGroups != 0) return channelBytes(p, p.inputType);
  const int64_t bits = bitsOf(p.inputType), chunk = gemm::sm100::chunkElements(g.kind);
  int64_t elements = 0;
  for (int64_t group = 0; group < p.groups; ++group) {
    const int64_t first = group * p.groupChannels();
    elements += std::min(g.lineChunks * chunk, p.c - first);
  }
  return elements * bits / 8;
}

/// Rows of the filter that the tiles of all columns load: whole tiles, which end with the filter if not with the group.
int64_t filterRows(const Problem& p, const GemmParams& g) {
  if (p.groups == 1) return p.k;
  int64_t rows = 0;
  for (int64_t group = 0; group < p.groups; ++group)
    for (int64_t first = 0; first < g.groupColumns; first += g.tileN)
      rows += std::min<int64_t>(g.tileN, p.k - group * g.groupColumns - first);
  return rows;
}
int64_t filterBytesOfColumns(const Problem& p, const GemmParams& g) {
  return filterRows(p, g) * p.t * p.r * p.s * groupBytes(p, p.filterType);
}

/// Taps of an axis inside of it, at one position.
int64_t tapsInsideAt(const gemm::Window::Axis& axis, int64_t position) {
  return tapsInside(axis.extent, 1, axis.taps, 1, axis.step, axis.before - position * axis.stride);
}

/// Taps inside of the tensor at one row, a position in one image.
int64_t tapsInsideAt(const gemm::Window& window, int64_t row) {
  const auto& [x, y, z] = window.axes;
  return tapsInsideAt(x, row % x.positions) * tapsInsideAt(y, row / x.positions % y.positions) *
         tapsInsideAt(z, row / x.positions / y.positions % z.positions);
}

/// Where groups are a dimension of the map, the copies of a CTA that has the last row go on with the next group's pixels.
int64_t bytesBehindLastRow(const Problem& p, const gemm::sm100::GemmPlan& plan) {
  const GemmParams& g = plan.params;
  if (g.mapGroups == 0) return 0;
  const gemm::Window& window = *plan.problem.window;
  int64_t taps = 0;
  for (int64_t row = window.rows(); row < roundUp(window.rows(), int64_t{kTileRows}); ++row)
    taps += tapsInsideAt(window, row % window.rows()) * std::max<int64_t>(0, p.groups - row / window.rows());
  return g.groupTiles * taps * groupBytes(p, p.inputType);
}

int64_t ctasOf(const gemm::sm100::GemmPlan& plan) { return plan.launch.cluster.x; }

/// Of a tile of the output in all columns, whatever lies in it.
Traffic anyTile(const Problem& p, const gemm::sm100::GemmPlan& plan) {
  const GemmParams& g = plan.params;
  const int64_t ctas = ctasOf(plan), chunks = g.chunks, across = g.tilesAcross;
  const int64_t lineSlices = (g.lineChunks - 1) * int64_t{gemm::sm100::kChunkSlices} + g.lastChunkSlices;
  Traffic traffic;
  traffic.mmas = across * plan.problem.window->taps() * lineSlices;
  traffic.products = traffic.mmas * ctas * kTileRows * g.tileN * kProductElements;
  traffic.multiplyReadBytes = traffic.mmas * (ctas * kTileRows + g.tileN) * layout::kMmaRowBytes;
  if (layout::isBlockScaled(g.kind))
    traffic.copyReadBytes = across * chunks * ctas * gemm::sm100::scaleAtomsPerChunk(g.kind) * (1 + g.scaleB.rowTiles) *
                            int64_t{gemm::sm100::kScaleAtomBytes};
  traffic.writtenBytes = across * chunks * ctas * (int64_t{g.a.stageBytes} + (g.weightsResident ? 0 : g.b.stageBytes));
  if (!g.weightsResident) traffic.filterBytes = filterBytesOfColumns(p, g);
  traffic.multipliedRows = across * ctas * kTileRows;
  return traffic;
}

Traffic everything(const Im2colPlan& plan) {
  const Problem& p = plan.problem;
  const GemmParams& g = plan.gemm.params;
  Traffic traffic = anyTile(p, plan.gemm) * plan.tiles();
  traffic += plan.ofCluster() * plan.clusters();
  traffic.storedRows = g.tilesAcross * p.outputPixels();
  traffic.activationBytes = g.groupTiles * p.n * pixelBytes(p, g) * tapsInside(p.w, p.q(), p.s, p.strideW, p.dilationW, p.padLeft) *
                            tapsInside(p.h, p.p(), p.r, p.strideH, p.dilationH, p.padTop) *
                            tapsInside(p.d, p.z(), p.t, p.strideD, p.dilationD, p.padFront);
  traffic.activationBytes += bytesBehindLastRow(p, plan.gemm);
  return traffic;
}

/// Widths of tiles to compare: each number of columns that gives a width of its own.
std::vector<int64_t> tileWidths(const Problem& p) {
  if (isScaled(p)) return {256, 128, 64, 32};  // tiles of scale factors have 128 rows
  return plan::tileWidths(p.k / p.groups, kTileNStep, gemm::sm100::kMaximumTileN);
}

/// Whether the weights of a tile's channels can lie in shared memory at all.
bool mayBeResident(const Problem& p, const device::Properties& properties, int64_t tileN, bool pair) {
  const int64_t rows = p.t * p.r * p.s * ceilDivide(groupBytes(p, p.filterType), int64_t{gemm::sm100::kChunkBytes});
  return rows * (pair ? tileN / 2 : tileN) * int64_t{gemm::sm100::kChunkBytes} <= int64_t{properties.sharedBytesPerBlock};
}

/// Clusters that all have the same number of tiles, but for the last ones.
uint32_t evenClusters(const gemm::sm100::GemmPlan& plan, const device::Properties& properties) {
  const GemmParams& g = plan.params;
  const int64_t columns = g.weightsResident ? g.tilesAcross : 1;
  const int64_t units = int64_t{g.tilesDown} * (g.weightsResident ? 1 : g.tilesAcross);
  const int64_t available = std::max<int64_t>(1, properties.multiprocessors / ctasOf(plan) / columns);
  return static_cast<uint32_t>(ceilDivide(units, ceilDivide(units, std::min(units, available))));
}

/// Clocks below which no tiles of so many channels can be done: products, and pixels that are gathered and written.
double fewestClocks(const Problem& p, const Rates& rates, const device::Properties& properties, int64_t tileN, bool pair) {
  const int64_t ctas = pair ? 2 : 1, taps = p.t * p.r * p.s, rowBytes = groupBytes(p, p.inputType);
  const int64_t tiles = ceilDivide(p.outputPixels(), ctas * kTileRows) * p.groups * ceilDivide(p.k / p.groups, tileN);
  const auto rounds = static_cast<double>(ceilDivide(tiles, std::max<int64_t>(1, properties.multiprocessors / ctas)));
  const auto slices = static_cast<double>(taps * ceilDivide(rowBytes, int64_t{layout::kMmaRowBytes}));
  const auto rows = static_cast<double>(taps * ceilDivide(rowBytes, int64_t{gemm::sm100::kChunkBytes}) * kTileRows);
  const Demand demands[] = {{Resource::TensorCore, slices * static_cast<double>(kTileRows * tileN * kProductElements)},
                            {Resource::BulkWrites, rows * gemm::sm100::kChunkBytes}};
  return rounds * slowest(rates, demands).clocks;
}

void model(const device::Properties& properties, Im2colPlan& plan) {
  const GemmParams& g = plan.gemm.params;
  const Problem& p = plan.problem;
  const int64_t ctas = ctasOf(plan.gemm), columns = plan.gemm.launch.grid.y;
  const int64_t units = int64_t{g.tilesDown} * g.tilesAcross / columns;
  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors / ctas);
  const double rounds = static_cast<double>(ceilDivide(units, plan.clusters()));
  const double waves = static_cast<double>(ceilDivide(plan.clusters() * columns, multiprocessors));
  const Rates& rates = ratesOf(properties);
  plan.traffic = everything(plan);
  Load load;
  load.share = rounds / static_cast<double>(units * columns * ctas);
  const auto loadedRows = static_cast<double>(plan.traffic.activationBytes + plan.traffic.filterBytes);
  load.fetchedBytes = loadedRows * sectorsOf(groupBytes(p, p.inputType)) + static_cast<double>(plan.traffic.scaleBytes);
  load.crowd = crowdOf(rates, properties, plan.clusters() * columns * ctas);
  load.storedBytes = outputBytesOf(p);
  const auto rows = static_cast<double>(plan.traffic.writtenBytes / layout::kSwizzle128RowBytes);
  load.gatheredRows = rows * rates.of(Resource::GatheredRows) / rates.rowsPerClock(plan.gemm.problem.a.pitch);
  const Bound bound = slowest(rates, demandsOf(plan.traffic, load));
  plan.estimate = estimate(p, rates, waves * bound.clocks, bound.resource, clocksAround(rates, p, kTileRows, g.tileN));
}

}  // namespace

Traffic Im2colPlan::ofTile(int64_t tile) const {
  const gemm::Window& window = *gemm.problem.window;
  Traffic traffic = anyTile(problem, gemm);
  const int64_t first = tile * ctasOf(gemm) * kTileRows, end = std::min(first + ctasOf(gemm) * kTileRows, window.rows());
  int64_t taps = 0;
  for (int64_t row = first; row < end; ++row) taps += tapsInsideAt(window, row);
  traffic.activationBytes = gemm.params.groupTiles * taps * pixelBytes(problem, gemm.params);
  if (tile + 1 == tiles()) traffic.activationBytes += bytesBehindLastRow(problem, gemm);
  traffic.storedRows = gemm.params.tilesAcross * (end - first);
  return traffic;
}

Traffic Im2colPlan::ofCluster() const {
  Traffic traffic;
  const GemmParams& g = gemm.params;
  if (!g.weightsResident) return traffic;
  traffic.filterBytes = filterBytesOfColumns(problem, g);
  traffic.writtenBytes = int64_t{g.tilesAcross} * ctasOf(gemm) * g.chunks * g.b.stageBytes;
  return traffic;
}

std::string Im2colPlan::describe() const { return gemm.describe() + fmt::format("counted    {}\n", plan::describe(traffic)); }

std::string im2colRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string why = operandRefusal("im2col", p, properties, true); !why.empty()) return why;
  if (std::string why = groupRefusal(p); !why.empty()) return why;
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max() / 2;
  const std::pair<const char*, int64_t> coordinates[] = {{"N*Z*P*Q", p.outputPixels()},
                                                         {"N*D*H*W", p.inputPixels()},
                                                         {"K*T*R*S", p.k * p.t * p.r * p.s},
                                                         {"T*R*S*C", p.t * p.r * p.s * p.c}};
  for (const auto& [name, value] : coordinates)
    if (value > kLimit) return fmt::format("im2col needs {} below 2^30 (32-bit coordinates), but it is {}", name, value);
  if (std::string why = epilogueRefusal("im2col", p, gemm::sm100::kRowColumns); !why.empty()) return why;
  if (std::string why = splitRefusal(p); !why.empty()) return why;
  gemm::sm100::GemmPlan plan;
  gemm::sm100::GemmChoices narrowest;
  narrowest.tileRows = kTileRows;
  narrowest.tileN = static_cast<int32_t>(kTileNStep);
  narrowest.grouping = gemm::sm100::Grouping::Single;
  narrowest.splits = 1;
  if (const std::string why = planGemm(gemmProblem(p), properties, narrowest, plan); !why.empty())
    return fmt::format("im2col: {}", inNamesOfProblems(why));
  return {};
}

std::string planIm2col(const Problem& p, const device::Properties& properties, const Im2colChoices& choices, Im2colPlan& plan) {
  const gemm::GemmProblem problem = gemmProblem(p);
  const std::vector<int64_t> widths = choices.tileN ? std::vector<int64_t>{*choices.tileN} : tileWidths(p);
  const Rates& rates = ratesOf(properties);
  std::string firstRefusal;
  bool found = false;
  for (const bool pair : {false, true})
    for (const bool resident : {false, true})
      for (const int64_t width : widths) {
        if (pair != choices.pair.value_or(pair) || resident != choices.residentWeights.value_or(resident)) continue;
        // Unless it is asked for, and gets a sentence.
        if (resident && !choices.residentWeights && !mayBeResident(p, properties, width, pair)) continue;
        if (found &&
            clocksAround(rates, p, kTileRows, width) + fewestClocks(p, rates, properties, width, pair) >= plan.estimate.clocks)
          continue;
        gemm::sm100::GemmChoices exact;
        exact.engine = gemm::sm100::Engine::SharedA;
        exact.grouping = pair ? gemm::sm100::Grouping::Pair : gemm::sm100::Grouping::Single;
        exact.schedule = gemm::sm100::Schedule::Static;
        exact.splits = 1;
        exact.tileRows = kTileRows;
        exact.tileN = static_cast<int32_t>(width);
        exact.residentWeights = resident;
        exact.clusters = choices.clusters;
        Im2colPlan offered;
        offered.problem = p;
        if (std::string why = planGemm(problem, properties, exact, offered.gemm); !why.empty()) {
          if (firstRefusal.empty()) firstRefusal = std::move(why);
          continue;
        }
        if (!choices.clusters) offered.gemm.launch.grid.x = evenClusters(offered.gemm, properties) * offered.gemm.launch.cluster.x;
        gemm::EpilogueParams& epilogue = offered.gemm.params.epilogue;
        const numerics::NumberType accumulator = epilogue.accumulatorType;  // as the kernel reads it
        epilogue = epilogueOf(p);
        epilogue.accumulatorType = accumulator;
        model(properties, offered);
        if (!found || offered.estimate.clocks < plan.estimate.clocks) plan = std::move(offered);
        found = true;
      }
  return found ? std::string() : fmt::format("im2col: {}", inNamesOfProblems(std::move(firstRefusal)));
}

}  // namespace shiftconv::plan
