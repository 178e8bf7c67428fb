// The decoder's table: all families in one list, indexed by opcode.
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/emulator/isa/form.hpp"
#include "common/emulator/isa/pattern.hpp"

namespace shiftconv::emulator::isa {
namespace {

struct Row {
  Pattern pattern;
  const Form* form;
};

using Index = std::unordered_map<std::string_view, std::vector<Row>>;

const Index& index() {
  static const Index built = [] {
    Index result;
    for (const Form& form : allForms()) {
      Pattern pattern(form.syntax);
      const std::string_view opcode = pattern.opcode();
      result[opcode].push_back({std::move(pattern), &form});
    }
    return result;
  }();
  return built;
}

}  // namespace

const std::vector<NamedFamily>& formFamilies() {
  static const std::vector<NamedFamily> families = {
      {"Integer arithmetic", integerForms},
      {"Floating point", floatForms},
      {"Half precision", halfForms},
      {"Conversion", conversionForms},
      {"Logic, shifts, comparison, selection, moves", logicForms},
      {"Memory, addresses, atomics, cp.async", memoryForms},
      {"Control flow and barriers", controlForms},
      {"Exchange between lanes", warpForms},
      {"mbarrier", mbarrierForms},
      {"Fences, grid dependencies, register allocation", fenceForms},
      {"Bulk and tensor copies", bulkCopyForms},
      {"Tensor core, fifth generation", tensorForms},
      {"Matrices in shared memory", matrixForms},
      {"Cluster launch control", launchControlForms},
  };
  return families;
}

const std::vector<Form>& allForms() {
  static const std::vector<Form> forms = [] {
    std::vector<Form> all;
    for (const NamedFamily& family : formFamilies()) {
      const FormFamily rows = family.forms();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return forms;
}

const Form* findForm(const ptx::Instruction& instruction, FormMatch& match) {
  const auto rows = index().find(instruction.opcode);
  if (rows == index().end()) return nullptr;
  for (const Row& row : rows->second)
    if (row.pattern.matchOrdered(instruction.modifiers, match)) return row.form;
  for (const Row& row : rows->second)
    if (row.pattern.matchUnordered(instruction.modifiers, match)) return row.form;
  return nullptr;
}

}  // namespace shiftconv::emulator::isa
