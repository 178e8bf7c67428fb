// raw_rows: convolution of images with few channels, read as they lie in memory, without a padding pass: on the tensor cores of
// every architecture (mma.sync).
//
// Pixels without gaps make what a filter row reads one run of S * C neighbouring elements of an image row. The reduction is T * R
// such runs, each in whole pairs of elements, end to end. A CTA packs the weights of up to 64 output channels once and walks over
// tiles of output rows x columns: their input rows arrive in shared memory as they are (cp.async) while it multiplies the tile
// before. A register of the left operand is one aligned 4-byte load from such a row.
//
// NOTES
//  - Any order of the pairs serves as long as both operands have it: a table says where each pair lies, the weights follow it.
//  - Rows in shared memory begin at a multiple of 16 bytes of the image row, so that 16-byte copies are whole inside or outside.
//  - Where strideW * C is even, the runs of all pixels begin at elements of one parity: odd ones have an element more in front.
//    Where it is odd, parities alternate: two words are read and shifted together.
//  - Elements that a pair has too many are real neighbours in the image. The table zeroes them, so that Inf and NaN do not spread.
//  - The weights' columns are in such an order that a thread's sums belong to 8 neighbouring output channels: 16 bytes to store.
//  - What a small run takes is the length of the code that it goes through once, and loads that wait for each other. So a thread
//    packs few words with little arithmetic, the bias comes with the operands, and the shortest epilogues have kernels of their
//    own: see Lean.
//  - Single elements (W * C odd) have no cp.async: they pass through registers.
//  - Elements of 8 bits pass through registers, too, and become f16: exactly, also integers. Sums of integers that stay below 2^24,
//    as the planner sees to, are exact, too.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/guarded_load.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/register_pressure.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/raw_rows/elements.cuh"
#include "conv/algorithms/raw_rows/params.hpp"
#include "conv/kernels/lean.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/plain_bytes.cuh"
#include "conv/kernels/plain_segment.cuh"
#include "conv/kernels/shared_bias.cuh"

namespace shiftconv::kernels::raw_rows {
inline constexpr int32_t kElementBytes = 2, kPairBytes = 4;  ///< in shared memory
inline constexpr int32_t kWarps = kThreads / 32;
inline constexpr int32_t kFewSteps = 4;       ///< whose weights are packed by shorter code
inline constexpr uint32_t kNothing = 0x4444;  ///< the byte selector that makes zero
static_assert(kSegmentColumns == kPlainSegment);

/// Element: what is multiplied; kRawBytes: of an element in global memory, 1 of those that become f16 on their way. kIsLean: what
/// Lean names, and nothing else.
template <class Element, bool kOddSteps, int kChannels, int kRawBytes, bool kIsLean>
class Cta {
  static constexpr bool kDecodes = kRawBytes != kElementBytes;
  static constexpr int32_t kBlocks = kChannels / 8;     ///< of 8 columns: one matrix instruction
  static constexpr int32_t kSegments = kChannels / 32;  ///< of 8 channels, of each of the thread's pixels
  static constexpr int32_t kPixels = 4;                 ///< of a thread

  /// A tile's first output and what its window begins with.
  struct Tile {
    int32_t plane;        ///< n * Z + z
    int32_t row, column;  ///< of the output
    int32_t start;        ///< the element of an input row where the first pixel's run begins; may be negative
    __device__ __forceinline__ int32_t windowStart() const { return start & ~(kChunkBytes / kElementBytes - 1); }
  };

 public:
  __device__ explicit Cta(const Params& params) : p_(params) {
    weights_ = tableBytes(p_.steps);
    bias_ = weights_ + weightBytes(p_.steps, kChannels);
    windows_ = bias_ + biasBytes(kChannels);
    firstChannel_ = static_cast<int32_t>(blockIdx.y) * kChannels;
  }

