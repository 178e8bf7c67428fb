// Branches, calls and ends (PTX ISA 9.0, 9.7.12 and 9.7.19).
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/form_parts.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/builtin_functions.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::CompiledFunction;
using isa::DecodeContext;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

void bra(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.state->branch(execution.mask, static_cast<uint32_t>(instruction.immediate));
}

void decodeBra(DecodeContext& context, const FormMatch&) {
  if (context.instruction().operands.size() != 1) context.illegal("bra takes one label");
  context.out().immediate = context.label(context.instruction().operands[0]);
  context.out().handler = bra;
  context.out().endsGroup = true;
}

struct TableDetail final : InstructionDetail {
  std::vector<uint32_t> targets;
};

void brx(Execution& execution, const DecodedInstruction& instruction) {
  const auto& targets = instruction.as<TableDetail>().targets;
  const auto* index = execution.lanes<uint32_t>(instruction.operand[0]);
  for (LaneMask rest = execution.mask; rest != 0;) {
    const uint32_t chosen = index[static_cast<unsigned>(std::countr_zero(rest))];
    LaneMask together = 0;
    forEachLane(rest, [&](unsigned lane) { together |= static_cast<LaneMask>(index[lane] == chosen) << lane; });
    if (chosen >= targets.size())
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("branch index {} is outside the table of {} targets", chosen, targets.size()));
    execution.warp.state->jump(together, targets[chosen]);
    rest &= ~together;
  }
}

void decodeBrx(DecodeContext& context, const FormMatch&) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 2) context.illegal("brx.idx takes an index and a table of labels");
  const auto table = context.function().branchTargets.find(operands[1].text);
  if (table == context.function().branchTargets.end())
    context.illegal(fmt::format("'{}' is not a .branchtargets table", operands[1].text));
  auto detail = std::make_shared<TableDetail>();
  for (const std::string& name : table->second) {
    Operand label;
    label.kind = Operand::Kind::Symbol;
    label.text = name;
    detail->targets.push_back(context.label(label));
  }
  context.out().operand[0] = context.source(operands[0], ScalarType::U32);
  context.out().handler = brx;
  context.out().detail = std::move(detail);
  context.out().endsGroup = true;
}

/// Where one argument or result of a call is at the caller: a register, or a variable in its local area.
struct CallValue {
  Slot slot = kNoSlot;
  uint32_t localOffset = 0;
  uint32_t bytes = 0;
};

struct CallDetail final : InstructionDetail {
  std::vector<CallValue> arguments, results;
  Slot target = kNoSlot;  ///< of an indirect call: function addresses
  uint32_t function = 0;  ///< of a direct call: index
  BuiltinFunction builtin = nullptr;
};

/// Copies a value between the caller's place and the callee's.
void copyValue(Warp& warp, LaneMask lanes, const Activation& caller, const CallValue& value, const Activation& callee,
               Slot calleeSlot, uint32_t calleeOffset, bool intoCallee) {
  LocalStack& locals = warp.state->locals;
  forEachLane(lanes, [&](unsigned lane) {
    const auto at = [&](const Activation& activation, Slot slot, uint32_t offset) {
      if (slot != kNoSlot) return activation.registers + slot + size_t{value.bytes} * lane;
      return locals.access(lane, activation.localBase + offset, value.bytes, 1);
    };
    std::byte* outside = at(caller, value.slot, value.localOffset);
    std::byte* inside = at(callee, calleeSlot, calleeOffset);
    std::memcpy(intoCallee ? inside : outside, intoCallee ? outside : inside, value.bytes);
  });
}

