#include "examples/feature_maps/contact_sheet.hpp"

#include <algorithm>
#include <cmath>

#include "examples/feature_maps/font.hpp"

namespace feature_maps {

namespace {

constexpr int kMargin = 36;
constexpr int kGap = 8;
constexpr int kLabelHeight = 16;    ///< under a picture, text and space
constexpr int kHeadingHeight = 40;  ///< over a row
constexpr int kRowGap = 10;
constexpr int kFooterLine = 15;
constexpr int kEffectsPerRow = 4;
constexpr int kInnerWidth = kTilesPerRow * kTileWidth + (kTilesPerRow - 1) * kGap;

constexpr Rgb kGround{11, 12, 17};
constexpr Rgb kFrame{19, 21, 28};
constexpr Rgb kTitle{244, 240, 228};
constexpr Rgb kHeading{236, 178, 96};
constexpr Rgb kLabel{150, 158, 172};

/// Height over width of the frames: the photograph's, within limits that keep the sheet a sheet.
double frameAspect(const Image& photograph) {
  return std::clamp(static_cast<double>(photograph.height) / photograph.width, 0.4, 1.6);
}

class Composer {
 public:
  explicit Composer(const SheetContent& content) : content_(content) {
    aspect_ = content.heroes.empty() ? 1.0 : frameAspect(content.heroes.front().picture);
    layout_.width = kInnerWidth + 2 * kMargin;
  }

  SheetLayout compose() {
    placeTitle();
    placeHead();
    for (const TileRow& row : content_.rows) placeRow(row);
    placeFooter();
    layout_.height = y_ + kMargin;
    return std::move(layout_);
  }

 private:
  int heightOf(int width) const { return static_cast<int>(std::lround(width * aspect_)); }

  void text(int x, int y, const std::string& words, Rgb colour, int scale) {
    layout_.texts.push_back({x, y, scale, words, colour});
  }

  void tile(const Tile& tile, const Rectangle& frame) {
    layout_.pictures.push_back({frame, &tile});
    text(frame.x + 1, frame.y + frame.height + 4, tile.label, kLabel, 1);
  }

  void placeTitle() {
    text(kMargin, y_, content_.title, kTitle, 4);
    y_ += 4 * kGlyphHeight + 6;
    text(kMargin, y_, content_.subtitle, kLabel, 2);
    y_ += 2 * kGlyphHeight + 20;
  }

  /// Heroes on the left, effects in two rows that end at the same height and at the right margin: the hero width W and
  /// the effect width w solve 2 W + 4 w + 5 gaps = inner width and W a = 2 w a + label + gap, a being the aspect.
  void placeHead() {
    const int between = kLabelHeight + kGap;
    const int heroWidth = static_cast<int>((kInnerWidth - 5 * kGap + 2 * between / aspect_) / 4);
    const int heroHeight = heightOf(heroWidth), effectHeight = (heroHeight - between) / 2;
    const int effectWidth = (kInnerWidth - 5 * kGap - 2 * heroWidth) / kEffectsPerRow;
    int x = kMargin;
    for (const Tile& hero : content_.heroes) {
      tile(hero, {heroWidth, heroHeight, x, y_});
      x += heroWidth + kGap;
    }
    for (size_t i = 0; i < content_.effects.size(); ++i) {
      const int column = static_cast<int>(i) % kEffectsPerRow, line = static_cast<int>(i) / kEffectsPerRow;
      const int top = line == 0 ? y_ : y_ + heroHeight - effectHeight;
      tile(content_.effects[i], {effectWidth, effectHeight, x + column * (effectWidth + kGap), top});
    }
    y_ += heroHeight + kLabelHeight + kRowGap;
  }

  void placeRow(const TileRow& row) {
    text(kMargin, y_ + kHeadingHeight - 2 * kGlyphHeight - 5, row.heading, kHeading, 2);
    y_ += kHeadingHeight;
    for (size_t i = 0; i < row.tiles.size(); ++i) {
      const int column = static_cast<int>(i) % kTilesPerRow;
      if (i > 0 && column == 0) y_ += heightOf(kTileWidth) + kLabelHeight;
      tile(row.tiles[i], {kTileWidth, heightOf(kTileWidth), kMargin + column * (kTileWidth + kGap), y_});
    }
    y_ += heightOf(kTileWidth) + kLabelHeight + kRowGap;
  }

  void placeFooter() {
    y_ += kRowGap;
    for (const std::string& line : content_.footer) {
      text(kMargin, y_, line, kLabel, 1);
      y_ += kFooterLine;
    }
  }

  const SheetContent& content_;
  SheetLayout layout_;
  double aspect_ = 1;
  int y_ = kMargin;
};

/// The largest size with the picture's proportions inside the frame, in its middle.
Rectangle fit(const Image& picture, const Rectangle& frame) {
  const double scale =
      std::min(static_cast<double>(frame.width) / picture.width, static_cast<double>(frame.height) / picture.height);
  const int width = std::clamp(static_cast<int>(std::lround(picture.width * scale)), 1, frame.width);
  const int height = std::clamp(static_cast<int>(std::lround(picture.height * scale)), 1, frame.height);
  return {width, height, frame.x + (frame.width - width) / 2, frame.y + (frame.height - height) / 2};
}

void fill(Image& sheet, const Rectangle& area, Rgb colour) {
  for (int y = area.y; y < area.y + area.height; ++y) {
    for (int x = area.x; x < area.x + area.width; ++x) sheet.set(x, y, colour);
  }
}

}  // namespace

SheetLayout layOut(const SheetContent& content) { return Composer(content).compose(); }

Image render(const SheetLayout& layout) {
  Image sheet(layout.width, layout.height, kGround);
  for (const PlacedPicture& placed : layout.pictures) {
    fill(sheet, placed.frame, kFrame);
    const Rectangle place = fit(placed.tile->picture, placed.frame);
    const Image scaled = resize(placed.tile->picture, place.width, place.height);
    for (int y = 0; y < place.height; ++y) {
      for (int x = 0; x < place.width; ++x) sheet.set(place.x + x, place.y + y, scaled.at(x, y));
    }
  }
  for (const PlacedText& text : layout.texts) drawText(sheet, text.x, text.y, text.text, text.colour, text.scale);
  return sheet;
}

}  // namespace feature_maps
