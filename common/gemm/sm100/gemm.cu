// gemm: D[M][N] = A[M][K] * B[N][K]^T on tcgen05, every dense and every block-scaled kind.
//
// A kernel for each group: a CTA, two that share B, a pair. Everything else is a field of the launch: kind and types, where A is
// multiplied from, major-ness, tile width, stages, schedule and the split of the reduction. A stage has the same bytes whatever its
// elements are.
//
// NOTES
//  - A stage has columns of Tensor Memory of its own, for A where it goes there and for scale factors. tcgen05.cp is not ordered
//    behind an MMA that still reads what it overwrites (PTX ISA 9.7.16.6.2); the commit that releases the stage covers both.
//  - Splitting: every part of a reduction leaves its sums in global memory. Whoever counts as the last of a tile adds all of them,
//    its own included, in the order of the parts, so the result does not depend on who was last. Nobody waits.
//  - Stages are filled whole even where K ends inside: outside elements are zeros, slices that are all outside are not multiplied.
//  - A may be an implicit matrix, the positions of a window over pixels (gemm::Window): only the loads know of it.
//  - Pixels may have groups of channels, each with columns of its own: a tile is one group's. Channels behind the group's are
//  loaded
//    and not multiplied, because a group has whole slices; B may have rows of the next group, whose columns nobody stores.
//  - `site:` names a statement that tests break (tests/edited_copy).
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/epilogue/row_segments.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/accumulator_row.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/operand_load.cuh"
#include "common/gemm/sm100/tile_queue.cuh"
#include "common/gemm/sm100/window_load.cuh"

namespace shiftconv::gemm::sm100 {
namespace {

// ---- Roles -------------------------------------------------------------------------------------------------------------------
enum Warp : uint32_t {
  kLoadWarp = 0,
  kMmaWarp = 1,        // owns the Tensor Memory allocation
  kScheduleWarp = 2,   // requests tiles, with cluster launch control
  kEpilogueWarps = 4,  // 4..7: warp w may touch Tensor Memory lanes 32*(w%4).. only (PTX ISA 9.7.16.8.1)
  kScaleWarps = 8,     // 8..11, only when bulk copies cannot bring the scale factors
};
constexpr uint32_t kScaleWarpCount = 4;

struct Maps {
  CUtensorMap a, b, scaleA, scaleB, output, second;
};

// ---- Shared memory -----------------------------------------------------------------------------------------------------------
template <class Group>
struct Control {
  TileQueue<Group> queue;
  Pipeline<kMaximumStages, Group::kArrivals> operands;
  Pipeline<kMaximumAccumulators, Group::kArrivals> accumulators;
  Pipeline<1, Group::kArrivals> weights;  // all of B when it is resident; never released
  uint32_t tensorMemory;
};

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <class Group>
class GemmCta {
 public:
  __device__ GemmCta(const Maps& maps, const GemmParams& params) : maps_(maps), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");
    control_ = &alignedShared<Control<Group>>(dynamicShared);
    stages_ = ptx::sharedAddress(control_) + kControlBytes;
  }

  __device__ void run() {
    const uint32_t warp = threadIdx.x / 32;
    if (warp == kLoadWarp && ptx::electOne()) initialiseBarriers();
    tensorMemory_ = enter<Group>(control_->tensorMemory, p_.allocatedColumns, warp == kMmaWarp);
    if (warp == kLoadWarp) {
      if (ptx::electOne()) load();
    } else if (warp == kMmaWarp) {
      if (Group::isLeader() && ptx::electOne()) multiply();
    } else if (warp == kScheduleWarp) {
      if (p_.launchControl && blockIdx.x % Group::kCtas == 0 && ptx::electOne()) control_->queue.request();
    } else if (warp >= kEpilogueWarps && warp < kScaleWarps) {
      drain(warp % 4);
    } else if (warp >= kScaleWarps) {
      build();
    }
    leave<Group>(tensorMemory_, p_.allocatedColumns, warp == kMmaWarp);  // site: leave
  }

 private:
  // ---- Setup -------------------------------------------------------------------------------------------------------------------
  __device__ void initialiseBarriers() {
    constexpr uint32_t kDraining = Group::kCtaGroup * kEpilogueWarpCount;  // site: draining_warps
    const uint32_t building = p_.buildScales ? kScaleWarpCount : 0;        // site: builders
    const uint32_t queueReaders =
        Group::kCtas * (1 + kEpilogueWarpCount + building) + Group::kCtas / Group::kCtaGroup;  // site: queue_readers
    control_->operands.initialise(p_.stages, 1 + Group::kCtaGroup * building,
                                  Group::kCtas / Group::kCtaGroup);  // site: operand_barriers
    control_->accumulators.initialise(p_.accumulators, 1, kDraining);
    control_->weights.initialise(1, 1, 1);
    control_->queue.pipeline.initialise(TileQueue<Group>::kAnswers, 1, queueReaders);
    ptx::fenceMbarrierInit();
  }

