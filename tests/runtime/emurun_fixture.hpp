// Runs the test programs under emurun.
#pragma once

#include <fmt/format.h>

#include "tests/support/program_fixture.hpp"

namespace shiftconv::tests {

class EmurunTest : public PtxrunTest {
 protected:
  static std::string program(const std::string& name) { return fmt::format("{}/{}", SHIFTCONV_TEST_PROGRAMS, name); }

  ProgramResult emurun(const std::vector<std::string>& arguments) const { return runProgram(SHIFTCONV_EMURUN, arguments, folder); }

  /// emurun with `options`, the program and its arguments.
  ProgramResult run(std::vector<std::string> options, const std::string& name,
                    const std::vector<std::string>& arguments = {}) const {
    options.push_back(program(name));
    options.insert(options.end(), arguments.begin(), arguments.end());
    return emurun(options);
  }

  static void expectParts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
  }

  /// Exactly one sentence: one line.
  static void expectSentence(const ProgramResult& result, int exitCode, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.exitCode, exitCode) << result.output << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    expectParts(result.errors, parts);
  }
};

}  // namespace shiftconv::tests
