// What a module offers, for people.
#pragma once

#include <shiftconv/emulator.hpp>

#include <string>

namespace ptxrun {

/// Kernels with parameters (name, type, size, alignment), static shared memory and performance directives.
std::string listKernels(const shiftconv::emu::Module& module);

}  // namespace ptxrun
