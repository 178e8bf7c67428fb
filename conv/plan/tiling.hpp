// How a candidate cuts a problem, as far as the measured correction of its estimate looks at it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shiftconv::plan {

struct Tiling {
  int32_t pixels = 0, channels = 0;   ///< output pixels and channels of a CTA's tile; 0: nothing is said, and nothing corrected
  int32_t split = 1;                  ///< CTAs or warps that share the reduction of a tile
  std::array<int32_t, 3> choices{};   ///< what else an algorithm chooses, in an order of its own
  std::array<float, 4> modelParts{};  ///< of its model, in an order of its own: what binds a candidate, and how closely
  std::string_view trees{};           ///< the name of its correction trees, where they are not those of the algorithm
};

}  // namespace shiftconv::plan
