// Blocks of networks as chains on one GPU: each layer reads what the one before it wrote, all in one graph, ours and cuDNN's.
//
// Layers one by one, repeated back to back, say nothing of what a layer waits for when it needs the result of the one before it.
// Here a chain's time, and its ratio, stand next to the sum of its layers' times: of layers that start while the repetition before
// them ends, which finds its own instructions in caches, and of layers that start after it has ended.
//
// Ours starts each layer while the one before it ends, which is its default (programmatic dependent launch). After a replay of the
// graph every element of every layer is checked, with what the graph itself wrote as its input.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
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
using Json = nlohmann::ordered_json;
using Enqueue = std::function<void(CUstream)>;

namespace {

struct Options : bench::ComparisonOptions {
  Options() : ComparisonOptions{{1, 8, 32}, 9} {}

  std::string folder, candidate;
  bool constantFilter = false, independent = false, ownCode = false, prefixes = false;
};

class ChainRun {
 public:
  ChainRun(const bench::Chain& chain, bench::Sides& sides, const Options& options) : options_(options), stream_(sides.stream) {
    for (const Problem& problem : chain.layers) layers_.push_back({describe(problem), bench::classOf(problem), problem});
    for (const gpu::Layer& layer : layers_)
      tensors_.emplace_back(sides.verification, layer, options.seed + tensors_.size(), stream_,
                            bench::steadyFilterScale(layer.problem));
    for (size_t i = 0; i < layers_.size(); ++i) {
      gpu::Tensors addresses;
      addresses.input = inputOf(i), addresses.filter = tensors_[i].filter.address(),
      addresses.output = tensors_[i].output.address();
      const std::vector<std::string> candidates = sides.library.candidates(layers_[i].problem, options.constantFilter);
      const auto wanted =
          std::ranges::find_if(candidates, [&](const std::string& name) { return name.starts_with(options.candidate); });
      std::string choice = wanted == candidates.end() ? candidates.front() : *wanted;
      if (!options.planOptions.empty()) choice = withOptions(choice, options.planOptions);
      gpu::Library& owner = options.ownCode ? libraries_.emplace_back() : sides.library;
      gpu::BoundConvolution bound = owner.bind(layers_[i].problem, addresses, choice);
      choices_.push_back(bound.choice);
      ours_.push_back(std::move(bound.enqueue));
      if (options.planOptions.empty())
        waiting_.push_back(owner.bind(layers_[i].problem, addresses, withOptions(choice, "dependent=no")).enqueue);
    }
  }

  Json measure() {
    Json row;
    row["layers"] = layers_.size();
    row["ours"] = choices_;
    row["constant_filter"] = options_.constantFilter;
    row["independent"] = options_.independent;
    row["own_code"] = options_.ownCode;
    // Checked before cuDNN's plans write into the same outputs.
    for (const gpu::LayerTensors& tensors : tensors_) tensors.poison();
    {
      gpu::Replay once(stream_, 2, inTurn(ours_));
      once.time(0);
    }
    bool right = true;
    for (size_t i = 0; i < layers_.size(); ++i) right = isRight(i, "ours") && right;
    row["right"] = right;
    findCudnn();

    std::vector<Reading> readings;
    readings.emplace_back(stream_, inTurn(ours_));
    for (const Enqueue& one : ours_) readings.emplace_back(stream_, one);
    if (!cudnn_.empty()) readings.emplace_back(stream_, inTurn(cudnn_));
    for (const Enqueue& one : cudnn_) readings.emplace_back(stream_, one);
    const size_t waiting = readings.size();
    for (const Enqueue& one : waiting_) readings.emplace_back(stream_, one);
    const size_t ourPrefixes = readings.size(), prefixes = options_.prefixes ? layers_.size() : 0;
    for (size_t i = 1; i <= prefixes; ++i) readings.emplace_back(stream_, firstOf(ours_, i));
    const size_t cudnnPrefixes = readings.size();
    for (size_t i = 1; !cudnn_.empty() && i <= prefixes; ++i) readings.emplace_back(stream_, firstOf(cudnn_, i));
    for (int round = 0; round < options_.rounds; ++round)
      for (size_t i = 0; i < readings.size(); ++i) readings[(i + static_cast<size_t>(round)) % readings.size()].take();

    const auto sum = [&](size_t first) {
      double total = 0;
      for (size_t i = 0; i < layers_.size(); ++i) total += readings[first + i].median();
      return total;
    };
    if (!waiting_.empty()) row["ours_layers_waiting_us"] = sum(waiting);
    row["ours_us"] = readings[0].median();
    row["ours_spread_us"] = readings[0].spread();
    row["ours_layers_us"] = sum(1);
    if (!cudnn_.empty()) {
      const Reading& cudnn = readings[1 + layers_.size()];
      row["cudnn_us"] = cudnn.median();
      row["cudnn_spread_us"] = cudnn.spread();
      row["cudnn_layers_us"] = sum(2 + layers_.size());
    } else {
      row["cudnn_refusal"] = refusal_;
    }
    for (size_t i = 0; i < prefixes; ++i) {
      row["ours_each_us"].push_back(readings[1 + i].median());
      row["ours_prefixes_us"].push_back(readings[ourPrefixes + i].median());
      if (cudnn_.empty()) continue;
      row["cudnn_each_us"].push_back(readings[2 + layers_.size() + i].median());
      row["cudnn_prefixes_us"].push_back(readings[cudnnPrefixes + i].median());
    }
    return row;
  }

