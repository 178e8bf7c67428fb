#include "common/emulator/ptx/declarations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/emulator/ptx/expression.hpp"

namespace shiftconv::emulator::ptx {
namespace {

/// Larger variables are refused before the host runs out of memory, and before sizes overflow.
constexpr uint64_t kMaximumVariableBytes = uint64_t{1} << 30;

[[noreturn]] void failTooLarge(const Lexer& lexer, const Token& at, std::string_view name) {
  lexer.failMessage(at, fmt::format("the variable '{}' is larger than {} bytes", name, kMaximumVariableBytes));
}

/// Fills the bytes of a variable from its initialiser, dimension by dimension.
class InitialiserParser {
 public:
  InitialiserParser(Lexer& lexer, Variable& variable, const std::vector<uint64_t>& dimensions)
      : lexer_(lexer), variable_(variable), dimensions_(dimensions), elementBytes_(sizeOf(variable.type)) {}

  void parse() {
    if (lexer_.peek().is("{") && !dimensions_.empty()) {
      level(0, 0);
    } else {
      element(0);
    }
    if (variable_.bytes == 0) variable_.bytes = end_;
    if (end_ > variable_.bytes)
      lexer_.failMessage(lexer_.peek(), fmt::format("the initialiser of '{}' has too many elements", variable_.name));
    variable_.initialiser.resize(variable_.bytes);
  }

 private:
  uint64_t strideOf(size_t dimension) const {
    uint64_t bytes = elementBytes_;
    for (size_t i = dimension + 1; i < dimensions_.size(); ++i) bytes *= dimensions_[i];
    return bytes;
  }

  void level(size_t dimension, uint64_t offset) {
    lexer_.expect("{");
    while (!lexer_.accept("}")) {
      if (lexer_.peek().is("{") && dimension + 1 < dimensions_.size()) {
        level(dimension + 1, offset);
        offset += strideOf(dimension);
      } else {
        element(offset);  // a flat list fills the inner dimensions too
        offset += elementBytes_;
      }
      if (!lexer_.accept(",") && !lexer_.peek().is("}")) lexer_.fail(lexer_.peek(), "',' or '}' in the initialiser");
    }
  }

  void store(uint64_t offset, uint64_t bits) {
    end_ = std::max(end_, offset + elementBytes_);
    if (end_ > kMaximumVariableBytes) failTooLarge(lexer_, lexer_.peek(), variable_.name);
    if (variable_.initialiser.size() < end_) variable_.initialiser.resize(end_);
    std::memcpy(variable_.initialiser.data() + offset, &bits, std::min<size_t>(elementBytes_, sizeof bits));
  }

  void element(uint64_t offset) {
    const Token& token = lexer_.peek();
    if (token.kind == Token::Kind::Float) return store(offset, floatBits(lexer_.next(), false));
    if (token.is("-") || token.is("+")) {
      const bool negative = lexer_.next().is("-");
      if (lexer_.peek().kind == Token::Kind::Float) return store(offset, floatBits(lexer_.next(), negative));
      const uint64_t value = parseIntegerExpression(lexer_);
      return store(offset, negative ? 0 - value : value);
    }
    if (token.kind == Token::Kind::Identifier) return relocation(offset, ~uint64_t{0});
    const Token first = token;
    const uint64_t value = parseIntegerExpression(lexer_);
    if (first.kind == Token::Kind::Integer && lexer_.accept("(")) {
      relocation(offset, value);
      lexer_.expect(")");
      return;
    }
    store(offset, value);
  }

