#include "common/emulator/isa/decode_context.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

namespace shiftconv::emulator::isa {

using machine::kWarpLanes;
using ptx::Operand;
using ptx::ScalarType;
using ptx::StateSpace;

namespace {

/// Slots start on cache lines, so that lane loops run on aligned vectors.
constexpr uint32_t kSlotAlignment = 64;

uint32_t slotBytes(size_t laneBytes) {
  return static_cast<uint32_t>((laneBytes * kWarpLanes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment);
}

bool isFloat(ScalarType type) {
  return type == ScalarType::F16 || type == ScalarType::F16x2 || type == ScalarType::BF16 || type == ScalarType::BF16x2 ||
         type == ScalarType::F32 || type == ScalarType::F64;
}

}  // namespace

DecodeContext::Impl::Impl(const Program& owner, size_t index, const SymbolMap& visible, CompiledFunction& target,
                          uint32_t constantBytes)
    : program(owner),
      function(owner.module.functions[index]),
      functionIndex(index),
      symbols(visible),
      compiled(target),
      frameEnd(constantBytes) {
  registers.reserve(function.registers.size());
  for (const ptx::RegisterDeclaration& declaration : function.registers)
    registers.emplace(declaration.name, Register{declaration.type});
  compiled.frameImage.clear();
  compiled.specials.clear();
  compiled.registerUses.clear();
  compiled.registerRoles.clear();
  compiled.registerUseEnd.clear();
}

void DecodeContext::Impl::begin(const ptx::Instruction& next, DecodedInstruction& decoded) {
  instruction = &next;
  out = &decoded;
  scratchUsed.clear();
}

Slot DecodeContext::Impl::allocate(size_t laneBytes) {
  const Slot slot = frameEnd;
  frameEnd += slotBytes(laneBytes);
  return slot;
}

Slot DecodeContext::Impl::allocatePredicate() {
  if (predicatesLeft == 0) {
    predicateArea = frameEnd;
    predicatesLeft = kSlotAlignment / sizeof(machine::LaneMask);
    frameEnd += kSlotAlignment;
  }
  --predicatesLeft;
  return std::exchange(predicateArea, predicateArea + sizeof(machine::LaneMask));
}

Slot DecodeContext::Impl::registerSlot(Register& entry, RegisterRole role) {
  if (entry.slot == machine::kNoSlot)
    entry.slot = entry.type == ScalarType::Pred ? allocatePredicate() : allocate(sizeOf(entry.type));
  compiled.registerUses.push_back(entry.slot);
  compiled.registerRoles.push_back(role);
  return entry.slot;
}

Slot DecodeContext::Impl::scratch(size_t laneBytes) {
  std::vector<Slot>& slots = scratchSlots[laneBytes];
  size_t& used = scratchUsed[laneBytes];
  if (used == slots.size()) slots.push_back(laneBytes == 0 ? allocatePredicate() : allocate(laneBytes));
  return slots[used++];
}

Slot DecodeContext::Impl::constant(uint64_t bits, size_t bytes) {
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  const auto [entry, isNew] = constants.emplace(std::pair{bits, bytes}, 0);
  if (isNew) {
    entry->second = static_cast<Slot>(compiled.frameImage.size());
    compiled.frameImage.resize(compiled.frameImage.size() + slotBytes(bytes));
    for (unsigned lane = 0; lane < kWarpLanes; ++lane)
      std::memcpy(compiled.frameImage.data() + entry->second + lane * bytes, &bits, std::min(bytes, sizeof bits));
  }
  return entry->second;
}

Slot DecodeContext::Impl::predicateConstant(bool value) {
  // Both values share one slot of four bytes each in the constant area.
  const auto [entry, isNew] = constants.emplace(std::pair{uint64_t{value}, size_t{0}}, 0);
  if (isNew) {
    entry->second = static_cast<Slot>(compiled.frameImage.size());
    compiled.frameImage.resize(compiled.frameImage.size() + kSlotAlignment);
    const machine::LaneMask mask = value ? machine::kAllLanes : 0;
    std::memcpy(compiled.frameImage.data() + entry->second, &mask, sizeof mask);
  }
  return entry->second;
}

Slot DecodeContext::Impl::special(SpecialRegister which, uint8_t bytes, uint64_t addend) {
  const auto [entry, isNew] = specials.emplace(std::tuple{which, bytes, addend}, 0);
  if (isNew) {
    entry->second = bytes == 0 ? allocatePredicate() : allocate(bytes);
    compiled.specials.push_back({which, entry->second, bytes, addend});
  }
  return entry->second;
}

void DecodeContext::Impl::finish() {
  const auto slotsOf = [&](const std::vector<ptx::Variable>& variables) {
    std::vector<Slot> slots;
    for (const ptx::Variable& variable : variables)
      slots.push_back(variable.space == StateSpace::Reg ? registerSlot(registers.at(variable.name)) : machine::kNoSlot);
    return slots;
  };
  compiled.parameterSlots = slotsOf(function.parameters);
  compiled.returnSlots = slotsOf(function.returnParameters);
  compiled.frameBytes = (frameEnd + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

std::string describeInstruction(const ptx::Module& module, const ptx::Function& function, const ptx::Instruction& instruction) {
  std::string source;
  if (instruction.location.sourceLine != 0) {
    const auto file = module.files.find(instruction.location.sourceFile);
    source = fmt::format(", source {}:{}", file == module.files.end() ? "?" : file->second, instruction.location.sourceLine);
  }
  return fmt::format("  at {}:{}{}, in {} '{}'\n  instruction: {}", module.name, instruction.location.ptxLine, source,
                     function.isKernel ? "kernel" : "function", function.name, instruction.text);
}

void DecodeContext::Impl::fail(ErrorKind kind, const std::string& why) const {
  throw EmulatorError(kind, fmt::format("{}\n{}", why, describeInstruction(program.module, function, *instruction)));
}

const ptx::Instruction& DecodeContext::instruction() const { return *impl_.instruction; }
DecodedInstruction& DecodeContext::out() { return *impl_.out; }
const Program& DecodeContext::program() const { return impl_.program; }
const ptx::Function& DecodeContext::function() const { return impl_.function; }

void DecodeContext::illegal(const std::string& why) const { impl_.fail(ErrorKind::IllegalInstruction, why); }
void DecodeContext::unsupported(const std::string& why) const { impl_.fail(ErrorKind::Unsupported, why); }

Slot DecodeContext::constant(uint64_t bits, ScalarType type) {
  if (type == ScalarType::Pred) return impl_.predicateConstant(bits != 0);
  return impl_.constant(bits, sizeOf(type));
}

Slot DecodeContext::scratch(ScalarType type) { return impl_.scratch(sizeOf(type)); }

Slot DecodeContext::carryFlag() {
  if (impl_.carryFlag == machine::kNoSlot) impl_.carryFlag = impl_.allocatePredicate();
  return impl_.carryFlag;
}

Slot DecodeContext::source(const Operand& operand, ScalarType type) {
  const size_t bytes = sizeOf(type);
  switch (operand.kind) {
    case Operand::Kind::Register: {
      if (operand.negated) illegal(fmt::format("Operand '-{}': a register cannot be negated in an operand.", operand.text));
      if (const auto found = impl_.registers.find(operand.text); found != impl_.registers.end()) {
        const ScalarType declared = found->second.type;
        if ((declared == ScalarType::Pred) != (type == ScalarType::Pred) || sizeOf(declared) != bytes)
          illegal(fmt::format("Register {} is .{}, but the instruction reads a .{} here.", operand.text, toString(declared),
                              toString(type)));
        return impl_.registerSlot(found->second);
      }
      if (const SpecialName* special = findSpecial(operand.text)) {
        // 16-bit reads of %tid and friends and 32-bit reads of %gridid are the old forms, which ptxas still takes.
        const bool narrow = special->type == ScalarType::U64 ? bytes == 4 : special->type == ScalarType::U32 && bytes == 2;
        if (bytes != sizeOf(special->type) && !narrow)
          illegal(fmt::format("Special register {} is .{}, but the instruction reads a .{} here.", operand.text,
                              toString(special->type), toString(type)));
        return impl_.special(special->which, static_cast<uint8_t>(bytes));
      }
      if (const auto fixed = fixedSpecial(program(), operand.text)) return constant(fixed->value, type);
      illegal(fmt::format("Register '{}' is not declared, and is no special register this machine has.", operand.text));
    }
    case Operand::Kind::Integer:
      if (isFloat(type))
        illegal(fmt::format("A .{} operand needs a floating-point literal or a register, not an integer.", toString(type)));
      return constant(operand.integer, type);
    case Operand::Kind::Float: {
      const bool single = operand.type == ScalarType::F32;
      if (bytes == 4 && single && type != ScalarType::F16x2 && type != ScalarType::BF16x2) return constant(operand.bits, type);
      if (type == ScalarType::F32)
        return constant(std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits))), type);
      if (bytes == 8 && !single) return constant(operand.bits, type);
      if (type == ScalarType::F64)
        return constant(std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(operand.bits)))),
                        type);
      illegal(fmt::format("A floating-point literal does not fit a .{} operand.", toString(type)));
    }
    case Operand::Kind::Symbol: {
      if (bytes != 8 && bytes != 4)
        illegal(fmt::format("The address of '{}' does not fit a .{} operand.", operand.text, toString(type)));
      const auto found = impl_.symbols.find(operand.text);
      if (found == impl_.symbols.end())
        illegal(fmt::format("'{}' is not declared, or is external and this module does not define it.", operand.text));
      const SymbolPlace& symbol = found->second;
      const uint64_t address = symbol.address + static_cast<uint64_t>(operand.offset);
      const auto width = static_cast<uint8_t>(bytes);
      if (symbol.isDynamicShared) return impl_.special(SpecialRegister::DynamicSharedBase, width, address);
      if (symbol.space == StateSpace::Shared) return impl_.special(SpecialRegister::SharedBase, width, address);
      if (symbol.space == StateSpace::Local) return impl_.special(SpecialRegister::LocalBase, width, address);
      if (bytes == 4 && symbol.space != StateSpace::Param)
        illegal(fmt::format("The address of '{}' has 64 bits and does not fit a .{} operand.", operand.text, toString(type)));
      return constant(address, type);
    }
    default:
      illegal(fmt::format("A single .{} value is expected as operand here.", toString(type)));
  }
}

