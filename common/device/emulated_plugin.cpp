// What libshiftconv_emulated.so exports.
#include "common/device/emulated_plugin.hpp"

extern "C" [[gnu::visibility("default")]] const shiftconv::device::EmulatedPlugin shiftconv_emulated_plugin;
const shiftconv::device::EmulatedPlugin shiftconv_emulated_plugin{shiftconv::device::kEmulatedPluginStamp,
                                                                  &shiftconv::device::openEmulatedDevice};
