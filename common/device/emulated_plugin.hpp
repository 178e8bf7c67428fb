// The file libshiftconv_emulated.so, which holds the emulated device: what it exports, and the C++ behind it.
//
// Both sides are one release, compiled by one compiler, and know each other's classes; `stamp` is what makes sure of that.
#pragma once

#include "common/device/emulated_opener.hpp"

namespace shiftconv::device {

inline constexpr const char* kEmulatedPluginFile = "libshiftconv_emulated.so";
inline constexpr const char* kEmulatedPluginSymbol = "shiftconv_emulated_plugin";

struct EmulatedPlugin {
  const char* stamp;  ///< of the release and the compiler; the first member of every version
  decltype(&openEmulatedDevice) open;
};

/// What `stamp` must be.
inline constexpr const char* kEmulatedPluginStamp = "ShiftConv " SHIFTCONV_RELEASE ", compiler " __VERSION__;

}  // namespace shiftconv::device
