// Ours and cuDNN as Google Benchmarks, one for every layer and regime: "rn50_c2/rested", "rn50_c2/once_cold_l2", ...
//
//   conv_bench --layers layers_h200.txt --cudnn best --cudnn-library /path/libcudnn.so.9 --benchmark_filter='^rn50_c2/'
//
// Each repetition is a round of the comparison: every side runs once, beginning with another one each time. The time shown is ours;
// cuDNN's and the ratios are counters, so that medians and spreads of all of them come from the same rounds. Own options come first
// in --help; those of Google Benchmark begin with --benchmark_.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
using gpu::Regime;
using gpu::Who;

namespace {

struct Options {
  std::string layers, cudnnLibrary, readings = "none";
  gpu::ComparisonOptions comparison;
  uint64_t seed = 0;
  bool bf16 = false;
};

/// The card, opened by the first benchmark that runs, and the layer at hand.
class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), verification_(images::verification().fatbin), evicting_(gpu::kEvictingBytes) {
    SHIFTCONV_GPU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    std::string cudnnVersion = "none";
    if (options.comparison.cudnn.readings > 0) cudnnVersion = cudnn::load(options.cudnnLibrary);
    fmt::print(stderr, "{}, cuDNN {}, seed {}\n", gpu::deviceName(), cudnnVersion, options.seed);
  }

  Comparison& of(const Layer& layer) {
    if (comparison_ == nullptr || comparison_->layer().name != layer.name) {
      comparison_.reset();  // its memory first
      comparison_ = std::make_unique<Comparison>(layer, options_.comparison, library_, verification_, options_.seed, stream_);
    }
    return *comparison_;
  }
  void time(Comparison& comparison, Regime regime) { gpu::timeRound(regime, comparison.timed(), round_++, &evicting_, stream_); }

 private:
  const Options& options_;
  gpu::Library library_;
  const gpu::Module verification_;
  const gpu::Buffer evicting_;
  CUstream stream_ = nullptr;
  std::unique_ptr<Comparison> comparison_;
  int round_ = 0;
};

/// The last round's time of the sides of `who`; 0 when there is none.
double lastTime(const Comparison& comparison, std::span<const gpu::TimedSide> timed, Regime regime,
                std::initializer_list<Who> who) {
  double least = 0;
  for (size_t i = 0; i < timed.size(); ++i) {
    if (std::find(who.begin(), who.end(), comparison.sides()[i].who) == who.end()) continue;
    const double time = timed[i].times[regime].back();
    least = least == 0 ? time : std::min(least, time);
  }
  return least;
}

void run(benchmark::State& state, Bench& bench, const Layer& layer, Regime regime) {
  Comparison& comparison = bench.of(layer);
  if (comparison.sides().empty() || comparison.sides()[0].who != Who::Ours) {
    state.SkipWithError("ours refuses the layer");
    return;
  }
  if (!comparison.oursRight()) {
    state.SkipWithError("our output is wrong");
    return;
  }
  const auto last = [&](std::initializer_list<Who> who) { return lastTime(comparison, comparison.timed(), regime, who); };
  double ours = 0;
  for (auto _ : state) {
    bench.time(comparison, regime);
    ours = last({Who::Ours});
    state.SetIterationTime(ours * 1e-6);
  }
  const auto whole = [](double amount) { return benchmark::Counter(amount, benchmark::Counter::kDefaults); };
  const auto rate = [](double amount) { return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate); };
  const auto bytes = static_cast<double>(comparison.leastBytes());
  state.counters["FLOP"] = whole(comparison.flops());
  state.counters["bytes"] = whole(bytes);
  state.counters["FLOP/s"] = rate(comparison.flops());
  state.counters["bytes/s"] = rate(bytes);
  if (const double tuned = last({Who::OursAutotuned}); tuned > 0) state.counters["autotuned_us"] = whole(tuned);
  std::string label = comparison.sides()[0].note.substr(0, comparison.sides()[0].note.find(':'));
  if (const gpu::CudnnReadings* cudnn = comparison.cudnn(); cudnn != nullptr && !cudnn->readings().empty()) {
    const double best = last({Who::CudnnFirst, Who::CudnnBest});
    state.counters["first_us"] = whole(last({Who::CudnnFirst}));
    state.counters["best_us"] = whole(best);
    state.counters["ratio"] = whole(best / ours);
    if (cudnn->search()) {
      const double engines = last({Who::CudnnFirst, Who::CudnnBest, Who::CudnnEngines});
      state.counters["engines_us"] = whole(engines);
      state.counters["ratio_engines"] = whole(engines / ours);
    }
    label += " | cuDNN " + cudnn->readings().back().name;
  }
  state.SetLabel(label);
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }
double most(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

}  // namespace

int main(int argc, char** argv) {
  Options options;
  gpu::ComparisonOptions& comparison = options.comparison;
  command_line::Parser parser("ours and cuDNN on one GPU, as Google Benchmarks");
  parser.keepUnknown();
  parser.option("--layers", options.layers, "file of layers, such as bench/conv/gpu/layers_h200.txt").required();
  parser
      .option("--cudnn", options.readings,
              "the first plan of heuristics A; also the best of A, B and fallback; also of all engines")
      .oneOf({"none", "first", "best", "engines"});
  parser.option("--cudnn-library", options.cudnnLibrary, "path of libcudnn.so.9");
  parser.option("--engine-seconds", comparison.cudnn.engineSeconds, "of searching all engines of cuDNN, for each layer");
  parser.option("--skip", comparison.cudnn.skipped, "plans of cuDNN that end the process: left out");
  parser.option("--choices", comparison.choices, "of ours, algorithm:options; the fastest counts");
  command_line::Option autotune =
      parser.option("--autotune", comparison.autotuneCache, "ours as a measurement chooses, too; its cache").valueOptional();
  parser.option("--seed", options.seed);
  parser.flag("--bf16", options.bf16);
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  if (options.seed == 0) options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) >> 10;
  comparison.autotune = autotune.given();
  comparison.cudnn.readings = gpu::readingsNamed(options.readings);
  comparison.cudnn.seed = options.seed;

  // What the command line says of Google Benchmark comes after these, and wins.
  std::vector<std::string> arguments{argv[0], "--benchmark_repetitions=7", "--benchmark_display_aggregates_only=true",
                                     "--benchmark_counters_tabular=true"};
  for (const std::string& extra : parser.remaining()) arguments.push_back(extra);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;
  benchmark::AddCustomContext("seed", std::to_string(options.seed));

  const std::vector<Layer> layers = gpu::readLayers(options.layers, "", options.bf16);
  std::unique_ptr<Bench> bench;
  for (const Layer& layer : layers)
    for (const Regime regime : gpu::kRegimes)
      benchmark::RegisterBenchmark(fmt::format("{}/{}", layer.name, nameOf(regime)).c_str(),
                                   [&bench, &options, &layer, regime](benchmark::State& state) {
                                     if (bench == nullptr) bench = std::make_unique<Bench>(options);
                                     run(state, *bench, layer, regime);
                                   })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMicrosecond)
          ->ComputeStatistics("min", least)
          ->ComputeStatistics("max", most);
  const size_t ran = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return ran > 0 ? 0 : 1;
}
