// Ours against cuDNN on one GPU: same buffers, one process, rotated order, every element of both checked.
//
// Time: a CUDA graph of 20 calls, replayed after 10 ms without work ("rested": the card's power management otherwise decides
// the result), medians over the rounds; in each round the sides run one after the other, starting with another one each time.
// With --regimes also replays without a pause, half a second of each side alone, and single calls with a cold and a warm L2
// cache; with --card the card's own product and copy rates; with --overhead the host's time of a call. conv_bench shows the same
// comparison as Google Benchmarks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/conv/gpu/card_rates.hpp"
#include "bench/conv/gpu/comparison.hpp"
#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/cudnn_side.hpp"
#include "bench/conv/gpu/engines.hpp"
#include "bench/conv/gpu/layers.hpp"
#include "bench/conv/gpu/regimes.hpp"
#include "common/command_line/command_line.hpp"
#include "verification_image.hpp"

using namespace shiftconv;
using gpu::Comparison;
using gpu::Layer;
using gpu::median;
using gpu::Regime;
using gpu::Side;
using gpu::Who;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string layers, cudnnLibrary, json, only;
  std::string readings = "none";
  gpu::ComparisonOptions comparison;
  int rounds = 7;
  uint64_t seed = 0;
  bool bf16 = false, regimes = false, card = false;
  std::string cublasLibrary;
};

void print(const Comparison& comparison, std::span<const gpu::TimedSide> timed, bool regimes) {
  const std::string& layer = comparison.layer().name;
  for (size_t i = 0; i < timed.size(); ++i) {
    const Side& side = comparison.sides()[i];
    const gpu::RegimeTimes& times = timed[i].times;
    const auto of = [&](Regime regime) { return median(times[regime]); };
    const std::vector<double>& rested = times[Regime::Rested];
    if (side.overhead)
      fmt::print("{:14} host {:.2f} us a run, {:.2f} us a bare launch of the same {} kernels\n", layer, side.overhead->run,
                 side.overhead->bare, side.overhead->kernels);
    if (regimes)
      fmt::print("{:14} {:28} burst {:.2f}, sustained {:.2f}, one call with cold L2 {:.2f}, warm {:.2f} us\n", layer, side.name,
                 of(Regime::Burst), of(Regime::Sustained), of(Regime::ColdOnce), of(Regime::WarmOnce));
    fmt::print("{:14} {:28} {:8.2f} us  [{:.2f}..{:.2f}] {} {:.2f} of bound  {}\n", layer, side.name, of(Regime::Rested),
               *std::min_element(rested.begin(), rested.end()), *std::max_element(rested.begin(), rested.end()),
               side.right ? "right" : "WRONG", side.worstShare, side.note);
  }
}

/// Microseconds in every regime but the rested one.
Json regimesOf(const gpu::RegimeTimes& times) {
  Json found;
  for (const Regime regime : gpu::kRegimes)
    if (regime != Regime::Rested) found[fmt::format("{}_us", nameOf(regime))] = median(times[regime]);
  return found;
}

/// The side of a reading: the one of its kind, or of the kind before it when both have the same plan.
size_t sideOf(const Comparison& comparison, const gpu::Reading& reading) {
  const auto& sides = comparison.sides();
  const auto found = std::find_if(sides.begin(), sides.end(),
                                  [&](const Side& side) { return side.reading && side.reading->index == reading.index; });
  return static_cast<size_t>(found - sides.begin());
}

/// What a row says of cuDNN: of every reading "cudnn_<kind>_us" and where it comes from.
void addCudnn(Json& row, const Comparison& comparison, std::span<const gpu::TimedSide> timed, const gpu::CudnnOptions& options) {
  const gpu::CudnnReadings& cudnn = *comparison.cudnn();
  if (!options.skipped.empty()) row["cudnn_skipped_plans"] = options.skipped;
  if (!cudnn.refusal().empty()) {
    row["cudnn_refusal"] = cudnn.refusal();
    return;
  }
  const double best = *comparison.cudnnBest(Regime::Rested);
  row["cudnn_best_us"] = best;
  row["cudnn_best_plan"] = cudnn.readings()[0].index;
  for (const gpu::Reading& reading : cudnn.readings()) {
    static constexpr std::array kKinds{"first", "best", "engines"};
    const std::string key = fmt::format("cudnn_{}", kKinds[static_cast<size_t>(reading.kind)]);
    if (reading.kind == gpu::ReadingKind::First)
      row[key + "_us"] = median(timed[sideOf(comparison, reading)].times[Regime::Rested]);
    if (reading.kind == gpu::ReadingKind::Best) row[key + "_plan"] = reading.index;
    row[key + "_name"] = reading.name;
    row[key + "_workspace"] = reading.workspaceBytes;
    row[key + "_build_ms"] = reading.buildMilliseconds;
  }
  row["cudnn_usable_plans"] = cudnn.usable();
  row["cudnn_query_ms"] = cudnn.queryMilliseconds();
  row["cudnn_build_all_ms"] = cudnn.buildAllMilliseconds();
  row["ratio"] = best / *comparison.ours(Regime::Rested);
  if (const auto engines = comparison.cudnnEngines(Regime::Rested)) {
    const gpu::EngineSearchResult& search = *cudnn.search();
    row["cudnn_engines_us"] = *engines;
    row["cudnn_engines_search"] = {{"seconds", options.engineSeconds},
                                   {"engines", search.engines},
                                   {"combinations", search.combinations},
                                   {"tried", search.tried},
                                   {"usable", search.usable},
                                   {"complete", search.complete}};
    row["ratio_engines"] = *engines / *comparison.ours(Regime::Rested);
  }
}

