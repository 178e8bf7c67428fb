// Names of kernels as people write them.
#pragma once

#include <shiftconv/emulator.hpp>
#include <string>

namespace ptxrun {

/// "saxpy(int, float)" for a mangled C++ name; the name itself otherwise.
std::string demangled(const std::string& name);

/// The kernel that `name` means: its name in the PTX, its C++ name, with or without arguments and namespaces. An empty name means
/// the only kernel. Throws UserError that lists what there is when none, or more than one, is meant.
const shiftconv::emu::Kernel& chooseKernel(const shiftconv::emu::Module& module, const std::string& name);

}  // namespace ptxrun
