#include "common/emulator/ptx/function_parser.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shiftconv::emulator::ptx {
namespace {

/// Source text on one line: runs of blanks become one blank, comments of the inline assembler vanish.
std::string oneLine(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = text.find('\n', i);
      if (i == std::string_view::npos) break;
    }
    const bool blank = text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r';
    if (!blank) {
      result += text[i];
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

}  // namespace

FunctionParser::FunctionParser(Lexer& lexer, bool isKernel, std::vector<InlineSite>& sites) : lexer_(lexer), sites_(sites) {
  function_.isKernel = isKernel;
}

Function FunctionParser::parse() {
  scopes_.emplace_back();
  if (!function_.isKernel) function_.returnParameters = parseParameterList(lexer_);
  const Token name = lexer_.expectIdentifier("the name of a function");
  function_.name = name.text;
  function_.location.ptxLine = name.line;
  function_.parameters = parseParameterList(lexer_);
  for (const auto* list : {&function_.returnParameters, &function_.parameters})
    for (const Variable& variable : *list) {
      if (variable.name == "_") continue;
      const bool isRegister = variable.space == StateSpace::Reg;
      scopes_.back().names[variable.name] = {variable.name, isRegister, 1};
      if (isRegister) addRegister(variable.name, variable.type);
    }
  parseDirectives();
  if (lexer_.accept(";")) {
    function_.isDeclaration = true;
  } else {
    parseBody();
  }
  return std::move(function_);
}

void FunctionParser::parseDirectives() {
  PerformanceDirectives& directives = function_.directives;
  const auto numbers = [&](std::string_view what) {
    std::vector<uint32_t> values;
    do {
      values.push_back(static_cast<uint32_t>(lexer_.expectInteger(what)));
    } while (lexer_.accept(","));
    return values;
  };
  const auto number = [&] { return static_cast<uint32_t>(lexer_.expectInteger("the value of the directive")); };
  while (lexer_.peek().kind == Token::Kind::Directive) {
    const Token token = lexer_.next();
    const std::string_view name = token.text;
    if (name == "reqntid") {
      directives.requiredThreads = numbers("a number of threads");
    } else if (name == "maxntid") {
      directives.maximumThreads = numbers("a number of threads");
    } else if (name == "reqnctapercluster") {
      directives.requiredCluster = numbers("a number of CTAs");
    } else if (name == "maxnreg") {
      directives.maximumRegisters = number();
    } else if (name == "minnctapersm") {
      directives.minimumCtas = number();
    } else if (name == "explicitcluster") {
      directives.explicitCluster = true;
    } else if (name == "maxnctapersm" || name == "maxclusterrank" || name == "abi_preserve" || name == "abi_preserve_control") {
      number();
    } else if (name == "pragma") {
      while (lexer_.peek().kind == Token::Kind::String || lexer_.peek().is(",")) lexer_.next();
      lexer_.expect(";");
    } else if (name != "noreturn" && name != "blocksareclusters") {
      lexer_.fail(token, "a performance directive, '{' or ';' behind the signature of a function");
    }
  }
}

void FunctionParser::parseBody() {
  const Token open = lexer_.expect("{");
  const size_t outside = scopes_.size() - 1;
  scopes_[outside].id = nextScopeId_++;
  for (size_t depth = 1; depth > 0;) {
    if (lexer_.peek().kind == Token::Kind::End)
      lexer_.failMessage(open, fmt::format("the body of function '{}' is never closed", function_.name));
    if (lexer_.accept("{")) {
      openScope();
      ++depth;
    } else if (lexer_.accept("}")) {
      closeScope();
      --depth;
    } else {
      parseStatement();
    }
  }
}

void FunctionParser::openScope() {
  Scope scope;
  scope.firstInstruction = static_cast<uint32_t>(function_.body.size());
  scope.id = nextScopeId_++;
  scopes_.push_back(std::move(scope));
}

void FunctionParser::closeScope() {
  const Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  if (!scopes_.empty() && !scope.labels.empty()) renameLabels(scope);
}

/// Labels may be used before they are defined, so those of an inner block are renamed when it ends.
void FunctionParser::renameLabels(const Scope& scope) {
  const auto rename = [&](std::string& text) {
    if (const auto found = scope.labels.find(text); found != scope.labels.end()) text = found->second;
  };
  for (size_t i = scope.firstInstruction; i < function_.body.size(); ++i)
    for (Operand& operand : function_.body[i].operands)
      if (operand.kind == Operand::Kind::Symbol) rename(operand.text);
  for (const auto& [label, unique] : scope.labels)
    if (const auto table = function_.branchTargets.find(unique); table != function_.branchTargets.end())
      std::for_each(table->second.begin(), table->second.end(), rename);
}

void FunctionParser::parseStatement() {
  const Token& token = lexer_.peek();
  if (lexer_.accept(";")) return;
  if (token.kind == Token::Kind::Directive) return parseDirectiveStatement();
  if (token.kind == Token::Kind::Identifier && lexer_.colonFollows()) return parseLabel();
  if (token.kind == Token::Kind::Identifier || token.is("@")) return parseInstruction();
  lexer_.fail(token, "an instruction, a directive or a label");
}

void FunctionParser::parseDirectiveStatement() {
  const Token token = lexer_.peek();
  if (token.text == "loc") return parseLocation();
  lexer_.next();
  if (token.text == "reg") return parseRegisters();
  if (token.text == "pragma") {
    while (!lexer_.accept(";")) {
      if (lexer_.peek().kind != Token::Kind::String && !lexer_.peek().is(","))
        lexer_.fail(lexer_.peek(), "a string or ';' of '.pragma'");
      lexer_.next();
    }
    return;
  }
  const bool isExternal = token.text == "extern";
  const Token spaceToken = isExternal ? lexer_.next() : token;
  const auto space = stateSpace(spaceToken.text);
  if (!space) lexer_.fail(spaceToken, "a directive that may stand in a function body");
  const DeclarationHead head = parseDeclarationHead(lexer_, *space);
  do {
    const Token name = lexer_.peek();
    declareVariable(parseVariable(lexer_, head, isExternal), name);
  } while (lexer_.accept(","));
  lexer_.expect(";");
}

constexpr unsigned kFileShift = 44, kLineShift = 16;

/// file line [column], in one number.
uint64_t FunctionParser::parseSourcePlace() {
  const auto file = static_cast<uint64_t>(lexer_.expectInteger("the file number of '.loc'"));
  const auto line = static_cast<uint32_t>(lexer_.expectInteger("the line number of '.loc'"));
  uint64_t column = 0;
  if (lexer_.peek().kind == Token::Kind::Integer) column = static_cast<uint16_t>(lexer_.expectInteger("a column"));
  return file << kFileShift | uint64_t{line} << kLineShift | column;
}

/// That of the call at this place. The call itself has had a .loc, which says what it is part of (PTX ISA 11.5.1).
uint32_t FunctionParser::siteNumber(uint64_t call) {
  const auto outer = partOf_.find(call);
  const uint32_t inlinedAt = outer == partOf_.end() ? 0 : outer->second;
  const auto [number, isNew] = siteNumbers_.try_emplace({call, inlinedAt}, static_cast<uint32_t>(sites_.size() + 1));
  if (isNew)
    sites_.push_back(
        {static_cast<uint32_t>(call >> kFileShift), static_cast<uint32_t>(call >> kLineShift) & 0xfff'ffff, inlinedAt});
  return number->second;
}

/// .loc file line column [, function_name label [+ offset], inlined_at file line column]
void FunctionParser::parseLocation() {
  lexer_.next();
  const uint64_t place = parseSourcePlace();
  location_.sourceFile = static_cast<uint32_t>(place >> kFileShift);
  location_.sourceLine = static_cast<uint32_t>(place >> kLineShift) & 0xfff'ffff;
  location_.inlinedAt = 0;
  while (lexer_.accept(",")) {
    const Token what = lexer_.expectIdentifier("'function_name' or 'inlined_at' behind '.loc'");
    if (what.text == "function_name") {
      lexer_.expectIdentifier("the label of the function's name");
      if (lexer_.accept("+")) lexer_.expectInteger("an offset");
    } else if (what.text == "inlined_at") {
      location_.inlinedAt = siteNumber(parseSourcePlace());
    } else {
      lexer_.fail(what, "'function_name' or 'inlined_at' behind '.loc'");
    }
  }
  partOf_[place] = location_.inlinedAt;
}

void FunctionParser::parseLabel() {
  const Token name = lexer_.next();
  lexer_.expect(":");
  Scope& scope = scopes_.back();
  std::string unique(name.text);
  if (scopes_.size() > 1) unique += fmt::format("@{}", scope.id);
  if (!scope.labels.emplace(name.text, unique).second)
    lexer_.failMessage(name, fmt::format("label '{}' is defined twice", name.text));
  if (lexer_.acceptDirective("branchtargets") || lexer_.acceptDirective("calltargets")) return parseTargets(unique);
  if (lexer_.acceptDirective("callprototype")) {
    // Indirect calls take the layout of their parameters from the callee, so the prototype itself is not kept.
    parseParameterList(lexer_);
    lexer_.expectIdentifier("'_' of the prototype");
    parseParameterList(lexer_);
    while (lexer_.peek().kind == Token::Kind::Directive) {
      lexer_.next();
      if (lexer_.peek().kind == Token::Kind::Integer) lexer_.next();
    }
    lexer_.expect(";");
    return;
  }
  function_.labels[unique] = static_cast<uint32_t>(function_.body.size());
}

void FunctionParser::parseTargets(const std::string& label) {
  std::vector<std::string>& targets = function_.branchTargets[label];
  do {
    targets.emplace_back(lexer_.expectIdentifier("a label or function name").text);
  } while (lexer_.accept(","));
  lexer_.expect(";");
}

void FunctionParser::parseRegisters() {
  const DeclarationHead head = parseDeclarationHead(lexer_, StateSpace::Reg);
  do {
    const Token name = lexer_.expectIdentifier("the name of a register");
    if (!lexer_.accept("<")) {
      declareRegister(name.text, head, name);
      continue;
    }
    const uint64_t count = lexer_.expectInteger("the number of registers");
    lexer_.expect(">");
    if (count > 1'000'000)
      lexer_.failMessage(name, fmt::format("{} registers '{}' are more than a function may declare", count, name.text));
    std::string numbered(name.text);
    for (uint64_t i = 0; i < count; ++i) {
      numbered.resize(name.text.size());
      fmt::format_to(std::back_inserter(numbered), "{}", i);
      declareRegister(numbered, head, name);
    }
  } while (lexer_.accept(","));
  lexer_.expect(";");
}

/// Registers of inner blocks are renamed by depth and type: blocks side by side, which never live at the same
/// time, then share their registers, and a frame stays small however often inline assembly declares a temporary.
void FunctionParser::declareRegister(std::string_view name, const DeclarationHead& head, const Token& at) {
  Name entry{.unique = std::string(name), .isRegister = true, .vectorWidth = head.vectorWidth};
  if (scopes_.size() > 1) entry.unique += fmt::format("@{}.{}", scopes_.size() - 1, toString(head.type));
  if (!scopes_.back().names.emplace(name, entry).second) lexer_.failMessage(at, fmt::format("'{}' is declared twice", name));
  if (head.vectorWidth == 1) return addRegister(std::move(entry.unique), head.type);
  if (head.vectorWidth > 4) lexer_.failMessage(at, "registers are vectors of at most four elements");
  for (uint32_t i = 0; i < head.vectorWidth; ++i) addRegister(fmt::format("{}.{}", entry.unique, "xyzw"[i]), head.type);
}

void FunctionParser::addRegister(std::string name, ScalarType type) {
  if (scopes_.size() > 1 && !innerRegisters_.insert(name).second) return;
  function_.registers.push_back({std::move(name), type});
}

void FunctionParser::declareVariable(Variable variable, const Token& at) {
  const std::string name = variable.name;
  if (scopes_.size() > 1) variable.name += fmt::format("@{}", scopes_.back().id);
  if (!scopes_.back().names.emplace(name, Name{.unique = variable.name}).second)
    lexer_.failMessage(at, fmt::format("'{}' is declared twice", name));
  function_.variables.push_back(std::move(variable));
}

const FunctionParser::Name* FunctionParser::find(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
  return nullptr;
}

void FunctionParser::parseInstruction() {
  const size_t begin = lexer_.peek().position;
  Instruction instruction;
  if (lexer_.accept("@")) {
    instruction.guardNegated = lexer_.accept("!");
    const Token guard = lexer_.expectIdentifier("the predicate register of a guard");
    const Name* name = find(guard.text);
    if (name == nullptr || !name->isRegister)
      lexer_.failMessage(guard, fmt::format("guard '{}' is not a declared register", guard.text));
    instruction.guard = name->unique;
  }
  const Token opcode = lexer_.peek();
  if (opcode.kind != Token::Kind::Identifier) lexer_.fail(opcode, "an instruction behind the guard");
  instruction.opcode = opcode.text;
  inCall_ = opcode.text == "call";
  instruction.location = location_;
  instruction.location.ptxLine = opcode.line;
  std::string_view modifiers = lexer_.takeModifiers();
  while (!modifiers.empty()) {
    const size_t dot = modifiers.find('.');
    size_t end = modifiers.find('.', dot + 1);
    if (end == std::string_view::npos) end = modifiers.size();
    std::string_view word = modifiers.substr(dot + 1, end - dot - 1);
    while (!word.empty() && (word.back() == ' ' || word.back() == '\n' || word.back() == '\t' || word.back() == '\r'))
      word.remove_suffix(1);
    instruction.modifiers.emplace_back(word);
    modifiers.remove_prefix(end);
  }
  if (!lexer_.peek().is(";")) {
    do {
      instruction.operands.push_back(parseOperand());
    } while (lexer_.accept(","));
  }
  const Token semicolon = lexer_.peek();
  if (!semicolon.is(";")) lexer_.fail(semicolon, fmt::format("',' or ';' in instruction '{}'", instruction.opcode));
  instruction.text = oneLine(lexer_.slice(begin, semicolon.position + 1));
  lexer_.next();
  function_.body.push_back(std::move(instruction));
}

}  // namespace shiftconv::emulator::ptx
