// PTX that shiftconv_add_kernels embeds: compressed texts in a table that the linker makes of all objects with some.
#pragma once

#include <string_view>
#include <vector>

#include "common/device/module_image.hpp"

namespace shiftconv::device {

/// The text that a device `target` runs, as a driver chooses it: the one for exactly this target, otherwise that of the newest
/// architecture that the device includes (sm_90 on an sm_100a); empty when there is none. Texts are those of image.ptx or, when
/// that is empty, those embedded under the image's name. Embedded ones are unpacked when they are first asked for, and kept as long
/// as the process lives.
std::string_view ptxFor(const ModuleImage& image, std::string_view target);

/// Targets that there is a text for.
std::vector<std::string_view> ptxTargets(const ModuleImage& image);

}  // namespace shiftconv::device
