// From accumulators to the values that are converted and stored: the arithmetic of params.hpp for one segment, which is kColumns
// neighbouring columns of one row in the registers of one thread.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"

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

/// The same for a row of `type`: F32, F16, BF16, and S8 and U8 where kIntegers.
template <int32_t kColumns, bool kIntegers, class Body>
__device__ __forceinline__ void forNumbers(NumberType type, const void* row, int32_t column, int32_t columns, Body&& body) {
  if (type == NumberType::F32) {
    forElements<kColumns, uint32_t>(
        row, column, columns, [](uint32_t bits) { return __uint_as_float(bits); }, body);
  } else if (kIntegers && (type == NumberType::S8 || type == NumberType::U8)) {
    // Bit 7 counts for -128 or for 128.
    const uint32_t sign = type == NumberType::S8 ? 0x80u : 0;
    const auto number = [sign](uint32_t bits) {
      return __int2float_rn(static_cast<int32_t>((bits & 0xffu) ^ sign) - static_cast<int32_t>(sign));
    };
    forElements<kColumns, uint8_t>(row, column, columns, number, body);
  } else {
    const bool isF16 = type == NumberType::F16;
    const auto number = [isF16](uint32_t bits) { return isF16 ? ptx::unpackF16(bits) : ptx::unpackBf16(bits & 0xffffu); };
    forElements<kColumns, uint16_t>(row, column, columns, number, body);
  }
}

/// s32 accumulators after their corrections; as they are in `v` when they are the output.
template <int32_t kColumns>
__device__ __forceinline__ void integerValues(const EpilogueParams& p, int32_t row, int32_t column,
                                              const uint32_t (&accumulator)[kColumns], float (&v)[kColumns]) {
  const bool rowExists = static_cast<uint32_t>(row) < static_cast<uint32_t>(p.rows);
  const uint32_t ofRow = p.rowCorrection != nullptr && rowExists ? static_cast<uint32_t>(p.rowCorrection[row]) : 0;
  uint32_t integers[kColumns];
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i) integers[i] = accumulator[i] - ofRow;
  if (p.columnCorrection != nullptr) {
    const int64_t rowClass = p.rowClass != nullptr && rowExists ? p.rowClass[row] : 0;
    forColumnVector<kColumns>(p.columnCorrection + rowClass * p.correctionPitch, column, p.columns,
                              [&](int32_t i, uint32_t bits) { integers[i] -= bits; });
  }
  const bool isOutput = p.outputType == NumberType::S32;
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i)
    v[i] = isOutput ? __uint_as_float(integers[i]) : __int2float_rn(static_cast<int32_t>(integers[i]));
}

/// Rounds the values to the output's type where EpilogueParams::roundsSteps asks for it.
template <int32_t kColumns>
__device__ __forceinline__ void roundStep(const EpilogueParams& p, float (&v)[kColumns]) {
  if (!p.roundsSteps) return;
  const bool isF16 = p.outputType == NumberType::F16;
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i)
    v[i] = isF16 ? ptx::unpackF16(ptx::packF16(v[i], 0.0f)) : ptx::unpackBf16(ptx::packBf16(v[i], 0.0f) & 0xffffu);
}

/// What follows the sums: v, with scales, bias and residual, becomes the values to convert, outputScale included. `largestBits`
/// keeps the largest |v| of this thread.
template <int32_t kColumns>
__device__ __forceinline__ void activateSegment(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns],
                                                uint32_t& largestBits) {
  activate<2>(p, v);
  roundStep(p, v);
  if (p.largest != nullptr && static_cast<uint32_t>(row) < static_cast<uint32_t>(p.rows)) {
#pragma unroll
    for (int32_t i = 0; i < kColumns; ++i) {
      // Bits of magnitudes are in the order of their values, NaN above all.
      const uint32_t bits = __float_as_uint(v[i]) & 0x7fffffffu;
      if (column + i < p.columns && bits > largestBits) largestBits = bits;
    }
  }
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i) v[i] *= p.outputScale;
}

/// The residual of a segment to v.
template <int32_t kColumns>
__device__ __forceinline__ void addResidual(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns]) {
  if (p.residual == nullptr || static_cast<uint32_t>(row) >= static_cast<uint32_t>(p.rows)) return;
  forNumbers<kColumns, true>(p.residualType, static_cast<const uint8_t*>(p.residual) + row * p.residualPitch, column, p.columns,
                             [&](int32_t i, float number) { v[i] = fmaf(p.beta, number, v[i]); });
  roundStep(p, v);
}

/// `column`: a multiple of kColumns, best the same for all threads of a warp. `accumulator` holds columns column.. column +
/// kColumns
/// - 1 of `row` as the tensor core left them. v becomes the values to convert, outputScale included;
/// what it holds for rows and columns outside of the matrix means nothing. `largestBits`, 0 at first, keeps the largest |v| of this
/// thread.
template <int32_t kColumns>
__device__ __forceinline__ void computeSegment(const EpilogueParams& p, int32_t row, int32_t column,
                                               const uint32_t (&accumulator)[kColumns], float (&v)[kColumns],
                                               uint32_t& largestBits) {
  if (p.accumulatorType == NumberType::S32) {
    integerValues(p, row, column, accumulator, v);
    if (p.outputType == NumberType::S32) return;
  } else {
    const bool isF16 = p.accumulatorType == NumberType::F16;
#pragma unroll
    for (int32_t i = 0; i < kColumns; ++i) v[i] = isF16 ? ptx::unpackF16(accumulator[i]) : __uint_as_float(accumulator[i]);
  }
  const bool rowExists = static_cast<uint32_t>(row) < static_cast<uint32_t>(p.rows);
  const float factor = p.rowScale != nullptr && rowExists ? p.alpha * p.rowScale[row] : p.alpha;
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i) v[i] *= factor;
  roundStep(p, v);
  if (p.columnScale != nullptr) {
    forColumnVector<kColumns>(p.columnScale, column, p.columns, [&](int32_t i, uint32_t bits) { v[i] *= __uint_as_float(bits); });
    roundStep(p, v);
  }
  if (p.bias != nullptr) {
    forNumbers<kColumns, false>(p.biasType, p.bias, column, p.columns, [&](int32_t i, float number) { v[i] += number; });
    roundStep(p, v);
  }
  addResidual(p, row, column, v);
  activateSegment(p, row, column, v, largestBits);
}

/// Whole warp, once its segments are done: *largest takes the warp's maximum.
__device__ __forceinline__ void mergeLargest(const EpilogueParams& p, uint32_t largestBits) {
  if (p.largest == nullptr) return;
  const uint32_t warpLargest = __reduce_max_sync(0xffffffffu, largestBits);
  if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<uint32_t*>(p.largest), warpLargest);
}

}  // namespace shiftconv::gemm
