// How far work of a stream overlaps the work before it (CUDA C++ Programming Guide, "Programmatic Dependent Launch").
#pragma once

#include <cstdint>

namespace shiftconv {

/// A dependent kernel may start while kernels before it still run, until it waits for them (griddepcontrol.wait).
enum class StreamWork : uint8_t { Other, Kernel, DependentKernel };

/// Of one stream: the kernels that a dependent one would overlap, back to the last work that waited for everything. (A dependent
/// kernel that lets the next one start may not have waited itself.)
class OverlappingKernels {
 public:
  /// The next work of the stream: its number, from 1. Returns that of the first work it overlaps; 0: none.
  uint64_t enqueue(uint64_t number, StreamWork work) {
    const uint64_t overlapped = work == StreamWork::DependentKernel ? first_ : 0;
    last_ = number;
    if (work == StreamWork::Other)
      first_ = 0;
    else if (work == StreamWork::Kernel || first_ == 0)
      first_ = number;
    return overlapped;
  }
  /// Everything in the stream up to that number has finished before what is enqueued from now on.
  void finished(uint64_t number) {
    if (first_ != 0 && first_ <= number) first_ = number < last_ ? number + 1 : 0;
  }

 private:
  uint64_t first_ = 0;  ///< 0: none
  uint64_t last_ = 0;
};

}  // namespace shiftconv
