// The layers of whole networks on one GPU: what the planner takes, the best of each algorithm, and the best of cuDNN's first plans.
//
// Every distinct layer of the lists is one row of a JSON file. Rows are kept: a later run with the same file measures only what is
// missing, or what the planner decides otherwise now (recordings of candidates do not say what it decided, and stay), beside
// cuDNN's recorded time and one fresh reading of it in ten. Outputs of the planned call, of the best of each algorithm and of cuDNN
// are checked element by element.
//
// Time: graphs of calls back to back, medians over rounds in which the sides take turns.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/cudnn_readings.hpp"
#include "bench/conv/gpu/engines.hpp"
#include "bench/conv/gpu/layer_tensors.hpp"
#include "bench/conv/gpu/regimes.hpp"
#include "bench/networks/comparison_run.hpp"
#include "bench/networks/network_layers.hpp"
#include "bench/networks/repeated_calls.hpp"
#include "conv/problem/text.hpp"

using namespace shiftconv;
using bench::NetworkLayer;
using Json = nlohmann::ordered_json;

namespace {

struct Options : bench::ComparisonOptions {
  Options() : ComparisonOptions{{1, 32}, 5} {}

  std::string folder, suffix, outputs, only, algorithm, missing;
  std::vector<std::string> types{"f16"};
  int each = 4, every = 1;
  double seconds = 540;
  bool again = false, cudnnIdentity = false;
};

constexpr int kQuickRounds = 3;

/// Somebody's calls in a graph, right or not.
struct Side {
  std::string name;
  std::function<void(CUstream)> enqueue;
  std::unique_ptr<gpu::Replay> replay;
  double quick = 0;
  bool checked = false, right = false;
};

class LayerRun {
 public:
  LayerRun(const NetworkLayer& layer, bench::Sides& sides, uint64_t seed)
      : layer_{layer.text, bench::classOf(layer.problem), layer.problem},
        library_(sides.library),
        stream_(sides.stream),
        tensors_(sides.verification, layer_, seed, sides.stream) {}

  /// Adds to the candidates of a row those of `choices` of an algorithm that it lacks, at most `each` of them. Their times are of
  /// this card, and are scaled so that the best that was known takes as long as recorded. Empty when nothing is lacking.
  std::optional<Json> complete(Json row, const std::vector<std::string>& choices, const std::string& algorithm, int each) {
    Json& known = row["candidates"];
    std::string name;
    double recorded = std::numeric_limits<double>::infinity();
    for (const std::string& choice : choices)  // what an earlier library offered may be gone
      if (known.contains(choice) && known[choice] < recorded) name = choice, recorded = known[choice];
    if (name.empty()) return {};
    for (const std::string& choice : choices) {
      if (known.contains(choice) || !choice.starts_with(algorithm + ":")) continue;
      if (sides_.empty()) add(name, bind(name));
      if (static_cast<int>(sides_.size()) <= each) add(choice, bind(choice));
    }
    if (sides_.empty()) return {};
    bool right = true;
    for (size_t i = 1; i < sides_.size(); ++i) {
      known[sides_[i].name] = sides_[i].quick * recorded / sides_[0].quick;
      right = check(sides_[i]) && right;
    }
    row["right"] = right;
    return row;
  }