  __device__ void run() {
    placePairs();
    if (p_.filterAhead) packWeights();
    int32_t tile = static_cast<int32_t>(blockIdx.x);
    ptx::awaitPrerequisitesWith(rowSource(tileOf(tile), static_cast<int32_t>(threadIdx.x) / 32).start);
    ptx::launchDependents();
    int32_t reading = windows_, writing = windows_ + p_.windowRows * p_.rowBytes;
    load(tile, reading);
    if (!kDecodes && (p_.plain || p_.scales)) copyBiasToShared(p_.epilogue, firstChannel_, kChannels, bias(), p_.input);
    ptx::copyAsyncCommitGroup();
    if (!p_.filterAhead) packWeights();
    uint32_t largest = 0;
    while (tile < p_.tiles) {
      ptx::copyAsyncWaitGroup<0>();
      __syncthreads();  // the tile's rows are there, and nobody reads the window that is written next
      const int32_t next = tile + static_cast<int32_t>(gridDim.x);
      if (next < p_.tiles) load(next, writing);
      ptx::copyAsyncCommitGroup();
      multiply(tile, reading, largest);
      tile = next;
      const int32_t other = reading;
      reading = writing, writing = other;
    }
    if (!kIsLean && !p_.plain) gemm::mergeLargest(p_.epilogue, largest);
  }

 private:
  __device__ __forceinline__ static uint8_t* shared() {
    extern __shared__ __align__(128) uint8_t dynamicShared[];
    return dynamicShared;
  }

  // ---- The reduction's order -------------------------------------------------------------------------------------------------
  struct Pair {
    int32_t run, element;  ///< its first element, of the run; may lie in front of it
  };
  __device__ __forceinline__ Pair pairOf(int32_t number) const {
    const int32_t run = static_cast<int32_t>(p_.runPairs.quotient(static_cast<uint32_t>(number)));
    return {run, (number - run * static_cast<int32_t>(p_.runPairs.divisor)) * 2 - p_.lead};
  }
  __device__ __forceinline__ bool exists(const Pair& pair, int32_t which) const {
    return pair.run < p_.runs && static_cast<uint32_t>(pair.element + which) < static_cast<uint32_t>(p_.runElements);
  }

  __device__ __forceinline__ uint32_t placeOf(int32_t number) const {
    const Pair pair = pairOf(number);
    const bool first = exists(pair, 0), second = exists(pair, 1);
    if (!first && !second) return kNothing << kOffsetBits;
    const int32_t plane = static_cast<int32_t>(p_.filterHeight.quotient(static_cast<uint32_t>(pair.run)));
    const int32_t height = pair.run - plane * static_cast<int32_t>(p_.filterHeight.divisor);
    const int32_t row = plane * static_cast<int32_t>(p_.windowHeight.divisor) + height * p_.dilationH;
    const uint32_t selector = (first ? 0x10u : 0x44u) | (second ? 0x3200u : 0x4400u);
    return static_cast<uint32_t>(row * p_.rowBytes + (pair.element + p_.lead) * kElementBytes) | selector << kOffsetBits;
  }

  __device__ void placePairs() const {
    auto* const table = reinterpret_cast<StepPairs*>(shared());
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < p_.steps * 4; i += kThreads) {
      const int32_t number = i / 4 * kStepPairs + i % 4;
      table[i] = {placeOf(number), placeOf(number + 4)};
    }
  }

  /// The right operand as the registers of the matrix instruction, two blocks of 8 columns in 16 bytes of a lane.
  __device__ __forceinline__ void packWeights() const {
    if (p_.steps <= kFewSteps)
      packSteps<kFewSteps>();
    else
      packSteps<8>();
  }

