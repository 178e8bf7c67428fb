// Graphs that captures of streams make, call by call.
#include "tests/runtime/graph_fixture.hpp"

namespace shiftconv::tests {
namespace {

TEST_F(GraphCalls, CapturesGoOnInAGraphThatIsThere) {
  const cudaGraphNode_t kernel = addKernel();
  EXPECT_DONE(cudaStreamBeginCaptureToGraph(stream, graph, &kernel, nullptr, 1, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0, otherId = 0;
  cudaGraph_t captured = nullptr;
  const cudaGraphNode_t* tips = nullptr;
  size_t count = 0;
  EXPECT_DONE(cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &tips, nullptr, &count));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(captured, graph);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(tips[0], kernel);
  EXPECT_DONE(cudaMemcpyAsync(second, first, kCount * 4, cudaMemcpyDeviceToDevice, stream));
  EXPECT_DONE(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &tips, nullptr, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(typeOf(tips[0]), cudaGraphNodeTypeMemcpy);
  EXPECT_DONE(cudaStreamEndCapture(stream, &captured));
  EXPECT_EQ(captured, graph);
  EXPECT_EQ(nodesOf(graph).size(), 2u);
  EXPECT_DONE(cudaMemset(second, 0, kCount * 4));
  runOnce();
  EXPECT_EQ(numbers(second), shifted(kCount, 100)) << "the copy is behind the kernel";
  EXPECT_DONE(cudaStreamGetCaptureInfo(stream, &status, &otherId, &captured, &tips, nullptr, &count));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(otherId, 0u) << "nothing to tell";
  EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_DONE(cudaStreamGetCaptureInfo(stream, &status, &otherId, nullptr, nullptr, nullptr, nullptr));
  EXPECT_NE(otherId, id);
  EXPECT_CODE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT_DONE(cudaStreamEndCapture(stream, &captured));
  EXPECT_CODE(cudaStreamEndCapture(stream, &captured), cudaErrorIllegalState);
  EXPECT_CODE(cudaStreamBeginCaptureToGraph(stream, reinterpret_cast<cudaGraph_t>(&nobody), nullptr, nullptr, 0,
                                            cudaStreamCaptureModeGlobal),
              cudaErrorInvalidValue);
}

/// The legacy stream would wait for a blocking stream that is capturing: the call fails, and so does what is captured.
TEST_F(GraphCalls, TheLegacyStreamEndsACaptureThatItWouldWaitFor) {
  cudaStream_t blocking = nullptr;
  cudaGraph_t captured = nullptr;
  EXPECT_DONE(cudaStreamCreate(&blocking));
  for (const cudaStreamCaptureMode mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    EXPECT_DONE(cudaStreamBeginCapture(blocking, mode));
    EXPECT_CODE(cudaMemsetAsync(first, 1, kCount * 4, nullptr), cudaErrorStreamCaptureImplicit);
    cudaStreamCaptureStatus status{};
    EXPECT_DONE(cudaStreamIsCapturing(blocking, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
    EXPECT_CODE(cudaMemsetAsync(first, 1, kCount * 4, blocking), cudaErrorStreamCaptureInvalidated);
    EXPECT_CODE(cudaStreamEndCapture(blocking, &captured), cudaErrorStreamCaptureInvalidated);
    EXPECT_DONE(cudaMemsetAsync(first, 0, kCount * 4, nullptr));
  }
  EXPECT_DONE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  EXPECT_DONE(cudaMemsetAsync(first, 0, kCount * 4, nullptr)) << "nobody cares";
  EXPECT_DONE(cudaStreamEndCapture(blocking, &captured));
  EXPECT_DONE(cudaGraphDestroy(captured));
  EXPECT_DONE(cudaStreamDestroy(blocking));
}

/// An event of a capture joins other streams to it, as long as it lasts, and tells the host nothing.
TEST_F(GraphCalls, EventsOfCapturesAreOfNoUseOutside) {
  cudaEvent_t event = nullptr;
  cudaStream_t other = nullptr;
  cudaGraph_t captured = nullptr;
  cudaStreamCaptureStatus status{};
  EXPECT_DONE(cudaEventCreate(&event));
  EXPECT_DONE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_DONE(cudaMemsetAsync(first, 1, kCount * 4, stream));
  EXPECT_DONE(cudaEventRecord(event, stream));
  EXPECT_CODE(cudaEventQuery(event), cudaErrorCapturedEvent);
  EXPECT_CODE(cudaEventSynchronize(event), cudaErrorCapturedEvent);
  EXPECT_DONE(cudaStreamWaitEvent(other, event, 0));
  EXPECT_DONE(cudaStreamIsCapturing(other, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_CODE(cudaStreamEndCapture(other, &captured), cudaErrorStreamCaptureUnmatched);
  EXPECT_CODE(cudaStreamEndCapture(stream, &captured), cudaErrorStreamCaptureInvalidated);
  for (const bool isCapturing : {false, true}) {
    SCOPED_TRACE(isCapturing);
    if (isCapturing) {
      EXPECT_DONE(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
    }
    EXPECT_CODE(cudaStreamWaitEvent(other, event, 0), cudaErrorCapturedEvent) << "the capture has ended";
    EXPECT_DONE(cudaStreamIsCapturing(other, &status));
    EXPECT_EQ(status, isCapturing ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusNone);
  }
  EXPECT_CODE(cudaStreamEndCapture(other, &captured), cudaErrorStreamCaptureInvalidated);
  EXPECT_DONE(cudaEventRecord(event, stream));
  EXPECT_DONE(cudaEventQuery(event));
  EXPECT_DONE(cudaStreamWaitEvent(other, event, 0));
  // An event from outside, in a capture.
  EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_CODE(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_CODE(cudaStreamEndCapture(stream, &captured), cudaErrorStreamCaptureInvalidated);
  EXPECT_DONE(cudaStreamDestroy(other));
  EXPECT_DONE(cudaEventDestroy(event));
}

TEST_F(GraphCalls, CapturedAllocationsAreNodes) {
  for (const bool byDriver : {false, true}) {
    SCOPED_TRACE(byDriver);
    void* memory = nullptr;
    cudaGraph_t captured = nullptr;
    uint64_t before = 0, after = 0;
    EXPECT_DONE(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &before));
    EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    if (byDriver) {
      EXPECT_DONE(cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(&memory), kCount * 4, stream));
    } else {
      EXPECT_DONE(cudaMallocAsync(&memory, kCount * 4, stream));
    }
    EXPECT_DONE(cudaMemsetAsync(memory, 3, kCount * 4, stream));
    EXPECT_DONE(cudaMemcpyAsync(first, memory, kCount * 4, cudaMemcpyDeviceToDevice, stream));
    EXPECT_DONE(cudaFreeAsync(memory, stream));
    EXPECT_DONE(cudaStreamEndCapture(stream, &captured));
    EXPECT_DONE(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &after));
    EXPECT_EQ(after, before + kCount * 4);
    const Nodes nodes = nodesOf(captured);
    ASSERT_EQ(nodes.size(), 4u);
    EXPECT_EQ(typeOf(nodes[0]), cudaGraphNodeTypeMemAlloc);
    EXPECT_EQ(typeOf(nodes[3]), cudaGraphNodeTypeMemFree);
    cudaMemAllocNodeParams allocation{};
    void* freed = nullptr;
    EXPECT_DONE(cudaGraphMemAllocNodeGetParams(nodes[0], &allocation));
    EXPECT_DONE(cudaGraphMemFreeNodeGetParams(nodes[3], &freed));
    EXPECT_EQ(allocation.dptr, memory);
    EXPECT_EQ(allocation.bytesize, size_t{kCount * 4});
    EXPECT_EQ(freed, memory);
    EXPECT_CODE(cudaGraphMemAllocNodeGetParams(nodes[1], &allocation), cudaErrorInvalidValue);
    EXPECT_CODE(cudaGraphMemAllocNodeGetParams(nodes[0], nullptr), cudaErrorInvalidValue);
    EXPECT_CODE(cudaGraphMemFreeNodeGetParams(nodes[0], &freed), cudaErrorInvalidValue);
    EXPECT_CODE(cudaGraphMemFreeNodeGetParams(nodes[3], nullptr), cudaErrorInvalidValue);
    cudaGraphExec_t executable = nullptr;
    EXPECT_DONE(cudaGraphInstantiate(&executable, captured, 0));
    run(executable);
    run(executable);
    EXPECT_EQ(numbers(first), std::vector<int>(kCount, 0x03030303));
    EXPECT_DONE(cudaGraphExecDestroy(executable));
    EXPECT_DONE(cudaGraphDestroy(captured));
  }
}

}  // namespace
}  // namespace shiftconv::tests
