// stem: forward convolution of four input channels with a column stride of 2, the first layer of many networks.
//
// With 8 bytes a pixel and a stride of two pixels, neighbouring outputs start 16 bytes apart in an image row, and the taps of one
// filter row are the 64 bytes from there. That row of pixels in shared memory *is* a K-major operand without swizzle whose core
// matrices overlap: rows 16 bytes apart, the next 16 bytes along K at +16, the next eight outputs at +128 (exact on H200). So one
// copy of each input row serves all filter taps, and K is 32 elements a filter row instead of a padded 64 a tap.
//
// The weights are operand A and stay in registers. The kernel is bound by writing its output.
//
// NOTES
//  - A window has eight pixels. The weights of those that the filter does not have are zero; zero fill gives the pads.
//  - A box starts at an even pixel, for the copy engine rejects one that does not start at 16 bytes (observed on H200: illegal
//    instruction). With an odd left pad the window's first pixel is such a one.
//  - A tile is four output rows; the two multiplying warpgroups take two each, with a staging buffer for each row.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "common/ptx/warpgroup.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/kernels/sm90/packing.cuh"
#include "conv/kernels/sm90/stem_params.hpp"

namespace shiftconv::kernels::stem {
namespace {

constexpr int32_t kConsumers = 2;
constexpr int32_t kThreads = 128 * (1 + kConsumers);
constexpr int32_t kOwnRows = kTileRows / kConsumers;
constexpr int32_t kSlices = kWindowPixels * kPixelBytes / 32;  // wgmma of a filter row
constexpr uint32_t kRowBytes = layout::kSwizzle128RowBytes;

struct Control {
  gemm::Pipeline<kStages> boxes;
};
static_assert(sizeof(Control) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");

template <class Element, int kFilterHeight>
class Cta {
 public:
  __device__ Cta(const CUtensorMap& input, const CUtensorMap& output, const Params& params)
      : inputMap_(input), outputMap_(output), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control>(dynamicShared);
    staging_ = ptx::sharedAddress(control_) + kControlBytes;
    boxes_ = staging_ + kTileRows * kRowStagingBytes;
  }

  __device__ void run() {
    const uint32_t warpgroup = ptx::warpgroupIndex();
    if (threadIdx.x == 0) {
      ptx::prefetchTensorMap(&inputMap_);
      ptx::prefetchTensorMap(&outputMap_);
      control_->boxes.initialise(kStages, 1, 4 * kConsumers);
      ptx::fenceMbarrierInit();
    }
    __syncthreads();
    ptx::launchDependents();
    ptx::awaitPrerequisites();
    if (warpgroup == 0) {
      ptx::releaseRegistersDownTo<40>();
      if (threadIdx.x / 32 == 0 && ptx::electOne()) load();
    } else {
      ptx::claimRegistersUpTo<232>();
      multiply(warpgroup - 1);
    }
  }

 private:
  struct TileOrigin {
    int32_t column, row, image;
  };
  __device__ TileOrigin originOf(int32_t tile) const {
    const uint32_t pixels = static_cast<uint32_t>(tile);
    const uint32_t rows = p_.columnTiles.quotient(pixels), image = p_.rowTiles.quotient(rows);
    return {static_cast<int32_t>(pixels - rows * p_.columnTiles.divisor) * kTileColumns,
            static_cast<int32_t>(rows - image * p_.rowTiles.divisor) * kTileRows, static_cast<int32_t>(image)};
  }
  __device__ int32_t firstChannel() const { return static_cast<int32_t>(blockIdx.y) * kBlockChannels; }

  __device__ void load() const {
    gemm::RingPosition stage;
    for (const int32_t tile : gemm::StaticTiles::ofGrid(p_.tiles)) {
      const TileOrigin origin = originOf(tile);
      control_->boxes.awaitEmpty(stage);
      ptx::mbarrierArriveExpectBytes(control_->boxes.full(stage), p_.boxBytes);
      ptx::loadTile3d(boxes_ + static_cast<uint32_t>(stage.index) * p_.stageBytes, &inputMap_,
                      origin.column * kStride - p_.padLeft - p_.lead, origin.row * p_.strideH - p_.padTop, origin.image,
                      control_->boxes.full(stage));
      stage.advance(kStages);
    }
  }

  __device__ void multiply(uint32_t consumer) const {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    // Operand A of every filter row: element k of a row is channel k % 4 of window pixel k / 4.
    uint32_t a[kFilterHeight][kSlices][4];
    float bias[2] = {0.0f, 0.0f};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int32_t channel = firstChannel() + static_cast<int32_t>(warp * 16 + lane / 4) + 8 * half;
      const uint32_t* filter =
          static_cast<const uint32_t*>(p_.filter) + int64_t{channel} * kFilterHeight * p_.filterWidth * 2 + lane % 2;
#pragma unroll
      for (int r = 0; r < kFilterHeight; ++r) {
#pragma unroll
        for (int slice = 0; slice < kSlices; ++slice) {
#pragma unroll
          for (int part = 0; part < 2; ++part) {
            const int32_t s = 4 * slice + 2 * part + static_cast<int32_t>(lane % 4 / 2) - p_.lead;
            a[r][slice][2 * part + half] =
                channel < p_.channels && s >= 0 && s < p_.filterWidth ? filter[(r * p_.filterWidth + s) * 2] : 0;
          }
        }
      }
      if (p_.bias != nullptr && channel < p_.channels) bias[half] = p_.bias[channel];
    }

    gemm::RingPosition stage;
    for (const int32_t tile : gemm::StaticTiles::ofGrid(p_.tiles)) {
      const TileOrigin origin = originOf(tile);
      control_->boxes.awaitFull(stage);
      const uint32_t box = boxes_ + static_cast<uint32_t>(stage.index) * p_.stageBytes;
#pragma unroll 1
      for (int32_t own = 0; own < kOwnRows; ++own) {
        const int32_t row = static_cast<int32_t>(consumer) * kOwnRows + own;
        const uint64_t b = layout::wgmmaPlainDescriptor(box + static_cast<uint32_t>(row * p_.strideH) * kBoxRowBytes, 16, 128);
        float d[kTileColumns / 2];
        ptx::wgmmaFence();
#pragma unroll
        for (int r = 0; r < kFilterHeight; ++r) {
#pragma unroll
          for (int slice = 0; slice < kSlices; ++slice) {
            ptx::wgmma<Element, kTileColumns>(d, a[r][slice], layout::advanceDescriptor(b, r * kBoxRowBytes + slice * 32),
                                              r + slice == 0 ? 0 : 1);
          }
        }
        ptx::wgmmaCommit();
        const uint32_t staging = staging_ + static_cast<uint32_t>(row) * kRowStagingBytes;
        if (threadIdx.x % 128 == 0) ptx::bulkWaitGroupRead<kOwnRows - 1>();
        ptx::namedBarrierSync(1 + consumer, 128);
        ptx::wgmmaWait<0>();
        if (own == kOwnRows - 1 && lane == 0) ptx::mbarrierArrive(control_->boxes.empty(stage));
        stageRow(d, bias, staging);
        ptx::fenceProxyAsyncShared();
        ptx::namedBarrierSync(1 + consumer, 128);
        if (threadIdx.x % 128 == 0) {
          if (origin.row + row < p_.outputHeight)
            ptx::storeTile4d(&outputMap_, firstChannel(), origin.column, origin.row + row, origin.image, staging);
          ptx::bulkCommitGroup();
        }
      }
      stage.advance(kStages);
    }
    if (threadIdx.x % 128 == 0) ptx::bulkWaitGroupRead<0>();
  }