void enter(Execution& execution, const CallDetail& detail, LaneMask lanes, uint32_t functionIndex) {
  Warp::State& state = *execution.warp.state;
  const CompiledFunction& function = execution.warp.cta.cluster.program.functions[functionIndex];
  if (function.source->isDeclaration || function.source->isKernel)
    throw EmulatorError(ErrorKind::Unsupported,
                        fmt::format("call of '{}', which this module only declares", function.source->name));
  if (detail.arguments.size() != function.parameterOffsets.size() || detail.results.size() != function.returnOffsets.size())
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("call of '{}' with {} arguments and {} results; it has {} and {}", function.source->name,
                                    detail.arguments.size(), detail.results.size(), function.parameterOffsets.size(),
                                    function.returnOffsets.size()));
  const Activation& caller = *state.current.activation;
  const Activation& callee = state.call(lanes, function);
  for (size_t i = 0; i < detail.arguments.size(); ++i)
    copyValue(execution.warp, lanes, caller, detail.arguments[i], callee, function.parameterSlots[i], function.parameterOffsets[i],
              true);
}

void callDirect(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<CallDetail>();
  enter(execution, detail, execution.mask, detail.function);
}

void callIndirect(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<CallDetail>();
  const auto* targets = execution.lanes<uint64_t>(detail.target);
  const size_t count = execution.warp.cta.cluster.program.functions.size();
  for (LaneMask rest = execution.mask; rest != 0;) {
    const uint64_t target = targets[static_cast<unsigned>(std::countr_zero(rest))];
    if (target - isa::kFunctionAddressBase >= count)
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("indirect call of 0x{:x}, which is not the address of a function", target));
    LaneMask together = 0;
    forEachLane(rest, [&](unsigned lane) { together |= static_cast<LaneMask>(targets[lane] == target) << lane; });
    enter(execution, detail, together, static_cast<uint32_t>(target - isa::kFunctionAddressBase));
    rest &= ~together;
  }
}

void callBuiltin(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<CallDetail>();
  LocalStack& locals = execution.warp.state->locals;
  const uint32_t base = execution.warp.state->current.activation->localBase;
  forEachLane(execution.mask, [&](unsigned lane) {
    std::vector<uint64_t> arguments;
    for (const CallValue& value : detail.arguments) {
      uint64_t bits = 0;
      std::memcpy(&bits, locals.access(lane, base + value.localOffset, value.bytes, 1), std::min<size_t>(value.bytes, sizeof bits));
      arguments.push_back(bits);
    }
    const uint64_t result = detail.builtin(execution.warp, lane, arguments);
    for (const CallValue& value : detail.results)
      std::memcpy(locals.access(lane, base + value.localOffset, value.bytes, 1), &result,
                  std::min<size_t>(value.bytes, sizeof result));
  });
}

CallValue callValue(DecodeContext& context, const Operand& operand, const ptx::Variable* formal) {
  CallValue value;
  const ScalarType declared = context.declaredType(operand);
  if (operand.kind == Operand::Kind::Symbol) {
    const auto& variables = context.function().variables;
    const auto named = [&](const std::vector<ptx::Variable>& list) -> const ptx::Variable* {
      for (const ptx::Variable& variable : list)
        if (variable.name == operand.text) return &variable;
      return nullptr;
    };
    const ptx::Variable* variable = named(variables);
    if (variable == nullptr && !context.function().isKernel) variable = named(context.function().parameters);
    if (variable == nullptr && !context.function().isKernel) variable = named(context.function().returnParameters);
    if (variable == nullptr) context.illegal(fmt::format("'{}' is no variable that a call can pass", operand.text));
    ptx::StateSpace space = ptx::StateSpace::None;
    value.localOffset = static_cast<uint32_t>(context.symbolAddress(operand.text, space));
    value.bytes = static_cast<uint32_t>(variable->bytes);
  } else if (declared != ScalarType::None) {
    value.slot = context.source(operand, declared);
    value.bytes = static_cast<uint32_t>(ptx::sizeOf(declared));
  } else {
    if (formal == nullptr) context.unsupported("an immediate argument of an indirect call");
    value.slot = context.source(operand, formal->type);
    value.bytes = static_cast<uint32_t>(formal->bytes);
  }
  if (formal != nullptr && formal->bytes != value.bytes)
    context.illegal(
        fmt::format("'{}' has {} bytes, the parameter '{}' has {}", operand.text, value.bytes, formal->name, formal->bytes));
  return value;
}

