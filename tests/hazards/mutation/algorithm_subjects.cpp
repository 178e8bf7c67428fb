#include "tests/hazards/mutation/algorithm_subjects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/device/embedded_ptx.hpp"
#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/kernel/kernel_case.hpp"
#include "tests/conv/kernel/planned_launch.hpp"
#include "tests/conv/kernel/stream_case.hpp"
#include "tests/hazards/mutation/mutation.hpp"
#include "tests/hazards/mutation/table_file.hpp"

namespace shiftconv::tests {
namespace {

struct TrialProblem {
  std::string name;
  Problem problem;
  std::string options;
  uint32_t multiprocessors = 0;
  std::optional<uint64_t> l2Bytes{};
};

/// A row of `kernel` with its rows of `trial`.
struct KernelTrials {
  std::string set, architecture;
  std::vector<std::string> options;
  std::vector<std::string> functions;
  std::vector<TrialProblem> trials;
};

void require(const Status& status) {
  if (!status.ok()) throw std::invalid_argument(status.message());
}

/// What `separator` separates, without the spaces around it; none of "-".
std::vector<std::string> partsOf(const std::string& text, char separator) {
  std::vector<std::string> parts;
  if (text == "-") return parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (const size_t first = part.find_first_not_of(' '); first != std::string::npos) parts.push_back(part.substr(first));
  return parts;
}

template <class Number>
void readNumber(const std::string& text, const char* what, Number& number) {
  const char* const end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, number); read.ec != std::errc() || read.ptr != end)
    throw std::invalid_argument(fmt::format("{} is no number of {}", text, what));
}

KernelTrials kernelOf(const std::vector<std::string>& fields) {
  KernelTrials kernel{fields[1], fields[2], partsOf(fields[3], ';'), partsOf(fields[4], ' '), {}};
  if (kernel.options.empty()) kernel.options.emplace_back();
  if (kernel.architecture != "sm_90a" && kernel.architecture != "sm_100a")
    throw std::invalid_argument(fmt::format("{} is none of sm_90a, sm_100a", kernel.architecture));
  return kernel;
}

TrialProblem trialOf(const std::vector<std::string>& fields) {
  TrialProblem trial{fields[1], {}, fields[3] == "-" ? "" : fields[3]};
  require(parse(fields[2], trial.problem));
  readNumber(fields[4], "multiprocessors", trial.multiprocessors);
  if (fields.size() > 5) readNumber(fields[5], "bytes of L2", trial.l2Bytes.emplace());
  return trial;
}

/// The kernels of a file that belong to the set.
std::vector<KernelTrials> read(const std::string& path, std::string_view set) {
  std::vector<KernelTrials> kernels;
  for (const TableRow& row : readTable(path, {2, 5, 6})) try {
      const bool isWhole = row.fields.size() == 5;
      if (row.fields[0] == "none" && !isWhole && kernels.empty()) return {};
      if (row.fields[0] == "kernel" && isWhole)
        kernels.push_back(kernelOf(row.fields));
      else if (row.fields[0] == "trial" && row.fields.size() >= 5 && !kernels.empty())
        kernels.back().trials.push_back(trialOf(row.fields));
      else
        throw std::invalid_argument(
            fmt::format("{} is none of kernel, trial, none, lacks fields, or is at the wrong place", row.fields[0]));
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(fmt::format("{}:{}: {}", path, row.line, error.what()));
    }
  std::erase_if(kernels, [&](const KernelTrials& kernel) { return kernel.set != set; });
  return kernels;
}

device::Properties propertiesOf(std::string_view architecture, const TrialProblem& trial) {
  device::Properties properties = fewMultiprocessors();
  if (architecture == "sm_90a")
    for (const device::Preset& preset : device::presets())
      if (std::string_view(preset.name) == "H200") properties = preset.properties;
  properties.multiprocessors = trial.multiprocessors;
  properties.l2Bytes = trial.l2Bytes.value_or(properties.l2Bytes);
  return properties;
}

