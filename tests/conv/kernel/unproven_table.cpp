// Makes the table of unproven behaviours in docs/verification/unproven-behaviour.md from runs: which of them each kernel touches,
// and whether it stays right when the emulator behaves the other way.
//
//   unproven_table                 prints the table
//   unproven_table --check FILE    exit 1 unless the file holds exactly this table between its markers
//   unproven_table --update FILE   rewrites that part
#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "common/device/embedded_ptx.hpp"
#include "common/device/emulated_device.hpp"
#include "conv/algorithms/halo_sm100/plan.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "conv/planner/binding.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"
#include "halo_sm100_image.hpp"
#include "shift_stream_image.hpp"
#include "tests/conv/kernel/kernel_case.hpp"
#include "tests/conv/kernel/stream_case.hpp"

namespace shiftconv::tests {
namespace {

using emulator::Unproven;

constexpr std::string_view kBegin = "<!-- unproven:begin (made by unproven_table) -->\n";
constexpr std::string_view kEnd = "<!-- unproven:end -->";

/// Counts the cases of a fixture that went wrong.
class Verdict {
 public:
  /// `run` gives the difference from the reference, or "".
  void add(const std::function<std::string()>& run) {
    ++cases_;
    try {
      if (!run().empty()) ++wrong_;
    } catch (const emulator::EmulatorError& error) {
      ++stopped_;
      kind_ = toString(error.kind());
    }
  }
  /// "right", or what went wrong.
  std::string text() const {
    if (stopped_ != 0) return fmt::format("stopped ({}) on {} of {}", kind_, stopped_, cases_);
    return wrong_ == 0 ? "right" : fmt::format("wrong on {} of {}", wrong_, cases_);
  }