  /// One output row as rows of 64 channels in the layout of the copy engine's 128-byte swizzle.
  __device__ void stageRow(const float (&d)[kTileColumns / 2], const float (&bias)[2], uint32_t destination) const {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const uint32_t matrix = lane / 8, pixel = lane % 8 + matrix / 2 * 8, channelVector = 2 * warp + matrix % 2;
    const uint32_t address = destination + pixel * kRowBytes + ((channelVector ^ (pixel & 7)) * 16);
    const auto packed = [&](int column, int half) {
      float low = d[column * 4 + half * 2] + bias[half], high = d[column * 4 + half * 2 + 1] + bias[half];
      if (p_.relu) {
        low = rectified(low);
        high = rectified(high);
      }
      return packPair<Element>(low, high);
    };
#pragma unroll
    for (int group = 0; group < kTileColumns / 8; group += 2) {
      ptx::storeMatricesTransposed(address + static_cast<uint32_t>(group) * 8 * kRowBytes, packed(group, 0), packed(group, 1),
                                   packed(group + 1, 0), packed(group + 1, 1));
    }
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& outputMap_;
  const Params& p_;
  Control* control_;
  uint32_t boxes_, staging_;
};

}  // namespace

#define SHIFTCONV_STEM_KERNEL(NAME, ELEMENT, R)                                                         \
  extern "C" __global__ void __launch_bounds__(kThreads, 1)                                             \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap outputMap, \
           const __grid_constant__ Params params) {                                                     \
    Cta<ELEMENT, R>(inputMap, outputMap, params).run();                                                 \
  }

SHIFTCONV_STEM_KERNEL(stem_sm90_f16_r3, __half, 3)
SHIFTCONV_STEM_KERNEL(stem_sm90_bf16_r3, __nv_bfloat16, 3)
SHIFTCONV_STEM_KERNEL(stem_sm90_f16_r7, __half, 7)
SHIFTCONV_STEM_KERNEL(stem_sm90_bf16_r7, __nv_bfloat16, 7)

}  // namespace shiftconv::kernels::stem
