// One kernel of a module that holds many, ready to be launched.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/emulator/emulator.hpp"
#include "common/emulator/ptx/one_kernel.hpp"

namespace shiftconv::tests {

inline std::shared_ptr<const emulator::LoadedModule> loadOneKernel(emulator::Emulator& machine, std::string_view ptx,
                                                                   const std::string& kernel) {
  return machine.load(emulator::ptx::withOneKernel(ptx, kernel), kernel);
}

}  // namespace shiftconv::tests
