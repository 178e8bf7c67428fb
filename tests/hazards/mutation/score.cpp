// The mutation score of the hazard checker: how many broken kernels the machine notices, and how often it cries wolf.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "common/parallel.hpp"
#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/hazards/mutation/algorithm_subjects.hpp"
#include "tests/hazards/mutation/catalogue.hpp"
#include "tests/hazards/mutation/equivalents.hpp"
#include "tests/hazards/mutation/gemm_subjects.hpp"
#include "tests/hazards/mutation/im2col_subjects.hpp"
#include "tests/hazards/mutation/mutation.hpp"
#include "tests/hazards/mutation/trial_run.hpp"

namespace shiftconv::tests {
namespace {

struct Arguments {
  std::string set = "ordinary";
  std::string kernelPattern;
  unsigned threads = 2;
  bool sample = false;
  bool allowSurvivors = false;
};

/// Which mutants were made, and what is wrong with the score itself.
struct Score {
  size_t detected = 0, total = 0;
  std::vector<std::string> falseAlarms;
  std::vector<std::string> complaints;  ///< about the lists: entries that do not hold
  /// Mutants of one place of the source that several kernels contain, or one kernel several times, make one entry: whether all of
  /// them were detected.
  std::map<std::string, bool> sources;
  std::map<std::string, size_t> noticedBy;

