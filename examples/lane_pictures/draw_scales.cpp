// The scaled strip: pixels and their scale factors, shifted and in copies, side by side.
#include <fmt/format.h>

#include <array>
#include <string>

#include "examples/lane_pictures/drawing.hpp"
#include "examples/lane_pictures/runs.hpp"

namespace lane_pictures {
namespace {

constexpr int kFilter = 3;
constexpr size_t kMiddleRow = 1;  // of three input rows: it serves all nine taps

/// From light to dark along a row, so that a pixel and its factor have the same colour wherever they are.
std::string shadeOf(int column) {
  constexpr std::array<int, 3> kLight{235, 243, 253}, kDark{96, 156, 222};
  const auto mixed = [&](size_t i) { return kLight[i] + (kDark[i] - kLight[i]) * column / static_cast<int>(kWindowLanes); };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2));
}

void draw(Svg& svg, const Box& box, const std::optional<Pixel>& pixel, bool isStale, std::string_view letter) {
  Cell cell;
  cell.isZero = !pixel;
  cell.isStale = isStale;
  const std::string shade = pixel ? shadeOf(pixel->column) : "";
  if (pixel) {
    cell.text = fmt::format("{} {}", letter, pixel->column);
    cell.fill = shade;
  }
  drawCell(svg, box, 11, cell);
}

}  // namespace

std::string scalesPicture(const Recording& shifted, const Recording& copies) {
  constexpr int kLeft = 16, kTop = 142, kRow = 19, kLaneWidth = 34, kOutputWidth = 78, kCellWidth = 80, kGap = 30;
  constexpr int kColumns = 3, kGroupPitch = kColumns * kCellWidth + kGap;
  constexpr int kBottom = kTop + static_cast<int>(kWindowLanes) * kRow;
  Svg svg(kLeft + kLaneWidth + kOutputWidth + 8 + kFilter * kGroupPitch, kBottom + 70,
          "A strip of an image row in mxfp8 and its scale factors at s = 0, 1 and 2");
  svg.text(kLeft, 26, 16, "Scale factors slide with their pixels", {.isBold = true});
  svg.text(kLeft, 46, 12,
           "A window of shift_stream in mxfp8. x 3: the pixel of column 3. f 3: the four scale factors of that pixel.",
           {.colour = kGrey});
  svg.text(kLeft, 63, 12,
           "Factors are shifted as pixels are, or lie there in three copies, each a pixel further: a launch does one or the other.",
           {.colour = kGrey});
  const auto cellAt = [&](size_t s, int column, uint32_t lane) {
    return Box{kLeft + kLaneWidth + kOutputWidth + 8 + static_cast<int>(s) * kGroupPitch + column * kCellWidth,
               kTop + static_cast<int>(lane) * kRow, kCellWidth, kRow};
  };
  svg.text(kLeft, kTop - 8, 11, "lane", {.colour = kGrey});
  svg.text(kLeft + kLaneWidth + kOutputWidth / 2, kTop - 8, 11, "makes output", {.colour = kGrey, .isCentred = true});
  for (uint32_t lane = 0; lane < kWindowLanes; ++lane) {
    const int y = cellAt(0, 0, lane).y;
    svg.text(kLeft + 2, y + 14, 11, fmt::format("{}", lane), {.colour = kGrey});
    const bool isStored = static_cast<int>(lane) < ScaledStrip::kOutputsPerStrip;
    svg.label({kLeft + kLaneWidth, y, kOutputWidth, kRow}, 11, isStored ? fmt::format("column {}", lane) : "not stored",
              {.colour = isStored ? kInk : kGrey});
  }
  for (size_t s = 0; s < kFilter; ++s) {
    const TapColumn& withShift = shifted.at(kMiddleRow * kFilter + s);
    const TapColumn& withCopies = copies.at(kMiddleRow * kFilter + s);
    svg.text(cellAt(s, 1, 0).centre(), kTop - 54, 14, fmt::format("s = {}", s), {.isCentred = true, .isBold = true});
    svg.text(cellAt(s, 1, 0).centre(), kTop - 38, 11, "times " + tapsOf(withShift), {.colour = kGrey, .isCentred = true});
    constexpr std::array<std::string_view, kColumns> kWhat{"pixel", "factors", "factors"};
    const std::array<std::string, kColumns> which{"(shifted)", "(shifted)", fmt::format("(copy {})", s)};
    for (int column = 0; column < kColumns; ++column) {
      svg.text(cellAt(s, column, 0).centre(), kTop - 22, 11, kWhat[static_cast<size_t>(column)],
               {.colour = kGrey, .isCentred = true});
      svg.text(cellAt(s, column, 0).centre(), kTop - 8, 11, which[static_cast<size_t>(column)],
               {.colour = kGrey, .isCentred = true});
    }
    for (uint32_t lane = 0; lane < kWindowLanes; ++lane) {
      const Lane& one = withShift.lanes[lane];
      const Lane& other = withCopies.lanes[lane];
      draw(svg, cellAt(s, 0, lane), one.pixel, one.isStale, "x");
      draw(svg, cellAt(s, 1, lane), one.scale, one.isScaleStale, "f");
      draw(svg, cellAt(s, 2, lane), other.scale, other.isScaleStale, "f");
      const int y = cellAt(s, 0, lane).y;
      if (s + 1 < kFilter && lane > 0)
        svg.arrow(cellAt(s, 2, lane).right() + 2, y + kRow / 2, cellAt(s + 1, 0, lane - 1).x - 2, y - kRow / 2 + 1, Arrow::Moves);
    }
  }
  Cell stale;
  stale.isStale = true;
  stale.fill = "#e3eefb";
  drawCell(svg, {kLeft, kBottom + 16, 16, 16}, 10, stale);
  svg.text(
      kLeft + 22, kBottom + 28, 12,
      "stale: a shift has moved it away and put nothing there. Lanes 30 and 31 multiply such pixels; nobody reads their sums.");
  Cell zero;
  zero.isZero = true;
  drawCell(svg, {kLeft, kBottom + 40, 16, 16}, 10, zero);
  svg.text(kLeft + 22, kBottom + 52, 12,
           "zeros: outside of the image, filled in by TMA; factors of a pixel that is not in the window.");
  return svg.document();
}

}  // namespace lane_pictures
