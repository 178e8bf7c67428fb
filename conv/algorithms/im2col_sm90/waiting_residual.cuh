// A residual that has come to a warp's rows in shared memory during the products, see residualWaits in packed.hpp: of 16-bit
// operands their type, of 8-bit ones f16 or bf16, or 8 bits as the output has.
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

  /// To a thread's eight numbers of fragments j and j + 1.
  __device__ __forceinline__ void add(int32_t j, float* v) const {
    const gemm::EpilogueParams& e = rows.params.epilogue;
    if (Kind::kElementBytes == 2 || numerics::storageBits(e.residualType) == 16) return addHalves(j, v);
    if constexpr (Kind::kElementBytes == 1) {
      const ResidualBytes<std::is_same_v<typename Kind::Sum, int32_t>> codes(e.residualType);
#pragma unroll
      for (int32_t row = 0; row < 2; ++row) {
        float four[4] = {v[2 * row], v[2 * row + 1], v[4 + 2 * row], v[5 + 2 * row]};
        codes.add(e.beta, rows.loadPairs(rows.pairsAt(warp), row, j), four);
        v[2 * row] = four[0], v[2 * row + 1] = four[1], v[4 + 2 * row] = four[2], v[5 + 2 * row] = four[3];
      }
    }
  }

  /// Of 16 bits.
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
};

}  // namespace shiftconv::kernels::im2col
