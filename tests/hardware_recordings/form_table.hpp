// Cases for instructions that work on each thread's own registers: one form, one kernel, thousands of operand sets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/hardware_recordings/case.hpp"
#include "tests/hardware_recordings/operands.hpp"

namespace shiftconv::recordings {

struct FormOptions {
  size_t count = 4096;  ///< operand sets, a multiple of 32
  Tolerance tolerance{};
  OperandFilter filter{};
  std::string moduleText{};  ///< declarations and functions before the kernel
  std::string target = "sm_90";
};

/// "add{.rn,.rz}{,.ftz}.f32" -> "add.rn.f32", "add.rn.ftz.f32", ...
std::vector<std::string> expandBraces(std::string_view pattern);
/// "s32" -> I32, "bf16x2" -> BF16x2; throws std::logic_error when the name is no type.
Kind kindNamed(std::string_view type);

class FormTable {
 public:
  FormTable(CaseList& cases, std::string family) : cases_(cases), family_(std::move(family)) {}

  /// Patterns whose operands and result all have the type of the last modifier.
  void unary(std::string_view pattern, FormOptions options = {}) { uniform(pattern, 1, std::move(options)); }
  void binary(std::string_view pattern, FormOptions options = {}) { uniform(pattern, 2, std::move(options)); }
  void ternary(std::string_view pattern, FormOptions options = {}) { uniform(pattern, 3, std::move(options)); }
  /// One instruction, "<form> %x0.., %a..;".
  void form(std::string_view pattern, const std::vector<Kind>& inputs, const std::vector<Kind>& outputs,
            const FormOptions& options = {});
  /// Any text. Inputs stand in %a %b %c %e %f, results go to %x0, %x1, ...; Pred operands are predicate registers,
  /// all others bit registers of their size (8-bit ones: 32). %i is the index of the thread, %lane its lane.
  void body(const std::string& name, const std::vector<Kind>& inputs, const std::vector<Kind>& outputs, const std::string& text,
            const FormOptions& options = {});

 private:
  void uniform(std::string_view pattern, unsigned operands, FormOptions options);
  CaseList& cases_;
  std::string family_;
};

}  // namespace shiftconv::recordings
