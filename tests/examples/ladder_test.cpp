// The steps of examples/ladder as their README tells readers to run them: its commands in a shell, and what they print and compute.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "tests/support/shell.hpp"
#include "tests/temporary_folder.hpp"

namespace shiftconv::tests {
namespace {

namespace fs = std::filesystem;

/// What the first block of ```<language> after the heading of a step holds.
std::string blockOfStep(int step, const std::string& language) {
  std::istringstream readme(fileContents(LADDER_README));
  const std::string heading = fmt::format("## Step {}:", step), opening = "```" + language;
  std::string line, block;
  bool inStep = false, inBlock = false;
  while (std::getline(readme, line)) {
    if (line.starts_with("## ")) inStep = line.starts_with(heading);
    if (inBlock && line == "```") return block;
    if (inBlock) block += line + "\n";
    if (inStep && line == opening) inBlock = true;
  }
  throw std::runtime_error(fmt::format("{} has no {} block of step {}", LADDER_README, language, step));
}

/// The folders that the README's commands stand in and reach: ladder with the PTX files, bin with the programs.
class Ladder : public testing::TestWithParam<int> {
 protected:
  Ladder() {
    fs::create_directory_symlink(LADDER_PROGRAMS, folder_ / "bin");
    fs::create_directory(folder_ / "ladder");
    for (const auto& file : fs::directory_iterator(LADDER_PTX))
      if (file.path().extension() == ".ptx")
        fs::create_symlink(file.path(), folder_ / ("ladder/" + file.path().filename().string()));
  }
  /// "-e": a command that fails ends the script; `more`: further options of ptxrun.
  Outcome runCommands(const std::string& more = "") const {
    std::string script = blockOfStep(GetParam(), "sh");
    const std::string before = " --hazards warn";
    for (size_t place = script.find(before); place != std::string::npos; place = script.find(before, place)) {
      script.insert(place, more);
      place += more.size() + before.size();
    }
    std::ofstream(folder_ / "commands.sh") << script;
    return runShell(fmt::format("cd '{}' && sh -e ../commands.sh", folder_ / "ladder"));
  }

  const TemporaryFolder folder_;
};

/// Exit status 0: no hazard was seen, and cmp found no difference.
TEST_P(Ladder, ComputesAndPrintsWhatTheReadmeSays) {
  const Outcome run = runCommands();
  ASSERT_EQ(run.exitCode, 0) << run.text;
  size_t place = 0;
  std::istringstream expected(blockOfStep(GetParam(), "text"));
  for (std::string line; std::getline(expected, line);) {
    const size_t found = ("\n" + run.text).find("\n" + line + "\n", place);
    ASSERT_NE(found, std::string::npos) << "the README has '" << line << "', which is not or not in this order in\n" << run.text;
    place = found + 1;
  }
}

TEST_P(Ladder, ComputesTheSameInEveryOrderOfCompletion) {
  for (const char* policy : {" --policy latest", " --policy random --seed 7 --repeat 4"}) {
    const Outcome run = runCommands(policy);
    EXPECT_EQ(run.exitCode, 0) << policy << "\n" << run.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, Ladder, testing::Range(1, 8), [](const auto& info) { return fmt::format("step_{}", info.param); });

}  // namespace
}  // namespace shiftconv::tests
