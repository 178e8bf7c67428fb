// A graph that repeats somebody's calls for some hundreds of microseconds, so that what a replay costs beside them does not count.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "bench/conv/gpu/cuda.hpp"

namespace shiftconv::bench {

struct RepeatedCalls {
  std::unique_ptr<gpu::Replay> replay;
  double once = 0;  ///< microseconds of a call alone
};

inline RepeatedCalls repeatedCalls(CUstream stream, const std::function<void(CUstream)>& enqueue) {
  constexpr double kGraphMicroseconds = 300;
  constexpr int kFewestCalls = 2, kMostCalls = 100;
  RepeatedCalls repeated;
  {
    gpu::Replay single(stream, 1, enqueue);
    single.time(0);
    repeated.once = single.time(0);
  }
  const int calls = std::clamp(static_cast<int>(kGraphMicroseconds / std::max(repeated.once, 1.0)), kFewestCalls, kMostCalls);
  repeated.replay = std::make_unique<gpu::Replay>(stream, calls, enqueue);
  return repeated;
}

}  // namespace shiftconv::bench
