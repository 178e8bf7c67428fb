// Ours and cuDNN on the same operands, on a GPU of compute capability 9.0, and the kernels of sm_100a on the emulated device beside
// them: every element against the exact reference, errors in the same units. One JSON line a problem; a run goes on where an
// earlier one ended, as plans of cuDNN can end the process.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/conv/gpu/cudnn_side.hpp"
#include "common/command_line/command_line.hpp"
#include "tests/cudnn/cudnn_run.hpp"
#include "tests/cudnn/problem_file.hpp"

namespace shiftconv::referee {
namespace {

using judged::Case;
using Json = nlohmann::ordered_json;

constexpr double kMostDirectMacs = 4e6;  // emulated: on CUDA cores, thread by thread
constexpr int kNothingToTest = 77;       // ctest takes it for skipped

struct Options {
  std::string problems, cudnnLibrary, out, tree;
  uint64_t seed = 1;
  double emulatedMacs = 30e6;
  double seconds = 1e9;
  std::vector<std::string> files;  ///< of the folder, without extension; empty: all
  bool withoutGpu = false, withoutEmulation = false;
};

/// What an output file says of an earlier run.
struct Progress {
  std::set<std::string> done, begun;  ///< texts of problems
};
Progress readProgress(const std::string& path) {
  Progress progress;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto row = Json::parse(line, nullptr, false);
    if (row.is_discarded()) continue;  // the process ended while it wrote
    if (row.contains("sides")) progress.done.insert(row["problem"]);
    if (row.contains("begun")) progress.begun.insert(row["begun"]);
  }
  return progress;
}

class Referee {
 public:
  Referee(const Options& options, std::optional<Device> gpu)
      : options_(options), gpu_(std::move(gpu)), hopperProperties_(gpu_ ? gpu_->properties() : DeviceProperties::preset("H200")) {
    if (options.withoutEmulation) return;
    blackwell_.emplace(SHIFTCONV_DEVICE_EMULATED, 0), hopper_.emplace(SHIFTCONV_DEVICE_EMULATED, 1);
    for (auto* device : {&blackwell_, &hopper_}) (*device)->setOption("hazards", "error");
  }

  Json header(const std::string& cudnnVersion) const {
    const std::time_t now = std::time(nullptr);
    char date[32];
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
    return {{"date", date},          {"device", gpu_ ? gpu_->properties().name : "none"},
            {"cudnn", cudnnVersion}, {"shiftconv", shiftconv_version_string()},
            {"tree", options_.tree}, {"bounds", "as each side sums"},
            {"seed", options_.seed}, {"emulated_macs", options_.emulatedMacs}};
  }

  /// False once a kernel has faulted: then nothing runs any more in this process.
  bool gpuWorks() const { return !gpu_ || shiftconv_stream_synchronize(gpu_->handle(), nullptr) == SHIFTCONV_STATUS_SUCCESS; }

  /// All sides of one problem. A wrong result of ours, a hazard and an error of a run are failures; what cuDNN does is reported.
  Json judge(const ProblemLine& line, uint64_t seed, bool withCudnn) {
    const Case one(line.text, seed);
    Json sides = Json::array();
    const auto add = [&](auto&& run) {
      try {
        run();
      } catch (const std::exception& error) {
        sides.push_back({{"side", "ours"}, {"right", false}, {"error", error.what()}});
      }
    };
    judged::Outputs onGpu, emulated;
    const std::string left = one.macs() <= kMostDirectMacs ? "" : "direct";
    if (gpu_) {
      add([&] { append(sides, judged::runAlgorithms(one, *gpu_, hopperProperties_, "sm_90a", onGpu)); });
      if (withCudnn)
        sides.push_back(runCudnn(one, *gpu_));
      else
        sides.push_back({{"side", "cuDNN"}, {"refusal", "its plan ends the process"}});
    }
    if (blackwell_ && one.macs() <= options_.emulatedMacs) {
      add([&] { append(sides, judged::runAlgorithms(one, *blackwell_, blackwell_->properties(), "sm_100a", emulated, left)); });
      add([&] {
        // The very plans of the GPU, from the PTX that ships beside them: also the same bits?
        Json rows = judged::runAlgorithms(one, *hopper_, hopperProperties_, "sm_90a emulated", emulated, left);
        for (Json& row : rows) {
          const auto found = onGpu.find(row["algorithm"]);
          if (found != onGpu.end()) row["equals_gpu"] = emulated[found->first] == found->second;
        }
        append(sides, rows);
      });
    }
    return {{"file", line.file}, {"problem", line.text}, {"seed", seed}, {"macs", one.macs()}, {"sides", sides}};
  }

