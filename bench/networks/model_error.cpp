// The cost model beside what was measured: reads the rows of `networks`, estimates every measured candidate again with today's
// planner, and prints for each algorithm how far the estimates are off, and what the planner's choice loses against the best
// candidate that was measured. Needs no device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "common/device/device.hpp"
#include "conv/plan/measured_correction.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"

using namespace shiftconv;
using Json = nlohmann::ordered_json;

namespace {

device::Properties h200() {
  device::Properties properties;
  properties.name = "NVIDIA H200";
  properties.computeMajor = 9;
  properties.computeMinor = 0;
  properties.multiprocessors = 132;
  properties.sharedBytesPerBlock = 232448;
  return properties;
}

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}
double geomean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

/// 1 where the geometric mean of the regrets of a batch of at least `fewestLayers`, or of all layers, is above `mostRegret`.
int run(const std::string& path, const std::string& dump, double mostRegret, size_t fewestLayers, bool worst) {
  std::ifstream file(path);
  if (!file) {
    fmt::print(stderr, "cannot read {}\n", path);
    return 2;
  }
  const Json report = Json::parse(file);
  std::ofstream table;
  if (!dump.empty()) {
    table.open(dump);
    table << "layer\ttrees\tcandidate\tmeasured\testimate";
    for (const std::string_view feature : plan::kCorrectionFeatures) table << "\t" << feature;
    table << "\n";
  }
  std::map<std::string, std::vector<double>> errors;  // estimate / measured, by algorithm
  std::map<int64_t, std::vector<double>> regrets;
  int unknown = 0;
  for (const Json& row : report["rows"]) {
    if (!row.contains("candidates")) continue;
    Problem problem;
    const std::string text = row["layer"];
    if (!parse(text, problem).ok()) continue;
    plan::Candidates candidates;
    if (!plan::findCandidates(problem, h200(), {}, candidates).ok()) continue;
    double best = 1e30, chosen = 0, fastest = 1e30;
    std::string choice, bestName;
    for (const auto& [name, us] : row["candidates"].items())
      if (name != "cuDNN" && double{us} < best) best = us, bestName = name;
    for (const plan::Candidate& candidate : candidates.all) {
      const std::string name = fmt::format("{}:{}", candidate.algorithm->name(), candidate.options());
      if (!row["candidates"].contains(name)) continue;
      const double measured = row["candidates"][name], estimate = candidate.estimate.seconds * 1e6;
      const double modelled = estimate / candidate.correction;
      errors[std::string(candidate.algorithm->name())].push_back(estimate / measured);
      if (table.is_open()) {
        const std::string_view trees = candidate.tiling.trees;
        table << text << "\t" << (trees.empty() ? candidate.algorithm->name() : trees) << "\t" << name << "\t" << measured << "\t"
              << modelled;
        for (const float feature : plan::CorrectionView(problem).of(candidate.tiling, modelled)) table << "\t" << feature;
        table << "\n";
      }
      if (estimate < fastest) fastest = estimate, chosen = measured, choice = name;
    }
    const plan::Candidate& winner = candidates.all[candidates.best];
    if (!row["candidates"].contains(fmt::format("{}:{}", winner.algorithm->name(), winner.options()))) ++unknown;
    if (chosen == 0) continue;
    regrets[int64_t{row["batch"]}].push_back(chosen / best);
    if (worst && chosen > 1.25 * best)
      fmt::print("{:64} {:7.2f} {:44} best {:7.2f} {}\n", text.substr(0, text.find("->")), chosen, choice, best, bestName);
  }
  for (const auto& [name, ratios] : errors)
    fmt::print("{:14} {:5} candidates, estimate / measured: geomean {:.2f}, 5 to 95 % {:.2f} .. {:.2f}\n", name, ratios.size(),
               geomean(ratios), at(ratios, 0.05), at(ratios, 0.95));
  bool within = true;
  std::vector<double> all;
  for (const auto& [batch, values] : regrets) {
    all.insert(all.end(), values.begin(), values.end());
    within = within && (values.size() < fewestLayers || geomean(values) <= mostRegret);
    fmt::print("batch {}: regret {:.3f} over {} layers, 95 % below {:.2f}, worst {:.2f}\n", batch, geomean(values), values.size(),
               at(values, 0.95), at(values, 1));
  }
  within = within && geomean(all) <= mostRegret;
  fmt::print("{} layers whose choice has not been measured\n", unknown);
  if (!within) fmt::print(stderr, "a regret is above {}\n", mostRegret);
  return within ? 0 : 1;
}

/// The planner's choice for each line of a file, and its runners-up of other algorithms.
int printPlans(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Problem problem;
    plan::Candidates candidates;
    if (line.empty() || line[0] == '#' || !parse(line, problem).ok()) continue;
    if (!plan::findCandidates(problem, h200(), {}, candidates).ok()) continue;
    std::string text;
    std::map<std::string_view, int> seen;
    for (const size_t i : candidates.byEstimate())
      if (const plan::Candidate& c = candidates.all[i]; seen[c.algorithm->name()]++ == 0)
        text += fmt::format("  {}:{} {:.1f}", c.algorithm->name(), c.options(), c.estimate.seconds * 1e6);
    fmt::print("{:56}{}\n", line.substr(0, line.find("->")), text);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string rows, dump, problems;
  double mostRegret = 1e9;
  uint32_t fewestLayers = 1;
  bool worst = false;
  command_line::Parser parser("the planner's estimates beside measured times");
  parser.option("--rows", rows, "JSON file of `networks`");
  parser.option("--problems", problems, "a problem a line: prints each algorithm's best candidate and estimate, the choice first");
  parser.option("--dump", dump, "a table: layer, candidate, measured and modelled microseconds, and what correction trees see");
  parser.option("--most-regret", mostRegret, "exit status 1 where the regret of a batch, or of all layers, is above it");
  parser.option("--fewest-layers", fewestLayers, "batches of fewer layers count only among all (1)");
  parser.flag("--worst", worst, "layers whose choice loses more than a quarter");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  return problems.empty() ? run(rows, dump, mostRegret, fewestLayers, worst) : printPlans(problems);
}
