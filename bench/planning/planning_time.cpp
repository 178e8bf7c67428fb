// How long the planner takes for every layer of lists, and, to compare two versions of it, what it plans for each. Needs no device.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/networks/network_layers.hpp"
#include "common/command_line/command_line.hpp"
#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"

using namespace shiftconv;

namespace {

/// Of this thread, in microseconds: the time that other processes take does not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

struct Layer {
  std::string text;
  double microseconds;  ///< the median of the repetitions
};

struct Options {
  std::vector<std::string> folders{"bench/shapes/networks"}, devices{"H200", "B200"}, suffixes{""};
  std::vector<uint32_t> batches{1, 8, 32};
  std::string plans;
  uint32_t repeat = 5, slowest = 3;
  bool check = false;
};

constexpr double kMedianLimit = 50, kLimit = 500;  // microseconds

std::vector<bench::NetworkLayer> layersOf(const Options& options) {
  const std::vector<int64_t> batches(options.batches.begin(), options.batches.end());
  std::vector<bench::NetworkLayer> all;
  for (const std::string& folder : options.folders)
    for (const std::string& suffix : options.suffixes)
      for (bench::NetworkLayer& layer : bench::readNetworks(folder, batches, suffix)) all.push_back(std::move(layer));
  return all;
}

/// Whether the times keep the limits.
bool measure(const device::Preset& preset, const std::vector<bench::NetworkLayer>& layers, const Options& options,
             std::ofstream& plans) {
  std::vector<Layer> times;
  for (const bench::NetworkLayer& layer : layers) {
    std::vector<double> taken;
    std::shared_ptr<const plan::Plan> made;
    Status status;
    for (uint32_t i = 0; i < options.repeat; ++i) {
      const double before = now();
      status = plan::makePlan(layer.problem, preset.properties, {}, made);
      taken.push_back(now() - before);
    }
    std::sort(taken.begin(), taken.end());
    times.push_back({layer.text, taken[taken.size() / 2]});
    if (plans.is_open())
      plans << "== " << preset.name << " " << layer.text << "\n"
            << (status.ok() ? describe(*made) + choiceOf(*made) : status.message() + "\n");
  }
  if (times.empty()) return true;
  std::sort(times.begin(), times.end(), [](const Layer& a, const Layer& b) { return a.microseconds < b.microseconds; });
  const auto at = [&](double share) { return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]; };
  fmt::print("{}: {} layers, planned in us: median {:.1f}, 95 % below {:.1f}, most {:.1f}\n", preset.name, times.size(),
             at(0.5).microseconds, at(0.95).microseconds, at(1).microseconds);
  for (size_t i = 0; i < std::min<size_t>(options.slowest, times.size()); ++i) {
    const Layer& layer = times[times.size() - 1 - i];
    fmt::print("  {:8.1f}  {}\n", layer.microseconds, layer.text);
  }
  return at(0.5).microseconds <= kMedianLimit && at(1).microseconds <= kLimit;
}

int run(const Options& options) {
  const std::vector<bench::NetworkLayer> layers = layersOf(options);
  std::ofstream plans;
  if (!options.plans.empty()) {
    plans.open(options.plans);
    if (!plans) {
      fmt::print(stderr, "cannot write {}\n", options.plans);
      return 2;
    }
  }
  bool kept = true;
  for (const std::string& name : options.devices) {
    const auto presets = device::presets();
    const auto preset = std::find_if(presets.begin(), presets.end(), [&](const device::Preset& one) { return one.name == name; });
    if (preset == presets.end()) {
      fmt::print(stderr, "there is no preset {}\n", name);
      return 2;
    }
    kept &= measure(*preset, layers, options, plans);
  }
  return options.check && !kept ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  command_line::Parser parser("How long the planner takes for the layers of lists, in CPU time of its thread.");
  parser.option("--folder", options.folders, "folders of lists (default: bench/shapes/networks)");
  parser.option("--suffix", options.suffixes, "texts that are appended to each problem, such as \"bias relu\"; \"\" for none");
  parser.option("--batches", options.batches, "for lists whose batch is N (default: 1,8,32)").separatedBy(',');
  parser.option("--devices", options.devices, "presets (default: H200,B200)").separatedBy(',');
  parser.option("--repeat", options.repeat, "times that each layer is planned").range(1u, 1000u).showDefault();
  parser.option("--slowest", options.slowest, "layers that are named").showDefault();
  parser.option("--plans", options.plans, "a file that gets every plan as text, and what it was chosen from");
  parser.flag("--check", options.check, "fail unless the median is at most 50 us and no layer takes more than 500 us");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
