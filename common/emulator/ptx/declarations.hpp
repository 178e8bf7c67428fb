// Variables, parameters and initialisers: the declarations that modules and function bodies share.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "common/emulator/ptx/lexer.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::ptx {

/// The state space that `.text` names, if it names one.
std::optional<StateSpace> stateSpace(std::string_view text);

/// The part of a declaration in front of the names: `.align 16 .v4 .b32` in any order, attributes skipped.
struct DeclarationHead {
  StateSpace space = StateSpace::None;
  ScalarType type = ScalarType::None;
  uint32_t alignment = 0;    ///< 0: natural
  uint32_t vectorWidth = 1;  ///< .v2, .v4, .v8
};

/// Parses everything up to the first name; the state space directive has been consumed.
DeclarationHead parseDeclarationHead(Lexer& lexer, StateSpace space);

/// One name with its dimensions and initialiser; the lexer stands at the name.
Variable parseVariable(Lexer& lexer, const DeclarationHead& head, bool isExternal);

/// `( .param .b64 a, .param .align 16 .b8 b[32] )`, empty when no '(' follows.
std::vector<Variable> parseParameterList(Lexer& lexer);

}  // namespace shiftconv::emulator::ptx
