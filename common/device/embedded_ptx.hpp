// PTX that shiftconv_add_kernels embeds: compressed texts in a table that the linker makes of all objects with some.
#pragma once

#include <string_view>
#include <vector>

#include "common/device/module_image.hpp"

namespace shiftconv::device {

/// The text for exactly this target, out of image.ptx or, when that is empty, of the texts embedded under the image's name; empty
/// when there is none. Embedded ones are unpacked when they are first asked for, and kept as long as the process lives.
std::string_view ptxFor(const ModuleImage& image, std::string_view target);

/// Targets that there is a text for.
std::vector<std::string_view> ptxTargets(const ModuleImage& image);

}  // namespace shiftconv::device
