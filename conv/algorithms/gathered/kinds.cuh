// What the gathered kernels multiply. A kind has the bytes of an element, the type of the sums, what differs between operands of
// one launch (Types), and the products of a slice: 32 bytes of the reduction, as ldmatrix leaves them in registers.
//
// NOTES
//  - 8-bit floats become f16 in registers, exactly: that is what mma.sync of e4m3 and e5m2 is made of in the machine code of every
//    architecture here, but once for each operand instead of once for each product, and both types share a kernel.
//  - tf32 loses its 13 low bits here, so that they matter to no architecture.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/ptx/matrix_move.cuh"
#include "common/ptx/matrix_narrow.cuh"
#include "common/ptx/packed_operands.cuh"
#include "conv/algorithms/gathered/params.hpp"

namespace shiftconv::kernels::gathered {

/// body(i, j) for all fragments.
template <int kRows, int kColumns, class Body>
__device__ __forceinline__ void forFragments(Body&& body) {
#pragma unroll
  for (int32_t i = 0; i < kRows; ++i)
#pragma unroll
    for (int32_t j = 0; j < kColumns; ++j) body(i, j);
}

/// f16 and bf16.
template <class Type>
struct Half {
  using Element = Type;
  using Sum = float;
  static constexpr int32_t kBytes = 2;

  template <int kRows, int kColumns>
  __device__ __forceinline__ static void multiply(const OperandTypes&, Sum (&sum)[kRows][kColumns][4], uint32_t (&a)[kRows][4],
                                                  uint32_t (&b)[kColumns][2]) {
    forFragments<kRows, kColumns>(
        [&](int32_t i, int32_t j) { ptx::mma16x8x16<Type>(sum[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b[j][0], b[j][1]); });
  }
};

struct Tf32 {
  using Sum = float;
  static constexpr int32_t kBytes = 4;

  template <int kRows, int kColumns>
  __device__ __forceinline__ static void multiply(const OperandTypes&, Sum (&sum)[kRows][kColumns][4], uint32_t (&a)[kRows][4],
                                                  uint32_t (&b)[kColumns][2]) {
    constexpr uint32_t kKept = 0xffffe000u;
#pragma unroll
    for (int32_t i = 0; i < kRows; ++i)
#pragma unroll
      for (uint32_t& word : a[i]) word &= kKept;
#pragma unroll
    for (int32_t j = 0; j < kColumns; ++j)
#pragma unroll
      for (uint32_t& word : b[j]) word &= kKept;
    forFragments<kRows, kColumns>(
        [&](int32_t i, int32_t j) { ptx::mma16x8x8Tf32(sum[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b[j][0], b[j][1]); });
  }
};

/// e4m3 and e5m2, mixed as well.
struct Float8 {
  using Sum = float;
  static constexpr int32_t kBytes = 1;

  template <int kRows, int kColumns>
  __device__ __forceinline__ static void multiply(const OperandTypes& types, Sum (&sum)[kRows][kColumns][4],
                                                  uint32_t (&a)[kRows][4], uint32_t (&b)[kColumns][2]) {
    // 16 elements at a time: a word of four codes becomes the words of the first and of the other eight elements of a product.
#pragma unroll
    for (int32_t half = 0; half < 2; ++half) {
      uint32_t wideA[kRows][4], wideB[kColumns][2];
      withFormat(types.inputIsE5m2, [&](auto unpack) {
#pragma unroll
        for (int32_t i = 0; i < kRows; ++i)
#pragma unroll
          for (int32_t row = 0; row < 2; ++row) {
            wideA[i][row] = unpack(a[i][half * 2 + row]);
            wideA[i][row + 2] = unpack(a[i][half * 2 + row] >> 16);
          }
      });
      withFormat(types.filterIsE5m2, [&](auto unpack) {
#pragma unroll
        for (int32_t j = 0; j < kColumns; ++j) {
          wideB[j][0] = unpack(b[j][half]);
          wideB[j][1] = unpack(b[j][half] >> 16);
        }
      });
      forFragments<kRows, kColumns>([&](int32_t i, int32_t j) {
        ptx::mma16x8x16<__half>(sum[i][j], wideA[i][0], wideA[i][1], wideA[i][2], wideA[i][3], wideB[j][0], wideB[j][1]);
      });
    }
  }

 private:
  /// The same branch for every thread of a launch.
  template <class Body>
  __device__ __forceinline__ static void withFormat(bool isE5m2, Body&& body) {
    if (isE5m2)
      body([](uint32_t codes) { return ptx::unpackPairE5m2(codes); });
    else
      body([](uint32_t codes) { return ptx::unpackPairE4m3(codes); });
  }
};

/// s8 and u8, mixed as well.
struct Integer8 {
  using Sum = int32_t;
  static constexpr int32_t kBytes = 1;

  template <int kRows, int kColumns>
  __device__ __forceinline__ static void multiply(const OperandTypes& types, Sum (&sum)[kRows][kColumns][4],
                                                  uint32_t (&a)[kRows][4], uint32_t (&b)[kColumns][2]) {
    const auto products = [&]<bool kSignedInput, bool kSignedFilter>() {
      forFragments<kRows, kColumns>([&](int32_t i, int32_t j) {
        ptx::mma16x8x32<kSignedInput, kSignedFilter>(sum[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b[j][0], b[j][1]);
      });
    };
    // The same branch for every thread of a launch.
    if (types.inputIsSigned)
      types.filterIsSigned ? products.template operator()<true, true>() : products.template operator()<true, false>();
    else
      types.filterIsSigned ? products.template operator()<false, true>() : products.template operator()<false, false>();
  }
};

}  // namespace shiftconv::kernels::gathered
