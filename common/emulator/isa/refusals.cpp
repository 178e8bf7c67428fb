#include "common/emulator/isa/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/emulator/isa/decoder.hpp"

namespace shiftconv::emulator::isa {
namespace {

/// More reasons than this are counted, not listed.
constexpr size_t kMaximumListed = 20;

/// Which functions a function may call: those that it names, and those whose addresses are in variables that it names.
class CallGraph {
 public:
  explicit CallGraph(const ptx::Module& module) : module_(module) {
    for (size_t i = 0; i < module.functions.size(); ++i)
      if (!module.functions[i].isDeclaration || !functions_.contains(module.functions[i].name))
        functions_[module.functions[i].name] = i;
    for (const ptx::Variable& variable : module.variables) variables_[variable.name] = &variable;
  }

  std::vector<size_t> reachedFrom(size_t first) {
    functionSeen_.assign(module_.functions.size(), false);
    variableSeen_.clear();
    reached_.clear();
    meetFunction(first);
    for (size_t i = 0; i < reached_.size(); ++i) {
      const ptx::Function& function = module_.functions[reached_[i]];
      for (const ptx::Instruction& instruction : function.body)
        for (const ptx::Operand& operand : instruction.operands) meet(operand);
      for (const auto& [label, targets] : function.branchTargets)
        for (const std::string& target : targets) meet(target);
    }
    return reached_;
  }

 private:
  void meet(const ptx::Operand& operand) {
    if (operand.kind == ptx::Operand::Kind::Symbol) meet(operand.text);
    for (const ptx::Operand& element : operand.elements) meet(element);
  }
  void meet(std::string_view name) {
    if (const auto function = functions_.find(name); function != functions_.end()) meetFunction(function->second);
    const auto variable = variables_.find(name);
    if (variable == variables_.end() || variableSeen_[name]) return;
    variableSeen_[name] = true;
    for (const ptx::Relocation& relocation : variable->second->relocations) meet(relocation.symbol);
  }
  void meetFunction(size_t index) {
    if (functionSeen_[index]) return;
    functionSeen_[index] = true;
    reached_.push_back(index);
  }

  const ptx::Module& module_;
  std::unordered_map<std::string_view, size_t> functions_;
  std::unordered_map<std::string_view, const ptx::Variable*> variables_;
  std::vector<bool> functionSeen_;
  std::unordered_map<std::string_view, bool> variableSeen_;
  std::vector<size_t> reached_;
};

}  // namespace

void Refusals::add(const EmulatorError& error) {
  const std::string_view text = error.what();
  const size_t line = std::min(text.find('\n'), text.size());
  add(Reason{error.kind(), std::string(text.substr(0, line)), std::string(text.substr(line)), 1});
}

void Refusals::add(const Refusals& other) {
  for (const Reason& reason : other.reasons_) add(reason);
}

void Refusals::add(const Reason& reason) {
  const auto same =
      std::find_if(reasons_.begin(), reasons_.end(), [&](const Reason& known) { return known.sentence == reason.sentence; });
  if (same == reasons_.end())
    reasons_.push_back(reason);
  else
    same->count += reason.count;
}

EmulatorError Refusals::error(const std::string& what) const {
  size_t instructions = 0, unlisted = 0;
  std::string list;
  for (size_t i = 0; i < reasons_.size(); ++i) {
    const Reason& reason = reasons_[i];
    instructions += reason.count;
    if (i >= kMaximumListed) {
      unlisted += reason.count;
      continue;
    }
    list += fmt::format("{}{}{}", i == 0 ? "" : "\n", reason.sentence, reason.place);
    if (reason.count > 1) list += fmt::format("\n  and {} more like it", reason.count - 1);
  }
  if (instructions == 1) return {reasons_.front().kind, list};
  std::string message = fmt::format("{}: {} instructions cannot be executed.\n{}", what, instructions, list);
  if (unlisted != 0) message += fmt::format("\n... and {} more.", unlisted);
  return {reasons_.front().kind, message};
}

ModuleRefusals refuseKernels(const Program& program, const std::vector<Refusals>& own) {
  ModuleRefusals result;
  Refusals all;
  for (const Refusals& refusals : own) all.add(refusals);
  if (all.empty()) return result;
  result.all = all.error(program.module.name);
  CallGraph graph(program.module);
  for (size_t i = 0; i < program.module.functions.size(); ++i) {
    const ptx::Function& function = program.module.functions[i];
    if (!function.isKernel || function.isDeclaration) continue;
    Refusals reached;
    for (const size_t callee : graph.reachedFrom(i)) reached.add(own[callee]);
    if (!reached.empty()) result.kernels.emplace(function.name, reached.error(fmt::format("kernel {}", function.name)));
  }
  return result;
}

}  // namespace shiftconv::emulator::isa
