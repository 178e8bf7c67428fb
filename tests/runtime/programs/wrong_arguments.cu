// Null results, numbers out of range and things of another kind, each with the code that the call must give; next to it, where
// there is a limit, the last right one.
#include <functional>

#include "tests/runtime/programs/check.hpp"

__device__ int variable[4];
__global__ void nothing() {}
__global__ void takes(int, double) {}

struct Case {
  const char* name;
  std::function<cudaError_t()> call;
  cudaError_t code = cudaErrorInvalidValue;
};

int* memory = nullptr;  ///< 64 words
int host[64];

std::vector<Case> results() {
  static cudaStream_t stream = nullptr;
  return {
      {"no place for memory", [] { return cudaMalloc(static_cast<void**>(nullptr), 4); }},
      {"no place for managed memory", [] { return cudaMallocManaged(static_cast<void**>(nullptr), 4); }},
      {"no managed bytes",
       [] {
         void* made = nullptr;
         return cudaMallocManaged(&made, 0);
       }},
      {"no place for a pitch",
       [] {
         void* made = nullptr;
         return cudaMallocPitch(&made, nullptr, 4, 4);
       }},
      {"no place for a stream", [] { return cudaStreamCreate(nullptr); }},
      {"no such flag of a stream", [] { return cudaStreamCreateWithFlags(&stream, 2); }},
      {"no place for an event", [] { return cudaEventCreate(nullptr); }},
      {"no place for an attribute", [] { return cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0); }},
      {"no such attribute",
       [] {
         int value = 0;
         CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
         EXPECT(value == 1024);
         return cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0);
       }},
      {"no such device",
       [] {
         int value = 0;
         return cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1);
       },
       cudaErrorInvalidDevice},
      {"no place for properties", [] { return cudaGetDeviceProperties(nullptr, 0); }},
      {"device 1", [] { return cudaSetDevice(1); }, cudaErrorInvalidDevice},
      {"another bus",
       [] {
         int device = 0;
         return cudaDeviceGetByPCIBusId(&device, "0000:7f:00.0");
       },
       cudaErrorInvalidDevice},
      {"no such limit",
       [] {
         size_t value = 0;
         return cudaDeviceGetLimit(&value, static_cast<cudaLimit>(77));
       },
       cudaErrorUnsupportedLimit},
      {"the limits of a device",
       [] {
         // Bytes of a stack, of printf and of the heap; depth and number of launches by kernels; bytes fetched from L2.
         const std::pair<cudaLimit, size_t> limits[] = {{cudaLimitStackSize, 1024},
                                                        {cudaLimitPrintfFifoSize, 1 << 20},
                                                        {cudaLimitMallocHeapSize, 8 << 20},
                                                        {cudaLimitDevRuntimeSyncDepth, 2},
                                                        {cudaLimitDevRuntimePendingLaunchCount, 2048},
                                                        {cudaLimitMaxL2FetchGranularity, 64}};
         for (const auto& [limit, expected] : limits) {
           size_t value = 0;
           CHECK(cudaDeviceGetLimit(&value, limit));
           EXPECT(value == expected);
         }
         return cudaSuccess;
       },
       cudaSuccess},
      {"no cluster that the kernel requires",
       [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributeRequiredClusterWidth, 0); }, cudaSuccess},
      {"a cluster of a negative width", [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributeRequiredClusterWidth, -1); }},
      {"a cluster of a negative height", [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributeRequiredClusterHeight, -1); }},
      {"an attribute that is only read", [] { return cudaFuncSetAttribute(nothing, static_cast<cudaFuncAttribute>(77), 0); }},
      {"no attributes of a function", [] { return cudaFuncGetAttributes(nullptr, nothing); }},
      {"a function of nobody",
       [] {
         cudaFuncAttributes attributes{};
         return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&host));
       },
       cudaErrorInvalidDeviceFunction},
      {"shared memory at the limit",
       [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024); }, cudaSuccess},
      {"shared memory beyond",
       [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1); }},
      {"all carved out", [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 100); },
       cudaSuccess},
      {"more than all carved out",
       [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 101); }},
      {"less than the default carved out",
       [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, -2); }},
      {"no blocks of a multiprocessor", [] { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, nothing, 32, 0); }},
      {"blocks of no threads",
       [] {
         int blocks = 0;
         return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 0, 0);
       }},
  };
}

