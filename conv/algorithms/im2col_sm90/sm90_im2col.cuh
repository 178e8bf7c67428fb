// im2col_sm90: forward convolution on wgmma whose pixels the copy engine gathers (TMA im2col): any filter, stride, dilation and
// padding within the limits of an im2col map, one to three dimensions. One tile a CTA, nothing persistent: what runs once is short.
//
// GEMM view: M = output pixels (operand A), 64 for each warpgroup; N = output channels (operand B); reduction over filter taps and
// chunks of 64 input channels. A stage of the ring has the pixels of a chunk at a tap, and the weights of the chunk at that tap.
//
// Roles: the last warp loads, the others multiply, one warpgroup 64 pixels by all channels of the tile.
//
// NOTES
//  - Taps that lie outside of the image for every pixel of the tile are neither loaded nor multiplied.
//  - Channels beyond C arrive as zeros and are multiplied: a branch among the slices of a stage costs ptxas its view of which wgmma
//    are under way (C7519).
//  - A stage is released one step late, so that a product is always under way behind the one that is waited for.
//  - Outputs leave through shared memory, over the stages: rows of 16-bit channels for the copy engine, which drops what is outside
//    of the matrix, or rows of sums for the whole epilogue.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels::im2col {

enum class Epilogue { Plain, Full };

