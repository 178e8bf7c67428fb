// What the program tells its caller.
#pragma once

namespace feature_maps {

enum ExitCode : int {
  Success = 0,
  BoundExceeded = 1,  ///< an output element is further from the exact result than the bound allows
  Usage = 2,          ///< wrong option, or a picture that cannot be used
  DeviceFailure = 3,  ///< the library, the device or the emulator refused or stopped
};

}  // namespace feature_maps
