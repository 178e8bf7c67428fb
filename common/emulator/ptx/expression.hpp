// Integer constant expressions (PTX ISA 9.0, 4.5.5): evaluated in 64-bit two's complement.
#pragma once

#include <cstdint>

#include "common/emulator/ptx/lexer.hpp"

namespace shiftconv::emulator::ptx {

/// Parses an expression of integer literals, parentheses and the operators of C; casts (.s64) and (.u64) are accepted.
uint64_t parseIntegerExpression(Lexer& lexer);

}  // namespace shiftconv::emulator::ptx
