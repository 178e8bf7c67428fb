// Command line of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/feature_maps/image_io.hpp"

namespace feature_maps {

inline constexpr int kDefaultSize = 256;  ///< longest side in pixels, also when the picture is larger
inline constexpr int kQuickSize = 96;
inline constexpr int kSmallestSize = 8;
inline constexpr int kLargestSize = 1024;

struct Options {
  std::string image;              ///< PNG file
  std::optional<int> size;        ///< longest side that the picture is scaled to
  std::optional<Rectangle> crop;  ///< part of the picture as stored, taken before scaling
  std::string output = "feature_maps.png";
  std::string dump;    ///< prefix for .npy files of both layers; empty: none
  std::string device;  ///< empty: a GPU if there is one, else the emulated device
  std::string policy = "earliest";
  uint64_t seed = 1;
  std::string numerics = "hardware";
  std::vector<std::string> semantics;  ///< "U3=1"
  bool quick = false;
  bool verify = true;
  bool sheet = true;
  bool counters = false;  ///< print the whole table of counters
};

/// Parsed options, or the exit code when there is nothing to run (--help, or a mistake that has been explained).
struct CommandLine {
  Options options;
  std::optional<int> exitCode;
};
CommandLine parseCommandLine(int argc, char** argv);

}  // namespace feature_maps
