// Step 3: a 3x3 convolution, padding 1, of 9x9 images: y[o][k] += x[o + (r - 1) * 9 + s - 1][c] * w[k][r][s][c], where o counts the
// pixels of all images. Operand A lies in Tensor Memory, and `.ashift` slides it from tap to tap.
//
// Every lane makes one output pixel, its anchor. For filter row r lane l is given the pixel one to the left of what lies r - 1 rows
// below its anchor. That is what tap (r, 0) needs; taps (r, 1) and (r, 2) need the next pixels, which the next lanes hold. So each
// MMA but the last shifts A by one lane once it has read it. A shift stops at the end of a window: of 32 lanes 30 are useful.
//
// Pixels are rows that follow each other without gaps, so a lane at an image's edge is given a pixel of the neighbouring row. A
// lane mask disables it for that tap; so padding costs nothing, and no zeros are stored anywhere.
#include <cuda.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "examples/ladder/rows.cuh"

namespace ladder {

constexpr int32_t kSide = 9, kFilter = 3, kTaps = 9, kOutputs = 16, kUseful = 30, kAnchors = 4 * kUseful;
constexpr uint32_t kTapBytes = kOutputs * kRowBytes, kWindowBytes = kWindowLanes * kRowBytes;
constexpr uint32_t kColumns = 128;  // allocated: sums, 32 of A for each filter row

struct Shared {
  uint8_t rows[kFilter][kTileBytes];  // A for each filter row
  uint8_t filter[kTaps][kTapBytes];
  ptx::LaneMask masks[kTaps];
  uint64_t loaded, done;
  uint32_t tensorMemory;
};

__device__ void load(Shared& shared, const CUtensorMap& mapX, const CUtensorMap& mapW, int32_t firstAnchor) {
  const uint32_t loaded = ptx::sharedAddress(&shared.loaded);
  ptx::mbarrierArriveExpectBytes(loaded, kFilter * kTileBytes + kTaps * kTapBytes);
  for (int32_t r = 0; r < kFilter; ++r)
    for (int32_t window = 0; window < 4; ++window)
      ptx::loadTile2d(ptx::sharedAddress(shared.rows[r]) + static_cast<uint32_t>(window) * kWindowBytes, &mapX, 0,
                      firstAnchor + window * kUseful + (r - 1) * kSide - 1, loaded);
  for (int32_t tap = 0; tap < kTaps; ++tap) ptx::loadTile3d(ptx::sharedAddress(shared.filter[tap]), &mapW, 0, tap, 0, loaded);
}

__device__ void multiply(const Shared& shared, uint32_t sums) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kLanes, kOutputs);
  constexpr auto kF16 = layout::MmaKind::F16;
  for (uint32_t r = 0; r < kFilter; ++r) {
    const uint32_t a = sums + kSumColumns + r * kOperandColumns;
    for (uint32_t slice = 0; slice < kSlices; ++slice)
      ptx::tensorCopy128x256(a + slice * kSliceColumns, sliceAt(slicesOf(shared.rows[r]), slice));
    for (uint32_t s = 0; s < kFilter; ++s) {
      const ptx::LaneMask mask = shared.masks[r * kFilter + s];
      for (uint32_t slice = 0; slice < kSlices; ++slice) {
        const ptx::TensorOperand operand{a + slice * kSliceColumns};
        const uint64_t b = sliceAt(slicesOf(shared.filter[r * kFilter + s]), slice);
        if (s + 1 < kFilter)
          ptx::mmaMasked<kF16, ptx::OperandShift::DownAfterRead>(sums, operand, b, kInstruction, mask);
        else
          ptx::mmaMasked<kF16, ptx::OperandShift::Keep>(sums, operand, b, kInstruction, mask);
      }
    }
  }
  ptx::tensorCommit(ptx::sharedAddress(&shared.done));
}

/// `mapX`: x as [pixels][64] in boxes of 32 x 64; `mapW`: w as [16][9][64] in boxes of 16 x 1 x 64; both f16 with 128-byte swizzle.
extern "C" __global__ void __launch_bounds__(kLanes, 1)
    ashift(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapW, float* y, int32_t pixels) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const uint32_t window = threadIdx.x / 32;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
  const int32_t firstAnchor = static_cast<int32_t>(blockIdx.x) * kAnchors;
  const int32_t anchor = firstAnchor + static_cast<int32_t>(window) * kUseful + lane;
  if (threadIdx.x == 0) {
    ptx::mbarrierInit(ptx::sharedAddress(&shared.loaded), 1);
    ptx::mbarrierInit(ptx::sharedAddress(&shared.done), 1);
    ptx::fenceMbarrierInit();
  }
  // Each lane asks of each tap: does it fall into the image, and has a shift left a pixel for it? The ballot of a warp is the mask
  // of its window.
  const int32_t p = anchor / kSide % kSide, q = anchor % kSide;
  for (int32_t tap = 0; tap < kTaps; ++tap) {
    const int32_t s = tap % kFilter, row = p + tap / kFilter - 1, column = q + s - 1;
    const bool useful = lane + s < 32 && anchor < pixels && row >= 0 && row < kSide && column >= 0 && column < kSide;
    const uint32_t disabled = __ballot_sync(~0u, !useful);
    if (lane == 0) shared.masks[tap].word[window] = disabled;
  }
  const uint32_t sums = gemm::sm100::enter<gemm::sm100::SingleCta>(shared.tensorMemory, kColumns, window == 0);
  ptx::tensorFill16(ownWindow(sums), 0);  // a masked first MMA would leave some lanes unwritten
  ptx::tensorStoreWait();
  ptx::tensorFenceBeforeThreadSync();
  __syncthreads();

  if (window == 0 && ptx::electOne()) {
    load(shared, mapX, mapW, firstAnchor);
    ptx::mbarrierWait(ptx::sharedAddress(&shared.loaded), 0);
    ptx::tensorFenceAfterThreadSync();
    multiply(shared, sums);
  }
  __syncwarp();
  ptx::mbarrierWait(ptx::sharedAddress(&shared.done), 0);
  ptx::tensorFenceAfterThreadSync();
  store16(sums, lane < kUseful && anchor < pixels ? y + anchor * kOutputs : nullptr);
  ptx::tensorFenceBeforeThreadSync();
  gemm::sm100::leave<gemm::sm100::SingleCta>(sums, kColumns, window == 0);
}

}  // namespace ladder
