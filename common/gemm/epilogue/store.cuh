// Conversion of a segment's values and their way out: vector stores to global memory, or a tile in shared memory for a tensor map.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/epilogue/quantize.cuh"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/conversion.cuh"
#include "common/ptx/shared_memory.cuh"

namespace shiftconv::gemm {

/// One code of a type without infinity and NaN, for architectures without the conversion. Adding `anchor`, whose last place is the
/// code's, rounds |v| to nearest even; a carry goes on into the exponent.
template <NumberType kType, int32_t kFractionBits, int32_t kSmallestExponent>
__device__ __forceinline__ uint32_t roundNarrow(float v) {
  const float w = fminf(fabsf(v), static_cast<float>(numerics::largestValue(kType)));
  const int32_t exponent = max(static_cast<int32_t>(__float_as_uint(w) >> 23) - 127, kSmallestExponent);
  const uint32_t anchor = static_cast<uint32_t>(exponent - kFractionBits + 23 + 127) << 23;
  const uint32_t code = (static_cast<uint32_t>(exponent - kSmallestExponent) << kFractionBits) +
                        (__float_as_uint(__uint_as_float(anchor) + w) - anchor);
  return code | (__float_as_uint(v) >> 31) << (numerics::storageBits(kType) - 1);
}

/// The codes of two numbers side by side, the low one lowest.
template <NumberType kType>
__device__ __forceinline__ uint32_t packNarrowPair(float low, float high) {
#if __CUDA_ARCH__ >= 1000
  if constexpr (kType == NumberType::E2M1) return ptx::packE2m1(low, high);
  const uint32_t bytes = kType == NumberType::E3M2 ? ptx::packE3m2(low, high) : ptx::packE2m3(low, high);
  return (bytes & 0x3fu) | (bytes >> 2 & 0xfc0u);
#else
  constexpr int32_t kFractionBits = kType == NumberType::E2M3 ? 3 : kType == NumberType::E3M2 ? 2 : 1;
  constexpr int32_t kSmallestExponent = kType == NumberType::E3M2 ? -2 : 0;
  return roundNarrow<kType, kFractionBits, kSmallestExponent>(low) | roundNarrow<kType, kFractionBits, kSmallestExponent>(high)
                                                                         << numerics::storageBits(kType);
#endif
}

/// Rounded to nearest even, before it saturates. The limits keep the sum from wrapping; all of S8 and U8 lies within reach of them.
/// (Adding 2^23 + 2^22 instead, here and where sums become floats, took 1.1 to 1.2 times as long in layers of s8 on H200s.)
__device__ __forceinline__ int32_t integerOf(float v, int32_t zeroPoint) {
  const int32_t rounded = __float2int_rn(v);
  return (rounded < -1024 ? -1024 : rounded > 1024 ? 1024 : rounded) + zeroPoint;
}

template <NumberType kType, int32_t kColumns>
struct PackedSegment {
  static constexpr int32_t kBytes = kColumns * numerics::storageBits(kType) / 8;
  static constexpr int32_t kElementBytes = numerics::storageBits(kType) < 8 ? 1 : numerics::storageBits(kType) / 8;
  uint32_t word[kBytes < 4 ? 1 : kBytes / 4];

  __device__ __forceinline__ explicit PackedSegment(const float* v, int32_t zeroPoint = 0) {
    if constexpr (numerics::storageBits(kType) < 8) {
      packNarrow(v);
    } else {
      packBytes(v, zeroPoint);
    }
  }

 private:
  __device__ __forceinline__ void packBytes(const float* v, int32_t zeroPoint) {
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
      }
    }
  }

  /// 4-bit and 6-bit codes without gaps; the pairs of 6 bits lie across words.
  __device__ __forceinline__ void packNarrow(const float* v) {
    static_assert(kBytes % 4 == 0);
    constexpr int32_t kPairBits = 2 * numerics::storageBits(kType);
#pragma unroll
    for (uint32_t& target : word) target = 0;
#pragma unroll
    for (int32_t i = 0; i < kColumns / 2; ++i) {
      const uint32_t pair = packNarrowPair<kType>(v[2 * i], v[2 * i + 1]);
      const int32_t shift = i * kPairBits % 32;
      word[i * kPairBits / 32] |= pair << shift;
      if (shift + kPairBits > 32) word[i * kPairBits / 32 + 1] |= pair >> (32 - shift);
    }
  }
};

/// The bytes of `bits` bits at `target`, from `byte` on: what lies behind them in their last byte stays as it was.
__device__ __forceinline__ void storeByteOfBits(uint8_t* target, int32_t byte, int32_t bits, uint32_t value) {
  const int32_t mine = bits - 8 * byte;
  if (mine <= 0) return;
  if (mine < 8) {
    const uint32_t mask = (1u << mine) - 1;
    value = (target[byte] & ~mask) | (value & mask);
  }
  target[byte] = static_cast<uint8_t>(value);
}

/// Part of a row in global memory. This thread alone writes the bytes of its columns; what lies after the last 4-bit or 6-bit
/// column in its byte stays as it was.
struct GlobalRow {
  uint8_t* begin;
  int32_t existingColumns;  ///< of the segment; the rest lies outside of the matrix

