// A named range on the timeline of a profiler (NVTX, domain "ShiftConv"). Costs a branch when no tool is attached.
#pragma once

namespace shiftconv::device {

class ProfilerRange {
 public:
  /// `name` is copied by the tool; it needs to live only during the call.
  explicit ProfilerRange(const char* name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace shiftconv::device
