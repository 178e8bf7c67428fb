// Keeps the caller's floating-point environment away from the machine, and the machine's away from the caller.
#pragma once

#include <cfenv>

namespace shiftconv::emulator {

/// While it lives, this host thread, and threads that it starts, round to nearest, keep subnormals and do not trap; afterwards
/// everything, exception flags included, is as it was. (FE_DFL_ENV clears FTZ and DAZ of x86, too.)
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_{};
};

}  // namespace shiftconv::emulator
