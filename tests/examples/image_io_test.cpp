// PNG files in and out, crops, and resampling.
#include "examples/feature_maps/image_io.hpp"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstring>
#include <random>

#include "examples/feature_maps/npy.hpp"
#include "tests/temporary_folder.hpp"

namespace feature_maps {
namespace {

using shiftconv::tests::fileContents;
using shiftconv::tests::TemporaryFolder;

Image randomImage(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Image image(width, height);
  for (uint8_t& byte : image.rgb) byte = static_cast<uint8_t>(random());
  return image;
}

/// The sentence of the ImageError that `action` throws; empty when it throws none.
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const ImageError& error) {
    return error.what();
  }
  return {};
}

/// A PNG file that consists of a header only, with a correct checksum (PNG specification, annex D).
std::string headerOnlyPng(uint32_t width, uint32_t height) {
  std::string chunk = "IHDR";
  for (uint32_t side : {width, height}) {
    for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(static_cast<char>(side >> shift));
  }
  chunk += std::string("\x08\x02\x00\x00\x00", 5);
  uint32_t crc = 0xffffffffu;
  for (char byte : chunk) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xedb88320u ^ (crc >> 1) : crc >> 1;
  }
  crc = ~crc;
  std::string file = "\x89PNG\r\n\x1a\n" + std::string("\0\0\0\x0d", 4) + chunk;
  for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<char>(crc >> shift));
  return file;
}

TEST(ImageIo, RoundTripKeepsEveryByte) {
  const TemporaryFolder folder;
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 3}, {64, 33}}) {
    const Image image = randomImage(width, height, 11);
    writePng(folder / "image.png", image);
    const Image read = readPng(folder / "image.png");
    EXPECT_EQ(read.width, width);
    EXPECT_EQ(read.height, height);
    EXPECT_EQ(read.rgb, image.rgb);
  }
}

TEST(ImageIo, TransparentPixelsLieOverBlack) {
  const TemporaryFolder folder;
  const uint8_t rgba[] = {200, 100, 50, 255, 200, 100, 50, 0};
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = 2;
  png.height = 1;
  png.format = PNG_FORMAT_RGBA;
  ASSERT_NE(png_image_write_to_file(&png, (folder / "image.png").c_str(), 0, rgba, 0, nullptr), 0);
  const Image image = readPng(folder / "image.png");
  EXPECT_EQ(image.at(0, 0), (Rgb{200, 100, 50}));
  EXPECT_EQ(image.at(1, 0), (Rgb{0, 0, 0}));
}

TEST(ImageIo, GreyFilesBecomeColour) {
  const TemporaryFolder folder;
  const uint8_t grey[] = {17, 99};
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = 1;
  png.height = 2;
  png.format = PNG_FORMAT_GRAY;
  ASSERT_NE(png_image_write_to_file(&png, (folder / "image.png").c_str(), 0, grey, 0, nullptr), 0);
  const Image image = readPng(folder / "image.png");
  EXPECT_EQ(image.at(0, 0), (Rgb{17, 17, 17}));
  EXPECT_EQ(image.at(0, 1), (Rgb{99, 99, 99}));
}

TEST(ImageIo, BadFilesAreRefusedInOneSentence) {
  const TemporaryFolder folder;
  EXPECT_NE(refusal([&] { readPng(folder / "missing.png"); }).find("No such file"), std::string::npos);

  std::ofstream(folder / "text.png") << "This is not a picture at all.";
  EXPECT_NE(refusal([&] { readPng(folder / "text.png"); }).find("is not a PNG file"), std::string::npos);
  std::ofstream(folder / "empty.png") << "";
  EXPECT_NE(refusal([&] { readPng(folder / "empty.png"); }).find("is not a PNG file"), std::string::npos);

  writePng(folder / "whole.png", randomImage(40, 40, 12));
  const std::string whole = fileContents(folder / "whole.png");
  std::ofstream(folder / "cut.png", std::ios::binary) << whole.substr(0, whole.size() / 2);
  EXPECT_NE(refusal([&] { readPng(folder / "cut.png"); }), "");
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(~flipped[whole.size() / 2]);
  std::ofstream(folder / "flipped.png", std::ios::binary) << flipped;
  EXPECT_NE(refusal([&] { readPng(folder / "flipped.png"); }), "");

  std::ofstream(folder / "huge.png", std::ios::binary) << headerOnlyPng(20000, 20000) << whole.substr(33);
  const std::string huge = refusal([&] { readPng(folder / "huge.png"); });
  EXPECT_NE(huge.find("20000x20000"), std::string::npos) << huge;
  EXPECT_NE(huge.find("16384"), std::string::npos) << huge;

  EXPECT_NE(refusal([&] { writePng(folder / "no/such/folder.png", Image(1, 1)); }).find("Cannot write"), std::string::npos);
}