Json rowOf(const Comparison& comparison, std::span<const gpu::TimedSide> timed, const gpu::CardRates& card,
           const Options& options) {
  const Problem& p = comparison.layer().problem;
  const Side& first = comparison.sides()[0];
  const std::vector<double>& rested = timed[0].times[Regime::Rested];
  const double ours = *comparison.ours(Regime::Rested), flops = comparison.flops(),
               leastBytes = static_cast<double>(comparison.leastBytes());
  Json row;
  row["name"] = comparison.layer().name;
  row["class"] = comparison.layer().kind;
  row["problem"] = {{"n", p.n},        {"h", p.h},          {"w", p.w}, {"c", p.c},
                    {"k", p.k},        {"r", p.r},          {"s", p.s}, {"stride", p.strideH},
                    {"pad", p.padTop}, {"groups", p.groups}};
  row["ours_us"] = ours;
  row["ours_plan"] = first.note;
  if (const auto time = comparison.time(Regime::Rested, {Who::OursWaiting})) row["ours_waiting_us"] = *time;
  if (const auto time = comparison.time(Regime::Rested, {Who::OursAutotuned})) row["ours_autotuned_us"] = *time;
  row["ours_us_range"] = {*std::min_element(rested.begin(), rested.end()), *std::max_element(rested.begin(), rested.end())};
  row["types"] = nameOf(p.inputType);
  if (p.hasBias || p.hasResidual() || p.activation != Activation::None)
    row["epilogue"] = fmt::format("{}{}{}", p.hasBias ? "bias " : "", p.hasResidual() ? "residual " : "",
                                  p.activation == Activation::Relu ? "relu" : "");
  row["tflops"] = flops / ours * 1e-6;
  row["least_gbytes"] = leastBytes / ours * 1e-3;
  if (card.gemmRested > 0) row["fraction_of_gemm"] = flops / ours * 1e6 / card.gemmRested;
  if (card.copyRested > 0) row["fraction_of_copy"] = leastBytes / ours * 1e6 / card.copyRested;
  if (options.regimes) {
    row["ours_regimes"] = regimesOf(timed[0].times);
    if (!comparison.cudnn()->readings().empty()) {
      const auto& readings = comparison.cudnn()->readings();
      row["cudnn_regimes"] = regimesOf(timed[sideOf(comparison, readings[std::min<size_t>(1, readings.size() - 1)])].times);
    }
  }
  if (first.overhead)
    row["host_us"] = {{"run", first.overhead->run}, {"bare_launch", first.overhead->bare}, {"kernels", first.overhead->kernels}};
  row["ours_worst_share_of_bound"] = first.worstShare;
  row["ours_relative_error"] = first.relativeError;
  addCudnn(row, comparison, timed, options.comparison.cudnn);
  row["right"] = first.right;
  return row;
}

double geomean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0.0 : std::exp(sum / static_cast<double>(values.size()));
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return date;
}

/// The report of all rows; false when it cannot be written.
bool writeReport(const std::string& path, Json report, const Json& rows, const gpu::CardRates& card, bool withCard) {
  std::map<std::string, std::vector<double>> ratios;
  for (const Json& row : rows) {
    if (!row.contains("ratio")) continue;
    ratios["all"].push_back(row["ratio"]);
    ratios[row["class"]].push_back(row["ratio"]);
    if (row.contains("ratio_engines")) ratios["engines"].push_back(row["ratio_engines"]);
  }
  const std::vector<double>& all = ratios["all"];
  if (!all.empty()) {
    report["geomean_all"] = geomean(all);
    report["geomean_dense_3x3"] = geomean(ratios["dense3x3"]);
    report["min_ratio"] = *std::min_element(all.begin(), all.end());
    if (!ratios["engines"].empty()) report["geomean_engines"] = geomean(ratios["engines"]);
    fmt::print("geomean {:.3f} over {} rows, {:.3f} over {} dense 3x3, least {:.3f}\n", geomean(all), all.size(),
               geomean(ratios["dense3x3"]), ratios["dense3x3"].size(), *std::min_element(all.begin(), all.end()));
  }
  if (path.empty()) return true;
  report["rows"] = rows;
  if (withCard)
    report["card"] = {{"gemm_rested_tflops", card.gemmRested * 1e-12},
                      {"gemm_sustained_tflops", card.gemmSustained * 1e-12},
                      {"copy_rested_gbytes", card.copyRested * 1e-9},
                      {"copy_sustained_gbytes", card.copySustained * 1e-9}};
  std::ofstream file(path);
  file << report.dump(1) << "\n";
  if (file.flush()) return true;
  fmt::print(stderr, "cannot write {}\n", path);
  return false;
}

