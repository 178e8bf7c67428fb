// The command line of ptxrun.
#pragma once

#include <shiftconv/emulator.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ptxrun {

namespace exit_code {
constexpr int kSuccess = 0, kUsage = 1, kModule = 2, kLaunch = 3, kDifferent = 4, kHazards = 5;
}

struct Options {
  std::string ptxPath;
  bool list = false;
  std::string kernel;                             ///< may stay empty when the module has one kernel
  std::vector<uint32_t> grid{1}, block, cluster;  ///< up to three numbers; empty: from the kernel's directives
  uint32_t dynamicSharedBytes = 0;
  std::vector<std::string> arguments;
  std::vector<std::string> buffers;  ///< NAME=SPEC
  shiftconv::emu::Options machine;
  bool counters = false;
  std::vector<std::string> roles;
  uint32_t repeat = 1;
};

/// Returns true when the program should go on; otherwise `exitCode` holds the status to leave with and everything
/// was printed (help, version or one readable error).
bool parseCommandLine(int argc, char** argv, Options& options, int& exitCode);

}  // namespace ptxrun
