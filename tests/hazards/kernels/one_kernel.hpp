// One kernel of a module that holds many: a test process that runs one need not decode the others.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/emulator/emulator.hpp"

namespace shiftconv::tests {

/// The text of a module without the entries of other kernels and without debug sections; what is left keeps its line numbers.
/// Throws std::invalid_argument when the module has no such kernel.
std::string withOneKernel(std::string_view ptx, std::string_view kernel);

std::shared_ptr<const emulator::LoadedModule> loadOneKernel(emulator::Emulator& machine, std::string_view ptx,
                                                            const std::string& kernel);

}  // namespace shiftconv::tests
