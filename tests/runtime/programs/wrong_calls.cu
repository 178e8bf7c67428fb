// Calls that are wrong, each with the code that it must give; and their neighbours that are right.
#include <functional>

#include "tests/runtime/programs/check.hpp"

__global__ void nothing() {}
__global__ void takes(int, double, char) {}

struct Case {
  const char* name;
  std::function<cudaError_t()> call;
  cudaError_t code;
};

cudaError_t launch(dim3 grid, dim3 cluster, int cooperative = 0) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {cluster.x, cluster.y, cluster.z};
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = cooperative;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = grid;
  configuration.blockDim = 1024;
  configuration.attrs = attributes;
  configuration.numAttrs = 2;
  return cudaLaunchKernelEx(&configuration, nothing);
}

std::vector<Case> launches() {
  const auto plain = [](dim3 grid) { return [grid] { return launch(grid, 1); }; };
  return {
      {"grid z of 65536", plain({1, 1, 65536}), cudaErrorInvalidConfiguration},
      {"grid y of 65536", plain({1, 65536, 1}), cudaErrorInvalidConfiguration},
      {"grid x of 2^31", plain({1u << 31, 1, 1}), cudaErrorInvalidConfiguration},
      {"grid z of 0", plain({1, 1, 0}), cudaErrorInvalidConfiguration},
      {"cluster of 16", [] { return launch(16, 16); }, cudaErrorInvalidClusterSize},
      {"cluster of 8",
       [] {
         return launch({2, 4, 2}, {2, 2, 2});
       },
       cudaSuccess},
      {"cluster in x", [] { return launch(5, 2); }, cudaErrorInvalidClusterSize},
      {"cluster in y",
       [] {
         return launch({2, 3, 1}, {1, 2, 1});
       },
       cudaErrorInvalidClusterSize},
      {"cluster in z",
       [] {
         return launch({2, 2, 3}, {1, 1, 2});
       },
       cudaErrorInvalidClusterSize},
      // 16 multiprocessors, each with registers for one CTA of 1024 threads.
      {"cooperative, 17 CTAs", [] { return launch(17, 1, 1); }, cudaErrorCooperativeLaunchTooLarge},
      {"cooperative, 16 CTAs", [] { return launch(16, 1, 1); }, cudaSuccess},
      {"17 CTAs", [] { return launch(17, 1); }, cudaSuccess},
      {"cluster of 16, permitted",
       [] {
         CHECK(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
         return launch(16, 16);
       },
       cudaSuccess},
      {"cluster of 17", [] { return launch(17, 17); }, cudaErrorInvalidClusterSize},
  };
}

std::vector<Case> handles() {
  static int place = 0;
  const auto event = reinterpret_cast<cudaEvent_t>(&place);
  return {
      {"no event", [=] { return cudaEventRecord(event, nullptr); }, cudaErrorInvalidResourceHandle},
      {"no event to wait for", [=] { return cudaStreamWaitEvent(nullptr, event, 0); }, cudaErrorInvalidResourceHandle},
      {"no stream", [] { return cudaStreamDestroy(reinterpret_cast<cudaStream_t>(&place)); }, cudaErrorInvalidResourceHandle},
      {"no graph", [] { return cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(&place)); }, cudaErrorInvalidValue},
      {"events without times",
       [] {
         cudaEvent_t timed = nullptr, untimed = nullptr;
         CHECK(cudaEventCreate(&timed));
         CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
         CHECK(cudaEventRecord(timed, nullptr));
         CHECK(cudaEventRecord(untimed, nullptr));
         float milliseconds = 0;
         CHECK(cudaEventElapsedTime(&milliseconds, timed, timed));
         EXPECT_CODE(cudaEventElapsedTime(&milliseconds, untimed, timed), cudaErrorInvalidResourceHandle);
         return cudaEventElapsedTime(&milliseconds, timed, untimed);
       },
       cudaErrorInvalidResourceHandle},
      {"bus id in 12 bytes",
       [] {
         char text[16];
         return cudaDeviceGetPCIBusId(text, 12, 0);
       },
       cudaErrorInvalidValue},
      {"bus id in 13 bytes",
       [] {
         char text[16];
         int device = -1;
         CHECK(cudaDeviceGetPCIBusId(text, 13, 0));
         return cudaDeviceGetByPCIBusId(&device, text);
       },
       cudaSuccess},
      {"a parameter that the kernel lacks",
       [] {
         size_t offset = 0, bytes = 0;
         CHECK(cudaFuncGetParamInfo(reinterpret_cast<const void*>(takes), 1, &offset, &bytes));
         EXPECT(offset == 8 && bytes == 8);
         CHECK(cudaFuncGetParamInfo(reinterpret_cast<const void*>(takes), 2, &offset, &bytes));
         EXPECT(offset == 16 && bytes == 1);
         return cudaFuncGetParamInfo(reinterpret_cast<const void*>(takes), 3, &offset, &bytes);
       },
       cudaErrorInvalidValue},
      {"shared memory of more blocks than fit",
       [] {
         size_t bytes = 0;
         // 228 KiB in two, but for what is reserved of each.
         CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 2, 512));
         EXPECT(bytes == (114 - 1) * 1024);
         CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 1, 1024));
         EXPECT(bytes == 227 * 1024);
         return cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 3, 512);
       },
       cudaErrorInvalidValue},
  };
}

