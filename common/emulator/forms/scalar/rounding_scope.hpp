// The host's rounding mode for the time of one handler.
#pragma once

#include <cfenv>
#include <string_view>

namespace shiftconv::emulator::isa {

/// Switches the rounding mode and restores round-to-nearest. The calls are opaque to the compiler, so the loads and
/// stores of lane values between them keep their places, and with them the arithmetic.
class RoundingScope {
 public:
  explicit RoundingScope(int mode) { std::fesetround(mode); }
  ~RoundingScope() { std::fesetround(FE_TONEAREST); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;
};

/// Host mode of "rn", "rz", "rm", "rp"; round-to-nearest for an empty modifier.
inline int hostRounding(std::string_view modifier) {
  if (modifier == "rz") return FE_TOWARDZERO;
  if (modifier == "rm") return FE_DOWNWARD;
  if (modifier == "rp") return FE_UPWARD;
  return FE_TONEAREST;
}

}  // namespace shiftconv::emulator::isa
