// emurun: an unmodified CUDA program on the emulated sm_100a device.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "common/emulator/tools/emurun/launcher.hpp"
#include "common/emulator/tools/emurun/options.hpp"
#include "common/emulator/tools/emurun/user_error.hpp"

int main(int argc, char** argv) {
  int exitCode = 0;
  emurun::Options options;
  try {
    if (!emurun::parseCommandLine(argc, argv, options, exitCode)) return exitCode;
    return emurun::runProgram(options);
  } catch (const emurun::UserError& error) {
    fmt::print(stderr, "emurun: {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "emurun: {}\n", error.what());
  }
  return emurun::exit_code::kProgram;
}