struct Control {
  gemm::Pipeline<kMaximumStages> operands;
};
static_assert(sizeof(Control) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");

template <class Element, int kGroups, int kChannels, Epilogue kEpilogue>
class Cta {
  static constexpr int32_t kPixels = kGroups * kGroupPixels;
  static constexpr uint32_t kPixelBytes = kPixels * kRowBytes, kStageBytes = stageBytes(kGroups, kChannels);
  static constexpr uint32_t kConsumers = kGroups * 128;

 public:
  __device__ Cta(const CUtensorMap& input, const CUtensorMap& filter, const CUtensorMap& output, const Params& params)
      : inputMap_(input), filterMap_(filter), outputMap_(output), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control>(dynamicShared);
    stages_ = ptx::sharedAddress(control_) + kControlBytes;
    sums_ = reinterpret_cast<float*>(reinterpret_cast<uint8_t*>(control_) + kControlBytes);
    const uint32_t pixelTile = p_.channelTiles.quotient(blockIdx.x);
    firstPixel_ = static_cast<int32_t>(pixelTile) * kPixels;
    firstChannel_ = static_cast<int32_t>(blockIdx.x - pixelTile * p_.channelTiles.divisor) * kChannels;
  }

  __device__ void run() {
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    if (warp == kGroups * 4 && ptx::electOne()) {
      control_->operands.initialise(p_.stages, 1, kGroups * 4);
      ptx::fenceMbarrierInit();
      ptx::prefetchTensorMap(&inputMap_);
      ptx::prefetchTensorMap(&filterMap_);
    }
    reach();
    __syncthreads();
    ptx::launchDependents();
    ptx::awaitPrerequisites();
    if (warp == kGroups * 4) {
      if (ptx::electOne()) load();
    } else {
      multiply(warp / 4);
    }
  }

 private:
  // ---- The taps of a tile --------------------------------------------------------------------------------------------------
  struct Position {
    int32_t x, y, z, image;
  };
  __device__ Position positionOf(int32_t pixel) const {
    const uint32_t index = static_cast<uint32_t>(pixel), row = p_.positionsX.quotient(index), plane = p_.positionsY.quotient(row),
                   image = p_.positionsZ.quotient(plane);
    return {static_cast<int32_t>(index - row * p_.positionsX.divisor), static_cast<int32_t>(row - plane * p_.positionsY.divisor),
            static_cast<int32_t>(plane - image * p_.positionsZ.divisor), static_cast<int32_t>(image)};
  }
  /// The range of positions that the tile has along each axis: one position, those between two, or all.
  __device__ void reach() {
    const Position first = positionOf(firstPixel_), last = positionOf(min(firstPixel_ + kPixels, p_.epilogue.rows) - 1);
    const auto range = [](const gemm::WindowAxis& axis, int32_t from, int32_t to, bool all, int32_t& low, int32_t& high) {
      low = axis.first + (all ? 0 : from) * axis.stride;
      high = axis.first + (all ? axis.positions - 1 : to) * axis.stride;
    };
    const bool images = first.image != last.image, planes = images || first.z != last.z, rows = planes || first.y != last.y;
    range(p_.window.z, first.z, last.z, images, low_[2], high_[2]);
    range(p_.window.y, first.y, last.y, planes, low_[1], high_[1]);
    range(p_.window.x, first.x, last.x, rows, low_[0], high_[0]);
  }
  static __device__ __forceinline__ bool reads(const gemm::WindowAxis& axis, int32_t low, int32_t high, int32_t tap) {
    return high + tap * axis.step >= 0 && low + tap * axis.step < axis.extent;
  }

  /// Calls body(tap, x, y, z) for each tap that reads inside of the image, in order; for the last one when none does, so that the
  /// sums begin with something.
  template <class Body>
  __device__ __forceinline__ void forEachTap(Body&& body) const {
    const auto& [isUsed, hasDepth, images, ax, ay, az] = p_.window;
    bool any = false;
    int32_t tap = 0;
#pragma unroll 1
    for (int32_t z = 0; z < az.taps; ++z)
#pragma unroll 1
      for (int32_t y = 0; y < ay.taps; ++y)
#pragma unroll 1
        for (int32_t x = 0; x < ax.taps; ++x, ++tap) {
          const bool isLast = z == az.taps - 1 && y == ay.taps - 1 && x == ax.taps - 1;
          if (!(reads(ax, low_[0], high_[0], x) && reads(ay, low_[1], high_[1], y) && reads(az, low_[2], high_[2], z)) &&
              !(isLast && !any))
            continue;
          any = true;
          body(tap, x, y, z);
        }
  }

  struct VolumePosition {
    int32_t channel, x, y, z, image;
  };
  struct VolumeOffsets {
    uint16_t x, y, z;
  };
  __device__ __forceinline__ void loadVolume(uint32_t pixels, const VolumePosition& at, const VolumeOffsets& tap,
                                             uint32_t full) const {
    ptx::loadPixels5d(pixels, &inputMap_, at.channel, at.x, at.y, at.z, at.image, tap.x, tap.y, tap.z, full);
  }

  // ---- Loads: one thread ---------------------------------------------------------------------------------------------------
  __device__ void load() const {
    const Position at = positionOf(firstPixel_);
    const gemm::WindowParams& w = p_.window;
    const int32_t x0 = w.x.first + at.x * w.x.stride, y0 = w.y.first + at.y * w.y.stride, z0 = w.z.first + at.z * w.z.stride;
    gemm::RingPosition stage;
    forEachTap([&](int32_t tap, int32_t x, int32_t y, int32_t z) {
      const auto dx = static_cast<uint16_t>(x * w.x.step), dy = static_cast<uint16_t>(y * w.y.step),
                 dz = static_cast<uint16_t>(z * w.z.step);
#pragma unroll 1
      for (int32_t chunk = 0; chunk < p_.chunks; ++chunk) {
        control_->operands.awaitEmpty(stage);
        const uint32_t full = control_->operands.full(stage);
        const uint32_t pixels = stages_ + static_cast<uint32_t>(stage.index) * kStageBytes;
        ptx::mbarrierArriveExpectBytes(full, kStageBytes);
        if (!w.isUsed)  // every output pixel is an input pixel: rows of a matrix
          ptx::loadTile2d(pixels, &inputMap_, chunk * kChunkChannels, firstPixel_, full);
        else if (w.hasDepth)
          loadVolume(pixels, {chunk * kChunkChannels, x0, y0, z0, at.image}, {dx, dy, dz}, full);
        else
          ptx::loadPixels4d(pixels, &inputMap_, chunk * kChunkChannels, x0, y0, at.image, dx, dy, full);
        ptx::loadTile3d(pixels + kPixelBytes, &filterMap_, chunk * kChunkChannels, tap, firstChannel_, full);
        stage.advance(p_.stages);
      }
    });
  }

  // ---- Products: a warpgroup -------------------------------------------------------------------------------------------------
  __device__ void multiply(uint32_t group) {
    float d[kChannels / 2];
    gemm::RingPosition stage, held;
    uint32_t accumulate = 0;
    const bool releases = threadIdx.x % 32 == 0;
    forEachTap([&](int32_t, int32_t, int32_t, int32_t) {
      int32_t left = p_.chunks;
      do {
        control_->operands.awaitFull(stage);
        const uint32_t pixels = stages_ + static_cast<uint32_t>(stage.index) * kStageBytes;
        const uint64_t a = layout::wgmmaSwizzle128Descriptor(pixels + group * (kGroupPixels * kRowBytes));
        const uint64_t b = layout::wgmmaSwizzle128Descriptor(pixels + kPixelBytes);
        ptx::wgmmaFence();
#pragma unroll
        for (int32_t slice = 0; slice < kChunkSlices; ++slice)
          ptx::wgmma<Element, kChannels>(d, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                         layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), slice == 0 ? accumulate : 1);
        ptx::wgmmaCommit();
        ptx::wgmmaWait<1>();
        if (accumulate != 0 && releases) ptx::mbarrierArrive(control_->operands.empty(held));
        accumulate = 1;
        held = stage;
        stage.advance(p_.stages);
      } while (--left > 0);
    });
    ptx::wgmmaWait<0>();
#pragma unroll
    for (float& sum : d) ptx::wgmmaHold(sum);
    // Everything that was loaded has been multiplied by everybody: the stages become the place of the outputs.
    ptx::namedBarrierSync(1, kConsumers);
    if constexpr (kEpilogue == Epilogue::Plain)
      finishPlain(d, group);
    else
      finishFull(d, group);
  }

  // ---- Epilogue --------------------------------------------------------------------------------------------------------------
  /// Bias, residual of the output's type and ReLU; then the tile by the copy engine.
  __device__ __forceinline__ void finishPlain(float (&d)[kChannels / 2], uint32_t group) const {
    constexpr int32_t kBoxBytes = kChannels * 2 < kRowBytes ? kChannels * 2 : kRowBytes, kFragments = kChannels / 8;
    const gemm::EpilogueParams& e = p_.epilogue;
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32), warp = static_cast<int32_t>(threadIdx.x / 32 % 4);
    const int32_t row = warp * 16 + lane / 4;  // and row + 8
    if (e.bias != nullptr) {
#pragma unroll
      for (int32_t j = 0; j < kFragments; ++j) {
        const int32_t channel = firstChannel_ + j * 8 + lane % 4 * 2;
        if (channel < e.columns) {  // K is even
          const float2 two = *reinterpret_cast<const float2*>(e.floatBias() + channel);
          d[4 * j] += two.x, d[4 * j + 1] += two.y, d[4 * j + 2] += two.x, d[4 * j + 3] += two.y;
        }
      }
    }
    if (e.residual != nullptr) {
#pragma unroll
      for (int32_t half = 0; half < 2; ++half) {
        const int32_t pixel = firstPixel_ + static_cast<int32_t>(group) * kGroupPixels + row + half * 8;
        const auto* const from = static_cast<const uint8_t*>(e.residual) + pixel * e.residualPitch;
#pragma unroll
        for (int32_t j = 0; j < kFragments; ++j) {
          const int32_t channel = firstChannel_ + j * 8 + lane % 4 * 2;
          if (pixel >= e.rows || channel >= e.columns) continue;
          const float2 two = unpackPair<Element>(*reinterpret_cast<const uint32_t*>(from + channel * 2));
          d[4 * j + 2 * half] = fmaf(e.beta, two.x, d[4 * j + 2 * half]);
          d[4 * j + 2 * half + 1] = fmaf(e.beta, two.y, d[4 * j + 2 * half + 1]);
        }
      }
    }
    const uint32_t least = leastPair<Element>(e.activation == gemm::Activation::Relu);
    const gemm::StagingTile tile{stages_ + group * (kGroupPixels * kChannels * 2), kGroupPixels, kBoxBytes};
