// Writes the filter of joined pixels, and repeats what they have for each channel. Most of what it writes are zeros, so loads and
// stores of neighbouring threads are neighbours within a tap's channels, which is all that it takes.
#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/joined/params.hpp"
#include "conv/kernels/vector_copy.cuh"

namespace shiftconv::kernels::joining {
namespace {

/// The rest of `id`, which becomes the quotient.
__device__ __forceinline__ uint32_t takeRest(uint32_t& id, const layout::FastDivisor& by) {
  const uint32_t whole = by.quotient(id), rest = id - whole * by.divisor;
  id = whole;
  return rest;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) join_taps(const __grid_constant__ Params params) {
  const Part& p = params.parts[blockIdx.y];
  ptx::launchDependents();
  const uint32_t number = blockIdx.x * kThreads + threadIdx.x;
  if (number >= p.count) return;
  uint32_t id = number;
  const uint32_t vector = takeRest(id, p.rowVectors), pixel = takeRest(id, p.pixels), joined = takeRest(id, p.taps);
  const uint32_t slice = takeRest(id, p.slices), filter = takeRest(id, p.filters), output = id;
  const int32_t column = p.firstColumn + static_cast<int32_t>(joined) * p.tapColumns + static_cast<int32_t>(pixel) -
                         static_cast<int32_t>(output) * p.outputColumns;
  const uint32_t tap = column < 0 ? p.sourceTaps : p.dilation.quotient(static_cast<uint32_t>(column));
  const bool isTap = tap < p.sourceTaps && tap * p.dilation.divisor == static_cast<uint32_t>(column);
  const int64_t row = (int64_t{filter} * p.slices.divisor + slice) * p.sourceTaps + tap;
  uint8_t* const to = p.destination + int64_t{number} * p.vectorBytes;
  ptx::awaitPrerequisites();  // the run before may still read the destination
  if (isTap)
    copyVector(to, p.source + (row * p.rowVectors.divisor + vector) * p.vectorBytes, p.vectorBytes);
  else
    zeroVector(to, p.vectorBytes);
}

}  // namespace shiftconv::kernels::joining
