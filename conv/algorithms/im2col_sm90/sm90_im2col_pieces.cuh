// im2col_sm90 of a matrix whose operands the threads that multiply copy to where the copy engine would have put them: 1x1 filters
// on, say, 116 channels of f16 or 184 of 8 bits, as the copy engine steps by 16 bytes; and on few channels, as it takes 2 to 3
// clocks a row, however short rows are. Rows of whole 16, 8 or 4 bytes come in pieces of that size, others in shifted words.
//
// GEMM view: as in sm90_im2col.cuh; one tap.
//
// Roles: all warps load; one warpgroup multiplies 64 pixels by all channels of the tile.
//
// NOTES
//  - Two rounds of stages in turns: the chunks of one are multiplied while those of the next are on their way. Of a constant filter
//    the first round comes before the run ahead has ended.
//  - A thread has one piece of every so many rows, so that neighbouring threads copy neighbouring bytes and little is computed.
//  - Shifted words are there when a round has been asked for: other CTAs of the multiprocessor multiply meanwhile. All loads of a
//    thread for a chunk are on their way at once.
//  - What lies beyond the last pixel, channel or byte of a row becomes zeros on both sides: a NaN of a neighbour, times zero, would
//    be NaN.
#pragma once

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/algorithms/im2col_sm90/epilogue.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/products.cuh"
#include "conv/algorithms/im2col_sm90/shifted_rows.cuh"
#include "conv/kernels/left_out.cuh"

namespace shiftconv::kernels::im2col {

/// kShifts: rows begin anywhere. Kernels of their own: where copies of pieces had to jump over shifted words, they took 1.01
/// to 1.09 times as long by tile (H200).
template <class Kind, int kGroups, int kChannels, bool kShifts, bool kIsLean>
class PiecesCta {
  static constexpr int32_t kPixels = kGroups * kGroupPixels;
  static constexpr uint32_t kPixelBytes = kPixels * kRowBytes, kStageBytes = stageBytes(kGroups, kChannels);
  static constexpr int32_t kThreads = pieceThreads(kGroups);
  static constexpr uint32_t kControlBytes = controlBytes(kChannels);
  using Finish = Epilogue<Kind, kGroups, kChannels, kIsLean>;
  static_assert(sizeof(Control<kChannels>) <= kControlBytes, "the planner reserves controlBytes in front of the stages");

 public:
  __device__ explicit PiecesCta(const Params& params) : p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control<kChannels>>(dynamicShared);
    uint8_t* const stages = reinterpret_cast<uint8_t*>(control_) + kControlBytes;
    stages_ = ptx::sharedAddress(stages);
    const uint32_t pixelTile = p_.channelTiles.quotient(blockIdx.x), channelTile = blockIdx.x - pixelTile * p_.channelTiles.divisor;
    firstPixel_ = static_cast<int32_t>(pixelTile) * kPixels;
    firstChannel_ = static_cast<int32_t>(channelTile) * kChannels;
  }

  __device__ void run() {
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const Finish epilogue(p_, *control_, stages_, firstPixel_, p_.epilogue.rows, firstChannel_, p_.groupColumns);
    typename Finish::Fetched fetched = {};
    const int32_t rounds = (p_.chunks + chunksOfRound() - 1) / chunksOfRound();
    typename Kind::Sum d[kChannels / 2];
    uint32_t accumulate = 0;
    // One loop, so that code that loads is there once: a round is multiplied when the next one has been asked for.
#pragma unroll 1
    for (int32_t round = 0; round < rounds + 2; ++round) {
      if (round >= 2) {
        if constexpr (!kShifts) ptx::copyAsyncWaitGroup<1>();
        ptx::fenceProxyAsyncShared();
        ptx::namedBarrierSync(kRound, kThreads);  // site: round_there
        multiply(d, round - 2, warp / 4, accumulate);
        if (round < rounds) ptx::namedBarrierSync(kRound, kThreads);  // site: round_read
      }
      load(round);
      if constexpr (!kShifts) ptx::copyAsyncCommitGroup();  // of nothing, too: the next round waits for all groups but one
      // Copies of the first round wait for a residual, too.
      if (round == 0) fetched = epilogue.fetch(warp, true);
    }
#pragma unroll
    for (auto& sum : d) ptx::wgmmaHold(sum);
    epilogue.keep(fetched);
    // Everything has been multiplied by everybody: the stages become the place of the outputs.
    ptx::namedBarrierSync(kRound, kThreads);
    epilogue.finish(d);
  }

