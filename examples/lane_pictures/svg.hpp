// A picture as SVG text, in whole pixels, on a white background so that it reads on dark pages, too.
#pragma once

#include <string>
#include <string_view>

namespace lane_pictures {

struct Box {
  int x = 0, y = 0, width = 0, height = 0;
  int centre() const { return x + width / 2; }
  int right() const { return x + width; }
  int bottom() const { return y + height; }
};

inline constexpr std::string_view kInk = "#222", kGrey = "#777", kOrange = "#d9480f", kRed = "#c92a2a";

struct TextStyle {
  std::string_view colour = kInk;
  bool isCentred = false, isBold = false;
  bool hasHalo = false;  ///< a white edge, to be read on a hatch
};
enum class Arrow : bool { Moves, Enters };

class Svg {
 public:
  /// `title` is what readers hear who do not see the picture.
  Svg(int width, int height, std::string_view title);

  void rectangle(const Box& box, std::string_view fill, std::string_view stroke = "none", int strokeWidth = 1);
  /// Over something that is there already.
  void hatch(const Box& box);
  void arrow(int x0, int y0, int x1, int y1, Arrow kind);
  /// Begins at (x, y) on its base line, or has its middle there.
  void text(int x, int y, int size, std::string_view content, const TextStyle& style = {});
  /// In the middle of a box.
  void label(const Box& box, int size, std::string_view content, TextStyle style = {});

  /// The whole document.
  std::string document() const;

 private:
  std::string body_;
};

}  // namespace lane_pictures
