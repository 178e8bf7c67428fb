// From accumulators to the values that are converted and stored: the arithmetic of params.hpp for segments, which are kColumns
// neighbouring columns of one row each, in the registers of one thread.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"
#include "common/ptx/synchronisation.cuh"

namespace shiftconv::gemm {

/// Calls body(i, base[column + i]) for the kColumns columns of a segment that exist. `base` is 16-byte aligned and `column` a
/// multiple of kColumns, so that whole segments load 16 bytes at a time.
template <int32_t kColumns, class Element, class Body>
__device__ __forceinline__ void forColumnVector(const Element* base, int32_t column, int32_t columns, Body&& body) {
  static_assert(sizeof(Element) == 4);
  if (kColumns % 4 == 0 && column + kColumns <= columns) {
#pragma unroll
    for (int32_t i = 0; i < kColumns; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(base + column + i);
      const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int32_t j = 0; j < 4; ++j) body(i + j, words[j]);
    }
  } else {
#pragma unroll
    for (int32_t i = 0; i < kColumns; ++i)
      if (column + i < columns) body(i, *reinterpret_cast<const uint32_t*>(base + column + i));
  }
}

/// Calls body(i, number of row[column + i]) for the kColumns columns of a segment that exist; kPerWord elements have 32 bits, and
/// decode(bits) makes a number of the low ones. 16 bytes at a time where they are aligned.
template <int32_t kColumns, class Element, class Decode, class Body>
__device__ __forceinline__ void forElements(const void* row, int32_t column, int32_t columns, Decode&& decode, Body&& body) {
  constexpr int32_t kPerWord = 4 / static_cast<int32_t>(sizeof(Element)), kVector = 4 * kPerWord;
  const Element* const source = static_cast<const Element*>(row) + column;
  if (kColumns % kVector == 0 && column + kColumns <= columns && reinterpret_cast<uint64_t>(source) % 16 == 0) {
#pragma unroll
    for (int32_t i = 0; i < kColumns; i += kVector) {
      const uint4 vector = *reinterpret_cast<const uint4*>(source + i);
      const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
      for (int32_t j = 0; j < kVector; ++j) body(i + j, decode(words[j / kPerWord] >> (j % kPerWord * (32 / kPerWord))));
    }
  } else {
#pragma unroll
    for (int32_t i = 0; i < kColumns; ++i)
      if (column + i < columns) body(i, decode(source[i]));
  }
}

/// Calls body(element, decode) with what forElements needs of `type`: F32, F16, BF16, and S8, U8 and E4M3 where kBytes.
template <bool kBytes, class Body>
__device__ __forceinline__ void withNumbers(NumberType type, Body&& body) {
  if (type == NumberType::F32) {
    body(uint32_t(), [](uint32_t bits) { return __uint_as_float(bits); });
  } else if (kBytes && (type == NumberType::S8 || type == NumberType::U8 || type == NumberType::E4M3)) {
    // Bit 7 of integers counts for -128 or for 128.
    const uint32_t sign = type == NumberType::S8 ? 0x80u : 0;
    const bool isFloat = type == NumberType::E4M3;
    body(uint8_t(), [sign, isFloat](uint32_t bits) {
      if (isFloat) return ptx::unpackE4m3(bits);
      return __int2float_rn(static_cast<int32_t>((bits & 0xffu) ^ sign) - static_cast<int32_t>(sign));
    });
  } else {
    const bool isF16 = type == NumberType::F16;
    body(uint16_t(), [isF16](uint32_t bits) { return isF16 ? ptx::unpackF16(bits) : ptx::unpackBf16(bits & 0xffffu); });
  }
}

/// Where a segment is in the matrix. A row outside of it is none.
struct SegmentPlace {
  int32_t row, column;

  __device__ __forceinline__ bool rowExists(const EpilogueParams& p) const {
    return static_cast<uint32_t>(row) < static_cast<uint32_t>(p.rows);
  }
};

