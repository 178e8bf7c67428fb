// The launches around the phases of a transposed convolution (params.hpp): each moves what it moves once, so they are plain.
#include <cstdint>

#include "conv/algorithms/phases/params.hpp"
#include "conv/kernels/vector_copy.cuh"

namespace shiftconv::kernels::phases {
namespace {

__device__ __forceinline__ void fillVector(uint8_t* to, uint32_t word, int32_t bytes) {
  for (int32_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(word >> (8 * (i % 4)));
}

__device__ __forceinline__ uint32_t thread() { return blockIdx.x * kThreads + threadIdx.x; }

/// Where a vector of an output pixel lies in the tensor, and in the workspace behind the tensor of its phase.
struct Place {
  const Phase* phase;
  int64_t inTensor, inPhase;
};

__device__ __forceinline__ Place placeOf(const Params& p, uint32_t id) {
  const uint32_t pixel = p.rowVectors.quotient(id), vector = id - pixel * p.rowVectors.divisor;
  const uint32_t row = p.outputWidth.quotient(pixel), plane = p.outputHeight.quotient(row), image = p.outputDepth.quotient(plane);
  const int32_t at[kAxes] = {static_cast<int32_t>(plane - image * p.outputDepth.divisor),
                             static_cast<int32_t>(row - plane * p.outputHeight.divisor),
                             static_cast<int32_t>(pixel - row * p.outputWidth.divisor)};
  int32_t number = 0, inPhase[kAxes];
#pragma unroll
  for (int32_t axis = 0; axis < kAxes; ++axis) {
    inPhase[axis] = at[axis] / p.stride[axis];
    number = number * p.stride[axis] + at[axis] - inPhase[axis] * p.stride[axis];
  }
  const Phase& phase = p.phase[number];
  int64_t other = image;
#pragma unroll
  for (int32_t axis = 0; axis < kAxes; ++axis) other = other * phase.extent[axis] + inPhase[axis] + phase.skip[axis];
  const int64_t bytes = int64_t{vector} * p.vectorBytes;
  return {&phase, int64_t{pixel} * p.pitchBytes + bytes, other * p.rowVectors.divisor * p.vectorBytes + bytes};
}

}  // namespace

/// blockIdx.y: the phase. A thread copies a vector of a tap.
extern "C" __global__ void __launch_bounds__(kThreads) gather_phase_filters(const __grid_constant__ Params p) {
  const Phase& phase = p.phase[blockIdx.y];
  const uint32_t row = p.rowVectors.quotient(thread());
  const uint32_t vector = thread() - row * p.rowVectors.divisor;
  const int32_t taps = phase.taps[0] * phase.taps[1] * phase.taps[2];
  if (taps == 0 || row >= static_cast<uint32_t>(p.filterRows) * static_cast<uint32_t>(taps)) return;
  const int32_t k = static_cast<int32_t>(row) / taps, tap = static_cast<int32_t>(row) - k * taps;
  const int32_t i[kAxes] = {tap / phase.taps[2] / phase.taps[1], tap / phase.taps[2] % phase.taps[1], tap % phase.taps[2]};
  int64_t source = k;
#pragma unroll
  for (int32_t axis = 0; axis < kAxes; ++axis)
    source = source * p.filterTaps[axis] + phase.firstTap[axis] + (phase.taps[axis] - 1 - i[axis]) * p.tapStep[axis];
  const int64_t rowBytes = int64_t{p.rowVectors.divisor} * p.vectorBytes, bytes = int64_t{vector} * p.vectorBytes;
  uint8_t* to = p.workspace + phase.filter + row * rowBytes + bytes;
  if (phase.isEmpty)
    fillVector(to, p.zeros, p.vectorBytes);
  else
    copyVector(to, static_cast<const uint8_t*>(p.tensor) + source * rowBytes + bytes, p.vectorBytes);
}

/// A thread copies a vector of an output pixel.
extern "C" __global__ void __launch_bounds__(kThreads) merge_phases(const __grid_constant__ Params p) {
  if (p.rowVectors.quotient(thread()) >= p.pixels) return;
  const Place place = placeOf(p, thread());
  copyVector(static_cast<uint8_t*>(p.tensor) + place.inTensor, p.workspace + place.phase->output + place.inPhase, p.vectorBytes);
}

/// The same the other way, for the residual.
extern "C" __global__ void __launch_bounds__(kThreads) split_into_phases(const __grid_constant__ Params p) {
  if (p.rowVectors.quotient(thread()) >= p.pixels) return;
  const Place place = placeOf(p, thread());
  copyVector(p.workspace + place.phase->residual + place.inPhase, static_cast<const uint8_t*>(p.tensor) + place.inTensor,
             p.vectorBytes);
}

}  // namespace shiftconv::kernels::phases
