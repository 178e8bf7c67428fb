// Dynamic shared memory beyond 48 KiB, clusters that read each other's shared memory, launch attributes and occupancy.
#include <cooperative_groups.h>

#include "tests/runtime/programs/check.hpp"

namespace cg = cooperative_groups;

constexpr int kValues = 20000;  // 80 KB of floats

__global__ void rotate(float* output) {
  extern __shared__ float values[];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
  for (int i = static_cast<int>(threadIdx.x); i < kValues; i += static_cast<int>(blockDim.x))
    values[i] = static_cast<float>(blockIdx.x * kValues + i);
  cluster.sync();
  const float* neighbour = cluster.map_shared_rank(values, (rank + 1) % blocks);
  for (int i = static_cast<int>(threadIdx.x); i < kValues; i += static_cast<int>(blockDim.x))
    output[blockIdx.x * kValues + i] = neighbour[i];
  cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) pairs(unsigned* ranks) {
  if (threadIdx.x == 0) ranks[blockIdx.x] = cg::this_cluster().block_rank() + 10 * cg::this_cluster().num_blocks();
}

int main() {
  constexpr unsigned kBlocks = 8, kCluster = 4;
  constexpr size_t kBytes = kValues * sizeof(float);
  std::vector<float> expected(kBlocks * kValues);
  for (unsigned block = 0; block < kBlocks; ++block)
    for (int i = 0; i < kValues; ++i) {
      const unsigned from = block / kCluster * kCluster + (block + 1) % kCluster;
      expected[block * kValues + i] = static_cast<float>(from * kValues + i);
    }
  float* output = program::onDevice(std::vector<float>(expected.size(), -1.0f));

  cudaLaunchConfig_t config{};
  config.gridDim = kBlocks;
  config.blockDim = 64;
  config.dynamicSmemBytes = kBytes;
  cudaLaunchAttribute attribute[2]{};
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim = {kCluster, 1, 1};
  attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[1].val.programmaticStreamSerializationAllowed = 0;
  config.attrs = attribute;
  config.numAttrs = 2;
  EXPECT_CODE(cudaLaunchKernelEx(&config, rotate, output), cudaErrorInvalidValue);  // more than 48 KiB was not asked for
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGetLastError(), cudaSuccess);
  CHECK(cudaFuncSetAttribute(rotate, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  CHECK(cudaLaunchKernelEx(&config, rotate, output));
  EXPECT_SAME(program::fromDevice(output, expected.size()), expected);

  cudaFuncAttributes facts{};
  CHECK(cudaFuncGetAttributes(&facts, rotate));
  EXPECT(facts.maxDynamicSharedSizeBytes == static_cast<int>(kBytes));
  EXPECT(facts.sharedSizeBytes == 0 && facts.maxThreadsPerBlock == 1024);
  int blocks = 0, clusters = 0, multiprocessors = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rotate, 64, kBytes));
  EXPECT(blocks == 2);  // of 80 KB each in 228 KiB
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, rotate, &config));
  EXPECT(clusters > 0 && clusters * static_cast<int>(kCluster) <= 2 * multiprocessors);
  attribute[0].val.clusterDim = {3, 1, 1};
  EXPECT_CODE(cudaLaunchKernelEx(&config, rotate, output), cudaErrorInvalidClusterSize);  // does not divide the grid
  attribute[0].val.clusterDim = {16, 1, 1};
  EXPECT_CODE(cudaLaunchKernelEx(&config, rotate, output), cudaErrorInvalidClusterSize);  // not portable
  (void)cudaGetLastError();

  unsigned* ranks = program::onDevice(std::vector<unsigned>(4, 99));
  pairs<<<4, 32>>>(ranks);
  EXPECT_SAME(program::fromDevice(ranks, 4), (std::vector<unsigned>{20, 21, 20, 21}));
  return program::finish();
}
