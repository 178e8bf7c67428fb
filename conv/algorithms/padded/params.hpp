// Rows of channels to lengthen to whole vectors of 16 bytes. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::padding {

inline constexpr int32_t kThreads = 256;     ///< of a CTA; a thread writes one vector
inline constexpr int32_t kVectorBytes = 16;  ///< what TMA asks strides to be multiples of (CUDA Driver API, cuTensorMapEncodeTiled)

struct Params {
  const uint8_t* source = nullptr;  ///< rows of rowBytes, one every pitchBytes
  uint8_t* destination = nullptr;   ///< rows of rowVectors vectors, no gaps; zeros after rowBytes
  int64_t pitchBytes = 0;
  uint32_t rowBytes = 0;
  uint32_t count = 0;      ///< of vectors in the destination
  int32_t pieceBytes = 1;  ///< of a load: 8, 4, 2 or 1, of which rowBytes and pitchBytes are multiples
  layout::FastDivisor rowVectors;
};

}  // namespace shiftconv::kernels::padding
