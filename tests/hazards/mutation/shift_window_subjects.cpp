#include "tests/hazards/mutation/shift_window_subjects.hpp"

#include <fmt/format.h>

#include "tests/conv/kernel/kernel_case.hpp"
#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {
namespace {

struct TrialProblem {
  std::string name;
  Problem problem;
  plan::ShiftWindowChoices choices;
};

/// nvcc unrolls the loops over channel chunks and over taps four times and peels the rest, so copies of one source line are
/// reached by different numbers of chunks and of taps.
std::vector<TrialProblem> trialProblems(DataType output, plan::OperandProducer producer) {
  std::vector<TrialProblem> trials;
  const auto add = [&](const char* name, const Problem& problem, bool resident) {
    trials.push_back({name, problem, {}});
    trials.back().problem.outputType = output;
    trials.back().choices.producer = producer;
    trials.back().choices.tileN = 16;
    trials.back().choices.residentWeights = resident;
  };
  add("8 tiles, 3x3, streamed filter", makeProblem(2, 16, 29, 72, 16, 3, 3, {1, 1, 1, 1}), false);
  add("4 tiles, 1x7, 7 chunks, streamed filter", makeProblem(1, 13, 31, 392, 16, 1, 7, {0, 0, 3, 3}), false);
  add("7 tiles, 2x7, resident filter", makeProblem(1, 24, 29, 24, 16, 2, 7, {1, 0, 3, 3}), true);
  return trials;
}

struct Trial {
  TrialProblem what;
  KernelCase operands;
};
using Trials = std::vector<Trial>;

class LoadedShiftWindow : public LoadedSubject {
 public:
  LoadedShiftWindow(std::string_view ptx, std::shared_ptr<const Trials> trials) : runner_(ptx), trials_(std::move(trials)) {}

  Observation run(size_t trial, const emulator::Options& options) override {
    const auto& [what, operands] = trials_->at(trial);
    KernelRun run = runner_.run(what.problem, operands.inputs(), what.choices, options);
    Observation seen;
    seen.difference = operands.judge(run, options.numerics);
    seen.hazards = std::move(run.hazards);
    seen.counters = std::move(run.counters);
    return seen;
  }

 private:
  KernelRunner runner_;
  std::shared_ptr<const Trials> trials_;
};

Subject subjectFor(DataType output, const char* outputName, plan::OperandProducer producer, const char* producerName) {
  const auto trials = std::make_shared<Trials>();
  uint64_t seed = 501;
  Subject subject;
  for (TrialProblem& what : trialProblems(output, producer)) {
    KernelCase operands(what.problem, seed++);
    subject.trials.push_back(what.name);
    trials->push_back({std::move(what), std::move(operands)});
  }
  subject.kernel = fmt::format("shift_window_sm100_x16_{}_m128_{}", outputName, producerName);
  subject.ptx = onlyKernel(plan::shiftWindowImage().ptx, subject.kernel);
  subject.load = [trials](std::string_view ptx) { return std::make_unique<LoadedShiftWindow>(ptx, trials); };
  return subject;
}

}  // namespace

std::vector<Subject> shiftWindowSubjects() {
  const struct {
    plan::OperandProducer producer;
    const char* name;
  } producers[] = {{plan::OperandProducer::TensorCopy, "cp"}, {plan::OperandProducer::RegisterStore, "st"}};
  const struct {
    DataType type;
    const char* name;
  } outputs[] = {{DataType::F32, "f32"}, {DataType::F16, "f16"}, {DataType::BF16, "bf16"}};
  std::vector<Subject> subjects;
  for (const auto& producer : producers)
    for (const auto& output : outputs) subjects.push_back(subjectFor(output.type, output.name, producer.producer, producer.name));
  return subjects;
}

}  // namespace shiftconv::tests
