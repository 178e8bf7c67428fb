// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace block_scaled_gemm {

enum ExitCode : int {
  Success = 0,
  BoundExceeded = 1,  ///< the kernel is further from the exact product than the bound allows
  Usage = 2,
  DeviceFailure = 3,  ///< the device or the library refused or stopped
};

inline constexpr int64_t kLargestExtent = 4096;

struct Options {
  int64_t m = 128, n = 96, k = 512;
  std::string distribution = "normal";  ///< "normal", "uniform", "outliers"
  uint32_t seed = 1;
  std::string scales = "both";  ///< "rows", "interleaved", "both"
  std::string device;           ///< empty: a Blackwell GPU if there is one, else the emulated device
  std::vector<std::string> formats;
};

struct CommandLine {
  Options options;
  std::optional<int> exitCode;  ///< the program ends here
};

CommandLine parseCommandLine(int argc, char** argv);

}  // namespace block_scaled_gemm
