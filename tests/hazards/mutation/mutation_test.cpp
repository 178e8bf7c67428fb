// What the mutation engine does to a small kernel, line by line, and which trials it runs.
#include "tests/hazards/mutation/mutation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <tuple>

#include "tests/hazards/mutation/equivalents.hpp"
#include "tests/hazards/mutation/executed_lines.hpp"
#include "tests/hazards/mutation/trial_run.hpp"
#include "tests/support/kernel_trials.hpp"
#include "tests/support/source_positions.hpp"
#include "tests/temporary_folder.hpp"

namespace shiftconv::tests {
namespace {

constexpr std::string_view kModule = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry other()
{
bar.sync 0;
ret;
}
.visible .entry k()
{
.reg .pred %p<2>;
.reg .b32 %r<4>;
.reg .b64 %rd<2>;
fence.proxy.async.shared::cta;
@%p1 bar.sync 	1, 64;
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4096;
@!%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];
cp.async.bulk.wait_group.read 0;
tcgen05.wait::ld.sync.aligned;
@%p1 st.release.gpu.global.u32 [%rd1], %r2;
barrier.cluster.wait.acquire;
mbarrier.init.shared::cta.b64 [%r1], 1;
add.u32 %r1, %r2, 16;
wgmma.fence.sync.aligned;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r1];
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r2, %r3}], [%r1];
ret;
}
)";

/// The line that a mutation leaves behind.
std::string mutatedLine(const Mutation& mutation) {
  const std::string text = mutate(kModule, mutation);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(kModule.begin(), kModule.end(), '\n')) << "lines moved";
  size_t begin = 0;
  for (uint32_t line = 1; line < mutation.ptxLine; ++line) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Mutation, EveryOrderingInstructionIsBrokenInEveryWay) {
  using Expected = std::tuple<uint32_t, Change, std::string>;
  const std::vector<Expected> expected = {
      {14, Change::Delete, ""},
      {15, Change::Delete, ""},
      {16, Change::SucceedAtOnce, "setp.eq.u32 %p1, 0, 0;"},
      {16, Change::FlipParity,
       "{ .reg .b32 mutated; mov.b32 mutated, %r2; xor.b32 mutated, mutated, 1; "
       "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], mutated; }"},
      {17, Change::Delete, ""},
      {17, Change::PlainArrive, "mbarrier.arrive.shared::cta.b64 _, [%r1];"},
      {17, Change::Add16Bytes,
       "{ .reg .b32 mutated; mov.b32 mutated, 4096; add.u32 mutated, mutated, 16; "
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], mutated; }"},
      {17, Change::Subtract16Bytes,
       "{ .reg .b32 mutated; mov.b32 mutated, 4096; sub.u32 mutated, mutated, 16; "
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], mutated; }"},
      {18, Change::Delete, ""},
      {19, Change::Delete, ""},
      {19, Change::Add16Bytes,
       "{ .reg .b32 mutated; mov.b32 mutated, %r2; add.u32 mutated, mutated, 16; "
       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], mutated, [%r3]; }"},
      {19, Change::Subtract16Bytes,
       "{ .reg .b32 mutated; mov.b32 mutated, %r2; sub.u32 mutated, mutated, 16; "
       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], mutated, [%r3]; }"},
      {20, Change::Delete, ""},
      {21, Change::Delete, ""},
      {22, Change::Relax, "@%p1 st.relaxed.gpu.global.u32 [%rd1], %r2;"},
      {23, Change::Delete, ""},
      {26, Change::Delete, ""},
      {27, Change::Delete, ""},
      {28, Change::Delete, ""},
      {29, Change::Delete, ""},
  };
  std::vector<Expected> made;
  for (const Mutation& mutation : mutationsOf(kModule, "k", SourcePositions(kModule)))
    made.emplace_back(mutation.ptxLine, mutation.change, mutatedLine(mutation));
  EXPECT_EQ(made, expected);
}

TEST(Mutation, AGuardStaysWithItsInstruction) {
  const Mutation wait{.kernel = "k", .ptxLine = 15, .instruction = "@%p1 bar.sync 1, 64;"};
  EXPECT_EQ(mutatedLine(wait), "");
  EXPECT_EQ(mutationsOf(kModule, "k", SourcePositions(kModule)).at(1).instruction, wait.instruction);
  const Mutation elsewhere{.kernel = "k", .ptxLine = 16, .instruction = wait.instruction};
  EXPECT_THROW(mutate(kModule, elsewhere), std::invalid_argument);
}

