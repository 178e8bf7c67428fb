// Makes SUPPORTED.md, the list of every instruction form, from the decoder's own table.
#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "common/emulator/forms/scalar/approximations.hpp"
#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/isa/refused_forms.hpp"
#include "common/emulator/program/target.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator::isa;

std::string spelling(const RefusedForm& form) {
  std::string text(form.opcode);
  for (size_t i = 0; i < form.modifiers.size(); ++i) text += fmt::format("{}.{}", i == 0 ? " with " : " or ", form.modifiers[i]);
  for (size_t i = 0; i < form.beside.size(); ++i) text += fmt::format("{}.{}", i == 0 ? " and " : " or ", form.beside[i]);
  return text;
}

/// Whether one of the modifiers stands in the syntax of a form.
bool namesOneOf(std::string_view syntax, const std::vector<std::string_view>& modifiers) {
  constexpr std::string_view kSeparators = ".|(){}";
  const auto separates = [&](size_t at) { return at == syntax.size() || kSeparators.find(syntax[at]) != std::string_view::npos; };
  for (const std::string_view modifier : modifiers)
    for (size_t at = syntax.find(modifier); at != std::string_view::npos; at = syntax.find(modifier, at + 1))
      if (separates(at - 1) && separates(at + modifier.size())) return true;
  return false;
}

/// A line of the list; of a form that makes it longer than pages may be, the longest choice stands on a line of its own.
std::string listed(std::string_view syntax) {
  constexpr size_t kMostCharacters = 400;
  const std::string line = fmt::format("- `{}`\n", syntax);
  if (line.size() <= kMostCharacters) return line;
  size_t first = 0, last = 0;
  for (size_t open = syntax.find('('); open != std::string_view::npos; open = syntax.find('(', open + 1))
    if (const size_t close = syntax.find(')', open); close - open > last - first) first = open + 1, last = close;
  const std::string_view choice = syntax.substr(first, last - first);
  return fmt::format("- `{}...{}` with `...` one of\n  `{}`\n", syntax.substr(0, first), syntax.substr(last), choice);
}

std::string table() {
  std::string text = fmt::format(
      "# PTX instructions of the emulator\n\nMade by `supported_table` from the decoder's table; do not edit. {} forms are "
      "implemented.\n\n"
      "`.x` is required, `.(x|y)` is one of them, `{{.x}}` is optional. Modifiers may come in any order that ptxas takes.\n"
      "Combinations that the PTX ISA forbids are refused with the rule they break, when the module is loaded. An instruction\n"
      "that is in none of the lists below is refused by name.\n",
      emulator::instructionSet().forms().size());
  for (const NamedFamily& family : emulator::instructionSet().families()) {
    text += fmt::format("\n## {}\n\n", family.heading);
    for (const Form& form : family.forms()) text += listed(form.syntax);
  }
  text +=
      "\n## Approximations\n\nErrors that the PTX ISA allows; the recorded results of an H200 differ from these within them "
      "(tests/hardware_recordings/SUMMARY.md).\n\n| form | bound | here |\n|---|---|---|\n";
  for (const Approximation& row : approximations()) {
    // A bar ends a cell, even inside code.
    std::string form(row.syntax);
    for (size_t at = form.find('|'); at != std::string::npos; at = form.find('|', at + 2)) form.insert(at, "\\");
    text += fmt::format("| `{}` | {} | {} |\n", form, row.bound, row.machine);
  }
  text += "\n## Targets\n\nThe `.target` of a module decides what it may use; unknown ones are refused:";
  for (const auto& target : emulator::program::targets()) text += fmt::format(" {}", target.name);
  text += ".\n\n| instruction | exists |\n|---|---|\n";
  for (const auto& rule : emulator::program::featureRules()) text += fmt::format("| `{}` | {} |\n", rule.form(), rule.exists);
  for (const Refusal refusal : {Refusal::Illegal, Refusal::NotImplemented}) {
    text += refusal == Refusal::Illegal ? "\n## Refused: not an instruction of these targets\n\n| instruction | why |\n|---|---|\n"
                                        : "\n## Refused: not implemented\n\n| instruction | why |\n|---|---|\n";
    for (const RefusedForm& form : refusedForms())
      if (form.refusal == refusal) text += fmt::format("| `{}` | {} |\n", spelling(form), form.reason);
  }
  return text;
}

/// A refused form must not be in the decoder's table.
void checkRefusals() {
  for (const RefusedForm& refused : refusedForms()) {
    for (const Form& form : emulator::instructionSet().forms()) {
      const std::string_view opcode = form.syntax.substr(0, form.syntax.find_first_of(".{"));
      if (opcode != refused.opcode) continue;
      const bool implemented = refused.modifiers.empty() ? form.syntax.find(".sync") == std::string_view::npos
                                                         : namesOneOf(form.syntax, refused.modifiers) &&
                                                               (refused.beside.empty() || namesOneOf(form.syntax, refused.beside));
      if (implemented)
        throw std::logic_error(fmt::format("{} is listed as refused but implemented by {}", spelling(refused), form.syntax));
    }
  }
}

/// Every approximate form has a row, and every row a form.
void checkApproximations() {
  std::set<std::string_view> listed, present;
  for (const Approximation& row : approximations()) listed.insert(row.syntax);
  for (const Form& form : emulator::instructionSet().forms())
    if (form.syntax.find(".approx") != std::string_view::npos || form.syntax.find(".full") != std::string_view::npos)
      present.insert(form.syntax);
  if (listed != present) throw std::logic_error("approximations() and the forms with .approx or .full differ");
}

std::string readFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int run(const std::string& mode, const std::string& path) {
  checkRefusals();
  checkApproximations();
  const std::string made = table();
  if (mode.empty()) {
    std::cout << made;
    return 0;
  }
  if (mode == "--update") {
    std::ofstream file(path);
    file << made;
    return file.flush() ? 0 : 1;
  }
  if (readFile(path) == made) return 0;
  std::cerr << path << " differs from the decoder's table; run supported_table --update " << path << "\n";
  return 1;
}

}  // namespace
}  // namespace shiftconv::tests

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if ((!mode.empty() && mode != "--check" && mode != "--update") || argc != (mode.empty() ? 1 : 3)) {
    std::cerr << "usage: supported_table [--check FILE | --update FILE]\n";
    return 2;
  }
  try {
    return shiftconv::tests::run(mode, argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
