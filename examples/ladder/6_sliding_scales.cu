// Step 6: step 5's strips in mxfp8: elements are e4m3, and every 32 channels of a pixel have a common factor, a power of two. The
// factors of a pixel slide with it. Two images of 3x60 pixels, 128 channels, a 3x3 filter, padding 1.
//
// A factor of row m of A lies in Tensor Memory lane m % 32 of all four windows, in column m / 32: factors are transposed in
// windows, but a neighbour's factor is still one lane further. So the same tcgen05.shift moves them: kernel `shifted`. Or S copies
// of them are made, each a pixel further, and tap column s takes copy s: kernel `copies`. Kinds with block scales have no lane
// masks and no `.ashift`; strips need neither.
#include <cuda.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "examples/ladder/rows.cuh"

namespace ladder {

constexpr auto kMxF8 = layout::MmaKind::MxF8F6F4;
constexpr int32_t kHeight = 3, kWidth = 60, kStrips = 2, kUseful = 30, kFilter = 3, kTaps = 9, kOutputs = 32;
constexpr uint32_t kTapBytes = kOutputs * kRowBytes, kWindowBytes = kWindowLanes * kRowBytes;
constexpr uint32_t kScaleBytes = 512, kScaleColumns = 4;  // of 128 rows x 4 factors
constexpr uint32_t kSlotColumns = kOperandColumns + 16;   // A, and up to three copies of its factors
constexpr uint32_t kColumns = 512;  // allocated: sums of three rows, a slot for each image row, 9 * 4 of the filter's factors

struct Shared {
  uint8_t rows[kHeight][kTileBytes];
  uint8_t filter[kTaps][kTapBytes];
  uint8_t rowScales[kHeight][kFilter][kScaleBytes], filterScales[kTaps][kScaleBytes];
  uint64_t loaded, done;
  uint32_t tensorMemory;
};

__device__ void load(Shared& shared, const CUtensorMap& mapX, const CUtensorMap& mapW) {
  const uint32_t loaded = ptx::sharedAddress(&shared.loaded);
  ptx::mbarrierArriveExpectBytes(loaded, kHeight * kTileBytes + kTaps * kTapBytes);
  for (int32_t row = 0; row < kHeight; ++row)
    for (int32_t window = 0; window < 4; ++window)
      ptx::loadTile3d(ptx::sharedAddress(shared.rows[row]) + static_cast<uint32_t>(window) * kWindowBytes, &mapX, 0,
                      window % kStrips * kUseful - 1, window / kStrips * kHeight + row, loaded);
  for (int32_t tap = 0; tap < kTaps; ++tap) ptx::loadTile3d(ptx::sharedAddress(shared.filter[tap]), &mapW, 0, tap, 0, loaded);
}

/// The four factors of row m lie 16 * (m % 32) + 4 * (m / 32) bytes into their tile.
__device__ void putScales(const uint8_t* tile, uint32_t lane, uint32_t window, uint32_t factors) {
  ptx::storeShared4Bytes(ptx::sharedAddress(tile) + lane * 16 + window * 4, factors);
}
__device__ void arrangeScales(const Shared& shared, const uint32_t* xScales, const uint32_t* wScales) {
  const uint32_t window = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int32_t image = static_cast<int32_t>(window) / kStrips;
  const int32_t column = static_cast<int32_t>(window) % kStrips * kUseful - 1 + static_cast<int32_t>(lane);
  for (int32_t row = 0; row < kHeight; ++row) {
    const bool isInside = column >= 0 && column < kWidth;
    const uint32_t factors = isInside ? xScales[(image * kHeight + row) * kWidth + column] : 0;
    for (uint32_t copy = 0; copy < kFilter; ++copy)  // after the window there is nothing to know: 0, for lanes that are not stored
      putScales(shared.rowScales[row][copy], (lane - copy) % 32, window, lane >= copy ? factors : 0);
  }
  for (uint32_t tap = 0; tap < kTaps; ++tap)
    putScales(shared.filterScales[tap], lane, window, threadIdx.x < kOutputs ? wScales[threadIdx.x * kTaps + tap] : 0);
}

template <bool kCopies>
__device__ void multiply(const Shared& shared, uint32_t sums) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptor({kMxF8, numerics::NumberType::E4M3, numerics::NumberType::E4M3}, kLanes, kOutputs);
  const uint32_t slots = sums + kHeight * kSumColumns, filterScales = slots + kHeight * kSlotColumns;
  for (uint32_t tap = 0; tap < kTaps; ++tap)
    ptx::tensorCopy32x128ToAllWindows(filterScales + tap * kScaleColumns,
                                      layout::densePackedRowsDescriptor(ptx::sharedAddress(shared.filterScales[tap])));
  for (int32_t y = 0; y < kHeight; ++y) {
    const uint32_t a = slots + static_cast<uint32_t>(y) * kSlotColumns, scales = a + kOperandColumns;
    for (uint32_t slice = 0; slice < kSlices; ++slice)
      ptx::tensorCopy128x256(a + slice * kSliceColumns, sliceAt(slicesOf(shared.rows[y]), slice));
    for (uint32_t copy = 0; copy < (kCopies ? kFilter : 1); ++copy)
      ptx::tensorCopy32x128ToAllWindows(scales + copy * kScaleColumns,
                                        layout::densePackedRowsDescriptor(ptx::sharedAddress(shared.rowScales[y][copy])));
    for (uint32_t s = 0; s < kFilter; ++s) {
      const uint32_t scaleA = kCopies ? scales + s * kScaleColumns : scales;
      for (uint32_t slice = 0; slice < kSlices; ++slice) {
        const uint32_t operand = a + slice * kSliceColumns;
        for (int32_t r = 0; r < kFilter; ++r) {
          const int32_t row = y + 1 - r;  // of the output
          if (row < 0 || row >= kHeight) continue;
          const uint32_t tap = static_cast<uint32_t>(r) * kFilter + s;
          const bool isFirst = s == 0 && slice == 0 && (y == 0 || r == 0);
          ptx::mmaScaled<kMxF8>(sums + static_cast<uint32_t>(row) * kSumColumns, ptx::TensorOperand{operand},
                                sliceAt(slicesOf(shared.filter[tap]), slice), layout::selectScaleByte(kInstruction, slice), scaleA,
                                filterScales + tap * kScaleColumns, !isFirst);
        }
        if (s + 1 < kFilter) ptx::tensorShiftDown(operand);
      }
      if (!kCopies && s + 1 < kFilter) ptx::tensorShiftDown(scales);  // all slices have used them
    }
  }
  ptx::tensorCommit(ptx::sharedAddress(&shared.done));
}