  uint64_t floatBits(const Token& token, bool negative) const {
    const bool single = variable_.type == ScalarType::F32;
    if (single && token.isSingle) return token.bits ^ (negative ? 0x8000'0000u : 0u);
    if (token.isSingle || (!single && variable_.type != ScalarType::F64)) {
      lexer_.failMessage(token, fmt::format("the literal '{}' does not fit the type .{}", token.text, toString(variable_.type)));
    }
    const double value = std::bit_cast<double>(token.bits) * (negative ? -1.0 : 1.0);
    return single ? std::bit_cast<uint32_t>(static_cast<float>(value)) : std::bit_cast<uint64_t>(value);
  }

  /// name, name+4, generic(name), generic(name)+4
  void relocation(uint64_t offset, uint64_t mask) {
    Token name = lexer_.expectIdentifier("the name of a variable or function");
    Relocation result{.offset = offset, .mask = mask, .bytes = static_cast<uint8_t>(elementBytes_)};
    result.generic = name.text == "generic" && lexer_.accept("(");
    if (result.generic) name = lexer_.expectIdentifier("the name of a variable");
    const auto addend = [&] {
      while (lexer_.peek().is("+") || lexer_.peek().is("-")) {
        const bool negative = lexer_.next().is("-");
        const auto value = static_cast<int64_t>(lexer_.expectInteger("an offset"));
        result.addend += negative ? -value : value;
      }
    };
    addend();
    if (result.generic) {
      lexer_.expect(")");
      addend();
    }
    if (mask == ~uint64_t{0} && elementBytes_ != 8)
      lexer_.failMessage(name,
                         fmt::format("the address of '{}' needs a 64-bit element, not .{}", name.text, toString(variable_.type)));
    result.symbol = name.text;
    store(offset, 0);
    variable_.relocations.push_back(std::move(result));
  }

  Lexer& lexer_;
  Variable& variable_;
  const std::vector<uint64_t>& dimensions_;
  const uint64_t elementBytes_;
  uint64_t end_ = 0;
};

/// `.attribute(.managed)`, `.attribute(.unified(1, 2))`: placement has no meaning in this machine.
void skipAttribute(Lexer& lexer) {
  const Token open = lexer.expect("(");
  for (unsigned depth = 1; depth > 0;) {
    const Token token = lexer.next();
    if (token.kind == Token::Kind::End) lexer.failMessage(open, "this '(' is never closed");
    if (token.is("(")) ++depth;
    if (token.is(")")) --depth;
  }
}

}  // namespace

std::optional<StateSpace> stateSpace(std::string_view text) {
  if (text == "global") return StateSpace::Global;
  if (text == "const") return StateSpace::Const;
  if (text == "shared") return StateSpace::Shared;
  if (text == "local") return StateSpace::Local;
  if (text == "param") return StateSpace::Param;
  if (text == "reg") return StateSpace::Reg;
  return std::nullopt;
}

DeclarationHead parseDeclarationHead(Lexer& lexer, StateSpace space) {
  DeclarationHead head{.space = space};
  while (lexer.peek().kind == Token::Kind::Directive) {
    const Token token = lexer.next();
    if (token.text == "align") {
      head.alignment = static_cast<uint32_t>(lexer.expectInteger("the alignment in bytes"));
      if (!std::has_single_bit(head.alignment)) lexer.failMessage(token, "an alignment must be a power of two");
    } else if (token.text == "v2" || token.text == "v4" || token.text == "v8") {
      head.vectorWidth = static_cast<uint32_t>(token.text[1] - '0');
    } else if (token.text == "attribute") {
      skipAttribute(lexer);
    } else if (token.text == "managed") {
      continue;
    } else if (token.text == "ptr") {
      // .ptr .global .align 16 describes where a pointer parameter points.
      for (;;) {
        if (lexer.acceptDirective("align")) {
          lexer.expectInteger("the alignment in bytes");
        } else if (lexer.peek().kind == Token::Kind::Directive && stateSpace(lexer.peek().text)) {
          lexer.next();
        } else {
          break;
        }
      }
    } else if (const auto type = scalarType(token.text); type && head.type == ScalarType::None) {
      head.type = *type;
    } else if (token.text == "texref" || token.text == "samplerref" || token.text == "surfref") {
      lexer.failMessage(token, fmt::format("textures and surfaces ('.{}') are not supported by this machine", token.text));
    } else {
      lexer.fail(token, "a type, '.align' or a vector width of a declaration");
    }
  }
  if (head.type == ScalarType::None) lexer.fail(lexer.peek(), "the type of the declaration (such as '.b32')");
  return head;
}

Variable parseVariable(Lexer& lexer, const DeclarationHead& head, bool isExternal) {
  const Token name = lexer.expectIdentifier("the name of a variable");
  if (head.type == ScalarType::Pred) lexer.failMessage(name, "predicates live in registers only: .pred is no type for a variable");
  Variable variable{.name = std::string(name.text), .space = head.space, .type = head.type, .isExternal = isExternal};
  variable.location.ptxLine = name.line;
  std::vector<uint64_t> dimensions;
  const auto natural = static_cast<uint32_t>(sizeOf(head.type)) * head.vectorWidth;
  uint64_t bytes = natural;  // of the innermost dimensions when the first one is empty
  while (lexer.accept("[")) {
    const uint64_t dimension = lexer.peek().is("]") ? 0 : parseIntegerExpression(lexer);
    lexer.expect("]");
    if (dimension == 0 && !dimensions.empty()) lexer.failMessage(name, "only the first dimension of an array may be empty");
    dimensions.push_back(dimension);
    if (dimension > kMaximumVariableBytes / bytes) failTooLarge(lexer, name, name.text);
    bytes *= std::max<uint64_t>(dimension, 1);
  }
  if (head.vectorWidth > 1) dimensions.push_back(head.vectorWidth);
  variable.alignment = head.alignment != 0 ? head.alignment : natural;
  variable.bytes = !dimensions.empty() && dimensions.front() == 0 ? 0 : bytes;
  if (lexer.accept("=")) InitialiserParser(lexer, variable, dimensions).parse();
  return variable;
}

std::vector<Variable> parseParameterList(Lexer& lexer) {
  std::vector<Variable> parameters;
  if (!lexer.accept("(")) return parameters;
  if (lexer.accept(")")) return parameters;
  do {
    const Token space = lexer.next();
    if (!space.isDirective("param") && !space.isDirective("reg")) lexer.fail(space, "'.param' or '.reg' of a parameter");
    const DeclarationHead head = parseDeclarationHead(lexer, *stateSpace(space.text));
    if (head.space == StateSpace::Reg) {
      const Token name = lexer.expectIdentifier("the name of a parameter");
      parameters.push_back(
          {.name = std::string(name.text), .space = StateSpace::Reg, .type = head.type, .bytes = sizeOf(head.type)});
    } else {
      parameters.push_back(parseVariable(lexer, head, false));
    }
  } while (lexer.accept(","));
  lexer.expect(")");
  return parameters;
}

}  // namespace shiftconv::emulator::ptx
