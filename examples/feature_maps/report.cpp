#include "examples/feature_maps/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <sstream>

#include "examples/feature_maps/exit_code.hpp"

namespace feature_maps {

namespace {

Verification total(const std::vector<CheckedLayer>& layers) {
  Verification sum;
  for (const CheckedLayer& layer : layers) sum += layer.check;
  return sum;
}

double totalSeconds(const std::vector<CheckedLayer>& layers) {
  double seconds = 0;
  for (const CheckedLayer& layer : layers) seconds += layer.report.seconds;
  return seconds;
}

std::string algorithms(const std::vector<CheckedLayer>& layers) {
  std::set<std::string> names;
  for (const CheckedLayer& layer : layers) names.insert(layer.report.algorithm);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string inMegabytes(uint64_t bytes) { return fmt::format("{:.1f} MB", 1e-6 * static_cast<double>(bytes)); }

}  // namespace

std::string deviceLine(const ConvolutionRunner& runner, const Options& options) {
  std::string line = runner.properties().name;
  if (!runner.properties().emulated()) return line;
  line += fmt::format(", schedule {}", options.policy);
  if (options.policy == "random") line += fmt::format(" (seed {})", options.seed);
  return line + fmt::format(", {} numerics", options.numerics);
}

void printLayers(const std::vector<CheckedLayer>& layers) {
  for (const auto& [report, check] : layers) {
    fmt::print("\n{}\n", report.name);
    std::istringstream plan(report.plan);
    for (std::string line; std::getline(plan, line);) fmt::print("  {}\n", line);
    fmt::print("  time       {:.3f} s, {:.2f} GFLOP/s\n", report.seconds, report.gigaflops);
    if (check.elements > 0) {
      fmt::print("  error      {} elements, largest {:.3g}, at most {:.1f}% of its bound\n", check.elements, check.worstError,
                 100 * check.worstRatio);
    }
  }
}

void printCounters(const ConvolutionRunner& runner, bool all) {
  if (!runner.properties().emulated()) return;
  if (all) fmt::print("\n{}\n", runner.device().counters());
  const CounterSummary summary = runner.counterSummary();
  fmt::print(
      "\nCounters of the emulated device\n  MMAs              {}, {} of them with .ashift\n  instructions      {} by warps\n",
      summary.mmas, summary.shiftingMmas, summary.warpInstructions);
  for (const auto& [engine, bytes] : summary.bytesByEngine) {
    if (bytes > 0) fmt::print("  {:<17} {} moved\n", engine, inMegabytes(bytes));
  }
  std::vector<std::string> uses;
  for (const auto& [id, count] : summary.unproven) uses.push_back(fmt::format("{} ({} times)", id, count));
  fmt::print("  unproven hardware behaviour relied on: {}\n", uses.empty() ? "none" : fmt::format("{}", fmt::join(uses, ", ")));
}

int printVerdict(const std::vector<CheckedLayer>& layers, const Options& options) {
  const Verification sum = total(layers);
  fmt::print("\n{} convolutions in {:.1f} s; contact sheet: {}\n", layers.size(), totalSeconds(layers),
             options.sheet ? options.output : "none (--no-sheet)");
  if (sum.elements == 0) {
    fmt::print("Results were not verified (--no-verify).\n");
    return ExitCode::Success;
  }
  if (sum.exceeded == 0) {
    fmt::print("All {} output elements are within the derived error bound; the largest error is {:.1f}% of its bound.\n",
               sum.elements, 100 * sum.worstRatio);
    return ExitCode::Success;
  }
  fmt::print("{} of {} output elements are OUTSIDE the derived error bound.\n", sum.exceeded, sum.elements);
  for (const auto& [report, check] : layers) {
    if (check.exceeded > 0) fmt::print("  {}: {} elements, first at {}\n", report.name, check.exceeded, check.firstExceeded);
  }
  return ExitCode::BoundExceeded;
}

std::vector<std::string> footerLines(const std::vector<CheckedLayer>& layers, const std::string& device) {
  std::vector<std::string> lines{fmt::format("ShiftConv {}, {}: {} convolutions by {} in {:.1f} s", shiftconv_version_string(),
                                             device, layers.size(), algorithms(layers), totalSeconds(layers))};
  const Verification sum = total(layers);
  if (sum.elements > 0) {
    lines.push_back(fmt::format("{} of {} output elements within the derived error bound; largest error {:.1f}% of its bound",
                                sum.elements - sum.exceeded, sum.elements, 100 * sum.worstRatio));
  }
  return lines;
}

}  // namespace feature_maps