  /// A thread packs the same word of the same channels in every step, so that only the pair has to be found anew.
  /// kAtOnce: steps whose loads are on their way together.
  template <int kAtOnce>
  __device__ __forceinline__ void packSteps() const {
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    const int32_t word = thread % 4, lane = thread / 4 % 32, blocks = thread / 128 * 2;
    const int32_t channel = firstChannel_ + channelOf(blocks + word / 2, lane / 4), firstPair = lane % 4 + word % 2 * 4;
    const uint8_t* const ofChannel = p_.filter + int64_t{channel} * p_.runs * p_.runElements * kRawBytes;
    uint8_t* const packed = shared() + weights_ + thread * kPairBytes;
#pragma unroll 1
    for (int32_t first = 0; first < p_.steps; first += kAtOnce) {
      uint32_t halves[kAtOnce][kSegments][2];
#pragma unroll
      for (int32_t i = 0; i < kAtOnce; ++i) {
        const Pair pair = pairOf((first + i) * kStepPairs + firstPair);  // after the last step, it is of no run
        const uint8_t* const source = ofChannel + (pair.run * p_.runElements + pair.element) * kRawBytes;
#pragma unroll
        for (int32_t j = 0; j < kSegments; ++j)
#pragma unroll
          for (int32_t k = 0; k < 2; ++k)
            halves[i][j][k] = loadElement<kRawBytes>(source + (j * 32 * p_.runs * p_.runElements + k) * kRawBytes,
                                                     channel + j * 32 < p_.epilogue.columns && exists(pair, k));
      }
#pragma unroll
      for (int32_t i = 0; i < kAtOnce; ++i)
#pragma unroll
        for (int32_t j = 0; j < kSegments; ++j)
          if (first + i < p_.steps)
            *reinterpret_cast<uint32_t*>(packed + ((first + i) * kSegments + j) * kThreads * kPairBytes) =
                pairOfElements<kRawBytes>(p_.filters, halves[i][j][0], halves[i][j][1]);
    }
  }

  // ---- Bias ------------------------------------------------------------------------------------------------------------------
  /// Of the CTA's channels, for epilogues of 16 bits that are `plain`.
  __device__ __forceinline__ float* bias() const { return reinterpret_cast<float*>(shared() + bias_); }
  __device__ __forceinline__ void loadBias(int32_t which, float (&bias)[kSegmentColumns]) const {
    loadSharedBias(this->bias() + which * 32 + static_cast<int32_t>(threadIdx.x) % 4 * kSegmentColumns, bias);
  }

  // ---- Input rows ------------------------------------------------------------------------------------------------------------
  __device__ __forceinline__ Tile tileOf(int32_t number) const {
    const uint32_t rows = p_.columnTiles.quotient(static_cast<uint32_t>(number)), plane = p_.rowTiles.quotient(rows);
    Tile tile;
    tile.plane = static_cast<int32_t>(plane);
    tile.row = static_cast<int32_t>(rows - plane * p_.rowTiles.divisor) * p_.tileRows;
    tile.column = (number - static_cast<int32_t>(rows * p_.columnTiles.divisor)) * static_cast<int32_t>(p_.tileColumns.divisor);
    tile.start = tile.column * p_.columnStep - p_.padLeft - p_.lead;
    return tile;
  }

  __device__ __forceinline__ void load(int32_t number, int32_t window) const {
    const Tile tile = tileOf(number);
    if constexpr (kDecodes) {
      return p_.copyBytes == 4 ? copyRows<4>(tile, window) : copyRows<1>(tile, window);
    } else {
      switch (p_.copyBytes) {
        case 16:
          return copyRows<16>(tile, window);
        case 8:
          return copyRows<8>(tile, window);
        case 4:
          return copyRows<4>(tile, window);
        default:
          return copyRows<2>(tile, window);
      }
    }
  }

  struct RowSource {
    const uint8_t* start;  ///< of the input, if the row does not exist
    bool exists;
  };
  __device__ __forceinline__ RowSource rowSource(const Tile& tile, int32_t row) const {
    const auto inside = [](int32_t at, int32_t extent) { return static_cast<uint32_t>(at) < static_cast<uint32_t>(extent); };
    const uint32_t image = p_.outputDepth.quotient(static_cast<uint32_t>(tile.plane));
    const int32_t firstDepth = (tile.plane - static_cast<int32_t>(image * p_.outputDepth.divisor)) * p_.strideD - p_.padFront;
    const int32_t firstHeight = tile.row * p_.strideH - p_.padTop;
    const int32_t plane = static_cast<int32_t>(p_.windowHeight.quotient(static_cast<uint32_t>(row)));
    const int32_t depth = firstDepth + plane * p_.dilationD;
    const int32_t height = firstHeight + row - plane * static_cast<int32_t>(p_.windowHeight.divisor);
    const int64_t imageRow = (static_cast<int64_t>(image) * p_.inputDepth + depth) * p_.inputHeight + height;
    const bool exists = inside(depth, p_.inputDepth) && inside(height, p_.inputHeight);
    return {p_.input + (exists ? imageRow * p_.inputRow * kRawBytes : 0), exists};
  }

