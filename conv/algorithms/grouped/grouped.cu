// grouped: forward convolution with 2 to 16 channels a group. A block is 16 bytes of channels, 8 of 16 bits or 16 of 8 bits, and
// one product of a warp is 16 pixels of a block for one tap or two.
//
// A CTA has a box of input pixels with eight blocks in shared memory, one 128-byte row a pixel; each of its eight multiplying warps
// has a block, whose filter fits into a register or two for each tap. One ldmatrix.x4 is operand A of 32 pixels for
// one tap, wherever the pixels lie, so that tiles need no pads between rows and any stride will do.
//
// NOTES
//  - Of smaller groups a block has several: their filter lies along its diagonal, and the rest is zeros.
//  - Of fewer than eight blocks in all, several warps have the same one, and take 32 pixels in turns.
//  - The rows that a lane reads move with the tap, and with them the XOR of the 128-byte swizzle: one addition and one LOP3 a tap.
//  - Shared memory is read once for each tap, 512 bytes for 32 pixels of a block: the bound beside device memory.
#include <cuda.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/grouped/byte_block.cuh"
#include "conv/algorithms/grouped/half_block.cuh"
#include "conv/algorithms/grouped/params.hpp"

namespace shiftconv::kernels::grouped {
namespace {

constexpr int32_t kThreads = (kWarps + 1) * 32;  // the last warp loads
constexpr uint32_t kRowBytes = layout::kSwizzle128RowBytes;

struct Control {
  gemm::Pipeline<kMaximumStages> boxes;
};
static_assert(sizeof(Control) <= kControlBytes, "the planner reserves kControlBytes in front of the boxes");

struct TileOrigin {
  int32_t column, row, image;
};

template <class Block, int kFilterWidth>
class Cta {
 public:
  static constexpr int32_t kChunkChannels = chunkChannels(Block::kElementBytes);

  __device__ Cta(const CUtensorMap& input, const CUtensorMap& output, const Params& params)
      : inputMap_(input), outputMap_(output), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control>(dynamicShared);
    boxes_ = ptx::sharedAddress(control_) + kControlBytes;
    staging_ = boxes_ + static_cast<uint32_t>(p_.slots) * p_.slotBytes;
  }

  __device__ void run() {
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    if (warp == kWarps && ptx::electOne()) {
      ptx::prefetchTensorMap(&inputMap_);
      ptx::prefetchTensorMap(&outputMap_);
      control_->boxes.initialise(p_.slots, 1, kWarps);
      ptx::fenceMbarrierInit();
    }
    __syncthreads();
    ptx::awaitPrerequisites();
    ptx::launchDependents();
    if (warp == kWarps) {
      if (ptx::electOne()) load();
    } else {
      multiply(warp);
    }
  }

 private:
  __device__ TileOrigin originOf(int32_t tile) const {
    const uint32_t pixels = static_cast<uint32_t>(tile);
    const uint32_t rows = p_.columnTiles.quotient(pixels), image = p_.rowTiles.quotient(rows);
    return {static_cast<int32_t>(pixels - rows * p_.columnTiles.divisor) * p_.tileColumns,
            static_cast<int32_t>(rows - image * p_.rowTiles.divisor) * p_.tileRows, static_cast<int32_t>(image)};
  }
  __device__ int32_t firstChannel() const { return static_cast<int32_t>(blockIdx.y) * kChunkChannels; }

  __device__ void load() const {
    gemm::RingPosition slot;
    for (const int32_t tile : gemm::StaticTiles::ofGrid(p_.tiles)) {
      const TileOrigin origin = originOf(tile);
      control_->boxes.awaitEmpty(slot);
      ptx::mbarrierArriveExpectBytes(control_->boxes.full(slot), p_.boxBytes);
      ptx::loadTile4d(boxes_ + static_cast<uint32_t>(slot.index) * p_.slotBytes, &inputMap_, firstChannel(),
                      origin.column * p_.strideW - p_.padLeft, origin.row * p_.strideH - p_.padTop, origin.image,
                      control_->boxes.full(slot));
      slot.advance(p_.slots);
    }
  }