  /// Rows of one layer. `recorded`: cuDNN's time of an earlier run; nothing asks for it now.
  Json measure(const Options& options, const std::vector<std::string>& choices, std::optional<double> recorded, bool fresh) {
    Json row;
    std::map<std::string, size_t> best;  // of each algorithm, among sides_
    std::map<std::string, int> tried;
    for (size_t i = 0; i < choices.size(); ++i) {
      const std::string algorithm = choices[i].substr(0, choices[i].find(':'));
      if (i > 0 && tried[algorithm] >= options.each) continue;
      ++tried[algorithm];
      add(choices[i], bind(choices[i]));
      const size_t place = sides_.size() - 1;
      const auto known = best.find(algorithm);
      if (known == best.end() || sides_[place].quick < sides_[known->second].quick) best[algorithm] = place;
    }
    bool right = check(sides_[0]);
    size_t tuned = 0;
    Json all;
    for (const Side& side : sides_) all[side.name] = side.quick;
    row["candidates"] = all;
    Json algorithms;
    for (const auto& [algorithm, place] : best) {
      right = check(sides_[place]) && right;
      algorithms[algorithm] = {{"choice", sides_[place].name}, {"us", sides_[place].quick}};
      if (sides_[place].quick < sides_[tuned].quick) tuned = place;
    }
    std::vector<size_t> timed{0};
    if (tuned != 0) timed.push_back(tuned);
    std::optional<size_t> cudnn;
    if (fresh) cudnn = addCudnn(options, row);
    if (cudnn) timed.push_back(*cudnn);
    std::vector<std::vector<double>> times(timed.size());
    for (int round = 0; round < options.rounds; ++round)
      for (size_t i = 0; i < timed.size(); ++i) {
        const size_t which = (i + static_cast<size_t>(round)) % timed.size();
        times[which].push_back(sides_[timed[which]].replay->time(1));
      }
    const double ours = gpu::median(times[0]);
    row["ours"] = sides_[0].name;
    row["ours_us"] = ours;
    row["tuned"] = sides_[tuned].name;
    row["tuned_us"] = tuned == 0 ? ours : std::min(ours, gpu::median(times[1]));
    if (cudnn) row["cudnn_us"] = gpu::median(times.back());
    if (!cudnn && recorded) row["cudnn_us"] = *recorded;
    row["algorithms"] = algorithms;
    row["right"] = right;
    return row;
  }

 private:
  std::function<void(CUstream)> bind(const std::string& choice) {
    return library_.bind(layer_.problem, tensors_.addresses(), choice).enqueue;
  }

  void add(const std::string& name, std::function<void(CUstream)> enqueue) {
    Side side;
    side.name = name;
    side.enqueue = std::move(enqueue);
    bench::RepeatedCalls repeated = bench::repeatedCalls(stream_, side.enqueue);
    side.replay = std::move(repeated.replay);
    std::vector<double> times;
    const int rounds = repeated.once > 2000 ? 1 : kQuickRounds;
    for (int i = 0; i < rounds; ++i) times.push_back(side.replay->time(0));
    side.quick = gpu::median(times);
    sides_.push_back(std::move(side));
  }

  bool check(Side& side) {
    if (side.checked) return side.right;
    side.checked = true;
    side.right = check(side.name, side.enqueue);
    return side.right;
  }
  bool check(const std::string& name, const std::function<void(CUstream)>& enqueue) {
    tensors_.poison();
    enqueue(stream_);
    gpu::check(gpu::driver().cuStreamSynchronize(stream_), name.c_str());
    const auto found = tensors_.checkOutput();
    if (found.wrong != 0)
      fmt::print("WRONG {}: {}: {} elements, worst {:.3g} of the bound\n", layer_.name, name, found.wrong,
                 static_cast<double>(std::bit_cast<float>(found.worstShareBits)));
    return found.wrong == 0;
  }

  std::optional<size_t> addCudnn(const Options& options, Json& row) {
    gpu::CudnnOptions how;
    how.readings = 2;
    how.mostPlans = options.cudnnPlans;
    if (options.cudnnIdentity) how.plain = cudnn::Plain::Identity;
    cudnn_ = std::make_unique<gpu::CudnnReadings>(
        layer_.problem, tensors_.cudnnAddresses(), how, stream_,
        [&](const std::string& name, const std::function<void(CUstream)>& enqueue) { return check(name, enqueue); });
    if (!cudnn_->refusal().empty() || cudnn_->readings().empty()) {
      row["cudnn_refusal"] = cudnn_->refusal();
      return {};
    }
    const gpu::Reading& reading = cudnn_->readings().back();
    row["cudnn_plan"] = reading.name;
    add("cuDNN", cudnn_->enqueue(reading));
    return sides_.size() - 1;
  }

