// pointwise: 1x1 convolution of many pixels with few channels on mma.sync: the filter stays in shared memory, the pixels stream
// through registers.
//
// GEMM view: M = output pixels, N = output channels, reduction over input channels. Such a layer moves bytes: it multiplies each
// pixel with a filter of a few KB. A CTA copies the filter, or its share of the output channels, once. Its warps walk over tiles of
// 16 or 32 pixels on their own. A warp loads the next tile's pixels, straight into the registers of the matrix instruction, while
// it multiplies and stores the present one, 32 output channels at a time.
//
// NOTES
//  - Lane (g, t) loads kVector neighbouring channels of pixel g: those of two steps, of one, or of half a step. The filter has
//    the same order along the reduction in shared memory, so the sum is the same.
//  - Filter rows are in such an order that a thread's sums are 8 neighbouring output channels of a pixel: 16 bytes to store.
//  - Elements of 8 bits become f16: the filter's on the way from one place in shared memory to another, in a loop of few
//    instructions, a tile's pixels when its turn comes, so each of them once. Sums of integers stay below 2^24, so they are exact.
//  - Input channels after C are zeros on both sides. Pixels after the end are the last one, and not stored.
//  - Where a CTA has all channels of a pixel and pixels lie end to end, the outputs of a tile are one run of bytes. Shared memory
//    gathers them, and the copy engine takes them away: rows of, say, 116 bytes would else leave in pieces of sectors.
//  - ptxas would sink the loads of the next tile to their use. A __syncwarp() after them keeps them in flight meanwhile.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/guarded_load.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/pointwise/params.hpp"
#include "conv/kernels/decoding.cuh"
#include "conv/kernels/lean.cuh"
#include "conv/kernels/plain_bytes.cuh"
#include "conv/kernels/plain_segment.cuh"
#include "conv/kernels/shared_bias.cuh"

namespace shiftconv::kernels::pointwise {

static_assert(kSegmentChannels == kPlainSegment);

/// Element: what is multiplied; kElementBytes: of an element in global memory, 1 of those that become f16, and of an output of the
/// short epilogue.
template <class Element, int32_t kElementBytes, int32_t kVector, int32_t kSteps, int32_t kPixels>
class Cta {
  static constexpr bool kDecodes = kElementBytes != kOperandBytes;
  static constexpr int32_t kRows = kPixels / 8;                    ///< of a lane
  static constexpr int32_t kWords = 2 * kSteps;                    ///< of a lane's row: two channels each
  static constexpr int32_t kLoadedWords = kSteps * kElementBytes;  ///< the same as they come
  static constexpr int32_t kLoads = kSteps * kStepChannels / (4 * kVector);
  static constexpr int32_t kBlocks = kGroupChannels / 8;  ///< of 8 output channels: one matrix instruction
  static constexpr int32_t kPitch = filterPitch(kVector, kSteps);
  static_assert(kVector != 8 || kSteps % 2 == 0);

  using Output = std::conditional_t<kDecodes, uint8_t, uint16_t>;  ///< of the short epilogue
  struct LoadedPixels {
    uint32_t word[kRows][kLoadedWords];
  };
  struct Pixels {
    uint32_t word[kRows][kWords];
  };
  /// Of the filter: neighbouring channels as they come.
  struct Piece {
    static constexpr int32_t kBytes = kVector * kElementBytes;
    uint32_t word[(kBytes + 3) / 4];
  };

 public:
  __device__ explicit Cta(const Params& params) : p_(params) {
    lane_ = static_cast<int32_t>(threadIdx.x) % 32;
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0), channelWarps = 1u << p_.channelWarpsShift;
    const uint32_t pixelWarps = blockDim.x / 32 >> p_.channelWarpsShift;
    channelRank_ = static_cast<int32_t>(warp & (channelWarps - 1));
    firstTile_ = static_cast<int32_t>(blockIdx.x * pixelWarps + (warp >> p_.channelWarpsShift));
    tileStep_ = static_cast<int32_t>(gridDim.x * pixelWarps);
    firstChannel_ = static_cast<int32_t>(blockIdx.y) * p_.channelGroups * kGroupChannels;
  }