  __device__ void multiply(uint32_t warp) const {
    const uint32_t lane = threadIdx.x % 32, ofChunk = warp & ((1u << p_.blockBits) - 1);
    const Block block(p_, firstChannel() + static_cast<int32_t>(ofChunk) * kBlockBytes / Block::kElementBytes);
    const uint32_t vector = ofChunk * kBlockBytes;  // the block's bytes in a row, before the swizzle
    const auto firstPixel = static_cast<int32_t>(warp >> p_.blockBits) * kStepPixels;
    const int32_t step = (kWarps >> p_.blockBits) * kStepPixels;
    gemm::RingPosition slot;
    uint32_t stagingIndex = 0;
    for (const int32_t tile : gemm::StaticTiles::ofGrid(p_.tiles)) {
      control_->boxes.awaitFull(slot);
      const uint32_t box = boxes_ + static_cast<uint32_t>(slot.index) * p_.slotBytes;
      if (threadIdx.x == 0) ptx::bulkWaitGroupRead<kStagings - 1>();
      ptx::namedBarrierSync(1, kWarps * 32);  // the staging buffer is free
      const uint32_t staging = staging_ + stagingIndex * p_.stagingBytes;
      stagingIndex = (stagingIndex + 1) % kStagings;
      for (int32_t first = firstPixel; first < p_.tilePixels; first += step) {
        const int32_t pixel = min(first + static_cast<int32_t>(lane), p_.tilePixels - 1);
        const int32_t y = static_cast<int32_t>(p_.byTileColumns.quotient(static_cast<uint32_t>(pixel)));
        const int32_t x = pixel - y * p_.tileColumns;
        const uint32_t row = static_cast<uint32_t>(y * p_.strideH * p_.boxColumns + x * p_.strideW);
        const auto pixelsOf = [&](uint32_t(&a)[4], int tap) {
          const uint32_t tapRow =
              row + static_cast<uint32_t>(tap / kFilterWidth * p_.dilationH * p_.boxColumns + tap % kFilterWidth * p_.dilationW);
          ptx::loadMatrices(a, layout::swizzle128(box + tapRow * kRowBytes) ^ vector);
        };
        uint32_t packed[4];
        block.convolve(p_, pixelsOf, packed);
        const uint32_t stagingRow = static_cast<uint32_t>(first) + lane;  // the buffer has whole steps
        ptx::storeMatrices(layout::swizzle128(staging + stagingRow * kRowBytes) ^ vector, packed);
      }
      __syncwarp();
      if (lane == 0) ptx::mbarrierArrive(control_->boxes.empty(slot));
      slot.advance(p_.slots);
      ptx::fenceProxyAsyncShared();
      ptx::namedBarrierSync(1, kWarps * 32);
      if (threadIdx.x == 0) {
        const TileOrigin origin = originOf(tile);
        ptx::storeTile4d(&outputMap_, firstChannel(), origin.column, origin.row, origin.image, staging);
        ptx::bulkCommitGroup();
      }
    }
    if (threadIdx.x == 0) ptx::bulkWaitGroupRead<0>();
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& outputMap_;
  const Params& p_;
  Control* control_;
  uint32_t boxes_, staging_;
};

}  // namespace

#define SHIFTCONV_GROUPED_KERNEL(NAME, ELEMENT_BYTES, R, S, ...)                                        \
  extern "C" __global__ void __launch_bounds__(kThreads, ctasPerMultiprocessor(R* S, ELEMENT_BYTES))    \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap outputMap, \
           const __grid_constant__ Params params) {                                                     \
    Cta<__VA_ARGS__, S>(inputMap, outputMap, params).run();                                             \
  }
#define SHIFTCONV_GROUPED_HALVES(TYPE, ELEMENT)                                                   \
  SHIFTCONV_GROUPED_KERNEL(grouped_##TYPE##_r3s3, 2, 3, 3, HalfBlock<ELEMENT, 9, false>)          \
  SHIFTCONV_GROUPED_KERNEL(grouped_##TYPE##_r5s5, 2, 5, 5, HalfBlock<ELEMENT, 25, false>)         \
  SHIFTCONV_GROUPED_KERNEL(grouped_##TYPE##_r3s3_activated, 2, 3, 3, HalfBlock<ELEMENT, 9, true>) \
  SHIFTCONV_GROUPED_KERNEL(grouped_##TYPE##_r5s5_activated, 2, 5, 5, HalfBlock<ELEMENT, 25, true>)
#define SHIFTCONV_GROUPED_BYTES(KIND, PRODUCTS)                                    \
  SHIFTCONV_GROUPED_KERNEL(grouped_##KIND##_r3s3, 1, 3, 3, ByteBlock<PRODUCTS, 9>) \
  SHIFTCONV_GROUPED_KERNEL(grouped_##KIND##_r5s5, 1, 5, 5, ByteBlock<PRODUCTS, 25>)

SHIFTCONV_GROUPED_HALVES(f16, __half)
SHIFTCONV_GROUPED_HALVES(bf16, __nv_bfloat16)
SHIFTCONV_GROUPED_BYTES(e4m3_e4m3, FloatProducts)
SHIFTCONV_GROUPED_BYTES(s8_s8, IntegerProducts<true>)
SHIFTCONV_GROUPED_BYTES(u8_s8, IntegerProducts<false>)

}  // namespace shiftconv::kernels::grouped
