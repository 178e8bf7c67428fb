#include "common/emulator/ptx/expression.hpp"

#include <array>
#include <string_view>

namespace shiftconv::emulator::ptx {
namespace {

struct Binary {
  std::string_view text;
  int precedence;
};
constexpr std::array kBinaries = {Binary{"|", 1}, Binary{"^", 2}, Binary{"&", 3}, Binary{"<<", 4}, Binary{">>", 4},
                                  Binary{"+", 5}, Binary{"-", 5}, Binary{"*", 6}, Binary{"/", 6},  Binary{"%", 6}};

uint64_t unary(Lexer& lexer);

uint64_t binary(Lexer& lexer, int minimum) {
  uint64_t left = unary(lexer);
  for (;;) {
    const Token& token = lexer.peek();
    int precedence = 0;
    if (token.kind == Token::Kind::Punctuation)
      for (const Binary& candidate : kBinaries)
        if (candidate.text == token.text) precedence = candidate.precedence;
    if (precedence == 0 || precedence < minimum) return left;
    const Token op = lexer.next();
    const uint64_t right = binary(lexer, precedence + 1);
    const auto signedLeft = static_cast<int64_t>(left);
    const auto signedRight = static_cast<int64_t>(right);
    switch (op.text[0]) {
      case '|':
        left |= right;
        break;
      case '^':
        left ^= right;
        break;
      case '&':
        left &= right;
        break;
      case '<':
        left = right < 64 ? left << right : 0;
        break;
      case '>':
        left = static_cast<uint64_t>(signedLeft >> (right < 63 ? right : 63));
        break;
      case '+':
        left += right;
        break;
      case '-':
        left -= right;
        break;
      case '*':
        left *= right;
        break;
      default:
        if (right == 0) lexer.failMessage(op, "division by zero in a constant expression");
        if (signedRight == -1) {
          left = op.text[0] == '/' ? 0 - left : 0;
        } else {
          left = static_cast<uint64_t>(op.text[0] == '/' ? signedLeft / signedRight : signedLeft % signedRight);
        }
    }
  }
}

uint64_t unary(Lexer& lexer) {
  if (lexer.accept("-")) return 0 - unary(lexer);
  if (lexer.accept("+")) return unary(lexer);
  if (lexer.accept("~")) return ~unary(lexer);
  if (lexer.accept("!")) return unary(lexer) == 0;
  if (lexer.accept("(")) {
    const bool cast = lexer.acceptDirective("s64") || lexer.acceptDirective("u64");
    const uint64_t value = cast ? 0 : binary(lexer, 1);
    lexer.expect(")");
    return cast ? unary(lexer) : value;
  }
  return lexer.expectInteger("an integer");
}

}  // namespace

uint64_t parseIntegerExpression(Lexer& lexer) { return binary(lexer, 1); }

}  // namespace shiftconv::emulator::ptx
