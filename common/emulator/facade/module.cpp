#include "common/emulator/facade/module.hpp"

#include <algorithm>

namespace shiftconv::emu {
namespace {

Target describeTarget(const emulator::program::Target& target) {
  const emulator::program::DeviceLimits& device = *target.device;
  Target result;
  result.name = target.name;
  result.device = device.name;
  result.computeMajor = target.computeMajor;
  result.computeMinor = target.computeMinor;
  result.multiprocessors = device.multiprocessors;
  result.sharedBytesPerMultiprocessor = device.sharedBytesPerMultiprocessor;
  result.sharedBytesPerCta = device.sharedBytesPerCta;
  result.reservedSharedBytesPerCta = emulator::machine::kReservedSharedBytes;
  result.threadsPerMultiprocessor = device.threadsPerMultiprocessor;
  result.ctasPerMultiprocessor = device.ctasPerMultiprocessor;
  result.registersPerMultiprocessor = device.registersPerMultiprocessor;
  result.threadsPerCta = device.threadsPerCta;
  result.ctasPerCluster = device.ctasPerCluster;
  result.l2Bytes = device.l2Bytes;
  result.globalBytes = device.globalBytes;
  return result;
}

std::optional<Dim3> dimensions(const std::optional<std::vector<uint32_t>>& numbers) {
  if (!numbers) return std::nullopt;
  const auto at = [&](size_t i) { return i < numbers->size() ? (*numbers)[i] : 1; };
  return Dim3{at(0), at(1), at(2)};
}

Kernel describeKernel(const emulator::isa::Program& program, const emulator::isa::CompiledFunction& function) {
  const emulator::ptx::Function& source = *function.source;
  Kernel kernel;
  kernel.name = source.name;
  for (const emulator::ptx::Variable& parameter : source.parameters)
    kernel.parameters.push_back({parameter.name, std::string(emulator::ptx::toString(parameter.type)), parameter.bytes,
                                 emulator::ptx::sizeOf(parameter.type), parameter.alignment});
  kernel.staticSharedBytes = program.dynamicSharedOffset(function) - emulator::machine::kReservedSharedBytes;
  kernel.localBytes = function.localBytes;
  kernel.instructions = source.body.size();
  kernel.requiredBlock = dimensions(source.directives.requiredThreads);
  kernel.maximumBlock = dimensions(source.directives.maximumThreads);
  kernel.requiredCluster = dimensions(source.directives.requiredCluster);
  kernel.maximumRegisters = source.directives.maximumRegisters;
  kernel.minimumCtas = source.directives.minimumCtas;
  kernel.explicitCluster = source.directives.explicitCluster;
  return kernel;
}

}  // namespace

std::vector<Target> targets() {
  std::vector<Target> result;
  for (const emulator::program::Target& target : emulator::program::targets()) result.push_back(describeTarget(target));
  return result;
}

std::vector<Target> devices() {
  std::vector<Target> result;
  for (const std::string_view name : emulator::program::deviceNames())
    result.push_back(describeTarget(*emulator::program::findTarget(name)));
  return result;
}

std::shared_ptr<const Module::Impl> describeModule(std::shared_ptr<const emulator::LoadedModule> loaded) {
  auto impl = std::make_shared<Module::Impl>();
  const emulator::isa::Program& program = loaded->program();
  impl->target = describeTarget(*program.target);
  for (const emulator::isa::CompiledFunction& function : program.functions)
    if (function.source->isKernel && !function.source->isDeclaration) {
      impl->kernels.push_back(describeKernel(program, function));
      if (const emulator::EmulatorError* refusal = loaded->refusal(function.source->name))
        impl->kernels.back().refusal = refusal->what();
    }
  for (const emulator::ptx::Variable& variable : program.module.variables)
    if (const auto found = program.globalOffsets.find(variable.name); found != program.globalOffsets.end())
      impl->variables.push_back(
          {variable.name, program.globalBase + found->second, variable.bytes, variable.space == emulator::ptx::StateSpace::Const});
  impl->loaded = std::move(loaded);
  return impl;
}

const std::string& Module::name() const { return impl_->loaded->program().module.name; }
const std::string& Module::ptxVersion() const { return impl_->loaded->program().module.version; }
const Target& Module::target() const { return impl_->target; }
const std::vector<Kernel>& Module::kernels() const { return impl_->kernels; }
const std::vector<Variable>& Module::variables() const { return impl_->variables; }

const Kernel* Module::find(std::string_view kernel) const {
  const auto found =
      std::find_if(impl_->kernels.begin(), impl_->kernels.end(), [&](const Kernel& each) { return each.name == kernel; });
  return found == impl_->kernels.end() ? nullptr : &*found;
}

}  // namespace shiftconv::emu
