// Tokens of PTX text (PTX ISA 9.0, chapter 4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shiftconv::emulator::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Identifier,   ///< registers, symbols, opcodes up to the first dot
    Directive,    ///< text without the leading dot: "reg", "align", "b32"
    Integer,      ///< integer; a trailing U is dropped
    Float,        ///< bits = f64 pattern of a decimal or 0d literal, or f32 pattern when isSingle
    String,       ///< text without quotes
    Punctuation,  ///< one of [ ] { } ( ) , ; : + - * / % ! ~ | & ^ = @ < > ? or "<<" ">>"
  };
  Kind kind = Kind::End;
  std::string_view text{};
  uint64_t integer = 0;
  uint64_t bits = 0;
  bool isSingle = false;
  uint32_t line = 1;
  size_t position = 0;

  /// Asked several times for each token, of one or two characters: less work than a call of memcmp.
  bool is(std::string_view punctuation) const {
    return kind == Kind::Punctuation && text.size() == punctuation.size() && text.front() == punctuation.front() &&
           text.back() == punctuation.back();
  }
  bool isDirective(std::string_view name) const { return kind == Kind::Directive && text == name; }
};

/// One token of lookahead over the text, with raw access for the parts of PTX that are not token-shaped
/// (instruction modifiers such as ".16x256b", version numbers).
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view moduleName);

  const Token& peek() const { return token_; }
  Token next();
  /// Consumes the token when it is this punctuation.
  bool accept(std::string_view punctuation);
  bool acceptDirective(std::string_view name);
  Token expect(std::string_view punctuation);
  Token expectIdentifier(std::string_view what);
  uint64_t expectInteger(std::string_view what);

  /// The character right after the current token, 0 at the end.
  char behind() const { return cursor_ < text_.size() ? text_[cursor_] : '\0'; }
  /// True when the current token is followed by ':' (but not '::'), possibly after blanks.
  bool colonFollows() const;
  /// Modifiers after the current token, which is then consumed: the text from the first dot on, possibly empty.
  std::string_view takeModifiers();
  /// The current token and whatever follows up to the end of the line, trimmed; consumes it.
  std::string_view takeLine();
  /// Skips a `{ ... }` group whose opening brace is the current token.
  void skipBraces();
  std::string_view slice(size_t begin, size_t end) const { return text_.substr(begin, end - begin); }
  std::string_view moduleName() const { return moduleName_; }

  /// Throws EmulatorError (Parse): "module:line:column: expected <expectation>, found <token>".
  [[noreturn]] void fail(const Token& at, std::string_view expectation) const;
  [[noreturn]] void failMessage(const Token& at, std::string_view message) const;

 private:
  void advance();
  void skipBlanks();
  void lexNumber();
  void lexString();
  std::string_view text_;
  std::string_view moduleName_;
  size_t cursor_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

}  // namespace shiftconv::emulator::ptx
