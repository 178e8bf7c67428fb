// Operands of instructions (PTX ISA 9.0, chapter 6).
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "common/emulator/ptx/expression.hpp"
#include "common/emulator/ptx/function_parser.hpp"

namespace shiftconv::emulator::ptx {

Operand FunctionParser::parseOperand() {
  Operand first = parsePrimary();
  if (!lexer_.peek().is("|")) return first;
  if (first.kind != Operand::Kind::Register && first.kind != Operand::Kind::Sink) lexer_.fail(lexer_.peek(), "',' or ';'");
  lexer_.next();
  Operand dual{.kind = Operand::Kind::Dual};
  dual.elements.push_back(std::move(first));
  dual.elements.push_back(parsePrimary());
  return dual;
}

Operand FunctionParser::parsePrimary() {
  const Token& token = lexer_.peek();
  switch (token.kind) {
    case Token::Kind::Identifier:
      return parseName();
    case Token::Kind::Integer:
    case Token::Kind::Float:
      return parseNumber();
    case Token::Kind::Punctuation:
      break;
    default:
      lexer_.fail(token, "an operand");
  }
  if (token.is("[")) return parseAddress();
  if (token.is("{")) {
    lexer_.next();
    return {.kind = Operand::Kind::Vector, .elements = parseElements("}")};
  }
  if (token.is("(")) {
    if (!inCall_) return parseNumber();
    lexer_.next();
    return {.kind = Operand::Kind::List, .elements = parseElements(")")};
  }
  if (token.is("!")) {
    lexer_.next();
    Operand operand = parsePrimary();
    if (operand.kind == Operand::Kind::Integer) {
      operand.integer = operand.integer == 0;
    } else {
      operand.negated = true;
    }
    return operand;
  }
  if (token.is("-") || token.is("+") || token.is("~")) {
    if (token.is("~")) return parseNumber();
    const bool negative = lexer_.next().is("-");
    Operand operand = parsePrimary();
    if (!negative) return operand;
    if (operand.kind == Operand::Kind::Integer) {
      operand.integer = 0 - operand.integer;
    } else if (operand.kind == Operand::Kind::Float) {
      operand.bits ^= operand.type == ScalarType::F32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
    } else {
      operand.negated = true;
    }
    return operand;
  }
  lexer_.fail(token, "an operand");
}

Operand FunctionParser::parseNumber() {
  if (lexer_.peek().kind == Token::Kind::Float) {
    const Token token = lexer_.next();
    return {.kind = Operand::Kind::Float,
            .text = {},
            .bits = token.bits,
            .type = token.isSingle ? ScalarType::F32 : ScalarType::F64,
            .elements = {}};
  }
  return {.kind = Operand::Kind::Integer, .integer = parseIntegerExpression(lexer_)};
}

Operand FunctionParser::parseName() {
  const char behind = lexer_.behind();
  const Token token = lexer_.next();
  if (token.text == "_") return {};
  std::string_view component;
  if (behind == '.' && lexer_.peek().kind == Token::Kind::Directive && lexer_.peek().position == token.position + token.text.size())
    component = lexer_.next().text;
  if (token.text == "WARP_SZ") return {.kind = Operand::Kind::Integer, .integer = 32};
  const Name* name = find(token.text);
  if (name != nullptr && name->isRegister) return registerOperand(*name, component, token);
  if (name == nullptr && token.text[0] == '%') {
    std::string text(token.text);
    if (!component.empty()) text += fmt::format(".{}", component);
    return {.kind = Operand::Kind::Register, .text = std::move(text)};
  }
  if (!component.empty()) lexer_.failMessage(token, fmt::format("'{}' is not a vector register", token.text));
  Operand symbol{.kind = Operand::Kind::Symbol, .text = name != nullptr ? name->unique : std::string(token.text)};
  symbol.offset = parseOffset();
  return symbol;
}

Operand FunctionParser::registerOperand(const Name& name, std::string_view component, const Token& at) const {
  Operand operand{.kind = Operand::Kind::Register, .text = name.unique};
  if (!component.empty()) {
    const size_t xyzw = std::string_view("xyzw").find(component);
    const size_t rgba = std::string_view("rgba").find(component);
    const size_t index = xyzw != std::string_view::npos ? xyzw : rgba;
    if (component.size() != 1 || index >= name.vectorWidth || name.vectorWidth == 1)
      lexer_.failMessage(at, fmt::format("register '{}' has no element '.{}'", at.text, component));
    operand.text += fmt::format(".{}", "xyzw"[index]);
    return operand;
  }
  if (name.vectorWidth == 1) return operand;
  Operand vector{.kind = Operand::Kind::Vector};
  for (uint32_t i = 0; i < name.vectorWidth; ++i)
    vector.elements.push_back({.kind = Operand::Kind::Register, .text = fmt::format("{}.{}", name.unique, "xyzw"[i])});
  return vector;
}

/// "+4", "+-8", "-16", possibly several; 0 when nothing follows.
int64_t FunctionParser::parseOffset() {
  int64_t offset = 0;
  while (lexer_.peek().is("+") || lexer_.peek().is("-")) {
    bool negative = lexer_.next().is("-");
    if (lexer_.accept("-")) negative = !negative;
    const auto value = static_cast<int64_t>(lexer_.expectInteger("a constant offset"));
    offset += negative ? -value : value;
  }
  return offset;
}

/// [base], [base+offset], [base, {c0, c1}, ...]
Operand FunctionParser::parseAddress() {
  lexer_.expect("[");
  Operand address{.kind = Operand::Kind::Address};
  Operand base = parsePrimary();
  switch (base.kind) {
    case Operand::Kind::Register:
      address.offset = parseOffset();
      break;
    case Operand::Kind::Symbol:
      address.offset = std::exchange(base.offset, 0);
      break;
    case Operand::Kind::Integer:
    case Operand::Kind::Vector:
      break;
    default:
      lexer_.fail(lexer_.peek(), "a register, a variable or an integer as address");
  }
  address.elements.push_back(std::move(base));
  while (lexer_.accept(",")) address.elements.push_back(parsePrimary());
  lexer_.expect("]");
  return address;
}

std::vector<Operand> FunctionParser::parseElements(std::string_view close) {
  std::vector<Operand> elements;
  if (lexer_.accept(close)) return elements;
  do {
    elements.push_back(parsePrimary());
  } while (lexer_.accept(","));
  if (!lexer_.peek().is(close)) lexer_.fail(lexer_.peek(), fmt::format("',' or '{}'", close));
  lexer_.next();
  return elements;
}

}  // namespace shiftconv::emulator::ptx
