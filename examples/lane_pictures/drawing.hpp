// What the pictures have in common: colours, cells, arrows of a shift.
#pragma once

#include <string>
#include <string_view>

#include "examples/lane_pictures/recording.hpp"
#include "examples/lane_pictures/svg.hpp"

namespace lane_pictures {

/// One colour for each image and block of rows: `number` counts those.
std::string_view colourOf(int number);

/// A cell of Tensor Memory: `text` on `fill`, and over it what befell the lane.
struct Cell {
  std::string text;
  std::string_view fill = "#fff";
  bool isZero = false, isDisabled = false, isRefilled = false, isStale = false;
};
void drawCell(Svg& svg, const Box& box, int size, const Cell& cell);

/// What zeros, disabled and refilled lanes look like.
inline constexpr int kLegendHeight = 3 * 22;
void drawLegend(Svg& svg, int x, int y);

/// "x w[2][0], w[1][0], w[0][0]"
std::string tapsOf(const TapColumn& column);

// Pictures of one kind each.
std::string ideaPicture(const Recording& example);
std::string stepsPicture(const Recording& example);
std::string lanesPicture(const Recording& example);
std::string scalesPicture(const Recording& shifted, const Recording& copies);
std::string maskedPicture(const Recording& masked);

}  // namespace lane_pictures
