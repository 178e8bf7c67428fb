// One kernel of a module that holds many, so that whoever runs one need not decode the others.
#pragma once

#include <string>
#include <string_view>

namespace shiftconv::emulator::ptx {

bool hasKernel(std::string_view ptx, std::string_view kernel);

/// The text of a module without the entries of other kernels and without debug sections; what is left keeps its line numbers.
/// Throws std::invalid_argument when the module has no such kernel.
std::string withOneKernel(std::string_view ptx, std::string_view kernel);

}  // namespace shiftconv::emulator::ptx
