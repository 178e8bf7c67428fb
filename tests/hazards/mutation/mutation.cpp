#include "tests/hazards/mutation/mutation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "common/emulator/ptx/module.hpp"
#include "tests/hazards/mutation/sites.hpp"

namespace shiftconv::tests {
namespace {

using emulator::ptx::Instruction;

bool has(const Instruction& instruction, std::string_view modifier) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) != instruction.modifiers.end();
}

bool isFence(const Instruction& i) {
  return i.opcode == "fence" || i.opcode == "membar" || (i.opcode == "tcgen05" && i.modifiers[0].starts_with("fence::")) ||
         (i.opcode == "wgmma" && i.modifiers[0] == "fence");
}

bool isMbarrierWait(const Instruction& i) { return i.opcode == "mbarrier" && (has(i, "try_wait") || has(i, "test_wait")); }

/// Waits that leave nothing in a register.
bool isPlainWait(const Instruction& i) {
  if (i.opcode == "tcgen05") return i.modifiers[0].starts_with("wait::");
  if (i.opcode == "cp") return has(i, "wait_group") || has(i, "wait_all");
  if (i.opcode == "wgmma") return i.modifiers[0] == "wait_group";
  if (i.opcode == "griddepcontrol") return has(i, "wait");
  return (i.opcode == "bar" || i.opcode == "barrier") && !has(i, "red");
}

bool isCommit(const Instruction& i) {
  if (i.opcode == "tcgen05") return i.modifiers[0] == "commit";
  if (i.opcode == "wgmma") return i.modifiers[0] == "commit_group";
  return i.opcode == "cp" && has(i, "commit_group");
}

bool isMbarrierArrive(const Instruction& i) { return i.opcode == "mbarrier" && has(i, "arrive"); }

/// cp.async.mbarrier.arrive, mbarrier.expect_tx
bool isOtherArrive(const Instruction& i) {
  return (i.opcode == "cp" && has(i, "mbarrier") && has(i, "arrive")) || (i.opcode == "mbarrier" && i.modifiers[0] == "expect_tx");
}

bool isPlainBulkCopy(const Instruction& i) {
  return i.opcode == "cp" && i.modifiers.size() > 1 && i.modifiers[1] == "bulk" && !has(i, "tensor") && !has(i, "prefetch") &&
         !i.operands.empty() && !isPlainWait(i) && !isCommit(i);
}

/// A bulk copy, with a tensor map or without, whose bytes an mbarrier counts.
bool isCountedBulkCopy(const Instruction& i) {
  return i.opcode == "cp" && i.modifiers.size() > 1 && i.modifiers[1] == "bulk" && has(i, "mbarrier::complete_tx::bytes");
}

/// An instruction that releases or acquires and has a relaxed form (barrier.cluster.wait has none).
bool mayBeRelaxed(const Instruction& i) {
  constexpr std::string_view kOpcodes[] = {"ld", "st", "atom", "red", "mbarrier", "barrier"};
  if (std::find(std::begin(kOpcodes), std::end(kOpcodes), i.opcode) == std::end(kOpcodes)) return false;
  return has(i, "release") || (has(i, "acquire") && i.opcode != "barrier");
}

/// The instruction's text apart from a guard.
struct Parts {
  std::string guard;  ///< "@%p1 ", or nothing
  std::string name;   ///< up to the first operand, with the blank after it
  std::vector<std::string> operands;
};

Parts partsOf(std::string_view text) {
  Parts parts;
  if (text.starts_with('@')) {
    const size_t end = text.find(' ') + 1;
    parts.guard = text.substr(0, end);
    text.remove_prefix(end);
  }
  text.remove_suffix(1);  // ';'
  const size_t blank = std::min(text.find(' '), text.size());
  parts.name = std::string(text.substr(0, blank)) + " ";
  std::string_view rest = text.substr(std::min(blank + 1, text.size()));
  int depth = 0;
  std::string operand;
  for (const char c : rest) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      parts.operands.push_back(operand);
      operand.clear();
    } else if (c != ' ' || !operand.empty()) {
      operand += c;
    }
  }
  if (!operand.empty()) parts.operands.push_back(operand);
  return parts;
}

