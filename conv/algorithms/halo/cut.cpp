#include "conv/algorithms/halo/cut.hpp"

#include <algorithm>
#include <limits>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan {

std::string_view toString(HaloCut cut) {
  switch (cut) {
    case HaloCut::Columns:
      return "columns";
    case HaloCut::Flat:
      return "flat";
    case HaloCut::Dense:
      return "dense";
  }
  return "?";
}

namespace sm90::halo {

namespace {

constexpr int64_t floorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceilDivide(-a, b); }

Step stepOf(int64_t filterIndex, int64_t dilation, int64_t padBefore, int64_t stride) {
  const int64_t distance = filterIndex * dilation - padBefore;
  const int64_t offset = floorDivide(distance, stride);
  return {distance - offset * stride, offset};
}

}  // namespace

Geometry geometryOf(const Problem& p) {
  Geometry g{p.n,
             p.h,
             p.w,
             p.p(),
             p.q(),
             p.r,
             p.s,
             p.strideH,
             p.strideW,
             p.dilationH,
             p.dilationW,
             p.padTop,
             p.padLeft,
             p.c,
             p.k,
             p.inputPitch(),
             p.outputPitch(),
             p.groups,
             bytesOf(p.inputType),
             bytesOf(p.outputType),
             !isTwoDimensional(p),
             p.d,
             p.t,
             p.z(),
             p.strideD,
             p.dilationD,
             p.padFront,
             p.splitC,
             p.splitD,
             p.secondPitch()};
  g.n *= g.planes;
  const bool plain =
      !g.deep && !p.hasSpreadOutput() && p.r == 1 && p.s == 1 && p.strideH == 1 && p.strideW == 1 && p.padTop + p.padBottom + p.padLeft + p.padRight == 0;
  if (plain) {
    g.q = g.w = p.n * p.h * p.w;
    g.n = g.h = g.p = 1;
  }
  return g;
}

Taps tapsOf(const Geometry& g) {
  Taps taps;
  for (int64_t r = 0; r < g.r; ++r) taps.rows.push_back(stepOf(r, g.dilationH, g.padTop, g.strideH));
  for (int64_t s = 0; s < g.s; ++s) taps.columns.push_back(stepOf(s, g.dilationW, g.padLeft, g.strideW));
  const auto sorted = [](const std::vector<Step>& steps, int64_t parities) {
    std::vector<std::vector<int64_t>> of(static_cast<size_t>(parities));
    for (size_t i = 0; i < steps.size(); ++i) of[static_cast<size_t>(steps[i].parity)].push_back(static_cast<int64_t>(i));
    return of;
  };
  taps.rowsOf = sorted(taps.rows, g.strideH);
  taps.columnsOf = sorted(taps.columns, g.strideW);
  const auto byOffset = [](const Step& a, const Step& b) { return a.offset < b.offset; };
  taps.firstColumn = std::min_element(taps.columns.begin(), taps.columns.end(), byOffset)->offset;
  taps.lastColumn = std::max_element(taps.columns.begin(), taps.columns.end(), byOffset)->offset;
  return taps;
}

bool cutInto(const Geometry& g, const Taps& taps, HaloCut kind, int64_t positions, Cut& cut) {
  const int64_t reach = taps.lastColumn - taps.firstColumn;
  cut = {};
  cut.kind = kind;
  int64_t rows = 0;  // of all images together
  switch (kind) {
    case HaloCut::Columns:
      cut.columns = cut.pitch = 8;
      cut.boxColumns = 8 + reach;
      rows = positions / 8;
      break;
    case HaloCut::Flat: {
      // A position right of the image and one left of it are both pads: rows overlap by as many as there are of both, but every
      // output has a position of its own.
      const int64_t leftPads = std::max<int64_t>(0, -taps.firstColumn);
      const int64_t rightPads = std::max<int64_t>(0, g.q + taps.lastColumn - g.w);
      const bool one = g.strideH == 1 && g.strideW == 1;
      cut.columns = g.q;
      cut.pitch = cut.boxColumns = g.q + reach - (one ? std::min({leftPads, rightPads, reach}) : 0);
      if (g.q <= positions) {
        rows = (positions - g.q) / cut.pitch + 1;
        break;
      }
      // A part of a row. Filters of one row read nothing of other rows; others are better off with groups of columns.
      if (g.r > 1 || g.s == 1 || reach >= kLargestBox / 2) return false;
      cut.columns = cut.pitch = ceilDivide(g.q, ceilDivide(g.q, std::min(positions, kLargestBox - reach)));
      cut.boxColumns = cut.columns + reach;
      rows = 1;
      break;
    }
    case HaloCut::Dense:
      cut.columns = cut.pitch = cut.boxColumns = std::min(g.q, positions);
      rows = positions / cut.columns;
      break;
  }
  cut.rows = std::min(rows, g.p);
  cut.images = g.deep ? 1 : std::min(rows / cut.rows, g.n);
  return cut.boxColumns <= kLargestBox && cut.images <= kLargestBox;
}

