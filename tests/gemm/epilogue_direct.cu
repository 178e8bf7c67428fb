// One kernel of the epilogue alone, for architectures without the conversions to narrow types; and one of a part of it.
#include "tests/gemm/epilogue_direct.cuh"

/// gemm::Ramp alone, of accumulators and outputs of f32.
extern "C" __global__ void __launch_bounds__(kTileRows)
    epilogue_ramp(gemm::EpilogueParams p, const uint32_t* accumulators, int32_t pitch) {
  const gemm::Ramp ramp(p);
  const int32_t row = static_cast<int32_t>(blockIdx.y) * kTileRows + static_cast<int32_t>(threadIdx.x);
  if (row >= p.rows) return;
  for (int32_t column = 0; column < p.columns; ++column)
    reinterpret_cast<float*>(static_cast<char*>(p.output) + row * p.outputPitch)[column] =
        ramp.of(__uint_as_float(accumulators[static_cast<int64_t>(row) * pitch + column]));
}