/// s32 accumulators after their corrections; as they are in `v` when they are the output.
template <int32_t kColumns>
__device__ __forceinline__ void integerValues(const EpilogueParams& p, const SegmentPlace& at, const uint32_t* accumulator,
                                              float* v) {
  const uint32_t ofRow = p.rowCorrection != nullptr && at.rowExists(p) ? static_cast<uint32_t>(p.rowCorrection[at.row]) : 0;
  uint32_t integers[kColumns];
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i) integers[i] = accumulator[i] - ofRow;
  if (p.columnCorrection != nullptr) {
    const int64_t rowClass = p.rowClass != nullptr && at.rowExists(p) ? p.rowClass[at.row] : 0;
    forColumnVector<kColumns>(p.columnCorrection + rowClass * p.correctionPitch, at.column, p.columns,
                              [&](int32_t i, uint32_t bits) { integers[i] -= bits; });
  }
  const bool isOutput = p.outputType == NumberType::S32;
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i)
    v[i] = isOutput ? __uint_as_float(integers[i]) : __int2float_rn(static_cast<int32_t>(integers[i]));
}

/// Rounds the values to the output's type where EpilogueParams::roundsSteps asks for it.
template <int32_t kCount>
__device__ __forceinline__ void roundStep(const EpilogueParams& p, float (&v)[kCount]) {
  if (__builtin_expect(!p.roundsSteps, 1)) return;
  const bool isF16 = p.outputType == NumberType::F16;
#pragma unroll
  for (int32_t i = 0; i < kCount; ++i)
    v[i] = isF16 ? ptx::unpackF16(ptx::packF16(v[i], 0.0f)) : ptx::unpackBf16(ptx::packBf16(v[i], 0.0f) & 0xffffu);
}

/// The end for segments of kColumns columns: v becomes the values to convert, outputScale included. `largestBits` keeps the largest
/// |v| of this thread.
template <int32_t kColumns, int32_t kSegments>
__device__ __forceinline__ void scaleSegments(const EpilogueParams& p, const SegmentPlace (&at)[kSegments],
                                              float (&v)[kSegments * kColumns], uint32_t& largestBits) {
  if (__builtin_expect(p.largest != nullptr, 0)) {
#pragma unroll
    for (int32_t segment = 0; segment < kSegments; ++segment) {
      if (!at[segment].rowExists(p)) continue;
#pragma unroll
      for (int32_t i = 0; i < kColumns; ++i) {
        // Bits of magnitudes are in the order of their values, NaN above all.
        const uint32_t bits = __float_as_uint(v[segment * kColumns + i]) & 0x7fffffffu;
        if (at[segment].column + i < p.columns && bits > largestBits) largestBits = bits;
      }
    }
  }
#pragma unroll
  for (int32_t i = 0; i < kSegments * kColumns; ++i) v[i] *= p.outputScale;
}

/// The residual of segments to v.
template <int32_t kColumns, int32_t kSegments>
__device__ __forceinline__ void addResiduals(const EpilogueParams& p, const SegmentPlace (&at)[kSegments],
                                             float (&v)[kSegments * kColumns]) {
  withNumbers<true>(p.residualType, [&](auto element, auto&& number) {
#pragma unroll
    for (int32_t segment = 0; segment < kSegments; ++segment) {
      if (!at[segment].rowExists(p)) continue;
      const auto* const row = static_cast<const uint8_t*>(p.residual) + at[segment].row * p.residualPitch;
      forElements<kColumns, decltype(element)>(row, at[segment].column, p.columns, number, [&](int32_t i, float one) {
        v[segment * kColumns + i] = fmaf(p.beta, one, v[segment * kColumns + i]);
      });
    }
  });
  roundStep(p, v);
}