Slot DecodeContext::destination(const Operand& operand, ScalarType type) {
  if (operand.kind == Operand::Kind::Sink) return scratch(type);
  if (operand.kind != Operand::Kind::Register) illegal("The destination must be a register or '_'.");
  const auto found = impl_.registers.find(operand.text);
  if (found == impl_.registers.end()) illegal(fmt::format("Destination '{}' is not a declared register.", operand.text));
  const ScalarType declared = found->second.type;
  if ((declared == ScalarType::Pred) != (type == ScalarType::Pred) || sizeOf(declared) != sizeOf(type))
    illegal(fmt::format("Register {} is .{}, but the instruction writes a .{} here.", operand.text, toString(declared),
                        toString(type)));
  return impl_.registerSlot(found->second, RegisterRole::Destination);
}

ScalarType DecodeContext::declaredType(const Operand& operand) const {
  if (operand.kind != Operand::Kind::Register) return ScalarType::None;
  if (const auto found = impl_.registers.find(operand.text); found != impl_.registers.end()) return found->second.type;
  if (const SpecialName* special = findSpecial(operand.text)) return special->type;
  if (const auto fixed = fixedSpecial(program(), operand.text)) return fixed->type;
  return ScalarType::None;
}

Slot DecodeContext::predicateSource(const Operand& operand, bool& negated) {
  negated = operand.negated;
  if (operand.kind == Operand::Kind::Register && negated) {
    Operand plain = operand;
    plain.negated = false;
    return source(plain, ScalarType::Pred);
  }
  return source(operand, ScalarType::Pred);
}

