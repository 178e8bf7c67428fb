// The launches around the phases of a transposed convolution (params.hpp): each moves what it moves once, so they are plain.
#include <cstdint>

#include "conv/algorithms/phases/params.hpp"
#include "conv/kernels/vector_copy.cuh"

namespace shiftconv::kernels::phases {
namespace {

__device__ __forceinline__ void fillVector(uint8_t* to, uint32_t word, int32_t bytes) {
  if (bytes == 16)
    *reinterpret_cast<uint4*>(to) = make_uint4(word, word, word, word);
  else
    for (int32_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(word);
}

__device__ __forceinline__ uint32_t thread() { return blockIdx.x * kThreads + threadIdx.x; }

__device__ __forceinline__ PhasePlace placeOf(const Params& p, int32_t phase) {
  if (!p.isUnited) return p.place[phase];
  const auto number = static_cast<uint64_t>(phase);
  const PhasePlace& first = p.place[0];
  return {first.filter + number * p.step.filter, first.output + number * p.step.output, first.residual + number * p.step.residual};
}

/// Where a vector of an output pixel lies in the tensor, and in the workspace after the first of its phase.
struct PixelPlace {
  PhasePlace phase;
  int64_t inTensor, inPhase;
};

__device__ __forceinline__ PixelPlace pixelPlace(const Params& p, uint32_t id) {
  const uint32_t pixel = p.rowVectors.quotient(id), vector = id - pixel * p.rowVectors.divisor;
  const uint32_t row = p.outputWidth.quotient(pixel), plane = p.outputHeight.quotient(row), image = p.outputDepth.quotient(plane);
  const int32_t at[kAxes] = {static_cast<int32_t>(plane - image * p.outputDepth.divisor),
                             static_cast<int32_t>(row - plane * p.outputHeight.divisor),
                             static_cast<int32_t>(pixel - row * p.outputWidth.divisor)};
  int32_t phase = 0;
  int64_t other = image;
#pragma unroll
  for (int32_t axis = 0; axis < kAxes; ++axis) {
    const int32_t inPhase = at[axis] / p.stride[axis], rest = at[axis] - inPhase * p.stride[axis];
    const AxisOfPhase& own = p.axis[axis][rest];
    phase = phase * p.stride[axis] + rest;
    other = other * own.extent + inPhase + own.skip;
  }
  const int64_t bytes = int64_t{vector} * p.vectorBytes;
  return {placeOf(p, phase), int64_t{pixel} * p.pitchBytes + bytes, other * p.phasePitch + bytes};
}

}  // namespace

/// blockIdx.y: the phase. A thread copies a vector of a tap.
extern "C" __global__ void __launch_bounds__(kThreads) gather_phase_filters(const __grid_constant__ Params p) {
  const auto phase = static_cast<int32_t>(blockIdx.y);
  const int32_t rest[kAxes] = {phase / p.stride[2] / p.stride[1], phase / p.stride[2] % p.stride[1], phase % p.stride[2]};
  const AxisOfPhase own[kAxes] = {p.axis[0][rest[0]], p.axis[1][rest[1]], p.axis[2][rest[2]]};
  const uint32_t row = p.rowVectors.quotient(thread());
  const uint32_t vector = thread() - row * p.rowVectors.divisor;
  const int32_t taps = own[0].taps * own[1].taps * own[2].taps;
  if (taps == 0 || row >= static_cast<uint32_t>(p.filterRows) * static_cast<uint32_t>(taps)) return;
  const int32_t k = static_cast<int32_t>(row) / taps, tap = static_cast<int32_t>(row) - k * taps;
  const int32_t at[kAxes] = {tap / own[2].taps / own[1].taps, tap / own[2].taps % own[1].taps, tap % own[2].taps};
  int64_t source = k;
  bool exists = true;
#pragma unroll
  for (int32_t axis = 0; axis < kAxes; ++axis) {
    const int32_t i = at[axis] - own[axis].before;
    exists = exists && i >= 0 && i < own[axis].own;
    source = source * p.filterTaps[axis] + own[axis].firstTap + (own[axis].own - 1 - i) * p.tapStep[axis];
  }
  const int64_t rowBytes = int64_t{p.rowVectors.divisor} * p.vectorBytes, bytes = int64_t{vector} * p.vectorBytes;
  uint8_t* to = p.workspace + placeOf(p, phase).filter + row * rowBytes + bytes;
  if (exists)
    copyVector(to, static_cast<const uint8_t*>(p.tensor) + source * rowBytes + bytes, p.vectorBytes);
  else
    fillVector(to, p.zeros, p.vectorBytes);
}

/// A thread copies a vector of an output pixel.
extern "C" __global__ void __launch_bounds__(kThreads) merge_phases(const __grid_constant__ Params p) {
  if (p.rowVectors.quotient(thread()) >= p.pixels) return;
  const PixelPlace place = pixelPlace(p, thread());
  copyVector(static_cast<uint8_t*>(p.tensor) + place.inTensor, p.workspace + place.phase.output + place.inPhase, p.vectorBytes);
}

/// The same the other way, for the residual.
extern "C" __global__ void __launch_bounds__(kThreads) split_into_phases(const __grid_constant__ Params p) {
  if (p.rowVectors.quotient(thread()) >= p.pixels) return;
  const PixelPlace place = pixelPlace(p, thread());
  copyVector(p.workspace + place.phase.residual + place.inPhase, static_cast<const uint8_t*>(p.tensor) + place.inTensor,
             p.vectorBytes);
}

/// A thread copies a number.
extern "C" __global__ void __launch_bounds__(kThreads) repeat_channels(const __grid_constant__ RepeatParams p) {
  const uint32_t channel = thread();
  if (channel >= p.all) return;
  const uint32_t own = channel - p.channels.quotient(channel) * p.channels.divisor;
  copyVector(p.workspace + p.place + int64_t{channel} * p.bytes, static_cast<const uint8_t*>(p.tensor) + int64_t{own} * p.bytes,
             p.bytes);
}

}  // namespace shiftconv::kernels::phases
