// A residual that has come to a warp's rows in shared memory during the products, see residualWaits in packed.hpp: f16, bf16 or
// f32, or, of 8-bit operands, 8 bits as the output has.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/shared_memory.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/residual_bytes.cuh"

namespace shiftconv::kernels::im2col {

/// The residual that threads have asked for is there, for the whole warp.
__device__ __forceinline__ void awaitResidual() {
  ptx::copyAsyncWaitGroup<0>();  // site: residual_there
  __syncwarp();                  // site: residual_there
}

/// `Rows`: StagedRows.
template <class Kind, class Rows>
struct WaitingResidual {
  const Rows& rows;
  uint32_t warp;

  __device__ __forceinline__ WaitingResidual(const Rows& rows, uint32_t warp) : rows(rows), warp(warp) {}

  /// To four neighbouring channels of a pixel.
  __device__ __forceinline__ void addFour(int32_t row, int32_t column, float* v) const {
    const gemm::EpilogueParams& e = rows.params.epilogue;
    const int32_t bits = numerics::storageBits(e.residualType);
    if (bits == 16) {
      uint32_t low, high;
      ptx::loadShared8Bytes(rows.template addressOf<2>(warp, row, column), low, high);
      if (e.residualType == gemm::NumberType::F16)
        addPairs<__half>(low, high, v);
      else
        addPairs<__nv_bfloat16>(low, high, v);
    } else if (Kind::kElementBytes == 1 && bits == 8) {
      const ResidualBytes<std::is_same_v<typename Kind::Sum, int32_t>> codes(e.residualType);
      float four[4] = {v[0], v[1], v[2], v[3]};
      codes.add(e.beta, ptx::loadShared4Bytes(rows.template addressOf<1>(warp, row, column)), four);
#pragma unroll
      for (int32_t i = 0; i < 4; ++i) v[i] = four[i];
    } else {
      uint32_t words[4];
      ptx::loadShared16Bytes(rows.template addressOf<4>(warp, row, column), words[0], words[1], words[2], words[3]);
#pragma unroll
      for (int32_t i = 0; i < 4; ++i) v[i] = fmaf(e.beta, __uint_as_float(words[i]), v[i]);
    }
  }

  /// Of 16 bits, to a thread's eight numbers of fragments j and j + 1.
  __device__ __forceinline__ void addHalves(int32_t j, float* v) const {
    const gemm::EpilogueParams& e = rows.params.epilogue;
    uint32_t matrices[4];
    ptx::loadMatrices(matrices, rows.matrices(rows.template begin<2>(warp), j));
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      if constexpr (Kind::kElementBytes == 2)
        addResidual<typename Kind::Element>(v[2 * i], v[2 * i + 1], e.beta, matrices[i]);
      else if (e.residualType == gemm::NumberType::F16)
        addResidual<__half>(v[2 * i], v[2 * i + 1], e.beta, matrices[i]);
      else
        addResidual<__nv_bfloat16>(v[2 * i], v[2 * i + 1], e.beta, matrices[i]);
    }
  }

 private:
  template <class Element>
  __device__ __forceinline__ void addPairs(uint32_t low, uint32_t high, float* v) const {
    const float beta = rows.params.epilogue.beta;
    addResidual<Element>(v[0], v[1], beta, low);
    addResidual<Element>(v[2], v[3], beta, high);
  }
};

}  // namespace shiftconv::kernels::im2col