  __device__ void run() {
    ptx::awaitPrerequisitesWith<kDecodes>(addressOf(min(pixelOf(firstTile_, 0), p_.epilogue.rows - 1)), p_);
    ptx::launchDependents();
    LoadedPixels pixels = {};
    load(firstTile_, pixels);
    copyFilter();
    __syncthreads();
    uint32_t largest = 0;
#pragma unroll 1
    for (int32_t tile = firstTile_; tile < p_.tiles; tile += tileStep_) {
      const Pixels present = operandsOf(pixels);
      load(tile + tileStep_, pixels);
      __syncwarp();  // site: loads_kept
#pragma unroll 1
      for (int32_t group = channelRank_; group < p_.channelGroups; group += 1 << p_.channelWarpsShift) {
        const int32_t channel = firstChannel_ + group * kGroupChannels + lane_ % 4 * kSegmentChannels;
        multiply(present, group);
        finish(tile, channel, largest);
      }
      if (gathers()) copyOut(tile);
    }
    if (!p_.plain && !p_.scales) gemm::mergeLargest(p_.epilogue, largest);
  }

 private:
  // ---- Pixels ----------------------------------------------------------------------------------------------------------------
  __device__ __forceinline__ int32_t pixelOf(int32_t tile, int32_t row) const { return tile * kPixels + row * 8 + lane_ / 4; }

  __device__ __forceinline__ const uint8_t* addressOf(int32_t pixel) const {
    if (p_.isLinear) return p_.input + pixel * p_.pixelBytes;
    const uint32_t line = p_.outputWidth.quotient(static_cast<uint32_t>(pixel)), plane = p_.outputHeight.quotient(line);
    const uint32_t image = p_.outputDepth.quotient(plane);
    return p_.input + image * p_.imageBytes + (plane - image * p_.outputDepth.divisor) * p_.planeBytes +
           (line - plane * p_.outputHeight.divisor) * p_.rowBytes +
           (static_cast<uint32_t>(pixel) - line * p_.outputWidth.divisor) * p_.pixelBytes;
  }

