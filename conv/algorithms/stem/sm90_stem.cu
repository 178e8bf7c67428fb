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
//  - A tile is four output rows; the two multiplying warpgroups take two each, with a staging buffer for each row. A residual comes
//    there first, in kernels of their own.
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
#include "conv/algorithms/stem/params.hpp"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/staged_residual.cuh"

namespace shiftconv::kernels::stem {
namespace {

constexpr int32_t kConsumers = 2;
constexpr int32_t kThreads = 128 * (1 + kConsumers);
constexpr int32_t kOwnRows = kTileRows / kConsumers;
constexpr int32_t kSlices = kWindowPixels * kPixelBytes / 32;  // wgmma of a filter row
constexpr uint32_t kRowBytes = layout::kSwizzle128RowBytes;

struct Control {
  gemm::Pipeline<kStages> boxes;
  gemm::Pipeline<kOwnRows> residuals[kConsumers];  ///< for each row of a warpgroup: full, it has come; empty, output is staged
};
static_assert(sizeof(Control) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");

enum class Epilogue { Plain, Residual };

template <class Element, int kFilterHeight, Epilogue kEpilogue>
class Cta {
  static constexpr bool kResidual = kEpilogue == Epilogue::Residual;

 public:
  __device__ Cta(const CUtensorMap& input, const CUtensorMap& output, const CUtensorMap& residual, const Params& params)
      : inputMap_(input), outputMap_(output), residualMap_(residual), p_(params) {
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
      if constexpr (kResidual) {
        ptx::prefetchTensorMap(&residualMap_);
        for (int32_t consumer = 0; consumer < kConsumers; ++consumer) control_->residuals[consumer].initialise(kOwnRows, 1, 4);
      }
      ptx::fenceMbarrierInit();
    }
    __syncthreads();
    ptx::awaitPrerequisites();
    ptx::launchDependents();
    if (warpgroup == 0) {
      ptx::releaseRegistersDownTo<40>();
      const uint32_t warp = threadIdx.x / 32;
      if (warp == 0 && ptx::electOne()) load();
      if (kResidual && warp >= 1 && warp <= kConsumers && ptx::electOne()) serve(warp - 1);
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

  __device__ uint32_t stagingAddress(int32_t row) const { return staging_ + static_cast<uint32_t>(row) * kRowStagingBytes; }
  /// Rows outside of the output are not stored.
  __device__ void storeRow(const TileOrigin& origin, int32_t row, uint32_t staging) const {
    if (origin.row + row < p_.outputHeight)
      ptx::storeTile4d(&outputMap_, firstChannel(), origin.column, origin.row + row, origin.image, staging);
    ptx::bulkCommitGroup();
  }

  /// The lane that brings a warpgroup's rows of residual, and stores its output.
  __device__ void serve(uint32_t consumer) const {
    const auto& residuals = control_->residuals[consumer];
    const gemm::StaticTiles tiles = gemm::StaticTiles::ofGrid(p_.tiles);
    const int32_t pieces = tiles.own() * kOwnRows;
    const auto origin = [&](int32_t piece) { return originOf(tiles.first + piece / kOwnRows * tiles.step); };
    const auto row = [&](int32_t piece) { return static_cast<int32_t>(consumer) * kOwnRows + piece % kOwnRows; };
    const auto load = [&](int32_t piece, const gemm::RingPosition& buffer) {
      const TileOrigin at = origin(piece);
      ptx::loadTile4d(stagingAddress(row(piece)), &residualMap_, firstChannel(), at.column, at.row + row(piece), at.image,
                      residuals.full(buffer));
    };
    loadFirstResiduals(residuals, kOwnRows, pieces, kRowStagingBytes, load);
    storeAndLoadResiduals(residuals, kOwnRows, pieces, kRowStagingBytes, load, [&](int32_t piece, const gemm::RingPosition&) {
      storeRow(origin(piece), row(piece), stagingAddress(row(piece)));
    });
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
      if (p_.bias.numbers != nullptr && channel < p_.channels) bias[half] = biasNumber(p_.bias, channel);
    }

    gemm::RingPosition stage, buffer;
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
        const uint32_t staging = stagingAddress(row);
        if constexpr (!kResidual) {
          if (threadIdx.x % 128 == 0) ptx::bulkWaitGroupRead<kOwnRows - 1>();
          ptx::namedBarrierSync(1 + consumer, 128);
        }
        ptx::wgmmaWait<0>();
        if (own == kOwnRows - 1 && lane == 0) ptx::mbarrierArrive(control_->boxes.empty(stage));
        if constexpr (kResidual) control_->residuals[consumer].awaitFull(buffer);
        stageRow(d, bias, staging);
        ptx::fenceProxyAsyncShared();
        if constexpr (kResidual) {
          __syncwarp();
          if (lane == 0) ptx::mbarrierArrive(control_->residuals[consumer].empty(buffer));
          buffer.advance(kOwnRows);
        } else {
          ptx::namedBarrierSync(1 + consumer, 128);
          if (threadIdx.x % 128 == 0) storeRow(origin, row, staging);
        }
      }
      stage.advance(kStages);
    }
    if (!kResidual && threadIdx.x % 128 == 0) ptx::bulkWaitGroupRead<0>();
  }

