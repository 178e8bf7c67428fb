// The planner's choice for every layer of lists of networks, on devices that need not be there: algorithm, estimate, share of the
// roofline, and why not better. Estimates are the cost model's.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/networks/network_layers.hpp"
#include "bench/plan_network/roofline.hpp"
#include "common/command_line/command_line.hpp"
#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"

using namespace shiftconv;

namespace {

struct Options {
  std::vector<std::string> folders, devices{"B200", "B300", "Thor", "H200"}, types{"f16", "bf16", "tf32", "e4m3", "s8"};
  std::vector<uint32_t> batches{1};
  std::string suffix;
  bool verbose = false, totals = false;
};

/// Of the layers of a kind, or that an algorithm runs.
struct Group {
  int layers = 0;
  double estimate = 0, roofline = 0;  ///< seconds, with multiplicities
  void add(double seconds, double least, int times) { ++layers, estimate += times * seconds, roofline += times * least; }
  std::string describe() const {
    return fmt::format("{:4} layers {:10.1f} us {:5.1f} % of the roofline", layers, estimate * 1e6, 100 * roofline / estimate);
  }
};

struct Totals {
  int refused = 0, direct = 0;
};

void explain(const plan::Candidates& candidates) {
  std::set<std::string_view> shown{candidates.all[candidates.best].algorithm->name()};
  for (const size_t i : candidates.byEstimate()) {
    const plan::Candidate& candidate = candidates.all[i];
    if (i == candidates.best)
      fmt::print("      bound by {}\n", plan::nameOf(candidate.estimate.bound));
    else if (shown.insert(candidate.algorithm->name()).second)
      fmt::print("      candidate {}\n", plan::describe(candidate));
  }
  for (size_t from = 0; from < candidates.refusals.size();) {
    const size_t end = candidates.refusals.find('\n', from);
    fmt::print("      {}\n", candidates.refusals.substr(from, end - from));
    from = end + 1;
  }
}

void planAll(const std::vector<bench::NetworkLayer>& layers, const device::Properties& properties, const std::string& device,
             const std::string& type, const Options& options, Totals& totals) {
  std::map<std::string, Group> classes, algorithms;
  std::vector<double> shares;
  const plan::Rates& rates = plan::ratesOf(properties);
  const double launch = rates.launchClocks.perClock / rates.clockHertz.perClock;
  int refused = 0, direct = 0;
  for (const bench::NetworkLayer& layer : layers) {
    const Problem problem = bench::inType(layer.problem, type);
    int times = 0;
    for (const auto& [network, count] : layer.occurrences) times += count;
    plan::Candidates candidates;
    if (const Status status = plan::findCandidates(problem, properties, {}, candidates); !status.ok()) {
      ++refused;
      fmt::print("{} {}: refused {}: {}\n", device, type, describe(problem), status.message());
      continue;
    }
    const plan::Candidate& best = candidates.all[candidates.best];
    direct += best.algorithm->isLastResort();
    const double seconds = best.estimate.seconds, least = bench::rooflineSeconds(problem, properties);
    shares.push_back(seconds / (least + launch));
    const std::string kind = bench::classOf(problem);
    classes[kind].add(seconds, least, times);
    algorithms[std::string(best.algorithm->name())].add(seconds, least, times);
    if (options.totals) continue;
    fmt::print("{} {} {:4} x {:<72} {:9} {:12} {:9.2f} us {:5.1f} %\n", device, type, times, describe(problem), kind,
               best.algorithm->name(), seconds * 1e6, 100 * least / seconds);
    if (options.verbose) explain(candidates);
  }
  for (const auto* groups : {&classes, &algorithms})
    for (const auto& [name, group] : *groups) fmt::print("{} {} {:12} {}\n", device, type, name, group.describe());
  std::sort(shares.begin(), shares.end());
  if (!shares.empty())
    fmt::print("{} {}: the median estimate is {:.2f} times the roofline with a launch of {:.1f} us; {} of {} are below it\n",
               device, type, shares[shares.size() / 2], launch * 1e6,
               std::lower_bound(shares.begin(), shares.end(), 1.0) - shares.begin(), shares.size());
  fmt::print("{} {}: {} layers, {} refused, {} direct\n", device, type, layers.size(), refused, direct);
  totals.refused += refused, totals.direct += direct;
}

int run(const Options& options) {
  std::vector<bench::NetworkLayer> layers;
  std::map<std::string, size_t> known;
  for (const std::string& folder : options.folders)
    for (bench::NetworkLayer& layer :
         bench::readNetworks(folder, {options.batches.begin(), options.batches.end()}, options.suffix)) {
      const auto [place, isNew] = known.try_emplace(layer.text, layers.size());
      if (isNew)
        layers.push_back(std::move(layer));
      else
        for (const auto& [network, count] : layer.occurrences) layers[place->second].occurrences[network] += count;
    }
  std::string last;
  for (const device::Preset& preset : device::presets()) {
    if (std::find(options.devices.begin(), options.devices.end(), preset.name) == options.devices.end()) continue;
    Totals totals;
    for (const std::string& type : options.types) planAll(layers, preset.properties, preset.name, type, options, totals);
    last += fmt::format("networks: {} layers, {} refused, {} direct on {} in {}\n", layers.size(), totals.refused, totals.direct,
                        preset.name, fmt::join(options.types, ", "));
  }
  fmt::print("{}", last);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  command_line::Parser parser("plans every layer of networks for devices that need not be there");
  parser.option("--layers", options.folders, "folders of lists, such as bench/shapes/networks").required();
  parser.option("--devices", options.devices, "presets").oneOf({"B200", "B300", "Thor", "H200"}).separatedBy(',');
  parser.option("--types", options.types, "of operands and outputs")
      .oneOf({"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"})
      .separatedBy(',');
  parser.option("--batch", options.batches, "for layers of the lists with a batch N").separatedBy(',');
  parser.option("--suffix", options.suffix, "appended to each problem: \"bias relu\"");
  parser.flag("--verbose", options.verbose, "why not better: what bounds the choice, other candidates, refusals");
  parser.flag("--totals", options.totals, "no line for each layer");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