  /// A warp for each row.
  template <int kBytes>
  __device__ __forceinline__ void copyRows(const Tile& tile, int32_t window) const {
    const auto inside = [](int32_t at, int32_t extent) { return static_cast<uint32_t>(at) < static_cast<uint32_t>(extent); };
    const int32_t lane = static_cast<int32_t>(threadIdx.x) % 32;
    for (int32_t row = static_cast<int32_t>(threadIdx.x) / 32; row < p_.windowRows; row += kWarps) {
      const auto [source, rowExists] = rowSource(tile, row);
      const uint32_t target = ptx::sharedAddress(shared()) + static_cast<uint32_t>(window + row * p_.rowBytes);
      // Without the row, no element of it is inside.
      const int32_t extent = rowExists ? p_.inputRow : 0;
      if constexpr (kDecodes && kBytes == 4) {
        constexpr int32_t kAtOnce = 4;  // words of four elements of a lane, whose loads are on their way together
        const int32_t words = p_.rowBytes / (2 * kPairBytes);
        for (int32_t first = lane; first < words; first += kAtOnce * 32) {
          uint32_t four[kAtOnce];
#pragma unroll
          for (int32_t i = 0; i < kAtOnce; ++i) {
            const int32_t element = tile.windowStart() + (first + i * 32) * 4;
            four[i] = ptx::load4BytesOrZero(source + element, inside(element, extent));
          }
          withCoding(p_.inputs, p_.inputs, [&](auto coding) {
#pragma unroll
            for (int32_t i = 0; i < kAtOnce; ++i) {
              const uint2 halves = fourHalvesAs<decltype(coding)::kValue>(p_.inputs, four[i]);
              if (first + i * 32 < words)
                ptx::storeShared8Bytes(target + static_cast<uint32_t>(first + i * 32) * 2 * kPairBytes, halves.x, halves.y);
            }
          });
        }
      } else if constexpr (kBytes == kRawBytes) {
        constexpr int32_t kAtOnce = 8;  // words of a lane, whose loads are on their way together
        const int32_t words = p_.rowBytes / kPairBytes;
        for (int32_t first = lane; first < words; first += kAtOnce * 32) {
          uint32_t halves[kAtOnce][2];
#pragma unroll
          for (int32_t i = 0; i < kAtOnce * 2; ++i) {
            const int32_t element = tile.windowStart() + (first + i / 2 * 32) * 2 + i % 2;
            halves[i / 2][i % 2] = loadElement<kRawBytes>(source + element * kRawBytes, inside(element, extent));
          }
#pragma unroll
          for (int32_t i = 0; i < kAtOnce; ++i)
            if (first + i * 32 < words)
              ptx::storeShared4Bytes(target + static_cast<uint32_t>(first + i * 32) * kPairBytes,
                                     pairOfElements<kRawBytes>(p_.inputs, halves[i][0], halves[i][1]));
        }
      } else {
        for (int32_t i = lane; i < p_.rowBytes / kBytes; i += 32) {
          const int32_t element = tile.windowStart() + i * (kBytes / kElementBytes);
          const bool reads = inside(element, extent);
          ptx::copyAsync<kBytes>(target + static_cast<uint32_t>(i * kBytes), reads ? source + element * kElementBytes : p_.input,
                                 reads ? kBytes : 0);
        }
      }
    }
  }

