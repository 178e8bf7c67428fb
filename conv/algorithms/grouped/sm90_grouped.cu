// grouped: forward convolution with 2, 4 or 8 channels a group, for which one m16n8k8 is 16 pixels of a block of 8 channels.
//
// A CTA has a box of input pixels with 64 channels, eight blocks, in shared memory, one 128-byte row a pixel; each of its eight
// multiplying warps has a block, whose filter fits into a register for each tap. One ldmatrix.x4 is operand A of 32 pixels for
// one tap, wherever the pixels lie, so that tiles need no pads between rows and any stride will do. Two taps behind each other are
// the reduction of an m16n8k16.
//
// NOTES
//  - Of smaller groups a block has several: their filter lies along its diagonal, and the rest is zeros.
//  - The rows that a lane reads move with the tap, and with them the XOR of the 128-byte swizzle: one addition and one LOP3 a tap.
//  - Shared memory is read once for each tap, 256 bytes for 16 pixels of a group: the bound beside device memory.
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
#include "conv/algorithms/grouped/params.hpp"
#include "conv/kernels/packing.cuh"

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

template <class Element, int kFilterHeight, int kFilterWidth>
class Cta {
 public:
  static constexpr int kTaps = kFilterHeight * kFilterWidth;

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
    const uint32_t lane = threadIdx.x % 32;
    const int32_t blockChannel = firstChannel() + static_cast<int32_t>(warp) * kBlockChannels;
    // Operand B of every tap: output channel lane / 4, input channels 2 * (lane % 4) and the next, where they are of its group.
    uint32_t weights[kTaps];
    float bias[2] = {0.0f, 0.0f};
    {
      const int32_t ofBlock = static_cast<int32_t>(lane / 4), channel = blockChannel + ofBlock;
      const int32_t pairs = p_.groupChannels / 2, pair = static_cast<int32_t>(lane % 4) - ofBlock / p_.groupChannels * pairs;
      const uint32_t* filter = static_cast<const uint32_t*>(p_.filter) + int64_t{channel} * kTaps * pairs + pair;
      const bool hasWeights = channel < p_.channels && pair >= 0 && pair < pairs;
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) weights[tap] = hasWeights ? filter[tap * pairs] : 0;
      if (p_.bias != nullptr && blockChannel < p_.channels) {
        bias[0] = p_.bias[blockChannel + static_cast<int32_t>(2 * (lane % 4))];
        bias[1] = p_.bias[blockChannel + static_cast<int32_t>(2 * (lane % 4)) + 1];
      }
    }
    const uint32_t vector = warp * 16;  // the block's bytes in a row, before the swizzle
    gemm::RingPosition slot;
    uint32_t stagingIndex = 0;
    for (const int32_t tile : gemm::StaticTiles::ofGrid(p_.tiles)) {
      control_->boxes.awaitFull(slot);
      const uint32_t box = boxes_ + static_cast<uint32_t>(slot.index) * p_.slotBytes;
      if (threadIdx.x == 0) ptx::bulkWaitGroupRead<kStagings - 1>();
      ptx::namedBarrierSync(1, kWarps * 32);  // the staging buffer is free
      const uint32_t staging = staging_ + stagingIndex * p_.stagingBytes;
      stagingIndex = (stagingIndex + 1) % kStagings;
      for (int32_t first = 0; first < p_.tilePixels; first += kStepPixels) {
        const int32_t pixel = min(first + static_cast<int32_t>(lane), p_.tilePixels - 1);
        const int32_t y = static_cast<int32_t>(p_.byTileColumns.quotient(static_cast<uint32_t>(pixel)));
        const int32_t x = pixel - y * p_.tileColumns;
        const uint32_t row = static_cast<uint32_t>(y * p_.strideH * p_.boxColumns + x * p_.strideW);
        const auto operand = [&](uint32_t(&a)[4], int tap) {
          const uint32_t tapRow =
              row + static_cast<uint32_t>(tap / kFilterWidth * p_.dilationH * p_.boxColumns + tap % kFilterWidth * p_.dilationW);
          ptx::loadMatrices(a, layout::swizzle128(box + tapRow * kRowBytes) ^ vector);
        };
        float d[2][4] = {};
#pragma unroll
        for (int tap = 0; tap + 1 < kTaps; tap += 2) {
          uint32_t a[4], b[4];
          operand(a, tap);
          operand(b, tap + 1);
          ptx::mma16x8x16<Element>(d[0], a[0], a[1], b[0], b[1], weights[tap], weights[tap + 1]);
          ptx::mma16x8x16<Element>(d[1], a[2], a[3], b[2], b[3], weights[tap], weights[tap + 1]);
        }
        if constexpr (kTaps % 2 == 1) {
          uint32_t a[4];
          operand(a, kTaps - 1);
          ptx::mma16x8x8<Element>(d[0], a[0], a[1], weights[kTaps - 1]);
          ptx::mma16x8x8<Element>(d[1], a[2], a[3], weights[kTaps - 1]);
        }
        uint32_t packed[4];  // pixels 8i + lane / 4
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float low = d[i / 2][i % 2 * 2] + bias[0], high = d[i / 2][i % 2 * 2 + 1] + bias[1];
          if (p_.relu) {
            low = rectified(low);
            high = rectified(high);
          }
          packed[i] = packPair<Element>(low, high);
        }
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

#define SHIFTCONV_GROUPED_KERNEL(NAME, ELEMENT, R, S)                                                   \
  extern "C" __global__ void __launch_bounds__(kThreads, ctasPerMultiprocessor(R* S))                   \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap outputMap, \
           const __grid_constant__ Params params) {                                                     \
    Cta<ELEMENT, R, S>(inputMap, outputMap, params).run();                                              \
  }

SHIFTCONV_GROUPED_KERNEL(grouped_sm90_f16_r3s3, __half, 3, 3)
SHIFTCONV_GROUPED_KERNEL(grouped_sm90_bf16_r3s3, __nv_bfloat16, 3, 3)
SHIFTCONV_GROUPED_KERNEL(grouped_sm90_f16_r5s5, __half, 5, 5)
SHIFTCONV_GROUPED_KERNEL(grouped_sm90_bf16_r5s5, __nv_bfloat16, 5, 5)

}  // namespace shiftconv::kernels::grouped
