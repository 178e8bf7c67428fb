// Command line of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/feature_maps/image_io.hpp"

namespace denoise {

struct Options {
  std::string image, weights;                   ///< files
  std::optional<feature_maps::Rectangle> crop;  ///< part of the picture; none: all of it, on an emulated device kEmulatedCrop
  double sigma = 25;                            ///< of the noise, of 255
  uint64_t seed = 1;
  std::vector<std::string> precisions;  ///< names of kPrecisions; empty: all
  std::string output = "denoise.png";
  std::string device;  ///< empty: a GPU if there is one, else the emulated device
  uint32_t timedRuns = 0;
  std::string json;  ///< file for the figures; empty: none
  bool sheet = true;
};

/// The face of the photograph that comes with the examples.
inline constexpr feature_maps::Rectangle kEmulatedCrop{96, 96, 72, 24};

/// Parsed options, or the exit code when there is nothing to run (--help, or a mistake that has been explained).
struct CommandLine {
  Options options;
  std::optional<int> exitCode;
};
CommandLine parseCommandLine(int argc, char** argv);

}  // namespace denoise
