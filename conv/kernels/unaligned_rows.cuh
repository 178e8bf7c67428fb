// Rows of outputs that begin anywhere in global memory, stored by a warp from shared memory in whole 16 bytes.
//
// An odd number of channels leaves every other row at an address of its own. A store that leaves gaps between lanes takes a
// multiprocessor about 28 clocks, however few bytes a lane has (observed on an H200 with 1, 2 and 4), and single elements need 8 to
// 16 of them for what a lane stores at once otherwise. So each lane stores an aligned vector of global memory, put together from
// the two vectors of the staged row that it covers parts of. The ends of a row leave in pieces of 8, 4, 2 and 1 bytes.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// 16 bytes of a pair of vectors from byte `shift` of the first on.
__device__ __forceinline__ uint4 shiftedVector(const uint4& low, const uint4& high, uint32_t shift) {
  uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int32_t i = 0; i < 6; ++i) w[i] = (shift & 8) != 0 ? w[i + 2] : w[i];
#pragma unroll
  for (int32_t i = 0; i < 5; ++i) w[i] = (shift & 4) != 0 ? w[i + 1] : w[i];
  const uint32_t bits = (shift & 3) * 8;
  return make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits), __funnelshift_r(w[2], w[3], bits),
                    __funnelshift_r(w[3], w[4], bits));
}

/// What is after the first bits of a vector.
__device__ __forceinline__ uint4 withoutFirst(const uint4& v, uint32_t bits) {
  return make_uint4(__funnelshift_r(v.x, v.y, bits), __funnelshift_r(v.y, v.z, bits), __funnelshift_r(v.z, v.w, bits), v.w >> bits);
}

/// The first `count` bytes of a vector, one element after the other.
template <int32_t kElementBytes>
__device__ __forceinline__ void storeElements(uint8_t* to, uint4 v, int32_t count) {
#pragma unroll 1
  for (int32_t i = 0; i < count; i += kElementBytes) {
    if constexpr (kElementBytes == 4) {
      *reinterpret_cast<uint32_t*>(to + i) = v.x;
      v = make_uint4(v.y, v.z, v.w, 0);
    } else {
      if constexpr (kElementBytes == 2)
        *reinterpret_cast<uint16_t*>(to + i) = static_cast<uint16_t>(v.x);
      else
        to[i] = static_cast<uint8_t>(v.x);
      v = withoutFirst(v, kElementBytes * 8);
    }
  }
}

/// The first `count` of 16 bytes to an address that is aligned to 16.
template <int32_t kElementBytes>
__device__ __forceinline__ void storeFirstBytes(uint8_t* to, uint4 v, uint32_t count) {
  if ((count & 8) != 0) {
    *reinterpret_cast<uint2*>(to) = make_uint2(v.x, v.y);
    to += 8, v.x = v.z, v.y = v.w;
  }
  if ((count & 4) != 0) {
    *reinterpret_cast<uint32_t*>(to) = v.x;
    to += 4, v.x = v.y;
  }
  if (kElementBytes <= 2 && (count & 2) != 0) {
    *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(v.x);
    to += 2, v.x >>= 16;
  }
  if (kElementBytes == 1 && (count & 1) != 0) *to = static_cast<uint8_t>(v.x);
}

/// The first `count` of 16 bytes, where those after them have an address that is aligned to 16.
template <int32_t kElementBytes>
__device__ __forceinline__ void storeBytesBefore(uint8_t* to, uint4 v, uint32_t count) {
  if (kElementBytes == 1 && (count & 1) != 0) {
    *to = static_cast<uint8_t>(v.x);
    to += 1, v = withoutFirst(v, 8);
  }
  if (kElementBytes <= 2 && (count & 2) != 0) {
    *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(v.x);
    to += 2, v = withoutFirst(v, 16);
  }
  if ((count & 4) != 0) {
    *reinterpret_cast<uint32_t*>(to) = v.x;
    to += 4, v.x = v.y, v.y = v.z;
  }
  if ((count & 8) != 0) *reinterpret_cast<uint2*>(to) = make_uint2(v.x, v.y);
}

/// Rows of `bytes` bytes, whole elements. rowAt(r): where row r begins in global memory, nullptr where there is none; vectorOf(r,
/// i): vector number i, of kVectors, of the staged row, which has its first element first. Staged rows may be longer than what is
/// stored.
template <int32_t kElementBytes, int32_t kRows, int32_t kVectors, class RowAt, class VectorOf>
__device__ __forceinline__ void storeUnalignedRows(int32_t bytes, RowAt&& rowAt, VectorOf&& vectorOf) {
  static_assert(kRows <= 16, "a lane has one end of a row");
  const auto lane = static_cast<int32_t>(threadIdx.x % 32);
  const auto untilAligned = [](const uint8_t* row) { return static_cast<int32_t>(-reinterpret_cast<uint64_t>(row) % 16); };
  const auto shifted = [&](int32_t r, int32_t i, int32_t before) {
    const uint4 none = make_uint4(0, 0, 0, 0);
    return shiftedVector(vectorOf(r, i), i + 1 < kVectors ? vectorOf(r, i + 1) : none, static_cast<uint32_t>(before));
  };
  if (bytes < 16) {  // a row may lie within a vector
    uint8_t* const row = lane < kRows ? rowAt(lane) : nullptr;
    if (row != nullptr) storeElements<kElementBytes>(row, vectorOf(lane, 0), bytes);
    return;
  }
#pragma unroll 2
  for (int32_t i = lane; i < kRows * kVectors; i += 32) {
    const int32_t r = i / kVectors, vector = i % kVectors;
    uint8_t* const row = rowAt(r);
    const int32_t before = untilAligned(row);
    if (row == nullptr || before + vector * 16 + 16 > bytes) continue;
    *reinterpret_cast<uint4*>(row + before + vector * 16) = shifted(r, vector, before);
  }
  if (lane >= 2 * kRows) return;
  uint8_t* const row = rowAt(lane / 2);
  if (row == nullptr) return;
  const int32_t before = untilAligned(row), whole = (bytes - before) / 16;
  if (lane % 2 == 0)
    storeBytesBefore<kElementBytes>(row, vectorOf(lane / 2, 0), static_cast<uint32_t>(before));
  else if (before + whole * 16 < bytes)
    storeFirstBytes<kElementBytes>(row + before + whole * 16, shifted(lane / 2, whole, before),
                                   static_cast<uint32_t>(bytes - before - whole * 16));
}

}  // namespace shiftconv::kernels
