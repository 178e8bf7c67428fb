// Streams and events: CUDA Driver API, "Stream Management" and "Event Management".
#include <algorithm>
#include <chrono>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/graph.hpp"

using namespace shiftconv::runtime;

namespace {

StreamTable& streams() { return StreamTable::instance(); }

}  // namespace

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) { return cuStreamCreateWithPriority(phStream, Flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  return driverCall("cuStreamCreate", [&] {
    require(phStream != nullptr && (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0, "the result is null or a flag is unknown");
    *phStream = StreamTable::handleOf(streams().create(flags, std::clamp(priority, kGreatestPriority, kLeastPriority)));
  });
}

CUresult cuStreamDestroy(CUstream hStream) {
  return driverCall("cuStreamDestroy", [&] {
    Stream& stream = streams().find(hStream);
    require(!stream.isBuiltIn, "a default stream cannot be destroyed", cudaErrorInvalidResourceHandle);
    streams().destroy(stream);
  });
}

CUresult cuStreamSynchronize(CUstream hStream) {
  return driverCall("cuStreamSynchronize", [&] {
    Stream& stream = streams().find(hStream);
    refuseCapturing(stream);
    streams().hostWaits(stream);
  });
}

CUresult cuStreamQuery(CUstream hStream) {
  return driverCall("cuStreamQuery", [&] {
    Stream& stream = streams().find(hStream);
    refuseCapturing(stream);
    streams().hostWaits(stream);
  });
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int) {
  return driverCall("cuStreamWaitEvent", [&] { waitForEvent(streams().find(hStream), streams().findEvent(hEvent)); });
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return driverCall("cuStreamIsCapturing", [&] {
    const auto& capture = streams().find(hStream).capturing.capture;
    into(captureStatus) = !capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                          : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  });
}

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  return driverCall("cuEventCreate", [&] { into(phEvent) = reinterpret_cast<CUevent>(&streams().createEvent(Flags)); });
}

CUresult cuEventDestroy(CUevent hEvent) {
  return driverCall("cuEventDestroy", [&] { streams().destroyEvent(streams().findEvent(hEvent)); });
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  return driverCall("cuEventRecord", [&] { recordEvent(streams().findEvent(hEvent), streams().find(hStream)); });
}

CUresult cuEventSynchronize(CUevent hEvent) {
  return driverCall("cuEventSynchronize", [&] { streams().hostWaits(streams().findEvent(hEvent)); });
}

CUresult cuEventQuery(CUevent hEvent) {
  return driverCall("cuEventQuery", [&] { streams().hostWaits(streams().findEvent(hEvent)); });
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return driverCall("cuEventElapsedTime", [&] {
    const Event &first = streams().findEvent(hStart), &second = streams().findEvent(hEnd);
    require(first.recorded && second.recorded, "an event was not recorded", cudaErrorInvalidResourceHandle);
    into(pMilliseconds) = std::chrono::duration<float, std::milli>(second.time - first.time).count();
  });
}
