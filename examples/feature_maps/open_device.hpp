// The device of an example.
#pragma once

#include <shiftconv/shiftconv.hpp>
#include <string>

namespace feature_maps {

/// The one named; without a name a GPU, and where there is none the emulated device, with a word on why.
/// @throws std::invalid_argument for a name that is none.
shiftconv::Device openDevice(const std::string& name);

}  // namespace feature_maps
