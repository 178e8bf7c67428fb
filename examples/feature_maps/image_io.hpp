// Photographs and sheets: 8-bit RGB pictures in memory, and PNG files.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace feature_maps {

/// what() is one sentence naming the file or the value and the limit.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Rgb = std::array<uint8_t, 3>;

/// Rows from the top, three bytes (red, green, blue) per pixel.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;

  Image() = default;
  Image(int imageWidth, int imageHeight, Rgb colour = {0, 0, 0});
  Rgb at(int x, int y) const;
  void set(int x, int y, Rgb colour);
};

struct Rectangle {
  int width = 0, height = 0, x = 0, y = 0;
};

/// Most pixels on a side that a picture file may have.
inline constexpr int kLargestPictureSide = 16384;

/// Any PNG: grey, palette, 16-bit and interlaced files are converted, transparent pixels are laid over black.
Image readPng(const std::string& path);
/// Throws unless a file can be written there: to be asked before long work. May leave an empty file.
void requireWritable(const std::string& path);
/// Truecolour PNG.
void writePng(const std::string& path, const Image& image);

/// Parses "WxH+X+Y", for example "48x48+100+20".
Rectangle parseRectangle(const std::string& text);
/// The rectangle must lie inside the image.
Image crop(const Image& image, const Rectangle& rectangle);
/// Same aspect ratio with the longer side `longest`; averages areas when it shrinks, interpolates when it grows.
Image resize(const Image& image, int longest);
/// To exactly width x height.
Image resize(const Image& image, int width, int height);

}  // namespace feature_maps
