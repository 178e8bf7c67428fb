#include "conv/algorithms/gemm/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "common/numerics/codec.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/problem_names.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/tile_widths.hpp"

namespace shiftconv::plan {
namespace {

using gemm::sm100::Engine;
using gemm::sm100::GemmChoices;
using gemm::sm100::GemmParams;
using gemm::sm100::GemmPlan;
using gemm::sm100::Grouping;
using gemm::sm100::Schedule;

constexpr int64_t kLaunchControlResponseBytes = 16;             // of clusterlaunchcontrol.try_cancel: .b128
constexpr int64_t kProductElements = layout::kMmaRowBytes / 2;  // the model's unit of a product: 16-bit operands

gemm::GemmProblem matrixProblem(const Problem& p) {
  gemm::GemmProblem matrix = gemmTypes(p);
  matrix.m = p.w, matrix.n = p.k, matrix.k = p.c;
  matrix.a.pitch = numerics::packedBytes(matrix.a.type, p.inputPitch());
  matrix.b.pitch = numerics::packedBytes(matrix.b.type, p.c);
  return matrix;
}

/// CTAs of a cluster, and those of them that multiply together.
int64_t clusterOf(const GemmPlan& plan) { return plan.launch.cluster.x; }
int64_t multiplyingOf(const GemmPlan& plan) { return plan.grouping == Grouping::Pair ? 2 : 1; }

/// Bytes of an operand's scale factors in a stage.
int64_t scaleBytesOf(const GemmParams& g, const gemm::sm100::ScaleParams& scales) {
  return layout::isBlockScaled(g.kind)
             ? gemm::sm100::scaleAtomsPerChunk(g.kind) * scales.rowTiles * int64_t{gemm::sm100::kScaleAtomBytes}
             : 0;
}
/// Those that bulk copies read from global memory: of the tiles of 128 rows that exist.
int64_t loadedScaleBytes(const Problem& p, const GemmPlan& plan) {
  const GemmParams& g = plan.params;
  const auto tilesOf = [](const gemm::sm100::ScaleParams& scales) {
    return ceilDivide(scales.blocks, gemm::sm100::kScaleAtomBlocks) * int64_t{gemm::sm100::kScaleAtomBytes};
  };
  const int64_t rowTilesB = ceilDivide(p.k, gemm::sm100::kScaleAtomRows);
  int64_t bytes = 0;
  if (plan.mapScaleA.rank != 0) bytes += g.tilesAcross * ceilDivide(p.w, gemm::sm100::kScaleAtomRows) * tilesOf(g.scaleA);
  for (int64_t column = 0; column < g.tilesAcross && plan.mapScaleB.rank != 0; ++column) {
    const int64_t first = column * g.tileN / gemm::sm100::kScaleAtomRows;
    bytes += g.tilesDown * std::min<int64_t>(g.scaleB.rowTiles, rowTilesB - first) * tilesOf(g.scaleB);
  }
  return bytes;
}
/// Those that bulk copies write into a stage.
int64_t copiedScaleBytes(const GemmPlan& plan) {
  return (plan.mapScaleA.rank == 0 ? 0 : scaleBytesOf(plan.params, plan.params.scaleA)) +
         (plan.mapScaleB.rank == 0 ? 0 : scaleBytesOf(plan.params, plan.params.scaleB));
}

Traffic matrixTraffic(const Problem& p, const GemmPlan& plan) {
  const GemmParams& g = plan.params;
  const int64_t ctas = clusterOf(plan), multiplying = multiplyingOf(plan);
  const int64_t tiles = int64_t{g.tilesDown} * g.tilesAcross;
  const int64_t slices = (g.chunks - 1) * int64_t{gemm::sm100::kChunkSlices} + g.lastChunkSlices;
  const int64_t stagesFilled = tiles * g.chunks * ctas;
  Traffic traffic;
  traffic.mmas = tiles * slices * (ctas / multiplying);
  traffic.products = traffic.mmas * multiplying * g.tileRows * g.tileN * kProductElements;
  traffic.multiplyReadBytes = traffic.mmas * ((g.tensorA ? 0 : multiplying * g.tileRows) + g.tileN) * layout::kMmaRowBytes;
  traffic.copyReadBytes = stagesFilled * (scaleBytesOf(g, g.scaleA) + scaleBytesOf(g, g.scaleB));
  if (g.tensorA) traffic.copyReadBytes += tiles * ctas * slices * g.a.stageBytes / gemm::sm100::kChunkSlices;
  traffic.writtenBytes =
      stagesFilled * (int64_t{g.a.stageBytes} + (g.weightsResident ? 0 : g.b.stageBytes) + copiedScaleBytes(plan));
  if (g.launchControl) traffic.writtenBytes += tiles * ctas * kLaunchControlResponseBytes;
  traffic.scaleBytes = loadedScaleBytes(p, plan);
  traffic.activationBytes = g.tilesAcross * p.w * channelBytes(p, p.inputType);
  traffic.filterBytes = p.k * channelBytes(p, p.filterType);
  if (g.weightsResident) {
    const int64_t clusters = plan.launch.grid.x / plan.launch.cluster.x;
    traffic.writtenBytes += int64_t{g.tilesAcross} * ctas * g.chunks * g.b.stageBytes * clusters;
    traffic.filterBytes *= clusters;
  } else {
    traffic.filterBytes *= g.tilesDown;
  }
  traffic.multipliedRows = tiles * g.splits * ctas * g.tileRows;
  traffic.storedRows = g.tilesAcross * p.w;
  return traffic;
}

int64_t unitsOf(const GemmParams& g) { return int64_t{g.tilesDown} * (g.weightsResident ? 1 : g.tilesAcross) * g.splits; }

/// Clusters that all have the same number of tiles, but for the last ones.
uint32_t evenClusters(const GemmPlan& plan, const device::Properties& properties) {
  const int64_t units = unitsOf(plan.params);
  const int64_t available = std::max<int64_t>(1, properties.multiprocessors / clusterOf(plan) / plan.launch.grid.y);
  return static_cast<uint32_t>(ceilDivide(units, ceilDivide(units, std::min(units, available))));
}

void modelMatrix(const device::Properties& properties, MatrixPlan& plan) {
  const GemmParams& g = plan.gemm.params;
  const Problem& p = plan.problem;
  const int64_t ctas = clusterOf(plan.gemm), columns = plan.gemm.launch.grid.y, units = unitsOf(g);
  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors / ctas);
  const int64_t clusters = std::min<int64_t>(plan.gemm.launch.grid.x / ctas, multiprocessors);
  const double rounds = static_cast<double>(ceilDivide(units, clusters));
  const double waves = static_cast<double>(ceilDivide(clusters * columns, multiprocessors));
  const Rates& rates = ratesOf(properties);
  plan.traffic = matrixTraffic(p, plan.gemm);
  Load load;
  load.share = rounds / static_cast<double>(units * columns * ctas);
  load.fetchedBytes = fetchedBytesOf(p, plan.traffic);
  load.crowd = crowdOf(rates, properties, clusters * columns * ctas);
  load.storedBytes = outputBytesOf(p);
  const Bound bound = slowest(rates, demandsOf(plan.traffic, load));
  plan.estimate = estimate(p, rates, waves * bound.clocks, bound.resource, clocksAround(rates, p, g.tileRows, g.tileN));
}

std::vector<int64_t> widthsOf(const Problem& p, const MatrixChoices& choices) {
  if (choices.tileN) return {*choices.tileN};
  if (isScaled(p)) return {256, 128, 64, 32};  // tiles of scale factors have 128 rows
  return tileWidths(p.k, gemm::sm100::kRowColumns, gemm::sm100::kMaximumTileN);
}

}  // namespace