  // ---- The order of work, the same for every role ------------------------------------------------------------------------------
  struct Work {
    int32_t row, column;           ///< first of this CTA's part of the tile
    int32_t firstChunk, endChunk;  ///< this part of the reduction
    int32_t tile, part;
    int32_t group, endColumn;  ///< the first column behind the group's
  };
  __device__ Units<Group> units(bool isWarp) const {
    const int32_t clusters = static_cast<int32_t>(gridDim.x) / Group::kCtas;
    const int32_t tiles = p_.weightsResident ? p_.tilesDown : p_.tilesDown * p_.tilesAcross;
    return {static_cast<int32_t>(blockIdx.x) / Group::kCtas, clusters, tiles * p_.splits,
            p_.launchControl ? &control_->queue : nullptr, isWarp};
  }
  __device__ Work workOf(int32_t unit) const {
    Work work;
    work.tile = unit / p_.splits;
    work.part = unit % p_.splits;
    const int32_t down = p_.weightsResident ? work.tile : work.tile / p_.tilesAcross;
    const int32_t across = p_.weightsResident ? static_cast<int32_t>(blockIdx.y) : work.tile % p_.tilesAcross;
    work.row = (down * Group::kCtas + static_cast<int32_t>(Group::rank())) * p_.tileRows;
    work.group = across / p_.groupTiles;
    const int32_t firstColumn = work.group * p_.groupColumns;
    work.column = firstColumn + (across - work.group * p_.groupTiles) * p_.tileN;
    work.endColumn = firstColumn + p_.groupColumns;
    work.firstChunk = work.part * p_.chunks / p_.splits;
    work.endChunk = (work.part + 1) * p_.chunks / p_.splits;
    return work;
  }

  // ---- Places ------------------------------------------------------------------------------------------------------------------
  // A stage: A, B unless it is resident, scale factors of A, scale factors of B. Behind the stages: resident B, chunk by chunk.
  __device__ uint32_t stageA(const RingPosition& stage) const {
    return stages_ + static_cast<uint32_t>(stage.index) * p_.stageBytes;
  }
  __device__ uint32_t stageB(const RingPosition& stage, int32_t chunk) const {
    return p_.weightsResident ? residentB(chunk) : stageA(stage) + p_.a.stageBytes;
  }
  __device__ uint32_t residentB(int32_t chunk) const {
    return stages_ + static_cast<uint32_t>(p_.stages) * p_.stageBytes + static_cast<uint32_t>(chunk) * p_.b.stageBytes;
  }
  __device__ uint32_t stageScales(const RingPosition& stage) const {
    return stageA(stage) + p_.a.stageBytes + (p_.weightsResident ? 0 : p_.b.stageBytes);
  }
  __device__ bool isScaled() const { return layout::isBlockScaled(p_.kind); }
  __device__ uint32_t scaleBytesA() const { return scaleAtomsPerChunk(p_.kind) * kScaleAtomBytes; }
  /// Where the tile begins in its first atom of B: narrow tiles share one, but for atoms that are built for the tile.
  __device__ int32_t columnInAtom(const Work& work) const {
    return p_.scaleB.atomRows == kScaleAtomRows ? (work.column - work.group * p_.groupColumns) % kScaleAtomRows : 0;
  }
  __device__ uint32_t accumulatorAddress(const RingPosition& accumulator) const {
    return tensorMemory_ + static_cast<uint32_t>(accumulator.index) * p_.accumulatorColumns;
  }
  __device__ uint32_t stageColumns(const RingPosition& stage) const {
    return tensorMemory_ + static_cast<uint32_t>(p_.accumulators) * p_.accumulatorColumns +
           static_cast<uint32_t>(stage.index) * p_.stageColumns;
  }

  // ---- Global -> shared: one thread --------------------------------------------------------------------------------------------
  __device__ void loadRows(uint32_t destination, int32_t chunk, const Work& work, uint32_t barrier) const {
    if (p_.window.isUsed) {
      loadWindow<Group>(p_, maps_.a, maps_.second, destination, chunk, work.group, work.row, barrier);
    } else {
      loadA<Group>(p_.a, maps_.a, destination, chunk, work.row, barrier);
    }
  }
  __device__ void loadColumns(uint32_t destination, int32_t chunk, int32_t column, uint32_t barrier) const {
    if (p_.window.isUsed) {
      loadTaps<Group>(p_, maps_.b, destination, chunk, column, barrier);
    } else {
      loadB<Group>(p_.b, maps_.b, destination, chunk, column, barrier);
    }
  }

