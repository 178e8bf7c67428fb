// Conversion of a segment's values and their way out: vector stores to global memory, or a tile in shared memory for a tensor map.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/epilogue/quantize.cuh"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/conversion.cuh"
#include "common/ptx/shared_memory.cuh"

namespace shiftconv::gemm {

/// One e2m1 code, for architectures without the conversion: counts the rounding boundaries that |v| has passed; a tie belongs to
/// the even code, hence >= and > in turn.
__device__ __forceinline__ uint32_t roundE2m1(float v) {
  const float w = fabsf(v);
  const uint32_t code = (w > 0.25f) + (w >= 0.75f) + (w > 1.25f) + (w >= 1.75f) + (w > 2.5f) + (w >= 3.5f) + (w > 5.0f);
  return code | (__float_as_uint(v) >> 28 & 8u);
}
__device__ __forceinline__ uint32_t packPairE2m1(float low, float high) {
#if __CUDA_ARCH__ >= 1000
  return ptx::packE2m1(low, high);
#else
  return roundE2m1(low) | roundE2m1(high) << 4;
#endif
}

/// Rounded to nearest even, before it saturates. The limits keep the sum from wrapping; all of S8 and U8 lies within reach of them.
__device__ __forceinline__ int32_t integerOf(float v, int32_t zeroPoint) {
  const int32_t rounded = __float2int_rn(v);
  return (rounded < -1024 ? -1024 : rounded > 1024 ? 1024 : rounded) + zeroPoint;
}

template <NumberType kType, int32_t kColumns>
struct PackedSegment {
  static constexpr int32_t kBytes = kColumns * numerics::storageBits(kType) / 8;
  static constexpr int32_t kElementBytes = numerics::storageBits(kType) < 8 ? 1 : numerics::storageBits(kType) / 8;
  uint32_t word[kBytes < 4 ? 1 : kBytes / 4];

  __device__ __forceinline__ explicit PackedSegment(const float (&v)[kColumns], int32_t zeroPoint = 0) {
    constexpr int32_t kPerWord = 32 / numerics::storageBits(kType);
#pragma unroll
    for (int32_t i = 0; i < kColumns; i += kPerWord) {
      const auto at = [&](int32_t j) { return i + j < kColumns ? v[i + j < kColumns ? i + j : 0] : 0.0f; };
      uint32_t& target = word[i / kPerWord];
      if constexpr (kType == NumberType::F32) {
        target = __float_as_uint(at(0));
      } else if constexpr (kType == NumberType::F16) {
        target = ptx::packF16(at(0), at(1));
      } else if constexpr (kType == NumberType::BF16) {
        target = ptx::packBf16(at(0), at(1));
      } else if constexpr (kType == NumberType::E4M3) {
        target = ptx::packE4m3(at(0), at(1)) | ptx::packE4m3(at(2), at(3)) << 16;
      } else if constexpr (kType == NumberType::E5M2) {
        target = ptx::packE5m2(at(0), at(1)) | ptx::packE5m2(at(2), at(3)) << 16;
      } else if constexpr (kType == NumberType::S8) {
        target = ptx::packS8(integerOf(at(0), zeroPoint), integerOf(at(1), zeroPoint), integerOf(at(2), zeroPoint),
                             integerOf(at(3), zeroPoint));
      } else if constexpr (kType == NumberType::U8) {
        target = ptx::packU8(integerOf(at(0), zeroPoint), integerOf(at(1), zeroPoint), integerOf(at(2), zeroPoint),
                             integerOf(at(3), zeroPoint));
      } else {
        static_assert(kType == NumberType::E2M1);
        target = packPairE2m1(at(0), at(1)) | packPairE2m1(at(2), at(3)) << 8 | packPairE2m1(at(4), at(5)) << 16 |
                 packPairE2m1(at(6), at(7)) << 24;
      }
    }
  }
};

/// Part of a row in global memory. This thread alone writes the bytes of its columns; the half of a byte behind an odd number of
/// 4-bit columns stays as it was.
struct GlobalRow {
  uint8_t* begin;
  int32_t existingColumns;  ///< of the segment; the rest lies outside of the matrix