  // ---- Products --------------------------------------------------------------------------------------------------------------
  /// Pixel `i` of this thread's, counted in the tile.
  __device__ __forceinline__ static int32_t pixelOf(int32_t first, int32_t i) {
    return first + i * 8 + static_cast<int32_t>(threadIdx.x) % 32 / 4;
  }

  __device__ __forceinline__ void multiply(int32_t number, int32_t window, uint32_t& largest) {
    for (int32_t first = static_cast<int32_t>(threadIdx.x) / 32 * kWarpPixels; first < p_.tilePixels;
         first += kWarps * kWarpPixels) {
      sum(first, tileOf(number), window);
      finish(first, tileOf(ptx::workedOutHere(number)), largest);
    }
  }

  __device__ __forceinline__ void sum(int32_t first, const Tile& tile, int32_t window) {
    const int32_t lane = static_cast<int32_t>(threadIdx.x) % 32;
    int32_t place[kPixels];
    [[maybe_unused]] int32_t odd[kPixels];  // 16: the run begins in the middle of a word
#pragma unroll
    for (int32_t i = 0; i < kPixels; ++i) {
      const int32_t pixel = min(pixelOf(first, i), p_.tilePixels - 1);
      const int32_t row = static_cast<int32_t>(p_.tileColumns.quotient(static_cast<uint32_t>(pixel)));
      const int32_t column = pixel - row * static_cast<int32_t>(p_.tileColumns.divisor);
      const int32_t element = tile.start - tile.windowStart() + column * p_.columnStep;
      place[i] = window + row * p_.strideH * p_.rowBytes + element / 2 * kPairBytes;
      odd[i] = element % 2 * 16;
    }
    const auto read = [&](int32_t i, uint32_t pair) {
      const auto* const at =
          reinterpret_cast<const uint32_t*>(shared() + place[i] + static_cast<int32_t>(pair & ((1u << kOffsetBits) - 1)));
      uint32_t word = at[0];
      if constexpr (kOddSteps) word = __funnelshift_r(word, at[1], static_cast<uint32_t>(odd[i]));
      return __byte_perm(word, 0, pair >> kOffsetBits);
    };
#pragma unroll
    for (int32_t i = 0; i < kPixels / 2; ++i)
#pragma unroll
      for (int32_t j = 0; j < kBlocks; ++j) sum_[i][j][0] = sum_[i][j][1] = sum_[i][j][2] = sum_[i][j][3] = 0;
    const auto* table = reinterpret_cast<const StepPairs*>(shared()) + lane % 4;
    const auto* weights = reinterpret_cast<const uint4*>(shared() + weights_) + lane;
#pragma unroll 1
    for (int32_t step = 0; step < p_.steps; ++step) {
      const StepPairs pairs = *table;
      uint32_t a[kPixels][2];
#pragma unroll
      for (int32_t i = 0; i < kPixels; ++i) a[i][0] = read(i, pairs.low), a[i][1] = read(i, pairs.high);
#pragma unroll
      for (int32_t j = 0; j < kBlocks; j += 2) {
        const uint4 b = weights[j / 2 * 32];
#pragma unroll
        for (int32_t i = 0; i < kPixels; i += 2) {
          ptx::mma16x8x16<Element>(sum_[i / 2][j], a[i][0], a[i + 1][0], a[i][1], a[i + 1][1], b.x, b.y);
          ptx::mma16x8x16<Element>(sum_[i / 2][j + 1], a[i][0], a[i + 1][0], a[i][1], a[i + 1][1], b.z, b.w);
        }
      }
      table += 4;
      weights += kBlocks / 2 * 32;
    }
  }

  // ---- Epilogue --------------------------------------------------------------------------------------------------------------
  /// Of the output; -1: there is none.
  __device__ __forceinline__ int32_t outputPixel(const Tile& tile, int32_t pixel) const {
    const int32_t tileRow = static_cast<int32_t>(p_.tileColumns.quotient(static_cast<uint32_t>(pixel)));
    const int32_t row = tile.row + tileRow;
    const int32_t column = tile.column + pixel - tileRow * static_cast<int32_t>(p_.tileColumns.divisor);
    const bool exists = pixel < p_.tilePixels && row < p_.outputHeight && column < p_.outputWidth;
    return exists ? (tile.plane * p_.outputHeight + row) * p_.outputWidth + column : -1;
  }