 private:
  size_t cases_ = 0, wrong_ = 0, stopped_ = 0;
  std::string kind_;
};

/// A row's kernel: runs its whole fixture and adds to the counters.
struct Kernel {
  std::string name;
  std::function<std::string(const emulator::Semantics&, emulator::Counters&)> verdict;
};

Kernel shiftWindow(const char* name, bool pair) {
  const auto runner = std::make_shared<KernelRunner>();
  const auto cases = std::make_shared<std::vector<KernelCase>>();
  uint64_t seed = 2026;
  for (const Problem& problem : kernelFixture()) cases->emplace_back(problem, seed++);
  return {name, [=](const emulator::Semantics& semantics, emulator::Counters& counters) {
            plan::ShiftWindowChoices choices;
            choices.pair = pair;
            emulator::Options options;
            options.semantics = semantics;
            Verdict verdict;
            for (const KernelCase& one : *cases)
              verdict.add([&] {
                const KernelRun run = runner->run(one.problem(), one.inputs(), choices, options);
                counters += run.counters;
                return one.judge(run, emulator::Numerics::Hardware);
              });
            return verdict.text();
          }};
}

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

/// An engine of sm_90a through its plans.
Kernel hopperEngine(const char* algorithm, const std::vector<const char*>& problems) {
  const auto cases = std::make_shared<std::vector<KernelCase>>();
  uint64_t seed = 2126;
  for (const char* text : problems) {
    Problem problem;
    require(parse(text, problem));
    cases->emplace_back(problem, seed++);
  }
  return {algorithm, [=](const emulator::Semantics& semantics, emulator::Counters& counters) {
            Verdict verdict;
            for (const KernelCase& one : *cases)
              verdict.add([&] {
                device::EmulatedDevice device("sm_90a");
                for (const auto& question : emulator::unprovenQuestions())
                  require(device.setOption(fmt::format("semantics.{}", question.name), std::to_string(semantics[question.id])));
                std::shared_ptr<const plan::Plan> plan;
                require(makePlan(one.problem(), device.properties(), {algorithm, ""}, plan));
                plan::TensorAddresses tensors{};
                const auto upload = [&](TensorName tensor, const void* data, size_t bytes) {
                  if (bytes == 0) return;
                  require(device.allocate(bytes, tensors[tensor]));
                  require(device.copyToDevice(tensors[tensor], data, bytes, 0));
                };
                KernelRun run;
                run.output.assign(tensorBytes(one.problem())[TensorName::Output], std::byte{0xCD});
                const ConvolutionInputs& inputs = one.inputs();
                upload(TensorName::Input, inputs.activations.data(), inputs.activations.size() * sizeof(uint16_t));
                upload(TensorName::Filter, inputs.filter.data(), inputs.filter.size() * sizeof(uint16_t));
                upload(TensorName::Bias, inputs.bias.data(), inputs.bias.size() * sizeof(float));
                upload(TensorName::Output, run.output.data(), run.output.size());
                plan::KernelCache kernels(device);
                std::unique_ptr<plan::Binding> binding;
                require(plan::Binding::make(plan, kernels, tensors, binding));
                require(binding->run(0));
                require(device.copyToHost(run.output.data(), tensors[TensorName::Output], run.output.size(), 0));
                for (const device::KernelCounters& kernel : device.counters()) counters += kernel.counters;
                return one.judge(run, emulator::Numerics::Hardware);
              });
            return verdict.text();
          }};
}

std::vector<Kernel> otherKernels() {
  return {
      shiftWindow("shift_window", false),
      shiftWindow("shift_window in pairs", true),
      hopperEngine("halo", {"2x9x11x72 f16 * 72x3x3x72 pad 1,1,1,1 -> f16 bias", "1x9x9x16 bf16 * 16x3x3x16 stride 2,2 -> bf16"}),
      hopperEngine("grouped", {"1x14x14x64 f16 * 64x3x3x8 groups 8 pad 1,1,1,1 -> f16 bias",
                               "1x9x9x16 bf16 * 16x5x5x8 groups 2 pad 2,2,2,2 -> bf16"}),
      hopperEngine("depthwise", {"1x18x20x8 f16 * 8x7x7x1 groups 8 pad 3,3,3,3 -> f16 bias",
                                 "1x9x9x40 bf16 * 40x3x3x1 groups 40 pad 1,1,1,1 -> bf16"}),
      hopperEngine("stem", {"1x20x30x4 f16 * 8x7x5x4 pad 0,0,2,2 stride 1,2 -> f16"})};
}

/// A kernel of sm_100a under its planner's choices: `make` throws when they cannot be met. A hazard is as bad as a wrong result:
/// without an order that a kernel relies on, some schedule goes wrong.
Kernel streamKernel(std::string name, emulator::Emulator& machine, std::shared_ptr<const emulator::LoadedModule> module,
                    const std::vector<Problem>& problems, std::function<plan::PlannedLaunch(const Problem&)> make) {
  auto cases = std::make_shared<std::vector<StreamCase>>();
  uint64_t seed = 2226;
  for (const Problem& problem : problems) cases->emplace_back(problem, seed++);
  return {std::move(name), [=, &machine](const emulator::Semantics& semantics, emulator::Counters& counters) {
            Verdict verdict;
            for (const StreamCase& one : *cases)
              for (const auto policy : {emulator::SchedulePolicy::Earliest, emulator::SchedulePolicy::Latest})
                verdict.add([&] {
                  const plan::PlannedLaunch launch = make(one.problem());
                  emulator::Options options;
                  options.policy = policy;
                  options.semantics = semantics;
                  options.hazards = emulator::HazardMode::Warn;
                  DeviceRun device(machine, *module, launch.kernel);
                  const Observation seen = one.run(device, launch, options);
                  counters += seen.counters;
                  return seen.hazards.empty() ? seen.difference : describe(seen.hazards.front());
                });
            return verdict.text();
          }};
}

/// A lane map of shift_stream, with dense and block-scaled operands; or, as those have no lane masks, with rows of other masks in
/// each CTA.
Kernel shiftStream(plan::StreamMap map, bool pair) {
  static emulator::Emulator machine;
  static const auto module = machine.load(device::ptxFor(images::shift_stream(), "sm_100a"), "shift_stream");
  const Problem shape = plain(3, 4, 14, 64, 32, 3, 3, 1);
  std::vector<Problem> problems{shape, scaled(shape, DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0),
                                scaled(shape, DataType::E2M1, DataType::E2M1, 16, DataType::UE4M3)};
  if (map == plan::StreamMap::FlatMasked)
    problems = {shape, plain(3, 4, 40, 64, 32, 3, 3, 1), typed(shape, DataType::E4M3, DataType::E5M2, DataType::F32)};
  return streamKernel(fmt::format("shift_stream `{}`{}", plan::kStreamMapNames[static_cast<size_t>(map)], pair ? " in pairs" : ""),
                      machine, module, problems, [=](const Problem& problem) {
                        plan::ShiftStreamPlan plan;
                        if (std::string why = planShiftStream(problem, fewMultiprocessors(), {.map = map, .pair = pair}, plan);
                            !why.empty())
                          throw std::runtime_error(why);
                        return plan.planned();
                      });
}

/// halo_sm100: patches, with dense and block-scaled operands; or row streams, whose operands the collector buffer keeps.
Kernel haloSm100(bool collector, bool pair) {
  static emulator::Emulator machine;
  static const auto module = machine.load(device::ptxFor(images::halo_sm100(), "sm_100a"), "halo_sm100");
  const Problem shape = plain(3, 9, 14, 64, 32, 3, 3, 1);
  std::vector<Problem> problems{shape, typed(shape, DataType::E4M3, DataType::E5M2, DataType::F32)};
  if (!collector) problems.back() = scaled(shape, DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
  return streamKernel(fmt::format("halo_sm100{}{}", collector ? " `collector`" : "", pair ? " in pairs" : ""), machine, module,
                      problems, [=](const Problem& problem) {
                        plan::sm100::HaloPlan plan;
                        plan::sm100::HaloChoices choices;
                        choices.pair = pair;
                        if (collector) choices.blockRows = 5;
                        if (std::string why = planHalo(problem, fewMultiprocessors(), choices, plan); !why.empty())
                          throw std::runtime_error(why);
                        return plan.planned();
                      });
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> all;
  for (const bool pair : {false, true})
    for (size_t map = 0; map < plan::kStreamMapNames.size(); ++map)
      all.push_back(shiftStream(static_cast<plan::StreamMap>(map), pair));
  for (const bool pair : {false, true})
    for (const bool collector : {false, true}) all.push_back(haloSm100(collector, pair));
  for (Kernel& kernel : otherKernels()) all.push_back(std::move(kernel));
  return all;
}

/// Of the order of copies and MMAs (U6, U31) the machine counts what it kept in order, waited for or not: who relies on it goes
/// wrong without it.
bool isOrder(Unproven id) { return id == Unproven::U6 || id == Unproven::U31; }

/// Of several ways of one kernel, "kernel `way`", the others go without its name.
std::string listOf(const std::vector<std::string>& names) {
  std::string list, last;
  for (const std::string& name : names) {
    const size_t way = name.find('`');
    const std::string kernel = name.substr(0, way);
    list += (list.empty() ? "" : ", ") + (way != std::string::npos && kernel == last ? name.substr(way) : name);
    last = kernel;
  }
  return list;
}

/// A row for each alternative and what becomes of kernels with it.
std::string table() {
  std::vector<std::string> endings;
  std::map<std::string, std::vector<std::string>> kernelsOf;  // by a row's ending
  for (const Kernel& kernel : kernels()) {
    emulator::Counters counters;
    const std::string standard = kernel.verdict({}, counters);
    for (const auto& question : emulator::unprovenQuestions()) {
      if (counters.unprovenUses[static_cast<size_t>(question.id)] == 0 || !question.settledBy.empty()) continue;
      for (size_t alternative = 1; alternative < question.alternatives.size(); ++alternative) {
        emulator::Semantics semantics;
        semantics.choose(question.id, static_cast<uint8_t>(alternative));
        emulator::Counters ignored;
        const std::string otherwise = kernel.verdict(semantics, ignored);
        if (isOrder(question.id) && otherwise == "right") continue;
        const std::string ending = fmt::format("{} | {} | {}: {} | {} | {} |\n", question.name, question.question,
                                               question.alternatives[0], standard, question.alternatives[alternative], otherwise);
        std::vector<std::string>& names = kernelsOf[ending];
        if (names.empty()) endings.push_back(ending);
        names.push_back(kernel.name);
      }
    }
  }
  std::string text =
      "| kernel | id | question | with the default | alternative | with the alternative |\n|---|---|---|---|---|---|\n";
  for (const std::string& ending : endings) text += fmt::format("| {} | {}", listOf(kernelsOf.at(ending)), ending);
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
  std::string page = readFile(path);
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::cerr << path << " has no markers " << kBegin << " and " << kEnd << "\n";
    return 1;
  }
  const size_t body = begin + kBegin.size();
  if (mode == "--update") {
    page.replace(body, end - body, made);
    std::ofstream(path) << page;
    return 0;
  }
  if (page.substr(body, end - body) == made) return 0;
  std::cerr << path << " differs from what the kernels do now; run unproven_table --update " << path << ". The table is:\n" << made;
  return 1;
}

}  // namespace
}  // namespace shiftconv::tests

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if ((mode != "" && mode != "--check" && mode != "--update") || argc != (mode.empty() ? 1 : 3)) {
    std::cerr << "usage: unproven_table [--check FILE | --update FILE]\n";
    return 2;
  }
  try {
    return shiftconv::tests::run(mode, argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
