// A bias in shared memory, as f32: it comes with the operands, so that no epilogue waits for global memory.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/warp.cuh"
#include "conv/kernels/bias.cuh"

namespace shiftconv::kernels {

/// Asks for that of `count` channels; zeros where there is none, or no such channel. By all threads of the CTA, and part of their
/// next group of asynchronous copies, unless it has 16 bits: then it is there after their next barrier. `readable`: an address of 4
/// bytes that may be read.
__device__ __forceinline__ void copyBiasToShared(const gemm::EpilogueParams& e, int32_t firstChannel, int32_t count, float* to,
                                                 const void* readable) {
  const bool hasHalves = e.bias != nullptr && e.biasType != gemm::NumberType::F32;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count; i += static_cast<int32_t>(blockDim.x)) {
    const bool exists = e.bias != nullptr && firstChannel + i < e.columns;
    if (hasHalves)
      to[i] = exists ? halfNumber(biasOf(e), firstChannel + i) : 0.0f;
    else
      ptx::copyAsync<4>(ptx::sharedAddress(to + i), exists ? static_cast<const float*>(e.bias) + firstChannel + i : readable,
                        exists ? 4 : 0);
  }
}

/// Of 8 channels; `from` is aligned to 16 bytes.
__device__ __forceinline__ void loadSharedBias(const float* from, float (&bias)[8]) {
  const float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
  bias[0] = low.x, bias[1] = low.y, bias[2] = low.z, bias[3] = low.w;
  bias[4] = high.x, bias[5] = high.y, bias[6] = high.z, bias[7] = high.w;
}

}  // namespace shiftconv::kernels
