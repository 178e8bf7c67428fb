#include "common/emulator/cuda_runtime/core/streams.hpp"

#include <algorithm>

namespace shiftconv::runtime {
namespace {

/// The stream of what the host does outside of all streams, as the machine numbers it.
constexpr uint64_t kHostStream = UINT64_MAX;

/// cudaStreamPerThread of the calling thread; made at first use.
thread_local Stream* perThread = nullptr;

}  // namespace

void join(Clock& into, const Clock& other) {
  for (const auto& [stream, number] : other) {
    uint64_t& there = into[stream];
    there = std::max(there, number);
  }
}

StreamTable& StreamTable::instance() {
  static auto* const table = new StreamTable;
  return *table;
}

StreamTable::StreamTable() : legacy_(&create(cudaStreamDefault, 0)) { legacy_->isLegacy = legacy_->isBuiltIn = true; }

Stream& StreamTable::create(unsigned flags, int priority) {
  auto* stream = new Stream;
  stream->id = nextId_++;
  stream->flags = flags;
  stream->priority = priority;
  streams_.insert(stream);
  return *stream;
}

void StreamTable::destroy(Stream& stream) {
  // Its work goes on; whoever waits for the whole device still waits for it.
  streams_.erase(&stream);
  join(legacy_->finished, reachedBy(stream));
  delete &stream;
}

Stream& StreamTable::find(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return *legacy_;
  if (handle == cudaStreamPerThread) {
    if (perThread == nullptr) {
      perThread = &create(cudaStreamDefault, 0);
      perThread->isBuiltIn = true;
    }
    return *perThread;
  }
  auto* stream = reinterpret_cast<Stream*>(handle);
  if (!streams_.contains(stream)) throw Failure(cudaErrorInvalidResourceHandle, "this is no stream");
  return *stream;
}

Event& StreamTable::createEvent(unsigned flags) {
  auto* event = new Event;
  event->flags = flags;
  events_.insert(event);
  return *event;
}

void StreamTable::destroyEvent(Event& event) {
  events_.erase(&event);
  delete &event;
}

Event& StreamTable::findEvent(cudaEvent_t handle) {
  auto* event = reinterpret_cast<Event*>(handle);
  if (!events_.contains(event)) throw Failure(cudaErrorInvalidResourceHandle, "this is no event");
  return *event;
}

void StreamTable::joinImplicit(Stream& stream) {
  if (!stream.isBlocking()) return;
  if (!stream.isLegacy) {
    join(stream.finished, legacy_->finished);
    if (legacy_->last != 0) stream.finished[legacy_->id] = legacy_->last;
    return;
  }
  for (Stream* other : streams_) {
    if (other == &stream || !other->isBlocking() || other->capturing.capture) continue;
    join(stream.finished, other->finished);
    if (other->last != 0) stream.finished[other->id] = other->last;
  }
}

Place StreamTable::enqueue(Stream& stream, StreamWork work) {
  joinImplicit(stream);
  Place place{stream.id, ++stream.last, stream.finished, host_};
  join(place.finished, host_);
  if (const auto own = place.finished.find(stream.id); own != place.finished.end()) stream.running.finished(own->second);
  place.overlapping = stream.running.enqueue(place.number, work);
  // What the host knew is known to everything after this work, too.
  stream.finished = place.finished;
  return place;
}

Place StreamTable::hostPlace() { return {kHostStream, ++hostWork_, host_, host_}; }

Clock StreamTable::reachedBy(Stream& stream) {
  joinImplicit(stream);
  Clock reached = stream.finished;
  if (stream.last != 0) reached[stream.id] = stream.last;
  return reached;
}

void StreamTable::hostWaitsForAll() {
  for (Stream* stream : streams_) hostWaits(*stream);
}

bool StreamTable::anyCapturing() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const Stream* stream) { return stream->capturing.capture != nullptr; });
}

std::vector<Stream*> StreamTable::all() const { return {streams_.begin(), streams_.end()}; }

}  // namespace shiftconv::runtime
