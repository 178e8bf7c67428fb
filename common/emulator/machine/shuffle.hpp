// Where a lane of shfl takes its value from (PTX ISA 9.0, 9.7.9.6).
#pragma once

#include <cstdint>

namespace shiftconv::emulator::machine {

enum class ShuffleMode : uint8_t { Up, Down, Bfly, Idx };

struct ShuffleSource {
  int lane = 0;        ///< the own one when there is no other in range
  bool valid = false;  ///< what the predicate says
};

/// `b` and `c` are the operands of the lane.
inline ShuffleSource shuffleSource(ShuffleMode mode, unsigned lane, uint32_t b, uint32_t c) {
  const int own = static_cast<int>(lane);
  const int distance = static_cast<int>(b & 0x1f);
  const int clamp = static_cast<int>(c & 0x1f);
  const int segment = static_cast<int>(c >> 8 & 0x1f);
  const int highest = (own & segment) | (clamp & ~segment);
  const int lowest = own & segment;
  int from = own;
  bool valid = false;
  switch (mode) {
    case ShuffleMode::Up:
      from = own - distance;
      valid = from >= highest;
      break;
    case ShuffleMode::Down:
      from = own + distance;
      valid = from <= highest;
      break;
    case ShuffleMode::Bfly:
      from = own ^ distance;
      valid = from <= highest;
      break;
    case ShuffleMode::Idx:
      from = lowest | (distance & ~segment);
      valid = from <= highest;
      break;
  }
  return {valid ? from : own, valid};
}

}  // namespace shiftconv::emulator::machine