int run(const Options& options) {
  gpu::driver();
  CUstream stream = nullptr;
  SHIFTCONV_GPU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  gpu::Library library;
  const gpu::Module verification(images::verification().fatbin);
  std::string cudnnVersion = "none";
  if (options.comparison.cudnn.readings > 0) cudnnVersion = cudnn::load(options.cudnnLibrary);
  int driverVersion = 0;
  SHIFTCONV_GPU(cuDriverGetVersion(&driverVersion));
  fmt::print("{}, driver {}, cuDNN {}, seed {}\n", gpu::deviceName(), driverVersion, cudnnVersion, options.seed);

  gpu::CardRates card;
  if (options.card) {
    card = gpu::measureCard(options.cublasLibrary, options.rounds, stream);
    fmt::print("card: GEMM {:.0f} TFLOP/s rested, {:.0f} sustained; copies {:.0f} GB/s rested, {:.0f} sustained\n",
               card.gemmRested * 1e-12, card.gemmSustained * 1e-12, card.copyRested * 1e-9, card.copySustained * 1e-9);
  }
  std::unique_ptr<gpu::Buffer> evicting;
  if (options.regimes) evicting = std::make_unique<gpu::Buffer>(gpu::kEvictingBytes);

  Json rows = Json::array();
  bool allRight = true;
  for (const Layer& layer : gpu::readLayers(options.layers, options.only, options.bf16)) {
    Comparison comparison(layer, options.comparison, library, verification, options.seed, stream);
    allRight = allRight && comparison.oursRight();
    gpu::timeRested(comparison.timed(), options.rounds);
    if (options.regimes) gpu::timeOtherRegimes(comparison.timed(), options.rounds, *evicting, stream);
    print(comparison, comparison.timed(), options.regimes);
    if (comparison.ours(Regime::Rested) && comparison.cudnn() != nullptr) {
      rows.push_back(rowOf(comparison, comparison.timed(), card, options));
      if (rows.back().contains("ratio")) fmt::print("{:14} ratio {:.3f}\n", layer.name, double{rows.back()["ratio"]});
    }
    std::fflush(stdout);
  }
  if (!rows.empty()) {
    const Json report = {{"date", today()},         {"device", gpu::deviceName()}, {"driver", driverVersion},
                         {"cudnn", cudnnVersion},   {"reading", options.readings}, {"seed", options.seed},
                         {"rounds", options.rounds}};
    if (!writeReport(options.json, report, rows, card, options.card)) return 2;
  }
  return allRight ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  gpu::ComparisonOptions& comparison = options.comparison;
  command_line::Parser parser("ours against cuDNN on one GPU");
  parser.option("--layers", options.layers).required();
  parser.option("--cudnn-library", options.cudnnLibrary);
  parser.option("--cudnn", options.readings).oneOf({"none", "first", "best", "engines"});
  parser.option("--skip", comparison.cudnn.skipped, "plans of cuDNN that end the process: left out, and listed in the report");
  parser.option("--engine-seconds", comparison.cudnn.engineSeconds, "of searching all engines of cuDNN, for each layer");
  parser.option("--rounds", options.rounds);
  parser.option("--tuned", comparison.tuned);
  parser.option("--choices", comparison.choices);
  parser.option("--only", options.only);
  parser.option("--json", options.json);
  parser.option("--seed", options.seed);
  parser.flag("--bf16", options.bf16);
  parser.flag("--regimes", options.regimes, "burst and sustained times, and single calls with cold and warm L2");
  parser.flag("--waiting", comparison.waiting, "ours with dependent=no, too: apart, not compared");
  command_line::Option autotune =
      parser.option("--autotune", comparison.autotuneCache, "ours as a measurement chooses, too: apart, not compared; its cache")
          .valueOptional();
  parser.flag("--overhead", comparison.overhead, "the host's time of a call beside a bare launch");
  parser.flag("--card", options.card, "the card's own rates of products and copies");
  parser.option("--cublas-library", options.cublasLibrary, "libcublas.so for --card; without it: copies only");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  if (options.seed == 0) options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) >> 10;
  comparison.autotune = autotune.given();
  comparison.cudnn.readings = gpu::readingsNamed(options.readings);
  comparison.cudnn.seed = options.seed;
  return run(options);
}
