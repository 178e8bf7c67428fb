// Step 7: 3x3 convolution, padding 1, of an image of 8x32 pixels, the other way round: filters are operand A, pixels operand B.
//
// The sums are 64 output channels, in lanes, by 256 pixels, in columns. tcgen05.mma.ws ("weight stationary") can take B some
// columns further, so the three taps of a filter row read one operand with column shifts of 0, 1 and 2, and its zero-column mask
// stands in for the padding to the left and right. B is what its four collector buffers keep: here one for each slice of 16
// channels, filled by the first tap of a filter row and used by the other two. PatchShift, the engine of a public library of
// kernels for diffusion models, works like this.
#include <cuda.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/ptx/tensor_core_stationary.cuh"
#include "examples/ladder/rows.cuh"

namespace ladder {

using Single = gemm::sm100::SingleCta;
using ptx::Collector;
constexpr int32_t kHeight = 8, kWidth = 32, kPixels = kHeight * kWidth, kFilter = 3, kTaps = 9, kOutputs = 64;
// The pixels of rows -1 to 8, and one more at either end, in two boxes whose rows are a multiple of 8.
constexpr int32_t kBoxRows = 168;
constexpr uint32_t kBoxBytes = kBoxRows * kRowBytes, kTapBytes = kOutputs * kRowBytes;
// With M = 64 the lanes hold the 64 channels twice, each time for half of the pixels.
constexpr uint32_t kColumns = kPixels / 2;

struct Shared {
  uint8_t pixels[2][kBoxBytes];
  uint8_t filter[kTaps][kTapBytes];
  uint64_t loaded, done;
  uint32_t tensorMemory;
};

__device__ void load(Shared& shared, const CUtensorMap& mapX, const CUtensorMap& mapW) {
  const uint32_t loaded = ptx::sharedAddress(&shared.loaded);
  ptx::mbarrierArriveExpectBytes(loaded, 2 * kBoxBytes + kTaps * kTapBytes);
  for (int32_t box = 0; box < 2; ++box)
    Single::load(ptx::sharedAddress(shared.pixels[box]), &mapX, 0, -kWidth - 1 + box * kBoxRows, loaded);
  for (int32_t tap = 0; tap < kTaps; ++tap) Single::load(ptx::sharedAddress(shared.filter[tap]), &mapW, 0, tap, 0, loaded);
}

/// Tap (r, kShift) of all slices. Pixel n of the sums meets row n + r * kWidth + kShift of the boxes.
template <uint32_t kShift, Collector kCollector>
__device__ void multiplyTap(const Shared& shared, uint32_t sums, int32_t r) {
  constexpr uint32_t kMaximumShiftOf8 = 1u << 30;
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kOutputs, kPixels) |
      kMaximumShiftOf8;
  constexpr ptx::ZeroColumn kOutside[] = {ptx::ZeroColumn::First, ptx::ZeroColumn::None, ptx::ZeroColumn::Last};
  constexpr uint64_t kMask = ptx::columnMask(kShift, kWidth, kOutside[kShift]);
  const uint64_t a = slicesOf(shared.filter[r * kFilter + static_cast<int32_t>(kShift)]);
  const uint64_t b = slicesOf(shared.pixels[0] + r * kWidth * static_cast<int32_t>(kRowBytes));
  const bool more = r != 0 || kShift != 0;
  constexpr auto kKind = layout::MmaKind::F16;
  ptx::mmaStationary<kKind, 0, kCollector>(sums, sliceAt(a, 0), sliceAt(b, 0), kInstruction, kMask, more);
  ptx::mmaStationary<kKind, 1, kCollector>(sums, sliceAt(a, 1), sliceAt(b, 1), kInstruction, kMask, true);
  ptx::mmaStationary<kKind, 2, kCollector>(sums, sliceAt(a, 2), sliceAt(b, 2), kInstruction, kMask, true);
  ptx::mmaStationary<kKind, 3, kCollector>(sums, sliceAt(a, 3), sliceAt(b, 3), kInstruction, kMask, true);
}

/// `mapX`: x as [8 * 32 pixels][64] in boxes of 168 x 64; `mapW`: w as [64][9][64] in boxes of 64 x 1 x 64; both f16 with 128-byte
/// swizzle. y[8][32][64].
extern "C" __global__ void __launch_bounds__(kLanes, 1)
    stationary(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapW, float* y) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    ptx::mbarrierInit(ptx::sharedAddress(&shared.loaded), 1);
    ptx::mbarrierInit(ptx::sharedAddress(&shared.done), 1);
    ptx::fenceMbarrierInit();
  }
  const uint32_t sums = gemm::sm100::enter<Single>(shared.tensorMemory, kColumns, warp == 0);
  if (warp == 0 && ptx::electOne()) {
    load(shared, mapX, mapW);
    ptx::mbarrierWait(ptx::sharedAddress(&shared.loaded), 0);
    ptx::tensorFenceAfterThreadSync();
    for (int32_t r = 0; r < kFilter; ++r) {
      multiplyTap<0, Collector::Fill>(shared, sums, r);
      multiplyTap<1, Collector::Use>(shared, sums, r);
      multiplyTap<2, Collector::LastUse>(shared, sums, r);
    }
    Single::commitResult(ptx::sharedAddress(&shared.done));
  }
  __syncwarp();
  ptx::mbarrierWait(ptx::sharedAddress(&shared.done), 0);
  ptx::tensorFenceAfterThreadSync();
  // A thread has a channel, of the first or the second half of the pixels.
  const uint32_t channel = threadIdx.x % kOutputs, firstPixel = threadIdx.x / kOutputs * kColumns;
  for (uint32_t column = 0; column < kColumns; column += 16) {
    uint32_t bits[16];
    ptx::tensorLoad16(ownWindow(sums) + column, bits);
    ptx::tensorLoadWait(bits);
    for (uint32_t i = 0; i < 16; ++i) y[(firstPixel + column + i) * kOutputs + channel] = __uint_as_float(bits[i]);
  }
  ptx::tensorFenceBeforeThreadSync();
  gemm::sm100::leave<Single>(sums, kColumns, warp == 0);
}

}  // namespace ladder