  template <NumberType kType, int32_t kColumns>
  __device__ __forceinline__ void take(const PackedSegment<kType, kColumns>& segment) const {
    constexpr int32_t kBytes = segment.kBytes, kElementBytes = segment.kElementBytes;
    constexpr uint32_t kVectorBytes = kBytes < 16 ? kBytes : 16;
    if (existingColumns >= kColumns && reinterpret_cast<uint64_t>(begin) % kVectorBytes == 0) {
      if constexpr (kVectorBytes == 16) {
#pragma unroll
        for (int32_t i = 0; i < kBytes / 16; ++i)
          reinterpret_cast<uint4*>(begin)[i] =
              make_uint4(segment.word[4 * i], segment.word[4 * i + 1], segment.word[4 * i + 2], segment.word[4 * i + 3]);
      } else if constexpr (kVectorBytes == 8) {
        *reinterpret_cast<uint2*>(begin) = make_uint2(segment.word[0], segment.word[1]);
      } else if constexpr (kVectorBytes == 4) {
        *reinterpret_cast<uint32_t*>(begin) = segment.word[0];
      } else {
        *reinterpret_cast<uint16_t*>(begin) = static_cast<uint16_t>(segment.word[0]);
      }
      return;
    }
#pragma unroll
    for (int32_t byte = 0; byte < kBytes; byte += kElementBytes) {
      const int32_t column = byte * 8 / numerics::storageBits(kType);
      if (column >= existingColumns) continue;
      const uint32_t bits = segment.word[byte / 4] >> (byte % 4 * 8);
      if constexpr (kElementBytes == 4) {
        *reinterpret_cast<uint32_t*>(begin + byte) = bits;
      } else if constexpr (kElementBytes == 2) {
        *reinterpret_cast<uint16_t*>(begin + byte) = static_cast<uint16_t>(bits);
      } else if (numerics::storageBits(kType) == 4 && column + 1 == existingColumns) {
        begin[byte] = static_cast<uint8_t>((begin[byte] & 0xf0u) | (bits & 0x0fu));
      } else {
        begin[byte] = static_cast<uint8_t>(bits);
      }
    }
  }
};

/// A tile of `rows` rows in shared memory, cut into boxes of boxBytes (stagingBoxBytes) across, one after the other, each in the
/// swizzle of its width.
struct StagingTile {
  uint32_t address;  ///< 1024-byte aligned
  int32_t rows;      ///< multiple of 8
  int32_t boxBytes;  ///< 16, 32, 64 or 128

  __device__ __forceinline__ uint32_t box(int32_t index) const { return address + static_cast<uint32_t>(index * rows * boxBytes); }
  /// Where the 16 bytes at `byte` of a row lie: bits 6:4 of the address are exchanged according to bits 9:7, as many as the width
  /// has.
  __device__ __forceinline__ uint32_t at(int32_t row, int32_t byte) const {
    const uint32_t width = static_cast<uint32_t>(boxBytes), inRow = static_cast<uint32_t>(byte) & (width - 1);
    const uint32_t linear =
        box(static_cast<int32_t>(static_cast<uint32_t>(byte) / width)) + static_cast<uint32_t>(row) * width + inRow;
    return linear ^ ((linear >> 3) & (width - 1) & 0x70u);
  }
};

/// Part of a row of a staging tile; segments of at least 8 bytes.
struct StagedRow {
  StagingTile tile;
  int32_t row, byte;

