// What Tensor Memory held while a convolution ran on the emulator: the operand of every matrix instruction, lane by lane.
//
// The data of such a run are marks, not numbers: every 32 bytes of a pixel begin with its image, row and column, each plus one, and
// the number of the 32 bytes plus one; all elements of filter tap (r, s) are 3 * r + s + 1; a pixel's scale factors are its image,
// row and column plus one. So what a lane holds tells where it comes from; all zeros are no pixel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/emulator/machine/observer.hpp"

namespace lane_pictures {

inline constexpr uint32_t kLanes = 128, kWindowLanes = 32;

struct Pixel {
  int image = 0, row = 0, column = 0;
  bool operator==(const Pixel&) const = default;
};

struct Lane {
  std::optional<Pixel> pixel;  ///< of operand A; nothing: zeros
  bool isStale = false;        ///< a shift has moved its pixel away and put none there
  bool isRefilled = false;     ///< written by itself, after the last shift
  bool isEnabled = false;      ///< the matrix instructions wrote its sums
  std::optional<Pixel> scale;  ///< whose scale factors; nothing: zeros, or there are none
  bool isScaleStale = false;
  bool operator==(const Lane&) const = default;
};

/// A matrix instruction: which tap it multiplied by, and the Tensor Memory column of its sums.
struct Use {
  int r = 0, s = 0;
  uint32_t sums = 0;
  bool operator==(const Use&) const = default;
};

/// An operand between two moves, and what was done with it. An operand of several slices of 32 bytes is listed once: all of them
/// held the same pixels.
struct TapColumn {
  int shifts = 0;  ///< since the operand was copied
  std::array<Lane, kLanes> lanes;
  std::vector<Use> uses;
};
using Recording = std::vector<TapColumn>;  ///< in the order of execution

/// How marks are encoded.
enum class Coding : uint8_t { F16, Byte };

/// Makes observers that add to `recording`, which must outlive them, for a launch of one CTA with filters of width 3. The observer
/// throws std::runtime_error when slices differ, or when what an instruction reads are no marks.
shiftconv::emulator::machine::ObserverFactory recorder(Coding coding, Recording& recording);

}  // namespace lane_pictures
