// Streams and events, as far as they order work. Work is done when it is enqueued; what a GPU would be free to overlap is kept
// as clocks, from which the hazard checker judges: work is ordered after the earlier work of its stream, after the events its
// stream waited for, after what the host had waited for when it enqueued it, and, in the legacy default stream and the
// blocking streams, behind each other (CUDA C++ Programming Guide, "Implicit Synchronization").
//
// Host threads are taken for one: when one of them has waited for something, all of them know.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "common/emulator/cuda_runtime/core/failure.hpp"
#include "common/emulator/cuda_runtime/machine_binding.hpp"
#include "common/stream_overlap.hpp"

namespace shiftconv::runtime {

struct Capture;
struct GraphNode;

/// Priorities that streams can have; less is more urgent.
inline constexpr int kGreatestPriority = -5, kLeastPriority = 0;

void join(Clock& into, const Clock& other);

/// What a capturing stream or a captured event stands after.
struct CaptureState {
  std::shared_ptr<Capture> capture;  ///< nullptr: not captured
  std::vector<GraphNode*> tips;      ///< the nodes that the next one depends on
};

struct Stream {
  uint64_t id = 0;  ///< as hazard reports name it
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  bool isLegacy = false;
  bool isBuiltIn = false;  ///< cannot be destroyed
  uint64_t last = 0;       ///< work enqueued so far
  OverlappingKernels running;
  Clock finished;  ///< before the next work of this stream
  CaptureState capturing;
  bool isBlocking() const { return (flags & cudaStreamNonBlocking) == 0; }
};

struct Event {
  unsigned flags = cudaEventDefault;
  bool recorded = false;
  Clock reached;  ///< has finished once the event has completed
  std::chrono::steady_clock::time_point time;
  CaptureState captured;
};

class StreamTable {
 public:
  static StreamTable& instance();

  Stream& create(unsigned flags, int priority);
  void destroy(Stream& stream);
  /// The stream behind a handle, the built-in ones included. Throws Failure cudaErrorInvalidResourceHandle.
  Stream& find(cudaStream_t handle);
  static cudaStream_t handleOf(Stream& stream) { return reinterpret_cast<cudaStream_t>(&stream); }

  Event& createEvent(unsigned flags);
  void destroyEvent(Event& event);
  Event& findEvent(cudaEvent_t handle);

  /// The place of a further piece of work.
  Place enqueue(Stream& stream, StreamWork work = StreamWork::Other);
  /// Place of an act of the host itself.
  Place hostPlace();
  /// A stream of its own for work that runs beside that of other streams: branches of graphs.
  uint64_t freshStreamId() { return nextId_++; }
  /// What has finished once everything enqueued so far in the stream has.
  Clock reachedBy(Stream& stream);
  const Clock& host() const { return host_; }

  void hostWaits(Stream& stream) { join(host_, reachedBy(stream)); }
  void hostWaits(const Event& event) { join(host_, event.reached); }
  void hostWaitsForAll();
  bool anyCapturing() const;
  std::vector<Stream*> all() const;

 private:
  StreamTable();
  /// The implicit order between the legacy default stream and blocking streams.
  void joinImplicit(Stream& stream);

  std::set<Stream*> streams_;
  std::set<Event*> events_;
  Clock host_;
  uint64_t hostWork_ = 0;
  uint64_t nextId_ = 0;
  Stream* legacy_;  ///< made last: it takes the first number
};

}  // namespace shiftconv::runtime
