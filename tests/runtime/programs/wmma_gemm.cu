// D = 2 A * B + C by nvcuda::wmma, as programs before mma.sync were written: tiles in shared memory, four warps, accumulators that
// are scaled element by element.
#include <cuda_fp16.h>
#include <mma.h>

#include "tests/runtime/programs/check.hpp"

namespace wmma = nvcuda::wmma;

constexpr int kTile = 16, kWarps = 4, kPad = 8;

__global__ void __launch_bounds__(32 * kWarps) gemm(const __half* a, const __half* b, const float* c, float* d, int n, int k) {
  __shared__ alignas(32) __half tileA[kWarps * kTile][kTile + kPad];
  __shared__ alignas(32) __half tileB[kTile][kTile + kPad];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = static_cast<int>(blockIdx.y) * kWarps * kTile, column = static_cast<int>(blockIdx.x) * kTile;
  wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sum, old;
  wmma::fill_fragment(sum, 0.0f);
  for (int first = 0; first < k; first += kTile) {
    for (int i = static_cast<int>(threadIdx.x); i < kWarps * kTile * kTile; i += 32 * kWarps)
      tileA[i / kTile][i % kTile] = a[(row + i / kTile) * k + first + i % kTile];
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kTile; i += 32 * kWarps)
      tileB[i / kTile][i % kTile] = b[(first + i / kTile) * n + column + i % kTile];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, __half, wmma::row_major> fragmentA;
    wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, __half, wmma::row_major> fragmentB;
    wmma::load_matrix_sync(fragmentA, &tileA[warp * kTile][0], kTile + kPad);
    wmma::load_matrix_sync(fragmentB, &tileB[0][0], kTile + kPad);
    wmma::mma_sync(sum, fragmentA, fragmentB, sum);
    __syncthreads();
  }
  const int at = (row + warp * kTile) * n + column;
  wmma::load_matrix_sync(old, c + at, n, wmma::mem_row_major);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = 2 * sum.x[i] + old.x[i];
  wmma::store_matrix_sync(d + at, sum, n, wmma::mem_row_major);
}

int main() {
  constexpr int kM = 128, kN = 48, kK = 80;
  const std::vector<float> a = program::randomIntegers(kM * kK, 1), b = program::randomIntegers(kK * kN, 2),
                           c = program::randomIntegers(kM * kN, 3);
  std::vector<float> expected = c;
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j)
      for (int k = 0; k < kK; ++k) expected[i * kN + j] += 2 * a[i * kK + k] * b[k * kN + j];
  const auto halves = [](const std::vector<float>& values) {
    std::vector<__half> result;
    for (const float value : values) result.push_back(__float2half(value));
    return program::onDevice(result);
  };
  float* d = program::onDevice(std::vector<float>(kM * kN, -1.0f));
  gemm<<<dim3(kN / kTile, kM / kTile / kWarps), 32 * kWarps>>>(halves(a), halves(b), program::onDevice(c), d, kN, kK);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(d, kM * kN), expected);
  return program::finish();
}
