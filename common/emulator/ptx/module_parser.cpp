// Module scope (PTX ISA 9.0, chapters 4, 5 and 11).
#include <fmt/format.h>

#include "common/emulator/ptx/declarations.hpp"
#include "common/emulator/ptx/function_parser.hpp"
#include "common/emulator/ptx/lexer.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::ptx {
namespace {

class ModuleParser {
 public:
  ModuleParser(std::string_view text, std::string name) : module_{.name = std::move(name)}, lexer_(text, module_.name) {}

  Module parse() {
    while (lexer_.peek().kind != Token::Kind::End) {
      const Token token = lexer_.peek();
      if (token.kind != Token::Kind::Directive) lexer_.fail(token, "a directive at module scope");
      lexer_.next();
      statement(token);
    }
    if (module_.version.empty()) lexer_.fail(lexer_.peek(), "'.version' in the module");
    if (module_.target.empty()) lexer_.fail(lexer_.peek(), "'.target' in the module");
    return std::move(module_);
  }

 private:
  void statement(const Token& token) {
    const std::string_view name = token.text;
    if (name == "version") {
      module_.version = lexer_.takeLine();
    } else if (name == "target") {
      module_.target = lexer_.takeLine();
    } else if (name == "address_size") {
      module_.addressSize = static_cast<uint32_t>(lexer_.expectInteger("the address size in bits"));
      if (module_.addressSize != 64) lexer_.failMessage(token, "only 64-bit addresses are supported ('.address_size 64')");
    } else if (name == "file") {
      const auto number = static_cast<uint32_t>(lexer_.expectInteger("a file number"));
      if (lexer_.peek().kind != Token::Kind::String) lexer_.fail(lexer_.peek(), "a file name in quotes");
      module_.files[number] = lexer_.next().text;
      while (lexer_.accept(",")) lexer_.expectInteger("time stamp or size of the file");
    } else if (name == "section") {
      lexer_.next();  // ".debug_info" is a directive token, others are identifiers
      lexer_.skipBraces();
    } else if (name == "pragma") {
      while (!lexer_.accept(";")) {
        if (lexer_.peek().kind != Token::Kind::String && !lexer_.peek().is(","))
          lexer_.fail(lexer_.peek(), "a string or ';' of '.pragma'");
        lexer_.next();
      }
    } else if (name == "visible" || name == "weak" || name == "common" || name == "extern") {
      isExternal_ = name == "extern";
      const Token inner = lexer_.next();
      if (inner.kind != Token::Kind::Directive) lexer_.fail(inner, "'.func', '.entry' or a state space");
      statement(inner);
      isExternal_ = false;
    } else if (name == "entry" || name == "func") {
      // Attributes and .noreturn may stand between .func and the name.
      while (lexer_.acceptDirective("noreturn")) continue;
      module_.functions.push_back(FunctionParser(lexer_, name == "entry", module_.inlineSites).parse());
      hoistStatics(module_.functions.back());
    } else if (const auto space = stateSpace(name); space && *space != StateSpace::Reg && *space != StateSpace::Param) {
      variables(*space);
    } else {
      lexer_.fail(token, "a directive at module scope");
    }
  }

  /// Global and constant variables declared in a function live as long as the module.
  void hoistStatics(Function& function) {
    std::erase_if(function.variables, [&](Variable& variable) {
      if (variable.space != StateSpace::Global && variable.space != StateSpace::Const) return false;
      module_.variables.push_back(std::move(variable));
      return true;
    });
  }

  void variables(StateSpace space) {
    const DeclarationHead head = parseDeclarationHead(lexer_, space);
    do {
      module_.variables.push_back(parseVariable(lexer_, head, isExternal_));
    } while (lexer_.accept(","));
    lexer_.expect(";");
  }

  Module module_;
  Lexer lexer_;
  bool isExternal_ = false;
};

}  // namespace

Module parseModule(std::string_view text, std::string name) {
  // Text that comes out of a fat binary ends with its terminating zero.
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  return ModuleParser(text, std::move(name)).parse();
}

}  // namespace shiftconv::emulator::ptx