  void count(const std::string& source, const Judgement& judgement) {
    const bool isDetected = judgement.verdict == Verdict::Detected;
    ++total;
    bool& all = sources.try_emplace(source, true).first->second;
    all = all && isDetected;
    if (!isDetected) return;
    ++detected;
    ++noticedBy[judgement.by];
  }
};

const char* toString(Verdict verdict) {
  switch (verdict) {
    case Verdict::Detected:
      return "detected";
    case Verdict::WrongOutput:
      return "WRONG OUTPUT ONLY";
    case Verdict::Survived:
      return "SURVIVED";
  }
  return "";
}

using BaselineByKernel = std::map<std::string, Baseline>;

BaselineByKernel runCorrectKernels(const std::vector<Subject>& subjects, unsigned threads, Thoroughness thoroughness, Score& score) {
  std::vector<Baseline> baselines(subjects.size());
  std::vector<std::vector<std::string>> alarms(subjects.size());
  inParallel(subjects.size(), threads, [&](size_t i) { baselines[i] = runUnchanged(subjects[i], alarms[i], thoroughness); });
  BaselineByKernel byKernel;
  for (size_t i = 0; i < subjects.size(); ++i) {
    byKernel[subjects[i].kernel] = std::move(baselines[i]);
    score.falseAlarms.insert(score.falseAlarms.end(), alarms[i].begin(), alarms[i].end());
  }
  return byKernel;
}

// ---- Sets ----------------------------------------------------------------------------------------------------------------------
/// Kernels that are judged together, with one list of equivalent mutants.
struct Set {
  std::string_view ofAlgorithms;  ///< what their files call the set
  std::vector<std::vector<Subject> (*)()> others = {};
  bool onlyReached = false;  ///< no mutants are made of instructions that no trial comes to: they are judged in another set
  std::vector<std::string_view> leftOut = {};  ///< nor of those in these functions
  std::vector<HandMadeMutant> (*byHand)(const std::vector<Subject>& subjects) = nullptr;
  bool onlyByHand = false;  ///< no mechanical mutants
};
// The GEMM kernels multiply matrices in one set, and windows and taps in another; no window is loaded by CTAs that share.
const std::map<std::string, Set> kSets{
    {"ordinary", {"ordinary", {gemmSubjects, testKernelSubjects}, false, {"/loadWindow", "/loadTaps"}, editsAndMisuses}},
    {"variants",
     {.ofAlgorithms = "ordinary", .others = {gemmSubjects, testKernelSubjects}, .byHand = variantsOfSources, .onlyByHand = true}},
    {"stream", {"stream"}},
    // The trials have no volumes: KernelCase has none.
    {"sm90", {"sm90", {}, false, {"/loadVolume"}}},
    {"windows", {"windows", {im2colSubjects}, true, {}, im2colMutants}}};

std::vector<Subject> subjectsOf(const Set& set, std::string_view kernelPattern) {
  std::vector<Subject> subjects = algorithmSubjects(set.ofAlgorithms);
  for (const auto make : set.others)
    for (Subject& subject : make()) subjects.push_back(std::move(subject));
  std::erase_if(subjects, [&](const Subject& subject) { return subject.kernel.find(kernelPattern) == std::string::npos; });
  return subjects;
}

/// The list of this folder, and those of the algorithms.
Equivalents readEquivalents() {
  Equivalents equivalents;
  equivalents.read(EQUIVALENTS_FILE, true);
  std::vector<std::filesystem::path> files;
  for (const auto& folder : std::filesystem::directory_iterator(ALGORITHM_TESTS))
    if (const auto file = folder.path() / "equivalent.txt"; exists(file)) files.push_back(file);
  std::sort(files.begin(), files.end());
  for (const auto& file : files) equivalents.read(file.string(), false);
  return equivalents;
}

// ---- Mechanical mutants --------------------------------------------------------------------------------------------------------
struct MechanicalMutant {
  const Subject* subject = nullptr;
  Mutation mutation;
  const Equivalent* equivalent = nullptr;
  Judgement judgement;
};

bool isReached(const Baseline& baseline, uint32_t line) {
  return std::any_of(baseline.begin(), baseline.end(), [&](const TrialBaseline& trial) { return trial.lines.contains(line); });
}

/// The change of the source that the mutant is an instance of.
std::string sourceOf(const Mutation& mutation) {
  return fmt::format("{} | {} | {}", mutation.source, mutation.form, toString(mutation.change));
}

/// A sample has one mutant of each kind.
std::string kindOf(const Mutation& mutation) {
  return fmt::format("{} | {} | {}", mutation.kernel, mutation.form, toString(mutation.change));
}

std::vector<MechanicalMutant> runMechanicalMutants(const std::vector<Subject>& subjects, const BaselineByKernel& baselines,
                                                   const Equivalents& equivalents, const Set& set, const Arguments& arguments) {
  std::vector<MechanicalMutant> mutants;
  std::set<std::pair<std::string, const Equivalent*>> seen, kinds;  // of a sample
  for (const Subject& subject : subjects)
    for (Mutation& mutation : mutationsOf(subject.ptx, subject.kernel, subject.source)) {
      if (set.onlyReached && !isReached(baselines.at(subject.kernel), mutation.ptxLine)) continue;
      const auto isIn = [&](std::string_view function) { return mutation.functions.find(function) != std::string::npos; };
      if (std::any_of(set.leftOut.begin(), set.leftOut.end(), isIn)) continue;
      if (!subject.functions.empty() && std::none_of(subject.functions.begin(), subject.functions.end(), isIn)) continue;
      const Equivalent* equivalent = equivalents.find(mutation);
      if (arguments.sample &&
          (!seen.emplace(sourceOf(mutation), equivalent).second || !kinds.emplace(kindOf(mutation), equivalent).second))
        continue;
      mutants.push_back({&subject, std::move(mutation), equivalent, {}});
    }
  inParallel(mutants.size(), arguments.threads, [&](size_t i) {
    auto& [subject, mutation, equivalent, judgement] = mutants[i];
    judgement = judge(*subject, mutate(subject->ptx, mutation), mutation.ptxLine, baselines.at(subject->kernel),
                      equivalent != nullptr ? Thoroughness::TwoSchedules : Thoroughness::EverySchedule);
  });
  return mutants;
}

void printMechanicalMutants(const std::vector<MechanicalMutant>& mutants, Score& score) {
  for (const auto& [subject, mutation, equivalent, judgement] : mutants) {
    fmt::print("{:<36} {:>6} {:<24} {:<16}  {:<17} {} | {} | {} | site: {} | {}  [{}]\n", mutation.kernel, mutation.ptxLine,
               mutation.source, toString(mutation.change), equivalent != nullptr ? "equivalent" : toString(judgement.verdict),
               mutation.functions, mutation.form, mutation.occurrence, mutation.sites, mutation.siteOccurrence,
               equivalent != nullptr ? equivalent->proof : judgement.how);
    if (equivalent == nullptr) {
      score.count(sourceOf(mutation), judgement);
    } else if (judgement.verdict != Verdict::Survived) {
      score.complaints.push_back(fmt::format("the entry at {} does not hold for {}, PTX line {}: {}", equivalent->where,
                                             mutation.kernel, mutation.ptxLine, judgement.how));
    }
  }
}

/// Of the entries about kernels of this set. Those about any kernel need to hold in the ordinary set only: some cover what others
/// lack.
void complainAboutUnusedEntries(const std::vector<Subject>& subjects, const std::vector<MechanicalMutant>& mutants,
                                const Equivalents& equivalents, std::string_view set, Score& score) {
  std::set<const Equivalent*> used;
  for (const MechanicalMutant& mutant : mutants) used.insert(mutant.equivalent);
  for (const Equivalent& entry : equivalents.entries()) {
    const auto isAbout = [&](const Subject& subject) { return Equivalents::isAbout(entry, subject.kernel); };
    if (used.contains(&entry) || std::none_of(subjects.begin(), subjects.end(), isAbout)) continue;
    if (entry.ofAnyKernel && set != "ordinary") continue;
    score.complaints.push_back(fmt::format("the entry at {} covers none", entry.where));
  }
}

// ---- Hand-made mutants ---------------------------------------------------------------------------------------------------------
void runHandMadeMutants(const std::vector<HandMadeMutant>& mutants, const BaselineByKernel& baselines, unsigned threads,
                        Score& score) {
  std::vector<Judgement> judgements(mutants.size());
  inParallel(mutants.size(), threads, [&](size_t i) {
    judgements[i] =
        judge(mutants[i].subject, mutants[i].ptx, 0, baselines.at(mutants[i].subject.kernel), Thoroughness::EverySchedule);
  });

  const auto printKind = [&](MutantKind kind) {
    for (size_t i = 0; i < mutants.size(); ++i)
      if (mutants[i].kind == kind)
        fmt::print(
            "{:<16} {:<44} {:<17} {}.  [{}]\n", mutants[i].kernel, mutants[i].name,
            kind == MutantKind::Correct && judgements[i].verdict == Verdict::Survived ? "silent" : toString(judgements[i].verdict),
            mutants[i].what, judgements[i].how);
  };
  fmt::print("\nHand-made mutants:\n");
  printKind(MutantKind::Hazard);
  fmt::print("\nErrors of value, not part of the score, because no rule of the machine is broken:\n");
  printKind(MutantKind::Value);
  fmt::print("\nUnusual but correct variants:\n");
  printKind(MutantKind::Correct);
  fmt::print("\n");

  for (size_t i = 0; i < mutants.size(); ++i) {
    const std::string mutant = fmt::format("{} {}", mutants[i].kernel, mutants[i].name);
    switch (mutants[i].kind) {
      case MutantKind::Hazard:
        score.count(mutants[i].name + ", by hand", judgements[i]);
        break;
      case MutantKind::Value:
        if (judgements[i].verdict != Verdict::WrongOutput)
          score.complaints.push_back(fmt::format("{} is listed as an error of value, but {}: {}", mutant,
                                                 toString(judgements[i].verdict), judgements[i].how));
        break;
      case MutantKind::Correct:
        if (judgements[i].verdict != Verdict::Survived)
          score.falseAlarms.push_back(fmt::format("{}: {}", mutant, judgements[i].how));
        break;
    }
  }
}

int run(const Arguments& arguments) {
  const Set& set = kSets.at(arguments.set);
  std::vector<Subject> subjects = subjectsOf(set, arguments.kernelPattern);
  const std::vector<HandMadeMutant> byHand = set.byHand != nullptr ? set.byHand(subjects) : std::vector<HandMadeMutant>();
  const auto isBrokenByHand = [&](const Subject& subject) {
    return std::any_of(byHand.begin(), byHand.end(),
                       [&](const HandMadeMutant& mutant) { return mutant.subject.kernel == subject.kernel; });
  };
  if (set.onlyByHand) std::erase_if(subjects, std::not_fn(isBrokenByHand));

  Score score;
  const Equivalents equivalents = readEquivalents();
  // Of a sample the engines' own tests have run the unchanged kernels under the other schedules.
  const auto thoroughness = arguments.sample ? Thoroughness::TwoSchedules : Thoroughness::EverySchedule;
  const BaselineByKernel baselines = runCorrectKernels(subjects, arguments.threads, thoroughness, score);
  if (!set.onlyByHand) {
    const auto mechanical = runMechanicalMutants(subjects, baselines, equivalents, set, arguments);
    printMechanicalMutants(mechanical, score);
    if (arguments.kernelPattern.empty()) complainAboutUnusedEntries(subjects, mechanical, equivalents, arguments.set, score);
  }
  if (set.byHand != nullptr) runHandMadeMutants(byHand, baselines, arguments.threads, score);

  if (score.total == 0) score.complaints.push_back("no mutant was made");
  for (const std::string& complaint : score.complaints) fmt::print("{}\n", complaint);
  for (const std::string& alarm : score.falseAlarms) fmt::print("false alarm: {}\n", alarm);
  for (const auto& [what, count] : score.noticedBy) fmt::print("noticed by {:<48} {:>6}\n", what, count);
  const auto whole = std::count_if(score.sources.begin(), score.sources.end(), [](const auto& entry) { return entry.second; });
  fmt::print("distinct changes of the source: {} of {} detected in all their instances that were judged\n", whole,
             score.sources.size());
  fmt::print("mutation score: {}/{} detected, {} false alarms\n", score.detected, score.total, score.falseAlarms.size());
  const bool allDetected = score.detected == score.total || arguments.allowSurvivors;
  return allDetected && score.complaints.empty() && score.falseAlarms.empty() ? 0 : 1;
}

}  // namespace
}  // namespace shiftconv::tests

int main(int argc, char** argv) {
  shiftconv::command_line::Parser parser("Counts the broken kernels that the machine notices.");
  shiftconv::tests::Arguments arguments;
  std::vector<std::string> names;
  for (const auto& [name, set] : shiftconv::tests::kSets) names.push_back(name);
  parser
      .option("--set", arguments.set,
              "kernels: ordinary; stream: of shift_stream; sm90: engines of sm_90a that are not ordinary; windows: of im2col, "
              "where its trials come to; variants: those whose sources are broken by hand")
      .oneOf(names);
  parser.option("--kernel", arguments.kernelPattern, "only kernels whose name contains this");
  parser.option("--threads", arguments.threads, "mutants run side by side").range(1u, 256u);
  parser.flag(
      "--sample", arguments.sample,
      "of the changes of one form of instruction in a kernel only the first, and none of a place of the source that a kernel "
      "before it has, too");
  parser.flag("--allow-survivors", arguments.allowSurvivors, "survivors that are not listed are no failure");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    return shiftconv::tests::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
