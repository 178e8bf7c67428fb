// Many output pixels: the CTA walks down the image. The copy engine brings whole input rows of its channels and columns to a ring
// of stages in shared memory, far enough ahead that no thread waits for memory; pixels outside of the image come as zeros. So
// threads hold no rows that are on their way, and work out no addresses and no predicates of pixels.
//
//   one thread                    every thread
//   await empty[stage]
//   copy row -> full[stage]       await full[stage], load pixels, arrive on empty[stage];
//                                 add to the sums of the output rows that the input row reaches; store the one that is whole
#pragma once

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/float_rows.cuh"
#include "conv/algorithms/channelwise/operands.cuh"
#include "conv/algorithms/channelwise/weights.cuh"

namespace shiftconv::kernels::channelwise {

/// From 0 on, in shared memory: barriers of full stages, then of empty ones. The stages begin at kStreamControlBytes, the weights
/// after them.
static_assert(2 * kStages * sizeof(uint64_t) <= kStreamControlBytes);

template <class Operands, int32_t kFilter, int32_t kChannels, int32_t kColumns>
class Stream {
  static constexpr int32_t kElementBytes = Operands::kBytes;
  using Own = FloatRows<Operands, kFilter, 1, kChannels, kColumns>;
  using Pixels = typename Own::Pixels;
  using Finisher = LeanFinisher<kChannels, kColumns, kElementBytes>;
  static constexpr int32_t kPixels = Own::kPixels, kSums = Own::kSums;
  static constexpr int32_t kAhead = kStages - 1;  ///< rows that are on their way while one is read

 public:
  /// `shared`: aligned as kStageAlignment says.
  __device__ Stream(const CUtensorMap& input, const Params& p, uint8_t* shared)
      : input_(input), p_(p), shared_(shared), control_(ptx::sharedAddress(shared)) {
    // Of the CTA.
    const uint32_t block = p.channelBlocks.quotient(blockIdx.x), firstUnit = block * static_cast<uint32_t>(p.ctaUnits);
    const uint32_t rowUnit = p.columnUnits.quotient(firstUnit), image = p.rowUnits.quotient(rowUnit);
    const auto column = static_cast<int32_t>(firstUnit - rowUnit * p.columnUnits.divisor) * kColumns;
    const int32_t row = static_cast<int32_t>(rowUnit - image * p.rowUnits.divisor) * p.rows;
    const auto ctaThreads = static_cast<int32_t>(p.channelThreads.divisor);
    firstChannel_ = static_cast<int32_t>(blockIdx.x - block * p.channelBlocks.divisor) * ctaThreads * kChannels;
    firstColumn_ = column - p.across.padBefore;
    image_ = static_cast<int32_t>(image);
    firstRow_ = row - p.down.padBefore;
    lastRow_ = firstRow_ + min(p.rows, p.outputsDown - row) + kFilter - 2;
    beginRow_ = max(0, firstRow_), endRow_ = min(p.down.extent, lastRow_ + 1);

    // Of the thread. One that has no outputs does as the first one does, and stores nothing.
    auto unit = static_cast<int32_t>(p.channelThreads.quotient(threadIdx.x));
    own_.channelThread = static_cast<int32_t>(threadIdx.x) - unit * ctaThreads;
    if (unit >= p.ctaUnits || firstChannel_ + own_.channelThread * kChannels >= p.epilogue.columns)
      unit = 0, own_.channelThread = 0, columns_ = 0;
    else
      columns_ = p.outputsAcross - column - unit * kColumns;
    own_.channel = firstChannel_ + own_.channelThread * kChannels;
    firstPixel_ = control_ + kStreamControlBytes +
                  static_cast<uint32_t>(((unit * kColumns * ctaThreads + own_.channelThread) * kChannels) * kElementBytes);
    const int64_t pixel = (int64_t{image_} * p.outputsDown + row) * p.outputsAcross + column + unit * kColumns;
    output_ = static_cast<uint8_t*>(p.epilogue.output) + pixel * p.epilogue.outputPitch + own_.channel * kElementBytes;
  }

  __device__ __forceinline__ void run() {
    const bool copies = threadIdx.x < 32 && ptx::electOne();
    if (copies) {
      ptx::prefetchTensorMap(&input_);
      for (uint32_t i = 0; i < kStages; ++i) {
        ptx::mbarrierInit(full(i), 1);
        ptx::mbarrierInit(empty(i), blockDim.x / 32);
      }
      ptx::fenceMbarrierInit();
    }
    ptx::awaitPrerequisites();
    if (copies)
      for (int32_t i = 0; i < kAhead; ++i) copyRow<false>(beginRow_ + i);
    const Finisher finisher(p_, own_.channel);
    fetchWeights();
    ptx::launchDependents();
    for (auto& sums : sum_) begin(finisher, sums);
    // Rows above the image add nothing. Those below it are multiplied as zeros: to leave them out would cost moves in every row.
    const int32_t firstWhole = firstRow_ + kFilter - 1;
#pragma unroll 1
    for (int32_t row = min(beginRow_, firstWhole); row <= lastRow_; ++row) {
      Pixels pixels;
      if (row >= beginRow_ && row < endRow_)
        readRow(row, copies, pixels);
      else
        pixels = {};
      float whole[kSums];
      multiply(pixels, finisher, whole);
      if (row < firstWhole) continue;
      finisher.store(whole, output_, columns_);
      output_ += int64_t{p_.outputsAcross} * p_.epilogue.outputPitch;
    }
  }

