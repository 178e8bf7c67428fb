// Pieces of rows that begin anywhere in global memory: an odd number of channels of f16, or any of 8 bits.
//
// cp.async copies 4 bytes or more, as much aligned (PTX ISA 9.7.9.25.3.1). So a thread loads the aligned words that hold 16 bytes
// of a row, at most five, and shifts them into place.
#pragma once

#include <cstdint>

#include "common/ptx/shared_memory.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"

namespace shiftconv::kernels::im2col {

inline constexpr int32_t kShiftedBytes = 16;                     ///< of a piece
inline constexpr int32_t kShiftedWords = kShiftedBytes / 4 + 1;  ///< aligned ones that may hold parts of it
/// Rows of an operand, of a byte or more each, that copy single bytes: after them nothing may be read.
inline constexpr int32_t kLastRows = 3;

/// The first `count` bytes of a word, the number of which may be negative or more than 4, and zeros.
__device__ __forceinline__ uint32_t firstBytes(uint32_t word, int32_t count) {
  return count > 0 ? word & 0xffffffffu >> max(32 - 8 * count, 0) : 0;
}

/// Up to 16 bytes of a row, on their way.
struct ShiftedPiece {
  uint32_t word[kShiftedWords];

  /// Asks for the aligned words that have one of the `count` bytes from `shift` bytes after `words` on.
  __device__ __forceinline__ void load(const uint32_t* words, uint32_t shift, int32_t count) {
    const int32_t end = count > 0 ? count + static_cast<int32_t>(shift) : 0;
#pragma unroll
    for (int32_t i = 0; i < kShiftedWords; ++i) word[i] = 4 * i < end ? words[i] : 0;
  }
  /// The same bytes, and zeros after them.
  __device__ __forceinline__ uint4 placed(uint32_t shift, int32_t count) const {
    uint32_t w[4];
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) w[i] = firstBytes(__funnelshift_r(word[i], word[i + 1], 8 * shift), count - 4 * i);
    return make_uint4(w[0], w[1], w[2], w[3]);
  }
};

/// 128 bytes of each of kRows rows of an operand, of which `count` exist, from byte `firstByte` on: what a thread of
/// kGroups warpgroups copies of them to shared memory, and zeros for what does not exist, which is not read.
template <int32_t kRows, int32_t kGroups>
class ShiftedRows {
  static constexpr int32_t kThreads = pieceThreads(kGroups), kPieces = kRowBytes / kShiftedBytes, kStep = kThreads / kPieces,
                           kPatternRows = 8;
  static_assert(kStep % kPatternRows == 0, "rows of a thread have one place in the swizzle's pattern, and one shift");

 public:
  static constexpr int32_t kOwn = (kRows + kStep - 1) / kStep;  ///< pieces of a thread

  __device__ __forceinline__ ShiftedRows(uint32_t stage, const uint8_t* first, int32_t count, int32_t pitch, int32_t rowBytes,
                                         int32_t firstByte)
      : stage_(stage), first_(first + firstByte), count_(count), pitch_(pitch), ofRow_(rowBytes - firstByte) {
    const int32_t firstRow = static_cast<int32_t>(threadIdx.x) / kPieces,
                  place = static_cast<int32_t>(threadIdx.x) % kPieces * kShiftedBytes;
    inRow_ = min(max(ofRow_ - place, 0), kShiftedBytes);
    const uint8_t* const from = first_ + static_cast<int64_t>(firstRow) * pitch + place;
    shift_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4);
    from_ = from - shift_;
    to_ = stage + static_cast<uint32_t>(firstRow * kRowBytes) + (place ^ (firstRow % kPatternRows * 16));
    before_ = max(count - kLastRows, 0) - firstRow;
  }

  __device__ __forceinline__ void ask() {
#pragma unroll
    for (int32_t i = 0; i < kOwn; ++i) {
      const uint8_t* const at = from_ + static_cast<int64_t>(i * kStep) * pitch_;
      pieces_[i].load(reinterpret_cast<const uint32_t*>(at), shift_, i * kStep < before_ ? inRow_ : 0);
    }
  }
  /// Waits for what was asked for.
  __device__ __forceinline__ void put() const {
    const int32_t last = min(count_, kLastRows);
#pragma unroll
    for (int32_t i = 0; i < kOwn; ++i) {
      const int32_t before = before_ - i * kStep;
      const uint32_t to = to_ + static_cast<uint32_t>(i * kStep * kRowBytes);
      const bool isInTile = kRows % kStep == 0 || to < stage_ + kRows * kRowBytes;
      const uint4 v = pieces_[i].placed(shift_, before > 0 ? inRow_ : 0);
      if (isInTile && (before > 0 || before <= -last)) ptx::storeShared16Bytes(to, v.x, v.y, v.z, v.w);
    }
    if (count_ <= kRows + kLastRows) copyLast();
  }

 private:
  /// Of the last rows that the tile has, one byte after the other.
  __device__ __forceinline__ void copyLast() const {
    constexpr int32_t kWord = 4, kWords = kRowBytes / kWord;
    const int32_t last = min(count_, kLastRows);
#pragma unroll 1
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < last * kWords; i += kThreads) {
      const int32_t row = count_ - last + i / kWords, byte = i % kWords * kWord;
      if (row >= kRows) break;
      const uint8_t* const from = first_ + static_cast<int64_t>(row) * pitch_ + byte;
      uint32_t word = 0;
#pragma unroll
      for (int32_t b = 0; b < kWord; ++b)
        if (byte + b < ofRow_) word |= static_cast<uint32_t>(from[b]) << (8 * b);
      ptx::storeShared4Bytes(stage_ + static_cast<uint32_t>(row * kRowBytes + (byte ^ (row % kPatternRows * 16))), word);
    }
  }

  uint32_t stage_;
  const uint8_t* first_;
  int32_t count_, pitch_, ofRow_;  ///< bytes of a row from the first one on
  int32_t inRow_;                  ///< bytes of a piece that are the row's
  const uint8_t* from_;            ///< aligned; of the first piece
  uint32_t shift_, to_;
  int32_t before_;  ///< rows before the last ones, from the thread's first one on
  ShiftedPiece pieces_[kOwn];
};

}  // namespace shiftconv::kernels::im2col