 private:
  /// Times of a graph that repeats somebody's calls.
  class Reading {
   public:
    Reading(CUstream stream, const Enqueue& enqueue) : replay_(bench::repeatedCalls(stream, enqueue).replay) {}
    void take() { times_.push_back(replay_->time(1)); }
    double median() const { return gpu::median(times_); }
    std::vector<double> spread() const {
      const auto [least, most] = std::minmax_element(times_.begin(), times_.end());
      return {*least, *most};
    }

   private:
    std::unique_ptr<gpu::Replay> replay_;
    std::vector<double> times_;
  };

  bool readsItsOwnInput(size_t i) const { return i == 0 || options_.independent; }
  CUdeviceptr inputOf(size_t i) const {
    return readsItsOwnInput(i) ? tensors_[i].input.address() : tensors_[i - 1].output.address();
  }

  static std::string withOptions(const std::string& choice, const std::string& options) {
    return choice + (choice.ends_with(':') ? "" : ",") + options;
  }

  static Enqueue inTurn(const std::vector<Enqueue>& layers) {
    return [&layers](CUstream stream) {
      for (const Enqueue& one : layers) one(stream);
    };
  }

  static Enqueue firstOf(const std::vector<Enqueue>& layers, size_t count) {
    return [&layers, count](CUstream stream) {
      for (size_t i = 0; i < std::min(count, layers.size()); ++i) layers[i](stream);
    };
  }

  /// Of what lies in the output of layer i, computed from what lies in the output before it.
  bool isRight(size_t i, const std::string& name) {
    if (!readsItsOwnInput(i)) {
      SHIFTCONV_GPU(cuMemcpyDtoDAsync(tensors_[i].input.address(), inputOf(i), tensors_[i].input.bytes(), stream_));
    }
    const auto found = tensors_[i].checkOutput();
    if (found.wrong != 0) fmt::print("WRONG {}: {}: {} elements\n", layers_[i].name, name, found.wrong);
    return found.wrong == 0;
  }

  /// The best of cuDNN's plans of each layer; none when it refuses one.
  void findCudnn() {
    gpu::CudnnOptions how;
    how.readings = 2;
    how.mostPlans = options_.cudnnPlans;
    for (size_t i = 0; i < layers_.size() && options_.cudnnPlans > 0; ++i) {
      cudnn::Tensors addresses;
      addresses.input = inputOf(i), addresses.filter = tensors_[i].filter.address(),
      addresses.output = tensors_[i].output.address();
      plans_.push_back(std::make_unique<gpu::CudnnReadings>(layers_[i].problem, addresses, how, stream_,
                                                            [&](const std::string& name, const Enqueue& enqueue) {
                                                              tensors_[i].poison();
                                                              enqueue(stream_);
                                                              return isRight(i, name);
                                                            }));
      const gpu::CudnnReadings& found = *plans_.back();
      if (!found.refusal().empty() || found.readings().empty()) {
        refusal_ = layers_[i].name + ": " + found.refusal();
        cudnn_.clear();
        return;
      }
      cudnn_.push_back(found.enqueue(found.readings().back()));
    }
  }

