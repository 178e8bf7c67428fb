// Lengthens rows to whole vectors, zeros at their ends. Loads are as wide as every row's address allows; those of neighbouring
// threads are a vector apart, and meet the same lines one after the other.
#include <cstdint>

#include "conv/algorithms/padded/params.hpp"

namespace shiftconv::kernels::padding {
namespace {

template <class Piece>
__device__ __forceinline__ void lengthen(const Params& p, uint32_t row, uint32_t vector, uint8_t* to) {
  constexpr uint32_t kPieces = kVectorBytes / sizeof(Piece);
  const Piece* const source = reinterpret_cast<const Piece*>(p.source + int64_t{row} * p.pitchBytes);
  const uint32_t first = vector * kPieces, pieces = p.rowBytes / sizeof(Piece);
  union {
    Piece of[kPieces];
    uint4 all;
  } read;
#pragma unroll
  for (uint32_t i = 0; i < kPieces; ++i) read.of[i] = first + i < pieces ? source[first + i] : Piece{0};
  *reinterpret_cast<uint4*>(to) = read.all;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) pad_rows(const __grid_constant__ Params p) {
  const uint32_t id = blockIdx.x * kThreads + threadIdx.x;
  if (id >= p.count) return;
  const uint32_t row = p.rowVectors.quotient(id), vector = id - row * p.rowVectors.divisor;
  uint8_t* const to = p.destination + int64_t{id} * kVectorBytes;
  if (p.pieceBytes == 8)
    lengthen<uint64_t>(p, row, vector, to);
  else if (p.pieceBytes == 4)
    lengthen<uint32_t>(p, row, vector, to);
  else if (p.pieceBytes == 2)
    lengthen<uint16_t>(p, row, vector, to);
  else
    lengthen<uint8_t>(p, row, vector, to);
}

}  // namespace shiftconv::kernels::padding
