// The denoiser: its parts, and the program as its users run it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "examples/denoise/device_network.hpp"
#include "examples/denoise/network.hpp"
#include "examples/denoise/picture.hpp"
#include "examples/feature_maps/exit_code.hpp"
#include "tests/support/shell.hpp"
#include "tests/temporary_folder.hpp"

namespace denoise {
namespace {

using feature_maps::ExitCode;
using shiftconv::tests::Outcome;
using shiftconv::tests::TemporaryFolder;

Outcome runDenoise(const std::string& arguments) {
  return shiftconv::tests::runShell(fmt::format("'{}' {}", DENOISE_PROGRAM, arguments));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The ratio of the line that begins with `name`; NaN where there is none.
double decibels(const std::string& text, const std::string& name) {
  const size_t line = text.find("\n" + name + " ");
  return line == std::string::npos ? std::nan("") : std::strtod(text.c_str() + line + 1 + name.size(), nullptr);
}

Maps testPicture() { return mapsOf(feature_maps::crop(feature_maps::readPng(DENOISE_PHOTOGRAPH), {40, 36, 96, 40})); }

TEST(DenoisePicture, NoiseAndItsMeasure) {
  Maps grey{64, 64, 3, std::vector<float>(64 * 64 * 3, 0.5f)};
  Maps brighter = grey;
  for (float& value : brighter.values) value += 0.1f;
  EXPECT_NEAR(psnr(brighter, grey), 20, 1e-4);
  // Of n values the mean square is known within 5 * sqrt(2 / n) of itself: here 6.4 %, or 0.28 dB.
  const Maps noisy = withNoise(grey, 25, 3);
  EXPECT_NEAR(psnr(noisy, grey), 20 * std::log10(255.0 / 25), 0.28);
  EXPECT_EQ(noisy.values, withNoise(grey, 25, 3).values);
  EXPECT_NE(noisy.values, withNoise(grey, 25, 4).values);
  EXPECT_EQ(withNoise(grey, 0, 3).values, grey.values);
  EXPECT_EQ(imageOf(mapsOf(imageOf(brighter))).rgb, imageOf(brighter).rgb);
}

/// Every pixel of f16 on both architectures is near f32: tensors are rounded to 2^-11 of themselves eleven times, and no layer of
/// this network makes more of it than a few units.
TEST(DenoiseNetwork, IsInF16WhatItIsInF32) {
  const Network network = readNetwork(DENOISE_WEIGHTS);
  const Maps clean = testPicture(), noisy = withNoise(clean, 25, 5), expected = denoisedInF32(network, noisy);
  for (const char* name : {"emulated", "emulated:sm_90a"}) {
    SCOPED_TRACE(name);
    shiftconv::Device device{std::string(name)};
    DeviceNetwork onDevice(device, network, kPrecisions[0], noisy.height, noisy.width);
    EXPECT_EQ(onDevice.inFormat(), static_cast<int>(kLayerCount));
    const Maps found = onDevice.run(noisy);
    ASSERT_EQ(found.values.size(), expected.values.size());
    double farthest = 0;
    for (size_t i = 0; i < found.values.size(); ++i)
      farthest = std::max(farthest, std::fabs(double{found.values[i]} - double{expected.values[i]}));
    EXPECT_LT(farthest, 11 * 0x1p-11);
    EXPECT_GT(farthest, 0);
  }
}

TEST(DenoiseNetwork, BlockScalesGoFromLayerToLayer) {
  const Network network = readNetwork(DENOISE_WEIGHTS);
  shiftconv::Device device("emulated");
  for (const Precision& precision : {kPrecisions[1], kPrecisions[2]}) {
    SCOPED_TRACE(precision.name);
    DeviceNetwork onDevice(device, network, precision, 16, 16);
    const auto& layers = onDevice.layers();
    EXPECT_EQ(onDevice.inFormat(), 6);
    EXPECT_EQ(layers[4].form, precision.name + " -> " + precision.name);
    EXPECT_EQ(layers[7].form, precision.name + " -> " + precision.name);
    EXPECT_EQ(layers[9].form, precision.name + " -> f32");
    for (const size_t i : {0, 1, 2, 3}) EXPECT_FALSE(layers[i].staysF16.empty()) << i;
    for (const size_t i : {4, 5, 6, 7, 8, 9}) EXPECT_TRUE(layers[i].staysF16.empty()) << i;
    EXPECT_EQ(layers[7].algorithm, "repeated");
  }
}

TEST(DenoiseNetwork, FilesOfOtherSizesAreRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder / "short.bin") << "weights";
  EXPECT_THROW(readNetwork(folder / "short.bin"), std::invalid_argument);
  EXPECT_THROW(readNetwork(folder / "none.bin"), std::invalid_argument);
}

TEST(DenoiseProgram, TakesTheNoiseOut) {
  const TemporaryFolder folder;
  const Outcome run = runDenoise(fmt::format("--device emulated --crop 64x48+80+40 --output {}", folder / "sheet.png"));
  ASSERT_EQ(run.exitCode, ExitCode::Success) << run.text;
  const double noisy = decibels(run.text, "noisy"), single = decibels(run.text, "f32"), half = decibels(run.text, "f16"),
               eight = decibels(run.text, "mxfp8"), four = decibels(run.text, "nvfp4");
  EXPECT_GT(single, noisy + 5) << run.text;
  EXPECT_NEAR(half, single, 0.02) << run.text;
  EXPECT_NEAR(eight, single, 0.75) << run.text;
  EXPECT_NEAR(four, single, 4) << run.text;
  EXPECT_GT(four, noisy + 3) << run.text;
  EXPECT_NE(eight, four) << run.text;
  for (const char* part : {"64 x 48 pixels", "6 of 10 layers multiply mxfp8", "6 of 10 layers multiply nvfp4",
                           "stays f16: no algorithm multiplies this form with block scales"})
    EXPECT_TRUE(has(run.text, part)) << "no '" << part << "' in\n" << run.text;
  const feature_maps::Image sheet = feature_maps::readPng(folder / "sheet.png");
  EXPECT_GT(sheet.width, 6 * 192);
  EXPECT_GT(sheet.height, 144);
}

TEST(DenoiseProgram, LeavesOutWhatTheDeviceHasNot) {
  const Outcome run = runDenoise("--device emulated:sm_90a --no-sheet --crop 16x16+100+60");
  EXPECT_EQ(run.exitCode, ExitCode::Success) << run.text;
  EXPECT_TRUE(has(run.text, "\nf16 ")) << run.text;
  EXPECT_TRUE(has(run.text, "nvfp4   left out: emulated sm_90a multiplies no layer")) << run.text;
}

TEST(DenoiseProgram, RefusesInOneSentence) {
  for (const auto& [arguments, part] : {std::pair{"--crop 15x16+0+0", "has 15 x 16 pixels"},
                                        {"--crop 16x16+250+0", "250"},
                                        {"--sigma -1", "--sigma -1 is outside 0..255"},
                                        {"--weights /nonexistent", "cannot be opened"},
                                        {"--image /nonexistent.png", "/nonexistent.png"},
                                        {"--device nowhere", "--device"}}) {
    const Outcome run = runDenoise(fmt::format("--device emulated --no-sheet {}", arguments));
    EXPECT_EQ(run.exitCode, ExitCode::Usage) << run.text;
    EXPECT_TRUE(has(run.text, part)) << run.text;
  }
}

}  // namespace
}  // namespace denoise
