#include "conv/algorithms/halo_sm100/cut.hpp"

#include "conv/plan/rates.hpp"

namespace shiftconv::plan::sm100::halo {
namespace {

constexpr int64_t kMinimumFilterStages = 2;
constexpr int64_t kProductElements = layout::kMmaRowBytes / 2;  // the model's unit of a product: 16-bit operands

}  // namespace

int64_t rowBlocks(const Problem& p, const Cut& cut) { return ceilDivide(p.p(), cut.tileRows()); }
int64_t columnBlocks(const Problem& p) { return ceilDivide(p.q(), kGroupPixels); }
int64_t tilesOf(const Problem& p, const Cut& cut) {
  return ceilDivide(ceilDivide(p.n, cut.tileImages) * p.z() * rowBlocks(p, cut) * columnBlocks(p),
                    cut.ctas() * cut.unitsOfOperand());
}

int64_t sharedBytes(const Channels& channels, const Patches& patches, const Cut& cut) {
  return layout::kSwizzle128AtomBytes + kControlBytes + cut.patchStages * patches.count * patches.bytes() +
         cut.filterStages * cut.filterStageBytes() + cut.scaleStages * cut.scaleStageBytes(channels.kind) +
         gemm::sm100::kStagingTilesOfCta * cut.stagingTileBytes;
}

void fitTensorMemory(const Channels& channels, Cut& cut) {
  const int64_t columns = roundUp(cut.tileN, kColumnStep),
                ofScales = cut.scaleAtoms(channels.kind) * gemm::sm100::kScaleAtomColumns;
  if (cut.streams()) {
    cut.accumulators = std::min<int64_t>(kMaximumAccumulators, kColumns / columns);
  } else if (ofScales != 0) {
    cut.accumulators = kAccumulators * columns + 2 * ofScales <= kColumns ? kAccumulators : 1;
    cut.scaleStages = std::min<int64_t>(kMaximumScaleStages, (kColumns - cut.accumulators * columns) / ofScales);
  }
}

bool fitSharedMemory(const Problem& p, const Channels& channels, const Patches& patches, int64_t available,
                     std::optional<bool> residentWanted, bool mayStage, Cut& cut) {
  const int64_t stagingTile = mayStage ? int64_t{gemm::sm100::stagingTileBytes(numberType(p.outputType))} : 0;
  const int64_t taps = p.t * p.r * p.s * channels.chunks;
  for (const int64_t fewest : {2, 1})
    for (const bool resident : {true, false}) {
      if (resident != residentWanted.value_or(resident)) continue;
      cut.resident = resident;
      cut.patchStages = fewest;
      cut.stagingTileBytes = 0;
      // A row of a stream meets all taps of its chunk, so that they have to be there together.
      cut.filterStages = resident ? taps : cut.streams() ? p.r * p.s : kMinimumFilterStages;
      if (!resident && cut.filterStages > kMaximumFilterStages) continue;
      int64_t left = available - sharedBytes(channels, patches, cut);
      if (left < 0) continue;
      if (const int64_t staging = gemm::sm100::kStagingTilesOfCta * stagingTile; staging <= left) {
        cut.stagingTileBytes = stagingTile;
        left -= staging;
      }
      if (!resident) {
        const int64_t more = std::min({left / cut.filterStageBytes(), p.r * p.s, kMaximumFilterStages - cut.filterStages});
        cut.filterStages += more;
        left -= more * cut.filterStageBytes();
      }
      cut.patchStages += std::min(left / (patches.count * patches.bytes()), kMaximumPatchStages - fewest);
      return true;
    }
  return false;
}

bool finishesRows(const Problem& p, const Channels& channels, const Cut& cut) {
  return p.t == 1 && (cut.resident || channels.chunks == 1);
}

Traffic anyTile(const Problem& p, const Channels& channels, const Patches& patches, const Cut& cut) {
  const int64_t taps = p.t * p.r * p.s;
  Traffic traffic;
  const int64_t patchRows = cut.streams() ? rowsOf(p).readOf(cut.streamRows) : 1;
  traffic.mmas = cut.passes * taps * channels.slices() * cut.operandRows();
  traffic.products = traffic.mmas * cut.ctas() * gemm::sm100::kTileRows * cut.tileN * kProductElements;
  // The filter rows that read a row of streams have its operands from the collector buffer, but for the first.
  const int64_t readsOfA = cut.streams() ? cut.passes * p.t * p.s * channels.slices() * patchRows : traffic.mmas;
  traffic.multiplyReadBytes = (readsOfA * cut.ctas() * gemm::sm100::kTileRows + traffic.mmas * cut.tileN) * layout::kMmaRowBytes;
  traffic.writtenBytes =
      cut.passes * cut.ctas() * p.t * channels.chunks * patchRows * patches.count * patches.boxes * patches.boxBytes();
  traffic.multipliedRows = cut.passes * cut.ctas() * gemm::sm100::kTileRows * cut.operandRows();
  traffic.copyReadBytes = cut.passes * cut.ctas() * taps * channels.chunks * cut.scaleStageBytes(channels.kind);
  if (!cut.resident) {
    traffic.filterBytes = taps * p.k * channelBytes(p, p.filterType);
    traffic.writtenBytes += cut.passes * cut.ctas() * taps * channels.chunks * cut.filterStageBytes();
  }
  return traffic;
}

int64_t insideRowsOf(const Axis& rows, const Cut& cut, int64_t first, int64_t tiles) {
  return cut.streams() ? rows.readInsideOf(first, cut.streamRows, tiles) : rows.insideOf(first, cut.tileRows(), tiles);
}

Traffic clusterTraffic(const Problem& p, const Channels& channels, const Cut& cut) {
  Traffic traffic;
  if (!cut.resident) return traffic;
  const int64_t taps = p.t * p.r * p.s;
  traffic.filterBytes = taps * p.k * channelBytes(p, p.filterType);
  traffic.writtenBytes = cut.passes * cut.ctas() * taps * channels.chunks * cut.filterStageBytes();
  return traffic;
}

bool count(const Problem& p, const Channels& channels, const Axis& rows, const Axis& columns, const device::Properties& properties,
           std::optional<uint32_t> clustersWanted, double most, Cut& cut) {
  const int64_t tiles = tilesOf(p, cut);
  const int64_t multiprocessors = std::max<int64_t>(1, properties.multiprocessors / cut.ctas());
  const int64_t wanted = clustersWanted ? int64_t{*clustersWanted} : std::max<int64_t>(1, multiprocessors / cut.passes);
  const int64_t tilesPerCluster = ceilDivide(tiles, std::min(tiles, wanted));
  cut.clusters = ceilDivide(tiles, tilesPerCluster);
  const double waves = static_cast<double>(ceilDivide(cut.clusters * cut.passes, multiprocessors));
  const Rates& rates = ratesOf(properties);
  Load load;
  load.share = static_cast<double>(tilesPerCluster) / static_cast<double>(tiles * cut.passes * cut.ctas());
  cut.traffic = anyTile(p, channels, Patches(rows, columns, cut), cut) * tiles;
  if (waves * static_cast<double>(cut.traffic.products) * load.share / rates.of(Resource::TensorCore) >= most) return false;
  cut.traffic += clusterTraffic(p, channels, cut) * cut.clusters;
  const int64_t insideRows = insideRowsOf(rows, cut, 0, rowBlocks(p, cut));
  const int64_t insideColumns = columns.insideOf(0, int64_t{kGroupPixels}, columnBlocks(p));
  cut.traffic.activationBytes = cut.passes * p.n * tapsInside(p.d, p.z(), p.t, p.strideD, p.dilationD, p.padFront) * insideRows *
                                insideColumns * channelBytes(p, p.inputType);
  cut.traffic.storedRows = cut.passes * p.outputPixels();

  load.fetchedBytes = fetchedBytesOf(p, cut.traffic);
  load.crowd = crowdOf(rates, properties, cut.clusters * cut.passes * cut.ctas());
  load.storedBytes = outputBytesOf(p);
  const Bound bound = slowest(rates, demandsOf(cut.traffic, load));
  cut.clocks = waves * bound.clocks;
  cut.bound = bound.resource;
  return true;
}

}  // namespace shiftconv::plan::sm100::halo
