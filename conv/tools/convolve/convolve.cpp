// One or more convolutions through the public API, with random operands and every element checked: what a profiler or a sanitizer
// runs. Phases are NVTX ranges: "operands", "plan", "bind", "run", "check".
#include <fmt/format.h>

#include <nvtx3/nvToolsExt.h>
#include <sys/utsname.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "conv/reference/block_output.hpp"
#include "conv/tools/convolve/runs.hpp"

namespace shiftconv::judged {
namespace {

class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

struct Options {
  std::vector<std::string> problems;
  std::string file, device, algorithm, options, counters, planFor, autotuneCache;
  uint64_t seed = 1;
  int runs = 1;
  bool unchecked = false, autotune = false, explain = false, environment = false, batchInvariant = false, constantFilter = false;
};

std::string capabilityOf(const DeviceProperties& properties) {
  return fmt::format("{}.{}", properties.compute_major, properties.compute_minor);
}
bool sameCapability(const DeviceProperties& a, const DeviceProperties& b) { return capabilityOf(a) == capabilityOf(b); }

/// The device named. Without a name: a GPU, and where there is none an emulated device; with --plan-for, one of that capability.
Device openDevice(const Options& options) {
  const auto wanted = options.planFor.empty() ? std::nullopt : std::optional(DeviceProperties::preset(options.planFor));
  std::string reason;
  if (!options.device.empty()) {
    Device named(options.device);
    if (!wanted || sameCapability(named.properties(), *wanted)) return named;
    throw std::invalid_argument(fmt::format("a plan for {} needs a device of compute capability {}, but {} has {}", options.planFor,
                                            capabilityOf(*wanted), named.properties().name, capabilityOf(named.properties())));
  }
  try {
    Device gpu;
    if (!wanted || sameCapability(gpu.properties(), *wanted)) return gpu;
    reason = fmt::format("{} has compute capability {}", gpu.properties().name, capabilityOf(gpu.properties()));
  } catch (const Error& error) {
    if (error.status() != SHIFTCONV_STATUS_NOT_FOUND) throw;
    reason = error.what();
    reason.resize(std::min(reason.find(';'), reason.size()));  // after it: how to ask for the emulated device, which is taken
  }
  fmt::print("Taking an emulated device: {}\n", reason);
  return Device(wanted ? fmt::format("emulated:sm_{}{}a", wanted->compute_major, wanted->compute_minor) : "emulated");
}

/// "problem | algorithm NAME | options LIST", as in the shape files of the tests; the parts override the arguments.
struct Line {
  std::string problem, algorithm, options;
};
Line parseLine(const std::string& text, const Options& defaults) {
  Line line{"", defaults.algorithm, defaults.options};
  std::istringstream parts(text);
  std::getline(parts, line.problem, '|');
  line.problem = line.problem.substr(0, line.problem.find_last_not_of(' ') + 1);
  for (std::string part; std::getline(parts, part, '|');) {
    std::istringstream words(part);
    std::string name, value;
    words >> name >> value;
    if (name == "algorithm")
      line.algorithm = value;
    else if (name == "options")
      line.options = value;
    else
      throw std::invalid_argument(fmt::format("\"{}\" is neither algorithm nor options, in: {}", part, text));
  }
  return line;
}

Plan makePlan(const Convolution& problem, const PlanOptions& choices, const Options& options, const Device& device) {
  if (options.autotune) {
    Autotune how;
    if (!options.autotuneCache.empty()) how.cache = options.autotuneCache.c_str();
    return Plan::autotuned(problem, device, how, choices);
  }
  return Plan(problem, options.planFor.empty() ? device.properties() : DeviceProperties::preset(options.planFor), choices);
}

/// Prints a line; false when an element is wrong, or a scale factor.
bool judge(const Case& one, const reference::Expectation& exact, const DeviceTensors& tensors) {
  const std::vector<std::byte> output = tensors.download(TensorName::Output);
  if (one.problem.outputScale.blockSize != 0) {
    if (!reference::outputFormat(one.problem)) throw std::invalid_argument("no block format has these outputs and scale factors");
    const std::string difference =
        reference::blockOutputDifference(one.problem, exact, output, tensors.download(TensorName::OutputScale));
    fmt::print("  {}: {} elements in blocks of {}{}{}\n", difference.empty() ? "right" : "WRONG", exact.value.size(),
               one.problem.outputScale.blockSize, difference.empty() ? "" : ", ", difference);
    return difference.empty();
  }
  const Errors errors = compare(one.problem, exact, output, kPoison);
  fmt::print("  {}: {} elements, {} beyond their bound, largest error {:.3f} of it, relative L2 {:.2e}{}\n",
             errors.right() ? "right" : "WRONG", errors.elements, errors.beyond, errors.worstShare, errors.relativeL2,
             errors.gapsWritten ? ", gaps written" : "");
  return errors.right();
}

/// False when something is wrong.
bool convolve(const Line& line, const Options& options, const Device& device) {
  std::optional<Range> phase("operands");
  const Case one(line.problem, options.seed);
  DeviceTensors tensors(device, one);

  phase.emplace("plan");
  PlanOptions choices;
  choices.algorithm = line.algorithm.c_str();
  choices.options = line.options.c_str();
  choices.batch_invariant = options.batchInvariant;
  choices.constant_filter = options.constantFilter;
  const Plan plan = makePlan(one.convolution, choices, options, device);

  phase.emplace("bind");
  Tensors arguments = tensors.arguments();
  const Memory workspace(device, plan.workspaceBytes());
  arguments.workspace = workspace.get();
  const Binding binding(plan, device, arguments);
  tensors.poison(kPoison);
  check(shiftconv_stream_synchronize(device.handle(), nullptr));

  phase.emplace("run");
  for (int i = 0; i < options.runs; ++i) binding.run();
  check(shiftconv_stream_synchronize(device.handle(), nullptr));

  phase.emplace("check");
  fmt::print("{}\n  kernel {}\n  plan {} {}\n", line.problem, plan.kernelName(), plan.algorithm(), plan.options());
  if (options.autotune) fmt::print("{}", plan.candidates());
  if (options.unchecked) return true;
  return judge(one, one.exact(accumulationsIn(plan.describe())), tensors);
}

/// Every algorithm's best plan or refusal, the roofline, and what repeats the planner's choice. Runs nothing.
void explain(const Line& line, const Options& options) {
  const DeviceProperties properties =
      options.planFor.empty() ? openDevice(options).properties() : DeviceProperties::preset(options.planFor);
  PlanOptions choices;
  choices.algorithm = line.algorithm.c_str();
  choices.options = line.options.c_str();
  choices.batch_invariant = options.batchInvariant;
  choices.constant_filter = options.constantFilter;
  const Convolution problem = Convolution::parse(line.problem);
  fmt::print("{} on {}\n", problem.describe(), properties.name);
  for (int i = 0; i < shiftconv_algorithm_count(); ++i) {
    const std::string algorithm = shiftconv_algorithm_name(i), refused = refusal(problem, properties, algorithm);
    if (!refused.empty()) {
      fmt::print("  no  {}\n", refused);
      continue;
    }
    PlanOptions one;
    one.algorithm = algorithm.c_str();
    const Plan plan(problem, properties, one);
    const auto estimate = plan.estimate();
    fmt::print("  yes {} {}: {:.2f} us, bound by {}\n", algorithm, plan.options(), estimate.seconds * 1e6, estimate.bound);
  }
  const Plan plan(problem, properties, choices);
  const std::string chosen = plan.candidates();
  fmt::print("{}{}", plan.describe(), chosen.substr(chosen.rfind("roofline")));
  fmt::print("again with convolve{}{} --algorithm {}{}{} '{}'\n", options.device.empty() ? "" : " --device " + options.device,
             options.planFor.empty() ? "" : " --plan-for " + options.planFor, plan.algorithm(),
             plan.options().empty() ? "" : " --options ", plan.options(), problem.describe());
}

/// What a bug report needs besides the problem.
void printEnvironment() {
  fmt::print("ShiftConv {}, header {}.{}.{}\n", shiftconv_version_string(), SHIFTCONV_VERSION_MAJOR, SHIFTCONV_VERSION_MINOR,
             SHIFTCONV_VERSION_PATCH);
  utsname system{};
  if (uname(&system) == 0)
    fmt::print("{} {} {}, {} host threads\n", system.sysname, system.release, system.machine, std::thread::hardware_concurrency());
  int devices = 0;
  check(shiftconv_device_count(&devices));
  for (int i = 0; i < devices; ++i) {
    DeviceProperties p;
    check(shiftconv_device_enumerate(i, &p));
    fmt::print("device {}: {}, compute capability {}, {} multiprocessors, {} bytes of shared memory a block, {:.1f} GiB\n", i,
               p.name, capabilityOf(p), p.multiprocessors, p.shared_bytes_per_block,
               static_cast<double>(p.global_bytes) / (1 << 30));
  }
  for (const char* name :
       {"SHIFTCONV_DEVICE", "SHIFTCONV_LOG", "SHIFTCONV_AUTOTUNE_CACHE", "CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING"})
    if (const char* value = std::getenv(name)) fmt::print("{}={}\n", name, value);
}

int run(const Options& options) {
  if (options.environment) {
    printEnvironment();
    return 0;
  }
  std::vector<std::string> texts = options.problems;
  if (!options.file.empty()) {
    std::ifstream file(options.file);
    if (!file) throw std::invalid_argument("cannot read " + options.file);
    for (std::string line; std::getline(file, line);) {
      line = line.substr(0, line.find('#'));
      if (line.find_first_not_of(" \t") != std::string::npos) texts.push_back(line);
    }
  }
  if (texts.empty()) throw std::invalid_argument("no problem");
  std::optional<Device> device;
  if (!options.explain) {
    device.emplace(openDevice(options));
    fmt::print("{}, operands {}\n", device->properties().name, options.seed);
  }
  size_t wrong = 0, refused = 0;
  for (const std::string& text : texts) {
    try {
      const Line line = parseLine(text, options);
      if (!device)
        explain(line, options);
      else if (!convolve(line, options, *device))
        ++wrong;
    } catch (const std::exception& error) {
      std::fflush(stdout);
      fmt::print(stderr, "{:.500}{}\n  not {}: {}\n", text, text.size() > 500 ? "..." : "", device ? "run" : "planned",
                 error.what());
      ++refused;
    }
  }
  if (texts.size() > 1 && wrong + refused > 0)
    fmt::print(stderr, "{} of {} problems are wrong, {} were not {}\n", wrong, texts.size(), refused, device ? "run" : "planned");
  if (device && !options.counters.empty()) {
    std::ofstream file(options.counters);
    file << device->counters(SHIFTCONV_COUNTERS_JSON) << "\n";
    if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", options.counters));
  }
  return wrong > 0 ? 1 : refused > 0 ? 2 : 0;
}

}  // namespace
}  // namespace shiftconv::judged