std::vector<Case> memories() {
  static std::vector<char> host(64);
  return {
      {"a range that is registered at its end",
       [] {
         CHECK(cudaHostRegister(host.data() + 16, 16, 0));
         EXPECT_CODE(cudaHostRegister(host.data(), 17, 0), cudaErrorHostMemoryAlreadyRegistered);
         CHECK(cudaHostRegister(host.data(), 16, 0));
         CHECK(cudaHostRegister(host.data() + 32, 16, 0));
         return cudaHostRegister(host.data() + 47, 1, 0);
       },
       cudaErrorHostMemoryAlreadyRegistered},
      {"more memory than is left",
       [] {
         size_t free = 0, total = 0;
         void* memory = nullptr;
         CHECK(cudaMalloc(&memory, 1 << 20));
         CHECK(cudaMemGetInfo(&free, &total));
         EXPECT(free <= total - (1 << 20));
         CHECK(cudaFree(memory));
         size_t after = 0;
         CHECK(cudaMemGetInfo(&after, &total));
         EXPECT(after == free + (1 << 20));
         return cudaMalloc(&memory, after + 1);
       },
       cudaErrorMemoryAllocation},
      {"memory of a pool that is used",
       [] {
         cudaMemPool_t pool = nullptr;
         unsigned long long before = 0, during = 0, after = 0;
         void* memory = nullptr;
         CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
         CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &before));
         CHECK(cudaMallocAsync(&memory, 1000, nullptr));
         CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &during));
         CHECK(cudaFreeAsync(memory, nullptr));
         CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &after));
         EXPECT(during == before + 1000 && after == before);
         return cudaFreeAsync(memory, nullptr);
       },
       cudaErrorInvalidValue},
      {"the default pool",
       [] {
         cudaMemPool_t standard = nullptr, own = nullptr, current = nullptr;
         cudaMemPoolProps properties{};
         CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
         CHECK(cudaMemPoolCreate(&own, &properties));
         CHECK(cudaDeviceSetMemPool(0, own));
         CHECK(cudaDeviceGetMemPool(&current, 0));
         EXPECT(current == own);
         CHECK(cudaMemPoolDestroy(own));
         CHECK(cudaDeviceGetMemPool(&current, 0));
         EXPECT(current == standard);
         return cudaMemPoolDestroy(standard);
       },
       cudaErrorInvalidValue},
      {"a copy in no direction", [] { return cudaMemcpy(host.data(), host.data() + 8, 4, static_cast<cudaMemcpyKind>(5)); },
       cudaErrorInvalidMemcpyDirection},
  };
}

/// Two captures that an event would make one are both invalid.
std::vector<Case> captures() {
  static cudaStream_t first = nullptr, second = nullptr;
  static cudaGraph_t graph = nullptr;
  return {
      {"an event of another capture",
       [] {
         cudaEvent_t event = nullptr;
         CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
         CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
         CHECK(cudaEventCreate(&event));
         CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
         CHECK(cudaStreamBeginCapture(second, cudaStreamCaptureModeGlobal));
         CHECK(cudaEventRecord(event, first));
         return cudaStreamWaitEvent(second, event, 0);
       },
       cudaErrorStreamCaptureMerge},
      {"the first capture", [] { return cudaStreamEndCapture(first, &graph); }, cudaErrorStreamCaptureInvalidated},
      {"the second capture", [] { return cudaStreamEndCapture(second, &graph); }, cudaErrorStreamCaptureInvalidated},
  };
}

int main() {
  for (const auto& cases : {launches(), handles(), memories(), captures()})
    for (const Case& each : cases) {
      const cudaError_t got = each.call();
      program::expectCode(got, each.code, each.name, __LINE__);
      (void)cudaGetLastError();
    }
  return program::finish();
}