std::vector<Case> work() {
  return {
      {"a variable's end", [] { return cudaMemcpyToSymbol(variable, host, 8, 8); }, cudaSuccess},
      {"behind a variable's end", [] { return cudaMemcpyToSymbol(variable, host, 8, 9); }},
      {"no variable", [] { return cudaMemcpyToSymbol(reinterpret_cast<const void*>(&host), host, 4); }, cudaErrorInvalidSymbol},
      {"all of an allocation", [] { return cudaMemcpy(memory, host, 256, cudaMemcpyHostToDevice); }, cudaSuccess},
      {"a byte more", [] { return cudaMemcpy(memory, host, 257, cudaMemcpyHostToDevice); }},
      {"host memory as device memory", [] { return cudaMemcpy(host, host + 8, 4, cudaMemcpyHostToDevice); }},
      {"from host memory as device memory", [] { return cudaMemcpy(host, host + 8, 4, cudaMemcpyDeviceToHost); }},
      {"from host to host",
       [] {
         host[1] = 77;
         CHECK(cudaMemcpy(host + 8, host + 1, 4, cudaMemcpyHostToHost));
         EXPECT(host[8] == 77);
         return cudaMemcpy(host + 9, host + 1, 4, cudaMemcpyDefault);
       },
       cudaSuccess},
      {"in a negative direction", [] { return cudaMemcpy(host + 8, host, 4, static_cast<cudaMemcpyKind>(-1)); },
       cudaErrorInvalidMemcpyDirection},
      {"to nowhere", [] { return cudaMemcpy(nullptr, memory, 4, cudaMemcpyDeviceToHost); }},
      {"nothing to nowhere", [] { return cudaMemcpy(nullptr, memory, 0, cudaMemcpyDeviceToHost); }, cudaSuccess},
      {"rows of their pitch", [] { return cudaMemcpy2D(host, 16, memory, 16, 16, 4, cudaMemcpyDeviceToHost); }, cudaSuccess},
      {"rows longer than the host's pitch", [] { return cudaMemcpy2D(host, 15, memory, 16, 16, 4, cudaMemcpyDeviceToHost); },
       cudaErrorInvalidPitchValue},
      {"rows longer than the device's pitch", [] { return cudaMemcpy2D(host, 16, memory, 15, 16, 4, cudaMemcpyDeviceToHost); },
       cudaErrorInvalidPitchValue},
      {"one row of any pitch", [] { return cudaMemcpy2D(host, 1, memory, 1, 16, 1, cudaMemcpyDeviceToHost); }, cudaSuccess},
      {"rows behind the end", [] { return cudaMemcpy2D(host, 16, memory, 64, 16, 5, cudaMemcpyDeviceToHost); }},
      {"a plane copy without parameters", [] { return cudaMemcpy3D(nullptr); }},
      {"all set", [] { return cudaMemset(memory, 7, 256); }, cudaSuccess},
      {"one more set", [] { return cudaMemset(memory, 7, 257); }},
      {"the host's memory set", [] { return cudaMemset(host, 7, 4); }},
      {"set in rows longer than their pitch", [] { return cudaMemset2D(memory, 15, 7, 16, 2); }, cudaErrorInvalidPitchValue},
      {"freed in the middle", [] { return cudaFree(memory + 1); }},
      {"host memory freed as the device's", [] { return cudaFree(host); }},
      {"device memory freed as the host's", [] { return cudaFreeHost(memory); }},
      {"nothing freed", [] { return cudaFree(nullptr); }, cudaSuccess},
      {"unregistered, but never registered", [] { return cudaHostUnregister(host); }, cudaErrorHostMemoryNotRegistered},
      {"no bytes registered", [] { return cudaHostRegister(host, 0, 0); }},
      {"host memory that is not mapped",
       [] {
         void* pointer = nullptr;
         return cudaHostGetDevicePointer(&pointer, host, 0);
       }},
      {"flags of device memory",
       [] {
         unsigned flags = 0;
         return cudaHostGetFlags(&flags, memory);
       }},
      {"no callback", [] { return cudaStreamAddCallback(nullptr, nullptr, nullptr, 0); }},
      {"no host function", [] { return cudaLaunchHostFunc(nullptr, nullptr, nullptr); }},
      {"no arguments", [] { return cudaLaunchKernel(takes, 1, 1, nullptr, 0, nullptr); }},
      {"an argument that is null",
       [] {
         int first = 0;
         void* arguments[] = {&first, nullptr};
         return cudaLaunchKernel(takes, 1, 1, arguments, 0, nullptr);
       }},
      {"no kernel", [] { return cudaLaunchKernel(reinterpret_cast<const void*>(&host), 1, 1, nullptr, 0, nullptr); },
       cudaErrorInvalidDeviceFunction},
      {"no configuration", [] { return cudaLaunchKernelExC(nullptr, reinterpret_cast<const void*>(nothing), nullptr); }},
      {"1024 threads", [] { return cudaLaunchKernel(nothing, 1, dim3(16, 8, 8), nullptr, 0, nullptr); }, cudaSuccess},
      {"1025 threads", [] { return cudaLaunchKernel(nothing, 1, dim3(1025), nullptr, 0, nullptr); }, cudaErrorInvalidConfiguration},
      {"65 threads in z", [] { return cudaLaunchKernel(nothing, 1, dim3(1, 1, 65), nullptr, 0, nullptr); },
       cudaErrorInvalidConfiguration},
      {"no threads", [] { return cudaLaunchKernel(nothing, 1, dim3(0), nullptr, 0, nullptr); }, cudaErrorInvalidConfiguration},
  };
}

