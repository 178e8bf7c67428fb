#include "conv/algorithms/raw_rows/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/decoding.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/segment_stores.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::raw_rows;
using namespace rates::raw_rows;

namespace {

constexpr int64_t kElementBytes = 2, kChunkElements = kChunkBytes / kElementBytes;
constexpr std::array<int64_t, 2> kChannels{64, 32};
constexpr size_t kTilesOffered = 3;    ///< of each number of channels
constexpr int64_t kMostColumns = 512;  ///< of a tile, unless more are asked for

/// What the order of the reduction follows from.
struct Reduction {
  bool oddSteps;  ///< from output column to output column
  int64_t lead, runs, runPairs, steps;
};
Reduction reductionOf(const Problem& p) {
  Reduction r{};
  r.oddSteps = p.strideW * p.c % 2 != 0;
  r.lead = r.oddSteps ? 0 : p.padLeft * p.c % 2;
  r.runs = p.t * p.r;
  r.runPairs = ceilDivide(p.s * p.c + r.lead, 2);
  r.steps = ceilDivide(r.runs * r.runPairs, int64_t{kStepPairs});
  return r;
}

/// Bytes of a row of the window of `columns` output columns: it begins at most 7 elements early, and a run that begins in the
/// middle of a word reads one word more.
int64_t rowBytes(const Problem& p, const Reduction& r, int64_t columns) {
  const int64_t elements = kChunkElements - 1 + (columns - 1) * p.strideW * p.c + 2 * r.runPairs + (r.oddSteps ? 2 : 0);
  return ceilDivide(elements, kChunkElements) * kChunkBytes;
}
int64_t windowHeight(const Problem& p, int64_t rows) { return (rows - 1) * p.strideH + (p.r - 1) * p.dilationH + 1; }
int64_t sharedBytes(const Problem& p, const Reduction& r, int64_t rows, int64_t columns, int64_t channels) {
  constexpr int64_t kFar = int64_t{1} << 20;  // beyond any shared memory, and the product still fits into 64 bits
  const int32_t steps = static_cast<int32_t>(r.steps);
  return tableBytes(steps) + weightBytes(steps, static_cast<int32_t>(channels)) + biasBytes(static_cast<int32_t>(channels)) +
         2 * std::min(p.t * windowHeight(p, rows), kFar) * std::min(rowBytes(p, r, columns), kFar);
}
/// What each of the CTAs of a multiprocessor may have; offsets of the table must reach it.
int64_t sharedLimit(const device::Properties& properties) {
  const int64_t share = sharedBytesOfEach(properties, kCtasPerMultiprocessor);
  return std::min<int64_t>(share, int64_t{1} << kOffsetBits);
}

/// Of 8 bits: they become f16 on their way to shared memory.
bool isDecoded(const Problem& p) { return bitsOf(p.inputType) == 8; }

layout::FastDivisor divisor(int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); }

int32_t copyBytes(const Problem& p) {
  if (isDecoded(p)) return p.w * p.c % 4 == 0 ? 4 : 1;
  for (const int32_t bytes : {16, 8, 4})
    if (p.w * p.c * kElementBytes % bytes == 0) return bytes;
  return kElementBytes;
}

/// Columns and rows of tiles that compete: shares of the output, as equal as can be.
std::vector<int64_t> columnsOf(const Problem& p, const RawRowsChoices& choices) {
  if (choices.columns) return {std::min<int64_t>(*choices.columns, p.q())};
  std::vector<int64_t> columns;
  for (int64_t parts = ceilDivide(p.q(), kMostColumns);; parts += std::max<int64_t>(1, parts / 2)) {
    columns.push_back(ceilDivide(p.q(), parts));
    if (columns.back() <= kWarpPixels / 2) return columns;
  }
}
/// Others, of an image of one row: shares that give every multiprocessor one CTA, or two.
std::vector<int64_t> fillingColumns(const Problem& p, const device::Properties& properties, int64_t channels,
                                    const std::vector<int64_t>& known) {
  if (p.p() != 1) return {};
  std::vector<int64_t> columns;
  const int64_t others = p.n * p.z() * ceilDivide(p.k, channels);
  for (const int64_t each : {1, 2}) {
    const int64_t parts = each * properties.multiprocessors / others;
    if (parts == 0) continue;
    const int64_t share = ceilDivide(p.q(), parts);
    if (share > kWarpPixels / 2 && share <= kMostColumns && std::find(known.begin(), known.end(), share) == known.end())
      columns.push_back(share);
  }
  return columns;
}
std::vector<int64_t> rowsOf(const Problem& p, const RawRowsChoices& choices) {
  if (choices.rows) return {std::min<int64_t>(*choices.rows, p.p())};
  std::vector<int64_t> rows;
  for (const int64_t some : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32})
    if (some <= p.p()) rows.push_back(some);
  return rows;
}