  /// One output row as rows of 64 channels in the layout of the copy engine's 128-byte swizzle, which a residual has already.
  __device__ void stageRow(const float (&d)[kTileColumns / 2], const float (&bias)[2], uint32_t destination) const {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const uint32_t matrix = lane / 8, pixel = lane % 8 + matrix / 2 * 8, channelVector = 2 * warp + matrix % 2;
    const uint32_t address = destination + pixel * kRowBytes + ((channelVector ^ (pixel & 7)) * 16);
    const auto packed = [&](int column, int half, uint32_t residual) {
      float low = d[column * 4 + half * 2] + bias[half], high = d[column * 4 + half * 2 + 1] + bias[half];
      if constexpr (kResidual) addResidual<Element>(low, high, p_.beta, residual);
      return limited<Element>(packPair<Element>(low, high), p_.limits);
    };
#pragma unroll
    for (int group = 0; group < kTileColumns / 8; group += 2) {
      const uint32_t to = address + static_cast<uint32_t>(group) * 8 * kRowBytes;
      uint32_t r[4] = {};
      if constexpr (kResidual) ptx::loadMatricesTransposed(r, to);
      ptx::storeMatricesTransposed(to, packed(group, 0, r[0]), packed(group, 1, r[1]), packed(group + 1, 0, r[2]),
                                   packed(group + 1, 1, r[3]));
    }
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& outputMap_;
  const CUtensorMap& residualMap_;
  const Params& p_;
  Control* control_;
  uint32_t boxes_, staging_;
};

}  // namespace

#define SHIFTCONV_STEM_KERNEL(NAME, ELEMENT, R)                                                                    \
  extern "C" __global__ void __launch_bounds__(kThreads, 1)                                                        \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap outputMap,            \
           const __grid_constant__ Params params) {                                                                \
    Cta<ELEMENT, R, Epilogue::Plain>(inputMap, outputMap, outputMap, params).run();                                \
  }                                                                                                                \
  extern "C" __global__ void __launch_bounds__(kThreads, 1)                                                        \
      NAME##_residual(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap outputMap, \
                      const __grid_constant__ CUtensorMap residualMap, const __grid_constant__ Params params) {    \
    Cta<ELEMENT, R, Epilogue::Residual>(inputMap, outputMap, residualMap, params).run();                           \
  }

SHIFTCONV_STEM_KERNEL(stem_sm90_f16_r3, __half, 3)
SHIFTCONV_STEM_KERNEL(stem_sm90_bf16_r3, __nv_bfloat16, 3)
SHIFTCONV_STEM_KERNEL(stem_sm90_f16_r7, __half, 7)
SHIFTCONV_STEM_KERNEL(stem_sm90_bf16_r7, __nv_bfloat16, 7)

}  // namespace shiftconv::kernels::stem