std::shared_ptr<const plan::Plan> planOf(std::string_view algorithm, const KernelTrials& kernel, const std::string& options,
                                         const TrialProblem& trial) {
  const char* const comma = options.empty() || trial.options.empty() ? "" : ",";
  std::shared_ptr<const plan::Plan> plan;
  require(makePlan(trial.problem, propertiesOf(kernel.architecture, trial),
                   {std::string(algorithm), options + comma + trial.options}, plan));
  return plan;
}

/// Random numbers of which sums are rounded.
Observation runRounded(DeviceRun& device, const plan::Plan& plan, const KernelCase& operands, const emulator::Options& options) {
  const ConvolutionInputs& inputs = operands.inputs();
  const size_t outputBytes = tensorBytes(plan.problem)[TensorName::Output];
  PerTensor<uint64_t> tensors;
  tensors[TensorName::Input] = device.upload(inputs.activations);
  tensors[TensorName::Filter] = device.upload(inputs.filter);
  if (!inputs.bias.empty()) tensors[TensorName::Bias] = device.upload(inputs.bias);
  if (!inputs.residual.empty()) tensors[TensorName::Residual] = device.upload(inputs.residual);
  tensors[TensorName::Output] = device.upload(std::vector<std::byte>(outputBytes, std::byte{0xCD}));
  Observation seen = launchPlanned(device, plan.launches.at(plan.mainLaunch), tensors, options);
  KernelRun run;
  run.output = device.download<std::byte>(tensors[TensorName::Output], outputBytes);
  seen.difference = operands.judge(run, options.numerics);
  return seen;
}

/// KernelCase has 16-bit operands whose sums are rounded, and residuals; StreamCase has operands of every type, and block scales.
KernelTrial runOf(const TrialProblem& trial, const std::string& architecture, const std::shared_ptr<const plan::Plan>& plan,
                  uint64_t seed) {
  if (architecture == "sm_90a" && bitsOf(plan->problem.inputType) == 16) {
    const auto operands = std::make_shared<const KernelCase>(plan->problem, seed);
    return {trial.name, [plan, operands](DeviceRun& device, const emulator::Options& options) {
              return runRounded(device, *plan, *operands, options);
            }};
  }
  const auto operands = std::make_shared<const StreamCase>(plan->problem, seed);
  return {trial.name, [plan, operands](DeviceRun& device, const emulator::Options& options) {
            return operands->run(device, plan->launches.at(plan->mainLaunch), options);
          }};
}

Subject subjectOf(std::string_view algorithm, const KernelTrials& kernel, const std::string& options) {
  std::vector<KernelTrial> trials;
  std::string name;
  std::string_view ptx;
  uint64_t seed = 901;
  for (const TrialProblem& trial : kernel.trials) {
    const auto plan = planOf(algorithm, kernel, options, trial);
    if (!name.empty() && name != plan->kernelName())
      throw std::invalid_argument(fmt::format("trial {} has kernel {}, those before it {}", trial.name, plan->kernelName(), name));
    name = plan->kernelName();
    ptx = device::ptxFor(plan->launches.at(plan->mainLaunch).image, kernel.architecture);
    trials.push_back(runOf(trial, kernel.architecture, plan, seed++));
  }
  Subject subject = makeSubject(name, onlyKernel(ptx, name), std::move(trials));
  subject.source = SourcePositions(ptx);
  subject.functions = kernel.functions;
  return subject;
}

}  // namespace

std::vector<Subject> algorithmSubjects(std::string_view set) {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : std::filesystem::directory_iterator(ALGORITHM_TESTS))
    if (const auto file = folder.path() / "mutation.txt"; exists(file)) files.push_back(file);
  std::sort(files.begin(), files.end());
  std::vector<Subject> subjects;
  for (const std::filesystem::path& file : files) try {
      for (const KernelTrials& kernel : read(file, set))
        for (const std::string& options : kernel.options)
          subjects.push_back(subjectOf(file.parent_path().filename().string(), kernel, options));
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
    }
  return subjects;
}

}  // namespace shiftconv::tests