uint64_t MatrixPlan::partialsOffset() const { return correctionPlaces(problem).bytes; }

std::string MatrixPlan::describe() const { return gemm.describe() + fmt::format("counted    {}\n", plan::describe(traffic)); }

std::string matrixRefusal(const Problem& p, const device::Properties& properties) {
  const std::tuple<const char*, int64_t, int64_t> wanted[] = {{"n", p.n, 1},
                                                              {"d", p.d, 1},
                                                              {"h", p.h, 1},
                                                              {"t", p.t, 1},
                                                              {"r", p.r, 1},
                                                              {"s", p.s, 1},
                                                              {"stride_w", p.strideW, 1},
                                                              {"pad_front", p.padFront, 0},
                                                              {"pad_back", p.padBack, 0},
                                                              {"pad_top", p.padTop, 0},
                                                              {"pad_bottom", p.padBottom, 0},
                                                              {"pad_left", p.padLeft, 0},
                                                              {"pad_right", p.padRight, 0}};
  for (const auto& [name, value, must] : wanted)
    if (value != must)
      return fmt::format(
          "gemm takes matrices, which are images of one row of pixels and filters of one tap: {} must be {}, but it is {}", name,
          must, value);
  if (std::string why = operandRefusal("gemm", p, properties); !why.empty()) return why;
  if (std::string why = epilogueRefusal("gemm", p, gemm::sm100::kRowColumns); !why.empty()) return why;
  GemmPlan plan;
  GemmChoices narrowest;
  narrowest.tileRows = gemm::sm100::kTileRows;
  narrowest.tileN = gemm::sm100::kRowColumns;
  narrowest.grouping = Grouping::Single;
  narrowest.splits = 1;
  if (const std::string why = planGemm(matrixProblem(p), properties, narrowest, plan); !why.empty())
    return fmt::format("gemm: {}", inNamesOfProblems(why));
  return {};
}

