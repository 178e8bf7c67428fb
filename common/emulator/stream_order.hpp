// What the host knows to be finished: the order between work in different streams.
#pragma once

#include <cstdint>
#include <map>

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

  bool isAfter(const StreamPlace& earlier) const {
    if (earlier.stream == stream) return earlier.number < number;
    const auto found = finished.find(earlier.stream);
    return found != finished.end() && earlier.number <= found->second;
  }
};

/// What decides how far work of a stream overlaps the work before it: a dependent kernel may start while kernels before it still
/// run, back to the last one that waited for everything. (A dependent kernel that lets the next one start may not have waited
/// itself.)
enum class StreamWork : uint8_t { Other, Kernel, DependentKernel };

/// Host threads are taken for one: when one of them has waited for a stream, all of them know. Not thread safe.
class StreamOrder {
 public:
  StreamPlace enqueue(uint64_t stream, StreamWork work = StreamWork::Other) {
    StreamPlace place{stream, ++last_[stream], finished_};
    uint64_t& running = running_[stream];
    if (work == StreamWork::DependentKernel) place.overlapping = running;
    if (work == StreamWork::Other)
      running = 0;
    else if (work == StreamWork::Kernel || running == 0)
      running = place.number;
    return place;
  }
  /// The host waited for everything in the stream.
  void synchronized(uint64_t stream) {
    finished_[stream] = last_[stream];
    running_[stream] = 0;
  }

 private:
  std::map<uint64_t, uint64_t> last_;      ///< by stream: work enqueued so far
  std::map<uint64_t, uint64_t> finished_;  ///< of that, what the host has waited for
  std::map<uint64_t, uint64_t> running_;   ///< by stream: the first kernel that a dependent one would overlap; 0: none
};

}  // namespace shiftconv::emulator::hazards
