// Runs every case of every family, and holds the decoder's table against the cases.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/form.hpp"
#include "tests/emulator/forms/form_case.hpp"

namespace shiftconv::tests {

namespace {

using emulator::isa::Form;

const FormCases& allCases() {
  static const FormCases cases = [] {
    FormCases all;
    for (const auto family :
         {integerCases,       carryCases, floatCases,       halfCases,  conversionCases,    logicCases,         memoryCases,
          controlCases,       warpCases,  mbarrierCases,    fenceCases, bulkCopyCases,      tensorCases,        matrixCases,
          launchControlCases, wgmmaCases, tileProductCases, wmmaCases,  sparseProductCases, sparseMetadataCases}) {
      FormCases some = family();
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
  }();
  return cases;
}

/// Syntax in the characters that a test name may have.
std::string testName(const FormCase& formCase) {
  std::string name;
  for (const char c : formCase.form) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  constexpr size_t kLongest = 60;
  if (name.size() > kLongest) {
    // Long rows share their beginnings; a hash of the whole row tells them apart and does not change with other rows.
    uint32_t hash = 0x811c9dc5u;
    for (const char c : formCase.form) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
    name = fmt::format("{}_{:08x}", name.substr(0, kLongest), hash);
  }
  return fmt::format("{}__{}", name, formCase.name);
}

class FormTest : public testing::TestWithParam<size_t> {};

TEST_P(FormTest, Executes) {
  const FormCase& formCase = allCases()[GetParam()];
  SCOPED_TRACE(fmt::format("form {}, case {}", formCase.form, formCase.name));
  FormRun run(formCase.form);
  ASSERT_NO_THROW(formCase.run(run));
}

std::vector<size_t> caseIndices() {
  std::vector<size_t> indices(allCases().size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

INSTANTIATE_TEST_SUITE_P(AllForms, FormTest, testing::ValuesIn(caseIndices()),
                         [](const testing::TestParamInfo<size_t>& info) { return testName(allCases()[info.param]); });

TEST(FormTable, EveryFormHasACase) {
  std::map<std::string_view, unsigned> cases;
  for (const Form& form : emulator::instructionSet().forms())
    EXPECT_TRUE(cases.emplace(form.syntax, 0).second) << "two rows have the syntax " << form.syntax;
  for (const FormCase& formCase : allCases()) {
    const auto found = cases.find(formCase.form);
    if (found == cases.end()) {
      ADD_FAILURE() << "case " << formCase.name << " names a form that the table does not have: " << formCase.form;
    } else {
      ++found->second;
    }
  }
  for (const auto& [syntax, count] : cases) EXPECT_GT(count, 0u) << "no case for " << syntax;
}

TEST(FormTable, CaseNamesAreUnique) {
  std::set<std::string> names;
  for (const FormCase& formCase : allCases()) EXPECT_TRUE(names.insert(testName(formCase)).second) << testName(formCase);
}

TEST(FormTable, EveryRowMatchesItsOwnRequiredModifiers) {
  for (const Form& form : emulator::instructionSet().forms()) {
    // The first alternative of every required group, in order: the row, or an earlier one, must take it.
    emulator::ptx::Instruction instruction;
    std::string_view rest = form.syntax;
    instruction.opcode = rest.substr(0, rest.find_first_of(".{"));
    rest.remove_prefix(instruction.opcode.size());
    while (!rest.empty()) {
      const bool optional = rest.front() == '{';
      const size_t end = optional                 ? rest.find('}') + 1
                         : rest.starts_with(".(") ? rest.find(')') + 1
                                                  : std::min(rest.find_first_of(".{", 1), rest.size());
      std::string_view group = rest.substr(0, end);
      rest.remove_prefix(end);
      if (optional) continue;
      group.remove_prefix(group.starts_with(".(") ? 2 : 1);
      instruction.modifiers.emplace_back(group.substr(0, group.find_first_of("|)")));
    }
    emulator::isa::FormMatch match;
    EXPECT_TRUE(emulator::isa::matches(form.syntax, instruction, match)) << form.syntax;
    EXPECT_NE(emulator::instructionSet().find(instruction, match), nullptr) << form.syntax;
  }
}

}  // namespace
}  // namespace shiftconv::tests
