// The sheet: a photograph, large tiles, and rows of small labelled tiles on a dark ground.
#pragma once

#include <string>
#include <vector>

#include "examples/feature_maps/image_io.hpp"

namespace feature_maps {

struct Tile {
  std::string label;
  Image picture;
};

struct TileRow {
  std::string heading;
  std::vector<Tile> tiles;
};

struct SheetContent {
  std::string title;
  std::string subtitle;
  std::vector<Tile> heroes;   ///< two, the height of the head of the sheet: photograph and directions
  std::vector<Tile> effects;  ///< eight, in two rows beside them
  std::vector<TileRow> rows;
  std::vector<std::string> footer;  ///< facts of the run
};

struct PlacedPicture {
  Rectangle frame;  ///< the picture is scaled to fit, in the middle
  const Tile* tile = nullptr;
};

struct PlacedText {
  int x = 0, y = 0, scale = 1;
  std::string text;
  Rgb colour{};
};

/// Where everything goes, in pixels. Points into the content it was made from.
struct SheetLayout {
  int width = 0, height = 0;
  std::vector<PlacedPicture> pictures;
  std::vector<PlacedText> texts;
};

inline constexpr int kTilesPerRow = 12;
inline constexpr int kTileWidth = 104;

SheetLayout layOut(const SheetContent& content);
Image render(const SheetLayout& layout);

}  // namespace feature_maps