void decodeCall(DecodeContext& context, const FormMatch&) {
  const auto& operands = context.instruction().operands;
  size_t next = 0;
  const Operand* results = !operands.empty() && operands[0].kind == Operand::Kind::List ? &operands[next++] : nullptr;
  if (next >= operands.size()) context.illegal("call needs a function");
  const Operand& target = operands[next++];
  const Operand* arguments = next < operands.size() && operands[next].kind == Operand::Kind::List ? &operands[next++] : nullptr;

  auto detail = std::make_shared<CallDetail>();
  const ptx::Function* callee = nullptr;
  if (target.kind == Operand::Kind::Symbol) {
    detail->function = context.functionIndex(target.text);
    callee = &context.program().module.functions[detail->function];
  } else {
    detail->target = context.source(target, ScalarType::U64);
  }
  const auto collect = [&](const Operand* list, const std::vector<ptx::Variable>* formals, std::vector<CallValue>& values) {
    const size_t count = list == nullptr ? 0 : list->elements.size();
    if (formals != nullptr && formals->size() != count)
      context.illegal(fmt::format("the call passes {} values where '{}' has {}", count, callee->name, formals->size()));
    for (size_t i = 0; i < count; ++i)
      values.push_back(callValue(context, list->elements[i], formals == nullptr ? nullptr : &(*formals)[i]));
  };
  collect(arguments, callee ? &callee->parameters : nullptr, detail->arguments);
  collect(results, callee ? &callee->returnParameters : nullptr, detail->results);

  context.out().handler = callee ? callDirect : callIndirect;
  if (callee != nullptr && callee->isDeclaration) {
    detail->builtin = findBuiltin(callee->name);
    if (detail->builtin == nullptr) context.unsupported(fmt::format("call of '{}', which this module only declares", callee->name));
    for (const auto* values : {&detail->arguments, &detail->results})
      for (const CallValue& value : *values)
        if (value.slot != kNoSlot) context.unsupported(fmt::format("call of '{}' with arguments in registers", callee->name));
    context.out().handler = callBuiltin;
  }
  context.out().detail = std::move(detail);
  context.out().endsGroup = true;
}

void ret(Execution& execution, const DecodedInstruction&) { returnFromFunction(execution.warp, execution.mask); }
void exitThread(Execution& execution, const DecodedInstruction&) { execution.warp.state->exit(execution.mask); }

void trap(Execution&, const DecodedInstruction&) { throw EmulatorError(ErrorKind::Trap, "the kernel executed trap"); }
void brkpt(Execution&, const DecodedInstruction&) { throw EmulatorError(ErrorKind::Trap, "the kernel executed brkpt"); }

template <Handler kHandler>
void decodeBare(DecodeContext& context, const FormMatch&) {
  if (!context.instruction().operands.empty()) context.illegal("the instruction takes no operands");
  context.out().handler = kHandler;
  context.out().endsGroup = true;
}

}  // namespace

void returnFromFunction(Warp& warp, LaneMask lanes) {
  Warp::State& state = *warp.state;
  const Activation& callee = *state.current.activation;
  if (callee.caller == nullptr) return state.exit(lanes);
  const Activation& caller = *callee.caller;
  const auto& detail = caller.function->code[callee.returnPc - 1].as<CallDetail>();
  for (size_t i = 0; i < detail.results.size(); ++i)
    copyValue(warp, lanes, caller, detail.results[i], callee, callee.function->returnSlots[i], callee.function->returnOffsets[i],
              false);
  state.leave(lanes);
}

isa::FormFamily branchForms() {
  return {
      {"bra{.uni}", decodeBra},         {"brx.idx{.uni}", decodeBrx}, {"call{.uni}", decodeCall},   {"ret{.uni}", decodeBare<ret>},
      {"exit", decodeBare<exitThread>}, {"trap", decodeBare<trap>},   {"brkpt", decodeBare<brkpt>},
  };
}

}  // namespace shiftconv::emulator::machine
