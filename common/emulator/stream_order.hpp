// What the host knows to be finished: the order between work in different streams.
#pragma once

#include <cstdint>
#include <map>

#include "common/stream_overlap.hpp"

namespace shiftconv::emulator::hazards {

/// The "stream" of what the host does by itself, outside of all streams.
inline constexpr uint64_t kHostStream = UINT64_MAX;

/// The place of one piece of work (a launch, a copy, a fill) among the work of all streams.
struct StreamPlace {
  uint64_t stream = 0;
  uint64_t number = 0;                    ///< in its stream, from 1
  std::map<uint64_t, uint64_t> finished;  ///< by stream: all work up to that number had finished before this was enqueued
  /// Of a programmatic dependent launch: work of its stream from this number on may still run until it waits (griddepcontrol.wait).
  /// 0: none.
  uint64_t overlapping = 0;
  /// By stream: all work up to that number had finished, and the host knew, so that it comes before everything from now on.
  std::map<uint64_t, uint64_t> waited = {};

  bool isAfter(const StreamPlace& earlier) const {
    if (earlier.stream == stream) return earlier.number < number;
    const auto found = finished.find(earlier.stream);
    return found != finished.end() && earlier.number <= found->second;
  }
};

/// Host threads are taken for one: when one of them has waited for a stream, all of them know. Not thread safe.
class StreamOrder {
 public:
  StreamPlace enqueue(uint64_t stream, StreamWork work = StreamWork::Other) {
    const uint64_t number = ++last_[stream];
    return {stream, number, finished_, running_[stream].enqueue(number, work), finished_};
  }
  /// The host waited for everything in the stream.
  void synchronized(uint64_t stream) {
    finished_[stream] = last_[stream];
    running_[stream].finished(last_[stream]);
  }

 private:
  std::map<uint64_t, uint64_t> last_;      ///< by stream: work enqueued so far
  std::map<uint64_t, uint64_t> finished_;  ///< of that, what the host has waited for
  std::map<uint64_t, OverlappingKernels> running_;
};

}  // namespace shiftconv::emulator::hazards
