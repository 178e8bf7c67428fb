#include "examples/feature_maps/image_io.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace feature_maps {

namespace {

/// png_image frees its internals on every way out.
struct PngImage : png_image {
  PngImage() {
    std::memset(static_cast<png_image*>(this), 0, sizeof(png_image));
    version = PNG_IMAGE_VERSION;
  }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

/// One axis of a separable resampling: which source pixels make a target pixel, and how much of each.
struct Taps {
  int first = 0;
  std::vector<double> weights;
};

std::vector<Taps> resamplingTaps(int from, int to) {
  std::vector<Taps> all(static_cast<size_t>(to));
  const double ratio = static_cast<double>(from) / to;
  for (int i = 0; i < to; ++i) {
    Taps& taps = all[static_cast<size_t>(i)];
    if (ratio >= 1) {  // the part of each source pixel that the target pixel covers
      const double begin = i * ratio, end = (i + 1) * ratio;
      taps.first = static_cast<int>(begin);
      for (int j = taps.first; j < from && j < end; ++j) {
        const double covered = std::min<double>(end, j + 1) - std::max<double>(begin, j);
        if (covered > 0) taps.weights.push_back(covered / ratio);
      }
    } else {  // linear between the two nearest pixel centres
      const double centre = std::clamp((i + 0.5) * ratio - 0.5, 0.0, from - 1.0);
      taps.first = std::min(static_cast<int>(centre), std::max(0, from - 2));
      const double fraction = centre - taps.first;
      taps.weights = {1 - fraction};
      if (from > 1) taps.weights.push_back(fraction);
    }
  }
  return all;
}

}  // namespace

Image::Image(int imageWidth, int imageHeight, Rgb colour)
    : width(imageWidth), height(imageHeight), rgb(static_cast<size_t>(imageWidth) * static_cast<size_t>(imageHeight) * 3) {
  for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = colour[i % 3];
}

Rgb Image::at(int x, int y) const {
  const size_t i = (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3;
  return {rgb[i], rgb[i + 1], rgb[i + 2]};
}

void Image::set(int x, int y, Rgb colour) {
  const size_t i = (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3;
  std::copy(colour.begin(), colour.end(), rgb.begin() + static_cast<ptrdiff_t>(i));
}

Image readPng(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) throw ImageError(fmt::format("Cannot open the picture '{}': {}.", path, std::strerror(errno)));
  const struct Closer {
    std::FILE* handle;
    ~Closer() { std::fclose(handle); }
  } closer{file};

  unsigned char signature[8];
  if (std::fread(signature, 1, sizeof(signature), file) != sizeof(signature) || png_sig_cmp(signature, 0, sizeof(signature)) != 0) {
    throw ImageError(fmt::format("'{}' is not a PNG file; convert the picture to PNG first.", path));
  }
  std::rewind(file);

  PngImage png;
  if (!png_image_begin_read_from_stdio(&png, file)) {
    throw ImageError(fmt::format("The PNG file '{}' cannot be read: {}.", path, png.message));
  }
  if (png.width > kLargestPictureSide || png.height > kLargestPictureSide) {
    throw ImageError(fmt::format("The picture '{}' is {}x{} pixels; at most {} pixels on a side are read.", path, png.width,
                                 png.height, kLargestPictureSide));
  }
  png.format = PNG_FORMAT_RGB;
  Image image(static_cast<int>(png.width), static_cast<int>(png.height));
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&png, &black, image.rgb.data(), 0, nullptr)) {
    throw ImageError(fmt::format("The PNG file '{}' is damaged: {}.", path, png.message));
  }
  return image;
}

void requireWritable(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (!file) throw ImageError(fmt::format("Cannot write '{}': {}.", path, std::strerror(errno)));
  std::fclose(file);
}

void writePng(const std::string& path, const Image& image) {
  PngImage png;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&png, path.c_str(), 0, image.rgb.data(), 0, nullptr)) {
    throw ImageError(fmt::format("Cannot write '{}': {}.", path, png.message));
  }
}

Rectangle parseRectangle(const std::string& text) {
  Rectangle r;
  int consumed = 0;
  if (std::sscanf(text.c_str(), "%5dx%5d+%5d+%5d%n", &r.width, &r.height, &r.x, &r.y, &consumed) != 4 ||
      static_cast<size_t>(consumed) != text.size() || r.width < 1 || r.height < 1 || r.x < 0 || r.y < 0) {
    throw ImageError(
        fmt::format("The crop '{}' is not of the form WxH+X+Y with positive numbers, for example 48x48+100+20.", text));
  }
  return r;
}

Image crop(const Image& image, const Rectangle& r) {
  if (r.x + r.width > image.width || r.y + r.height > image.height) {
    throw ImageError(fmt::format("The crop {}x{}+{}+{} reaches outside the picture, which is {}x{}.", r.width, r.height, r.x, r.y,
                                 image.width, image.height));
  }
  Image result(r.width, r.height);
  for (int y = 0; y < r.height; ++y) {
    for (int x = 0; x < r.width; ++x) result.set(x, y, image.at(r.x + x, r.y + y));
  }
  return result;
}

Image resize(const Image& image, int longest) {
  const double scale = static_cast<double>(longest) / std::max(image.width, image.height);
  const auto scaled = [&](int side) { return std::max(1, static_cast<int>(std::lround(side * scale))); };
  return resize(image, scaled(image.width), scaled(image.height));
}

Image resize(const Image& image, int width, int height) {
  const std::vector<Taps> columns = resamplingTaps(image.width, width), rows = resamplingTaps(image.height, height);
  const auto w = static_cast<size_t>(width);
  std::vector<double> narrowed(static_cast<size_t>(image.height) * w * 3);  // [source row][target column][channel]
  for (size_t y = 0; y < static_cast<size_t>(image.height); ++y) {
    for (size_t i = 0; i < w * 3; ++i) {
      const Taps& taps = columns[i / 3];
      const size_t source = (y * static_cast<size_t>(image.width) + static_cast<size_t>(taps.first)) * 3 + i % 3;
      for (size_t t = 0; t < taps.weights.size(); ++t) narrowed[y * w * 3 + i] += taps.weights[t] * image.rgb[source + t * 3];
    }
  }
  Image result(width, height);
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) {
    const Taps& taps = rows[y];
    for (size_t i = 0; i < w * 3; ++i) {
      double sum = 0;
      for (size_t t = 0; t < taps.weights.size(); ++t) {
        sum += taps.weights[t] * narrowed[(static_cast<size_t>(taps.first) + t) * w * 3 + i];
      }
      result.rgb[y * w * 3 + i] = static_cast<uint8_t>(std::lround(std::clamp(sum, 0.0, 255.0)));
    }
  }
  return result;
}

}  // namespace feature_maps