Slot DecodeContext::predicateDestination(const Operand& operand) { return destination(operand, ScalarType::Pred); }

DecodeContext::Address DecodeContext::address(const Operand& operand) {
  if (operand.kind != Operand::Kind::Address || operand.elements.empty())
    illegal("An address in brackets is expected as operand here.");
  const Operand& base = operand.elements.front();
  Address result{.offset = operand.offset};
  switch (base.kind) {
    case Operand::Kind::Integer:
      result.offset += static_cast<int64_t>(base.integer);
      return result;
    case Operand::Kind::Register: {
      const ScalarType declared = declaredType(base);
      if (sizeOf(declared) != 4 && sizeOf(declared) != 8)
        illegal(fmt::format("Register {} cannot hold an address: it must have 32 or 64 bits.", base.text));
      result.base32 = sizeOf(declared) == 4;
      const size_t uses = impl_.compiled.registerUses.size();
      result.base = source(base, declared);
      if (impl_.compiled.registerUses.size() != uses) impl_.compiled.registerRoles.back() = RegisterRole::Address;
      return result;
    }
    case Operand::Kind::Symbol: {
      const auto found = impl_.symbols.find(base.text);
      if (found == impl_.symbols.end())
        illegal(fmt::format("'{}' is not declared, or is external and this module does not define it.", base.text));
      const SymbolPlace& symbol = found->second;
      result.symbolSpace = symbol.space;
      result.offset += static_cast<int64_t>(symbol.address);
      if (symbol.space == StateSpace::Shared) {
        result.base = impl_.special(symbol.isDynamicShared ? SpecialRegister::DynamicSharedBase : SpecialRegister::SharedBase, 4);
        result.base32 = true;
      } else if (symbol.space == StateSpace::Local) {
        result.base = impl_.special(SpecialRegister::LocalBase, 8);
      } else if (symbol.space == StateSpace::None) {
        illegal(fmt::format("'{}' is a function and holds no data.", base.text));
      }
      return result;
    }
    default:
      illegal("The base of an address must be a register, a variable or an integer.");
  }
}