  __device__ __forceinline__ void segment(int32_t i, int32_t which, float (&v)[kSegmentColumns]) const {
#pragma unroll
    for (int32_t j = 0; j < kSegmentColumns / 2; ++j)
      v[2 * j] = sum_[i / 2][which * 4 + j][i % 2 * 2], v[2 * j + 1] = sum_[i / 2][which * 4 + j][i % 2 * 2 + 1];
  }

  template <Lean kLean>
  __device__ __forceinline__ void finishLean(int32_t first, const Tile& tile) const {
    if constexpr (kLean == Lean::SiluResidual) return;
    if constexpr (kDecodes) return finishBytes<kLean>(first, tile);
    // For what would be carried through the products ptxas spills on sm_100a, at 64 channels.
    const int32_t channel = firstChannel_ + ptx::workedOutHere(static_cast<int32_t>(threadIdx.x)) % 4 * kSegmentColumns;
    const gemm::EpilogueParams& e = p_.epilogue;
    const uint32_t least = leastPair<Element>(e.activation == gemm::Activation::Relu);
    constexpr int32_t kTogether = kSegments == 1 ? kPixels : 1;  ///< pixels whose residuals are on their way at once
#pragma unroll
    for (int32_t which = 0; which < kSegments; ++which) {
      if (channel + which * 32 >= e.columns) return;
      const int32_t column = (channel + which * 32) * kElementBytes;
      float bias[kSegmentColumns];
      loadBias(which, bias);
#pragma unroll
      for (int32_t begin = 0; begin < kPixels; begin += kTogether) {
        int32_t outputs[kTogether];
        uint32_t residual[kTogether][kSegmentColumns / 2] = {};
#pragma unroll
        for (int32_t i = 0; i < kTogether; ++i) {
          outputs[i] = outputPixel(tile, pixelOf(first, begin + i));
          if constexpr (kLean == Lean::Residual) {
            const auto* const from = static_cast<const uint8_t*>(e.residual) + outputs[i] * e.residualPitch + column;
            loadSegmentOrZero(from, outputs[i] >= 0, residual[i]);
          }
        }
#pragma unroll
        for (int32_t i = 0; i < kTogether; ++i) {
          float v[kSegmentColumns];
          segment(begin + i, which, v);
#pragma unroll
          for (int32_t j = 0; j < kSegmentColumns; ++j) v[j] += bias[j];
          uint32_t packed[kSegmentColumns / 2];
          packLean<Element, kLean, kSegments == 1 ? 4 : 2>(e, least, v, residual[i], packed);
          if (outputs[i] >= 0)
            *reinterpret_cast<uint4*>(static_cast<uint8_t*>(e.output) + outputs[i] * e.outputPitch + column) =
                make_uint4(packed[0], packed[1], packed[2], packed[3]);
        }
      }
    }
  }

  template <Lean kLean>
  __device__ __forceinline__ void finishBytes(int32_t first, const Tile& tile) const {
    const int32_t channel = firstChannel_ + static_cast<int32_t>(threadIdx.x) % 4 * kSegmentColumns, columns = p_.epilogue.columns;
#pragma unroll
    for (int32_t which = 0; which < kSegments; ++which) {
      if (channel + which * 32 >= columns) return;
      PlainBytes<kSegmentColumns> own;
      own.load(p_.epilogue, channel + which * 32, columns);
#pragma unroll
      for (int32_t i = 0; i < kPixels; ++i) {
        const int32_t output = outputPixel(tile, pixelOf(first, i));
        if (!kIsLean && output < 0) continue;
        float v[kSegmentColumns];
        segment(i, which, v);
        uint32_t words[kSegmentColumns / 4];
        if constexpr (kIsLean) {
          own.template finishLean<kLean>(p_.epilogue, v, words);
          if (output >= 0) own.storeWhole(p_.epilogue, output, channel + which * 32, words);
        } else {
          own.finish(p_.epilogue, v, words);
          own.store(p_.epilogue, output, channel + which * 32, columns, words);
        }
      }
    }
  }