void model(const Problem& p, const device::Properties& properties, RawRowsPlan& plan) {
  const Rates& rates = ratesOf(properties);
  const Params& params = plan.params;
  const double steps = params.steps, channels = plan.channels;
  const double groups = std::ceil(params.tilePixels / static_cast<double>(kWarpPixels));
  const double passes = std::ceil(groups / (kThreads / 32));
  const double warpLoads = steps * ((p.strideW * p.c % 2 != 0 ? 16 : 8) + channels / 4 + 1) * 128;  // bytes of the banks' time
  const double multiply =
      groups * std::max(steps * 16 * kWarpPixels * channels / kProductsPerClock, warpLoads / rates.of(Resource::SharedReads));
  const double stored = groups * kWarpPixels * static_cast<double>(std::min<int64_t>(plan.channels, p.k)) *
                        static_cast<double>(bitsOf(p.outputType)) / 8 / rates.of(Resource::BulkStores);
  const double copied = static_cast<double>(params.windowRows) * params.rowBytes;
  const double copies = params.windowRows * std::ceil(params.rowBytes / (32.0 * std::max(params.copyBytes, 4))) / kCopyInstructions;
  const double decoded = isDecoded(p) ? copied / kElementBytes / kDecodedElements : 0;
  const double loads = std::max({copied / rates.of(Resource::L2ToShared), copies, decoded});
  const double outputs = groups * kWarpPixels * static_cast<double>(std::min<int64_t>(plan.channels, p.k));
  const double torn = segmentStoreClocks(p, rates, outputs);
  const double tile = std::max({multiply, stored, loads, torn, isDecoded(p) ? outputs / kWholeOutputs : 0});
  plan.bound = tile == multiply                 ? Resource::TensorCore
               : tile == stored || tile == torn ? Resource::BulkStores
                                                : Resource::L2ToShared;
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const double tiles = static_cast<double>(params.tiles) * plan.launch.grid.y;
  const double ctas = static_cast<double>(plan.launch.grid.x) * plan.launch.grid.y;
  const double perMultiprocessor = std::ceil(tiles / multiprocessors), rounds = std::ceil(tiles / ctas);
  const double throughput = perMultiprocessor * (tile + kTileClocks / kCtasPerMultiprocessor);
  const double chain = rounds * (passes * (steps * kStepLatency + kPassLatency) + kTileClocks) + loads;
  const double packing = steps * channels / 8;
  const double share =
      (channels == 32 ? kTile32Share : 0) + (p.t * p.r * p.s > 1 ? kTapsShare : 0) + kChannelsShare * std::log2(p.c);
  plan.modelledClocks =
      corrected(rates.launchClocks.perClock + kStartClocks + packing + std::max(throughput, chain), kCorrection, share);
}

