#include "common/emulator/isa/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/isa/decode_context.hpp"
#include "common/emulator/isa/layout.hpp"
#include "common/emulator/isa/refusals.hpp"
#include "common/emulator/isa/refused_forms.hpp"
#include "common/emulator/machine/memory.hpp"

namespace shiftconv::emulator::isa {
namespace {

/// Rows found so far by opcode and modifiers: a module repeats few combinations many times.
class FormCache {
 public:
  FormCache(const FormTable& table, const program::Target& target) : table_(table), target_(target) {}
  struct Entry {
    const Form* form;
    FormMatch match;
    std::string missing;  ///< why the target lacks it; empty: it does not
  };

  const Entry& find(const ptx::Instruction& instruction) {
    key_ = instruction.opcode;
    for (const std::string& modifier : instruction.modifiers) (key_ += '.') += modifier;
    const auto found = entries_.find(key_);
    if (found != entries_.end()) return found->second;
    Entry entry;
    entry.form = table_.find(instruction, entry.match);
    entry.missing = program::missingOn(target_, instruction);
    return entries_.emplace(key_, std::move(entry)).first->second;
  }

 private:
  const FormTable& table_;
  const program::Target& target_;
  std::string key_;
  std::unordered_map<std::string, Entry> entries_;
};

class FunctionDecoder {
 public:
  FunctionDecoder(Program& program, size_t index, FormCache& cache)
      : function_(program.module.functions[index]),
        symbols_(symbolsOf(program, index)),
        program_(program),
        index_(index),
        cache_(cache),
        entries_(function_.body.size()) {}

  void decode(Refusals& errors) {
    CompiledFunction& compiled = program_.functions[index_];
    pass(compiled, 0, errors);
    if (errors.empty()) pass(compiled, static_cast<uint32_t>(compiled.frameImage.size()), errors);
  }

 private:
  void pass(CompiledFunction& compiled, uint32_t constantBytes, Refusals& errors) {
    DecodeContext::Impl impl(program_, index_, symbols_, compiled, constantBytes);
    DecodeContext context(impl);
    compiled.code.assign(function_.body.size(), {});
    for (size_t i = 0; i < function_.body.size(); ++i) {
      const ptx::Instruction& instruction = function_.body[i];
      DecodedInstruction& out = compiled.code[i];
      out.source = &instruction;
      impl.begin(instruction, out);
      try {
        if (entries_[i] == nullptr) entries_[i] = &cache_.find(instruction);
        const FormCache::Entry& entry = *entries_[i];
        if (!entry.missing.empty()) context.illegal(entry.missing);
        if (entry.form == nullptr) context.unsupported(unknownForm(instruction));
        if (!instruction.guard.empty()) {
          out.guard = context.source({.kind = ptx::Operand::Kind::Register, .text = instruction.guard}, ptx::ScalarType::Pred);
          if (!compiled.registerRoles.empty()) compiled.registerRoles.back() = RegisterRole::Guard;
          out.guardNegated = instruction.guardNegated;
        }
        entry.form->decode(context, entry.match);
        if (out.handler == nullptr) context.unsupported("This combination of modifiers has no implementation.");
      } catch (const EmulatorError& error) {
        errors.add(error);
      }
      compiled.registerUseEnd.push_back(static_cast<uint32_t>(compiled.registerUses.size()));
    }
    impl.finish();
  }

  static std::string unknownForm(const ptx::Instruction& instruction) {
    std::string name = instruction.opcode;
    for (const std::string& modifier : instruction.modifiers) (name += '.') += modifier;
    const RefusedForm* refused = findRefusal(instruction);
    return fmt::format("Instruction '{}' is not supported by this machine{}{}.", name, refused == nullptr ? "" : ": ",
                       refused == nullptr ? "" : refused->reason);
  }

  const ptx::Function& function_;
  const SymbolMap symbols_;
  Program& program_;
  const size_t index_;
  FormCache& cache_;
  std::vector<const FormCache::Entry*> entries_;  ///< of each instruction, from the first pass for the second
};

}  // namespace

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

std::shared_ptr<Program> compile(ptx::Module module, uint64_t globalBase, const FormTable& forms) {
  ModuleRefusals refusals;
  auto program = compileUsable(std::move(module), globalBase, forms, refusals);
  if (refusals.all) throw *refusals.all;
  return program;
}

}  // namespace shiftconv::emulator::isa