 private:
  enum NamedBarrier : uint32_t { kRound = 1 };
  static constexpr int32_t kPatternRows = 8;
  static_assert(layout::kSwizzle128AtomBytes == kPatternRows * kRowBytes, "the swizzle's pattern has eight rows");

  __device__ __forceinline__ int32_t chunksOfRound() const { return (p_.stages + 1) / 2; }
  /// Calls body(chunk, its stage) for the chunks of a round.
  template <class Body>
  __device__ __forceinline__ void forChunks(int32_t round, Body&& body) const {
    int32_t chunk = round * chunksOfRound();
    const int32_t end = min(chunk + chunksOfRound(), p_.chunks);
    uint32_t stage = stages_ + static_cast<uint32_t>(round % 2 * chunksOfRound()) * kStageBytes;
#pragma unroll 1
    for (; chunk < end; ++chunk, stage += kStageBytes) body(chunk, stage);
  }

  // ---- Products: a warpgroup -------------------------------------------------------------------------------------------------
  __device__ __forceinline__ void multiply(typename Kind::Sum (&d)[kChannels / 2], int32_t round, uint32_t group,
                                           uint32_t& accumulate) const {
    ptx::wgmmaFence();  // site: products_fence
    forChunks(round, [&](int32_t, uint32_t stage) {
      const StageOperands operands(stage + group * (kGroupPixels * kRowBytes), stage + kPixelBytes);
#pragma unroll
      for (int32_t slice = 0; slice < kChunkSlices; ++slice)
        operands.multiply<Kind, kChannels>(d, slice, slice == 0 ? accumulate : 1);
      accumulate = 1;
    });
    ptx::wgmmaCommit();
    ptx::wgmmaWait<0>();
  }

  // ---- Loads ---------------------------------------------------------------------------------------------------------------
  /// Nothing where there is no such round. A constant filter is not what the run ahead writes.
  __device__ __forceinline__ void load(int32_t round) const {
    const RowPieces& pieces = p_.pieces;
    const Operand filter{pieces.filter + static_cast<int64_t>(firstChannel_) * pieces.rowBytes, p_.groupColumns - firstChannel_,
                         pieces.rowBytes};
    const Operand pixels{pieces.input + static_cast<int64_t>(firstPixel_) * pieces.inputPitch, p_.epilogue.rows - firstPixel_,
                         pieces.inputPitch};
    await(round == 0 && !p_.filterAhead);
    if constexpr (kShifts) {
      forChunks(round, [&](int32_t chunk, uint32_t stage) { loadShifted(chunk, stage, filter, pixels); });
    } else {
      copyRows<kChannels>(round, kPixelBytes, filter);
      await(round == 0 && p_.filterAhead);
      copyRows<kPixels>(round, 0, pixels);
    }
  }
  __device__ __forceinline__ void await(bool now) const {
    if (!now) return;
    ptx::awaitPrerequisitesWith<true>(p_.pieces.input, p_);
    ptx::launchDependents();
  }

  /// Rows of an operand that the tile has.
  struct Operand {
    const uint8_t* first;
    int32_t count, pitch;
  };
  /// A chunk by way of registers, with all loads of a thread on their way at once: there when it returns.
  __device__ __forceinline__ void loadShifted(int32_t chunk, uint32_t stage, const Operand& filter, const Operand& pixels) const {
    const int32_t rowBytes = p_.pieces.rowBytes, byte = chunk * kRowBytes;
    ShiftedRows<kChannels, kGroups> ofFilter(stage + kPixelBytes, filter.first, filter.count, filter.pitch, rowBytes, byte);
    ShiftedRows<kPixels, kGroups> ofPixels(stage, pixels.first, pixels.count, pixels.pitch, rowBytes, byte);
    ofFilter.ask();
    await(chunk == 0 && p_.filterAhead);
    ofPixels.ask();
    ofFilter.put(), ofPixels.put();
  }
  /// kRows rows of an operand to `offset` in each stage of a round.
  template <int32_t kRows>
  __device__ __forceinline__ void copyRows(int32_t round, uint32_t offset, const Operand& rows) const {
    forChunks(round, [&](int32_t chunk, uint32_t stage) {
      if (p_.pieces.bytes == 16)
        copyPieces<kRows, 16>(stage + offset, rows, chunk * kRowBytes);
      else if (p_.pieces.bytes == 8)
        copyPieces<kRows, 8>(stage + offset, rows, chunk * kRowBytes);
      else
        copyPieces<kRows, 4>(stage + offset, rows, chunk * kRowBytes);
    });
  }
  /// 128 bytes of each row, from byte `firstByte` on; zeros for what does not exist, which is not read. Unrolled: with a loop
  /// layers took 1.07 times as long (H200).
  template <int32_t kRows, int32_t kBytes>
  __device__ __forceinline__ void copyPieces(uint32_t stage, const Operand& rows, int32_t firstByte) const {
    constexpr int32_t kPieces = kRowBytes / kBytes, kStep = kThreads / kPieces;
    static_assert(kThreads % kPieces == 0 && kStep % (kPatternRows / 2) == 0);
    const int32_t firstRow = static_cast<int32_t>(threadIdx.x) / kPieces,
                  place = static_cast<int32_t>(threadIdx.x) % kPieces * kBytes;
    const int32_t byte = firstByte + place, existing = byte < p_.pieces.rowBytes ? rows.count - firstRow : 0;
    const uint8_t* from = rows.first + static_cast<int64_t>(firstRow) * rows.pitch + byte;
    const uint32_t to = stage + static_cast<uint32_t>(firstRow * kRowBytes), swizzled = place ^ (firstRow % kPatternRows * 16);
#pragma unroll
    for (int32_t row = 0; row < kRows; row += kStep, from += static_cast<int64_t>(kStep) * rows.pitch) {
      if (kRows % kStep != 0 && firstRow + row >= kRows) break;
      // Steps of half a pattern change one bit.
      ptx::copyAsync<kBytes>(to + static_cast<uint32_t>(row * kRowBytes) + (swizzled ^ (row % kPatternRows * 16)), from,
                             row < existing ? kBytes : 0);
    }
  }

