#include "conv/algorithms/channelwise/stream_shape.hpp"

#include <algorithm>
#include <cmath>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/tile_widths.hpp"

namespace shiftconv::plan {

using namespace kernels::channelwise;

namespace {

constexpr int64_t kMostBox = 256;                  // elements of a box along an axis, CUDA driver API, cuTensorMapEncodeTiled
constexpr int64_t kMapAlignment = 16;              // bytes, of a box's rows and of strides, likewise
constexpr int64_t kMostStride = int64_t{1} << 40;  // bytes, likewise

int64_t boxPixels(const Kind& kind, int64_t units) { return units * kind.columns - 1 + kind.filter; }

int64_t pixelBytes(const Problem& p) { return p.inputPitch() * bitsOf(p.inputType) / 8; }

}  // namespace

bool canStream(const Problem& p) {
  const bool isLean = isPlainSegment(p) ? leanOf(p) != kernels::Lean::No : isLeanBytes(p);
  return isTwoDimensional(p) && isLean && !p.hasResidual() && pixelBytes(p) % kMapAlignment == 0 &&
         pixelBytes(p) * p.w * p.h < kMostStride;
}

CtaShape streamShape(const Problem& p, const Kind& kind, int64_t threads) {
  const int64_t all = p.k / kind.channels, threadBytes = int64_t{kind.channels} * kind.elementBytes;
  const int64_t step = std::max<int64_t>(1, kMapAlignment / threadBytes), needed = ceilDivide(p.q(), kind.columns);
  constexpr int64_t kSector = 32, kLine = 64, kFewThreads = 64;
  CtaShape best{1, 0};
  double bestScore = 0;
  for (const int64_t own : tileWidths(all, step, std::min(threads, kMostBox / kind.channels))) {
    int64_t most = std::min(threads / own, needed);
    while (most > 0 && boxPixels(kind, most) > kMostBox) --most;
    if (most == 0) continue;
    const int64_t tiles = ceilDivide(needed, most), units = ceilDivide(needed, tiles), used = own * units;
    const auto share = [](int64_t useful, int64_t of) { return static_cast<double>(useful) / static_cast<double>(of); };
    double score = share(all, ceilDivide(all, own) * own) * share(p.q(), tiles * units * kind.columns);
    score *= share(used, roundUp(used, 32));
    // Pixels that the neighbouring CTA reads, too, come from L2.
    score *= std::sqrt(share(units * kind.columns, boxPixels(kind, units)));
    if (used < kFewThreads) score *= 0.8;
    if (own < all && own * threadBytes < kLine) score *= 0.7;
    // Sectors of which two CTAs write a part: up to 1.8 times as long (measured on an H200, pieces of 80 bytes).
    if (own < all && own * threadBytes % kSector != 0) score *= 0.6;
    if (score > bestScore) bestScore = score, best = {own, units};
  }
  return best;
}

layout::TiledMap streamMap(const Problem& p, const Kind& kind, const CtaShape& shape) {
  layout::TiledMap map;
  map.type = kind.elementBytes == 1 ? layout::MapType::U8 : layout::MapType::U16;
  map.rank = 4;
  map.swizzle = layout::MapSwizzle::None;
  const auto pixel = static_cast<uint64_t>(pixelBytes(p));
  const auto w = static_cast<uint64_t>(p.w), h = static_cast<uint64_t>(p.h);
  map.dims = {static_cast<uint64_t>(p.c), w, h, static_cast<uint64_t>(p.n)};
  map.strides = {pixel, pixel * w, pixel * w * h};
  map.box = {static_cast<uint32_t>(shape.channelThreads * kind.channels), static_cast<uint32_t>(boxPixels(kind, shape.units)), 1,
             1};
  return map;
}

}  // namespace shiftconv::plan
