// A small bitmap font for labels: printable ASCII and the signs that filter names need, 5 x 9 dots a glyph.
#pragma once

#include <string_view>

#include "examples/feature_maps/image_io.hpp"

namespace feature_maps {

inline constexpr int kGlyphWidth = 5;    ///< dots
inline constexpr int kGlyphHeight = 9;   ///< dots, two of them below the base line
inline constexpr int kGlyphAdvance = 6;  ///< dots from one glyph to the next

/// True when the font has a glyph for every character of the UTF-8 text; others are drawn as a box.
bool fontCovers(std::string_view utf8);

/// Width in pixels of a text drawn at `scale` pixels per dot.
int textWidth(std::string_view utf8, int scale);

/// Draws with the top left corner of the first glyph at (x, y). What falls outside the image is cut off.
void drawText(Image& image, int x, int y, std::string_view utf8, Rgb colour, int scale);

}  // namespace feature_maps
