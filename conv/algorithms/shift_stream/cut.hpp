// One way in which shift_stream cuts a problem: what it needs, and what its tiles multiply and move.
#pragma once

#include <cstdint>
#include <optional>

#include "conv/algorithms/shift_stream/lanes.hpp"
#include "conv/algorithms/shift_stream/rows.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/traffic.hpp"

namespace shiftconv::plan {

/// Output rows that one input row contributes to at most.
int64_t liveRows(const Problem& problem);

struct StreamCut {
  StreamMap map = StreamMap::Strips;
  kernels::LaneMap lanes;
  int64_t tileN = 0, passes = 0, blockRows = 0;
  bool pair = false, resident = false;
  int64_t accumulators = 0, slots = 0, operandStages = 0, filterStages = 0;
  int64_t scaleCopies = 0, scaleEntries = 0;
  int64_t stagingTileBytes = 0;  ///< 0: outputs are not staged
  bool scalesResident = false;
  int64_t tiles = 0, clusters = 0;
  Traffic traffic{};
  double clocks = 0;
  Resource bound = Resource::TensorCore;

  int64_t ctas() const { return pair ? 2 : 1; }
  int64_t tilePieces() const { return ctas() * lanes.pieces(); }
  /// Pixels that refill the windows of a CTA while it multiplies one input row.
  int64_t refills(const Problem& problem) const { return lanes.refills(static_cast<int32_t>(problem.s)); }
  /// Pixels of an input row that are loaded, with padding among them.
  int64_t loadedPixels(const Problem& problem) const {
    return int64_t{lanes.pieces()} * lanes.loadedLanes + refills(problem) + lanes.edges();
  }
  int64_t scaleRowTiles() const;
  int64_t accumulatorColumns() const;
  int64_t slotColumns(layout::MmaKind kind) const;
  int64_t columns(const Problem& problem, layout::MmaKind kind) const;
  int64_t filterStageBytes() const { return tileN / ctas() * layout::kSwizzle128RowBytes; }
  int64_t operandStageBytes(const Problem& problem, layout::MmaKind kind) const;
  int64_t sharedBytes(const Problem& problem, const Channels& channels) const;

  /// False when accumulators, slots and scale factors do not fit into Tensor Memory.
  bool fitTensorMemory(const Problem& problem, const Channels& channels);
  /// False when the stages do not fit into shared memory. `mayStage`: outputs, where there is room besides the fewest stages.
  bool fitSharedMemory(const Problem& problem, const Channels& channels, int64_t available, std::optional<bool> residentWanted,
                       bool mayStage);
};

/// Rows of a staging tile from one piece of a window to the next, so that a tensor store may begin with any of them; 0 where a
/// window has parts of pieces, or no room for them.
int64_t stagedPieceRows(const Problem& problem, const kernels::LaneMap& lanes);

/// The part of the parameters that says what lies where: row blocks of `blockRows`, tiles of which the planner may choose.
kernels::ShiftStreamParams geometryOf(const Problem& problem, const kernels::LaneMap& lanes, int64_t blockRows);
/// Changes the blocks of one.
void cutIntoBlocks(kernels::ShiftStreamParams& geometry, int64_t blockRows);

/// What tiles take of planes.
struct RowWork {
  int64_t steps = 0;    ///< input rows
  int64_t rowTaps = 0;  ///< products of an input row and a filter row
  int64_t outputRows = 0;

  RowWork() = default;
  /// Of a tile with such rows.
  RowWork(const kernels::ShiftStreamParams& geometry, const kernels::TileRows& rows);
  RowWork& operator+=(const RowWork& other);
  friend RowWork operator*(RowWork work, int64_t count);
};

/// Row blocks of one height, and what all tiles of `tilePieces` pieces take.
struct StreamBlocks {
  int64_t height = 0, tiles = 0;
  RowWork work;

  StreamBlocks(const kernels::ShiftStreamParams& geometry, int64_t tilePieces);
};

/// Pixels that tiles load in all passes, those beside the image included. Those above and below it are none.
int64_t loadedPixels(const Problem& problem, const StreamCut& cut, const RowWork& work);
/// Bytes of pixels that are copied to Tensor Memory in all passes.
int64_t copiedBytes(const Problem& problem, const Channels& channels, const StreamCut& cut, const RowWork& work);
/// In all passes; without what is done once for a cluster, and what depends on where in the image tiles lie.
Traffic trafficOf(const Problem& problem, const Channels& channels, const StreamCut& cut, const RowWork& work);
/// What is done once for a cluster, in all passes.
Traffic clusterTraffic(const Problem& problem, const Channels& channels, const StreamCut& cut);

}  // namespace shiftconv::plan
