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
//  - Shifted words are there when a round has been asked for: other CTAs of the multiprocessor multiply meanwhile.
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
#include "conv/algorithms/im2col_sm90/unaligned_pieces.cuh"
#include "conv/kernels/left_out.cuh"

namespace shiftconv::kernels::im2col {

template <class Kind, int kGroups, int kChannels, bool kIsLean>
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
    sums_ = reinterpret_cast<float*>(stages);
    const uint32_t pixelTile = p_.channelTiles.quotient(blockIdx.x), channelTile = blockIdx.x - pixelTile * p_.channelTiles.divisor;
    firstPixel_ = static_cast<int32_t>(pixelTile) * kPixels;
    firstChannel_ = static_cast<int32_t>(channelTile) * kChannels;
  }

  __device__ void run() {
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const Finish epilogue(p_, *control_, stages_, sums_, firstPixel_, p_.epilogue.rows, firstChannel_, p_.groupColumns);
    typename Finish::Fetched fetched = {};
    const int32_t rounds = (p_.chunks + chunksOfRound() - 1) / chunksOfRound();
    typename Kind::Sum d[kChannels / 2];
    uint32_t accumulate = 0;
    // One loop, so that code that loads is there once: a round is multiplied when the next one has been asked for.
#pragma unroll 1
    for (int32_t round = 0; round < rounds + 2; ++round) {
      if (round >= 2) {
        ptx::copyAsyncWaitGroup<1>();
        ptx::fenceProxyAsyncShared();
        ptx::namedBarrierSync(kRound, kThreads);  // site: round_there
        multiply(d, round - 2, warp / 4, accumulate);
        if (round < rounds) ptx::namedBarrierSync(kRound, kThreads);  // site: round_read
      }
      load(round);
      ptx::copyAsyncCommitGroup();  // of nothing, too: the next round waits for all groups but one
      // The first round waits for a residual, too.
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
    const auto await = [&](bool now) {
      if (round != 0 || !now) return;
      ptx::awaitPrerequisitesWith<true>(p_.pieces.input, p_);
      ptx::launchDependents();
    };
    await(!p_.filterAhead);
    const uint8_t* const filter = pieces.filter + static_cast<int64_t>(firstChannel_) * pieces.rowBytes;
    copyRows<kChannels>(round, kPixelBytes, filter, p_.groupColumns - firstChannel_, pieces.rowBytes);
    await(p_.filterAhead);
    const uint8_t* const pixels = pieces.input + static_cast<int64_t>(firstPixel_) * pieces.inputPitch;
    copyRows<kPixels>(round, 0, pixels, p_.epilogue.rows - firstPixel_, pieces.inputPitch);
  }
  /// kRows rows of an operand, of which `count` exist, to `offset` in each stage of a round.
  template <int32_t kRows>
  __device__ __forceinline__ void copyRows(int32_t round, uint32_t offset, const uint8_t* first, int32_t count,
                                           int32_t pitch) const {
    forChunks(round, [&](int32_t chunk, uint32_t stage) {
      if (p_.pieces.bytes == 16)
        copyPieces<kRows, 16>(stage + offset, first, count, pitch, chunk * kRowBytes);
      else if (p_.pieces.bytes == 8)
        copyPieces<kRows, 8>(stage + offset, first, count, pitch, chunk * kRowBytes);
      else if (p_.pieces.bytes == 4)
        copyPieces<kRows, 4>(stage + offset, first, count, pitch, chunk * kRowBytes);
      else
        copyUnaligned<kRows>(stage + offset, first, count, pitch, chunk * kRowBytes);
    });
  }
  /// 128 bytes of each row, from byte `firstByte` on; zeros for what does not exist, which is not read. Unrolled: with a loop
  /// layers took 1.07 times as long (H200).
  template <int32_t kRows, int32_t kBytes>
  __device__ __forceinline__ void copyPieces(uint32_t stage, const uint8_t* first, int32_t count, int32_t pitch,
                                             int32_t firstByte) const {
    constexpr int32_t kPieces = kRowBytes / kBytes, kStep = kThreads / kPieces;
    static_assert(kThreads % kPieces == 0 && kStep % (kPatternRows / 2) == 0);
    const int32_t firstRow = static_cast<int32_t>(threadIdx.x) / kPieces,
                  place = static_cast<int32_t>(threadIdx.x) % kPieces * kBytes;
    const int32_t byte = firstByte + place, existing = byte < p_.pieces.rowBytes ? count - firstRow : 0;
    const uint8_t* from = first + static_cast<int64_t>(firstRow) * pitch + byte;
    const uint32_t to = stage + static_cast<uint32_t>(firstRow * kRowBytes), swizzled = place ^ (firstRow % kPatternRows * 16);
#pragma unroll
    for (int32_t row = 0; row < kRows; row += kStep, from += static_cast<int64_t>(kStep) * pitch) {
      if (kRows % kStep != 0 && firstRow + row >= kRows) break;
      // Steps of half a pattern change one bit.
      ptx::copyAsync<kBytes>(to + static_cast<uint32_t>(row * kRowBytes) + (swizzled ^ (row % kPatternRows * 16)), from,
                             row < existing ? kBytes : 0);
    }
  }

  /// The same of rows that begin anywhere, by way of registers: there when it returns.
  template <int32_t kRows>
  __device__ __forceinline__ void copyUnaligned(uint32_t stage, const uint8_t* first, int32_t count, int32_t pitch,
                                                int32_t firstByte) const {
    constexpr int32_t kPieces = kRowBytes / kUnalignedBytes, kStep = kThreads / kPieces;
    constexpr int32_t kTogether = kIsLean ? 4 : 2;  // as many as there are registers for
    static_assert(kStep % kPatternRows == 0, "rows of a thread have one place in the swizzle's pattern");
    const int32_t firstRow = static_cast<int32_t>(threadIdx.x) / kPieces,
                  place = static_cast<int32_t>(threadIdx.x) % kPieces * kUnalignedBytes;
    const int32_t ofRow = p_.pieces.rowBytes - firstByte - place, inRow = min(max(ofRow, 0), kUnalignedBytes);
    const uint8_t* from = first + static_cast<int64_t>(firstRow) * pitch + firstByte + place;
    uint32_t to = stage + static_cast<uint32_t>(firstRow * kRowBytes) + (place ^ (firstRow % kPatternRows * 16));
    int32_t before = max(count - kLastRows, 0) - firstRow;  // rows before the last ones, from the next row on
    const int32_t last = min(count, kLastRows);
#pragma unroll 1
    for (int32_t batch = 0; batch < kRows; batch += kTogether * kStep) {
      UnalignedPiece pieces[kTogether];
#pragma unroll
      for (int32_t i = 0; i < kTogether; ++i, from += static_cast<int64_t>(kStep) * pitch)
        pieces[i].load(from, i * kStep < before ? inRow : 0);
#pragma unroll
      for (int32_t i = 0; i < kTogether; ++i, to += kStep * kRowBytes, before -= kStep) {
        const bool isInTile = kRows % (kTogether * kStep) == 0 || to < stage + kRows * kRowBytes;
        const uint4 v = pieces[i].placed(before > 0 ? inRow : 0);
        if (isInTile && (before > 0 || before <= -last)) ptx::storeShared16Bytes(to, v.x, v.y, v.z, v.w);
      }
    }
    if (count <= kRows + kLastRows) copyLastRows<kRows>(stage, first, count, pitch, firstByte);
  }
  /// The same of those of the last rows that the tile has, one byte after the other.
  template <int32_t kRows>
  __device__ __forceinline__ void copyLastRows(uint32_t stage, const uint8_t* first, int32_t count, int32_t pitch,
                                               int32_t firstByte) const {
    constexpr int32_t kWord = 4, kWords = kRowBytes / kWord;
    const int32_t last = min(count, kLastRows);
#pragma unroll 1
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < last * kWords; i += kThreads) {
      const int32_t row = count - last + i / kWords, byte = i % kWords * kWord;
      if (row >= kRows) break;
      const uint8_t* const from = first + static_cast<int64_t>(row) * pitch + firstByte + byte;
      uint32_t word = 0;
#pragma unroll
      for (int32_t b = 0; b < kWord; ++b)
        if (firstByte + byte + b < p_.pieces.rowBytes) word |= static_cast<uint32_t>(from[b]) << (8 * b);
      ptx::storeShared4Bytes(stage + static_cast<uint32_t>(row * kRowBytes + (byte ^ (row % kPatternRows * 16))), word);
    }
  }

  const Params& p_;
  Control<kChannels>* control_;
  float* sums_;
  uint32_t stages_;
  int32_t firstPixel_, firstChannel_;
};

}  // namespace shiftconv::kernels::im2col

// Tiles of PIXELS output pixels x CHANNELS output channels.
#define SHIFTCONV_IM2COL_PIECES_KERNEL_OF(NAME, KIND, PIXELS, CHANNELS, CTAS, IS_LEAN)                                \
  SHIFTCONV_KERNEL(                                                                                                   \
      NAME, extern "C" __global__ void __launch_bounds__(shiftconv::kernels::im2col::pieceThreads(PIXELS / 64), CTAS) \
                NAME(const __grid_constant__ shiftconv::kernels::im2col::Params params) {                             \
                  using namespace shiftconv::kernels::im2col;                                                         \
                  PiecesCta<kinds::KIND, PIXELS / 64, CHANNELS, IS_LEAN>(params).run();                               \
                })
/// The kernel of lean epilogues, and that of the others.
#define SHIFTCONV_IM2COL_PIECES_KERNEL(NAME, KIND, PIXELS, CHANNELS, CTAS)           \
  SHIFTCONV_IM2COL_PIECES_KERNEL_OF(NAME##_lean, KIND, PIXELS, CHANNELS, CTAS, true) \
  SHIFTCONV_IM2COL_PIECES_KERNEL_OF(NAME, KIND, PIXELS, CHANNELS, CTAS, false)
