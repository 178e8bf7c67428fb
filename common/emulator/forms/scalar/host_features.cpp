#include "common/emulator/forms/scalar/lanewise.hpp"

namespace shiftconv::emulator::isa {

bool hostHasWideVectors() {
#if defined(__x86_64__)
  static const bool result = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return result;
#else
  return false;
#endif
}

}  // namespace shiftconv::emulator::isa
