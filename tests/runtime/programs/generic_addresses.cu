// Kernels that give operands of .shared the generic addresses of their variables, as ThunderKittens does: a ring of bulk copies, an
// allocation of Tensor Memory, and tiles moved by tensor maps. The argument chooses.
#include <cuda.h>

#include "tests/runtime/programs/check.hpp"

namespace {

constexpr int kThreads = 128, kWords = 256, kStages = 3;

template <class Object>
__device__ uint64_t generic(Object* object) {
  return reinterpret_cast<uint64_t>(object);
}

__device__ void initialise(uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"l"(generic(barrier)) : "memory");
}
__device__ void publishBarriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void expectBytes(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"l"(generic(barrier)), "r"(bytes) : "memory");
}
__device__ void wait(uint64_t* barrier, uint32_t parity) {
  asm volatile("{\n .reg .pred done;\n WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @!done bra WAIT;\n}" ::"l"(
                   generic(barrier)),
               "r"(parity)
               : "memory");
}

/// Blocks of kWords words, through a ring of stages, with the words of each in reverse order.
__global__ void reverse(const uint32_t* from, uint32_t* to, int blocks) {
  __shared__ alignas(128) uint32_t ring[kStages][kWords];
  __shared__ uint64_t full[kStages];
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : full) initialise(&barrier);
    publishBarriers();
  }
  __syncthreads();
  const auto load = [&](int block) {
    expectBytes(&full[block % kStages], kWords * 4);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"l"(
                     generic(&ring[block % kStages])),
                 "l"(from + block * kWords), "r"(kWords * 4), "l"(generic(&full[block % kStages]))
                 : "memory");
  };
  if (threadIdx.x == 0)
    for (int block = 0; block < kStages && block < blocks; ++block) load(block);
  for (int block = 0; block < blocks; ++block) {
    wait(&full[block % kStages], block / kStages % 2);
    for (int i = threadIdx.x; i < kWords; i += kThreads) to[block * kWords + i] = ring[block % kStages][kWords - 1 - i];
    __syncthreads();
    if (threadIdx.x == 0 && block + kStages < blocks) load(block + kStages);
  }
}

/// Every thread leaves a word in a lane of Tensor Memory and takes it back.
__global__ void throughTensorMemory(uint32_t* words) {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"l"(generic(&slot)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  __syncthreads();
  uint32_t address = 0, taken = 0;
  asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(address) : "l"(generic(&slot)) : "memory");
  const uint32_t mine = address + (threadIdx.x / 32 << 21), word = words[threadIdx.x];
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};\n tcgen05.wait::st.sync.aligned;" ::"r"(mine), "r"(word)
               : "memory");
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n tcgen05.wait::ld.sync.aligned;"
               : "=r"(taken)
               : "r"(mine)
               : "memory");
  words[threadIdx.x] = taken + 1;
  __syncthreads();
  if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(address));
}

constexpr int kTileRows = 12, kTileColumns = 32;

/// Tile (x, y) of the matrix goes to tile (x, y) of the other one, with 7 added.
__global__ void moveTiles(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) int tile[kTileRows][kTileColumns];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    initialise(&full);
    publishBarriers();
  }
  __syncthreads();
  const int x = blockIdx.x * kTileColumns, y = blockIdx.y * kTileRows;
  if (threadIdx.x == 0) {
    expectBytes(&full, sizeof tile);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"l"(
                     generic(&tile)),
                 "l"(&from), "r"(x), "r"(y), "l"(generic(&full))
                 : "memory");
  }
  wait(&full, 0);
  for (int i = threadIdx.x; i < kTileRows * kTileColumns; i += kThreads) tile[i / kTileColumns][i % kTileColumns] += 7;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(x), "r"(y),
                 "l"(generic(&tile))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

CUtensorMap mapOf(int* memory, int rows, int columns) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  CUtensorMap map;
  const cuuint64_t dims[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(columns) * 4};
  const cuuint32_t box[2] = {kTileColumns, kTileRows}, steps[2] = {1, 1};
  EXPECT(reinterpret_cast<decltype(cuTensorMapEncodeTiled)*>(found)(
             &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

void ring() {
  constexpr int kBlocks = 8;
  std::vector<uint32_t> words(kBlocks * kWords), expected(words.size());
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i * 31 + 5);
  for (size_t i = 0; i < words.size(); ++i) expected[i] = words[i / kWords * kWords + kWords - 1 - i % kWords];
  uint32_t* to = program::onDevice(std::vector<uint32_t>(words.size(), 0xdeadu));
  reverse<<<1, kThreads>>>(program::onDevice(words), to, kBlocks);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(to, words.size()), expected);
}

void tensorMemory() {
  std::vector<uint32_t> words(kThreads), expected;
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i * i + 3);
  for (const uint32_t word : words) expected.push_back(word + 1);
  uint32_t* device = program::onDevice(words);
  throughTensorMemory<<<1, kThreads>>>(device);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(device, kThreads), expected);
}

void tiles() {
  constexpr int kRows = 2 * kTileRows, kColumns = 3 * kTileColumns;
  std::vector<int> matrix(kRows * kColumns), expected;
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<int>(3 * i) - 100;
  for (const int value : matrix) expected.push_back(value + 7);
  int* to = program::onDevice(std::vector<int>(matrix.size(), -1));
  moveTiles<<<dim3(3, 2), kThreads>>>(mapOf(program::onDevice(matrix), kRows, kColumns), mapOf(to, kRows, kColumns));
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(to, matrix.size()), expected);
}

}  // namespace

int main(int, char** arguments) {
  const std::string which = arguments[1];
  if (which == "ring") ring();
  if (which == "tensor_memory") tensorMemory();
  if (which == "tiles") tiles();
  return program::finish();
}