  template <NumberType kType, int32_t kColumns>
  __device__ __forceinline__ void take(const PackedSegment<kType, kColumns>& segment) const {
    constexpr int32_t kBytes = segment.kBytes;
    static_assert(kBytes >= 8, "narrower segments make bank conflicts of every store");
#pragma unroll
    for (int32_t i = 0; i < kBytes; i += 16) {
      const uint32_t target = tile.at(row, byte + i);
      if constexpr (kBytes >= 16) {
        ptx::storeShared16Bytes(target, segment.word[i / 4], segment.word[i / 4 + 1], segment.word[i / 4 + 2],
                                segment.word[i / 4 + 3]);
      } else {
        ptx::storeShared8Bytes(target, segment.word[0], segment.word[1]);
      }
    }
  }
};

/// Converts the values of computeSegment and hands them to `target`; stores scale factors when the output has them.
template <int32_t kColumns, class Target>
__device__ __forceinline__ void convertSegment(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns],
                                               const Target& target) {
  if constexpr (kColumns % 32 == 0) {
    if (p.outputBlock == 32) quantizeSegment<32>(p, row, column, v);
  }
  if constexpr (kColumns % 16 == 0) {
    if (p.outputBlock == 16) quantizeSegment<16>(p, row, column, v);
  }
  switch (p.outputType) {
    case NumberType::F32:
    case NumberType::S32:
      target.take(PackedSegment<NumberType::F32, kColumns>(v));
      break;
    case NumberType::F16:
      target.take(PackedSegment<NumberType::F16, kColumns>(v));
      break;
    case NumberType::BF16:
      target.take(PackedSegment<NumberType::BF16, kColumns>(v));
      break;
    case NumberType::E4M3:
      target.take(PackedSegment<NumberType::E4M3, kColumns>(v));
      break;
    case NumberType::E5M2:
      target.take(PackedSegment<NumberType::E5M2, kColumns>(v));
      break;
    case NumberType::S8:
      target.take(PackedSegment<NumberType::S8, kColumns>(v, p.outputZeroPoint));
      break;
    case NumberType::U8:
      target.take(PackedSegment<NumberType::U8, kColumns>(v, p.outputZeroPoint));
      break;
    default:
      if constexpr (kColumns % 16 == 0) target.take(PackedSegment<NumberType::E2M1, kColumns>(v));
      break;
  }
}

/// Stores a segment of computeSegment to p.output, as wide as its address allows; nothing outside of the matrix.
template <int32_t kColumns>
__device__ __forceinline__ void storeSegment(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns]) {
  const int32_t existing = static_cast<uint32_t>(row) < static_cast<uint32_t>(p.rows) ? p.columns - column : 0;
  const int32_t bits = numerics::storageBits(p.outputType);
  const GlobalRow target{static_cast<uint8_t*>(p.output) + row * p.outputPitch + static_cast<int64_t>(column) * bits / 8, existing};
  convertSegment(p, row, column, v, target);
}

/// Puts a segment into `tile` at row tileRow and `tileColumn` elements from its left edge. When all segments of the tile are there,
/// every writing thread executes fenceProxyAsyncShared, then all meet at a barrier, then one calls storeStagedTile.
template <int32_t kColumns>
__device__ __forceinline__ void stageSegment(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns],
                                             const StagingTile& tile, int32_t tileRow, int32_t tileColumn) {
  convertSegment(p, row, column, v, StagedRow{tile, tileRow, tileColumn * numerics::storageBits(p.outputType) / 8});
}

/// One thread: stores `columns` staged columns with their upper left corner at (row, column), clipped to the matrix. `map`
/// describes the output in elements of its type, or in bytes for E2M1, with boxes of tile.boxBytes x tile.rows. Completion through
/// bulkCommitGroup, which is the caller's.
__device__ __forceinline__ void storeStagedTile(const EpilogueParams& p, const void* map, const StagingTile& tile, int32_t columns,
                                                int32_t row, int32_t column) {
  const int32_t bits = numerics::storageBits(p.outputType), elementBits = bits < 8 ? 8 : bits;
  const int32_t boxBits = tile.boxBytes * 8, firstElement = column * bits / elementBits;
  for (int32_t box = 0; box * boxBits < columns * bits; ++box)
    ptx::storeTile2d(map, firstElement + box * boxBits / elementBits, row, tile.box(box));
}

}  // namespace shiftconv::gemm
