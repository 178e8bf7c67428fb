// Rows of outputs of a warp of im2col_sm90 in shared memory, over the stages or behind sums put away, and their way out.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ptx/shared_memory.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/phase.cuh"
#include "conv/kernels/unaligned_rows.cuh"

namespace shiftconv::kernels::im2col {

/// Of a tile of kChannels channels. Rows of the output from endRow on, and channels from endChannel on, are not of this tile, or of
/// none.
template <int kChannels, class Outputs>
struct StagedRows {
  const Params& params;
  uint32_t stages;  ///< where the ring begins in shared memory
  int32_t firstPixel, endRow, firstChannel, endChannel;
  [[no_unique_address]] Outputs outputs;  ///< whose pixels these are

  /// The row of the output that one of a warp's 16 is.
  __device__ __forceinline__ int32_t outputRow(uint32_t warp, int32_t row) const {
    const int32_t pixel = firstPixel + static_cast<int32_t>(warp) * 16 + row;
    if constexpr (Outputs::kArePhase) return outputs.rowOf(pixel);
    return pixel;
  }

  /// Where a warp's 16 rows of sums begin that it has put away.
  __device__ __forceinline__ uint32_t sumsOf(uint32_t warp) const { return stages + warp * (16 * sumsPitch(kChannels)); }
  /// Where a warp's 16 rows of outputs, and of the residual before them, begin.
  template <int32_t kElementBytes>
  __device__ __forceinline__ uint32_t begin(uint32_t warp) const {
    return stages + static_cast<uint32_t>(params.stagingOffset) + warp * (16 * stagedPitch(kChannels, kElementBytes));
  }
  /// Of a channel in one of them.
  template <int32_t kElementBytes>
  __device__ __forceinline__ uint32_t addressOf(uint32_t warp, int32_t row, int32_t column) const {
    return begin<kElementBytes>(warp) + static_cast<uint32_t>(row * stagedPitch(kChannels, kElementBytes) + column * kElementBytes);
  }
  /// A lane's address for four matrices: number m has rows 8 * (m % 2).. of the warp's 16, channels 8 * (m / 2).. from fragment j
  /// on.
  static __device__ __forceinline__ uint32_t matrices(uint32_t rows, int32_t j) {
    const uint32_t lane = threadIdx.x % 32;
    return rows + lane % 16 * stagedPitch(kChannels, 2) + (static_cast<uint32_t>(j) + lane / 16) * 16;
  }
  /// Where a lane's pairs of channels of 8 bits begin: its first row, fragment 0.
  __device__ __forceinline__ uint32_t pairsAt(uint32_t warp) const {
    const uint32_t lane = threadIdx.x % 32;
    return begin<1>(warp) + lane / 4 * stagedPitch(kChannels, 1) + lane % 4 * 2;
  }
  static __device__ __forceinline__ uint32_t pairAt(uint32_t pairs, int32_t row, int32_t j) {
    return pairs + static_cast<uint32_t>(row * 8 * stagedPitch(kChannels, 1) + j * 8);
  }
  /// Of fragments j and j + 1 in one of its two rows, that of j lowest.
  static __device__ __forceinline__ uint32_t loadPairs(uint32_t pairs, int32_t row, int32_t j) {
    return ptx::loadShared2Bytes(pairAt(pairs, row, j)) | ptx::loadShared2Bytes(pairAt(pairs, row, j + 1)) << 16;
  }
  /// Of fragments j and j + 1 in both rows; `pack` makes bytes of four numbers.
  template <class Pack>
  static __device__ __forceinline__ void storePairs(uint32_t pairs, int32_t j, const float* v, Pack&& pack) {
#pragma unroll
    for (int32_t row = 0; row < 2; ++row) {
      const uint32_t both = pack(v[2 * row], v[2 * row + 1], v[4 + 2 * row], v[5 + 2 * row]);
      ptx::storeShared2Bytes(pairAt(pairs, row, j), static_cast<uint16_t>(both));
      ptx::storeShared2Bytes(pairAt(pairs, row, j + 1), static_cast<uint16_t>(both >> 16));
    }
  }
  /// Calls body(address, row of the output, channel, exists) for the pieces of the warp's rows: neighbouring lanes have
  /// neighbouring pieces.
  template <int32_t kElementBytes, int32_t kBytes, int32_t kTogether = 8, class Body>
  __device__ __forceinline__ void forEachPiece(uint32_t warp, Body&& body) const {
    constexpr int32_t kPieces = kChannels * kElementBytes / kBytes, kTurns = (16 * kPieces + 31) / 32;
    constexpr int32_t kUnrolled = kTurns < kTogether ? kTurns : kTogether;
    constexpr bool kAreWhole = 16 * kPieces % 32 == 0;
#pragma unroll kUnrolled
    for (int32_t i = 0; i < kTurns; ++i) {
      const int32_t piece = i * 32 + static_cast<int32_t>(threadIdx.x % 32), row = piece / kPieces, column = piece % kPieces;
      if (!kAreWhole && row >= 16) continue;  // the next warp's rows
      const int32_t ofOutput = outputRow(warp, row), channel = firstChannel + column * (kBytes / kElementBytes);
      body(begin<kElementBytes>(warp) + static_cast<uint32_t>(row * stagedPitch(kChannels, kElementBytes) + column * kBytes),
           ofOutput, channel, ofOutput < endRow && channel < endChannel);
    }
  }
  /// Calls body(bytes) with what rows consist of; false where that is single elements, and kMayBeElements.
  template <bool kMayBeElements = true, class Body>
  __device__ __forceinline__ bool inPieces(Body&& body) const {
    if (params.pieceBytes == 16)
      body(std::integral_constant<int32_t, 16>());
    else if (params.pieceBytes == 8)
      body(std::integral_constant<int32_t, 8>());
    else if (!kMayBeElements || params.pieceBytes == 4)
      body(std::integral_constant<int32_t, 4>());
    else
      return false;
    return true;
  }
  /// The rows that the warp has staged, to global memory.
  template <int32_t kElementBytes>
  __device__ __forceinline__ void copyOut(uint32_t warp) const {
    if (!inPieces([&](auto bytes) { copyPieces<kElementBytes, decltype(bytes)::value>(warp); }))
      copyUnaligned<kElementBytes>(warp, [](const uint4& vector) { return vector; });
  }
  template <int32_t kElementBytes, int32_t kBytes>
  __device__ __forceinline__ void copyPieces(uint32_t warp) const {
    auto* const output = static_cast<uint8_t*>(params.epilogue.output);
    forEachPiece<kElementBytes, kBytes>(warp, [&](uint32_t address, int32_t row, int32_t channel, bool exists) {
      if (!exists) return;
      uint8_t* const to = output + row * params.epilogue.outputPitch + channel * kElementBytes;
      if constexpr (kBytes == 16) {
        uint4 channels;
        ptx::loadShared16Bytes(address, channels.x, channels.y, channels.z, channels.w);
        *reinterpret_cast<uint4*>(to) = channels;
      } else if constexpr (kBytes == 8) {
        uint2 channels;
        ptx::loadShared8Bytes(address, channels.x, channels.y);
        *reinterpret_cast<uint2*>(to) = channels;
      } else {
        *reinterpret_cast<uint32_t*>(to) = ptx::loadShared4Bytes(address);
      }
    });
  }
  /// Rows that begin anywhere. ordered(vector): of a staged row, its channels in order.
  template <int32_t kElementBytes, class Ordered>
  __device__ __forceinline__ void copyUnaligned(uint32_t warp, Ordered&& ordered) const {
    copyUnalignedFrom<kElementBytes>(warp, begin<kElementBytes>(warp), stagedPitch(kChannels, kElementBytes), ordered);
  }
  /// The same of rows that lie elsewhere, `pitch` bytes from one to the next.
  template <int32_t kElementBytes, class Ordered>
  __device__ __forceinline__ void copyUnalignedFrom(uint32_t warp, uint32_t staged, int32_t pitch, Ordered&& ordered) const {
    auto* const output = static_cast<uint8_t*>(params.epilogue.output) + firstChannel * kElementBytes;
    const int32_t bytes = min(kChannels, endChannel - firstChannel) * kElementBytes;
    storeUnalignedRows<kElementBytes, 16, kChannels * kElementBytes / 16>(
        bytes,
        [&](int32_t row) {
          const int32_t ofOutput = outputRow(warp, row);
          return ofOutput < endRow ? output + ofOutput * params.epilogue.outputPitch : nullptr;
        },
        [&](int32_t row, int32_t i) {
          uint4 vector;
          ptx::loadShared16Bytes(staged + static_cast<uint32_t>(row * pitch + i * 16), vector.x, vector.y, vector.z, vector.w);
          return ordered(vector);
        });
  }
};

}  // namespace shiftconv::kernels::im2col
