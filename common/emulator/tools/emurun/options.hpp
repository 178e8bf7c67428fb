// The command line of emurun.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace emurun {

namespace exit_code {
constexpr int kUsage = 1, kProgram = 2, kHazards = 5, kLaunches = 6;
}

struct Options {
  std::map<std::string, std::string> environment;  ///< EMURUN_* for the program, see common/emulator/cuda_runtime/core/settings.hpp
  bool hazards = false;                            ///< they are looked for
  std::string log;                                 ///< empty: standard error
  std::vector<std::string> command;                ///< the program and its arguments
};

/// Returns true when the program is to be run; otherwise `exitCode` holds the status to leave with and everything was printed.
bool parseCommandLine(int argc, char** argv, Options& options, int& exitCode);

}  // namespace emurun
