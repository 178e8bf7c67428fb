// Step 5: 3x3 convolution, padding 1, of four images of 3x60 pixels, in a pair of CTAs, without refills and masks for padding.
//
// A window is a strip of one image row: 32 neighbouring pixels, for 30 outputs. TMA fills what lies outside of the image with
// zeros, so padding needs no masks. The last lanes of a window hold stale pixels after a shift: they are disabled, and their sums
// are not stored. This is how shift_stream lays out its lanes.
//
// In a pair (cta_group::2) one thread issues for two CTAs. Each has its own 128 lanes of A and sums, and half of the rows of B: a
// CTA keeps and reads the filters of 16 of the 32 output channels. So B costs half of the shared memory, and half of its reads.
#include <cuda.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "examples/ladder/rows.cuh"

namespace ladder {

using Pair = gemm::sm100::CtaPair;
constexpr int32_t kHeight = 3, kWidth = 60, kStrips = 2, kUseful = 30, kFilter = 3, kTaps = 9, kOutputs = 32;
constexpr int32_t kOwnOutputs = kOutputs / 2;  // of B, in each CTA
constexpr uint32_t kTapBytes = kOwnOutputs * kRowBytes, kWindowBytes = kWindowLanes * kRowBytes;
constexpr uint32_t kLoadedBytes = kHeight * kTileBytes + kTaps * kTapBytes;
constexpr uint32_t kColumns = 256;  // allocated: sums of three rows, 32 of A for each image row

struct Shared {
  uint8_t rows[kHeight][kTileBytes];
  uint8_t filter[kTaps][kTapBytes];
  uint64_t loaded, done;
  uint32_t tensorMemory;
};

/// Windows 0 and 1 of a CTA are the strips of one image, windows 2 and 3 those of the next.
__device__ int32_t imageOf(int32_t window) { return static_cast<int32_t>(Pair::rank()) * 2 + window / kStrips; }
__device__ int32_t firstColumn(int32_t window) { return window % kStrips * kUseful; }

/// In both CTAs; everything counts towards the barrier of the leading one.
__device__ void load(Shared& shared, const CUtensorMap& mapX, const CUtensorMap& mapW) {
  const uint32_t loaded = Pair::atLeader(ptx::sharedAddress(&shared.loaded));
  if (Pair::isLeader()) ptx::mbarrierArriveExpectBytes(ptx::sharedAddress(&shared.loaded), 2 * kLoadedBytes);
  for (int32_t row = 0; row < kHeight; ++row)
    for (int32_t window = 0; window < 4; ++window)
      Pair::load(ptx::sharedAddress(shared.rows[row]) + static_cast<uint32_t>(window) * kWindowBytes, &mapX, 0,
                 firstColumn(window) - 1, imageOf(window) * kHeight + row, loaded);
  for (int32_t tap = 0; tap < kTaps; ++tap)
    Pair::load(ptx::sharedAddress(shared.filter[tap]), &mapW, 0, tap, static_cast<int32_t>(Pair::rank()) * kOwnOutputs, loaded);
}

__device__ void multiply(const Shared& shared, uint32_t sums) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, 2 * kLanes, kOutputs);
  for (int32_t y = 0; y < kHeight; ++y) {
    const uint32_t a = sums + kHeight * kSumColumns + static_cast<uint32_t>(y) * kOperandColumns;
    for (uint32_t slice = 0; slice < kSlices; ++slice)
      ptx::tensorCopy128x256<2>(a + slice * kSliceColumns, sliceAt(slicesOf(shared.rows[y]), slice));
    for (int32_t s = 0; s < kFilter; ++s) {
      const ptx::LaneMask stale = ptx::inEveryWindow(s == 0 ? 0 : ~0u << (kWindowLanes - static_cast<uint32_t>(s)));
      const ptx::LaneMask disabled[] = {stale, stale};  // in both CTAs
      for (uint32_t slice = 0; slice < kSlices; ++slice) {
        const uint32_t operand = a + slice * kSliceColumns;
        for (int32_t r = 0; r < kFilter; ++r) {
          const int32_t row = y + 1 - r;  // of the output
          if (row < 0 || row >= kHeight) continue;
          // The first MMA of a row writes its sums, whatever they were before.
          const bool isFirst = s == 0 && slice == 0 && (y == 0 || r == 0);
          ptx::mmaInLanes<layout::MmaKind::F16>(sums + static_cast<uint32_t>(row) * kSumColumns, ptx::TensorOperand{operand},
                                                sliceAt(slicesOf(shared.filter[r * kFilter + s]), slice), kInstruction, disabled,
                                                !isFirst);
        }
        if (s + 1 < kFilter) ptx::tensorShiftDown<2>(operand);
      }
    }
  }
  Pair::commitResult(ptx::sharedAddress(&shared.done));
}

/// `mapX`: x as [4 * 3 rows][60][64] in boxes of 1 x 32 x 64; `mapW`: w as [32][9][64] in boxes of 16 x 1 x 64; both f16 with
/// 128-byte swizzle. y[4][3][60][32].
extern "C" __global__ void __launch_bounds__(kLanes, 1) __cluster_dims__(2, 1, 1)
    strips(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapW, float* y) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const int32_t window = static_cast<int32_t>(threadIdx.x / 32), lane = static_cast<int32_t>(threadIdx.x % 32);
  if (threadIdx.x == 0) {
    ptx::mbarrierInit(ptx::sharedAddress(&shared.loaded), 1);
    ptx::mbarrierInit(ptx::sharedAddress(&shared.done), 1);
    ptx::fenceMbarrierInit();
  }
  const uint32_t sums = gemm::sm100::enter<Pair>(shared.tensorMemory, kColumns, window == 0);
  if (window == 0 && ptx::electOne()) {
    load(shared, mapX, mapW);
    if (Pair::isLeader()) {
      ptx::mbarrierWaitInCluster(ptx::sharedAddress(&shared.loaded), 0);
      ptx::tensorFenceAfterThreadSync();
      multiply(shared, sums);
    }
  }
  __syncwarp();
  ptx::mbarrierWaitInCluster(ptx::sharedAddress(&shared.done), 0);
  ptx::tensorFenceAfterThreadSync();
  for (int32_t row = 0; row < kHeight; ++row) {
    const int32_t pixel = (imageOf(window) * kHeight + row) * kWidth + firstColumn(window) + lane;
    for (uint32_t n = 0; n < kOutputs; n += 16)
      store16(sums + static_cast<uint32_t>(row) * kSumColumns + n, lane < kUseful ? y + pixel * kOutputs + n : nullptr);
  }
  ptx::tensorFenceBeforeThreadSync();
  gemm::sm100::leave<Pair>(sums, kColumns, window == 0);
}

}  // namespace ladder