  __device__ __forceinline__ void finish(int32_t first, const Tile& tile, uint32_t& largest) const {
    if constexpr (kIsLean)
      withLean(p_.lean, [&](auto tag) { finishLean<decltype(tag)::kLean>(first, tile); });
    else
      finishAny(first, tile, largest);
  }
  __device__ __forceinline__ void finishAny(int32_t first, const Tile& tile, uint32_t& largest) const {
    const int32_t channel = firstChannel_ + ptx::workedOutHere(static_cast<int32_t>(threadIdx.x)) % 4 * kSegmentColumns;
    const int32_t columns = p_.epilogue.columns;
    const auto finishHalves = [&]<bool kScales>() {
      constexpr int32_t kTogether = kScales && kSegments > 1 ? 2 : kPixels;  // with more, ptxas spills
#pragma unroll
      for (int32_t begin = 0; begin < kSegments * kPixels; begin += kTogether) {
        const int32_t which = begin / kPixels, own = channel + which * 32;
        if (own >= columns) break;
        float bias[kSegmentColumns], factor[kSegmentColumns], v[kTogether * kSegmentColumns];
        loadBias(which, bias);
        loadFactors<kScales>(p_.epilogue, own, columns, factor);
#pragma unroll
        for (int32_t i = 0; i < kTogether; ++i) {
          float one[kSegmentColumns];
          segment(begin % kPixels + i, which, one);
#pragma unroll
          for (int32_t j = 0; j < kSegmentColumns; ++j) v[i * kSegmentColumns + j] = fmaf(factor[j], one[j], bias[j]);
        }
        const auto output = [&](int32_t i) { return outputPixel(tile, pixelOf(first, begin % kPixels + i)); };
        finishPlainSegments<Element, kScales>(
            p_.epilogue, own, columns, v, [&](int32_t i) { return output(i) >= 0; }, output,
            [&](int32_t i) { return plainTarget(p_.epilogue, output(i), own); });
      }
    };
    if constexpr (!kDecodes) {
      if (p_.plain) return finishHalves.template operator()<false>();
      if (p_.scales) return finishHalves.template operator()<true>();
    } else if constexpr (kSegments == 1) {  // at two ptxas would spill for it
      if (p_.plain) return finishBytes<Lean::No>(first, tile);
    }
    // One copy of the whole epilogue, which takes segments of two pixels from among the registers.
#pragma unroll 1
    for (int32_t turn = 0; turn < kPixels * kSegments; turn += 2) {
      uint32_t bits[2 * kSegmentColumns];
#pragma unroll
      for (int32_t i = 0; i < kPixels * kSegments; ++i) {
        float v[kSegmentColumns];
        segment(i % kPixels, i / kPixels, v);
#pragma unroll
        for (int32_t j = 0; j < kSegmentColumns; ++j)
          if (i < 2 || i / 2 * 2 == turn)
            bits[i % 2 * kSegmentColumns + j] =
                kDecodes && p_.inputs.isInteger ? static_cast<uint32_t>(__float2int_rn(v[j])) : __float_as_uint(v[j]);
      }
      const int32_t column = channel + turn / kPixels * 32;
      const auto place = [&](int32_t i) {
        return gemm::SegmentPlace{outputPixel(tile, pixelOf(first, turn % kPixels + i)), column};
      };
      const gemm::SegmentPlace at[2] = {place(0), place(1)};
      if (column < columns) gemm::finishSegments<kSegmentColumns>(p_.epilogue, at, bits, largest);
    }
  }
  const Params& p_;
  int32_t weights_, bias_, windows_;  ///< places in shared memory
  int32_t firstChannel_;
  float sum_[kPixels / 2][kBlocks][4];
};

}  // namespace shiftconv::kernels::raw_rows
