// Runs of a plan whose every claim is held to what the emulator saw: results, hazards, counters and open questions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conv/kernel/counted.hpp"
#include "tests/conv/kernel/stream_case.hpp"
#include "tests/support/schedules.hpp"

namespace shiftconv::tests {

/// Every open question that the run asked is one of those that the plan names. Of the order of copies and MMAs (U6, U31) the
/// hazard checker says who relies on it: the machine counts what it kept in order, waited for or not. So it is with U17, whose
/// default keeps nothing in order: who relied on more would have a race.
template <class Plan>
void expectQuestionsNamed(const Plan& plan, const emulator::Counters& counters) {
  const auto named = plan.openQuestions();
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions())
    if (counters.unprovenUses[static_cast<size_t>(question.id)] != 0 && question.settledBy.empty() &&
        question.id != emulator::Unproven::U6 && question.id != emulator::Unproven::U17 && question.id != emulator::Unproven::U31) {
      EXPECT_NE(std::find(named.begin(), named.end(), question.name), named.end()) << question.name << ": " << question.question;
    }
}

template <class Plan>
void judge(emulator::Emulator& machine, const emulator::LoadedModule& module, const Plan& plan, const StreamCase& one,
           emulator::Options options) {
  SCOPED_TRACE(plan.describe());
  options.hazards = emulator::HazardMode::Warn;
  const plan::PlannedLaunch launch = plan.planned();
  DeviceRun device(machine, module, launch.kernel);
  const Observation seen = one.run(device, launch, options);
  EXPECT_EQ(seen.difference, "");
  for (const emulator::Hazard& hazard : seen.hazards) ADD_FAILURE() << describe(hazard);
  expectCounted(plan.traffic, seen.counters);
  expectQuestionsNamed(plan, seen.counters);
}

template <class Plan>
void judgeUnderEverySchedule(emulator::Emulator& machine, const emulator::LoadedModule& module, const Plan& plan,
                             const StreamCase& one, uint64_t seed) {
  expectTilesAddUp(plan);
  for (const emulator::Options& options : schedulesOfKernels(seed)) judge(machine, module, plan, one, options);
}

}  // namespace shiftconv::tests