  __device__ void load() const {
    ptx::prefetchTensorMap(&maps_.a);
    ptx::prefetchTensorMap(&maps_.b);
    const Units<Group> units = this->units(false);
    if (p_.weightsResident && units.first < units.count) {
      const RingPosition once;
      if (Group::isLeader()) ptx::mbarrierArriveExpectBytes(control_->weights.full(once), p_.residentBytes);  // site: weight_bytes
      const uint32_t full = Group::atLeader(control_->weights.full(once));
      const int32_t column = workOf(units.first).column;
#pragma unroll 1
      for (int32_t chunk = 0; chunk < p_.chunks; ++chunk)
        loadColumns(residentB(chunk), chunk, column, full);  // site: weights_loaded
    }
    RingPosition stage;
    for (const int32_t unit : units) {
      const Work work = workOf(unit);
#pragma unroll 1
      for (int32_t chunk = work.firstChunk; chunk < work.endChunk; ++chunk) {
        control_->operands.awaitEmpty(stage);
        if (Group::isLeader())
          ptx::mbarrierArriveExpectBytes(control_->operands.full(stage), p_.loadedBytes);  // site: operand_bytes
        const uint32_t full = Group::atLeader(control_->operands.full(stage));
        loadRows(stageA(stage), chunk, work, full);
        if (!p_.weightsResident) loadColumns(stageB(stage, chunk), chunk, work.column, full);
        if (isScaled()) {
          const uint32_t scales = stageScales(stage);
          if (!p_.scaleA.isBuilt()) loadScalesA<Group>(p_, maps_.scaleA, scales, chunk, work.row, full);
          if (!p_.scaleB.isBuilt()) loadScalesB<Group>(p_, maps_.scaleB, scales + scaleBytesA(), chunk, work.column, full);
        }
        stage.advance(p_.stages);
      }
    }
    control_->operands.awaitReleases(stage, p_.stages);
  }

  // ---- Scale factors that bulk copies cannot bring: global -> shared by threads
  // ---------------------------------------------------
  __device__ void build() const {
    const uint32_t thread = threadIdx.x - kScaleWarps * 32;
    RingPosition stage;
    for (const int32_t unit : units(true)) {
      const Work work = workOf(unit);
#pragma unroll 1
      for (int32_t chunk = work.firstChunk; chunk < work.endChunk; ++chunk) {
        control_->operands.awaitEmpty(stage);
        const uint32_t scales = stageScales(stage);
        const WindowTap tap = windowTap(p_, chunk);  // of a matrix: tap 0, and K's own chunk
        if (p_.scaleA.isBuilt())
          buildScales(p_, p_.scaleA, scales, work.group * p_.lineChunks + tap.chunk, work.row, thread,
                      [&](int32_t row) { return p_.window.isUsed ? windowPixel(p_.window, tap, row) : row; });
        if (p_.scaleB.isBuilt()) {
          const int32_t taps = p_.chunks / p_.lineChunks;
          buildScales(p_, p_.scaleB, scales + scaleBytesA(), tap.chunk, work.column - columnInAtom(work), thread,
                      [&](int32_t row) { return row < p_.n ? row * taps + tap.index : kNoScaleRow; });
        }
        ptx::fenceProxyAsyncShared();
        __syncwarp();
        if (thread % 32 == 0) Group::arriveAtLeader(control_->operands.full(stage));  // site: scales_built
        stage.advance(p_.stages);
      }
    }
  }