std::string assemble(const Parts& parts) {
  return fmt::format("{}{}{};", parts.guard, parts.name, fmt::join(parts.operands, ", "));
}

/// The same instruction with operand `index` replaced by a register that `computation` fills from it.
std::string withComputedOperand(Parts parts, size_t index, std::string_view computation) {
  const std::string original = parts.operands.at(index);
  parts.operands[index] = "mutated";
  return fmt::format("{{ .reg .b32 mutated; mov.b32 mutated, {}; {} {} }}", original, computation, assemble(parts));
}

/// What a mutation makes of an instruction. The operands that hold a parity or a byte count: PTX ISA 9.7.13.15 (mbarrier: the last
/// but a suspend-time hint) and 9.7.9.25.4 (bulk copies: the third).
std::string replacementFor(std::string_view text, Change change) {
  Parts parts = partsOf(text);
  const bool isCopy = parts.name.starts_with("cp.");
  const size_t count = isCopy ? 2 : parts.operands.size() - 1;
  switch (change) {
    case Change::Delete:
      return {};
    case Change::SucceedAtOnce:
      return fmt::format("{}setp.eq.u32 {}, 0, 0;", parts.guard, parts.operands.at(0));
    case Change::PlainArrive: {
      const std::string_view expect = ".expect_tx";
      parts.name.erase(parts.name.find(expect), expect.size());
      parts.operands.pop_back();
      return assemble(parts);
    }
    case Change::FlipParity:
      return withComputedOperand(parts, 2, "xor.b32 mutated, mutated, 1;");
    case Change::Add16Bytes:
      return withComputedOperand(parts, count, "add.u32 mutated, mutated, 16;");
    case Change::Subtract16Bytes:
      return withComputedOperand(parts, count, "sub.u32 mutated, mutated, 16;");
    case Change::Relax: {
      const size_t release = parts.name.find(".release");
      const size_t at = release != std::string::npos ? release : parts.name.find(".acquire");
      parts.name.replace(at, std::string_view(".release").size(), ".relaxed");
      return assemble(parts);
    }
  }
  return {};
}

std::vector<Change> changesOf(const Instruction& instruction) {
  std::vector<Change> changes;
  const auto add = [&](std::initializer_list<Change> more) {
    for (const Change change : more) changes.push_back(change);
  };
  if (isFence(instruction) || isPlainWait(instruction) || isCommit(instruction)) add({Change::Delete});
  if (isMbarrierWait(instruction)) {
    add({Change::SucceedAtOnce});
    if (has(instruction, "parity")) add({Change::FlipParity});
  }
  if (isMbarrierArrive(instruction) || isOtherArrive(instruction)) {
    add({Change::Delete});
    if (isMbarrierArrive(instruction) && has(instruction, "expect_tx")) add({Change::PlainArrive});
    if (has(instruction, "expect_tx")) add({Change::Add16Bytes, Change::Subtract16Bytes});
  }
  if (isCountedBulkCopy(instruction)) add({Change::Delete});
  if (isPlainBulkCopy(instruction)) add({Change::Add16Bytes, Change::Subtract16Bytes});
  if (mayBeRelaxed(instruction)) add({Change::Relax});
  return changes;
}

/// As the parser writes instructions: one blank where the text has several, or tabs.
std::string singleBlanks(std::string_view line) {
  std::string result;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) result += c;
    if (blank && (result.empty() || result.back() != ' ')) result += ' ';
  }
  return result;
}

