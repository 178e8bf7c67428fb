// Writes the filter of merged groups. Most of what it writes are zeros, so loads and stores of neighbouring threads are neighbours
// within a tap's channels, which is all that it takes.
#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/merged/params.hpp"
#include "conv/kernels/vector_copy.cuh"

namespace shiftconv::kernels::merging {

extern "C" __global__ void __launch_bounds__(kThreads) merge_groups(const __grid_constant__ Params p) {
  ptx::launchDependents();
  const uint32_t number = blockIdx.x * kThreads + threadIdx.x;
  if (number >= p.count) return;
  const uint32_t place = p.rowVectors.quotient(number), vector = number - place * p.rowVectors.divisor;
  const uint32_t row = p.groups.quotient(place), group = place - row * p.groups.divisor;  // row: of filter and tap
  const uint32_t groupOfFilter = p.filters.quotient(p.taps.quotient(row));
  const bool isOwn = groupOfFilter - p.groups.quotient(groupOfFilter) * p.groups.divisor == group;
  uint8_t* const to = p.destination + int64_t{number} * p.vectorBytes;
  ptx::awaitPrerequisites();  // the run before may still read the destination
  if (isOwn)
    copyVector(to, p.source + (int64_t{row} * p.rowVectors.divisor + vector) * p.vectorBytes, p.vectorBytes);
  else
    zeroVector(to, p.vectorBytes);
}

}  // namespace shiftconv::kernels::merging