  // ---- The tensor core: one thread ----------------------------------------------------------------------------------------------
  __device__ void multiply() const {
    RingPosition stage, accumulator;
    if (p_.weightsResident && units(false).first < units(false).count) control_->weights.awaitFull({});
    for (const int32_t unit : units(false)) {
      const Work work = workOf(unit);
      control_->accumulators.awaitEmpty(accumulator);
#pragma unroll 1
      for (int32_t number = work.firstChunk; number < work.endChunk; ++number) {
        control_->operands.awaitFull(stage);
        // Behind the accumulator's readers, and the MMAs that read this stage's columns.
        ptx::tensorFenceAfterThreadSync();  // site: multiply_fence
        Chunk chunk;
        chunk.accumulator = accumulatorAddress(accumulator);
        chunk.a = layout::descriptorAt(p_.a.descriptor, stageA(stage));
        chunk.b = layout::descriptorAt(p_.b.descriptor, stageB(stage, number));
        chunk.slices = (number + 1) % p_.lineChunks == 0 ? p_.lastChunkSlices : kChunkSlices;
        chunk.accumulates = number != work.firstChunk;  // site: accumulates
        chunk.tensorA = stageColumns(stage);
        if (p_.tensorA) copyOperand<Group>(p_.expandedBitsA, chunk.tensorA, chunk.a, chunk.slices);
        if (isScaled()) {
          chunk.scaleA = chunk.tensorA + (p_.tensorA ? kOperandColumns : 0);
          chunk.scaleB = chunk.scaleA + scaleAtomsPerChunk(p_.kind) * kScaleAtomColumns;
          copyScales<Group>(p_, chunk, stageScales(stage));
          chunk.scaleB += static_cast<uint32_t>(columnInAtom(work)) / 32;
        }
        sm100::multiply<Group>(p_, chunk);
        Group::commitRelease(control_->operands.empty(stage));  // site: operands_released
        stage.advance(p_.stages);                               // site: operands_left
      }
      Group::commitResult(control_->accumulators.full(accumulator));
      accumulator.advance(p_.accumulators);
    }
  }

  // ---- Epilogue: one warp for each window of 32 lanes ---------------------------------------------------------------------------
  __device__ void drain(uint32_t index) const {
    const AccumulatorWindow window = AccumulatorWindow::of<Group>(p_, index);
    RingPosition accumulator, staging;
    uint32_t largestBits = 0;
    for (const int32_t unit : units(true)) {
      const Work work = workOf(unit);
      control_->accumulators.awaitFull(accumulator);
      ptx::tensorFenceAfterThreadSync();
      const uint32_t source = accumulatorAddress(accumulator) + ((index * 32) << 16);
      const int32_t columns = min(window.columns, work.endColumn - work.column - window.firstColumn);
      bool finishes = true;  // site: drain_begins
      if (p_.splits > 1) {
        leavePart(work, window, source);     // site: part_left
        release(accumulator);                // with a barrier of the warp, behind which one lane counts for all
        finishes = isLastPart(work, index);  // site: part_counted
      }
#pragma unroll 1
      for (int32_t column = 0; finishes && column < columns; column += window.step()) {
        AccumulatorRow sums;
        if (p_.splits > 1) {
          addParts(work, window, column, sums);
        } else {
          sums.load(p_, window, source + static_cast<uint32_t>(column));
        }
        finish(work, window, column, sums, staging, largestBits);
      }
      if (p_.splits == 1) release(accumulator);  // site: accumulator_released
      accumulator.advance(p_.accumulators);
    }
    mergeLargest(p_.epilogue, largestBits);
    if (threadIdx.x % 32 == 0) ptx::bulkWaitGroup<0>();
  }

  /// Whole warp, once it has read its window of an accumulator.
  __device__ void release(const RingPosition& accumulator) const {
    ptx::tensorFenceBeforeThreadSync();  // site: release_fence
    __syncwarp();
    if (threadIdx.x % 32 == 0) Group::arriveAtLeader(control_->accumulators.empty(accumulator));
  }

