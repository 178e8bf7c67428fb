// The mutation score of the hazard checker: how many broken kernels the machine notices, and how often it cries wolf.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/hazards/mutation/equivalents.hpp"
#include "tests/hazards/mutation/mutation.hpp"
#include "tests/hazards/mutation/shift_window_subjects.hpp"
#include "tests/hazards/mutation/trial_run.hpp"

namespace shiftconv::tests {
namespace {

/// A mutant with everything the table says about it.
struct Mutant {
  const Subject* subject = nullptr;
  const InstructionLimits* limits = nullptr;
  Mutation mutation;
  Judgement judgement;
  const Equivalent* equivalent = nullptr;
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

/// Calls body(i) for i in 0..count-1 on `threads` threads. Rethrows the first exception.
template <class Body>
void inParallel(size_t count, unsigned threads, const Body& body) {
  std::atomic<size_t> next = 0;
  std::exception_ptr failure;
  std::once_flag failed;
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        try {
          for (size_t i; (i = next.fetch_add(1)) < count;) body(i);
        } catch (...) {
          std::call_once(failed, [&] { failure = std::current_exception(); });
          next = count;
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}

std::vector<Mutant> mutantsOf(const Subject& subject, const InstructionLimits& limits) {
  std::vector<Mutant> mutants;
  for (Mutation& mutation : mutationsOf(subject.ptx, subject.kernel))
    mutants.push_back({&subject, &limits, std::move(mutation), {}, nullptr});
  return mutants;
}

struct Arguments {
  std::string kernelPattern;
  std::string equivalentsFile;
  unsigned threads = 2;
  bool allowSurvivors = false;
};

int run(const Arguments& arguments) {
  std::vector<Subject> subjects;
  for (const auto make : {shiftWindowSubjects, testKernelSubjects})
    for (Subject& subject : make())
      if (subject.kernel.find(arguments.kernelPattern) != std::string::npos) subjects.push_back(std::move(subject));

  std::vector<std::string> alarms;
  std::vector<InstructionLimits> limits(subjects.size());
  std::mutex mutex;
  inParallel(subjects.size(), arguments.threads, [&](size_t i) {
    std::vector<std::string> found;
    limits[i] = runUnchanged(subjects[i], found);
    const std::scoped_lock lock(mutex);
    alarms.insert(alarms.end(), found.begin(), found.end());
  });

  std::vector<Mutant> mutants;
  for (size_t i = 0; i < subjects.size(); ++i)
    for (Mutant& mutant : mutantsOf(subjects[i], limits[i])) mutants.push_back(std::move(mutant));
  inParallel(mutants.size(), arguments.threads, [&](size_t i) {
    Mutant& mutant = mutants[i];
    mutant.judgement = judge(*mutant.subject, mutate(mutant.subject->ptx, mutant.mutation), *mutant.limits);
  });

  const Equivalents equivalents(arguments.equivalentsFile);
  size_t detected = 0, total = 0, unexplained = 0;
  std::vector<std::string> stale;
  std::set<const Equivalent*> used;
  for (Mutant& mutant : mutants) {
    const Mutation& mutation = mutant.mutation;
    mutant.equivalent = equivalents.find(mutation);
    const bool found = mutant.judgement.verdict == Verdict::Detected;
    fmt::print("{:<36} {:>6} {:<24} {:<16}  {:<17} {}  [{}]\n", mutation.kernel, mutation.ptxLine, mutation.source,
               toString(mutation.change), mutant.equivalent != nullptr ? "equivalent" : toString(mutant.judgement.verdict),
               mutation.instruction, mutant.equivalent != nullptr ? mutant.equivalent->proof : mutant.judgement.how);
    if (mutant.equivalent != nullptr) {
      used.insert(mutant.equivalent);
      if (found)
        stale.push_back(fmt::format("line {}: the mutant of {} line {} is detected", mutant.equivalent->line, mutation.kernel,
                                    mutation.ptxLine));
      continue;
    }
    ++total;
    found ? ++detected : ++unexplained;
  }
  if (arguments.kernelPattern.empty())
    for (const Equivalent& entry : equivalents.entries())
      if (!used.contains(&entry)) stale.push_back(fmt::format("line {}: covers no mutant", entry.line));
  for (const std::string& entry : stale) fmt::print("stale entry of {}, {}\n", arguments.equivalentsFile, entry);
  for (const std::string& alarm : alarms) fmt::print("false alarm: {}\n", alarm);
  fmt::print("mutation score: {}/{} detected, {} false alarms\n", detected, total, alarms.size());
  return (unexplained == 0 || arguments.allowSurvivors) && stale.empty() && alarms.empty() ? 0 : 1;
}

}  // namespace
}  // namespace shiftconv::tests

int main(int argc, char** argv) {
  CLI::App app("Counts the broken kernels that the machine notices.");
  shiftconv::tests::Arguments arguments;
  app.add_option("--kernel", arguments.kernelPattern, "only kernels whose name contains this");
  app.add_option("--equivalents", arguments.equivalentsFile, "list of mutants that are proven harmless")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--threads", arguments.threads, "mutants run side by side")->check(CLI::Range(1u, 256u));
  app.add_flag("--allow-survivors", arguments.allowSurvivors, "survivors that are not listed are no failure");
  CLI11_PARSE(app, argc, argv);
  try {
    return shiftconv::tests::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
