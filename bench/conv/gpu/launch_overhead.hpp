// What the library's run costs the host beyond a launch of the same kernel with the same arguments.
#pragma once

#include <functional>

#include "bench/conv/gpu/cuda.hpp"

namespace shiftconv::gpu {

struct LaunchOverhead {
  double run = 0, bare = 0;  ///< microseconds of the host for one call, medians over batches
  int kernels = 0;           ///< of one call
};

/// `graph` was captured from calls of `enqueue`: its kernels are launched as they are, by cuLaunchKernelEx, in batches that
/// alternate with batches of as many calls.
LaunchOverhead measureLaunchOverhead(CUgraph graph, const std::function<void(CUstream)>& enqueue, CUstream stream);

}  // namespace shiftconv::gpu
