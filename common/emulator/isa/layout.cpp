#include "common/emulator/isa/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/memory.hpp"

namespace shiftconv::emulator::isa {
namespace {

/// A module's variables at most, aligned: more is a damaged program, not a reason to exhaust the host.
constexpr uint64_t kMaximumImageBytes = uint64_t{1} << 32;

using ptx::StateSpace;

uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

bool isGlobalImage(const ptx::Variable& variable) {
  return (variable.space == StateSpace::Global || variable.space == StateSpace::Const) && !variable.isExternal;
}

/// Places `variable` after `end` and returns its offset.
uint64_t place(const ptx::Variable& variable, uint64_t& end) {
  const uint64_t offset = alignUp(end, variable.alignment);
  end = offset + variable.bytes;
  return offset;
}

std::string sharedKey(const ptx::Function& function, std::string_view name) { return fmt::format("{}::{}", function.name, name); }

/// Shared variables of module scope and of .func bodies come first, because any kernel may reach them; those of
/// each kernel follow and overlay those of other kernels.
void layOutShared(Program& program) {
  uint64_t common = 0;
  const auto externAlignment = [&](const ptx::Variable& variable) {
    program.dynamicSharedAlignment = std::max(program.dynamicSharedAlignment, variable.alignment);
  };
  for (const ptx::Variable& variable : program.module.variables) {
    if (variable.space != StateSpace::Shared) continue;
    if (variable.isExternal) {
      externAlignment(variable);
    } else {
      program.sharedOffsets[variable.name] = place(variable, common);
    }
  }
  const auto layOutBody = [&](const ptx::Function& function, uint64_t& end) {
    for (const ptx::Variable& variable : function.variables) {
      if (variable.space != StateSpace::Shared) continue;
      if (variable.isExternal) {
        externAlignment(variable);
      } else {
        program.sharedOffsets[sharedKey(function, variable.name)] = place(variable, end);
      }
    }
  };
  for (const ptx::Function& function : program.module.functions)
    if (!function.isKernel) layOutBody(function, common);
  for (size_t i = 0; i < program.functions.size(); ++i) {
    const ptx::Function& function = program.module.functions[i];
    if (!function.isKernel) continue;
    uint64_t end = common;
    layOutBody(function, end);
    if (end > machine::kSharedOffsetMask)
      throw EmulatorError(ErrorKind::Limit, fmt::format("Kernel '{}' declares {} bytes of shared memory, more than any device has.",
                                                        function.name, end));
    program.functions[i].staticSharedBytes = static_cast<uint32_t>(end);
    program.staticSharedBytes = std::max(program.staticSharedBytes, static_cast<uint32_t>(end));
  }
}

void layOutFunction(const ptx::Function& function, CompiledFunction& compiled) {
  uint64_t block = 0;
  uint64_t local = 0;
  const auto placeAll = [&](const std::vector<ptx::Variable>& variables, uint64_t& end, std::vector<uint32_t>& offsets) {
    for (const ptx::Variable& variable : variables) {
      offsets.push_back(variable.space == StateSpace::Reg ? 0 : static_cast<uint32_t>(place(variable, end)));
      compiled.localAlignment = std::max(compiled.localAlignment, variable.alignment);
    }
  };
  placeAll(function.parameters, function.isKernel ? block : local, compiled.parameterOffsets);
  placeAll(function.returnParameters, local, compiled.returnOffsets);
  for (const ptx::Variable& variable : function.variables) {
    if (variable.space != StateSpace::Local && variable.space != StateSpace::Param) continue;
    place(variable, local);
    compiled.localAlignment = std::max(compiled.localAlignment, variable.alignment);
  }
  compiled.parameterBytes = static_cast<uint32_t>(block);
  compiled.localBytes = static_cast<uint32_t>(alignUp(local, compiled.localAlignment));
}

void relocate(Program& program) {
  const ptx::Module& module = program.module;
  for (const ptx::Variable& variable : module.variables) {
    if (!isGlobalImage(variable)) continue;
    std::byte* bytes = program.globalImage.data() + program.globalOffsets.at(variable.name);
    if (!variable.initialiser.empty()) std::memcpy(bytes, variable.initialiser.data(), variable.initialiser.size());
    for (const ptx::Relocation& relocation : variable.relocations) {
      uint64_t address = static_cast<uint64_t>(relocation.addend);
      if (const auto found = program.globalOffsets.find(relocation.symbol); found != program.globalOffsets.end()) {
        address += program.globalBase + found->second;
      } else {
        const ptx::Function* function = module.find(relocation.symbol);
        if (function == nullptr || function->isDeclaration)
          throw EmulatorError(
              ErrorKind::Unsupported,
              fmt::format("{}:{}: the initialiser of '{}' takes the address of '{}', which this module does not define.",
                          module.name, variable.location.ptxLine, variable.name, relocation.symbol));
        address += kFunctionAddressBase + static_cast<uint64_t>(function - module.functions.data());
      }
      const uint64_t value = (address & relocation.mask) >> (relocation.mask == 0 ? 0 : std::countr_zero(relocation.mask));
      std::memcpy(bytes + relocation.offset, &value, std::min<size_t>(relocation.bytes, sizeof value));
    }
  }
}

}  // namespace

uint64_t globalImageBytes(const ptx::Module& module) {
  uint64_t end = 0;
  for (const ptx::Variable& variable : module.variables)
    if (isGlobalImage(variable)) place(variable, end);
  return end;
}

void layOut(Program& program) {
  uint64_t end = 0;
  for (const ptx::Variable& variable : program.module.variables) {
    if (!isGlobalImage(variable)) continue;
    program.globalOffsets[variable.name] = place(variable, end);
    program.globalAlignment = std::max(program.globalAlignment, variable.alignment);
  }
  if (end > kMaximumImageBytes)
    throw EmulatorError(ErrorKind::Unsupported, fmt::format("{}: the module's variables take {} bytes; the limit is {}.",
                                                            program.module.name, end, kMaximumImageBytes));
  program.globalImage.resize(end);
  relocate(program);
  layOutShared(program);
  for (size_t i = 0; i < program.functions.size(); ++i) layOutFunction(program.module.functions[i], program.functions[i]);
}

SymbolMap symbolsOf(const Program& program, size_t index) {
  const ptx::Module& module = program.module;
  const ptx::Function& function = module.functions[index];
  SymbolMap symbols;
  uint64_t local = 0;
  const auto placeParameters = [&](const std::vector<ptx::Variable>& variables, const std::vector<uint32_t>& offsets,
                                   StateSpace space) {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (variables[i].space == StateSpace::Reg) continue;
      symbols[variables[i].name] = {space, offsets[i]};
      if (space == StateSpace::Local) local = std::max(local, offsets[i] + variables[i].bytes);
    }
  };
  const CompiledFunction& compiled = program.functions[index];
  placeParameters(function.parameters, compiled.parameterOffsets, function.isKernel ? StateSpace::Param : StateSpace::Local);
  placeParameters(function.returnParameters, compiled.returnOffsets, StateSpace::Local);
  const auto shared = [&](const ptx::Variable& variable, const std::string& key) -> SymbolPlace {
    if (variable.isExternal) return {StateSpace::Shared, 0, true};
    return {StateSpace::Shared, machine::kReservedSharedBytes + program.sharedOffsets.at(key)};
  };
  for (const ptx::Variable& variable : function.variables) {
    if (variable.space == StateSpace::Shared) {
      symbols[variable.name] = shared(variable, sharedKey(function, variable.name));
    } else if (variable.space == StateSpace::Local || variable.space == StateSpace::Param) {
      symbols[variable.name] = {StateSpace::Local, place(variable, local)};
    }
  }
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == StateSpace::Shared) {
      symbols.emplace(variable.name, shared(variable, variable.name));
    } else if (isGlobalImage(variable)) {
      symbols.emplace(variable.name, SymbolPlace{variable.space, program.globalBase + program.globalOffsets.at(variable.name)});
    }
  }
  for (size_t i = 0; i < module.functions.size(); ++i) {
    if (!module.functions[i].isDeclaration)
      symbols.emplace(module.functions[i].name, SymbolPlace{StateSpace::None, kFunctionAddressBase + i});
  }
  return symbols;
}

void addGridWorkspace(ptx::Module& module) {
  const auto readsAddress = [](const ptx::Operand& operand) { return operand.text == "%envreg1" || operand.text == "%envreg2"; };
  const auto needs = [&](const ptx::Function& function) {
    return std::any_of(function.body.begin(), function.body.end(), [&](const ptx::Instruction& instruction) {
      return std::any_of(instruction.operands.begin(), instruction.operands.end(), readsAddress);
    });
  };
  if (std::none_of(module.functions.begin(), module.functions.end(), needs)) return;
  const std::array<uint32_t, 2> content{8, 0};  // its size, and the barrier
  ptx::Variable workspace;
  workspace.name = kGridWorkspace;
  workspace.space = StateSpace::Global;
  workspace.type = ptx::ScalarType::B8;
  workspace.alignment = 8;
  workspace.bytes = sizeof content;
  workspace.initialiser.resize(sizeof content);
  std::memcpy(workspace.initialiser.data(), content.data(), sizeof content);
  module.variables.push_back(std::move(workspace));
}

}  // namespace shiftconv::emulator::isa