 private:
  static void append(Json& all, const Json& rows) { all.insert(all.end(), rows.begin(), rows.end()); }

  const Options& options_;
  std::optional<Device> gpu_;
  DeviceProperties hopperProperties_;
  std::optional<Device> blackwell_, hopper_;  ///< emulated
};

/// The GPU that is asked for; nothing, with a reason on stdout, where it is missing.
std::optional<Device> openGpu() {
  try {
    Device gpu(SHIFTCONV_DEVICE_CUDA);
    if (gpu.properties().compute_major == 9) return gpu;
    fmt::print("{} is not of compute capability 9.0\n", gpu.properties().name);
  } catch (const Error& error) {
    fmt::print("{}\n", error.what());
  }
  return {};
}

int run(const Options& options) {
  std::optional<Device> gpu;
  std::string version = "none";
  if (!options.withoutGpu) {
    gpu = openGpu();
    if (!gpu) return kNothingToTest;
    version = cudnn::load(options.cudnnLibrary);
    fmt::print("{}, cuDNN {} from {}, seed {}\n", gpu->properties().name, version, options.cudnnLibrary, options.seed);
  }
  const auto start = std::chrono::steady_clock::now();
  const Progress progress = readProgress(options.out);
  std::ofstream out(options.out, std::ios::app);
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", options.out));
  Referee referee(options, std::move(gpu));
  if (progress.done.empty() && progress.begun.empty()) out << referee.header(version).dump() << std::endl;
  int wrong = 0;
  uint64_t index = 0;
  for (const ProblemLine& line : readProblems(options.problems)) {
    const uint64_t seed = options.seed * 1'000'003 + index++;
    if (!options.files.empty() && std::find(options.files.begin(), options.files.end(), line.file) == options.files.end()) continue;
    if (progress.done.contains(line.text)) continue;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options.seconds) {
      fmt::print("no time is left: {} problems and more not done\n", index);
      return 3;
    }
    out << Json{{"begun", line.text}}.dump() << std::endl;
    const Json row = referee.judge(line, seed, !progress.begun.contains(line.text));
    out << row.dump() << std::endl;
    for (const Json& side : row["sides"]) {
      const std::string name = side["side"];
      if (name == "cuDNN" || side.value("right", false)) continue;
      ++wrong;
      fmt::print("WRONG {}: {}\n", line.text, side.dump());
    }
    if (!referee.gpuWorks()) {
      fmt::print("the GPU's context is lost\n");
      return 4;
    }
  }
  fmt::print("{} problems, {} results of ours wrong\n", index, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace shiftconv::referee

int main(int argc, char** argv) {
  shiftconv::referee::Options options;
  shiftconv::command_line::Parser parser(
      "ours and cuDNN against the exact reference; exit status 77: no GPU of compute capability 9.0, 3: out of time, 4: the GPU is "
      "lost");
  parser.option("--problems", options.problems, "folder of problem files").required();
  parser.option("--cudnn-library", options.cudnnLibrary, "path of libcudnn.so.9");
  parser.option("--out", options.out, "JSON lines; continued when it is there").required();
  parser.option("--tree", options.tree, "what was built, for the report: a commit");
  parser.option("--seed", options.seed);
  parser.option("--emulated-macs", options.emulatedMacs, "largest problem that is also emulated");
  parser.option("--seconds", options.seconds, "end when they are over");
  parser.option("--files", options.files, "only these of the folder, without extension").takeAll();
  parser.flag("--without-gpu", options.withoutGpu, "emulated devices only");
  parser.flag("--without-emulation", options.withoutEmulation, "GPU only");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    return shiftconv::referee::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
