// Operands, results and tensor maps of the programs that compute C = A * B^T in f16 with f32 sums.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include "tests/runtime/programs/check.hpp"

namespace program {

inline __half* halvesOnDevice(const std::vector<float>& values) {
  std::vector<__half> halves;
  for (const float value : values) halves.push_back(__float2half(value));
  return onDevice(halves);
}

/// A[m][k], B[n][k] and C[m][n], which is -1 everywhere, on the device.
struct GemmData {
  GemmData(int m, int n, int k) : expected(static_cast<size_t>(m) * n) {
    const std::vector<float> valuesA = randomIntegers(static_cast<size_t>(m) * k, 1),
                             valuesB = randomIntegers(static_cast<size_t>(n) * k, 2);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int l = 0; l < k; ++l) expected[i * n + j] += valuesA[i * k + l] * valuesB[j * k + l];
    a = halvesOnDevice(valuesA);
    b = halvesOnDevice(valuesB);
    c = onDevice(std::vector<float>(expected.size(), -1.0f));
  }
  std::vector<float> expected;
  __half *a = nullptr, *b = nullptr;
  float* c = nullptr;
};

/// Boxes of `boxRows` x `boxColumns` of a dense matrix, with 128-byte swizzling.
inline CUtensorMap mapOf(const __half* memory, int rows, int columns, cuuint32_t boxRows, cuuint32_t boxColumns) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  CUtensorMap map;
  const cuuint64_t dims[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[2] = {boxColumns, boxRows}, steps[2] = {1, 1};
  const CUresult code = reinterpret_cast<decltype(cuTensorMapEncodeTiled)*>(found)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<__half*>(memory), dims, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT(code == CUDA_SUCCESS);
  return map;
}

}  // namespace program
