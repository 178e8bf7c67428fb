// resident: forward convolution on wgmma for few output pixels. Everything that a tile needs is in shared memory at once: no stage
// is filled twice, nobody hands anything back, and the time is that of one trip to the memory and of the products behind it.
//
// GEMM view: M = 64 output pixels (operand A), N = 32 output channels (operand B), reduction over chunks of 64 input channels and
// filter taps. As in halo, one box of pixels serves every tap, whose operand begins at another row of 128 bytes.
//
// NOTES
//  - The threads copy (cp.async), each a vector of 8 channels at a time: a copy of the copy engine takes longer to begin, the more
//    so as its tensor map has to be fetched first.
//  - Copies are in three parts, in the order of the reduction, so that products begin when the first part has come.
//  - Operand B has its 32 channels in such an order that each thread gets 8 neighbouring ones of a pixel: 16 bytes to store.
//  - The reduction may be split over the CTAs of a cluster; the first adds the sums of all in the order of ranks.
//  - A residual waits in the registers of the threads that add it, from before the products on.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/algorithms/resident/params.hpp"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/cluster_sums.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/staged_residual.cuh"

namespace shiftconv::kernels::resident {

inline constexpr int32_t kParts = 4;
inline constexpr uint32_t kRowVectors = kChunkChannels / kVectorChannels;
inline constexpr uint32_t kCopyRows = kThreads / 2 / kRowVectors;  ///< that half of the threads copy at once
static_assert(kCopyRows == kTileChannels, "one copy a thread for the weights of a tap");

/// First step of a part of the reduction.
__device__ __forceinline__ int32_t firstStep(int32_t part, int32_t steps) { return (steps * part + kParts - 1) / kParts; }

enum class Epilogue { Plain, Residual };

template <class Element, Epilogue kEpilogue>
class Cta {
  static constexpr bool kResidual = kEpilogue == Epilogue::Residual;

 public:
  __device__ explicit Cta(const Params& params) : p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    boxes_ = ptx::sharedAddress(&gemm::alignedShared<uint8_t>(dynamicShared));
    weights_ = boxes_ + static_cast<uint32_t>(p_.chunksPerRank * p_.slotPixels) * kRowBytes;
    received_ = weights_ + static_cast<uint32_t>(p_.steps) * kStageBytes;
    arrived_ = received_ + ((1u << p_.splitShift) - 1) * kSumsBytes;
    rank_ = p_.splitShift > 0 ? static_cast<int32_t>(ptx::clusterRank()) : 0;
  }

  __device__ void run() {
    if (p_.splitShift > 0) {
      if (threadIdx.x == 0 && rank_ == 0) {
        ptx::mbarrierInit(arrived_, 1);
        ptx::fenceMbarrierInit();
      }
      __syncwarp();  // site: barriers_ready
      ptx::clusterBarrierArriveRelaxed();
    }
    if (threadIdx.x < kThreads / 2) {
      ptx::awaitPrerequisites();
      ptx::launchDependents();
      copyPixels();
    } else {
      if (!p_.filterAhead) ptx::awaitPrerequisites();
      copyWeights();
    }
    if (threadIdx.x >= 128) {
#pragma unroll 1
      for (int32_t part = 0; part < kParts; ++part) {
        awaitCopies(part);
        ptx::namedBarrierArrive(1 + static_cast<uint32_t>(part), kThreads);
      }
      if (p_.splitShift > 0) ptx::clusterBarrierWait();  // site: copies_done
      return;
    }
    uint4 residual[2] = {};
    if (kResidual && rank_ == 0) loadResidual(residual);
    float d[kSums];
    multiply(d);
    if (p_.splitShift > 0) {
      ptx::clusterBarrierWait();  // the first CTA's barrier is ready
      if (threadIdx.x == 0 && rank_ == 0) ptx::mbarrierArriveExpectBytes(arrived_, ((1u << p_.splitShift) - 1) * kSumsBytes);
      if (!addUpAtOwner<kSums>(d, received_, rank_, 1 << p_.splitShift, 0, arrived_)) return;
    }
    store(d, residual);
  }

 private:
  __device__ int32_t firstChannel() const { return static_cast<int32_t>(blockIdx.z) * kTileChannels; }

  // ---- Global -> shared --------------------------------------------------------------------------------------------------------
  static __device__ uint32_t swizzled(uint32_t row, uint32_t vector) { return row * kRowBytes + ((vector ^ (row % 8)) * 16); }