template <bool kCopies>
__device__ void convolve(const CUtensorMap& mapX, const CUtensorMap& mapW, const uint32_t* xScales, const uint32_t* wScales,
                         float* y) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const int32_t window = static_cast<int32_t>(threadIdx.x / 32), lane = static_cast<int32_t>(threadIdx.x % 32);
  if (threadIdx.x == 0) {
    ptx::mbarrierInit(ptx::sharedAddress(&shared.loaded), 1);
    ptx::mbarrierInit(ptx::sharedAddress(&shared.done), 1);
    ptx::fenceMbarrierInit();
  }
  arrangeScales(shared, xScales, wScales);
  ptx::fenceProxyAsyncShared();
  const uint32_t sums = gemm::sm100::enter<gemm::sm100::SingleCta>(shared.tensorMemory, kColumns, window == 0);
  if (window == 0 && ptx::electOne()) {
    load(shared, mapX, mapW);
    ptx::mbarrierWait(ptx::sharedAddress(&shared.loaded), 0);
    multiply<kCopies>(shared, sums);
  }
  __syncwarp();
  ptx::mbarrierWait(ptx::sharedAddress(&shared.done), 0);
  ptx::tensorFenceAfterThreadSync();
  for (int32_t row = 0; row < kHeight; ++row) {
    const int32_t pixel = (window / kStrips * kHeight + row) * kWidth + window % kStrips * kUseful + lane;
    for (uint32_t n = 0; n < kOutputs; n += 16)
      store16(sums + static_cast<uint32_t>(row) * kSumColumns + n, lane < kUseful ? y + pixel * kOutputs + n : nullptr);
  }
  ptx::tensorFenceBeforeThreadSync();
  gemm::sm100::leave<gemm::sm100::SingleCta>(sums, kColumns, window == 0);
}

/// `mapX`: x as [2 * 3 rows][60][128] in boxes of 1 x 32 x 128; `mapW`: w as [32][9][128] in boxes of 32 x 1 x 128; both bytes with
/// 128-byte swizzle. Four factors in each element of xScales[2][3][60] and wScales[32][9]. y[2][3][60][32].
extern "C" __global__ void __launch_bounds__(kLanes, 1)
    shifted(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapW, const uint32_t* xScales,
            const uint32_t* wScales, float* y) {
  convolve<false>(mapX, mapW, xScales, wScales, y);
}
extern "C" __global__ void __launch_bounds__(kLanes, 1)
    copies(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapW, const uint32_t* xScales,
           const uint32_t* wScales, float* y) {
  convolve<true>(mapX, mapW, xScales, wScales, y);
}

}  // namespace ladder
