// What a module offers, for people.
#pragma once

#include <string>

#include "common/emulator/isa/decoder.hpp"

namespace ptxrun {

/// Kernels with parameters (name, type, size, alignment), static shared memory and performance directives.
std::string listKernels(const shiftconv::emulator::isa::Program& program);

}  // namespace ptxrun
