// Writes an image in which every pixel stands as often as upsampling asks for. Reads and writes of neighbouring threads are
// neighbours.
#include <cstdint>

#include "conv/algorithms/repeated/params.hpp"

namespace shiftconv::kernels::repetition {
namespace {

/// The remainder of x, in rows of the source; x becomes the quotient.
__device__ __forceinline__ int64_t takeStored(uint32_t& x, const Axis& axis) {
  const uint32_t quotient = axis.extent.quotient(x), rest = x - quotient * axis.extent.divisor;
  x = quotient;
  return axis.upsample.quotient(rest);
}

template <class Vector>
__device__ __forceinline__ void copyOne(const Params& p, int64_t from, uint32_t to) {
  static_cast<Vector*>(p.destination)[to] = *reinterpret_cast<const Vector*>(static_cast<const uint8_t*>(p.source) + from);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) repeat_pixels(const __grid_constant__ Params p) {
  const uint32_t vector = blockIdx.x * kThreads + threadIdx.x;
  if (vector >= p.count) return;
  uint32_t rest = p.rowVectors.quotient(vector);
  const uint32_t inRow = vector - rest * p.rowVectors.divisor;
  const int64_t column = takeStored(rest, p.width), row = takeStored(rest, p.height), plane = takeStored(rest, p.depth);
  const int64_t pixel =
      ((int64_t{rest} * p.depth.storedExtent + plane) * p.height.storedExtent + row) * p.width.storedExtent + column;
  const int64_t from = pixel * p.pitchBytes + int64_t{inRow} * p.vectorBytes;
  switch (p.vectorBytes) {
    case 16:
      return copyOne<uint4>(p, from, vector);
    case 8:
      return copyOne<uint2>(p, from, vector);
    case 4:
      return copyOne<uint32_t>(p, from, vector);
    case 2:
      return copyOne<uint16_t>(p, from, vector);
    default:
      return copyOne<uint8_t>(p, from, vector);
  }
}

}  // namespace shiftconv::kernels::repetition