namespace {

/// Whether the last filter row, and it alone, finds nothing for the last `tail` of `tileN` positions. (A kernel of 320 channels x
/// 128 pixels that left out 8 was no faster on 16 x 16 images: 0.2 % on an H200.)
bool mayLeaveOut(const Geometry& g, const Taps& taps, const Cut& cut, int64_t tileN, int64_t tail) {
  if (cut.kind != HaloCut::Dense || g.deep || g.strideH != 1 || g.strideW != 1 || g.r != 3 || g.s != 3 || cut.rows < g.p)
    return false;
  const int64_t rowsInside = std::clamp<int64_t>(g.h - taps.rows.back().offset, 0, g.p);
  return tileN - tail >= rowsInside * cut.images * cut.columns;
}

/// After the maps of the first tensor, which they change into, those of the second.
void splitMaps(const Geometry& g, Params& params, InputTileMaps& maps) {
  params.firstMaps = params.inputMaps;
  if (!g.isSplit()) return;
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const int32_t chunk = chunkChannels(static_cast<int32_t>(g.elementBytes));
  if (g.splitC != 0) params.inputSplit.chunks = static_cast<int32_t>(ceilDivide(g.splitC, chunk));
  params.inputSplit.channels = static_cast<int32_t>(g.splitC);
  params.inputSplit.planes = static_cast<int32_t>(g.splitD);
  const uint64_t firstPixel = u(g.inputPitch * g.elementBytes), secondPixel = u(g.secondPitch * g.elementBytes);
  for (int32_t i = 0; i < params.firstMaps; ++i) {
    layout::TiledMap& first = maps[static_cast<size_t>(i)];
    layout::TiledMap& second = maps[static_cast<size_t>(params.inputMaps++)];
    second = first;
    second.globalAddress = first.globalAddress / firstPixel * secondPixel;
    for (uint64_t& stride : second.strides) stride = stride / firstPixel * secondPixel;
    if (g.splitC != 0) first.dims[0] = u(g.splitC), second.dims[0] = u(g.c - g.splitC);
    if (g.splitD == 0) continue;
    first.dims[3] = u(g.splitD), second.dims[3] = u(g.d - g.splitD);
    first.strides[3] = first.strides[2] * first.dims[3], second.strides[3] = second.strides[2] * second.dims[3];
  }
}

/// The input pixels that lie apart as far as the strides, and the filter rows and columns that read them. Offsets ascend with the
/// filter index.
struct Parity {
  int64_t h, w;
  const std::vector<int64_t>&rows, &columns;
  int64_t firstRow, reach;  ///< rows from the first filter row to the last
};

/// Calls visit(parity) for every one that a tap reads, until it returns false; false then.
template <class Visit>
bool forEachParity(const Geometry& g, const Taps& taps, Visit&& visit) {
  for (int64_t h = 0; h < g.strideH; ++h)
    for (int64_t w = 0; w < g.strideW; ++w) {
      const std::vector<int64_t>&rows = taps.rowsOf[static_cast<size_t>(h)], &columns = taps.columnsOf[static_cast<size_t>(w)];
      if (rows.empty() || columns.empty()) continue;
      const int64_t firstRow = taps.rows[static_cast<size_t>(rows.front())].offset;
      if (!visit(Parity{h, w, rows, columns, firstRow, taps.rows[static_cast<size_t>(rows.back())].offset - firstRow}))
        return false;
    }
  return true;
}

int64_t mapWidth(const Geometry& g, const Parity& parity) { return ceilDivide(g.w - parity.w, g.strideW); }
int64_t mapHeight(const Geometry& g, const Parity& parity) { return ceilDivide(g.h - parity.h, g.strideH); }

}  // namespace

bool boxesOf(const Geometry& g, const Taps& taps, const Cut& cut, int64_t tileN, int64_t tail, Boxes& boxes) {
  if (tail > 0 && !mayLeaveOut(g, taps, cut, tileN, tail)) return false;
  const bool dense = cut.kind == HaloCut::Dense;
  boxes = {};
  boxes.smallest = std::numeric_limits<uint32_t>::max();
  int64_t slotRows = 0;
  const bool isPossible = forEachParity(g, taps, [&](const Parity& parity) {
    const int64_t boxRows = cut.rows + parity.reach, rowPixels = cut.images * cut.boxColumns;
    const int64_t columns = static_cast<int64_t>(parity.columns.size()), rows = static_cast<int64_t>(parity.rows.size());
    const int64_t ofPlane = dense ? columns : 1;  // boxes
    const int64_t lastColumn = dense ? 0 : taps.columns[static_cast<size_t>(parity.columns.back())].offset - taps.firstColumn;
    const int64_t lastStart = parity.reach * rowPixels + lastColumn;
    if (boxRows > kLargestBox || mapWidth(g, parity) == 0 || mapHeight(g, parity) == 0) return false;
    ++boxes.maps;
    const int32_t before = boxes.boxes;
    boxes.boxes += static_cast<int32_t>(ofPlane * g.t);
    boxes.taps += static_cast<int32_t>(g.t * rows * columns);
    if (boxes.maps > kMaximumInputMaps || boxes.boxes > kMaximumPatches || boxes.taps > kMaximumTaps) return false;
    std::fill(boxes.tapsOf.begin() + before, boxes.tapsOf.begin() + boxes.boxes,
              static_cast<uint8_t>(dense ? rows : rows * columns));
    if (lastStart > std::numeric_limits<uint16_t>::max()) return false;
    const uint32_t bytes = static_cast<uint32_t>(boxRows * rowPixels) * kRowBytes;
    boxes.bytes += ofPlane * g.t * bytes;
    boxes.smallest = std::min(boxes.smallest, bytes);
    boxes.largest = std::max(boxes.largest, bytes);
    const int64_t groupRows = cut.kind == HaloCut::Columns ? cut.boxColumns : 8;
    slotRows = std::max({slotRows, boxRows * rowPixels, lastStart + (tileN / 8 - 1) * groupRows + 8, tileN});
    return true;
  });
  boxes.slotBytes = static_cast<uint32_t>(roundUp(slotRows * kRowBytes, layout::kSwizzle128AtomBytes));
  return isPossible && (!g.isSplit() || 2 * boxes.maps <= kMaximumInputMaps);
}

