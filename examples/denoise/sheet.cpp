#include "examples/denoise/sheet.hpp"

#include <algorithm>

#include "examples/feature_maps/font.hpp"

namespace denoise {

using feature_maps::Image;
using feature_maps::Rgb;

Image sheetOf(const std::vector<LabelledPicture>& pictures) {
  constexpr int kMargin = 8, kUsualWidth = 192, kTextScale = 1;
  constexpr Rgb kGround{24, 24, 28}, kInk{230, 230, 230};
  const Image& first = pictures.front().picture;
  const int zoom = std::max(1, kUsualWidth / first.width), width = first.width * zoom, height = first.height * zoom;
  int cell = width;
  for (const LabelledPicture& one : pictures) cell = std::max(cell, feature_maps::textWidth(one.label, kTextScale));
  constexpr int kTextHeight = feature_maps::kGlyphHeight * kTextScale;
  Image sheet((cell + kMargin) * static_cast<int>(pictures.size()) + kMargin, height + kTextHeight + 3 * kMargin, kGround);
  int left = kMargin;
  for (const LabelledPicture& one : pictures) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) sheet.set(left + x, kMargin + y, one.picture.at(x / zoom, y / zoom));
    feature_maps::drawText(sheet, left, height + 2 * kMargin, one.label, kInk, kTextScale);
    left += cell + kMargin;
  }
  return sheet;
}

}  // namespace denoise
