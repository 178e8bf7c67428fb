// One `.entry` or `.func`: signature, directives and body.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/emulator/ptx/declarations.hpp"
#include "common/emulator/ptx/lexer.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::ptx {

class FunctionParser {
 public:
  /// `sites` of the module take the calls that were inlined.
  FunctionParser(Lexer& lexer, bool isKernel, std::vector<InlineSite>& sites);
  /// The `.entry` or `.func` directive has been consumed.
  Function parse();

 private:
  struct Name {
    std::string unique{};
    bool isRegister = false;
    uint32_t vectorWidth = 1;
  };
  struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using NameMap = std::unordered_map<std::string, Name, StringHash, std::equal_to<>>;
  /// A `{ }` block: its names shadow the outer ones; `firstInstruction` bounds where its labels are visible.
  struct Scope {
    NameMap names;
    std::unordered_map<std::string, std::string> labels;
    uint32_t firstInstruction = 0;
    uint32_t id = 0;
  };

  void parseDirectives();
  void parseBody();
  void parseStatement();
  void parseDirectiveStatement();
  void parseLabel();
  void parseTargets(const std::string& label);
  void parseRegisters();
  void parseInstruction();
  void parseLocation();
  uint64_t parseSourcePlace();
  uint32_t siteNumber(uint64_t call);
  void openScope();
  void closeScope();
  void renameLabels(const Scope& scope);

  void declareRegister(std::string_view name, const DeclarationHead& head, const Token& at);
  void addRegister(std::string name, ScalarType type);
  void declareVariable(Variable variable, const Token& at);
  const Name* find(std::string_view name) const;

  Operand parseOperand();
  Operand parsePrimary();
  Operand parseNumber();
  Operand parseName();
  Operand parseAddress();
  std::vector<Operand> parseElements(std::string_view close);
  Operand registerOperand(const Name& name, std::string_view component, const Token& at) const;
  int64_t parseOffset();

  Lexer& lexer_;
  Function function_;
  std::vector<Scope> scopes_;
  std::unordered_set<std::string> innerRegisters_;  ///< renamed registers of inner blocks that exist already
  Location location_;
  std::vector<InlineSite>& sites_;
  std::unordered_map<uint64_t, uint32_t> partOf_;                  ///< source place -> number of the site that it was last seen in
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> siteNumbers_;  ///< place of a call, site that it was in -> its own number
  uint32_t nextScopeId_ = 0;
  bool inCall_ = false;  ///< parentheses are lists in calls, expressions elsewhere
};

}  // namespace shiftconv::emulator::ptx
