#include "common/emulator/isa/form_table.hpp"

#include <utility>

namespace shiftconv::emulator::isa {

FormTable::FormTable(std::vector<NamedFamily> families) : families_(std::move(families)) {
  for (const NamedFamily& family : families_) {
    const FormFamily rows = family.forms();
    forms_.insert(forms_.end(), rows.begin(), rows.end());
  }
  for (const Form& form : forms_) {
    Pattern pattern(form.syntax);
    const std::string_view opcode = pattern.opcode();
    index_[opcode].push_back({std::move(pattern), &form});
  }
}

const Form* FormTable::find(const ptx::Instruction& instruction, FormMatch& match) const {
  const auto rows = index_.find(instruction.opcode);
  if (rows == index_.end()) return nullptr;
  for (const Row& row : rows->second)
    if (row.pattern.matchOrdered(instruction.modifiers, match)) return row.form;
  for (const Row& row : rows->second)
    if (row.pattern.matchUnordered(instruction.modifiers, match)) return row.form;
  return nullptr;
}

}  // namespace shiftconv::emulator::isa
