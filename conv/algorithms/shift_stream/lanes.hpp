// The lane maps of shift_stream: which pixels lie side by side in the lanes of Tensor Memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "conv/algorithms/shift_stream/params.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

enum class StreamMap : uint8_t {
  Strips,        ///< 33 - S columns of one row in a window
  Packed,        ///< several pieces of rows in a window: whole short rows with their padding between them, or parts of long ones
  StripsRefill,  ///< 32 columns of one row in a window, whose last lane is refilled
  FlatRefill,    ///< as many pieces as fit into all 128 lanes; windows are refilled with what begins in the next one
};
inline constexpr std::array<std::string_view, 4> kStreamMapNames{"strips", "packed", "strips_refill", "flat_refill"};
inline constexpr bool isRefilled(StreamMap map) { return map == StreamMap::StripsRefill || map == StreamMap::FlatRefill; }

/// The best arrangement of that kind. Empty, or why the problem has none; the problem is one that shift_stream takes.
std::string arrangeLanes(const Problem& problem, StreamMap map, kernels::LaneMap& lanes);

/// Pieces of an output row.
int64_t rowPieces(const Problem& problem, const kernels::LaneMap& lanes);

}  // namespace shiftconv::plan