TEST(Mutation, OtherKernelsBecomeEmptyLines) {
  const std::string text = onlyKernel(kModule, "k");
  EXPECT_EQ(text.find("other"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(kModule.begin(), kModule.end(), '\n'));
  const SourcePositions source(kModule);
  EXPECT_EQ(mutationsOf(text, "k", source).size(), mutationsOf(kModule, "k", source).size());
  EXPECT_EQ(mutationsOf(text, "k", source).front().ptxLine, 14u);
}

TEST(SourcePositions, FollowInlinedCalls) {
  const SourcePositions positions(
      ".file 1 \"/a/kernel.cu\"\n"
      ".file 2 \"/a/common/ptx/mbarrier.cuh\"\n"
      ".loc 1 50 3\n"
      ".loc 1 20 7, function_name $f, inlined_at 1 50 3\n"
      ".loc 2 9 3, function_name $g, inlined_at 1 20 7\n"
      "fence;\n"
      ".loc 1 51 1\n"
      "fence;\n");
  EXPECT_EQ(positions.at(1), "");
  EXPECT_EQ(positions.at(6), "kernel.cu:50/20");
  EXPECT_EQ(positions.at(8), "kernel.cu:51");
}

TEST(SourcePositions, NameTheFunctionsAroundALine) {
  const SourcePositions positions(
      ".file 1 \"/a/kernel.cu\"\n"
      ".file 2 \"/a/common/ptx/mbarrier.cuh\"\n"
      ".loc 1 50 3\n"
      ".loc 1 20 7, function_name $f, inlined_at 1 50 3\n"
      ".loc 1 30 7, function_name $g, inlined_at 1 20 7\n"
      ".loc 2 9 3, function_name $w, inlined_at 1 30 7\n"
      "fence;\n"
      ".loc 1 51 1\n"
      "fence;\n"
      ".section .debug_str\n{\n"
      "$f:\n.b8 95\n.b8 90\n.b8 49\n.b8 102\n.b8 118\n.b8 0\n"  // _Z1fv
      "$g:\n.b8 103,0\n"                                        // as for sm_90: several in a line
      "$w:\n.b8 119\n.b8 0\n}\n");
  EXPECT_EQ(positions.functionsAt(7), "f/g") << "the wrapper of common/ptx does not count";
  EXPECT_EQ(positions.functionsAt(9), "") << "the kernel itself";
}

/// A kernel's source, and PTX that was made from it: a call in line 3, whose function spans lines 6 and 7.
struct MarkedSource {
  TemporaryFolder folder;
  std::string ptx;

  MarkedSource() {
    const std::string path = folder / "kernel.cu";
    std::ofstream(path) << "void kernel() {\n"
                           "  one();\n"
                           "  two();  // the second; site: second\n"
                           "}\n"
                           "void two() {\n"
                           "  wait(1,\n"
                           "       2);  // site: wait\n"
                           "  after();  // a site: here or there\n"
                           "}\n";
    const auto at = [](int line) {
      return fmt::format(".loc 1 3 3\n.loc 1 {} 3, function_name $f, inlined_at 1 3 3\nbar.sync 0;\n", line);
    };
    ptx = fmt::format(".version 9.0\n.target sm_100a\n.address_size 64\n.file 1 \"{}\"\n.visible .entry k()\n{{\n{}{}{}ret;\n}}\n",
                      path, at(6), at(7), at(8));
  }
};

TEST(Sites, AreThoseOfTheLinesThatAnInstructionComesFrom) {
  const MarkedSource source;
  const std::vector<Mutation> found = mutationsOf(source.ptx, "k", SourcePositions(source.ptx));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(std::tuple(found[0].sites, found[0].siteOccurrence), std::tuple("second/wait", 1u)) << "a statement of two lines";
  EXPECT_EQ(std::tuple(found[1].sites, found[1].siteOccurrence), std::tuple("second/wait", 2u));
  EXPECT_EQ(std::tuple(found[2].sites, found[2].siteOccurrence), std::tuple("second", 1u)) << "a mark is at the end of its line";
}

TEST(Equivalents, AreFoundBySite) {
  const MarkedSource source;
  const std::vector<Mutation> found = mutationsOf(source.ptx, "k", SourcePositions(source.ptx));
  const std::string path = source.folder / "proofs";
  std::ofstream(path) << "k | site: wait | bar.sync 0; | 2 | deleted | the innermost of two\n"
                         "k | site: second | bar.sync 0; | * | deleted | the call\n";
  Equivalents equivalents;
  equivalents.read(path, true);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(equivalents.find(found[0]), nullptr);
  EXPECT_EQ(equivalents.find(found[1]), &equivalents.entries()[0]);
  EXPECT_EQ(equivalents.find(found[2]), &equivalents.entries()[1]);
}

TEST(SourcePositions, FunctionNamesAreShort) {
  EXPECT_EQ(shortFunctionName("f()"), "f");
  EXPECT_EQ(shortFunctionName("a::(anonymous namespace)::Cta<(a::Path)0, __half>::run(unsigned int) const"), "run");
  EXPECT_EQ(shortFunctionName("void a::Cta<b::C<int>>::each<a::f()::{lambda(int)#1}>(int)"), "each");
  EXPECT_EQ(shortFunctionName("a::Cta<int>::load() const::{lambda(int)#1}::operator()(int) const"), "load");
}

TEST(Mutation, AKeySurvivesEditsElsewhere) {
  const auto keyOf = [](std::string_view ptx) {
    for (const Mutation& m : mutationsOf(ptx, "k", SourcePositions(ptx)))
      if (m.form.starts_with("mbarrier.try_wait") && m.change == Change::FlipParity) return std::tuple(m.form, m.occurrence);
    return std::tuple(std::string(), 0u);
  };
  const std::tuple<std::string, uint32_t> expected{"mbarrier.try_wait.parity.shared::cta.b64 %p, [%r], %r;", 1};
  EXPECT_EQ(keyOf(kModule), expected);
  std::string edited(kModule);
  edited.replace(edited.find("%p1, [%r1], %r2;"), 16, "%p0, [%r3], %r1;");
  edited.insert(edited.find("fence.proxy"), "add.u32 %r1, %r2, 32;\n");
  EXPECT_EQ(keyOf(edited), expected);
  // A second one of the same form is another occurrence.
  edited.insert(edited.find("mbarrier.arrive.expect"), "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r3;\n");
  const auto all = mutationsOf(edited, "k", SourcePositions(edited));
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Mutation& m) { return m.occurrence == 2; }), 2);
}