  /// A row of operand B and a vector of it for each thread of the second half.
  __device__ void copyWeights() const {
    const uint32_t vector = threadIdx.x % kRowVectors, row = threadIdx.x / kRowVectors - kCopyRows;
    // Row 8g + 2q + e is channel 8q + 2g + e.
    const int32_t k = firstChannel() + static_cast<int32_t>(row % 8 / 2 * 8 + row / 8 * 2 + row % 2);
    int32_t c = rank_ * p_.chunksPerRank * kChunkChannels + static_cast<int32_t>(vector * kVectorChannels);
    const auto* source =
        static_cast<const uint8_t*>(p_.filter) + (static_cast<uint32_t>(k) * p_.filterRowBytes + static_cast<uint32_t>(c) * 2);
    uint32_t destination = weights_ + swizzled(row, vector);
    int32_t step = 0, tap = 0;
#pragma unroll 1
    for (int32_t part = 1; part <= kParts; ++part) {
      const int32_t end = firstStep(part, p_.steps);
#pragma unroll 1
      for (; step < end; ++step) {
        const bool exists = k < p_.k && c < p_.c;
        ptx::copyAsync16Bytes(destination, exists ? source : p_.filter, exists ? 16 : 0);
        destination += kStageBytes;
        source += p_.tapBytes;
        if (++tap == p_.taps) {
          tap = 0;
          c += kChunkChannels;
          source += static_cast<int32_t>(kRowBytes - p_.filterRowBytes);
        }
      }
      ptx::copyAsyncCommitGroup();
    }
  }

  /// The boxes, each with the part of the reduction that uses it first.
  __device__ void copyPixels() const {
    const uint32_t vector = threadIdx.x % kRowVectors, row = threadIdx.x / kRowVectors;
    const uint32_t image = p_.rowTiles.quotient(blockIdx.y), rowTile = blockIdx.y - image * p_.rowTiles.divisor;
    const int32_t top = static_cast<int32_t>(rowTile) * p_.tileRows - p_.padTop;
    const int32_t left = static_cast<int32_t>(blockIdx.x >> p_.splitShift) * p_.tileColumns - p_.padLeft;
    const uint32_t imageRow = image * static_cast<uint32_t>(p_.h);
    int32_t c = rank_ * p_.chunksPerRank * kChunkChannels + static_cast<int32_t>(vector * kVectorChannels);
    uint32_t box = boxes_;
    int32_t step = 0;
#pragma unroll 1
    for (int32_t part = 1; part <= kParts; ++part) {
#pragma unroll 1
      for (; step < firstStep(part, p_.steps); step += p_.taps) {
        constexpr uint32_t kTogether = 4;
#pragma unroll 1
        for (uint32_t first = row; first < static_cast<uint32_t>(p_.slotPixels); first += kTogether * kCopyRows) {
#pragma unroll
          for (uint32_t i = 0; i < kTogether; ++i) {
            const uint32_t pixel = first + i * kCopyRows;
            const uint32_t boxRow = p_.boxColumns.quotient(pixel);
            const int32_t y = top + static_cast<int32_t>(boxRow);
            const int32_t x = left + static_cast<int32_t>(pixel - boxRow * p_.boxColumns.divisor);
            const bool exists = boxRow < static_cast<uint32_t>(p_.boxRows) &&
                                static_cast<uint32_t>(y) < static_cast<uint32_t>(p_.h) &&
                                static_cast<uint32_t>(x) < static_cast<uint32_t>(p_.w) && c < p_.c;
            const uint32_t offset =
                ((imageRow + static_cast<uint32_t>(y)) * static_cast<uint32_t>(p_.w) + static_cast<uint32_t>(x)) * p_.pixelBytes +
                static_cast<uint32_t>(c) * 2;
            if (pixel < static_cast<uint32_t>(p_.slotPixels))
              ptx::copyAsync16Bytes(box + swizzled(pixel, vector), static_cast<const uint8_t*>(p_.input) + (exists ? offset : 0),
                                    exists ? 16 : 0);
          }
        }
        box += static_cast<uint32_t>(p_.slotPixels) * kRowBytes;
        c += kChunkChannels;
      }
      ptx::copyAsyncCommitGroup();
    }
  }

  /// Until this thread's copies of a part have come, and wgmma may read them after the next barrier.
  static __device__ void awaitCopies(int32_t part) {
    static_assert(kParts == 4);
    if (part == 0) ptx::copyAsyncWaitGroup<3>();
    if (part == 1) ptx::copyAsyncWaitGroup<2>();
    if (part == 2) ptx::copyAsyncWaitGroup<1>();
    if (part == 3) ptx::copyAsyncWaitGroup<0>();
    ptx::fenceProxyAsyncShared();
  }

  // ---- Products ----------------------------------------------------------------------------------------------------------------
  __device__ void multiply(float (&d)[kSums]) const {
    uint64_t box = layout::wgmmaSwizzle128Descriptor(boxes_, p_.groupStrideBytes);
    uint64_t weights = layout::wgmmaSwizzle128Descriptor(weights_);
    int32_t step = 0, tap = 0, part = 0, next = 0;
    do {
      while (step == next) {  // a part of few steps may be empty
        awaitCopies(part);
        ptx::namedBarrierSync(1 + static_cast<uint32_t>(part), kThreads);
        next = firstStep(++part, p_.steps);
      }
      const uint64_t pixels = box + p_.tapOffset[tap];
      ptx::wgmmaFence();
#pragma unroll
      for (int slice = 0; slice < 4; ++slice)
        ptx::wgmma<Element, kTileChannels>(d, layout::advanceDescriptor(pixels, slice * layout::kMmaRowBytes),
                                           layout::advanceDescriptor(weights, slice * layout::kMmaRowBytes),
                                           slice == 0 && step == 0 ? 0 : 1);
      ptx::wgmmaCommit();
      weights = layout::advanceDescriptor(weights, kStageBytes);
      if (++tap == p_.taps) {
        tap = 0;
        box = layout::advanceDescriptor(box, static_cast<uint32_t>(p_.slotPixels) * kRowBytes);
      }
    } while (++step < p_.steps);
    ptx::wgmmaWait<0>();
#pragma unroll
    for (int i = 0; i < kSums; ++i) ptx::wgmmaHold(d[i]);
  }

