#include "common/emulator/program/program.hpp"

namespace shiftconv::emulator::program {

const CompiledFunction* Program::kernel(std::string_view name) const {
  const ptx::Function* function = module.find(name);
  if (function == nullptr || !function->isKernel || function->isDeclaration) return nullptr;
  return &functions[static_cast<size_t>(function - module.functions.data())];
}

uint32_t Program::dynamicSharedOffset(const CompiledFunction& kernel) const {
  const uint32_t end = kReservedSharedBytes + kernel.staticSharedBytes;
  return (end + dynamicSharedAlignment - 1) / dynamicSharedAlignment * dynamicSharedAlignment;
}

}  // namespace shiftconv::emulator::program
