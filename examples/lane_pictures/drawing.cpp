#include "examples/lane_pictures/drawing.hpp"

#include <fmt/format.h>

#include <array>

#include "examples/lane_pictures/pictures.hpp"

namespace lane_pictures {

std::string_view colourOf(int number) {
  static constexpr std::array<std::string_view, 6> kColours{"#a9cdf2", "#fcd29b", "#b5e3b8", "#dcc3f0", "#f5b9b9", "#b6e3e3"};
  return kColours[static_cast<size_t>(number) % kColours.size()];
}

void drawCell(Svg& svg, const Box& box, int size, const Cell& cell) {
  svg.rectangle(box, cell.isZero ? "#fff" : cell.fill, "#8a94a0");
  if (cell.isDisabled || cell.isStale) svg.hatch(box);
  svg.label(box, size, cell.isZero ? "0" : cell.text,
            {.colour = cell.isStale  ? kRed
                       : cell.isZero ? kGrey
                                     : kInk,
             .isBold = cell.isRefilled || cell.isStale,
             .hasHalo = cell.isDisabled || cell.isStale});
  if (cell.isRefilled) svg.rectangle({box.x + 1, box.y + 1, box.width - 2, box.height - 2}, "none", kOrange, 3);
}

void drawLegend(Svg& svg, int x, int y) {
  constexpr int kSize = 16, kLine = 22;
  const auto entry = [&](const Cell& cell, std::string_view text) {
    drawCell(svg, {x, y, kSize, kSize}, 10, cell);
    svg.text(x + kSize + 6, y + 13, 12, text);
    y += kLine;
  };
  Cell zero, disabled, refilled;
  zero.isZero = true;
  disabled.isDisabled = true;
  disabled.fill = colourOf(0);
  refilled.isRefilled = true;
  refilled.fill = colourOf(3);
  entry(zero, "zeros: outside of the image");
  entry(disabled,
        "disabled by the lane mask: the pixel belongs to another row or image than the lane's outputs, or there are none");
  entry(refilled, "refilled by tcgen05.cp.4x256b: a shift leaves the last lane of a window as it was");
}

std::string tapsOf(const TapColumn& column) {
  std::string taps;
  for (const Use& use : column.uses) taps += fmt::format("{}w[{}][{}]", taps.empty() ? "" : ", ", use.r, use.s);
  return taps;
}

std::vector<Picture> drawAll(const Recording& example, const Recording& shifted, const Recording& copies, const Recording& masked) {
  return {{"idea.svg", ideaPicture(example)},
          {"steps.svg", stepsPicture(example)},
          {"lanes.svg", lanesPicture(example)},
          {"scales.svg", scalesPicture(shifted, copies)},
          {"masked.svg", maskedPicture(masked)}};
}

}  // namespace lane_pictures
