#include "examples/ptxrun/listing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/emulator/machine/memory.hpp"

namespace ptxrun {
namespace {

using namespace shiftconv::emulator;

std::string describeParameter(const ptx::Variable& parameter) {
  const size_t element = ptx::sizeOf(parameter.type);
  const std::string type = fmt::format(".{}", ptx::toString(parameter.type));
  if (parameter.bytes == element) return fmt::format("{:<6} {:>5} bytes", type, parameter.bytes);
  return fmt::format("{:<6} {:>5} bytes, aligned to {}{}", type, parameter.bytes, parameter.alignment,
                     parameter.bytes == 128 && parameter.alignment >= 64 ? " (tensor map?)" : "");
}

std::string describeDirectives(const ptx::PerformanceDirectives& directives) {
  std::string text;
  const auto add = [&](const char* name, const auto& value) {
    if (value) text += fmt::format("  {} {}\n", name, fmt::join(*value, ","));
  };
  const auto addNumber = [&](const char* name, const auto& value) {
    if (value) text += fmt::format("  {} {}\n", name, *value);
  };
  add(".reqntid", directives.requiredThreads);
  add(".maxntid", directives.maximumThreads);
  add(".reqnctapercluster", directives.requiredCluster);
  addNumber(".maxnreg", directives.maximumRegisters);
  addNumber(".minnctapersm", directives.minimumCtas);
  if (directives.explicitCluster) text += "  .explicitcluster\n";
  return text;
}

}  // namespace

std::string listKernels(const isa::Program& program) {
  std::string text = fmt::format("{}: PTX {} for {}\n", program.module.name, program.module.version, program.module.target);
  for (const auto& function : program.functions) {
    const ptx::Function& source = *function.source;
    if (!source.isKernel || source.isDeclaration) continue;
    text += fmt::format("\nkernel {}\n", source.name);
    for (size_t i = 0; i < source.parameters.size(); ++i)
      text += fmt::format("  --arg {:<2} {}  {}\n", i, describeParameter(source.parameters[i]), source.parameters[i].name);
    const uint32_t shared = program.dynamicSharedOffset(function) - machine::kReservedSharedBytes;
    if (shared != 0) text += fmt::format("  static shared memory: {} bytes\n", shared);
    text += describeDirectives(source.directives);
    text += fmt::format("  {} instructions\n", source.body.size());
  }
  return text;
}

}  // namespace ptxrun
