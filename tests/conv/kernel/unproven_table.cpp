// Makes the table of unproven tcgen05 behaviours in README.md from runs: which of them each kernel touches, and whether it
// stays right when the emulator behaves the other way.
//
//   unproven_table                   prints the table
//   unproven_table --check README    exit 1 unless the file holds exactly this table between its markers
//   unproven_table --update README   rewrites that part
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/conv/kernel/kernel_case.hpp"

namespace shiftconv::tests {
namespace {

using emulator::Unproven;

constexpr std::string_view kBegin = "<!-- unproven:begin (made by unproven_table) -->\n";
constexpr std::string_view kEnd = "<!-- unproven:end -->";

/// "right", or what went wrong, over the whole fixture.
std::string verdict(KernelRunner& runner, const std::vector<KernelCase>& cases, plan::OperandProducer producer,
                    const emulator::Options& options, emulator::Counters& counters) {
  plan::ShiftWindowChoices choices;
  choices.producer = producer;
  size_t wrong = 0, stopped = 0;
  std::string kind;
  for (const KernelCase& one : cases) {
    try {
      const KernelRun run = runner.run(one.problem(), one.inputs(), choices, options);
      counters += run.counters;
      if (!one.judge(run, emulator::Numerics::Hardware).empty()) ++wrong;
    } catch (const emulator::EmulatorError& error) {
      ++stopped;
      kind = toString(error.kind());
    }
  }
  if (stopped != 0) return fmt::format("stopped ({}) on {} of {}", kind, stopped, cases.size());
  return wrong == 0 ? "right" : fmt::format("wrong on {} of {}", wrong, cases.size());
}

std::string table() {
  std::vector<KernelCase> cases;
  uint64_t seed = 2026;
  for (const Problem& problem : kernelFixture()) cases.emplace_back(problem, seed++);
  KernelRunner runner;

  std::string text =
      "| kernel | id | question | with the default | alternative | with the alternative |\n|---|---|---|---|---|---|\n";
  for (const auto producer : {plan::OperandProducer::TensorCopy, plan::OperandProducer::RegisterStore}) {
    const char* kernel = producer == plan::OperandProducer::TensorCopy ? "shift_window `_cp`" : "shift_window `_st`";
    emulator::Counters counters;
    const std::string standard = verdict(runner, cases, producer, {}, counters);
    for (const auto& question : emulator::unprovenQuestions()) {
      if (counters.unprovenUses[static_cast<size_t>(question.id)] == 0 || !question.settledBy.empty()) continue;
      for (size_t alternative = 1; alternative < question.alternatives.size(); ++alternative) {
        emulator::Options options;
        options.semantics.choose(question.id, static_cast<uint8_t>(alternative));
        emulator::Counters ignored;
        text +=
            fmt::format("| {} | {} | {} | {}: {} | {} | {} |\n", kernel, question.name, question.question, question.alternatives[0],
                        standard, question.alternatives[alternative], verdict(runner, cases, producer, options, ignored));
      }
    }
  }
  return text;
}

std::string readFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int run(const std::string& mode, const std::string& path) {
  const std::string made = table();
  if (mode.empty()) {
    std::cout << made;
    return 0;
  }
  std::string readme = readFile(path);
  const size_t begin = readme.find(kBegin), end = readme.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::cerr << path << " has no markers " << kBegin << " and " << kEnd << "\n";
    return 1;
  }
  const size_t body = begin + kBegin.size();
  if (mode == "--update") {
    readme.replace(body, end - body, made);
    std::ofstream(path) << readme;
    return 0;
  }
  if (readme.substr(body, end - body) == made) return 0;
  std::cerr << path << " differs from what the kernels do now; run unproven_table --update " << path << ". The table is:\n" << made;
  return 1;
}

}  // namespace
}  // namespace shiftconv::tests

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if ((mode != "" && mode != "--check" && mode != "--update") || argc != (mode.empty() ? 1 : 3)) {
    std::cerr << "usage: unproven_table [--check README | --update README]\n";
    return 2;
  }
  try {
    return shiftconv::tests::run(mode, argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