 private:
  struct OwnChannels {
    int32_t channelThread, channel;
  };

  __device__ uint32_t full(uint32_t stage) const { return control_ + stage * 8; }
  __device__ uint32_t empty(uint32_t stage) const { return control_ + (kStages + stage) * 8; }

  /// By one thread. Nothing where the row does not exist. kWaits: the stage may have had another row.
  template <bool kWaits>
  __device__ __forceinline__ void copyRow(int32_t row) {
    if (row >= endRow_) return;
    const auto turn = static_cast<uint32_t>(row - beginRow_), stage = turn % kStages;
    if constexpr (kWaits) ptx::mbarrierWait(empty(stage), turn / kStages % 2 ^ 1);
    ptx::mbarrierArriveExpectBytes(full(stage), p_.boxBytes);
    ptx::loadTile4d(control_ + kStreamControlBytes + stage * p_.stageBytes, &input_, firstChannel_, firstColumn_, row, image_,
                    full(stage));
  }

  __device__ __forceinline__ void readRow(int32_t row, bool copies, Pixels& pixels) {
    if (copies) copyRow<true>(row + kAhead);
    const auto turn = static_cast<uint32_t>(row - beginRow_), stage = turn % kStages;
    ptx::mbarrierWait(full(stage), turn / kStages % 2);
    const uint32_t pixelBytes = p_.channelThreads.divisor * (kChannels * kElementBytes);
    Channels<kChannels, kElementBytes> input[kPixels];
#pragma unroll
    for (int32_t x = 0; x < kPixels; ++x)
      input[x].load(firstPixel_ + stage * p_.stageBytes + static_cast<uint32_t>(x) * pixelBytes);
    withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) { pixels.unpack(decoder, input); });
    __syncwarp();
    if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(empty(stage));  // site: row_read
  }

  __device__ __forceinline__ void fetchWeights() {
    Weights<kChannels, kFilter * kFilter, kElementBytes> weights;
    weights.fetch(p_, own_, shared_ + kStreamControlBytes + kStages * p_.stageBytes);
    withUnmixedDecoder<Operands>(p_, [&](const auto& decoder) {
#pragma unroll
      for (int32_t r = 0; r < kFilter; ++r) filter_[r].unpack(decoder, weights, r);
    });
  }

  static __device__ __forceinline__ void begin(const Finisher& finisher, float (&sums)[kSums]) {
#pragma unroll
    for (int32_t i = 0; i < kSums; ++i) sums[i] = finisher.first(i % kChannels);
  }
  /// Filter row r takes the input row for the r-th youngest output row, the oldest of which is whole then. Each becomes the next
  /// older one as its first product is added, which takes no instructions. Sums of rows above and below those of the CTA are made,
  /// too, and never stored.
  __device__ __forceinline__ void multiply(const Pixels& pixels, const Finisher& finisher, float (&whole)[kSums]) {
#pragma unroll
    for (int32_t r = kFilter - 1; r >= 0; --r) {
      float(&sums)[kSums] = r == kFilter - 1 ? whole : sum_[r];
      if (r == 0) {
        begin(finisher, sums);
      } else {
#pragma unroll
        for (int32_t i = 0; i < kSums; ++i) sums[i] = sum_[r - 1][i];
      }
      Own::add(pixels, filter_[r], sums);
    }
  }

  const CUtensorMap& input_;
  const Params& p_;
  uint8_t* const shared_;
  uint32_t control_;                            ///< shared-window address
  uint32_t firstPixel_;                         ///< of the thread, in the first stage
  int32_t firstChannel_, firstColumn_, image_;  ///< of the CTA's input rows
  int32_t firstRow_, lastRow_;                  ///< of the input, which may be outside of the image
  int32_t beginRow_, endRow_;                   ///< those of them that are loaded
  OwnChannels own_;
  int32_t columns_;  ///< outputs of the thread's row, none or less: it stores nothing
  uint8_t* output_;  ///< in the next row
  typename Own::Filter filter_[kFilter];
  float sum_[kFilter - 1][kSums];  ///< of output rows that are not whole, the youngest first
};

}  // namespace shiftconv::kernels::channelwise