/// An event that was not recorded, and what a stream cannot do while it captures.
std::vector<Case> order() {
  static cudaEvent_t fresh = nullptr, recorded = nullptr;
  static cudaStream_t stream = nullptr, other = nullptr;
  static cudaGraph_t graph = nullptr;
  const auto makeAll = [] {
    CHECK(cudaEventCreate(&fresh));
    CHECK(cudaEventCreate(&recorded));
    CHECK(cudaEventRecord(recorded, nullptr));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    return cudaSuccess;
  };
  return {
      {"streams and events", makeAll, cudaSuccess},
      {"the time from an event that was not recorded",
       [] {
         float milliseconds = 0;
         return cudaEventElapsedTime(&milliseconds, fresh, recorded);
       },
       cudaErrorInvalidResourceHandle},
      {"the time to an event that was not recorded",
       [] {
         float milliseconds = 0;
         return cudaEventElapsedTime(&milliseconds, recorded, fresh);
       },
       cudaErrorInvalidResourceHandle},
      {"an event that is not recorded is done", [] { return cudaEventQuery(fresh); }, cudaSuccess},
      {"the default stream destroyed", [] { return cudaStreamDestroy(nullptr); }, cudaErrorInvalidResourceHandle},
      {"the default stream captures", [] { return cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed); },
       cudaErrorStreamCaptureUnsupported},
      {"the end of no capture", [] { return cudaStreamEndCapture(stream, &graph); }, cudaErrorIllegalState},
      {"a capture", [] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); }, cudaSuccess},
      {"a capture in a capture", [] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); },
       cudaErrorIllegalState},
      {"an event from outside", [] { return cudaStreamWaitEvent(stream, recorded, 0); }, cudaErrorStreamCaptureIsolation},
      {"the capture that it spoilt", [] { return cudaStreamEndCapture(stream, &graph); }, cudaErrorStreamCaptureInvalidated},
      {"a second capture", [] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); }, cudaSuccess},
      {"waited for while it captures", [] { return cudaStreamSynchronize(stream); }, cudaErrorStreamCaptureUnsupported},
      {"the capture that this spoilt", [] { return cudaStreamEndCapture(stream, &graph); }, cudaErrorStreamCaptureInvalidated},
      {"a third capture", [] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); }, cudaSuccess},
      {"an event in it", [] { return cudaEventRecord(fresh, stream); }, cudaSuccess},
      {"queried while it is captured", [] { return cudaEventQuery(fresh); }, cudaErrorCapturedEvent},
      {"waited for while it is captured", [] { return cudaEventSynchronize(fresh); }, cudaErrorCapturedEvent},
      {"another stream joins", [] { return cudaStreamWaitEvent(other, fresh, 0); }, cudaSuccess},
      {"ended by the other", [] { return cudaStreamEndCapture(other, &graph); }, cudaErrorStreamCaptureUnmatched},
      {"ended by the first", [] { return cudaStreamEndCapture(stream, &graph); }, cudaErrorStreamCaptureInvalidated},
      {"a fourth capture", [] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); }, cudaSuccess},
      {"an event for the other", [] { return cudaEventRecord(fresh, stream); }, cudaSuccess},
      {"the other joins", [] { return cudaStreamWaitEvent(other, fresh, 0); }, cudaSuccess},
      {"and works", [] { return cudaMemsetAsync(memory, 1, 4, other); }, cudaSuccess},
      {"but is not joined to the first", [] { return cudaStreamEndCapture(stream, &graph); }, cudaErrorStreamCaptureUnjoined},
      {"an event destroyed", [] { return cudaEventDestroy(fresh); }, cudaSuccess},
      {"recorded then", [] { return cudaEventRecord(fresh, stream); }, cudaErrorInvalidResourceHandle},
      {"a stream destroyed", [] { return cudaStreamDestroy(other); }, cudaSuccess},
      {"used then", [] { return cudaStreamSynchronize(other); }, cudaErrorInvalidResourceHandle},
  };
}

