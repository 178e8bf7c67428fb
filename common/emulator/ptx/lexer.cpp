#include "common/emulator/ptx/lexer.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdlib>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool startsIdentifier(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%'; }
bool continuesIdentifier(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '$'; }
bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

std::string describe(const Token& token) {
  if (token.kind == Token::Kind::End) return "the end of the text";
  if (token.kind == Token::Kind::Directive) return fmt::format("'.{}'", token.text);
  if (token.kind == Token::Kind::String) return fmt::format("the string \"{}\"", token.text);
  return fmt::format("'{}'", token.text);
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string_view moduleName) : text_(text), moduleName_(moduleName) { advance(); }

Token Lexer::next() {
  Token token = token_;
  advance();
  return token;
}

bool Lexer::accept(std::string_view punctuation) {
  if (!token_.is(punctuation)) return false;
  advance();
  return true;
}

bool Lexer::acceptDirective(std::string_view name) {
  if (!token_.isDirective(name)) return false;
  advance();
  return true;
}

Token Lexer::expect(std::string_view punctuation) {
  if (!token_.is(punctuation)) fail(token_, fmt::format("'{}'", punctuation));
  return next();
}

Token Lexer::expectIdentifier(std::string_view what) {
  if (token_.kind != Token::Kind::Identifier) fail(token_, what);
  return next();
}

uint64_t Lexer::expectInteger(std::string_view what) {
  if (token_.kind != Token::Kind::Integer) fail(token_, what);
  return next().integer;
}

bool Lexer::colonFollows() const {
  size_t at = cursor_;
  while (at < text_.size() && isBlank(text_[at])) ++at;
  return at < text_.size() && text_[at] == ':' && !(at + 1 < text_.size() && text_[at + 1] == ':');
}

std::string_view Lexer::takeModifiers() {
  const size_t begin = cursor_;
  size_t end = cursor_;
  for (;;) {
    // Modifiers of long instructions are sometimes spread over lines: look past blanks for another dot.
    size_t dot = end;
    while (dot < text_.size() && isBlank(text_[dot])) ++dot;
    if (dot + 1 >= text_.size() || text_[dot] != '.' || !(isLetter(text_[dot + 1]) || isDigit(text_[dot + 1]))) break;
    for (; end < dot; ++end) line_ += text_[end] == '\n';
    ++end;
    while (end < text_.size() && (continuesIdentifier(text_[end]) || text_[end] == ':')) ++end;
  }
  cursor_ = end;
  advance();
  return text_.substr(begin, end - begin);
}

std::string_view Lexer::takeLine() {
  const size_t begin = token_.position;
  size_t end = text_.find('\n', begin);
  if (end == std::string_view::npos) end = text_.size();
  const size_t comment = text_.substr(begin, end - begin).find("//");
  size_t last = comment == std::string_view::npos ? end : begin + comment;
  while (last > begin && isBlank(text_[last - 1])) --last;
  cursor_ = end;
  line_ = token_.line;
  advance();
  return text_.substr(begin, last - begin);
}

void Lexer::skipBraces() {
  const Token open = token_;
  expect("{");
  for (unsigned depth = 1; depth > 0; advance()) {
    if (token_.kind == Token::Kind::End) failMessage(open, "this '{' is never closed");
    if (token_.is("{")) ++depth;
    if (token_.is("}")) --depth;
  }
}

