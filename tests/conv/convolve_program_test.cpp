// The program convolve as its users run it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/shell.hpp"

namespace shiftconv::tests {
namespace {

constexpr const char* kGood = "'1x5x5x8 f16 * 8x3x3x8 pad 1,1,1,1 -> f16'";

/// Without cache and device of the environment; nobody here has a GPU unless the test names it.
Outcome runProgram(const std::string& arguments) {
  return runShell(fmt::format("SHIFTCONV_AUTOTUNE_CACHE= SHIFTCONV_DEVICE= CUDA_VISIBLE_DEVICES= '{}' {}", CONVOLVE, arguments));
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ConvolveProgram, JudgesOutputsInBlocks) {
  for (const char* scale : {"e4m3 scale ue8m0/32", "e2m1 scale ue4m3/16/interleaved"}) {
    const Outcome run =
        runProgram(fmt::format("--device emulated '1x3x5x128 e4m3 scale ue8m0/32 * 48x1x1x128 scale ue8m0/32 -> {}'", scale));
    EXPECT_EQ(run.exitCode, 0) << run.text;
    EXPECT_TRUE(contains(run.text, "right: 720 elements in blocks of ")) << run.text;
  }
}

TEST(ConvolveProgram, GoesOnBehindAProblemThatItCannotRun) {
  const Outcome run =
      runProgram(fmt::format("--device emulated:sm_90a 'nonsense' {} '1x5x5x8 f16 * 8x3x3x9 -> f16' {}", kGood, kGood));
  EXPECT_EQ(run.exitCode, 2) << run.text;
  EXPECT_TRUE(contains(run.text, "nonsense\n  not run: ")) << run.text;
  EXPECT_TRUE(contains(run.text, "0 of 4 problems are wrong, 2 were not run")) << run.text;
  const size_t first = run.text.find("right: 200 elements");
  ASSERT_NE(first, std::string::npos) << run.text;
  EXPECT_NE(run.text.find("right: 200 elements", first + 1), std::string::npos) << run.text;
  EXPECT_EQ(runProgram(fmt::format("--device emulated:sm_90a {}", kGood)).exitCode, 0);
  EXPECT_EQ(runProgram("--device emulated:sm_90a nonsense").exitCode, 2);
  const Outcome longOne = runProgram("--device emulated:sm_90a " + std::string(20000, '9'));
  EXPECT_EQ(longOne.exitCode, 2);
  EXPECT_LT(longOne.text.size(), 1500u) << "a part of it says which problem it was";
}

TEST(ConvolveProgram, TakesADeviceThatThePlanIsFor) {
  for (const auto& [planFor, device] : {std::pair{"H200", "emulated sm_90a"}, {"B200", "emulated sm_100a"}}) {
    const Outcome run = runProgram(fmt::format("--plan-for {} {}", planFor, kGood));
    EXPECT_EQ(run.exitCode, 0) << run.text;
    EXPECT_TRUE(contains(run.text, std::string(device) + ", operands")) << run.text;
    const size_t taken = run.text.find("Taking an emulated device: there is no GPU"), end = run.text.find('\n', taken);
    EXPECT_NE(taken, std::string::npos) << run.text;
    EXPECT_FALSE(contains(run.text.substr(taken, end - taken), "SHIFTCONV_DEVICE")) << "it need not be asked for: " << run.text;
  }
  const Outcome mismatch = runProgram(fmt::format("--device emulated --plan-for H200 {}", kGood));
  EXPECT_EQ(mismatch.exitCode, 2);
  EXPECT_TRUE(contains(mismatch.text, "a plan for H200 needs a device of compute capability 9.0, but emulated sm_100a has 10.0"))
      << mismatch.text;
  const Outcome absent = runProgram(fmt::format("--plan-for B300 {}", kGood));
  EXPECT_EQ(absent.exitCode, 2);
  EXPECT_TRUE(contains(absent.text, "emulated:sm_103a")) << absent.text;
}

TEST(ConvolveProgram, ExplainsWhyAndWhyNot) {
  const Outcome run = runProgram(fmt::format("--plan-for H200 --explain {}", kGood));
  EXPECT_EQ(run.exitCode, 0) << run.text;
  EXPECT_TRUE(contains(run.text, "  no  shift_stream needs tcgen05")) << run.text;
  EXPECT_TRUE(contains(run.text, "  yes halo shape=")) << run.text;
  EXPECT_TRUE(contains(run.text, "  yes direct : ")) << run.text;
  EXPECT_TRUE(contains(run.text, "\nroofline   0.0")) << run.text;
  const size_t again = run.text.find("\nagain with convolve ");
  ASSERT_NE(again, std::string::npos) << run.text;
  std::string command = run.text.substr(again + 21);
  command.resize(command.find('\n'));
  const Outcome repeated = runProgram(command);
  EXPECT_EQ(repeated.exitCode, 0) << command << "\n" << repeated.text;
  EXPECT_TRUE(contains(repeated.text, "right: 200 elements")) << repeated.text;
  EXPECT_TRUE(contains(run.text, " clocks\nestimate ")) << run.text;
  // A problem that has no plan says why each algorithm has none, and the next one has its turn.
  const Outcome several = runProgram(fmt::format("--plan-for H200 --explain nonsense '1x5x5x8 f16 * 8x3x3x8 -> e3m2' {}", kGood));
  EXPECT_EQ(several.exitCode, 2) << several.text;
  const size_t refused = several.text.find("  no  direct: output_type: e3m2"),
               why = several.text.find("\n  not planned: no algorithm");
  EXPECT_TRUE(contains(several.text, "nonsense\n  not planned: ")) << several.text;
  EXPECT_TRUE(refused < why && why != std::string::npos) << several.text;
  EXPECT_NE(several.text.find("\nagain with convolve ", why), std::string::npos) << several.text;
  EXPECT_TRUE(contains(several.text, "0 of 3 problems are wrong, 2 were not planned")) << several.text;
}

TEST(ConvolveProgram, PlansForAnyBatch) {
  const std::string problem = "'32x7x7x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16'",
                    one = "'1x7x7x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16'";
  const auto chosen = [](const std::string& arguments) {
    const Outcome run = runProgram("--plan-for H200 --explain " + arguments);
    EXPECT_EQ(run.exitCode, 0) << run.text;
    const size_t at = run.text.find("\nalgorithm  ");
    return run.text.substr(at, run.text.find('\n', run.text.find("\noptions ", at) + 1) - at);
  };
  EXPECT_EQ(chosen("--batch-invariant " + problem), chosen("--batch-invariant " + one));
  EXPECT_NE(chosen("--batch-invariant " + problem), chosen(problem));
}

TEST(ConvolveProgram, PrintsWhatABugReportNeeds) {
  const Outcome run = runProgram("--environment");
  EXPECT_EQ(run.exitCode, 0) << run.text;
  for (const char* part :
       {"ShiftConv 0.", "emulated sm_100a, compute capability 10.0", "emulated sm_90a", "CUDA_VISIBLE_DEVICES=\n"})
    EXPECT_TRUE(contains(run.text, part)) << part << " in " << run.text;
}

/// The lines of the log are commands that repeat what was planned and run.
TEST(ConvolveProgram, RepeatsWhatTheLogSays) {
  const Outcome run = runShell(
      fmt::format("SHIFTCONV_LOG=debug SHIFTCONV_DEVICE= CUDA_VISIBLE_DEVICES= '{}' --device emulated:sm_90a {}", CONVOLVE, kGood));
  EXPECT_EQ(run.exitCode, 0) << run.text;
  for (const char* what : {"plan, again with: convolve ", "run, again with: convolve "}) {
    const size_t at = run.text.find(what);
    ASSERT_NE(at, std::string::npos) << what << run.text;
    std::string command = run.text.substr(at + std::string(what).size());
    command.resize(command.find('\n'));
    EXPECT_EQ(command.rfind("--device emulated:sm_90a --algorithm ", 0), 0u) << command;
    const Outcome repeated = runProgram(command);
    EXPECT_EQ(repeated.exitCode, 0) << command << "\n" << repeated.text;
    EXPECT_TRUE(contains(repeated.text, "right: 200 elements")) << repeated.text;
  }
}

TEST(ConvolveProgram, SaysNothingAboutAnEmulatedDeviceThatItWasAskedFor) {
  const Outcome run = runProgram(fmt::format("--device emulated {}", kGood));
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(run.text.rfind("emulated sm_100a, operands 1\n", 0), 0u) << run.text;
  const Outcome wrong = runProgram(fmt::format("--device gpu {}", kGood));
  EXPECT_EQ(wrong.exitCode, 2);
  EXPECT_TRUE(contains(wrong.text, "name must be auto, cuda, ")) << wrong.text;
}

}  // namespace
}  // namespace shiftconv::tests
