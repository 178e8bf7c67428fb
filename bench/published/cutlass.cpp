#include "bench/published/cutlass.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/taps.hpp"
#include "conv/plan/traffic.hpp"

namespace shiftconv::bench {
namespace {

using plan::Resource;

constexpr int64_t kStageChannels = 64, kElementBytes = 2;
constexpr int64_t kStageRowBytes = kStageChannels * kElementBytes;
constexpr int64_t kTensorRows = 128;  // 64 rows of one CTA take as long as 128; of a pair they do not

/// Share of the pixels of all taps that lie in the image. TMA fills in the others.
double insideShare(const Problem& p) {
  const auto along = [](int64_t extent, int64_t outputs, int64_t taps, int64_t stride, int64_t dilation, int64_t before) {
    return static_cast<double>(plan::tapsInside(extent, outputs, taps, stride, dilation, before)) /
           static_cast<double>(outputs * taps);
  };
  return along(p.w, p.q(), p.s, p.strideW, p.dilationW, p.padLeft) * along(p.h, p.p(), p.r, p.strideH, p.dilationH, p.padTop) *
         along(p.d, p.z(), p.t, p.strideD, p.dilationD, p.padFront);
}

}  // namespace

std::string describe(const CutlassTile& tile) {
  return fmt::format("{}x{}{}", tile.rows, tile.columns, tile.ctas == 2 ? " pair" : "");
}

CutlassTap modelTap(const Problem& p, const device::Properties& properties, const CutlassTile& tile, int64_t loading) {
  const plan::Rates& rates = plan::ratesOf(properties);
  const int64_t stages = ceilDivide(p.c, kStageChannels), pixelBytes = p.c * kElementBytes;
  const int64_t filters = tile.columns / tile.ctas;  // rows of B that a CTA loads
  // Tiles of channels beyond K hold zeros.
  const double existing = static_cast<double>(p.k) / static_cast<double>(roundUp(p.k, tile.columns));
  const double fetchedRows = static_cast<double>(tile.ctaRows()) * insideShare(p) + static_cast<double>(filters) * existing;
  const double rows = static_cast<double>((tile.ctaRows() + filters) * stages);
  const double multiplied =
      static_cast<double>((tile.ctas == 1 ? kTensorRows : tile.ctaRows()) * tile.columns * kStageChannels * stages);
  // Every K step of 16 channels reads a CTA's rows of A and its own rows of B.
  const plan::Demand demands[] = {
      {Resource::TensorCore, multiplied},
      {Resource::L2ToShared,
       fetchedRows * static_cast<double>(pixelBytes) * plan::sectorsOf(pixelBytes) * plan::crowdOf(rates, properties, loading)},
      {Resource::BulkWrites, rows * kStageRowBytes},
      {Resource::SharedReads, rows * kStageRowBytes},
      {Resource::GatheredRows, rows * rates.of(Resource::GatheredRows) / rates.rowsPerClock(pixelBytes)}};
  const plan::Bound bound = plan::slowest(rates, demands);
  return {bound.clocks, bound.resource};
}

plan::Estimate modelCutlass(const Problem& p, const device::Properties& properties, const CutlassTile& tile) {
  const plan::Rates& rates = plan::ratesOf(properties);
  const int64_t clusters = std::max<int64_t>(1, properties.multiprocessors / tile.ctas);
  const int64_t tiles = ceilDivide(p.outputPixels(), tile.rows) * ceilDivide(p.k, tile.columns);
  const auto taps = static_cast<double>(p.t * p.r * p.s);
  // One CTA of each multiprocessor takes tile after tile, and its epilogue overlaps the next one's products. What is left for the
  // last round has L2 almost for itself.
  const CutlassTap all = modelTap(p, properties, tile, clusters * tile.ctas);
  double clocks = static_cast<double>(tiles / clusters) * taps * all.clocks;
  if (const int64_t left = tiles % clusters; left != 0) clocks += taps * modelTap(p, properties, tile, left * tile.ctas).clocks;
  return estimate(p, rates, clocks, all.bound, plan::clocksAround(rates, p, tile.ctaRows(), tile.columns));
}

CutlassChoice modelCutlass(const Problem& p, const device::Properties& properties) {
  CutlassChoice best;
  for (const CutlassTile& tile : kCutlassTiles)
    if (const plan::Estimate estimate = modelCutlass(p, properties, tile);
        best.tile.rows == 0 || estimate.seconds < best.estimate.seconds)
      best = {tile, estimate};
  return best;
}

}  // namespace shiftconv::bench