  const gpu::Layer layer_;
  gpu::Library& library_;
  CUstream stream_;
  gpu::LayerTensors tensors_;
  std::vector<Side> sides_;
  std::unique_ptr<gpu::CudnnReadings> cudnn_;
};

double geomean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0.0 : std::exp(sum / static_cast<double>(values.size()));
}

/// A line for each class and each network of a batch, and the batch's own.
void summarise(const Json& rows, int64_t batch) {
  std::vector<double> ratios, regrets;
  std::map<std::string, std::vector<double>> classes;
  std::map<std::string, std::pair<double, double>> networks;
  std::map<std::string, int> engines;
  for (const Json& row : rows) {
    if (row["batch"] != batch || !row.contains("ours_us")) continue;
    const double ours = row["ours_us"];
    if (row.contains("tuned_us")) regrets.push_back(ours / double{row["tuned_us"]});  // short rows lack it
    ++engines[std::string(row["ours"]).substr(0, std::string(row["ours"]).find(':'))];
    if (!row.contains("cudnn_us")) continue;
    const double cudnn = row["cudnn_us"];
    ratios.push_back(cudnn / ours);
    classes[row["class"]].push_back(cudnn / ours);
    for (const auto& [network, count] : row["networks"].items()) {
      networks[network].first += cudnn * int{count};
      networks[network].second += ours * int{count};
    }
  }
  if (ratios.empty()) return;
  for (auto& [name, values] : classes) {
    std::sort(values.begin(), values.end());
    fmt::print("batch {} class {:10} {:4} layers, geomean {:.2f}, least {:.2f}, median {:.2f}\n", batch, name, values.size(),
               geomean(values), values.front(), values[values.size() / 2]);
  }
  double least = 1e9;
  for (const auto& [name, sums] : networks) {
    fmt::print("batch {} network {:20} {:.2f}\n", batch, name, sums.first / sums.second);
    least = std::min(least, sums.first / sums.second);
  }
  for (const auto& [name, count] : engines) fmt::print("batch {} planned {:12} {}\n", batch, name, count);
  fmt::print("networks batch {}: geomean {:.3f}, weighted least {:.3f}, layer least {:.3f}, regret {:.3f} ({} layers)\n", batch,
             geomean(ratios), least, *std::min_element(ratios.begin(), ratios.end()), geomean(regrets), ratios.size());
}

/// Those that the options leave, each in every type before the next one: a card is not equally fast all the time.
std::vector<NetworkLayer> layersOf(const Options& options) {
  std::vector<NetworkLayer> layers;
  int number = 0;
  for (const NetworkLayer& layer : bench::readNetworks(options.folder, options.batches(), options.suffix)) {
    if (!options.only.empty() && layer.text.find(options.only) == std::string::npos &&
        bench::classOf(layer.problem) != options.only)
      continue;
    if (number++ % options.every != 0) continue;
    for (const std::string& type : options.types) {
      layers.push_back(layer);
      Problem& problem = layers.back().problem;
      if (type != "f16")
        problem = bench::inType(layer.problem, type, options.outputs);
      else if (!options.outputs.empty())
        problem.outputType = dataTypeNamed(options.outputs).value();
      layers.back().text = describe(problem);
    }
  }
  return layers;
}

