// Ours against cuDNN on one GPU: same buffers, one process, rotated order, every element of both checked.
//
// Time: a CUDA graph of 20 calls, replayed after 10 ms without work ("rested": the card's power management otherwise decides
// the result), medians over the rounds; in each round the sides run one after the other, starting with another one each time.
// With --regimes also replays without a pause, half a second of each side alone, and single calls with a cold and a warm L2
// cache; with --card the card's own product and copy rates; with --overhead the host's time of a call.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/conv/gpu/card_rates.hpp"
#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/cudnn_side.hpp"
#include "bench/conv/gpu/engines.hpp"
#include "bench/conv/gpu/launch_overhead.hpp"
#include "bench/conv/gpu/layer_tensors.hpp"
#include "bench/conv/gpu/regimes.hpp"
#include "verification_image.hpp"

using namespace shiftconv;
using gpu::Buffer;
using gpu::Layer;
using gpu::LayerTensors;
using gpu::median;

namespace {

constexpr int kCallsInGraph = 20;
constexpr size_t kMostWorkspace = size_t{2} << 30;

struct Options {
  std::string layers, cudnnLibrary, json, only;
  std::string readings = "none";  // of cuDNN: none, first, best
  std::vector<int64_t> skipped;
  int rounds = 7;
  int tuned = 0;                     // variants of ours to time, best by the model first
  std::vector<std::string> choices;  // or these
  uint64_t seed = 0;
  bool bf16 = false;
  bool regimes = false, overhead = false, card = false, dependent = false;
  std::string cublasLibrary;
};

enum class Who : uint8_t {
  Ours,
  OursDependent,  ///< starts behind its predecessor (option dependent=yes): shown apart, not compared
  Cudnn,
};

struct Side {
  Who who = Who::Cudnn;
  std::string name, note;
  std::unique_ptr<gpu::Replay> replay, once;
  gpu::RegimeTimes times;
  std::optional<gpu::LaunchOverhead> overhead;
  bool right = false;
  double worstShare = 0, relativeError = 0;
  size_t workspace = 0;
  double median_() const { return median(times.rested); }
};

/// Runs once on a poisoned output and checks every element.
template <class Enqueue>
bool verify(const LayerTensors& bench, CUstream stream, Side& side, Enqueue&& enqueue) {
  bench.poison();
  enqueue(stream);
  const CUresult status = gpu::driver().cuStreamSynchronize(stream);
  if (status != CUDA_SUCCESS) gpu::check(status, side.name.c_str());
  const verification::CheckResult found = bench.checkOutput();
  side.right = found.wrong == 0;
  side.worstShare = static_cast<double>(std::bit_cast<float>(found.worstShareBits));
  side.relativeError = std::sqrt(found.errorSquares / found.squares);
  if (!side.right) fmt::print("  WRONG {}: {} elements, worst {:.3g} of the bound\n", side.name, found.wrong, side.worstShare);
  return side.right;
}

void timeSides(std::vector<Side>& sides, const Options& options, const Buffer* evicting, CUstream stream) {
  std::vector<gpu::TimedSide> timed;
  for (Side& side : sides) timed.push_back({side.replay.get(), side.once.get(), {}});
  gpu::timeRested(timed, options.rounds);
  if (options.regimes) gpu::timeOtherRegimes(timed, options.rounds, *evicting, stream);
  for (size_t i = 0; i < sides.size(); ++i) sides[i].times = timed[i].times;
}

/// Microseconds in every regime but the rested one.
nlohmann::ordered_json regimesOf(const Side& side) {
  return {{"burst_us", median(side.times.burst)},
          {"sustained_us", side.times.sustained},
          {"once_cold_l2_us", side.times.coldOnce},
          {"once_warm_l2_us", side.times.warmOnce}};
}

nlohmann::ordered_json ratesOf(const gpu::CardRates& rates) {
  return {{"gemm_rested_tflops", rates.gemmRested * 1e-12},
          {"gemm_sustained_tflops", rates.gemmSustained * 1e-12},
          {"copy_rested_gbytes", rates.copyRested * 1e-9},
          {"copy_sustained_gbytes", rates.copySustained * 1e-9}};
}

int run(const Options& options) {
  gpu::driver();
  CUstream stream = nullptr;
  SHIFTCONV_GPU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  gpu::Library library;
  const gpu::Module verification(images::verification().fatbin);
  std::string cudnnVersion = "none";
  const bool withCudnn = options.readings != "none";
  if (withCudnn) cudnnVersion = cudnn::load(options.cudnnLibrary);
  int driverVersion = 0;
  SHIFTCONV_GPU(cuDriverGetVersion(&driverVersion));
  fmt::print("{}, driver {}, cuDNN {}, seed {}\n", gpu::deviceName(), driverVersion, cudnnVersion, options.seed);

  gpu::CardRates card;
  if (options.card) {
    card = gpu::measureCard(options.cublasLibrary, options.rounds, stream);
    fmt::print("card: GEMM {:.0f} TFLOP/s rested, {:.0f} sustained; copies {:.0f} GB/s rested, {:.0f} sustained\n",
               card.gemmRested * 1e-12, card.gemmSustained * 1e-12, card.copyRested * 1e-9, card.copySustained * 1e-9);
  }
  std::unique_ptr<Buffer> evicting;
  if (options.regimes) evicting = std::make_unique<Buffer>(gpu::kEvictingBytes);

  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::map<std::string, std::vector<double>> ratios;
  bool allRight = true;
  for (const Layer& layer : gpu::readLayers(options.layers, options.only, options.bf16)) {
    const LayerTensors bench(verification, layer, options.seed, stream);
    const Problem& p = layer.problem;
    std::vector<Side> sides;
    // Ours
    std::vector<std::string> choices = {""};
    if (options.tuned > 0) {
      choices = library.candidates(p);
      choices.resize(std::min(choices.size(), static_cast<size_t>(options.tuned)));
    }
    if (!options.choices.empty()) choices = options.choices;
    /// Binds, checks and adds a side; its complete choice.
    const auto addOurs = [&](Who who, const std::string& name, const std::string& choice) {
      const gpu::BoundConvolution bound =
          library.bind(p, {bench.input.address(), bench.filter.address(), bench.biasAddress(), bench.output.address()}, choice);
      Side side;
      side.who = who;
      side.name = name;
      side.note = bound.description;
      allRight = verify(bench, stream, side, bound.enqueue) && allRight;
      side.replay = std::make_unique<gpu::Replay>(stream, kCallsInGraph, bound.enqueue);
      side.once = std::make_unique<gpu::Replay>(stream, 1, bound.enqueue);
      if (options.overhead) side.overhead = gpu::measureLaunchOverhead(side.once->graph(), bound.enqueue, stream);
      sides.push_back(std::move(side));
      return bound.choice;
    };
    for (const std::string& variant : choices) {
      try {
        const std::string name = variant.empty() ? "ours" : variant;
        const std::string choice = addOurs(Who::Ours, name, variant);
        if (options.dependent)
          addOurs(Who::OursDependent, name + ", dependent", choice + (choice.ends_with(':') ? "" : ",") + "dependent=yes");
      } catch (const std::exception& refusal) {
        fmt::print("{:14} refused: {}\n", layer.name, refusal.what());
      }
    }
    const size_t oursCount = sides.size();
    // cuDNN
    std::unique_ptr<cudnn::Convolution> other;
    std::unique_ptr<Buffer> workspace;
    int64_t best = 0, usable = 0;
    double buildFirst = 0, buildAll = 0;
    if (withCudnn) {
      other = std::make_unique<cudnn::Convolution>(p);
      if (!other->refusal().empty()) {
        fmt::print(stderr, "{}: cuDNN: {}\n", layer.name, other->refusal());
        return 2;
      }
      const int64_t count = options.readings == "best" ? other->plans() : 1;
      std::vector<int64_t> built;
      size_t bytes = 16;
      for (int64_t i = 0; i < count; ++i) {
        double milliseconds = 0;
        if (std::find(options.skipped.begin(), options.skipped.end(), i) != options.skipped.end()) continue;
        fmt::print(stderr, "building {}\n", i);
        const bool good = other->build(i, kMostWorkspace, milliseconds);
        buildAll += milliseconds;
        if (i == 0) buildFirst = milliseconds;
        if (!good) continue;
        built.push_back(i);
        bytes = std::max(bytes, other->workspaceBytes(i));
      }
      workspace = std::make_unique<Buffer>(bytes);
      cudnn::Tensors t;
      t.input = bench.input.address(), t.filter = bench.filter.address(), t.output = bench.output.address(),
      t.bias = bench.biasAddress();
      const auto enqueue = [&](int64_t index) { return [&, index](CUstream s) { other->run(index, t, workspace->address(), s); }; };
      // The fastest plan whose output is right.
      std::vector<std::pair<double, int64_t>> byTime;
      for (const int64_t i : built) {
        fmt::print(stderr, "running {}\n", i);
        if (!other->run(i, t, workspace->address(), stream)) continue;
        ++usable;
        if (built.size() == 1) break;
        gpu::Replay quick(stream, 5, enqueue(i));
        quick.time(0);
        std::vector<double> times;
        for (int j = 0; j < 3; ++j) times.push_back(quick.time(2));
        byTime.emplace_back(median(times), i);
      }
      std::sort(byTime.begin(), byTime.end());
      for (const auto& [time, i] : byTime) {
        Side trial;
        trial.name = fmt::format("cuDNN plan {}", i);
        if (!verify(bench, stream, trial, enqueue(i))) continue;
        best = i;
        break;
      }
      for (const int64_t i : best == 0 ? std::vector<int64_t>{0} : std::vector<int64_t>{0, best}) {
        Side side;
        side.name = i == 0 ? "cuDNN first" : "cuDNN best";
        side.note = other->name(i);
        side.workspace = other->workspaceBytes(i);
        verify(bench, stream, side, enqueue(i));
        side.replay = std::make_unique<gpu::Replay>(stream, kCallsInGraph, enqueue(i));
        side.once = std::make_unique<gpu::Replay>(stream, 1, enqueue(i));
        sides.push_back(std::move(side));
      }
    }
    timeSides(sides, options, evicting.get(), stream);

    std::map<Who, double> least;
    for (const Side& side : sides)
      least[side.who] = least.contains(side.who) ? std::min(least[side.who], side.median_()) : side.median_();
    const double theirs = least[Who::Cudnn], ours = least[Who::Ours];
    for (size_t i = 0; i < sides.size(); ++i) {
      const Side& s = sides[i];
      if (s.overhead)
        fmt::print("{:14} host {:.2f} us a run, {:.2f} us a bare launch of the same {} kernels\n", layer.name, s.overhead->run,
                   s.overhead->bare, s.overhead->kernels);
      if (options.regimes)
        fmt::print("{:14} {:28} burst {:.2f}, sustained {:.2f}, one call with cold L2 {:.2f}, warm {:.2f} us\n", layer.name, s.name,
                   median(s.times.burst), s.times.sustained, s.times.coldOnce, s.times.warmOnce);
      fmt::print("{:14} {:28} {:8.2f} us  [{:.2f}..{:.2f}] {} {:.2f} of bound  {}\n", layer.name, s.name, s.median_(),
                 *std::min_element(s.times.rested.begin(), s.times.rested.end()),
                 *std::max_element(s.times.rested.begin(), s.times.rested.end()), s.right ? "right" : "WRONG", s.worstShare,
                 i < oursCount || oursCount == 0 ? s.note : s.note.substr(0, 60));
    }
    if (oursCount > 0 && withCudnn) {
      fmt::print("{:14} ratio {:.3f}\n", layer.name, theirs / ours);
      ratios["all"].push_back(theirs / ours);
      ratios[layer.kind].push_back(theirs / ours);
      nlohmann::ordered_json row;
      row["name"] = layer.name;
      row["class"] = layer.kind;
      row["problem"] = {{"n", p.n},        {"h", p.h},          {"w", p.w}, {"c", p.c},
                        {"k", p.k},        {"r", p.r},          {"s", p.s}, {"stride", p.strideH},
                        {"pad", p.padTop}, {"groups", p.groups}};
      row["ours_us"] = ours;
      row["ours_plan"] = sides[0].note;
      if (least.contains(Who::OursDependent)) row["ours_dependent_us"] = least[Who::OursDependent];
      row["ours_us_range"] = {*std::min_element(sides[0].times.rested.begin(), sides[0].times.rested.end()),
                              *std::max_element(sides[0].times.rested.begin(), sides[0].times.rested.end())};
      row["types"] = options.bf16 || p.inputType == DataType::BF16 ? "bf16" : "f16";
      if (p.hasBias || p.activation != Activation::None)
        row["epilogue"] = fmt::format("{}{}", p.hasBias ? "bias " : "", p.activation == Activation::Relu ? "relu" : "");
      const double flops = 2.0 * static_cast<double>(p.outputPixels() * p.k * p.r * p.s * p.groupChannels());
      row["tflops"] = flops / ours * 1e-6;
      row["least_gbytes"] = static_cast<double>(bench.leastBytes()) / ours * 1e-3;
      if (card.gemmRested > 0) row["fraction_of_gemm"] = flops / ours * 1e6 / card.gemmRested;
      if (card.copyRested > 0) row["fraction_of_copy"] = static_cast<double>(bench.leastBytes()) / ours * 1e6 / card.copyRested;
      if (options.regimes) row["ours_regimes"] = regimesOf(sides[0]), row["cudnn_regimes"] = regimesOf(sides.back());
      if (sides[0].overhead)
        row["host_us"] = {
            {"run", sides[0].overhead->run}, {"bare_launch", sides[0].overhead->bare}, {"kernels", sides[0].overhead->kernels}};
      row["ours_worst_share_of_bound"] = sides[0].worstShare;
      row["cudnn_first_us"] = sides[oursCount].median_();
      row["cudnn_best_us"] = theirs;
      row["cudnn_best_plan"] = best;
      row["cudnn_best_name"] = sides.back().note;
      row["cudnn_best_workspace"] = sides.back().workspace;
      row["cudnn_usable_plans"] = usable;
      if (!options.skipped.empty()) row["cudnn_skipped_plans"] = options.skipped;
      row["cudnn_build_first_ms"] = buildFirst;
      row["cudnn_build_all_ms"] = buildAll;
      row["ratio"] = theirs / ours;
      row["right"] = sides[0].right;
      rows.push_back(row);
    }
    std::fflush(stdout);
  }
  const auto geomean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += std::log(v);
    return values.empty() ? 0.0 : std::exp(sum / static_cast<double>(values.size()));
  };
  if (!ratios["all"].empty()) {
    const double least = *std::min_element(ratios["all"].begin(), ratios["all"].end());
    fmt::print("geomean {:.3f} over {} rows, {:.3f} over {} dense 3x3, least {:.3f}\n", geomean(ratios["all"]),
               ratios["all"].size(), geomean(ratios["dense3x3"]), ratios["dense3x3"].size(), least);
    if (!options.json.empty()) {
      const std::time_t now = std::time(nullptr);
      char date[32];
      std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
      nlohmann::ordered_json report = {{"date", date},
                                       {"device", gpu::deviceName()},
                                       {"driver", driverVersion},
                                       {"cudnn", cudnnVersion},
                                       {"reading", options.readings},
                                       {"seed", options.seed},
                                       {"rounds", options.rounds},
                                       {"geomean_all", geomean(ratios["all"])},
                                       {"geomean_dense_3x3", geomean(ratios["dense3x3"])},
                                       {"min_ratio", least},
                                       {"rows", rows}};
      if (options.card) report["card"] = ratesOf(card);
      std::ofstream file(options.json);
      file << report.dump(1) << "\n";
      if (!file.flush()) {
        fmt::print(stderr, "cannot write {}\n", options.json);
        return 2;
      }
    }
  }
  return allRight ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("ours against cuDNN on one GPU");
  app.add_option("--layers", options.layers)->required();
  app.add_option("--cudnn-library", options.cudnnLibrary);
  app.add_option("--cudnn", options.readings)->check(CLI::IsMember({"none", "first", "best"}));
  app.add_option("--skip", options.skipped, "plans of cuDNN that end the process: left out, and listed in the report");
  app.add_option("--rounds", options.rounds);
  app.add_option("--tuned", options.tuned);
  app.add_option("--choices", options.choices);
  app.add_option("--only", options.only);
  app.add_option("--json", options.json);
  app.add_option("--seed", options.seed);
  app.add_flag("--bf16", options.bf16);
  app.add_flag("--regimes", options.regimes, "burst and sustained times, and single calls with cold and warm L2");
  app.add_flag("--dependent", options.dependent, "ours with dependent=yes, too: apart, not compared");
  app.add_flag("--overhead", options.overhead, "the host's time of a call beside a bare launch");
  app.add_flag("--card", options.card, "the card's own rates of products and copies");
  app.add_option("--cublas-library", options.cublasLibrary, "libcublas.so for --card; without it: copies only");
  CLI11_PARSE(app, argc, argv);
  if (options.seed == 0) options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) >> 10;
  return run(options);
}
