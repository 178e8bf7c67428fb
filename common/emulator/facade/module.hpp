// What the handles of the library's public header hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"
#include "common/emulator/include/shiftconv/emulator.hpp"

namespace shiftconv::emu {

struct Module::Impl {
  std::shared_ptr<const emulator::LoadedModule> loaded;
  Target target;
  std::vector<Kernel> kernels;
  std::vector<Variable> variables;
};

/// Everything that the public header tells about a loaded module.
std::shared_ptr<const Module::Impl> describeModule(std::shared_ptr<const emulator::LoadedModule> loaded);

}  // namespace shiftconv::emu
