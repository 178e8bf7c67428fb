// The checker over correct kernels, and over variants in which one piece of the order is missing; what reports say.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hazards/ordered_kernels.hpp"
#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests {
namespace {

using emulator::Hazard;
using emulator::HazardMode;

std::vector<Hazard> hazardsOf(const OrderedKernel& subject, const std::string& body, const Options& options) {
  LaunchReport report;
  Options watched = options;
  watched.hazards = HazardMode::Warn;
  runWords(withBody(body), subject.config, 256, watched, &report);
  return report.hazards;
}

std::string list(const std::vector<Hazard>& hazards) {
  std::string text = "reported:\n";
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
}

TEST(HazardChecker, SaysNothingAboutCorrectKernels) {
  for (const OrderedKernel& subject : orderedKernels())
    for (const Options& options : schedules(3))
      EXPECT_EQ(hazardsOf(subject, subject.body, options).size(), 0u) << subject.name << ", " << nameOf(options) << "\n"
                                                                      << list(hazardsOf(subject, subject.body, options));
}

TEST(HazardChecker, FindsEveryMissingPieceUnderEveryScheduleThatRunsToTheEnd) {
  for (const OrderedKernel& subject : orderedKernels())
    for (const Fault& fault : subject.faults) {
      std::string body = subject.body;
      const size_t at = body.find(fault.original);
      ASSERT_NE(at, std::string::npos) << subject.name << "/" << fault.name;
      ASSERT_EQ(body.find(fault.original, at + 1), std::string::npos) << subject.name << "/" << fault.name;
      body.replace(at, fault.original.size(), fault.replacement);
      bool anywhere = fault.kind == kAnyError;
      for (const Options& options : schedules(2)) {
        SCOPED_TRACE(subject.name + "/" + fault.name + ", " + nameOf(options));
        try {
          const std::vector<Hazard> hazards = hazardsOf(subject, body, options);
          const bool found = std::any_of(hazards.begin(), hazards.end(), [&](const Hazard& hazard) {
            return fault.kind == kAnyError ||
                   (hazard.kind == fault.kind && hazard.missing.find(fault.missing) != std::string::npos);
          });
          EXPECT_TRUE(found) << list(hazards);
          anywhere |= found;
        } catch (const EmulatorError& error) {
          // This schedule made the fault visible without the checker: undefined data, or a deadlock.
          anywhere |= std::string(error.what()).find(fault.missing) != std::string::npos;
        }
      }
      EXPECT_TRUE(anywhere) << subject.name << "/" << fault.name << ": every schedule ran into another error first";
    }
}

TEST(HazardReport, NamesBothInstructionsTheThreadsAndTheBytes) {
  const OrderedKernel subject = orderedKernels().front();
  std::string body = subject.body;
  body.replace(body.find("bar.sync 0;"), 11, "");
  const std::vector<Hazard> hazards = hazardsOf(subject, body, {});
  // The first warp overwrites what the second one reads, and the other way round.
  ASSERT_EQ(hazards.size(), 2u) << list(hazards);
  const Hazard& hazard = hazards[hazards[0].first.ptxLine < hazards[0].second.ptxLine ? 0 : 1];
  EXPECT_CONTAINS(hazard.first.what, "write of shared memory bytes 0x");
  EXPECT_CONTAINS(hazard.first.where, "st.shared.u32 [%r6], %r0");
  EXPECT_CONTAINS(hazard.second.what, "read of shared memory bytes 0x");
  EXPECT_CONTAINS(hazard.second.where, "ld.shared.u32 %r8, [%r7]");
  EXPECT_EQ(hazard.first.kernel, "k");
  EXPECT_LT(hazard.first.ptxLine, hazard.second.ptxLine);
  EXPECT_EQ(hazard.count, 32u) << "one for every lane of the second warp";
}

TEST(HazardReport, NamesTheRoleOfTheWarp) {
  const OrderedKernel subject = orderedKernels().front();
  std::string body = subject.body;
  body.replace(body.find("bar.sync 0;"), 11, "");
  Options options;
  options.warpRoles = {"producer", "consumer"};
  const std::vector<Hazard> hazards = hazardsOf(subject, body, options);
  ASSERT_FALSE(hazards.empty());
  const std::string threads = hazards[0].first.thread + hazards[0].second.thread;
  EXPECT_CONTAINS(threads, "warp 0 (producer)");
  EXPECT_CONTAINS(threads, "warp 1 (consumer)");
}

TEST(HazardMode, ErrorEndsTheLaunchAtTheFirstOne) {
  const OrderedKernel subject = orderedKernels().front();
  std::string body = subject.body;
  body.replace(body.find("bar.sync 0;"), 11, "");
  Options options;
  options.hazards = HazardMode::Error;
  const EmulatorError error = errorOf(withBody(body), subject.config, options);
  EXPECT_EQ(error.kind(), ErrorKind::Hazard);
  EXPECT_CONTAINS(error.what(), "missing: nothing orders the two");
}

TEST(HazardMode, OffLooksForNothing) {
  const OrderedKernel subject = orderedKernels().front();
  std::string body = subject.body;
  body.replace(body.find("bar.sync 0;"), 11, "");
  LaunchReport report;
  runWords(withBody(body), subject.config, 256, {}, &report);
  EXPECT_TRUE(report.hazards.empty());
}

}  // namespace
}  // namespace shiftconv::tests
