#include "common/emulator/isa/decode_helpers.hpp"

#include <fmt/format.h>

#include <string>

namespace shiftconv::emulator::isa {

void expectOperands(DecodeContext& context, size_t least, size_t most) {
  const size_t found = context.instruction().operands.size();
  if (found >= least && found <= most) return;
  const std::string wanted = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  context.illegal(fmt::format("This instruction takes {} operands, but {} are given.", wanted, found));
}

void expectOperands(DecodeContext& context, size_t count) { expectOperands(context, count, count); }

void decodeOperands(DecodeContext& context, machine::Handler handler, ptx::ScalarType destination,
                    std::initializer_list<ptx::ScalarType> sources) {
  expectOperands(context, sources.size() + 1);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  out.handler = handler;
  size_t index = 1;
  for (const ptx::ScalarType type : sources) {
    out.operand[index] = context.source(operands[index], type);
    ++index;
  }
  out.operand[0] = context.destination(operands[0], destination);
}

void decodePredicate(DecodeContext& context, const ptx::Operand& operand, size_t index, unsigned negationBit) {
  bool negated = false;
  context.out().operand[index] = context.predicateSource(operand, negated);
  if (negated) context.out().immediate |= uint64_t{1} << negationBit;
}

}  // namespace shiftconv::emulator::isa
