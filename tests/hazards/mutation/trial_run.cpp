#include "tests/hazards/mutation/trial_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

namespace shiftconv::tests {
namespace {

using emulator::EmulatorError;
using emulator::Options;
using emulator::SchedulePolicy;

struct Schedule {
  const char* name;
  SchedulePolicy policy;
  uint64_t seed;
};
constexpr Schedule kSchedules[] = {{"latest", SchedulePolicy::Latest, 1},
                                   {"random 1", SchedulePolicy::Random, 1},
                                   {"earliest", SchedulePolicy::Earliest, 1},
                                   {"random 2", SchedulePolicy::Random, 2}};

/// A mutant that executes this many times the instructions of the original will not end.
constexpr uint64_t kRunawayFactor = 8;

Options optionsFor(const Schedule& schedule, emulator::HazardMode hazards) {
  Options options;
  options.policy = schedule.policy;
  options.seed = schedule.seed;
  options.numerics = emulator::Numerics::Fast;
  options.hazards = hazards;
  options.hostThreads = 1;
  return options;
}

/// "hazard (race)" of a report of the checker, else the kind of the error.
std::string noticedBy(const EmulatorError& error) {
  if (error.kind() != emulator::ErrorKind::Hazard) return toString(error.kind());
  const std::string_view text = error.what();
  return std::string(text.substr(0, text.find(')') + 1));
}

std::string firstLine(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::span<const Schedule> schedulesOf(Thoroughness thoroughness) {
  return std::span(kSchedules).first(thoroughness == Thoroughness::EverySchedule ? 4 : 2);
}

}  // namespace

Baseline runUnchanged(const Subject& subject, std::vector<std::string>& alarms, Thoroughness thoroughness) {
  Baseline baseline(subject.trials.size());
  const auto loaded = subject.load(subject.ptx);
  for (size_t trial = 0; trial < subject.trials.size(); ++trial) {
    for (const Schedule& schedule : schedulesOf(thoroughness)) {
      const std::string run = fmt::format("{}, {}, {} schedule", subject.kernel, subject.trials[trial], schedule.name);
      try {
        const Observation seen = loaded->run(trial, optionsFor(schedule, emulator::HazardMode::Warn));
        if (!seen.difference.empty()) alarms.push_back(fmt::format("{}: wrong result: {}", run, seen.difference));
        for (const emulator::Hazard& hazard : seen.hazards) alarms.push_back(fmt::format("{}: {}", run, describe(hazard)));
        const auto& perWarp = seen.counters.warpInstructions;
        uint64_t& limit = baseline[trial].instructionLimit;
        limit = std::max(limit, kRunawayFactor * std::accumulate(perWarp.begin(), perWarp.end(), uint64_t{0}));
        baseline[trial].lines.add(executedLines(*loaded, trial, optionsFor(schedule, emulator::HazardMode::Off)));
      } catch (const EmulatorError& error) {
        alarms.push_back(fmt::format("{}: {}: {}", run, toString(error.kind()), error.what()));
      }
    }
  }
  return baseline;
}

Judgement judge(const Subject& subject, std::string_view mutantPtx, uint32_t mutatedLine, const Baseline& baseline,
                Thoroughness thoroughness) {
  std::vector<size_t> trials;
  for (size_t trial = 0; trial < subject.trials.size(); ++trial)
    if (mutatedLine == 0 || baseline[trial].lines.contains(mutatedLine)) trials.push_back(trial);
  if (trials.empty()) return {Verdict::Survived, "no trial comes to it"};
  std::sort(trials.begin(), trials.end(),
            [&](size_t a, size_t b) { return baseline[a].instructionLimit < baseline[b].instructionLimit; });
  const auto loaded = subject.load(mutantPtx);
  Judgement judgement;
  for (const Schedule& schedule : schedulesOf(thoroughness)) {
    for (const size_t trial : trials) {
      const std::string run = fmt::format("{} schedule, {}", schedule.name, subject.trials[trial]);
      try {
        Options options = optionsFor(schedule, emulator::HazardMode::Error);
        options.instructionLimit = baseline[trial].instructionLimit;
        const Observation seen = loaded->run(trial, options);
        if (!seen.difference.empty() && judgement.verdict == Verdict::Survived)
          judgement = {Verdict::WrongOutput, fmt::format("{}: {}", run, firstLine(seen.difference))};
      } catch (const EmulatorError& error) {
        return {Verdict::Detected, fmt::format("{}: {}: {}", run, toString(error.kind()), firstLine(error.what())),
                noticedBy(error)};
      }
    }
  }
  return judgement;
}

}  // namespace shiftconv::tests