  /// Of the output, from `column` of `row` on.
  static __device__ __forceinline__ GlobalRow at(const EpilogueParams& p, int32_t row, int32_t column) {
    const int32_t existing = static_cast<uint32_t>(row) < static_cast<uint32_t>(p.rows) ? p.columns - column : 0;
    const int32_t bits = numerics::storageBits(p.outputType);
    return {static_cast<uint8_t*>(p.output) + row * p.outputPitch + static_cast<int64_t>(column) * bits / 8, existing};
  }

  template <NumberType kType, int32_t kColumns>
  __device__ __forceinline__ void take(const PackedSegment<kType, kColumns>& segment) const {
    constexpr int32_t kBytes = segment.kBytes, kElementBytes = segment.kElementBytes;
    constexpr uint32_t kPowerOfTwo = kBytes & -kBytes, kVectorBytes = kPowerOfTwo < 16 ? kPowerOfTwo : 16;
    if (existingColumns >= kColumns && reinterpret_cast<uint64_t>(begin) % kVectorBytes == 0) {
      if constexpr (kVectorBytes == 16) {
#pragma unroll
        for (int32_t i = 0; i < kBytes / 16; ++i)
          reinterpret_cast<uint4*>(begin)[i] =
              make_uint4(segment.word[4 * i], segment.word[4 * i + 1], segment.word[4 * i + 2], segment.word[4 * i + 3]);
      } else if constexpr (kVectorBytes == 8) {
#pragma unroll
        for (int32_t i = 0; i < kBytes / 8; ++i)
          reinterpret_cast<uint2*>(begin)[i] = make_uint2(segment.word[2 * i], segment.word[2 * i + 1]);
      } else if constexpr (kVectorBytes == 4) {
#pragma unroll
        for (int32_t i = 0; i < kBytes / 4; ++i) reinterpret_cast<uint32_t*>(begin)[i] = segment.word[i];
      } else {
        *reinterpret_cast<uint16_t*>(begin) = static_cast<uint16_t>(segment.word[0]);
      }
      return;
    }
#pragma unroll
    for (int32_t byte = 0; byte < kBytes; byte += kElementBytes) {
      const uint32_t bits = segment.word[byte / 4] >> (byte % 4 * 8);
      if constexpr (numerics::storageBits(kType) < 8) {
        storeByteOfBits(begin, byte, existingColumns * numerics::storageBits(kType), bits);
      } else if (byte / kElementBytes < existingColumns) {
        if constexpr (kElementBytes == 4) {
          *reinterpret_cast<uint32_t*>(begin + byte) = bits;
        } else if constexpr (kElementBytes == 2) {
          *reinterpret_cast<uint16_t*>(begin + byte) = static_cast<uint16_t>(bits);
        } else {
          begin[byte] = static_cast<uint8_t>(bits);
        }
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

/// Part of a row of a staging tile, `byte` as stagingBits says; segments of at least 8 bytes.
struct StagedRow {
  StagingTile tile;
  int32_t row, byte;

  template <NumberType kType, int32_t kColumns>
  __device__ __forceinline__ void take(const PackedSegment<kType, kColumns>& segment) const {
    constexpr int32_t kBytes = segment.kBytes;
    static_assert(kBytes >= 8, "narrower segments make bank conflicts of every store");
    if constexpr (numerics::storageBits(kType) == 6) {
#pragma unroll
      for (int32_t i = 0; i < kColumns / 16; ++i)
        ptx::storeShared16Bytes(tile.at(row, byte + 16 * i), segment.word[3 * i], segment.word[3 * i + 1], segment.word[3 * i + 2],
                                0);
    } else if constexpr (kBytes >= 16) {
#pragma unroll
      for (int32_t i = 0; i < kBytes; i += 16)
        ptx::storeShared16Bytes(tile.at(row, byte + i), segment.word[i / 4], segment.word[i / 4 + 1], segment.word[i / 4 + 2],
                                segment.word[i / 4 + 3]);
    } else {
      ptx::storeShared8Bytes(tile.at(row, byte), segment.word[0], segment.word[1]);
    }
  }
};

/// One or the other, as the launch says, behind one conversion.
struct StagedOrGlobalRow {
  bool isStaged;
  StagedRow staged;
  GlobalRow global;

  template <NumberType kType, int32_t kColumns>
  __device__ __forceinline__ void take(const PackedSegment<kType, kColumns>& segment) const {
    if (isStaged) {
      staged.take(segment);
    } else {
      global.take(segment);
    }
  }
};

template <NumberType kType>
using TypeTag = std::integral_constant<NumberType, kType>;

/// Converts the values of segments of computeSegments and hands them to targetOf(segment).
template <int32_t kColumns, int32_t kSegments, class TargetOf>
__device__ __forceinline__ void convertSegments(const EpilogueParams& p, const float (&v)[kSegments * kColumns],
                                                TargetOf&& targetOf) {
  const auto to = [&](auto typeTag, int32_t zeroPoint = 0) {
#pragma unroll
    for (int32_t i = 0; i < kSegments; ++i)
      targetOf(i).take(PackedSegment<decltype(typeTag)::value, kColumns>(v + i * kColumns, zeroPoint));
  };
  switch (p.outputType) {
    case NumberType::F32:
    case NumberType::S32:
      to(TypeTag<NumberType::F32>());
      break;
    case NumberType::F16:
      to(TypeTag<NumberType::F16>());
      break;
    case NumberType::BF16:
      to(TypeTag<NumberType::BF16>());
      break;
    case NumberType::E4M3:
      to(TypeTag<NumberType::E4M3>());
      break;
    case NumberType::E5M2:
      to(TypeTag<NumberType::E5M2>());
      break;
    case NumberType::S8:
      to(TypeTag<NumberType::S8>(), p.outputZeroPoint);
      break;
    case NumberType::U8:
      to(TypeTag<NumberType::U8>(), p.outputZeroPoint);
      break;
    case NumberType::E3M2:
      if constexpr (kColumns % 16 == 0) to(TypeTag<NumberType::E3M2>());
      break;
    case NumberType::E2M3:
      if constexpr (kColumns % 16 == 0) to(TypeTag<NumberType::E2M3>());
      break;
    default:
      if constexpr (kColumns % 16 == 0) to(TypeTag<NumberType::E2M1>());
      break;
  }
}

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
  convertSegments<kColumns, 1>(p, v, [&](int32_t) -> const Target& { return target; });
}

/// Stores segments of computeSegments to p.output, each as wide as its address allows; nothing outside of the matrix.
template <int32_t kColumns, int32_t kSegments>
__device__ __forceinline__ void storeSegments(const EpilogueParams& p, const SegmentPlace (&at)[kSegments],
                                              const float (&v)[kSegments * kColumns]) {
  convertSegments<kColumns, kSegments>(p, v, [&](int32_t i) { return GlobalRow::at(p, at[i].row, at[i].column); });
}

/// Stores a segment of computeSegment to p.output, as wide as its address allows; nothing outside of the matrix.
template <int32_t kColumns>
__device__ __forceinline__ void storeSegment(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns]) {
  convertSegment(p, row, column, v, GlobalRow::at(p, row, column));
}

/// computeSegments and storeSegments.
template <int32_t kColumns, int32_t kSegments, bool kMayAddLast = true>
__device__ __forceinline__ void finishSegments(const EpilogueParams& p, const SegmentPlace (&at)[kSegments],
                                               const uint32_t (&accumulator)[kSegments * kColumns], uint32_t& largestBits) {
  float v[kSegments * kColumns];
  computeSegments<kColumns, kSegments, kMayAddLast>(p, at, accumulator, v, largestBits);
  storeSegments<kColumns>(p, at, v);
}

/// Puts a segment into `tile` at row tileRow and `tileColumn` elements from its left edge. When all segments of the tile are there,
/// every writing thread executes fenceProxyAsyncShared, then all meet at a barrier, then one calls storeStagedTile.
template <int32_t kColumns>
__device__ __forceinline__ void stageSegment(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns],
                                             const StagingTile& tile, int32_t tileRow, int32_t tileColumn) {
  convertSegment(p, row, column, v, StagedRow{tile, tileRow, tileColumn * stagingBits(p.outputType) / 8});
}

/// Calls store(element, address) for the boxes of `columns` staged columns from `column` on, as a map counts elements.
template <class Store>
__device__ __forceinline__ void forStagedBoxes(const EpilogueParams& p, const StagingTile& tile, int32_t columns, int32_t column,
                                               Store&& store) {
  const int32_t bits = numerics::storageBits(p.outputType), elementBits = bits < 8 ? 8 : bits;
  const int32_t boxBits = tile.boxBytes * 8, firstElement = column * bits / elementBits;
  for (int32_t box = 0; box * boxBits < columns * bits; ++box) store(firstElement + box * boxBits / elementBits, tile.box(box));
}

/// One thread: stores `columns` staged columns with their upper left corner at (row, column), clipped to the matrix. `map`
/// describes the output, of no 6-bit type, in elements of its type, or in bytes for E2M1, with boxes of tile.boxBytes x tile.rows.
/// Completion through bulkCommitGroup, which is the caller's.
__device__ __forceinline__ void storeStagedTile(const EpilogueParams& p, const void* map, const StagingTile& tile, int32_t columns,
                                                int32_t row, int32_t column) {
  forStagedBoxes(p, tile, columns, column, [&](int32_t element, uint32_t source) { ptx::storeTile2d(map, element, row, source); });
}

/// The same where columns are those of a group, and end with it: the map has columns of a group, groups, rows.
__device__ __forceinline__ void storeStagedTileOfGroup(const EpilogueParams& p, const void* map, const StagingTile& tile,
                                                       int32_t columns, int32_t row, int32_t group, int32_t column) {
  forStagedBoxes(p, tile, columns, column,
                 [&](int32_t element, uint32_t source) { ptx::storeTile3d(map, element, group, row, source); });
}

}  // namespace shiftconv::gemm
