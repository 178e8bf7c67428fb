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
  FlatMasked,    ///< the same without padding between rows: lanes are disabled for taps that lie beside their row
};
inline constexpr std::array<std::string_view, 5> kStreamMapNames{"strips", "packed", "strips_refill", "flat_refill", "flat_masked"};
inline constexpr std::array<StreamMap, 5> kStreamMaps{StreamMap::Strips, StreamMap::Packed, StreamMap::StripsRefill,
                                                      StreamMap::FlatRefill, StreamMap::FlatMasked};
inline constexpr bool isRefilled(StreamMap map) { return map != StreamMap::Strips && map != StreamMap::Packed; }

/// The best arrangement of that kind. Empty, or why the problem has none; the problem is one that shift_stream takes.
std::string arrangeLanes(const Problem& problem, StreamMap map, kernels::LaneMap& lanes);

/// Pieces of an output row.
int64_t rowPieces(const Problem& problem, const kernels::LaneMap& lanes);

/// CTAs one behind the other until what their lanes hold repeats itself, apart from image and row: 1 where no lane's mask depends
/// on its column.
int64_t maskPhases(const Problem& problem, const kernels::LaneMap& lanes);
/// Lanes whose pixels the MMAs of tap column `tap` leave alone, in the CTAs of phase `phase`: those that shifts left stale, and
/// those whose tap lies beside their row. None for the first tap, so that it initialises every lane's accumulator.
kernels::DisabledLanes disabledLanes(const Problem& problem, const kernels::LaneMap& lanes, int64_t phase, int64_t tap);

}  // namespace shiftconv::plan