int main(int argc, char** argv) {
  shiftconv::judged::Options options;
  shiftconv::command_line::Parser parser(
      "convolutions in the library's notation, each with every element checked; exit status 1: something is wrong, 2: not all of "
      "them ran");
  parser.option("problems", options.problems, "like \"1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias relu\"");
  parser.option("--file", options.file, "problems, a line each; \"| algorithm NAME | options LIST\" may follow");
  parser.device(options.device);
  shiftconv::command_line::Option planFor =
      parser.option("--plan-for", options.planFor,
                    "plan for another device of the same compute capability than the one it runs on: H200, B200, ...");
  shiftconv::command_line::Option autotune =
      parser.option("--autotune", options.autotuneCache, "plan by measurement, and say what was measured; a file that remembers it")
          .valueOptional()
          .excludes(planFor);
  parser.option("--algorithm", options.algorithm);
  parser.option("--options", options.options, "of the algorithm");
  parser.flag("--batch-invariant", options.batchInvariant, "a plan that sums an image as it does alone, whatever n is");
  parser.flag("--constant-filter", options.constantFilter,
              "a plan that may read the filter while the work before a run still ends");
  parser.option("--runs", options.runs);
  parser.option("--seed", options.seed, "of the operands");
  parser.flag("--unchecked", options.unchecked, "no reference on the host");
  parser.flag(
      "--explain", options.explain,
      "run nothing: say of every algorithm why not, or what its best plan would take, and what repeats the planner's choice");
  parser.flag("--environment", options.environment, "run nothing: print versions, devices and variables, for a bug report");
  parser.option("--counters", options.counters, "file for the emulated device's counters, as JSON");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  options.autotune = autotune.given();
  try {
    return shiftconv::judged::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
