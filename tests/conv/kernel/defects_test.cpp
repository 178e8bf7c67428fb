// Kernels with one thing removed: each must fail, by a wrong result under some schedule or by a report of the machine.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/conv/kernel/kernel_case.hpp"

namespace shiftconv::tests {
namespace {

std::vector<std::string> defectNames() {
  std::vector<std::string> names;
  std::stringstream list(DEFECT_NAMES);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

/// Problems on which each defect has something to break: several tiles a CTA, more runs than slots and stages, masks,
/// a streamed filter.
std::vector<KernelCase>& victims() {
  static std::vector<KernelCase> cases = [] {
    std::vector<KernelCase> made;
    made.emplace_back(makeProblem(2, 17, 23, 72, 40, 3, 3, {1, 1, 1, 1}), 101);
    made.emplace_back(makeProblem(1, 9, 37, 200, 144, 3, 3, {1, 1, 1, 1}), 102);
    return made;
  }();
  return cases;
}

std::vector<emulator::Options> schedules() {
  std::vector<emulator::Options> all(2);
  all[1].policy = emulator::SchedulePolicy::Latest;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    all.emplace_back();
    all.back().policy = emulator::SchedulePolicy::Random;
    all.back().seed = seed;
  }
  // A copy after the MMAs of its thread, and a store to Tensor Memory after a release, are ordered by default because shipped
  // programs rely on it; these kernels must not.
  const std::vector<emulator::Options> ordered = all;
  for (emulator::Options options : ordered) {
    for (const emulator::Unproven id : {emulator::Unproven::U6, emulator::Unproven::U35}) options.semantics.choose(id, 1);
    all.push_back(options);
  }
  return all;
}

const char* nameOf(emulator::SchedulePolicy policy) {
  return policy == emulator::SchedulePolicy::Earliest ? "earliest"
         : policy == emulator::SchedulePolicy::Latest ? "latest"
                                                      : "random";
}

/// How the kernel fails, or "" when it does not.
std::string failure(KernelRunner& runner) {
  for (const emulator::Options& options : schedules()) {
    for (const KernelCase& victim : victims()) {
      std::string how;
      try {
        how = victim.judge(runner.run(victim.problem(), victim.inputs(), {}, options), emulator::Numerics::Hardware);
      } catch (const emulator::EmulatorError& error) {
        how = std::string(toString(error.kind())) + ": " + error.what();
      }
      if (!how.empty()) return std::string(nameOf(options.policy)) + " schedule: " + how.substr(0, how.find('\n'));
    }
  }
  return {};
}

class Defect : public testing::TestWithParam<std::string> {};

TEST_P(Defect, IsCaught) {
  std::ifstream file(std::string(DEFECT_FOLDER) + "/" + GetParam() + ".ptx");
  ASSERT_TRUE(file) << "no PTX for " << GetParam();
  std::stringstream ptx;
  ptx << file.rdbuf();
  KernelRunner runner(ptx.str());
  const std::string how = failure(runner);
  EXPECT_NE(how, "") << "the broken kernel gives right results under every schedule";
  std::cout << GetParam() << ": " << how << "\n";
}

INSTANTIATE_TEST_SUITE_P(ShiftWindow, Defect, testing::ValuesIn(defectNames()), [](const auto& info) { return info.param; });

// The same victims and schedules find nothing in the kernel that ships, so what they find above is the defect.
TEST(NoDefect, TheShippedKernelPassesWhereDefectsAreCaught) {
  KernelRunner runner;
  EXPECT_EQ(failure(runner), "");
}

}  // namespace
}  // namespace shiftconv::tests