std::vector<Case> graphs() {
  static cudaGraph_t graph = nullptr, second = nullptr;
  static cudaGraphNode_t first = nullptr, next = nullptr, fill = nullptr;
  static cudaGraphExec_t executable = nullptr;
  static cudaMemsetParams parameters{};
  const auto makeAll = [] {
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphCreate(&second, 0));
    CHECK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
    CHECK(cudaGraphAddEmptyNode(&next, graph, &first, 1));
    parameters.dst = memory;
    parameters.elementSize = 4;
    parameters.width = 64;
    parameters.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &parameters));
    return cudaGraphInstantiate(&executable, graph, 0);
  };
  return {
      {"a graph", makeAll, cudaSuccess},
      {"no place for a node", [] { return cudaGraphAddEmptyNode(nullptr, graph, nullptr, 0); }},
      {"no place for an executable graph", [] { return cudaGraphInstantiate(nullptr, graph, 0); }},
      {"no place for a number", [] { return cudaGraphGetNodes(graph, nullptr, nullptr); }},
      {"an edge to another graph",
       [] {
         cudaGraphNode_t stranger = nullptr;
         CHECK(cudaGraphAddEmptyNode(&stranger, second, nullptr, 0));
         return cudaGraphAddDependencies(graph, &first, &stranger, nullptr, 1);
       }},
      {"the work of another kind",
       [] {
         cudaKernelNodeParams kernel{};
         return cudaGraphKernelNodeGetParams(fill, &kernel);
       }},
      {"elements of 3 bytes",
       [] {
         cudaMemsetParams odd = parameters;
         odd.elementSize = 3;
         return cudaGraphExecMemsetNodeSetParams(executable, fill, &odd);
       }},
      {"a node of another graph in the executable one",
       [] {
         cudaGraphNode_t stranger = nullptr;
         CHECK(cudaGraphAddMemsetNode(&stranger, second, nullptr, 0, &parameters));
         return cudaGraphExecMemsetNodeSetParams(executable, stranger, &parameters);
       }},
      {"another graph in its place",
       [] {
         cudaGraphExecUpdateResultInfo info{};
         const cudaError_t code = cudaGraphExecUpdate(executable, second, &info);
         EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
         return code;
       },
       cudaErrorGraphExecUpdateFailure},
      {"a circle",
       [] {
         CHECK(cudaGraphAddDependencies(graph, &next, &first, nullptr, 1));
         cudaGraphExec_t made = nullptr;
         return cudaGraphInstantiate(&made, graph, 0);
       }},
      {"the executable graph destroyed", [] { return cudaGraphExecDestroy(executable); }, cudaSuccess},
      {"launched then", [] { return cudaGraphLaunch(executable, nullptr); }},
      {"the graph destroyed", [] { return cudaGraphDestroy(graph); }, cudaSuccess},
      {"its nodes then",
       [] {
         cudaGraphNodeType type{};
         return cudaGraphNodeGetType(first, &type);
       }},
  };
}

int main() {
  CHECK(cudaMalloc(&memory, sizeof host));
  for (const auto& cases : {results(), work(), order(), graphs()})
    for (const Case& each : cases) {
      program::expectCode(each.call(), each.code, each.name, __LINE__);
      (void)cudaGetLastError();
    }
  return program::finish();
}
