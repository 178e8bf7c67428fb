// Step 1: D[128][16] = A[128][16] * B[16][16]^T in f16 with f32 sums: one tcgen05.mma.
//
// 128 threads, one for each row. The tensor core reads both operands from shared memory and leaves the sums in Tensor Memory.
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/warp.cuh"
#include "examples/ladder/rows.cuh"

namespace ladder {

constexpr uint32_t kOutputs = 16, kColumns = 32;  // allocated: at least 32 columns

extern "C" __global__ void __launch_bounds__(kLanes, 1) one_mma(const uint4* a, const uint4* b, float* d) {
  __shared__ alignas(1024) uint8_t rowsOfA[kTileBytes], rowsOfB[kOutputs * kRowBytes];
  __shared__ uint64_t done;
  __shared__ uint32_t tensorMemory;
  const uint32_t row = threadIdx.x, warp = threadIdx.x / 32;

  // Operands to shared memory. Threads wrote them, the tensor core will read them: hence the fence between the two proxies.
  stageRow<2>(rowsOfA, row, a + row * 2);
  if (row < kOutputs) stageRow<2>(rowsOfB, row, b + row * 2);
  ptx::fenceProxyAsyncShared();

  // One warp takes columns of Tensor Memory; their address comes through shared memory.
  if (warp == 0) {
    ptx::tensorMemoryAllocate(ptx::sharedAddress(&tensorMemory), kColumns);
    ptx::tensorMemoryRelinquish();
  }
  if (threadIdx.x == 0) {
    ptx::mbarrierInit(ptx::sharedAddress(&done), 1);
    ptx::fenceMbarrierInit();
  }
  __syncthreads();

  // One thread issues. The instruction is asynchronous: the commit arrives on the barrier once it is complete.
  if (warp == 0 && ptx::electOne()) {
    constexpr uint32_t kInstruction =
        layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kLanes, kOutputs);
    ptx::mma<layout::MmaKind::F16>(tensorMemory, slicesOf(rowsOfA), slicesOf(rowsOfB), kInstruction, /*accumulate=*/false);
    ptx::tensorCommit(ptx::sharedAddress(&done));
  }
  __syncwarp();

  // Every thread takes the sums of its lane.
  ptx::mbarrierWait(ptx::sharedAddress(&done), 0);
  ptx::tensorFenceAfterThreadSync();
  store16(tensorMemory, d + row * kOutputs);

  ptx::tensorFenceBeforeThreadSync();
  __syncthreads();
  if (warp == 0) ptx::tensorMemoryFree(tensorMemory, kColumns);
}

}  // namespace ladder