/// Segments of a thread, so that what is the same for all is decided once. Columns: multiples of kColumns, best the same for all
/// threads of a warp. `accumulator` holds the sums of one segment after the other as the tensor core left them. v becomes the
/// values to convert, outputScale included; what it holds for rows and columns outside of the matrix means nothing. `largestBits`,
/// 0 at first, keeps the largest |v| of this thread. kMayAddLast: whether EpilogueParams::residualLast may be asked for; without it
/// kernels that have no registers for that spill nothing.
template <int32_t kColumns, int32_t kSegments, bool kMayAddLast = true>
__device__ __forceinline__ void computeSegments(const EpilogueParams& p, const SegmentPlace (&at)[kSegments],
                                                const uint32_t (&accumulator)[kSegments * kColumns],
                                                float (&v)[kSegments * kColumns], uint32_t& largestBits) {
  constexpr int32_t kCount = kSegments * kColumns;
  if (p.accumulatorType == NumberType::S32) {
#pragma unroll
    for (int32_t segment = 0; segment < kSegments; ++segment)
      integerValues<kColumns>(p, at[segment], accumulator + segment * kColumns, v + segment * kColumns);
    if (p.outputType == NumberType::S32) return;
  } else {
    const bool isF16 = p.accumulatorType == NumberType::F16;
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) v[i] = isF16 ? ptx::unpackF16(accumulator[i]) : __uint_as_float(accumulator[i]);
  }
#pragma unroll
  for (int32_t segment = 0; segment < kSegments; ++segment) {
    const float factor = p.rowScale != nullptr && at[segment].rowExists(p) ? p.alpha * p.rowScale[at[segment].row] : p.alpha;
#pragma unroll
    for (int32_t i = 0; i < kColumns; ++i) v[segment * kColumns + i] *= factor;
  }
  roundStep(p, v);
  if (p.columnScale != nullptr) {
#pragma unroll
    for (int32_t segment = 0; segment < kSegments; ++segment)
      forColumnVector<kColumns>(p.columnScale, at[segment].column, p.columns,
                                [&](int32_t i, uint32_t bits) { v[segment * kColumns + i] *= __uint_as_float(bits); });
    roundStep(p, v);
  }
  if (p.bias != nullptr) {
    withNumbers<false>(p.biasType, [&](auto element, auto&& number) {
#pragma unroll
      for (int32_t segment = 0; segment < kSegments; ++segment)
        forElements<kColumns, decltype(element)>(p.bias, at[segment].column, p.columns, number,
                                                 [&](int32_t i, float one) { v[segment * kColumns + i] += one; });
    });
    roundStep(p, v);
  }
  const bool addsLast = kMayAddLast && p.residualLast;
  if (__builtin_expect(p.residual != nullptr && !addsLast, 0)) addResiduals<kColumns>(p, at, v);
  rectifyOrActivate<2>(p, v);
  roundStep(p, v);
  if (__builtin_expect(addsLast, 0)) addResiduals<kColumns>(p, at, v);
  scaleSegments<kColumns>(p, at, v, largestBits);
}

/// The same of one.
template <int32_t kColumns>
__device__ __forceinline__ void computeSegment(const EpilogueParams& p, int32_t row, int32_t column,
                                               const uint32_t (&accumulator)[kColumns], float (&v)[kColumns],
                                               uint32_t& largestBits) {
  const SegmentPlace at[1] = {{row, column}};
  computeSegments<kColumns>(p, at, accumulator, v, largestBits);
}

/// Whole warp, once its segments are done: *largest takes the warp's maximum. Atomics on one address take turns, so a warp asks
/// first whether its own is needed: 12,900 warps of a depthwise layer took 24 us on an H200, now 15, with ReLU in line, too.
__device__ __forceinline__ void mergeLargest(const EpilogueParams& p, uint32_t largestBits) {
  if (p.largest == nullptr) return;
  const uint32_t warpLargest = __reduce_max_sync(0xffffffffu, largestBits);
  auto* const largest = reinterpret_cast<uint32_t*>(p.largest);
  if (threadIdx.x % 32 == 0 && warpLargest > ptx::loadRelaxed(largest)) atomicMax(largest, warpLargest);
}

}  // namespace shiftconv::gemm