uint64_t DecodeContext::symbolAddress(std::string_view name, StateSpace& space) const {
  const auto found = impl_.symbols.find(name);
  if (found == impl_.symbols.end())
    illegal(fmt::format("'{}' is not declared, or is external and this module does not define it.", name));
  if (found->second.isDynamicShared)
    illegal(fmt::format("The address of dynamic shared memory '{}' is not known before the launch.", name));
  space = found->second.space;
  return found->second.address;
}

uint32_t DecodeContext::label(const Operand& operand) const {
  if (operand.kind != Operand::Kind::Symbol) illegal("A label is expected as operand here.");
  const auto found = impl_.function.labels.find(operand.text);
  if (found == impl_.function.labels.end())
    illegal(fmt::format("Label '{}' is not defined in function '{}'.", operand.text, impl_.function.name));
  return found->second;
}

uint32_t DecodeContext::functionIndex(std::string_view name) const {
  const ptx::Function* function = impl_.program.module.find(name);
  if (function == nullptr) illegal(fmt::format("Function '{}' is not declared in this module.", name));
  return static_cast<uint32_t>(function - impl_.program.module.functions.data());
}

uint64_t DecodeContext::integer(const Operand& operand) const {
  if (operand.kind != Operand::Kind::Integer) illegal("An integer constant is expected as operand here.");
  return operand.integer;
}

}  // namespace shiftconv::emulator::isa