/// "add.u32 %r12, %r3, 16;" -> "add.u32 %r, %r, 16;": what stays when another part of the kernel changes.
std::string withoutRegisterNumbers(std::string_view instruction) {
  std::string form;
  bool inRegister = false;
  for (const char c : instruction) {
    const bool isDigit = c >= '0' && c <= '9';
    if (c == '%')
      inRegister = true;
    else if (!isDigit && !(c >= 'a' && c <= 'z'))
      inRegister = false;
    if (!inRegister || !isDigit) form += c;
  }
  return form;
}

}  // namespace

std::string_view toString(Change change) {
  switch (change) {
    case Change::Delete:
      return "deleted";
    case Change::SucceedAtOnce:
      return "succeeds at once";
    case Change::PlainArrive:
      return "expects no bytes";
    case Change::FlipParity:
      return "parity flipped";
    case Change::Add16Bytes:
      return "16 bytes more";
    case Change::Subtract16Bytes:
      return "16 bytes less";
    case Change::Relax:
      return "relaxed";
  }
  return "";
}

std::vector<Mutation> mutationsOf(std::string_view ptx, std::string_view kernel, const SourcePositions& source) {
  const emulator::ptx::Module module = emulator::ptx::parseModule(ptx, std::string(kernel));
  const emulator::ptx::Function* function = module.find(kernel);
  if (function == nullptr) throw std::invalid_argument(fmt::format("no kernel {} in the module", kernel));
  std::vector<Mutation> mutations;
  std::map<std::pair<std::string, std::string>, uint32_t> occurrences, siteOccurrences;
  Sites allSites;
  for (const Instruction& instruction : function->body) {
    const std::vector<Change> changes = changesOf(instruction);
    if (changes.empty()) continue;
    const uint32_t line = instruction.location.ptxLine;
    const std::string functions = source.functionsAt(line), form = withoutRegisterNumbers(instruction.text);
    const std::string sites = allSites.at(source, line);
    const uint32_t occurrence = ++occurrences[{functions, form}], siteOccurrence = ++siteOccurrences[{sites, form}];
    for (const Change change : changes)
      mutations.push_back(
          {function->name, line, instruction.text, change, source.at(line), functions, form, occurrence, sites, siteOccurrence});
  }
  return mutations;
}

std::string mutate(std::string_view ptx, const Mutation& mutation) {
  size_t begin = 0;
  for (uint32_t line = 1; line < mutation.ptxLine && begin < ptx.size(); ++line)
    begin = std::min(ptx.find('\n', begin), ptx.size()) + 1;
  begin = std::min(begin, ptx.size());
  const size_t end = std::min(ptx.find('\n', begin), ptx.size());
  std::string line = singleBlanks(ptx.substr(begin, end - begin));
  const size_t at = line.find(mutation.instruction);
  if (at == std::string::npos)
    throw std::invalid_argument(fmt::format("PTX line {} does not contain \"{}\"", mutation.ptxLine, mutation.instruction));
  line.replace(at, mutation.instruction.size(), replacementFor(mutation.instruction, mutation.change));
  return fmt::format("{}{}{}", ptx.substr(0, begin), line, ptx.substr(end));
}

std::string onlyKernel(std::string_view ptx, std::string_view kernel) {
  enum class Region { Module, Kept, Dropped } region = Region::Module;
  std::string result;
  result.reserve(ptx.size());
  while (!ptx.empty()) {
    const size_t end = std::min(ptx.find('\n'), ptx.size());
    const std::string_view line = ptx.substr(0, end);
    if (region == Region::Module && (line.starts_with(".visible .entry ") || line.starts_with(".entry ")))
      region = line.find(fmt::format(" {}(", kernel)) != std::string_view::npos ? Region::Kept : Region::Dropped;
    if (line.starts_with("\t.section")) break;  // debug information, after all code
    if (region != Region::Dropped) result += line;
    result += '\n';
    if (line == "}") region = Region::Module;
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
  }
  return result;
}

}  // namespace shiftconv::tests