void placePatches(const Geometry& g, const Taps& taps, const Cut& cut, int64_t tail, const Boxes& boxes, Params& params,
                  InputTileMaps& maps) {
  const bool dense = cut.kind == HaloCut::Dense;
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const uint64_t pixelBytes = u(g.inputPitch * g.elementBytes);
  int32_t tap = 0, placed = 0;
  params.inputMaps = 0;
  forEachParity(g, taps, [&](const Parity& parity) {
    const int64_t boxRows = cut.rows + parity.reach;
    layout::TiledMap& map = maps[static_cast<size_t>(params.inputMaps)];
    map.rank = 4;
    map.dims = {u(g.c), u(mapWidth(g, parity)), u(g.n), u(mapHeight(g, parity))};
    map.strides = {pixelBytes * u(g.strideW), pixelBytes * u(g.w * g.h), pixelBytes * u(g.w * g.strideH)};
    const auto chunk = static_cast<uint32_t>(chunkChannels(static_cast<int32_t>(g.elementBytes)));
    map.box = {chunk, static_cast<uint32_t>(cut.boxColumns), static_cast<uint32_t>(cut.images), static_cast<uint32_t>(boxRows)};
    if (g.deep) {
      map.rank = 5;
      map.dims = {map.dims[0], map.dims[1], map.dims[3], u(g.d), u(g.n / g.planes)};
      map.strides = {map.strides[0], map.strides[2], map.strides[1], map.strides[1] * u(g.d)};
      map.box = {map.box[0], map.box[1], map.box[3], 1, 1};
    }
    map.globalAddress = pixelBytes * u(parity.h * g.w + parity.w);
    map.swizzle = layout::MapSwizzle::B128;

    const size_t boxesOfPlane = dense ? parity.columns.size() : 1;
    for (size_t box = 0; box < boxesOfPlane * static_cast<size_t>(g.t); ++box) {
      const size_t i = box % boxesOfPlane;
      const auto t = static_cast<int64_t>(box / boxesOfPlane);
      const int64_t firstColumn = dense ? taps.columns[static_cast<size_t>(parity.columns[i])].offset : taps.firstColumn;
      Patch& patch = params.patch[placed++];
      patch = {params.inputMaps,
               static_cast<int32_t>(firstColumn),
               static_cast<int32_t>(parity.firstRow),
               static_cast<int32_t>(t * g.dilationD - g.padFront),
               tap,
               0,
               static_cast<uint32_t>(boxRows * cut.images * cut.boxColumns) * kRowBytes};
      // The last row first where it leaves the tail out.
      const size_t begin = tail > 0 && leavesTailOut(tap) ? parity.rows.size() - 1 : 0;
      for (size_t row = 0; row < parity.rows.size(); ++row) {
        const int64_t r = parity.rows[(begin + row) % parity.rows.size()];
        for (size_t j = dense ? i : 0; j < (dense ? i + 1 : parity.columns.size()); ++j) {
          const int64_t s = parity.columns[j];
          const int64_t start = (taps.rows[static_cast<size_t>(r)].offset - parity.firstRow) * cut.images * cut.boxColumns +
                                taps.columns[static_cast<size_t>(s)].offset - firstColumn;
          params.tap[tap++] = {static_cast<uint16_t>((t * g.r + r) * g.s + s), static_cast<uint16_t>(start)};
        }
      }
      patch.endTap = tap;
    }
    ++params.inputMaps;
    return true;
  });
  params.planes = layout::FastDivisor(static_cast<uint32_t>(g.planes));
  params.planeStride = static_cast<int32_t>(g.strideD);
  params.boxesDiffer = boxes.smallest != boxes.largest;
  params.groupStrideBytes =
      cut.kind == HaloCut::Columns ? static_cast<uint32_t>(cut.boxColumns) * kRowBytes : layout::kSwizzle128AtomBytes;
  splitMaps(g, params, maps);
  for (int32_t i = params.inputMaps; i < kMaximumInputMaps; ++i) maps[static_cast<size_t>(i)] = maps[0];
}

}  // namespace sm90::halo
}  // namespace shiftconv::plan