#pragma unroll
    for (int32_t j = 0; j < kFragments; j += 2) {
      uint32_t matrices[4];
#pragma unroll
      for (int32_t i = 0; i < 4; ++i)
        matrices[i] = atLeast<Element>(packPair<Element>(d[4 * j + 2 * i], d[4 * j + 2 * i + 1]), least);
      // Matrix m of a store: rows 8 * (m % 2).. of the warp's 16, channels 8 * (m / 2).. of 16.
      ptx::storeMatrices(tile.at(warp * 16 + lane % 16, (j + lane / 16) * 16), matrices);
    }
    ptx::fenceProxyAsyncShared();
    ptx::namedBarrierSync(2 + group, 128);
    if (threadIdx.x % 128 == 0) {
#pragma unroll
      for (int32_t box = 0; box * kBoxBytes < kChannels * 2; ++box)
        ptx::storeTile2d(&outputMap_, firstChannel_ + box * (kBoxBytes / 2),
                         firstPixel_ + static_cast<int32_t>(group) * kGroupPixels, tile.box(box));
      ptx::bulkCommitGroup();
      ptx::bulkWaitGroupRead<0>();
    }
  }

  /// The sums change hands in shared memory, so that a thread has neighbouring channels of a pixel.
  __device__ __forceinline__ void finishFull(const float (&d)[kChannels / 2], uint32_t group) const {
    constexpr int32_t kPitch = kChannels + kSumsPadFloats, kSegments = kChannels / kSegmentColumns;
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32), warp = static_cast<int32_t>(threadIdx.x / 32 % 4);
    float* const sums = sums_ + static_cast<int32_t>(group) * kGroupPixels * kPitch;