void Lexer::skipBlanks() {
  while (cursor_ < text_.size()) {
    const char c = text_[cursor_];
    if (c == '\n') ++line_;
    if (isBlank(c)) {
      ++cursor_;
    } else if (c == '/' && cursor_ + 1 < text_.size() && text_[cursor_ + 1] == '/') {
      cursor_ = std::min(text_.find('\n', cursor_), text_.size());
    } else if (c == '/' && cursor_ + 1 < text_.size() && text_[cursor_ + 1] == '*') {
      const size_t close = text_.find("*/", cursor_ + 2);
      if (close == std::string_view::npos) {
        token_ = {.kind = Token::Kind::Punctuation, .text = "/*", .line = line_, .position = cursor_};
        failMessage(token_, "this comment is never closed");
      }
      for (; cursor_ < close; ++cursor_) line_ += text_[cursor_] == '\n';
      cursor_ = close + 2;
    } else if (c == '#' && (cursor_ == 0 || text_[cursor_ - 1] == '\n')) {
      cursor_ = std::min(text_.find('\n', cursor_), text_.size());  // a line marker of the C preprocessor
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skipBlanks();
  token_ = {.kind = Token::Kind::End, .line = line_, .position = cursor_};
  if (cursor_ >= text_.size()) return;
  const size_t begin = cursor_;
  const char c = text_[cursor_];
  const auto scanWhile = [&](auto predicate) {
    while (cursor_ < text_.size() && predicate(text_[cursor_])) ++cursor_;
  };
  if (startsIdentifier(c) && !(c == '%' && !(cursor_ + 1 < text_.size() && continuesIdentifier(text_[cursor_ + 1])))) {
    ++cursor_;
    scanWhile(continuesIdentifier);
    token_.kind = Token::Kind::Identifier;
    token_.text = text_.substr(begin, cursor_ - begin);
  } else if (c == '.' && cursor_ + 1 < text_.size() && (isLetter(text_[cursor_ + 1]) || text_[cursor_ + 1] == '_')) {
    ++cursor_;
    scanWhile(continuesIdentifier);
    token_.kind = Token::Kind::Directive;
    token_.text = text_.substr(begin + 1, cursor_ - begin - 1);
  } else if (isDigit(c) || (c == '.' && cursor_ + 1 < text_.size() && isDigit(text_[cursor_ + 1]))) {
    lexNumber();
  } else if (c == '"') {
    lexString();
  } else {
    token_.kind = Token::Kind::Punctuation;
    const std::string_view two = text_.substr(begin, 2);
    token_.text = text_.substr(begin, two == "<<" || two == ">>" || two == "::" ? 2 : 1);
    cursor_ += token_.text.size();
  }
}

void Lexer::lexString() {
  const size_t close = text_.find('"', cursor_ + 1);
  if (close == std::string_view::npos) failMessage(token_, "this string is never closed");
  token_.kind = Token::Kind::String;
  token_.text = text_.substr(cursor_ + 1, close - cursor_ - 1);
  for (; cursor_ <= close; ++cursor_) line_ += text_[cursor_] == '\n';
}

void Lexer::lexNumber() {
  const size_t begin = cursor_;
  const auto at = [&](size_t index) { return index < text_.size() ? text_[index] : '\0'; };
  const char marker = text_[begin] == '0' ? static_cast<char>(at(begin + 1) | 0x20) : '\0';
  const auto finish = [&](size_t end) {
    cursor_ = end;
    token_.text = text_.substr(begin, end - begin);
    if (cursor_ < text_.size() && continuesIdentifier(text_[cursor_])) failMessage(token_, "malformed number");
  };
  const auto parseDigits = [&](size_t first, int base, auto isBaseDigit) {
    size_t end = first;
    while (isBaseDigit(at(end))) ++end;
    token_.kind = Token::Kind::Integer;
    const auto result = std::from_chars(text_.data() + first, text_.data() + end, token_.integer, base);
    token_.text = text_.substr(begin, end - begin);
    if (end == first || result.ec != std::errc{}) failMessage(token_, "malformed integer, or one that needs more than 64 bits");
    finish(at(end) == 'U' || at(end) == 'u' ? end + 1 : end);
  };
  const auto isHex = [](char c) { return isHexDigit(c); };
  const auto exactFloat = [&](size_t digits) {
    size_t end = begin + 2;
    while (isHexDigit(at(end))) ++end;
    token_.kind = Token::Kind::Float;
    token_.isSingle = digits == 8;
    token_.text = text_.substr(begin, end - begin);
    if (end - begin - 2 != digits) failMessage(token_, fmt::format("this exact float needs {} hex digits", digits));
    std::from_chars(text_.data() + begin + 2, text_.data() + end, token_.bits, 16);
    finish(end);
  };
  if (marker == 'f') return exactFloat(8);
  if (marker == 'd') return exactFloat(16);
  if (marker == 'x') return parseDigits(begin + 2, 16, isHex);
  if (marker == 'b') return parseDigits(begin + 2, 2, [](char c) { return c == '0' || c == '1'; });
  size_t end = begin;
  while (isDigit(at(end))) ++end;
  const bool exponent =
      (at(end) | 0x20) == 'e' && (isDigit(at(end + 1)) || ((at(end + 1) == '+' || at(end + 1) == '-') && isDigit(at(end + 2))));
  if ((at(end) == '.' && isDigit(at(end + 1))) || (at(end) == '.' && !isLetter(at(end + 1))) || exponent) {
    double value = 0;
    const auto result = std::from_chars(text_.data() + begin, text_.data() + text_.size(), value);
    token_.kind = Token::Kind::Float;
    token_.bits = std::bit_cast<uint64_t>(value);
    token_.text = text_.substr(begin, static_cast<size_t>(result.ptr - text_.data()) - begin);
    if (result.ec != std::errc{}) failMessage(token_, "malformed floating-point number");
    return finish(static_cast<size_t>(result.ptr - text_.data()));
  }
  if (text_[begin] == '0' && end - begin > 1) return parseDigits(begin + 1, 8, [](char c) { return c >= '0' && c <= '7'; });
  parseDigits(begin, 10, isDigit);
}

void Lexer::fail(const Token& at, std::string_view expectation) const {
  failMessage(at, fmt::format("expected {}, found {}", expectation, describe(at)));
}

void Lexer::failMessage(const Token& at, std::string_view message) const {
  const size_t lineStart = at.position == 0 ? std::string_view::npos : text_.rfind('\n', at.position - 1);
  const size_t column = at.position - (lineStart == std::string_view::npos ? 0 : lineStart + 1) + 1;
  throw EmulatorError(ErrorKind::Parse, fmt::format("{}:{}:{}: {}.", moduleName_, at.line, column, message));
}

}  // namespace shiftconv::emulator::ptx
