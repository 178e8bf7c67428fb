// Pictures of the worked example: lanes in the middle step, which serves all nine taps, and what each step does.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>

#include "examples/lane_pictures/drawing.hpp"
#include "examples/lane_pictures/runs.hpp"

namespace lane_pictures {
namespace {

using Example = WorkedExample;
constexpr int kFilter = 3;
constexpr size_t kMiddleStep = 2;

/// The tap columns of a step.
const TapColumn& columnOf(const Recording& example, size_t step, size_t s) { return example.at(step * kFilter + s); }

/// The lanes of one block of rows of one image are an owner: it makes their output pixels.
int ownerOf(uint32_t lane) { return static_cast<int>(lane) / Example::kSide; }
bool hasOutput(uint32_t lane) { return lane < Example::kPixels; }
int imageOf(int owner) { return owner % Example::kImages; }
int blockOf(int owner) { return owner / Example::kImages; }
/// Whose output rows, one below, at, or one above this row, are made of the pixel in the middle step.
int ownerOf(const Pixel& pixel) { return pixel.row / Example::kBlockRows * Example::kImages + pixel.image; }

Cell cellOf(const Lane& lane, std::string text) {
  Cell cell;
  cell.isZero = !lane.pixel;
  cell.isDisabled = !lane.isEnabled;
  cell.isRefilled = lane.isRefilled;
  cell.isStale = lane.isStale;
  if (lane.pixel) {
    cell.text = std::move(text);
    cell.fill = colourOf(ownerOf(*lane.pixel));
  }
  return cell;
}

std::string outputRows(int block) {
  return fmt::format("{}-{}", block * Example::kBlockRows, (block + 1) * Example::kBlockRows - 1);
}

}  // namespace

std::string ideaPicture(const Recording& example) {
  constexpr int kLeft = 96, kTop = 112, kCell = 27, kHeight = 30, kPitch = 92, kWidth = 1000,
                kBottom = kTop + kFilter * kPitch - 32;
  Svg svg(kWidth, kBottom + kLegendHeight + 8, "An image row in Tensor Memory slides from tap to tap of a 3x3 filter");
  svg.text(16, 28, 17, "An image row is copied into Tensor Memory once and serves all nine taps of a 3x3 filter", {.isBold = true});
  std::set<int> rows;
  for (uint32_t lane = 0; lane < kWindowLanes; ++lane)
    if (const auto& pixel = columnOf(example, kMiddleStep, 1).lanes[lane].pixel) rows.insert(pixel->row);
  svg.text(
      16, 48, 13,
      fmt::format("32 lanes, an output column each, hold rows {} of two images. The number is the input column of a lane's pixel.",
                  fmt::join(rows, " and ")),
      {.colour = kGrey});

  const auto cellAt = [&](size_t s, uint32_t lane) {
    return Box{kLeft + static_cast<int>(lane) * kCell, kTop + static_cast<int>(s) * kPitch, kCell, kHeight};
  };
  for (uint32_t lane = 0; lane < kWindowLanes; ++lane) {
    const int owner = ownerOf(lane);
    if (lane == 0 || ownerOf(lane - 1) != owner) {
      uint32_t end = lane;
      while (end < kWindowLanes && ownerOf(end) == owner) ++end;
      const Box bar{cellAt(0, lane).x + 1, kTop - 34, static_cast<int>(end - lane) * kCell - 2, 17};
      svg.rectangle(bar, colourOf(owner));
      svg.label(bar, 11, fmt::format("image {}, rows {}", imageOf(owner), outputRows(blockOf(owner))));
    }
    svg.text(cellAt(0, lane).centre(), kTop - 5, 9, fmt::format("{}", lane), {.colour = kGrey, .isCentred = true});
  }
  svg.text(16, kTop - 21, 11, "makes");
  svg.text(16, kTop - 5, 9, "lane", {.colour = kGrey});

  for (size_t s = 0; s < kFilter; ++s) {
    const TapColumn& column = columnOf(example, kMiddleStep, s);
    const int y = cellAt(s, 0).y;
    svg.text(16, y + 20, 15, fmt::format("s = {}", s), {.isBold = true});
    for (uint32_t lane = 0; lane < kWindowLanes; ++lane) {
      const Lane& held = column.lanes[lane];
      drawCell(svg, cellAt(s, lane), 12, cellOf(held, held.pixel ? fmt::format("{}", held.pixel->column) : ""));
    }
    svg.text(kLeft, y + kHeight + 17, 12,
             fmt::format("times {}, added to the sums of {} output rows", tapsOf(column), column.uses.size()));
    if (s + 1 == kFilter) continue;
    svg.text(16, y + kHeight + 36, 11, "tcgen05.shift", {.colour = kGrey});
    for (uint32_t lane = 1; lane < kWindowLanes; ++lane)
      svg.arrow(cellAt(s, lane).centre(), y + kHeight + 24, cellAt(s, lane - 1).centre() + 2, y + kPitch - 3, Arrow::Moves);
    const Box last = cellAt(s + 1, kWindowLanes - 1);
    svg.arrow(last.centre() + kCell, y + kHeight + 24, last.centre() + 4, y + kPitch - 3, Arrow::Enters);
    svg.text(last.right() - 2, y + kHeight + 20, 11, "new", {.colour = kOrange, .isBold = true});
  }
  drawLegend(svg, 16, kBottom);
  return svg.document();
}

std::string stepsPicture(const Recording& example) {
  constexpr int kLeft = 150, kTop = 62, kCell = 168, kHeight = 26, kWidth = 1000;
  Svg svg(kWidth, 300, "Five steps of the worked example: which rows lie in Tensor Memory, and which sums they are added to");
  svg.text(16, 26, 16, "Five copies, each multiplied by up to nine taps", {.isBold = true});
  const auto cellAt = [&](int step, int line) {
    return Box{kLeft + step * kCell + 3, kTop + line * (kHeight + 4) + (line >= Example::kBlocks ? 30 : 0), kCell - 6, kHeight};
  };
  for (int block = 0; block < Example::kBlocks; ++block)
    svg.text(16, cellAt(0, block).y + 17, 12, fmt::format("lanes {}-{} hold", block * 18, block * 18 + 17));
  for (int row = 0; row < Example::kBlockRows; ++row)
    svg.text(16, cellAt(0, Example::kBlocks + row).y + 17, 12,
             fmt::format("sums of rows {}, {}, {}", row, row + Example::kBlockRows, row + 2 * Example::kBlockRows));
  for (int step = 0; step < Example::kSteps; ++step) {
    svg.text(cellAt(step, 0).centre(), kTop - 8, 13, fmt::format("step {}", step), {.isCentred = true, .isBold = true});
    const TapColumn& column = columnOf(example, static_cast<size_t>(step), 1);  // with the centre taps a lane holds its own column
    for (int block = 0; block < Example::kBlocks; ++block) {
      std::set<int> rows;
      for (int lane = block * 18; lane < block * 18 + 18; ++lane)
        if (const auto& pixel = column.lanes[static_cast<size_t>(lane)].pixel) rows.insert(pixel->row);
      Cell cell;
      cell.isZero = rows.empty();
      cell.fill = colourOf(block * Example::kImages);
      for (const int row : rows) cell.text += fmt::format("row {} of both images", row);
      drawCell(svg, cellAt(step, block), 12, cell);
    }
    for (int row = 0; row < Example::kBlockRows; ++row) {
      const Box box = cellAt(step, Example::kBlocks + row);
      std::string taps;
      for (size_t s = 0; s < kFilter; ++s)
        for (const Use& use : columnOf(example, static_cast<size_t>(step), s).uses)
          if (use.sums == static_cast<uint32_t>(row) * Example::kSumColumns)
            taps += fmt::format("{}w[{}][{}]", taps.empty() ? "+ " : " ", use.r, use.s);
      if (taps.empty()) {
        svg.rectangle(box, "#f4f5f7");
      } else {
        svg.rectangle(box, "#ffe8a3", "#8a94a0");
        svg.label(box, 11, taps);
      }
    }
  }
  svg.text(16, 286, 12, "Zeros stand for rows above and below the images. Every sum is given its nine taps, three at a time.",
           {.colour = kGrey});
  return svg.document();
}

std::string lanesPicture(const Recording& example) {
  constexpr int kTop = 118, kRow = 19, kLaneWidth = 30, kOutputWidth = 104, kCellWidth = 80, kGap = 24, kWindowPitch = 496;
  Svg svg(1010, kTop + static_cast<int>(kWindowLanes) * kRow + 24 + kLegendHeight,
          "Lanes 0 to 63 of the worked example at s = 0, 1 and 2");
  svg.text(16, 26, 16, "The middle step, lane by lane: n image, y row, x column of the pixel that a lane holds", {.isBold = true});
  for (uint32_t window = 0; window < 2; ++window) {
    const int left = 16 + static_cast<int>(window) * kWindowPitch;
    const auto cellAt = [&](size_t s, uint32_t lane) {
      return Box{left + kLaneWidth + kOutputWidth + 8 + static_cast<int>(s) * (kCellWidth + kGap),
                 kTop + static_cast<int>(lane) * kRow, kCellWidth, kRow};
    };
    svg.text(left, kTop - 8, 11, "lane", {.colour = kGrey});
    svg.text(left + kLaneWidth + kOutputWidth / 2, kTop - 8, 11, "makes outputs", {.colour = kGrey, .isCentred = true});
    for (size_t s = 0; s < kFilter; ++s) {
      const int centre = cellAt(s, 0).centre();
      svg.text(centre, kTop - 56, 14, fmt::format("s = {}", s), {.isCentred = true, .isBold = true});
      int y = kTop - 38;
      for (const Use& use : columnOf(example, kMiddleStep, s).uses) {
        svg.text(centre, y, 11, fmt::format("times w[{}][{}]", use.r, use.s), {.colour = kGrey, .isCentred = true});
        y += 14;
      }
    }
    for (uint32_t i = 0; i < kWindowLanes; ++i) {
      const uint32_t lane = window * kWindowLanes + i;
      const int y = cellAt(0, i).y;
      svg.text(left + 2, y + 14, 11, fmt::format("{}", lane), {.colour = kGrey});
      const Box outputs{left + kLaneWidth, y, kOutputWidth, kRow};
      if (hasOutput(lane)) {
        const int owner = ownerOf(lane);
        svg.rectangle(outputs, colourOf(owner));
        svg.label(outputs, 11, fmt::format("n{} y{} x{}", imageOf(owner), outputRows(blockOf(owner)), lane % Example::kSide));
      } else {
        svg.label(outputs, 11, "none", {.colour = kGrey});
      }
      for (size_t s = 0; s < kFilter; ++s) {
        const Lane& held = columnOf(example, kMiddleStep, s).lanes[lane];
        const Box box = cellAt(s, i);
        drawCell(
            svg, box, 11,
            cellOf(held, held.pixel ? fmt::format("n{} y{} x{}", held.pixel->image, held.pixel->row, held.pixel->column) : ""));
        if (s + 1 < kFilter && i > 0)
          svg.arrow(box.right() + 2, y + kRow / 2, cellAt(s + 1, i - 1).x - 2, y - kRow / 2 + 1, Arrow::Moves);
        if (s > 0 && held.isRefilled) {
          svg.arrow(box.x - 18, y + kRow + 12, box.x + 4, y + kRow + 2, Arrow::Enters);
          svg.text(box.x - 42, y + kRow + 18, 11, "new", {.colour = kOrange, .isBold = true});
        }
      }
    }
  }
  drawLegend(svg, 16, kTop + static_cast<int>(kWindowLanes) * kRow + 24);
  return svg.document();
}

}  // namespace lane_pictures