RawRowsPlan planOf(const Problem& p, const device::Properties& properties, int64_t rows, int64_t columns, int64_t channels,
                   Dependence dependent) {
  const Reduction reduction = reductionOf(p);
  RawRowsPlan plan;
  plan.rows = static_cast<int32_t>(rows), plan.columns = static_cast<int32_t>(columns);
  plan.channels = static_cast<int32_t>(channels);
  Params& params = plan.params;
  const int64_t columnTiles = ceilDivide(p.q(), columns), rowTiles = ceilDivide(p.p(), rows);
  params.columnTiles = divisor(columnTiles);
  params.rowTiles = divisor(rowTiles);
  params.outputDepth = divisor(p.z());
  params.tileColumns = divisor(columns);
  params.windowHeight = divisor(windowHeight(p, rows));
  params.filterHeight = divisor(p.r);
  params.runPairs = divisor(reduction.runPairs);
  params.tiles = static_cast<int32_t>(p.n * p.z() * rowTiles * columnTiles);
  params.tileRows = static_cast<int32_t>(rows);
  params.tilePixels = static_cast<int32_t>(rows * columns);
  params.outputHeight = static_cast<int32_t>(p.p());
  params.outputWidth = static_cast<int32_t>(p.q());
  params.inputDepth = static_cast<int32_t>(p.d);
  params.inputHeight = static_cast<int32_t>(p.h);
  params.inputRow = static_cast<int32_t>(p.w * p.c);
  params.strideD = static_cast<int32_t>(p.strideD);
  params.strideH = static_cast<int32_t>(p.strideH);
  params.columnStep = static_cast<int32_t>(p.strideW * p.c);
  params.padFront = static_cast<int32_t>(p.padFront);
  params.padTop = static_cast<int32_t>(p.padTop);
  params.padLeft = static_cast<int32_t>(p.padLeft * p.c);
  params.dilationD = static_cast<int32_t>(p.dilationD);
  params.dilationH = static_cast<int32_t>(p.dilationH);
  params.runs = static_cast<int32_t>(reduction.runs);
  params.runElements = static_cast<int32_t>(p.s * p.c);
  params.lead = static_cast<int32_t>(reduction.lead);
  params.steps = static_cast<int32_t>(reduction.steps);
  params.windowRows = static_cast<int32_t>(p.t * windowHeight(p, rows));
  params.rowBytes = static_cast<int32_t>(rowBytes(p, reduction, columns));
  params.copyBytes = copyBytes(p);
  params.plain = isPlainSegment(p) || isPlainBytes(p);
  params.scales = isScaledSegment(p);
  if (p.k % kSegmentColumns == 0 && p.outputPitch() % kSegmentColumns == 0 &&
      (!p.hasResidual() || (!isDecoded(p) && p.residualPitch() % kSegmentColumns == 0)) && !p.addsResidualLast())
    params.lean = leanOf(p);
  params.inputs = decodingOf(p, p.inputType);
  params.filters = decodingOf(p, p.filterType);
  params.epilogue = epilogueOf(p);
  const int64_t channelTiles = ceilDivide(p.k, channels);
  const int64_t together = int64_t{std::max<uint32_t>(1, properties.multiprocessors)} * kCtasPerMultiprocessor;
  const int64_t most = std::max<int64_t>(1, together / channelTiles), rounds = ceilDivide(int64_t{params.tiles}, most);
  plan.launch.grid = {static_cast<uint32_t>(ceilDivide(int64_t{params.tiles}, rounds)), static_cast<uint32_t>(channelTiles), 1};
  plan.launch.block = {static_cast<uint32_t>(kThreads), 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(sharedBytes(p, reduction, rows, columns, channels));
  plan.launch.programmaticDependent = dependent != Dependence::None;
  params.filterAhead = dependent == Dependence::Filter;
  plan.kernelName.append("raw_rows_")
      .append(isDecoded(p) ? "bytes" : nameOf(p.inputType))
      .append(reduction.oddSteps ? "_odd_" : "_even_");
  plan.kernelName.append(std::to_string(channels)).append(leanSuffix(params.lean));
  model(p, properties, plan);
  return plan;
}

}  // namespace

