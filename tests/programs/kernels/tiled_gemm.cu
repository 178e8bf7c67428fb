// C = alpha*A*B + beta*C for row-major matrices of any size, through square shared-memory tiles.
constexpr int kTile = 16;

extern "C" __global__ void tiled_gemm(int m, int n, int k, float alpha, const float* __restrict__ a, const float* __restrict__ b,
                                      float beta, float* c) {
  __shared__ float tileA[kTile][kTile + 1], tileB[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += kTile) {
    const int aColumn = begin + threadIdx.x, bRow = begin + threadIdx.y;
    tileA[threadIdx.y][threadIdx.x] = row < m && aColumn < k ? a[row * k + aColumn] : 0.0f;
    tileB[threadIdx.y][threadIdx.x] = bRow < k && column < n ? b[bRow * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += tileA[threadIdx.y][i] * tileB[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// The same product out of dynamic shared memory, one CTA per row panel, so that --shared is needed.
extern "C" __global__ void row_panel_gemm(int m, int n, int k, const float* a, const float* b, float* c) {
  extern __shared__ float panel[];
  const int row = blockIdx.x;
  if (row >= m) return;
  for (int i = threadIdx.x; i < k; i += blockDim.x) panel[i] = a[row * k + i];
  __syncthreads();
  for (int column = threadIdx.x; column < n; column += blockDim.x) {
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += panel[i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}