  /// A tile that does not exist is left as it is.
  __device__ __forceinline__ void load(int32_t tile, LoadedPixels& to) const {
    if (tile >= p_.tiles) return;
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row) {
      const uint8_t* const from = addressOf(min(pixelOf(tile, row), p_.epilogue.rows - 1));
#pragma unroll
      for (int32_t i = 0; i < kLoads; ++i) {
        const int32_t channel = (4 * i + lane_ % 4) * kVector;
        const bool exists = channel < p_.inputChannels;
        const Piece piece = loadPiece(from + channel * kElementBytes, exists);
        if constexpr (Piece::kBytes >= 4) {
#pragma unroll
          for (int32_t j = 0; j < Piece::kBytes / 4; ++j) to.word[row][i * (Piece::kBytes / 4) + j] = piece.word[j];
        } else if (i % 2 == 0) {
          to.word[row][i / 2] = piece.word[0];
        } else {
          to.word[row][i / 2] |= piece.word[0] << 16;
        }
      }
    }
  }
  /// Zeros where it does not exist.
  __device__ __forceinline__ static Piece loadPiece(const uint8_t* at, bool exists) {
    Piece piece;
    if constexpr (Piece::kBytes == 16) {
      const uint4 four = ptx::load16BytesOrZero(at, exists);
      piece.word[0] = four.x, piece.word[1] = four.y, piece.word[2] = four.z, piece.word[3] = four.w;
    } else if constexpr (Piece::kBytes == 8) {
      const uint2 two = ptx::load8BytesOrZero(at, exists);
      piece.word[0] = two.x, piece.word[1] = two.y;
    } else if constexpr (Piece::kBytes == 4) {
      piece.word[0] = ptx::load4BytesOrZero(at, exists);
    } else {
      piece.word[0] = ptx::load2BytesOrZero(at, exists);
    }
    return piece;
  }

  __device__ __forceinline__ Pixels operandsOf(const LoadedPixels& from) const {
    Pixels to;
    if constexpr (kDecodes) {
      withCoding(p_.inputs, p_.filters, [&](auto coding) {
#pragma unroll
        for (int32_t row = 0; row < kRows; ++row)
#pragma unroll
          for (int32_t i = 0; i < kLoadedWords; ++i) {
            const uint2 pairs = fourHalvesAs<decltype(coding)::kValue>(p_.inputs, from.word[row][i]);
            to.word[row][2 * i] = pairs.x, to.word[row][2 * i + 1] = pairs.y;
          }
      });
    } else {
#pragma unroll
      for (int32_t row = 0; row < kRows; ++row)
#pragma unroll
        for (int32_t i = 0; i < kWords; ++i) to.word[row][i] = from.word[row][i];
    }
    return to;
  }

  // ---- Filter ----------------------------------------------------------------------------------------------------------------
  __device__ __forceinline__ static uint8_t* shared() {
    extern __shared__ __align__(128) uint8_t dynamicShared[];
    return dynamicShared;
  }
  __device__ __forceinline__ uint8_t* spare() const { return shared() + p_.spareOffset; }
  /// Of the CTA's channels; of 16-bit elements and the short epilogue.
  __device__ __forceinline__ float* bias() const {
    static_assert(!kDecodes);
    return reinterpret_cast<float*>(spare()) - p_.channelGroups * kGroupChannels;
  }

  /// Row 8b + c of a group is the output channel whose sum is column c of matrix instruction b.
  __device__ void copyFilter() const {
    const int32_t pieces = p_.channelGroups * kGroupChannels * kRowPieces, threads = static_cast<int32_t>(blockDim.x);
    if constexpr (kDecodes) {
      copyRun();
      withCoding(p_.inputs, p_.filters, [&](auto coding) {
#pragma unroll 1
        for (int32_t i = static_cast<int32_t>(threadIdx.x); i < pieces; i += threads) {
          const FilterPiece piece = filterPieceOf(i);
          storeDecoded<decltype(coding)::kValue>(shared() + piece.place, loadShared(spare() + piece.offset, piece.exists));
        }
      });
    } else {
      const uint8_t* const filter = p_.filter + static_cast<int64_t>(firstChannel_) * (p_.inputChannels * kElementBytes);
      for (int32_t i = static_cast<int32_t>(threadIdx.x); i < pieces; i += threads) {
        const FilterPiece piece = filterPieceOf(i);
        ptx::copyAsync<Piece::kBytes>(ptx::sharedAddress(shared() + piece.place), piece.exists ? filter + piece.offset : p_.filter,
                                      piece.exists ? Piece::kBytes : 0);
      }
      // With the filter: a warp that loaded it for its first tile waited 0.3 us for it (H200).
      if (p_.plain || p_.scales) copyBiasToShared(p_.epilogue, firstChannel_, p_.channelGroups * kGroupChannels, bias(), p_.filter);
      ptx::copyAsyncCommitGroup();
      ptx::copyAsyncWaitGroup<0>();
    }
  }

  /// The CTA's channels as they come: one run of bytes, which starts at a multiple of 16.
  __device__ __forceinline__ void copyRun() const {
    const int32_t channels = min(p_.channelGroups * kGroupChannels, p_.epilogue.columns - firstChannel_);
    const int32_t bytes = channels * p_.inputChannels;
    const uint8_t* const from = p_.filter + static_cast<int64_t>(firstChannel_) * p_.inputChannels;
#pragma unroll 1
    for (int32_t i = static_cast<int32_t>(threadIdx.x) * 16; i < bytes; i += static_cast<int32_t>(blockDim.x) * 16)
      ptx::copyAsync16Bytes(ptx::sharedAddress(spare() + i), from + i, static_cast<uint32_t>(min(bytes - i, 16)));
    ptx::copyAsyncCommitGroup();
    ptx::copyAsyncWaitGroup<0>();
    __syncthreads();
  }

  static constexpr int32_t kRowPieces = kSteps * kStepChannels / kVector;
  struct FilterPiece {
    int32_t offset;  ///< of its bytes, from the CTA's first channel
    int32_t place;   ///< in shared memory
    bool exists;
  };
  __device__ __forceinline__ FilterPiece filterPieceOf(int32_t index) const {
    const int32_t row = index / kRowPieces, piece = index % kRowPieces, column = row % 8;
    const int32_t channel =
        row / kGroupChannels * kGroupChannels + column / 2 * kSegmentChannels + row / 8 % kBlocks * 2 + column % 2;
    // Of two channels, a step's pieces are those of its first half and of its second one: a lane's lie side by side.
    const int32_t ordered = kVector == 2 ? piece / 8 * 8 + piece % 4 * 2 + piece / 4 % 2 : piece;
    return {channel * (p_.inputChannels * kElementBytes) + piece * Piece::kBytes,
            row * kPitch + ordered * (kVector * kOperandBytes),
            firstChannel_ + channel < p_.epilogue.columns && piece * kVector < p_.inputChannels};
  }

  /// Zeros where it does not exist.
  __device__ __forceinline__ static Piece loadShared(const uint8_t* at, bool exists) {
    Piece piece = {};
    if (!exists) return piece;
    if constexpr (Piece::kBytes == 8) {
      const uint2 two = *reinterpret_cast<const uint2*>(at);
      piece.word[0] = two.x, piece.word[1] = two.y;
    } else if constexpr (Piece::kBytes == 4) {
      piece.word[0] = *reinterpret_cast<const uint32_t*>(at);
    } else {
      piece.word[0] = *reinterpret_cast<const uint16_t*>(at);
    }
    return piece;
  }

  template <Coding kCoding>
  __device__ __forceinline__ void storeDecoded(uint8_t* to, const Piece& piece) const {
    if constexpr (kVector == 8) {
      const uint2 low = fourHalvesAs<kCoding>(p_.filters, piece.word[0]), high = fourHalvesAs<kCoding>(p_.filters, piece.word[1]);
      *reinterpret_cast<uint4*>(to) = make_uint4(low.x, low.y, high.x, high.y);
    } else if constexpr (kVector == 4) {
      *reinterpret_cast<uint2*>(to) = fourHalvesAs<kCoding>(p_.filters, piece.word[0]);
    } else {
      *reinterpret_cast<uint32_t*>(to) = halvesAs<kCoding, 0>(p_.filters, piece.word[0]);
    }
  }

  // ---- Products --------------------------------------------------------------------------------------------------------------
  __device__ __forceinline__ void multiplyStep(const Pixels& pixels, int32_t step, int32_t block, uint32_t low, uint32_t high) {
#pragma unroll
    for (int32_t i = 0; i < kRows; i += 2)
      ptx::mma16x8x16<Element>(sum_[i / 2][block], pixels.word[i][2 * step], pixels.word[i + 1][2 * step],
                               pixels.word[i][2 * step + 1], pixels.word[i + 1][2 * step + 1], low, high);
  }

  __device__ __forceinline__ void multiply(const Pixels& pixels, int32_t group) {
#pragma unroll
    for (int32_t i = 0; i < kRows / 2; ++i)
#pragma unroll
      for (int32_t block = 0; block < kBlocks; ++block)
        sum_[i][block][0] = sum_[i][block][1] = sum_[i][block][2] = sum_[i][block][3] = 0;
    const uint8_t* const weights = shared() + (group * kGroupChannels + lane_ / 4) * kPitch + lane_ % 4 * (kVector == 8 ? 16 : 8);
    if constexpr (kVector == 8) {
#pragma unroll
      for (int32_t step = 0; step < kSteps; step += 2)
#pragma unroll
        for (int32_t block = 0; block < kBlocks; ++block) {
          const uint4 b = *reinterpret_cast<const uint4*>(weights + block * 8 * kPitch + step * 32);
          multiplyStep(pixels, step, block, b.x, b.y);
          multiplyStep(pixels, step + 1, block, b.z, b.w);
        }
    } else {
#pragma unroll
      for (int32_t step = 0; step < kSteps; ++step)
#pragma unroll
        for (int32_t block = 0; block < kBlocks; ++block) {
          const uint2 b = *reinterpret_cast<const uint2*>(weights + block * 8 * kPitch + step * 32);
          multiplyStep(pixels, step, block, b.x, b.y);
        }
    }
  }

  // ---- A tile's outputs in shared memory -------------------------------------------------------------------------------------
  /// The address is known to a run only.
  __device__ __forceinline__ bool gathers() const {
    return hasSpareRegisters(kSteps) && p_.gathers && reinterpret_cast<uint64_t>(p_.epilogue.output) % 16 == 0;
  }
  /// Of those that share a tile's channels, among the CTA's. Computed anew, as registers are scarce.
  __device__ __forceinline__ uint32_t pixelRank() const { return threadIdx.x / 32 >> p_.channelWarpsShift; }
  /// Of the warps that share the tile's channels.
  __device__ __forceinline__ void syncTile() const {
    if (p_.channelWarpsShift == 0)
      __syncwarp();
    else
      ptx::namedBarrierSync(1 + pixelRank(), 32u << p_.channelWarpsShift);
  }
  __device__ __forceinline__ Output* place() const {
    return reinterpret_cast<Output*>(spare()) + static_cast<int32_t>(pixelRank()) * kPixels * p_.epilogue.columns;
  }
  /// By all of these warps, 16 bytes a lane.
  __device__ __forceinline__ void copyOut(int32_t tile) const {
    syncTile();
    constexpr int32_t kPiece = 16 / kElementBytes;
    const int32_t elements = min(kPixels, p_.epilogue.rows - tile * kPixels) * p_.epilogue.columns;
    const int32_t whole = elements / kPiece * kPiece;
    auto* const output = static_cast<Output*>(p_.epilogue.output) + static_cast<int64_t>(tile) * kPixels * p_.epilogue.columns;
    const int32_t own = (channelRank_ * 32 + lane_) * kPiece, step = kPiece * 32 << p_.channelWarpsShift;
#pragma unroll 2
    for (int32_t i = own; i < whole; i += step)
      *reinterpret_cast<uint4*>(output + i) = *reinterpret_cast<const uint4*>(place() + i);
    // The last tile may end within 16 bytes.
    if (channelRank_ == 0 && whole + lane_ < elements) output[whole + lane_] = place()[whole + lane_];
    syncTile();  // site: place_free
  }

  // ---- Epilogue --------------------------------------------------------------------------------------------------------------
  __device__ __forceinline__ void segment(int32_t row, float* v) const {
#pragma unroll
    for (int32_t block = 0; block < kBlocks; ++block)
      v[2 * block] = sum_[row / 2][block][row % 2 * 2], v[2 * block + 1] = sum_[row / 2][block][row % 2 * 2 + 1];
  }

  /// Where a row's outputs are gathered, from `channel` on.
  __device__ __forceinline__ auto* gathered(int32_t row, int32_t channel) const {
    return place() + (row * 8 + lane_ / 4) * p_.epilogue.columns + channel;
  }
  template <bool kScales>
  __device__ __forceinline__ void finishHalves(int32_t tile, int32_t channel) const {
    constexpr int32_t kTogether = hasSpareRegisters(kSteps) ? kRows : 1;
    const gemm::EpilogueParams& e = p_.epilogue;
    float own[kSegmentChannels], factor[kSegmentChannels];
    loadSharedBias(bias() + (channel - firstChannel_), own);
    loadFactors<kScales>(e, channel, e.columns, factor);
#pragma unroll
    for (int32_t first = 0; first < kRows; first += kTogether) {
      const auto pixel = [&](int32_t i) { return pixelOf(tile, first + i); };
      if (pixel(0) >= e.rows) continue;
      float v[kTogether * kSegmentChannels];
#pragma unroll
      for (int32_t row = 0; row < kTogether; ++row) {
        float* const one = v + row * kSegmentChannels;
        segment(first + row, one);
#pragma unroll
        for (int32_t i = 0; i < kSegmentChannels; ++i) one[i] = fmaf(factor[i], one[i], own[i]);
      }
      finishPlainSegments<Element, kScales>(
          e, channel, e.columns, v, [&](int32_t i) { return i == 0 || pixel(i) < e.rows; }, pixel,
          [&](int32_t i) { return gathers() ? gathered(first + i, channel) : plainTarget(e, pixel(i), channel); });
    }
  }
  /// All rows are computed together. put(row, pixel, where its outputs are gathered) is called for each row that exists.
  template <class ForRows>
  __device__ __forceinline__ void finishBytes(int32_t channel, const ForRows& forRows) const {
    using Own = PlainBytes<kSegmentChannels>;
    const int32_t channels = p_.epilogue.columns;
    Own own;
    own.load(p_.epilogue, channel, channels);
    float v[kRows * kSegmentChannels];
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row) segment(row, v + row * kSegmentChannels);
    uint32_t words[kRows * Own::kWords];
    if (p_.lean.rectified && mayBeLean()) {
      own.template finishLean<Lean::Rectified>(p_.epilogue, v, words);
      forRows([&](int32_t row, int32_t pixel, uint8_t*) {
        const uint32_t ofRow[Own::kWords] = {words[row * Own::kWords], words[row * Own::kWords + 1]};
        Own::storeWhole(p_.epilogue, pixel, channel, ofRow);
      });
      return;
    }
    own.finish(p_.epilogue, v, words);
    forRows([&](int32_t row, int32_t pixel, uint8_t* gathered) {
      const uint32_t ofRow[Own::kWords] = {words[row * Own::kWords], words[row * Own::kWords + 1]};
      if (gathers()) return Own::storeAt(gathered, channels - channel, ofRow);
      Own::store(p_.epilogue, pixel, channel, channels, ofRow);
    });
  }

  /// Addresses are known to a run only.
  __device__ __forceinline__ bool mayBeLean() const {
    const gemm::EpilogueParams& e = p_.epilogue;
    const uint64_t addresses = reinterpret_cast<uint64_t>(e.output) | reinterpret_cast<uint64_t>(e.residual);
    return !p_.gathers && addresses % 16 == 0;
  }
  /// Their loads are in flight together.
  __device__ __forceinline__ void loadResidual(int32_t tile, int32_t channel,
                                               uint32_t (&residual)[kRows][kSegmentChannels / 2]) const {
    const gemm::EpilogueParams& e = p_.epilogue;
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row) {
      const int32_t pixel = pixelOf(tile, row);
      const auto* const from = static_cast<const uint8_t*>(e.residual) + pixel * e.residualPitch + channel * kElementBytes;
      loadSegmentOrZero(from, pixel < e.rows, residual[row]);
    }
  }
  template <Lean kLean>
  __device__ __forceinline__ void finishLean(int32_t tile, int32_t channel) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    if (kLean == Lean::SiluResidual || channel >= e.columns) return;
    const uint32_t least = leastPair<Element>(e.activation == gemm::Activation::Relu);
    uint32_t residual[kRows][kSegmentChannels / 2] = {};
    if constexpr (kLean == Lean::Residual) loadResidual(tile, channel, residual);
    float own[kSegmentChannels];
    loadSharedBias(bias() + (channel - firstChannel_), own);
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row) {
      const int32_t pixel = pixelOf(tile, row);
      float v[kSegmentChannels];
      segment(row, v);
#pragma unroll
      for (int32_t i = 0; i < kSegmentChannels; ++i) v[i] += own[i];
      uint32_t packed[kSegmentChannels / 2];
      packLean<Element, kLean>(e, least, v, residual[row], packed);
      if (pixel < e.rows)
        *reinterpret_cast<uint4*>(static_cast<uint8_t*>(e.output) + pixel * e.outputPitch + channel * kElementBytes) =
            make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
  }

  __device__ __forceinline__ void finish(int32_t tile, int32_t channel, uint32_t& largest) const {
    const int32_t pixels = p_.epilogue.rows, channels = p_.epilogue.columns;
    if constexpr (!kDecodes && hasSpareRegisters(kSteps)) {
      if (mayBeLean() && withLean(p_.lean, [&](auto tag) { finishLean<decltype(tag)::kLean>(tile, channel); })) return;
      if (p_.scales) return channel < channels ? finishHalves<true>(tile, channel) : void();
    }
    if (p_.plain) {
      if (channel >= channels) return;
      const auto forRows = [&](auto&& put) {
#pragma unroll
        for (int32_t row = 0; row < kRows; ++row) {
          const int32_t pixel = pixelOf(tile, row);
          if (pixel < pixels) put(row, pixel, gathered(row, channel));
        }
      };
      if constexpr (kDecodes)
        finishBytes(channel, forRows);
      else
        finishHalves<false>(tile, channel);
      return;
    }
    if constexpr (hasWholeEpilogue(kElementBytes, kSteps)) {
      // One copy of the whole epilogue, which takes rows from among the registers: so many that ptxas spills nothing.
      constexpr int32_t kTogether = kDecodes == (kSteps >= 8) ? 2 : 1;
#pragma unroll 1
      for (int32_t turn = 0; turn < kRows; turn += kTogether) {
        gemm::SegmentPlace at[kTogether];
        uint32_t bits[kTogether * kSegmentChannels];
#pragma unroll
        for (int32_t row = 0; row < kRows; ++row) {
          if (row < kTogether) at[row] = {pixelOf(tile, turn + row), channel};
          float v[kSegmentChannels];
          segment(row, v);
#pragma unroll
          for (int32_t i = 0; i < kSegmentChannels; ++i)
            if (row < kTogether || row / kTogether * kTogether == turn)
              bits[row % kTogether * kSegmentChannels + i] =
                  kDecodes && p_.inputs.isInteger ? static_cast<uint32_t>(__float2int_rn(v[i])) : __float_as_uint(v[i]);
        }
        if (at[0].row < pixels && channel < channels)
          gemm::finishSegments<kSegmentChannels, kTogether, !kDecodes>(p_.epilogue, at, bits, largest);
      }
    }
  }

  const Params& p_;
  int32_t lane_, channelRank_, firstTile_, tileStep_, firstChannel_;
  float sum_[kRows / 2][kBlocks][4];
};

}  // namespace shiftconv::kernels::pointwise