/// Threads from 32 on take the branch.
constexpr std::string_view kBranches = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k()
{
.reg .pred %p<1>;
.reg .b32 %r<1>;
mov.u32 %r0, %tid.x;
setp.lt.u32 %p0, %r0, 32;
@%p0 bra $first;
bar.sync 1, 32;
ret;
$first:
bar.sync 2, 32;
ret;
}
)";

/// Trials of one warp and of two.
Subject branchingSubject() {
  const auto trial = [](uint32_t warps) {
    return [warps](DeviceRun& run, const emulator::Options& options) {
      emulator::machine::LaunchConfig config;
      config.block = {32 * warps, 1, 1};
      return run.launch(config, {}, options);
    };
  };
  return makeSubject("k", std::string(kBranches), {{"two warps", trial(2)}, {"one warp", trial(1)}});
}

TEST(ExecutedLines, AreThoseThatAWarpComesTo) {
  const Subject subject = branchingSubject();
  const auto loaded = subject.load(subject.ptx);
  for (const size_t trial : {0u, 1u}) {
    const ExecutedLines lines = executedLines(*loaded, trial, {});
    for (const uint32_t line : {8u, 9u, 10u, 14u, 15u}) EXPECT_TRUE(lines.contains(line)) << line;
    for (const uint32_t line : {11u, 12u}) EXPECT_EQ(lines.contains(line), trial == 0) << line;
    for (const uint32_t line : {0u, 7u, 13u, 1000u}) EXPECT_FALSE(lines.contains(line)) << line;
  }
}

TEST(Judge, LeavesOutTrialsThatDoNotComeToTheMutant) {
  const Subject subject = branchingSubject();
  std::vector<std::string> alarms;
  const Baseline baseline = runUnchanged(subject, alarms, Thoroughness::EverySchedule);
  EXPECT_TRUE(alarms.empty()) << alarms.front();
  const auto judgeWith = [&](std::string_view original, std::string_view replacement, const Baseline& trials, uint32_t line) {
    std::string mutant = subject.ptx;
    mutant.replace(mutant.find(original), original.size(), replacement);
    return judge(subject, mutant, line, trials, Thoroughness::EverySchedule);
  };
  // 64 threads are awaited where 32 come.
  const Judgement inBoth = judgeWith("bar.sync 2, 32;", "bar.sync 2, 64;", baseline, 14);
  EXPECT_EQ(inBoth.verdict, Verdict::Detected);
  EXPECT_NE(inBoth.how.find("one warp"), std::string::npos) << "the shortest trial comes first: " << inBoth.how;
  const Judgement inOne = judgeWith("bar.sync 1, 32;", "bar.sync 1, 64;", baseline, 11);
  EXPECT_EQ(inOne.verdict, Verdict::Detected);
  EXPECT_NE(inOne.how.find("two warps"), std::string::npos) << inOne.how;
  // A baseline in which no trial has executed anything.
  Baseline nowhere = baseline;
  for (TrialBaseline& trial : nowhere) trial.lines = {};
  EXPECT_EQ(judgeWith("bar.sync 1, 32;", "bar.sync 1, 64;", nowhere, 11).how, "no trial comes to it");
  EXPECT_EQ(judgeWith("bar.sync 1, 32;", "bar.sync 1, 64;", nowhere, 0).verdict, Verdict::Detected) << "all trials are run";
}

}  // namespace
}  // namespace shiftconv::tests
