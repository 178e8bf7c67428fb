// Step 4: step 3's convolution with one copy for all nine taps. Two images of 9x9 pixels, a 3x3 filter, padding 1.
//
// Image rows stream by. A row that lies in Tensor Memory serves filter row 0 of the output row below it, filter row 1 of its own
// and filter row 2 of the one above: three MMAs into three accumulators. Then it moves by one pixel, and three more follow, and
// again.
// `.ashift` cannot do that, because it is ordered against MMAs of its own accumulator only; tcgen05.shift is ordered against all.
//
// Rows of 9 pixels are laid end to end to fill the lanes: each image is cut into three blocks of three output rows, and lane
// 18 * block + 9 * image + q makes column q of all three. In step t the lanes hold input row 3 * block - 1 + t: five steps, five
// copies. (Two images this small fill 54 of 128 lanes; four would fill 108 at the same cost.)
//
// Lane l begins with the pixel to the left of its own. A shift leaves the last lane of each window as it was, and
// tcgen05.cp.4x256b puts the next pixel there. So all 32 lanes of a window are useful.
#include "common/gemm/cta_frame.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "examples/ladder/rows.cuh"

namespace ladder {

constexpr int32_t kImages = 2, kSide = 9, kBlocks = 3, kBlockRows = 3, kFilter = 3, kTaps = 9, kOutputs = 16;
constexpr int32_t kPixels = kBlocks * kImages * kSide, kSteps = kBlockRows + kFilter - 1;
constexpr uint32_t kChunks = 8;     // 16 bytes each, of the 64 channels of a pixel
constexpr uint32_t kColumns = 256;  // allocated: sums of three rows, 32 of A for each step

struct Shared {
  uint8_t rows[kSteps][kTileBytes];
  uint8_t refills[kSteps][kFilter - 1][layout::kSwizzle128AtomBytes];  // four rows each, one for each window
  uint8_t filter[kTaps][kOutputs * kRowBytes];
  ptx::LaneMask masks[kFilter];
  uint64_t done;
  uint32_t tensorMemory;
};

/// Where pixel `place` of step t lies; null: outside of the image, or no such place.
__device__ const uint4* pixelOf(const uint4* x, int32_t t, int32_t place) {
  const int32_t block = place / (kImages * kSide), image = place / kSide % kImages, row = block * kBlockRows - 1 + t;
  if (place < 0 || place >= kPixels || row < 0 || row >= kSide) return nullptr;
  return x + ((image * kSide + row) * kSide + place % kSide) * static_cast<int32_t>(kChunks);
}

__device__ void multiply(const Shared& shared, uint32_t sums) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kLanes, kOutputs);
  constexpr uint32_t kLastLane = (kWindowLanes - 1) << 16;
  for (int32_t t = 0; t < kSteps; ++t) {
    const uint32_t a = sums + kBlockRows * kSumColumns + static_cast<uint32_t>(t) * kOperandColumns;
    for (uint32_t slice = 0; slice < kSlices; ++slice)
      ptx::tensorCopy128x256(a + slice * kSliceColumns, sliceAt(slicesOf(shared.rows[t]), slice));
    for (int32_t s = 0; s < kFilter; ++s) {
      const ptx::LaneMask mask = shared.masks[s];
      for (uint32_t slice = 0; slice < kSlices; ++slice) {
        const uint32_t operand = a + slice * kSliceColumns;
        for (int32_t row = 0; row < kBlockRows; ++row) {
          const int32_t r = t - row;
          if (r < 0 || r >= kFilter) continue;
          const uint64_t filter = slicesOf(shared.filter[r * kFilter + s]);
          ptx::mmaMasked<layout::MmaKind::F16, ptx::OperandShift::Keep>(sums + static_cast<uint32_t>(row) * kSumColumns,
                                                                        ptx::TensorOperand{operand}, sliceAt(filter, slice),
                                                                        kInstruction, mask);
        }
        if (s + 1 == kFilter) continue;
        ptx::tensorShiftDown(operand);
        ptx::tensorCopy4x256(operand + kLastLane, sliceAt(slicesOf(shared.refills[t][s]), slice));
      }
    }
  }
  ptx::tensorCommit(ptx::sharedAddress(&shared.done));
}

/// x[2][9][9][64] and w[16][3][3][64] in f16, y[2][9][9][16].
extern "C" __global__ void __launch_bounds__(kLanes, 1) shift(const uint4* x, const uint4* w, float* y) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const int32_t lane = static_cast<int32_t>(threadIdx.x);
  const uint32_t window = threadIdx.x / 32;

  // Threads carry the pixels, so that the map from lanes to pixels stands here in full.
#pragma unroll 1
  for (int32_t t = 0; t < kSteps; ++t) {
    stageRow<kChunks>(shared.rows[t], threadIdx.x, pixelOf(x, t, lane - 1));
    for (int32_t s = 1; s < kFilter; ++s)  // what the shift in front of tap column s leaves out
      if (lane < 4) stageRow<kChunks>(shared.refills[t][s - 1], threadIdx.x, pixelOf(x, t, lane * 32 + 31 + s - 1));
  }
#pragma unroll 1
  for (int32_t tap = 0; tap < kTaps; ++tap)
    if (lane < kOutputs)
      stageRow<kChunks>(shared.filter[tap], threadIdx.x, w + (lane * kTaps + tap) * static_cast<int32_t>(kChunks));
  ptx::fenceProxyAsyncShared();

  // Rows above and below the image are zeros here, and so is what lies beyond the first and the last pixel. Only lanes that hold a
  // neighbouring row's pixel need to be disabled: the same three masks for every step.
  for (int32_t s = 0; s < kFilter; ++s) {
    const int32_t place = lane + s - 1;
    const bool isNeighbours = place >= 0 && place < kPixels && place / kSide != lane / kSide;
    const uint32_t disabled = __ballot_sync(~0u, lane >= kPixels || isNeighbours);
    if (lane % 32 == 0) shared.masks[s].word[window] = disabled;
  }
  if (threadIdx.x == 0) {
    ptx::mbarrierInit(ptx::sharedAddress(&shared.done), 1);
    ptx::fenceMbarrierInit();
  }
  const uint32_t sums = gemm::sm100::enter<gemm::sm100::SingleCta>(shared.tensorMemory, kColumns, window == 0);
  for (uint32_t row = 0; row < kBlockRows; ++row) ptx::tensorFill16(ownWindow(sums) + row * kSumColumns, 0);
  ptx::tensorStoreWait();
  ptx::tensorFenceBeforeThreadSync();
  __syncthreads();

  if (window == 0 && ptx::electOne()) {
    ptx::tensorFenceAfterThreadSync();
    multiply(shared, sums);
  }
  __syncwarp();
  ptx::mbarrierWait(ptx::sharedAddress(&shared.done), 0);
  ptx::tensorFenceAfterThreadSync();
  const int32_t block = lane / (kImages * kSide), image = lane / kSide % kImages;
  for (int32_t row = 0; row < kBlockRows; ++row) {
    const int32_t pixel = (image * kSide + block * kBlockRows + row) * kSide + lane % kSide;
    store16(sums + static_cast<uint32_t>(row) * kSumColumns, lane < kPixels ? y + pixel * kOutputs : nullptr);
  }
  ptx::tensorFenceBeforeThreadSync();
  gemm::sm100::leave<gemm::sm100::SingleCta>(sums, kColumns, window == 0);
}

}  // namespace ladder