  const Options& options_;
  CUstream stream_;
  std::deque<gpu::Library> libraries_;  // of layers that share no machine code
  std::deque<gpu::Layer> layers_;       // tensors refer to them
  std::deque<gpu::LayerTensors> tensors_;
  std::vector<std::string> choices_;
  std::vector<std::unique_ptr<gpu::CudnnReadings>> plans_;
  std::vector<Enqueue> ours_, cudnn_;
  std::vector<Enqueue> waiting_;  // ours, each after what comes before it has ended
  std::string refusal_ = "not asked";
};

int run(const Options& options) {
  bench::Sides sides(options);
  Json report{{"card", gpu::deviceName()}, {"cudnn", sides.cudnnVersion}, {"seed", options.seed}, {"rows", Json::array()}};
  double chains = 0, sums = 0, waitingSums = 0;
  int count = 0, wrong = 0;
  for (const bench::Chain& chain : bench::readChains(options.folder, options.batches())) {
    Json row{{"chain", chain.name}, {"batch", chain.batch}};
    row.update(ChainRun(chain, sides, options).measure());
    if (!row["right"]) ++wrong;
    fmt::print("{:24} batch {:3}: ours {:8.1f} us, its layers {:8.1f}", chain.name, chain.batch, double{row["ours_us"]},
               double{row["ours_layers_us"]});
    if (row.contains("cudnn_us")) {
      const double ofChain = double{row["cudnn_us"]} / double{row["ours_us"]},
                   ofLayers = double{row["cudnn_layers_us"]} / double{row["ours_layers_us"]};
      chains += std::log(ofChain), sums += std::log(ofLayers), ++count;
      if (row.contains("ours_layers_waiting_us"))
        waitingSums += std::log(double{row["cudnn_layers_us"]} / double{row["ours_layers_waiting_us"]});
      fmt::print(", cuDNN {:8.1f}, its layers {:8.1f}; ratio {:.2f}, of the layers {:.2f}", double{row["cudnn_us"]},
                 double{row["cudnn_layers_us"]}, ofChain, ofLayers);
    }
    fmt::print("\n");
    std::fflush(stdout);
    report["rows"].push_back(row);
  }
  if (!bench::writeJson(options.json, report)) return 2;
  if (count > 0) {
    fmt::print("chains: geomean {:.3f} of {}, sums of their layers {:.3f}", std::exp(chains / count), count,
               std::exp(sums / count));
    if (options.planOptions.empty()) fmt::print(", of layers that wait {:.3f}", std::exp(waitingSums / count));
    fmt::print(", {} wrong\n", wrong);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  command_line::Parser parser("blocks of networks, layer after layer, ours and cuDNN's, on one GPU");
  parser.option("--chains", options.folder, "folder of lists, such as bench/shapes/chains").required();
  options.addTo(parser);
  parser.option("--candidate", options.candidate,
                "take the best candidate whose name begins so, where a layer has one: \"halo:shape=k64_n32\"");
  parser.flag("--constant-filter", options.constantFilter,
              "filters are read while the layer before still runs, where the engine can");
  parser.flag("--independent", options.independent,
              "each layer reads a tensor of its own: what the change from kernel to kernel costs without waiting for data");
  parser.flag("--prefixes", options.prefixes, "each layer's time alone, and the times of the first one, two, three... layers");
  parser.flag("--own-code", options.ownCode, "each layer has a copy of its machine code: what fetching instructions costs");
  return bench::runComparison(argc, argv, parser, options, [&] { return run(options); });
}
