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

/// nvcc unrolls the loops over channel chunks, over taps and over the stages of a ring four times and peels the rest, so copies of
/// one source line are reached by different numbers of these.
std::vector<TrialProblem> trialProblems(DataType output, plan::OperandProducer producer) {
  std::vector<TrialProblem> trials;
  const auto add = [&](const char* name, const Problem& problem, uint32_t tileN, bool resident) {
    trials.push_back({name, problem, {}});
    trials.back().problem.outputType = output;
    trials.back().choices.producer = producer;
    trials.back().choices.tileN = tileN;
    trials.back().choices.residentWeights = resident;
  };
  add("3x3, 2 chunks, 26 filter stages", makeProblem(2, 16, 29, 72, 40, 3, 3, {1, 1, 1, 1}), 48, false);
  add("1x7, 1 chunk, 13 filter stages", makeProblem(1, 17, 31, 24, 88, 1, 7, {0, 0, 3, 3}), 96, false);
  add("1x7, 7 chunks, resident filter, 7 operand stages", makeProblem(1, 13, 31, 392, 16, 1, 7, {0, 0, 3, 3}), 16, true);
  add("1x2, 1 chunk, resident filter", makeProblem(1, 24, 29, 16, 16, 1, 2, {0, 0, 1, 0}), 16, true);
  add("1x7, 1 tile, resident filter, 6 operand stages", makeProblem(1, 4, 20, 16, 120, 1, 7, {0, 0, 3, 3}), 128, true);
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
  void watch(emulator::machine::ObserverFactory observe) override { runner_.watch(std::move(observe)); }

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
  const std::string_view ptx = plan::shiftWindowImage().ptxFor("sm_100a");
  subject.ptx = onlyKernel(ptx, subject.kernel);
  subject.source = SourcePositions(ptx);
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
