// How `halo` cuts a problem on sm_90a: tiles of output pixels, and the boxes of input pixels that their filter taps read.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/halo/params.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// How a tile of output pixels finds its input pixels in shared memory.
enum class HaloCut : uint8_t {
  Columns,  ///< groups of 8 columns and as many rows as fit: no waste when 8 divides Q
  Flat,     ///< whole rows with the pads between them; or, under filters of one row, a part of a longer row
  Dense,    ///< whole rows without pads, one box for each filter column
};
std::string_view toString(HaloCut cut);

namespace sm90::halo {

using namespace kernels::halo;

/// The problem as the kernels see it. A 1x1 filter without pads and strides sees one row of N*H*W pixels.
struct Geometry {
  int64_t n, h, w, p, q, r, s;
  int64_t strideH, strideW, dilationH, dilationW, padTop, padLeft;
  int64_t c, k, inputPitch, outputPitch, groups;
  int64_t elementBytes, outputBytes;  ///< of an element
  // Planes of three dimensions; images are then the output planes of all images together.
  bool deep;
  int64_t d, t, planes, strideD, dilationD, padFront;
  // An input in two tensors.
  int64_t splitC, splitD, secondPitch;

  bool isSplit() const { return splitC != 0 || splitD != 0; }
};

Geometry geometryOf(const Problem& problem);

/// Where an output pixel finds a filter row or column: `parity` of the stride, and `offset` in pixels of that parity.
struct Step {
  int64_t parity, offset;
};

struct Taps {
  std::vector<Step> rows, columns;                      ///< of every filter row and column
  std::vector<std::vector<int64_t>> rowsOf, columnsOf;  ///< the filter rows and columns of each parity, ascending
  int64_t firstColumn = 0, lastColumn = 0;
};

Taps tapsOf(const Geometry& geometry);

/// One way to cut the output into tiles.
struct Cut {
  HaloCut kind = HaloCut::Columns;
  int64_t columns = 0, rows = 0, images = 1;  ///< output pixels of a tile
  int64_t pitch = 0;                          ///< positions from row to row of a tile; columns, except in flat tiles
  int64_t boxColumns = 0;                     ///< of the patches

  int64_t pixels() const { return columns * rows * images; }
};

/// Tiles of at most `positions` positions in the given manner; false when there is none.
bool cutInto(const Geometry& geometry, const Taps& taps, HaloCut kind, int64_t positions, Cut& cut);

using InputTileMaps = std::array<layout::TiledMap, kMaximumInputMaps>;  ///< globalAddress is relative to the input

/// How many boxes a tile needs, and how large they are.
struct Boxes {
  int32_t maps = 0, boxes = 0, taps = 0;  ///< maps: of the input's first tensor
  int64_t bytes = 0;                      ///< of all boxes
  uint32_t smallest = 0, largest = 0;     ///< bytes of a box
  uint32_t slotBytes = 0;
  std::array<uint8_t, kMaximumPatches> tapsOf{};  ///< each, in their order

  /// Of the first `count` boxes of a tile, in which those of a chunk follow those of the chunk before.
  int32_t tapsOfFirst(int32_t count) const {
    return count / boxes * taps + std::accumulate(tapsOf.begin(), tapsOf.begin() + count % boxes, 0);
  }
};

/// False where there would be more boxes, taps or maps than Params has, or a map without any pixel. `tail`: positions that the
/// kernel leaves out of the taps of leavesTailOut(), where the last filter row has to be below the image; 0: none.
bool boxesOf(const Geometry& geometry, const Taps& taps, const Cut& cut, int64_t tileN, int64_t tail, Boxes& boxes);

/// Writes the boxes of boxesOf(...) and their taps into Params, and the maps of the input, those of its second tensor behind the
/// others.
void placePatches(const Geometry& geometry, const Taps& taps, const Cut& cut, int64_t tail, const Boxes& boxes, Params& params,
                  InputTileMaps& maps);

}  // namespace sm90::halo
}  // namespace shiftconv::plan
