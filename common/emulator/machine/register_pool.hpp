// The registers that setmaxnreg moves between the warps of a CTA (PTX ISA 9.0, 9.7.19.5): those that it was launched with.
//
// How many that is, ptxas decides. With .maxnreg it is what that says. With .minnctapersm and .maxntid or .reqntid it is all that
// so many CTAs leave each thread, in steps of 8: kernels of 384 threads are assembled with 168, of 512 with 128. With less than
// that ptxas ignores setmaxnreg ("unable to determine register count at entry", observed with 13.0), and so it never waits here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::machine {

class RegisterPool {
 public:
  RegisterPool() = default;
  /// Of a CTA of so many warps, on a multiprocessor with so many registers.
  RegisterPool(const ptx::PerformanceDirectives& directives, size_t warps, uint32_t registersPerMultiprocessor);

  /// Of each thread of a warp from now on; false, and nothing is changed, where more are asked for than are free.
  bool hold(size_t warp, uint32_t count);
  /// What a warp that asks for so many waits for.
  std::string describe(uint32_t count) const;

 private:
  uint32_t atLaunch_ = 0;       ///< of a thread; 0: unlimited
  int64_t free_ = 0;            ///< held by no warp, of a thread of each warp together
  std::vector<uint32_t> held_;  ///< of a thread, by warp
};

}  // namespace shiftconv::emulator::machine