int run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  bench::Sides sides(options);
  Json report = bench::readReport(options.json);
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < report["rows"].size(); ++i) known[report["rows"][i]["layer"]] = i;
  int measured = 0, wrong = 0, left = 0;
  const auto isLate = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options.seconds;
  };
  for (const NetworkLayer& layer : layersOf(options)) {
    std::vector<std::string> choices;
    try {
      choices = sides.library.candidates(layer.problem);
    } catch (const std::runtime_error& refusal) {
      fmt::print("REFUSED {}: {}\n", layer.text, refusal.what());
      continue;
    }
    if (!options.planOptions.empty())
      for (std::string& choice : choices) choice += (choice.ends_with(':') ? "" : ",") + options.planOptions;
    if (!options.algorithm.empty())
      std::stable_partition(choices.begin(), choices.end(),
                            [&](const std::string& c) { return c.starts_with(options.algorithm + ":"); });
    const auto place = known.find(layer.text);
    std::optional<double> recorded;
    if (place != known.end()) {
      const Json& old = report["rows"][place->second];
      if (!options.missing.empty()) {
        if (std::ranges::none_of(choices, [&](const std::string& c) { return c.starts_with(options.missing + ":"); })) continue;
        if (isLate()) {
          ++left;
          continue;
        }
        const auto row = LayerRun(layer, sides, options.seed).complete(old, choices, options.missing, options.each);
        if (!row) continue;
        ++measured;
        if (!(*row)["right"]) ++wrong;
        report["rows"][place->second] = *row;
        continue;
      }
      if (!options.again && (!old.contains("ours") || old["ours"] == choices[0])) continue;
      if (old.contains("cudnn_us")) recorded = old["cudnn_us"];
    }
    if (isLate()) {
      ++left;
      continue;
    }
    const bool fresh = options.cudnnPlans > 0 && (!recorded || measured % 10 == 0);
    Json row{
        {"layer", layer.text}, {"batch", layer.batch}, {"class", bench::classOf(layer.problem)}, {"networks", layer.occurrences}};
    LayerRun one(layer, sides, options.seed);
    row.update(one.measure(options, choices, recorded, fresh));
    row["card"] = gpu::deviceName();
    ++measured;
    if (!row["right"]) ++wrong;
    fmt::print("{:60} {:7.2f} us {:40} tuned {:7.2f} {:30}", layer.text, double{row["ours_us"]}, std::string(row["ours"]),
               double{row["tuned_us"]}, std::string(row["tuned"]));
    if (row.contains("cudnn_us"))
      fmt::print(" cuDNN {:7.2f} ratio {:.2f}", double{row["cudnn_us"]}, double{row["cudnn_us"]} / double{row["ours_us"]});
    fmt::print("\n");
    std::fflush(stdout);
    if (place != known.end())
      report["rows"][place->second] = row;
    else
      report["rows"].push_back(row);
    if (measured % 20 == 0) bench::writeJson(options.json, report);
  }
  report["cudnn"] = sides.cudnnVersion;
  report["seed"] = options.seed;
  if (!bench::writeJson(options.json, report)) return 2;
  for (const int64_t batch : options.batches()) summarise(report["rows"], batch);
  fmt::print("{} layers measured, {} wrong, {} left for another run\n", measured, wrong, left);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  command_line::Parser parser("the layers of networks, ours and cuDNN's, on one GPU");
  parser.option("--layers", options.folder, "folder of lists, such as bench/shapes/networks").required();
  options.addTo(parser);
  parser.option("--epilogue", options.suffix, "words after each problem: \"bias relu\"");
  parser.option("--type", options.types, "of operands and outputs: f16, bf16, e4m3, s8, or several: each layer in all of them")
      .separatedBy(',')
      .oneOf({"f16", "bf16", "e4m3", "s8"});
  parser.option("--outputs", options.outputs, "type of the outputs, if it is another one: f32, f16, bf16, e4m3, s8")
      .oneOf({"f32", "f16", "bf16", "e4m3", "s8"});
  parser.option("--only", options.only, "layers of this class, or whose text holds this");
  parser.option("--every", options.every, "one layer in so many");
  parser.option("--algorithm", options.algorithm, "take its candidates first, instead of the planner's choice");
  parser.option("--each", options.each, "candidates of each algorithm, best by the model first");
  parser.option("--seconds", options.seconds, "after which no further layer is begun");
  parser.option("--missing", options.missing,
                "of rows that are there, time those candidates of this algorithm that they lack, and nothing else");
  parser.flag("--cudnn-identity", options.cudnnIdentity,
              "ask cuDNN for plain convolutions with an operation after them that changes nothing, which other engines take");
  parser.flag("--again", options.again, "measure rows that are there, too");
  return bench::runComparison(argc, argv, parser, options, [&] { return run(options); });
}
