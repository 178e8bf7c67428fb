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

std::shared_ptr<Program> compileUsable(ptx::Module module, uint64_t globalBase, const FormTable& forms, ModuleRefusals& refusals) {
  auto program = std::make_shared<Program>();
  program->module = std::move(module);
  program->target = &program::targetOf(program->module);
  program->globalBase = globalBase;
  program->functions.resize(program->module.functions.size());
  layOut(*program);
  FormCache cache(forms, *program->target);
  std::vector<Refusals> own(program->functions.size());
  for (size_t i = 0; i < program->functions.size(); ++i) {
    program->functions[i].source = &program->module.functions[i];
    FunctionDecoder(*program, i, cache).decode(own[i]);
  }
  refusals = refuseKernels(*program, own);
  const auto isUsable = [&](const ptx::Function& function) {
    return function.isKernel && !function.isDeclaration && !refusals.kernels.contains(function.name);
  };
  const auto& functions = program->module.functions;
  if (refusals.all && std::none_of(functions.begin(), functions.end(), isUsable)) throw *refusals.all;
  return program;
}

}  // namespace shiftconv::emulator::program
