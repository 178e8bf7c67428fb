// What is fixed when a kernel of halo is compiled, and what its CTAs keep in shared memory beside boxes and weights.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/pipeline.cuh"
#include "conv/algorithms/halo/params.hpp"

namespace shiftconv::kernels::halo {

/// What becomes of the sums: bias and ReLU in the operands' type, stored by the copy engine; alpha, scales of channels, a bias
/// and an activation besides; the same, the largest output, an output scale and another type (converted.cuh); bias, ReLU and a
/// residual of the output's type, which the copy engine brings, of 8 bits also alpha, scales and an output scale; or
/// gemm::EpilogueParams.
enum class Epilogue { Plain, Activated, Converted, Residual, Full };
/// Whether its kernels also take planes and inputs in two tensors: but the plain ones, which are as short as they can be.
constexpr bool takesAnyInput(Epilogue epilogue) { return epilogue != Epilogue::Plain; }

enum class PixelShare { Common, Separate };
/// Where a tile of output waits to be stored: in a buffer of its own, or over the box that it came from.
enum class Staging { Own, OverBox };

/// Registers of a thread that multiplies, where one that loads keeps `loading`. setmaxnreg only moves what a CTA was launched with.
/// With __launch_bounds__(threads, 1) each thread begins with an equal share of the 65536 of a multiprocessor, in steps of 8. A
/// claim beyond that waits for ever (observed on an H200).
constexpr int multiplyingRegisters(int consumers, int loading) {
  const int warpgroups = 1 + consumers, atLaunch = 65536 / (128 * warpgroups) / 8 * 8;
  return (warpgroups * atLaunch - loading) / consumers / 8 * 8;
}

/// Weights are operand A: its rows are output channels, and operand B's are pixels. The third warpgroup is as the second.
template <int kFirst, int kSecond, int kN, PixelShare kShare, Staging kStaging, int kTailPixels = 0,
          int kMultiplying = kSecond == 0 ? 1 : 2>
struct Shape {
  static constexpr bool kPixelsAreA = false;
  static constexpr int kFirstBlocks = kFirst, kSecondBlocks = kSecond;  ///< channel blocks of the first warpgroup, and of others
  static constexpr int kTileN = kN;                                     ///< pixels of a tile
  static constexpr int kWidth = kN;                                     ///< rows of operand B
  static constexpr bool kSeparate = kShare == PixelShare::Separate;
  static constexpr bool kOverBox = kStaging == Staging::OverBox;
  static constexpr int kTail = kTailPixels;  ///< last pixels of a tile, which taps of leavesTailOut() leave out
  static constexpr int kSums = kN / 2;       ///< of a thread, for each channel block
  static constexpr int kConsumers = kMultiplying;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  /// Channel blocks of a weight stage.
  static constexpr int kStageBlocks = kSeparate ? kFirst : kFirst + (kConsumers - 1) * kSecond;
  static constexpr uint32_t kStageBytes = kStageBlocks * kBlockBytes;
  /// Whether two CTAs that split the reduction may finish half of the pixels each.
  static constexpr bool kMayHalve = kShare == PixelShare::Common && !kOverBox && kN <= 128 && kN % 16 == 0;
  static constexpr int kFirstPieces = kFirst, kSecondPieces = kSecond;  ///< in which a warpgroup stages its tile: channel blocks
  static constexpr int kPieceChannels = kBlockChannels;
  static constexpr int kBoxReaders = 4 * (kSeparate ? 1 : kConsumers);  ///< warps that release a box
  static constexpr int kLoadingRegisters =
      kOverBox || kConsumers == 3 ? 56 : 40;  ///< more for one that also stores; so many are left
  static_assert(!kSeparate || kFirst == kSecond, "warpgroups that own pixels share the weights");
  static_assert(!kOverBox || (kFirst == 1 && kStageBlocks == 1), "a slot takes the output of one channel block");
  static_assert(kTail == 0 || (kShare == PixelShare::Common && !kOverBox && kFirst == 1 && kTail % 8 == 0),
                "one product for each slice, of whole groups of pixels");
  static_assert(kConsumers <= kMostConsumers && (kSecond == 0) == (kConsumers == 1));
  static_assert(kConsumers <= 2 || (!kSeparate && kFirst == kSecond), "channel blocks of the same pixels");
  static_assert(kFirst * kN <= (kConsumers <= 2 ? 384 : 200) && kSecond * kN <= 384,
                "at most 192 accumulator registers a thread, or 100");
};

/// Pixels are operand A, in blocks of 64 that a warpgroup owns, and the weights operand B: of few output channels, or of a number
/// that blocks of 64 do not divide, nothing is multiplied in vain.
template <int kPixelBlocks, int kChannels, int kOutputBytes = 2>
struct PixelShape {
  static constexpr bool kPixelsAreA = true;
  static constexpr int kFirstBlocks = kPixelBlocks, kSecondBlocks = kPixelBlocks, kStageBlocks = kPixelBlocks;
  static constexpr int kTileN = kPixelBlocks * kBlockPixels;
  static constexpr int kWidth = kChannels;
  static constexpr bool kSeparate = true, kOverBox = false, kMayHalve = false;
  static constexpr int kTail = 0;
  static constexpr int kSums = kWidth / 2;  ///< of a thread, for each block of pixels
  static constexpr int kConsumers = 2;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr uint32_t kStageBytes = kChannels * kRowBytes;
  static constexpr int kBoxReaders = 4;
  static constexpr int kLoadingRegisters = 40;
  static constexpr int kPixelOutputBytes = kOutputBytes;
  static constexpr uint32_t kStagedRowBytes = pixelRowBytes(kChannels, kOutputBytes);
  static constexpr uint32_t kPieceBytes = kTileN * kStagedRowBytes,
                            kStagingBytes = pixelStagingBytes(kTileN, kChannels, kOutputBytes);
  /// In which a warpgroup stages its tile: of some channels of all its pixels.
  static constexpr int kPieceChannels = pixelPieceChannels(kChannels);
  static constexpr int kFirstPieces = pixelPieces(kChannels), kSecondPieces = kFirstPieces;
  static_assert(kWidth % 8 == 0 && kWidth <= 256, "a width of wgmma");
  static_assert(kPixelBlocks * kSums <= 128, "accumulator registers of a thread");
};

struct Control {
  gemm::Pipeline<kMaximumStages> boxes, weights;
  uint64_t sums[kMaximumBlocks];  ///< barriers: the other ranks' sums of a warpgroup, or of half a channel block, have come
  Tap tap[kMaximumTaps];          ///< Params::tap: an indexed constant that is not in the cache costs more than a whole tap
  /// For each multiplying warpgroup: full, a tile of residual has come; empty, the tile that was there is staged, or, over a box,
  /// everybody has read the box.
  gemm::Pipeline<kMaximumStagings> residuals[2];
};
static_assert(sizeof(Control) <= kControlBytes, "the planner reserves kControlBytes in front of the boxes");

struct InputMaps {
  CUtensorMap of[kMaximumInputMaps];
};

}  // namespace shiftconv::kernels::halo
