// shift_stream: implicit-GEMM forward convolution in which every input row is copied to Tensor Memory once and feeds all R*S taps.
//
// GEMM view: M = output pixels, N = output channels K, reduction over (t, r, s, c). Input rows stream down the image. An input row
// that lies in Tensor Memory, one pixel a lane, is multiplied by the taps (r, s = 0) of all filter rows r, each into the
// accumulator of the output row that it belongs to; then tcgen05.shift moves it by one pixel, every lane taking its upper
// neighbour's, and the taps (r, s = 1) follow, and so on. The accumulators of at most R output rows are live at once.
//
// NOTES
//  - Lanes hold pieces of image rows (LaneMap): one in a window of 32 lanes, or several side by side, or as many as fit into all
//    lanes. A piece is loaded as a box that may begin or end outside of the image, where zeros fill it: padding needs no masks and
//    may be of any width. Rows above and below the image are left out where that leaves every output row something to begin with;
//    a 3-D filter loads its depth taps one after the other, outside ones as zeros.
//  - Or rows lie end to end without padding (LaneMap::isMasked), and lanes whose tap lies beside their row are disabled. The first
//    products of an output row are disabled in no lane: they begin with the tap that lies in the image for every column. The taps
//    in front of it take a second copy of the row. Later chunks of channels take all taps from one copy.
//  - A shift leaves the last lane of a window as it was. Either one tcgen05.cp.4x256b behind each shift brings these lanes the four
//    pixels that come next, which are loaded once more beside the row. Or lanes with such stale rows are disabled, but not with the
//    first tap: every lane's accumulator then holds a number. What they miss is nobody's tap or padding, or is not stored.
//  - mma -> shift, shift -> mma and cp -> mma of one thread are ordered, whatever the accumulators (PTX ISA 9.7.16.6.2); mma -> cp
//    into the same slot is not: hence the commit after a row's last MMA. `.ashift` would be ordered against MMAs of its own
//    accumulator only, so it cannot be used here.
//  - Slices are the outer loop: while the shift of one slice is on its way the MMAs of the next ones keep the tensor core busy.
//  - Filters stay in shared memory if they fit; else the taps of a row are loaded again for every input row.
//  - Block-scaled kinds: warps of their own arrange the scale factors of pixels beside the rows, which move along with them (see
//    scales.cuh). Those of the filter stay in shared memory, and in Tensor Memory if there is room; else a ring of two
//    tap columns takes them in turn. These kinds have no lane masks: stale lanes are multiplied and not stored.
//  - Outputs are staged where a window of lanes has whole pieces: each is then a box of the output, clipped to the row. Rows end to
//    end (flat maps) go on in the next window, so that their parts have a width of their own each: every lane stores its pixel.
//  - K above tileN: blockIdx.y selects the pass; rows are copied again for each, because the shifts consume them.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/skeleton.cuh"
#include "common/gemm/sm100/staged_rows.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "conv/algorithms/shift_stream/cta.cuh"
#include "conv/algorithms/shift_stream/loads.cuh"
#include "conv/algorithms/shift_stream/multiply.cuh"

namespace shiftconv::kernels::shift_stream {

// ---- Epilogue: one warp for each window -----------------------------------------------------------------------------------------
template <class Group, bool kScaled>
__device__ __forceinline__ void drain(const Cta<Group, kScaled>& cta, uint32_t window) {
  const ShiftStreamParams& p = cta.params;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
  const PieceLane own = ctaPieceLane(p.lanes, static_cast<int32_t>(window) * kStreamWindowLanes + lane);
  // Outputs are staged where a window has whole pieces only: each is a box of the output, which its first lane stores.
  const int32_t stagedRow = (own.piece - static_cast<int32_t>(window) * p.lanes.framePieces) * p.stagedPieceRows + own.offset;
  gemm::sm100::StagingTiles staging(cta.staging + window * gemm::sm100::kStagingTiles * p.stagingTileBytes, p.stagingTileBytes,
                                    own.offset == 0);
  uint32_t largest = 0;
  RingPosition accumulator;
  for (const int32_t tile : cta.tiles) {
    const TileRows span = cta.rowsOf(tile);
    const Place place = cta.placeIn(tile, own.piece);
    const int32_t column = place.column + own.offset;
    const bool isOutput = own.offset < p.lanes.pieceOutputs && column < p.outputWidth;  // of the rows that the piece has
    const int32_t plane = place.image * p.outputDepth + place.depth;
#pragma unroll 1
    for (int32_t i = 0; i < span.outputRows; ++i) {
      const int32_t row = plane * p.outputHeight + place.firstOutputRow + i * rowStep(p);
      const bool hasRow = i < place.outputRows;
      gemm::sm100::storeAccumulatorInBoxes(
          cta, accumulator, window, {isOutput && hasRow ? row * p.outputWidth + column : -1, stagedRow}, staging, largest,
          [&](const gemm::StagingTile& staged, int32_t channel) {
            if (!hasRow) return;
            gemm::forStagedBoxes(p.epilogue, staged, gemm::sm100::kRowColumns, channel, [&](int32_t element, uint32_t source) {
              ptx::storeTile3d(&cta.outputMap, element, place.column, row,
                               source + static_cast<uint32_t>(stagedRow * staged.boxBytes));
            });
          });
      gemm::sm100::releaseAccumulator<Group>(cta.control->accumulators, accumulator);
      accumulator.advance(p.accumulators);
    }
  }
  gemm::mergeLargest(p.epilogue, largest);
  staging.awaitStores();
}

// ---- Kernels: shift_stream_sm100_<operands>_<group> -----------------------------------------------------------------------------
// Types and lane maps are fields of the launch.
#define SHIFTCONV_SHIFT_STREAM_KERNEL(NAME, GROUP, SCALED)                                               \
  extern "C" __global__ void __launch_bounds__(gemm::sm100::threadsOf(SCALED), 1)                        \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap refillMap,  \
           const __grid_constant__ CUtensorMap filterMap, const __grid_constant__ CUtensorMap outputMap, \
           const __grid_constant__ ShiftStreamParams params) {                                           \
    Cta<GROUP, SCALED> cta(inputMap, refillMap, filterMap, outputMap, params);                           \
    gemm::sm100::runRoles(cta);                                                                          \
  }

SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_dense_single, gemm::sm100::SingleCta, false)
SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_dense_pair, gemm::sm100::CtaPair, false)
SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_scaled_single, gemm::sm100::SingleCta, true)
SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_scaled_pair, gemm::sm100::CtaPair, true)

}  // namespace shiftconv::kernels::shift_stream
