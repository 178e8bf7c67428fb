// All rows that a machine decodes, in one list that is indexed by opcode.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/emulator/isa/form.hpp"
#include "common/emulator/isa/pattern.hpp"

namespace shiftconv::emulator::isa {

/// Made by whoever composes the machine, out of the families that it shall have. Never changes.
class FormTable {
 public:
  /// The decoder searches the families in this order.
  explicit FormTable(std::vector<NamedFamily> families);
  FormTable(const FormTable&) = delete;
  FormTable& operator=(const FormTable&) = delete;

  const std::vector<NamedFamily>& families() const { return families_; }
  /// The rows of all families, in that order.
  const std::vector<Form>& forms() const { return forms_; }
  /// The row for an instruction, or nullptr.
  const Form* find(const ptx::Instruction& instruction, FormMatch& match) const;

 private:
  struct Row {
    Pattern pattern;
    const Form* form;
  };
  std::vector<NamedFamily> families_;
  std::vector<Form> forms_;
  std::unordered_map<std::string_view, std::vector<Row>> index_;  ///< by opcode
};

}  // namespace shiftconv::emulator::isa