TEST(ImageIo, RectanglesAreParsedStrictly) {
  const Rectangle r = parseRectangle("48x32+100+0");
  EXPECT_EQ(r.width, 48);
  EXPECT_EQ(r.height, 32);
  EXPECT_EQ(r.x, 100);
  EXPECT_EQ(r.y, 0);
  for (const char* text : {"", "48x48", "48x48+1", "48x48+1+2 ", "48x48+1+2+3", "0x48+1+2", "48x-3+0+0", "48x48+-1+2", "a"}) {
    EXPECT_NE(refusal([&] { parseRectangle(text); }), "") << "'" << text << "'";
  }
}

TEST(ImageIo, CropTakesTheRightPixels) {
  const Image image = randomImage(20, 10, 13);
  const Image part = crop(image, {5, 4, 15, 6});
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) EXPECT_EQ(part.at(x, y), image.at(15 + x, 6 + y));
  }
  EXPECT_NE(refusal([&] { crop(image, {6, 4, 15, 6}); }).find("20x10"), std::string::npos);
  EXPECT_NE(refusal([&] { crop(image, {5, 5, 15, 6}); }), "");
}

TEST(ImageIo, ResizingToTheSameSizeChangesNothing) {
  const Image image = randomImage(9, 14, 14);
  EXPECT_EQ(resize(image, 9, 14).rgb, image.rgb);
}

TEST(ImageIo, ShrinkingAveragesAreas) {
  Image image(3, 2);
  const int reds[] = {10, 40, 100, 20, 60, 250};
  for (int i = 0; i < 6; ++i) image.set(i % 3, i / 3, {static_cast<uint8_t>(reds[i]), 7, 7});
  // 3 columns to 2: each target column is two thirds of an outer column and one third of the middle one.
  const Image narrow = resize(image, 2, 1);
  EXPECT_EQ(narrow.at(0, 0)[0], std::lround((2 * (10 + 20) / 2.0 + (40 + 60) / 2.0) / 3));
  EXPECT_EQ(narrow.at(1, 0)[0], std::lround((2 * (100 + 250) / 2.0 + (40 + 60) / 2.0) / 3));
  EXPECT_EQ(narrow.at(0, 0)[1], 7);
}

TEST(ImageIo, GrowingInterpolates) {
  Image image(2, 1);
  image.set(0, 0, {0, 50, 50});
  image.set(1, 0, {100, 50, 50});
  const Image wide = resize(image, 4, 3);
  for (int y = 0; y < 3; ++y) {
    EXPECT_EQ(wide.at(0, y)[0], 0);
    EXPECT_EQ(wide.at(1, y)[0], 25);
    EXPECT_EQ(wide.at(2, y)[0], 75);
    EXPECT_EQ(wide.at(3, y)[0], 100);
    EXPECT_EQ(wide.at(2, y)[1], 50);
  }
}

TEST(ImageIo, LongestSideKeepsTheProportions) {
  const Image wide = resize(Image(300, 200), 96);
  EXPECT_EQ(wide.width, 96);
  EXPECT_EQ(wide.height, 64);
  const Image sliver = resize(Image(1000, 2), 10);
  EXPECT_EQ(sliver.width, 10);
  EXPECT_EQ(sliver.height, 1);
}

TEST(Npy, HeaderAndDataAreAsTheFormatSays) {
  const TemporaryFolder folder;
  const std::vector<float> values{1.5f, -2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  writeNpy(folder / "array.npy", values, {2, 3});
  const std::string file = fileContents(folder / "array.npy");
  ASSERT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t length = static_cast<unsigned char>(file[8]) + 256u * static_cast<unsigned char>(file[9]);
  EXPECT_EQ((10 + length) % 64, 0u);
  EXPECT_EQ(file[10 + length - 1], '\n');
  EXPECT_NE(file.find("'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,)"), std::string::npos);
  ASSERT_EQ(file.size(), 10 + length + sizeof(float) * values.size());
  EXPECT_EQ(std::memcmp(file.data() + 10 + length, values.data(), sizeof(float) * values.size()), 0);
}

}  // namespace
}  // namespace feature_maps