std::string planMatrix(const Problem& p, const device::Properties& properties, const MatrixChoices& choices, MatrixPlan& plan) {
  const gemm::GemmProblem problem = matrixProblem(p);
  std::string firstRefusal;
  bool found = false;
  for (const Grouping group : {Grouping::Single, Grouping::Sharing, Grouping::Pair})
    for (const bool resident : {false, true})
      for (const int64_t width : widthsOf(p, choices)) {
        if ((group == Grouping::Pair) != choices.pair.value_or(group == Grouping::Pair) || group != choices.group.value_or(group) ||
            resident != choices.residentWeights.value_or(resident))
          continue;
        GemmChoices exact;
        exact.engine = choices.engine.value_or(Engine::SharedA);
        exact.grouping = group;
        exact.schedule = choices.schedule.value_or(Schedule::Static);
        exact.splits = static_cast<int32_t>(choices.splits.value_or(1));
        exact.tileRows = static_cast<int32_t>(choices.tileRows.value_or(gemm::sm100::kTileRows));
        exact.tileN = static_cast<int32_t>(width);
        if (choices.stages) exact.stages = static_cast<int32_t>(*choices.stages);
        exact.residentWeights = resident;
        exact.clusters = choices.clusters;
        MatrixPlan offered;
        offered.problem = p;
        if (std::string why = planGemm(problem, properties, exact, offered.gemm); !why.empty()) {
          if (firstRefusal.empty()) firstRefusal = std::move(why);
          continue;
        }
        if (!choices.clusters && exact.schedule == Schedule::Static)
          offered.gemm.launch.grid.x = evenClusters(offered.gemm, properties) * offered.gemm.launch.cluster.x;
        gemm::EpilogueParams& epilogue = offered.gemm.params.epilogue;
        const numerics::NumberType accumulator = epilogue.accumulatorType;  // as the kernel reads it
        epilogue = epilogueOf(p);
        epilogue.accumulatorType = accumulator;
        modelMatrix(properties, offered);
        if (!found || offered.estimate.clocks < plan.estimate.clocks) plan = std::move(offered);
        found = true;
      }
  return found ? std::string() : fmt::format("gemm: {}", inNamesOfProblems(std::move(firstRefusal)));
}

}  // namespace shiftconv::plan