  const Params& p_;
  Control<kChannels>* control_;
  uint32_t stages_;
  int32_t firstPixel_, firstChannel_;
};

}  // namespace shiftconv::kernels::im2col

// Tiles of PIXELS output pixels x CHANNELS output channels.
#define SHIFTCONV_IM2COL_PIECES_KERNEL_OF(NAME, KIND, PIXELS, CHANNELS, CTAS, SHIFTS, IS_LEAN)                        \
  SHIFTCONV_KERNEL(                                                                                                   \
      NAME, extern "C" __global__ void __launch_bounds__(shiftconv::kernels::im2col::pieceThreads(PIXELS / 64), CTAS) \
                NAME(const __grid_constant__ shiftconv::kernels::im2col::Params params) {                             \
                  using namespace shiftconv::kernels::im2col;                                                         \
                  PiecesCta<kinds::KIND, PIXELS / 64, CHANNELS, SHIFTS, IS_LEAN>(params).run();                       \
                })
/// The kernel of lean epilogues, and that of the others.
#define SHIFTCONV_IM2COL_PIECES_KERNEL(NAME, KIND, PIXELS, CHANNELS, CTAS, SHIFTS)           \
  SHIFTCONV_IM2COL_PIECES_KERNEL_OF(NAME##_lean, KIND, PIXELS, CHANNELS, CTAS, SHIFTS, true) \
  SHIFTCONV_IM2COL_PIECES_KERNEL_OF(NAME, KIND, PIXELS, CHANNELS, CTAS, SHIFTS, false)
/// Those of every type.
#define SHIFTCONV_IM2COL_PIECES_KERNELS(SUFFIX, PIXELS, CHANNELS, CTAS, SHIFTS)                                                  \
  SHIFTCONV_IM2COL_PIECES_KERNEL(im2col_sm90_f16_##PIXELS##x##CHANNELS##SUFFIX, f16, PIXELS, CHANNELS, CTAS, SHIFTS)             \
  SHIFTCONV_IM2COL_PIECES_KERNEL(im2col_sm90_bf16_##PIXELS##x##CHANNELS##SUFFIX, bf16, PIXELS, CHANNELS, CTAS, SHIFTS)           \
  SHIFTCONV_IM2COL_PIECES_KERNEL(im2col_sm90_e4m3_e4m3_##PIXELS##x##CHANNELS##SUFFIX, e4m3_e4m3, PIXELS, CHANNELS, CTAS, SHIFTS) \
  SHIFTCONV_IM2COL_PIECES_KERNEL(im2col_sm90_s8_s8_##PIXELS##x##CHANNELS##SUFFIX, s8_s8, PIXELS, CHANNELS, CTAS, SHIFTS)         \
  SHIFTCONV_IM2COL_PIECES_KERNEL(im2col_sm90_u8_s8_##PIXELS##x##CHANNELS##SUFFIX, u8_s8, PIXELS, CHANNELS, CTAS, SHIFTS)
