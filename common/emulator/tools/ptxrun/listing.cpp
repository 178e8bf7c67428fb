#include "common/emulator/tools/ptxrun/listing.hpp"

#include <fmt/format.h>

#include "common/emulator/tools/ptxrun/kernel_name.hpp"

namespace ptxrun {
namespace {

using namespace shiftconv::emu;

std::string describeParameter(const Parameter& parameter) {
  const std::string type = fmt::format(".{}", parameter.type);
  if (parameter.bytes == parameter.typeBytes) return fmt::format("{:<6} {:>5} bytes", type, parameter.bytes);
  return fmt::format("{:<6} {:>5} bytes, aligned to {}{}", type, parameter.bytes, parameter.alignment,
                     parameter.bytes == sizeof(TensorMapImage) && parameter.alignment >= 64 ? " (tensor map?)" : "");
}

std::string describeDirectives(const Kernel& kernel) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Dim3>& value) {
    if (value) text += fmt::format("  {} {},{},{}\n", name, value->x, value->y, value->z);
  };
  const auto addNumber = [&](const char* name, const std::optional<uint32_t>& value) {
    if (value) text += fmt::format("  {} {}\n", name, *value);
  };
  add(".reqntid", kernel.requiredBlock);
  add(".maxntid", kernel.maximumBlock);
  add(".reqnctapercluster", kernel.requiredCluster);
  addNumber(".maxnreg", kernel.maximumRegisters);
  addNumber(".minnctapersm", kernel.minimumCtas);
  if (kernel.explicitCluster) text += "  .explicitcluster\n";
  return text;
}

}  // namespace

std::string listKernels(const Module& module) {
  std::string text = fmt::format("{}: PTX {} for {}\n", module.name(), module.ptxVersion(), module.target().name);
  for (const Kernel& kernel : module.kernels()) {
    text += fmt::format("\nkernel {}\n", kernel.name);
    if (const std::string name = demangled(kernel.name); name != kernel.name) text += fmt::format("  {}\n", name);
    if (!kernel.refusal.empty()) text += fmt::format("  cannot be launched: {}\n", kernel.refusal);
    for (size_t i = 0; i < kernel.parameters.size(); ++i)
      text += fmt::format("  --arg {:<2} {}  {}\n", i, describeParameter(kernel.parameters[i]), kernel.parameters[i].name);
    if (kernel.staticSharedBytes != 0) text += fmt::format("  static shared memory: {} bytes\n", kernel.staticSharedBytes);
    text += describeDirectives(kernel);
    text += fmt::format("  {} instructions\n", kernel.instructions);
  }
  return text;
}

}  // namespace ptxrun