  // ---- Output ------------------------------------------------------------------------------------------------------------------
  /// The first of this thread's channels, which are outputs all or none.
  __device__ int32_t ownChannel() const { return firstChannel() + static_cast<int32_t>(threadIdx.x % 4) * kVectorChannels; }

  /// This thread's pixel in either half of its warp's 16 positions; false where that is no output.
  __device__ bool ownPixel(int half, uint32_t& pixel) const {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t image = p_.rowTiles.quotient(blockIdx.y), rowTile = blockIdx.y - image * p_.rowTiles.divisor;
    const uint32_t position = warp * 16 + static_cast<uint32_t>(half) * 8 + lane / 4;
    const uint32_t line = p_.pitch.quotient(position), x = position - line * p_.pitch.divisor;
    const int32_t column = static_cast<int32_t>(blockIdx.x >> p_.splitShift) * p_.tileColumns + static_cast<int32_t>(x);
    const int32_t row = static_cast<int32_t>(rowTile) * p_.tileRows + static_cast<int32_t>(line);
    if (static_cast<int32_t>(x) >= p_.tileColumns || static_cast<int32_t>(line) >= p_.tileRows || column >= p_.q || row >= p_.p)
      return false;
    pixel = (image * static_cast<uint32_t>(p_.p) + static_cast<uint32_t>(row)) * static_cast<uint32_t>(p_.q) +
            static_cast<uint32_t>(column);
    return true;
  }

  __device__ void loadResidual(uint4 (&residual)[2]) const {
    const int32_t k = ownChannel();
    if (k >= p_.k) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t pixel = 0;
      if (ownPixel(half, pixel))
        residual[half] = *reinterpret_cast<const uint4*>(static_cast<const uint8_t*>(p_.residual) +
                                                         (pixel * p_.residualPixelBytes + static_cast<uint32_t>(k) * 2));
    }
  }

  __device__ void store(const float (&d)[kSums], const uint4 (&residual)[2]) const {
    const int32_t k = ownChannel();
    if (k >= p_.k) return;  // K is a multiple of 8
    float bias[kVectorChannels] = {};
    if (p_.bias.numbers != nullptr) {
#pragma unroll
      for (int32_t i = 0; i < kVectorChannels; ++i) bias[i] = biasNumber(p_.bias, k + i);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t pixel = 0;
      if (!ownPixel(half, pixel)) continue;
      const uint32_t residuals[4] = {residual[half].x, residual[half].y, residual[half].z, residual[half].w};
      uint32_t pairs[4];
#pragma unroll
      for (int group = 0; group < 4; ++group) {
        float low = d[group * 4 + half * 2] + bias[group * 2], high = d[group * 4 + half * 2 + 1] + bias[group * 2 + 1];
        if constexpr (kResidual) addResidual<Element>(low, high, p_.beta, residuals[group]);
        pairs[group] = limited<Element>(packPair<Element>(low, high), p_.limits);
      }
      *reinterpret_cast<uint4*>(static_cast<uint8_t*>(p_.output) + (pixel * p_.outputPixelBytes + static_cast<uint32_t>(k) * 2)) =
          make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
  }

  const Params& p_;
  uint32_t boxes_, weights_, received_, arrived_;
  int32_t rank_;
};

}  // namespace shiftconv::kernels::resident

#define SHIFTCONV_RESIDENT_KERNEL(NAME, ELEMENT, EPILOGUE)                                \
  extern "C" __global__ void __launch_bounds__(shiftconv::kernels::resident::kThreads, 1) \
      NAME(const __grid_constant__ shiftconv::kernels::resident::Params params) {         \
    using namespace shiftconv::kernels::resident;                                         \
    Cta<ELEMENT, Epilogue::EPILOGUE>(params).run();                                       \
  }

SHIFTCONV_RESIDENT_KERNEL(resident_sm90_f16, __half, Plain)
SHIFTCONV_RESIDENT_KERNEL(resident_sm90_bf16, __nv_bfloat16, Plain)
SHIFTCONV_RESIDENT_KERNEL(resident_sm90_f16_residual, __half, Residual)
SHIFTCONV_RESIDENT_KERNEL(resident_sm90_bf16_residual, __nv_bfloat16, Residual)
