// Rows end to end: the first window in the order of the taps, and whose outputs all lanes make.
#include <fmt/format.h>

#include <string>

#include "examples/lane_pictures/drawing.hpp"
#include "examples/lane_pictures/runs.hpp"

namespace lane_pictures {

std::string maskedPicture(const Recording& masked) {
  constexpr int kLeft = 96, kTop = 112, kCell = 27, kHeight = 30, kPitch = 92, kWidth = 1000, kLane = 6, kStripHeight = 18;
  constexpr int kTaps = 3, kUsed = MaskedRows::kImages * MaskedRows::kWidth;
  constexpr size_t kMiddleRow = 1;  // of three input rows: it serves all nine taps
  constexpr int kStrip = kTop + kTaps * kPitch - 4, kBottom = kStrip + kStripHeight + 32;
  Svg svg(kWidth, kBottom + kLegendHeight + 8, "Rows of seven pixels end to end in Tensor Memory, in the order of the taps");
  svg.text(16, 28, 17, "Rows end to end: no lane holds padding", {.isBold = true});
  svg.text(
      16, 48, 13,
      fmt::format("One of four windows of shift_stream, map=flat_masked: row {} of images of {} columns. The number is the input "
                  "column of a lane's pixel.",
                  kMiddleRow, MaskedRows::kWidth),
      {.colour = kGrey});
  const auto imageOf = [](uint32_t lane) { return static_cast<int>(lane) / MaskedRows::kWidth; };
  const auto cellAt = [&](size_t line, uint32_t lane) {
    return Box{kLeft + static_cast<int>(lane) * kCell, kTop + static_cast<int>(line) * kPitch, kCell, kHeight};
  };
  for (uint32_t lane = 0; lane < kWindowLanes; ++lane) {
    if (lane == 0 || imageOf(lane - 1) != imageOf(lane)) {
      uint32_t end = lane;
      while (end < kWindowLanes && imageOf(end) == imageOf(lane)) ++end;
      const Box bar{cellAt(0, lane).x + 1, kTop - 34, static_cast<int>(end - lane) * kCell - 2, 17};
      svg.rectangle(bar, colourOf(imageOf(lane)));
      svg.label(bar, 11, fmt::format("image {}", imageOf(lane)));
    }
    svg.text(cellAt(0, lane).centre(), kTop - 5, 9, fmt::format("{}", lane), {.colour = kGrey, .isCentred = true});
  }
  svg.text(16, kTop - 21, 11, "makes");
  svg.text(16, kTop - 5, 9, "lane", {.colour = kGrey});

  for (size_t line = 0; line < kTaps; ++line) {
    const TapColumn& column = masked.at(kMiddleRow * kTaps + line);
    const int y = cellAt(line, 0).y;
    svg.text(16, y + 20, 15, fmt::format("s = {}", column.uses.at(0).s), {.isBold = true});
    for (uint32_t lane = 0; lane < kWindowLanes; ++lane) {
      const Lane& held = column.lanes[lane];
      Cell cell;
      cell.isZero = !held.pixel;
      cell.isDisabled = !held.isEnabled;
      cell.isRefilled = held.isRefilled;
      if (held.pixel) {
        cell.text = fmt::format("{}", held.pixel->column);
        cell.fill = colourOf(held.pixel->image);
      }
      drawCell(svg, cellAt(line, lane), 12, cell);
    }
    svg.text(kLeft, y + kHeight + 17, 12,
             fmt::format("times {}, added to the sums of {} output rows{}", tapsOf(column), column.uses.size(),
                         line == 0 ? ": the first products, in all lanes" : ""));
    if (line + 1 == kTaps) continue;
    const bool isShifted = masked.at(kMiddleRow * kTaps + line + 1).shifts > column.shifts;
    svg.text(16, y + kHeight + 36, 11, isShifted ? "tcgen05.shift" : "tcgen05.cp", {.colour = kGrey});
    if (!isShifted) {
      svg.text(kLeft, y + kHeight + 40, 12, "copied once more, one lane earlier", {.colour = kGrey});
      continue;
    }
    for (uint32_t lane = 1; lane < kWindowLanes; ++lane)
      svg.arrow(cellAt(line, lane).centre(), y + kHeight + 24, cellAt(line, lane - 1).centre() + 2, y + kPitch - 3, Arrow::Moves);
    const Box last = cellAt(line + 1, kWindowLanes - 1);
    svg.arrow(last.centre() + kCell, y + kHeight + 24, last.centre() + 4, y + kPitch - 3, Arrow::Enters);
    svg.text(last.right() - 2, y + kHeight + 20, 11, "new", {.colour = kOrange, .isBold = true});
  }

  svg.text(16, kStrip + 13, 11, "all lanes");
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const bool hasOutput = static_cast<int>(lane) < kUsed;
    svg.rectangle({kLeft + static_cast<int>(lane) * kLane, kStrip, kLane, kStripHeight},
                  hasOutput ? colourOf(imageOf(lane)) : "#fff", "#8a94a0");
  }
  svg.text(kLeft + static_cast<int>(kLanes) * kLane + 8, kStrip + 13, 11, fmt::format("{} of {} make outputs", kUsed, kLanes));
  drawLegend(svg, 16, kBottom);
  return svg.document();
}

}  // namespace lane_pictures
