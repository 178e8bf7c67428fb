// What a program's run came to: written by the library inside the program, read by emurun.
#pragma once

#include <cstdint>

namespace shiftconv::runtime {

/// In memory that both map.
struct RunResult {
  static constexpr uint64_t kMagic = 0x31'6e75'7275'6d65;  // "emurun1"
  uint64_t magic;
  uint64_t calls;     ///< of the two APIs
  uint64_t launches;  ///< kernels run
  uint64_t hazards;   ///< different ones, summed over launches
  uint64_t failures;  ///< kernels that failed, and functions that are not there
};

}  // namespace shiftconv::runtime
