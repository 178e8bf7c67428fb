// Streams, events and capture: CUDA Runtime API, "Stream Management" and "Event Management".
#include <algorithm>
#include <chrono>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/graph.hpp"

using namespace shiftconv::runtime;

namespace {

StreamTable& streams() { return StreamTable::instance(); }

cudaError_t createStream(const char* name, cudaStream_t* stream, unsigned flags, int priority) {
  return call(name, [&] {
    require(stream != nullptr, "the result is null");
    require((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) == 0, "there is no such flag of a stream");
    *stream = StreamTable::handleOf(streams().create(flags, std::clamp(priority, kGreatestPriority, kLeastPriority)));
  });
}

cudaError_t createEvent(const char* name, cudaEvent_t* event, unsigned flags) {
  return call(name, [&] {
    require(event != nullptr, "the result is null");
    *event = reinterpret_cast<cudaEvent_t>(&streams().createEvent(flags));
  });
}

struct Callback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* data;
};

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* pStream) { return createStream("cudaStreamCreate", pStream, cudaStreamDefault, 0); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return createStream("cudaStreamCreateWithFlags", pStream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
  return createStream("cudaStreamCreateWithPriority", pStream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", [&] {
    Stream& found = streams().find(stream);
    require(!found.isBuiltIn, "a default stream cannot be destroyed", cudaErrorInvalidResourceHandle);
    streams().destroy(found);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&] {
    Stream& found = streams().find(stream);
    refuseCapturing(found);
    streams().hostWaits(found);
  });
}

// All work is done when it is enqueued, so that the answer is always yes; the host then knows.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&] {
    Stream& found = streams().find(stream);
    refuseCapturing(found);
    streams().hostWaits(found);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return call("cudaStreamWaitEvent", [&] { waitForEvent(streams().find(stream), streams().findEvent(event)); });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* userData, unsigned int) {
  return call("cudaStreamAddCallback", [&] {
    require(callback != nullptr, "the callback is null");
    Callback text{callback, stream, userData};
    Stream& found = streams().find(stream);
    require(found.capturing.capture == nullptr, "callbacks cannot be captured", cudaErrorStreamCaptureUnsupported);
    submit(found, HostWork{[](void* data) {
                             const auto& it = *static_cast<Callback*>(data);
                             it.function(it.stream, cudaSuccess, it.data);
                           },
                           &text});
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
  return call("cudaStreamGetPriority", [&] { into(priority) = streams().find(hStream).priority; });
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
  return call("cudaStreamGetFlags", [&] { into(flags) = streams().find(hStream).flags; });
}

cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long* streamId) {
  return call("cudaStreamGetId", [&] { into(streamId) = streams().find(hStream).id; });
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int* device) {
  return call("cudaStreamGetDevice", [&] {
    streams().find(hStream);
    into(device) = 0;
  });
}

// The attributes of streams are hints of speed.
cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID, const cudaLaunchAttributeValue*) {
  return call("cudaStreamSetAttribute", [&] { streams().find(hStream); });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
  return call("cudaStreamCopyAttributes", [&] { streams().find(dst).priority = streams().find(src).priority; });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return createEvent("cudaEventCreate", event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return createEvent("cudaEventCreateWithFlags", event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy", [&] { streams().destroyEvent(streams().findEvent(event)); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&] { recordEvent(streams().findEvent(event), streams().find(stream)); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int) {
  return call("cudaEventRecordWithFlags", [&] { recordEvent(streams().findEvent(event), streams().find(stream)); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&] {
    const Event& found = streams().findEvent(event);
    if (found.captured.capture) throw Failure(cudaErrorCapturedEvent, "the event was captured");
    streams().hostWaits(found);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&] {
    const Event& found = streams().findEvent(event);
    if (found.captured.capture) throw Failure(cudaErrorCapturedEvent, "the event was captured");
    streams().hostWaits(found);
  });
}

// Time of the host, which says nothing about a GPU.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&] {
    const Event &first = streams().findEvent(start), &second = streams().findEvent(end);
    require(first.recorded && second.recorded, "an event was not recorded", cudaErrorInvalidResourceHandle);
    require(((first.flags | second.flags) & cudaEventDisableTiming) == 0, "an event has no timing", cudaErrorInvalidResourceHandle);
    into(ms) = std::chrono::duration<float, std::milli>(second.time - first.time).count();
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&] { beginCapture(streams().find(stream), mode, std::make_shared<Graph>(), {}); });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData*, size_t numDependencies, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCaptureToGraph", [&] {
    require(dependencies != nullptr || numDependencies == 0, "the list of nodes is null");
    std::vector<GraphNode*> tips;
    for (size_t i = 0; i < numDependencies; ++i) tips.push_back(&GraphTable::instance().findNode(dependencies[i]));
    beginCapture(streams().find(stream), mode, GraphTable::instance().find(graph), std::move(tips));
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  return call("cudaStreamEndCapture", [&] {
    into(pGraph) = nullptr;
    into(pGraph) = GraphTable::handleOf(*endCapture(streams().find(stream)));
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
  return call("cudaStreamIsCapturing", [&] {
    const auto& capture = streams().find(stream).capturing.capture;
    into(pCaptureStatus) = !capture           ? cudaStreamCaptureStatusNone
                           : capture->invalid ? cudaStreamCaptureStatusInvalidated
                                              : cudaStreamCaptureStatusActive;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out, unsigned long long* id_out,
                                     cudaGraph_t* graph_out, const cudaGraphNode_t** dependencies_out,
                                     const cudaGraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return call("cudaStreamGetCaptureInfo", [&] {
    static_assert(sizeof(GraphNode*) == sizeof(cudaGraphNode_t));
    CaptureState& state = streams().find(stream).capturing;
    if (cudaStreamIsCapturing(stream, captureStatus_out) != cudaSuccess || !state.capture) return;
    GraphTable::instance().keep(state.capture->graph);
    if (id_out != nullptr) *id_out = state.capture->id;
    if (graph_out != nullptr) *graph_out = GraphTable::handleOf(*state.capture->graph);
    if (dependencies_out != nullptr) *dependencies_out = reinterpret_cast<const cudaGraphNode_t*>(state.tips.data());
    if (edgeData_out != nullptr) *edgeData_out = nullptr;
    if (numDependencies_out != nullptr) *numDependencies_out = state.tips.size();
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call("cudaThreadExchangeStreamCaptureMode", [&] {
    thread_local cudaStreamCaptureMode present = cudaStreamCaptureModeGlobal;
    std::swap(into(mode), present);
  });
}
