// What tiles of shift_stream have because of where in the image they lie: their rows, and the pixels of their loads that are no
// padding. Neighbouring row blocks are mostly alike, and are taken together.
#pragma once

#include <cstdint>
#include <vector>

#include "conv/algorithms/shift_stream/cut.hpp"
#include "conv/algorithms/shift_stream/rows.hpp"

namespace shiftconv::plan {

/// Neighbouring tiles that walk through the same rows of their blocks: all pieces of them lie in blocks that are alike.
struct AlikeTiles {
  int64_t begin, end;
  kernels::RowBlock block;  ///< of one of their pieces
};

/// All tiles but those in `others`, which have pieces of blocks that differ.
struct TileRuns {
  std::vector<AlikeTiles> alike;
  std::vector<int64_t> others;
};
TileRuns tileRuns(const kernels::ShiftStreamParams& geometry, int64_t tilePieces);

/// Bytes of activations that a tile loads in all passes.
int64_t activationBytes(const Problem& problem, const kernels::ShiftStreamParams& geometry, const StreamCut& cut, int64_t tile);
/// Of all tiles together.
int64_t activationBytes(const Problem& problem, const kernels::ShiftStreamParams& geometry, const StreamCut& cut);

}  // namespace shiftconv::plan
