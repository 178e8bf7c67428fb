// What a program's run came to: written by the library inside the program, read by emurun.
#pragma once

#include <array>
#include <cstdint>

namespace shiftconv::runtime {

/// In memory that both map.
struct RunResult {
  static constexpr uint64_t kMagic = 0x32'6e75'7275'6d65;  // "emurun2"
  uint64_t magic;
  uint64_t calls;                   ///< of the two APIs
  uint64_t launches;                ///< kernels run
  uint64_t failures;                ///< launches that failed, among them those of kernels that the machine cannot execute
  std::array<uint64_t, 3> hazards;  ///< different ones in the whole run, by severity: race, formal, unproven
};

}  // namespace shiftconv::runtime
