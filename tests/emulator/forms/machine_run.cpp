#include "tests/emulator/forms/machine_run.hpp"

#include <algorithm>
#include <stdexcept>

#include "common/emulator/instruction_set.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::tests {

std::string_view formStarting(std::string_view prefix) {
  std::string_view best;
  for (const emulator::isa::Form& form : emulator::instructionSet().forms())
    if (form.syntax.starts_with(prefix) && (best.empty() || form.syntax.size() < best.size())) best = form.syntax;
  if (best.empty()) throw std::logic_error(fmt::format("no form starts with {}", prefix));
  return best;
}

std::string_view formOf(std::string_view text) {
  emulator::ptx::Instruction instruction;
  instruction.opcode = text.substr(0, text.find('.'));
  std::string_view rest = text.substr(instruction.opcode.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view modifier = rest.substr(0, rest.find('.'));
    instruction.modifiers.emplace_back(modifier);
    rest.remove_prefix(modifier.size());
  }
  emulator::isa::FormMatch match;
  const emulator::isa::Form* form = emulator::instructionSet().find(instruction, match);
  if (form == nullptr) throw std::logic_error(fmt::format("no form for {}", text));
  return form->syntax;
}

std::vector<uint32_t> runModule(FormRun& run, const std::string& ptx, const LaunchConfig& config, size_t words,
                                const std::vector<uint32_t>& initial, const Options& options) {
  const DeviceWords out(run.emulator(), words);
  std::copy(initial.begin(), initial.end(), reinterpret_cast<uint32_t*>(out.address()));
  const void* arguments[] = {out.argument()};
  run.module(ptx, "k", config, arguments, options);
  return out.read();
}

std::string kernel(std::string_view body, std::string_view moduleScope) {
  return fmt::format(R"({}
.visible .entry k(.param .u64 out) {{
  .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %fd<20>; .reg .b128 %q<4>;
  mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;
  {}
  ret;
}}
)",
                     moduleScope, body);
}

void expectRefused(FormRun& run, const std::string& body, std::string_view part, const std::string& moduleScope,
                   const LaunchConfig& config) {
  const std::string message = run.error([&] { runModule(run, kernel(body, moduleScope), config, 64); });
  EXPECT_NE(message.find(part), std::string::npos) << "in: " << message << "\nof: " << body;
}

}  // namespace shiftconv::tests
