// Every algorithm of the library. A new one is its folder, and a line in registry.cpp and in conv/algorithms/CMakeLists.txt.
#pragma once

#include <span>
#include <string_view>

#include "common/device/status.hpp"
#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

/// In the order in which they are asked; those of last resort come last.
std::span<const Algorithm* const> algorithms();

/// NotFound with the names when there is none of this name.
Status findAlgorithm(std::string_view name, const Algorithm*& algorithm);

}  // namespace shiftconv::plan
