// Steps that the decode functions of many scalar forms share.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::isa {

/// Refuses an instruction that does not have `least` to `most` operands.
void expectOperands(DecodeContext& context, size_t least, size_t most);
/// Refuses an instruction that does not have `count` operands.
void expectOperands(DecodeContext& context, size_t count);
/// Handler, destination (operand 0) and sources (operands 1...) of the given types; refuses another number of operands.
void decodeOperands(DecodeContext& context, machine::Handler handler, ptx::ScalarType destination,
                    std::initializer_list<ptx::ScalarType> sources);
/// A predicate source in operand slot `index`; a negation sets bit `negationBit` of `immediate`.
void decodePredicate(DecodeContext& context, const ptx::Operand& operand, size_t index, unsigned negationBit);

/// Calls make.operator()<T>() with the C++ type of an integer (or bit) type and returns its handler.
template <class Make>
machine::Handler forInteger(DecodeContext& context, ptx::ScalarType type, Make make) {
  using ptx::ScalarType;
  switch (type) {
    case ScalarType::U16:
    case ScalarType::B16:
      return make.template operator()<uint16_t>();
    case ScalarType::S16:
      return make.template operator()<int16_t>();
    case ScalarType::U32:
    case ScalarType::B32:
      return make.template operator()<uint32_t>();
    case ScalarType::S32:
      return make.template operator()<int32_t>();
    case ScalarType::U64:
    case ScalarType::B64:
      return make.template operator()<uint64_t>();
    case ScalarType::S64:
      return make.template operator()<int64_t>();
    default:
      context.illegal("This instruction works on integers of 16, 32 or 64 bits.");
  }
}

/// As forInteger, for the types of 32 and 64 bits only.
template <class Make>
machine::Handler forWideInteger(DecodeContext& context, ptx::ScalarType type, Make make) {
  using ptx::ScalarType;
  switch (type) {
    case ScalarType::U32:
    case ScalarType::B32:
      return make.template operator()<uint32_t>();
    case ScalarType::S32:
      return make.template operator()<int32_t>();
    case ScalarType::U64:
    case ScalarType::B64:
      return make.template operator()<uint64_t>();
    case ScalarType::S64:
      return make.template operator()<int64_t>();
    default:
      context.illegal("This instruction works on integers of 32 or 64 bits.");
  }
}

}  // namespace shiftconv::emulator::isa