  /// Whole warp: from sums to outputs. Two staging tiles, so that one is filled while the other is stored.
  __device__ void finish(const Work& work, const AccumulatorWindow& window, int32_t column, const AccumulatorRow& sums,
                         RingPosition& staging, uint32_t& largestBits) const {
    const EpilogueParams& e = p_.epilogue;
    const uint32_t warp = threadIdx.x / 32 % kEpilogueWarpCount, lane = threadIdx.x % 32;
    const int32_t firstRow = work.row + window.firstRow, firstColumn = work.column + window.firstColumn + column;
    const int32_t row = window.threadRow(), tileColumn = window.threadColumn();
    const uint32_t tiles = stages_ + p_.stagingOffset + warp * kStagingTiles * kStagingTileBytes;
    const StagingTile tile{tiles + static_cast<uint32_t>(staging.index) * kStagingTileBytes, window.rows,
                           stagingBoxBytes(e.outputType, kRowColumns)};
    if (lane == 0) ptx::bulkWaitGroupRead<kStagingTiles - 1>();  // site: staging_free
    __syncwarp();
    RowSegments segments;
#pragma unroll 1
    for (int32_t first = 0; first < kRowColumns && firstColumn + tileColumn + first < work.endColumn;
         first += RowSegments::kColumns) {
      uint32_t bits[RowSegments::kColumns];
#pragma unroll
      for (int32_t i = 0; i < RowSegments::kColumns; ++i)
        bits[i] = first == 0 ? sums.bits[i] : sums.bits[i + RowSegments::kColumns];
      segments.add(e, firstRow + row, firstColumn + tileColumn + first, bits, largestBits,
                   [&](int32_t ready, float(&values)[RowSegments::kColumns]) {
                     stageSegment(e, firstRow + row, ready, values, tile, row, ready - firstColumn);
                   });
    }
    if (p_.bulkOutput) {
      ptx::fenceProxyAsyncShared();
      __syncwarp();  // site: tile_staged
      if (lane == 0) {
        if (p_.groupTiles == p_.tilesAcross) {
          storeStagedTile(e, &maps_.output, tile, window.step(), firstRow, firstColumn);
        } else {
          storeStagedTileOfGroup(e, &maps_.output, tile, window.step(), firstRow, work.group,
                                 firstColumn - work.group * p_.groupColumns);
        }
        ptx::bulkCommitGroup();
      }
    } else {
      storeStagedRow(e, tile, row, tileColumn, firstRow + row, firstColumn + tileColumn, min(e.columns, work.endColumn));
    }
    staging.advance(kStagingTiles);
  }

  // ---- Split reductions --------------------------------------------------------------------------------------------------------
  /// Where a part of a tile keeps this thread's sums of what its warp handles at once from `column` of its window on.
  __device__ uint32_t* partial(const Work& work, int32_t part, const AccumulatorWindow& window, int32_t column) const {
    const int64_t place = (static_cast<int64_t>(work.tile) * p_.splits + part) * Group::kCtas + Group::rank();
    return p_.partials + place * p_.tileN * p_.tileRows + column / window.step() * kRowColumns * kEpilogueThreads +
           threadIdx.x % kEpilogueThreads;
  }

  /// Whole warp: this part's sums, from Tensor to global memory.
  __device__ void leavePart(const Work& work, const AccumulatorWindow& window, uint32_t source) const {
#pragma unroll 1
    for (int32_t column = 0; column < window.columns; column += window.step()) {
      AccumulatorRow sums;
      sums.load(p_, window, source + static_cast<uint32_t>(column));
      sums.store(partial(work, work.part, window, column));
    }
  }

  /// Whole warp: whether the parts of all others are there.
  __device__ bool isLastPart(const Work& work, uint32_t window) const {
    const int64_t place = static_cast<int64_t>(work.tile) * Group::kCtas + Group::rank();
    uint32_t* const counter = p_.counters + place * kEpilogueWarpCount + window;  // site: part_counter
    const uint32_t lane = threadIdx.x % 32, last = static_cast<uint32_t>(p_.splits) - 1;
    uint32_t before = 0;
    if (lane == 0) before = ptx::countAcquireRelease(counter, 1);
    before = __shfl_sync(0xffffffffu, before, 0);
    if (before == last && lane == 0) *counter = 0;  // for the next launch
    __syncwarp();
    return before == last;
  }

  __device__ void addParts(const Work& work, const AccumulatorWindow& window, int32_t column, AccumulatorRow& sums) const {
    sums.fetch(partial(work, 0, window, column));
#pragma unroll 1
    for (int32_t part = 1; part < p_.splits; ++part) {
      AccumulatorRow other;
      other.fetch(partial(work, part, window, column));
      sums.add(p_, other);
    }
  }

  const Maps& maps_;
  const GemmParams& p_;
  Control<Group>* control_;
  uint32_t stages_;            // shared-window address
  uint32_t tensorMemory_ = 0;  // Tensor Memory address
};

}  // namespace

// ---- Kernels: gemm_sm100_<group> ---------------------------------------------------------------------------------------------
#define SHIFTCONV_GEMM_KERNEL(NAME, GROUP)                                                 \
  extern "C" __global__ void __launch_bounds__(kMaximumThreads, 1)                         \
      NAME(const __grid_constant__ Maps maps, const __grid_constant__ GemmParams params) { \
    GemmCta<GROUP>(maps, params).run();                                                    \
  }

SHIFTCONV_GEMM_KERNEL(gemm_sm100_single, SingleCta)     // site: kernel_single
SHIFTCONV_GEMM_KERNEL(gemm_sm100_sharing, SharingCtas)  // site: kernel_sharing
SHIFTCONV_GEMM_KERNEL(gemm_sm100_pair, CtaPair)         // site: kernel_pair

}  // namespace shiftconv::gemm::sm100