#pragma unroll
    for (int32_t i = 0; i < kChannels / 4; ++i)
      *reinterpret_cast<float2*>(sums + (warp * 16 + lane / 4 + i % 2 * 8) * kPitch + i / 2 * 8 + lane % 4 * 2) =
          make_float2(d[2 * i], d[2 * i + 1]);
    ptx::namedBarrierSync(2 + group, 128);
    uint32_t largest = 0;
#pragma unroll 1
    for (int32_t i = static_cast<int32_t>(threadIdx.x % 128); i < kGroupPixels * kSegments; i += 128) {
      const int32_t row = i / kSegments, column = i % kSegments * kSegmentColumns;
      const int32_t pixel = firstPixel_ + static_cast<int32_t>(group) * kGroupPixels + row, channel = firstChannel_ + column;
      if (pixel >= p_.epilogue.rows || channel >= p_.epilogue.columns) continue;
      uint32_t bits[kSegmentColumns];
#pragma unroll
      for (int32_t j = 0; j < kSegmentColumns; j += 4) {
        const float4 four = *reinterpret_cast<const float4*>(sums + row * kPitch + column + j);
        bits[j] = __float_as_uint(four.x), bits[j + 1] = __float_as_uint(four.y);
        bits[j + 2] = __float_as_uint(four.z), bits[j + 3] = __float_as_uint(four.w);
      }
      float v[kSegmentColumns];
      gemm::computeSegment(p_.epilogue, pixel, channel, bits, v, largest);
      gemm::storeSegment(p_.epilogue, pixel, channel, v);
    }
    __syncwarp();
    gemm::mergeLargest(p_.epilogue, largest);
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& filterMap_;
  const CUtensorMap& outputMap_;
  const Params& p_;
  Control* control_;
  float* sums_;
  uint32_t stages_;
  int32_t firstPixel_, firstChannel_;
  int32_t low_[3], high_[3];  ///< where tap 0 reads along x, y and z
};

}  // namespace shiftconv::kernels::im2col

// Tiles of 64 * GROUPS output pixels x CHANNELS output channels.
#define SHIFTCONV_IM2COL_KERNEL(NAME, ELEMENT, PIXELS, CHANNELS, EPILOGUE, CTAS)                                               \
  extern "C" __global__ void __launch_bounds__(shiftconv::kernels::im2col::threads(PIXELS / 64), CTAS)                         \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap,                        \
           const __grid_constant__ CUtensorMap outputMap, const __grid_constant__ shiftconv::kernels::im2col::Params params) { \
    using namespace shiftconv::kernels::im2col;                                                                                \
    Cta<ELEMENT, PIXELS / 64, CHANNELS, Epilogue::EPILOGUE>(inputMap, filterMap, outputMap, params).run();                     \
  }