std::string rawRowsRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = targetRefusal("raw_rows", properties); !reason.empty()) return reason;
  const auto needs = [](std::string_view what) { return fmt::format("raw_rows {}", what); };
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return needs("takes no block scales of operands");
  using enum DataType;
  const auto both = [&](DataType a, DataType b) {
    return (p.inputType == a || p.inputType == b) && (p.filterType == a || p.filterType == b);
  };
  if (!both(F16, F16) && !both(BF16, BF16) && !both(E4M3, E5M2) && !both(S8, U8))
    return needs(
        fmt::format("multiplies f16 or bf16 with the same, and 8-bit floats or integers with each other, but input_type and "
                    "filter_type are {} and {}",
                    nameOf(p.inputType), nameOf(p.filterType)));
  if (p.compute != Compute::Default) return needs(fmt::format("sums in f32, but compute is {}", nameOf(p.compute)));
  if (const int64_t products = p.t * p.r * p.s * p.c; isInteger(p.inputType) && products > mostExactProducts(p))
    return needs(fmt::format("needs at most {} products T*R*S*C of {} and {}, but they are {}", mostExactProducts(p),
                             nameOf(p.inputType), nameOf(p.filterType), products));
  if (std::string refused = zeroPointRefusal("raw_rows", p); !refused.empty()) return refused;
  if (p.groups != 1) return needs(fmt::format("needs one group, but there are {}", p.groups));
  constexpr int64_t kMostChannels = 16;  // with more, other engines copy whole vectors
  if (p.c > kMostChannels) return needs(fmt::format("needs C up to {}, but it is {}", kMostChannels, p.c));
  if (p.inputPitch() != p.c)
    return needs(fmt::format("needs pixels without gaps, but input_pixel_pitch is {} and C is {}", p.inputPitch(), p.c));
  if (p.dilationW != 1) return needs(fmt::format("needs dilation_w 1, but it is {}", p.dilationW));
  if (std::string refused = epilogueRefusal("raw_rows", p, kSegmentColumns); !refused.empty()) return refused;
  constexpr int64_t kLimit = int64_t{1} << 28;
  constexpr int64_t kMostTaps = 4096;  // weights of more never fit into shared memory
  for (const auto& [name, value] : {std::pair{"T", p.t}, {"R", p.r}, {"S", p.s}})
    if (value > kMostTaps) return needs(fmt::format("needs {} up to {}, but it is {}", name, kMostTaps, value));
  for (const auto& [name, value] : {std::pair{"K", p.k},
                                    {"stride_d", p.strideD},
                                    {"stride_h", p.strideH},
                                    {"stride_w", p.strideW},
                                    {"dilation_d", p.dilationD},
                                    {"dilation_h", p.dilationH}})
    if (value > (1 << 20)) return needs(fmt::format("needs {} up to 2^20, but it is {}", name, value));
  for (const auto& [name, value] : {std::pair{"D + pad_front + pad_back", p.d + p.padFront + p.padBack},
                                    {"H + pad_top + pad_bottom", p.h + p.padTop + p.padBottom},
                                    {"(W + pad_left + pad_right) * C", (p.w + p.padLeft + p.padRight) * p.c}})
    if (value > kLimit) return needs(fmt::format("needs {} up to 2^28 (32-bit coordinates), but it is {}", name, value));
  // The smallest tile of the fewest channels.
  const Reduction reduction = reductionOf(p);
  const int64_t limit = sharedLimit(properties);
  if (p.t * p.r * p.s * p.c > limit || p.t * windowHeight(p, 1) > limit)
    return needs(fmt::format("keeps weights and input rows in shared memory, but {} elements of a filter or {} rows do not fit",
                             p.t * p.r * p.s * p.c, p.t * windowHeight(p, 1)));
  const int64_t columns = columnsOf(p, {}).back();
  if (const int64_t bytes = sharedBytes(p, reduction, 1, columns, kChannels.back()); bytes > limit)
    return needs(
        fmt::format("needs {} bytes of shared memory for the weights of {} channels and the input rows of {} pixels, but a "
                    "CTA has {}",
                    bytes, kChannels.back(), columns, limit));
  return {};
}

std::vector<RawRowsPlan> rawRowsCandidates(const Problem& p, const device::Properties& properties, const RawRowsChoices& choices) {
  const Reduction reduction = reductionOf(p);
  const int64_t limit = sharedLimit(properties);
  std::vector<RawRowsPlan> offered;
  for (const int64_t channels : kChannels) {
    if (choices.channels && *choices.channels != channels) continue;
    std::vector<RawRowsPlan> plans;
    const auto addPlans = [&](const std::vector<int64_t>& someColumns) {
      for (const int64_t columns : someColumns)
        for (const int64_t rows : rowsOf(p, choices))
          if (sharedBytes(p, reduction, rows, columns, channels) <= limit)
            plans.push_back(planOf(p, properties, rows, columns, channels, choices.dependent));
    };
    const std::vector<int64_t> columns = columnsOf(p, choices);
    addPlans(columns);
    fastestFirst(plans);
    if (plans.size() > kTilesOffered) plans.resize(kTilesOffered);
    if (!choices.columns) addPlans(fillingColumns(p, properties, channels, columns));
    offered.insert(offered.end(), std::make_move_iterator(plans.begin()), std::make_move_iterator(plans.end()));
  }
  fastestFirst(offered);
  return offered;
}

std::string RawRowsPlan::describe() const {
  return fmt::format(
      "{}, tiles of {} rows x {} columns x {} channels; {} steps of the reduction, {} input rows of {} bytes in copies of {}; {} x "
      "{} "
      "CTAs, {} bytes of shared memory; modelled {:.0f} clocks",
      kernelName, rows, columns, channels, params.steps, params.windowRows, params.rowBytes, params.copyBytes, launch.grid.x,
      launch.grid.y, launch.dynamicSharedBytes, modelledClocks);
}

}  // namespace shiftconv::plan
