// Candidates of a layer within a sequence: what the layers of a list take on one GPU, one after the other, with each candidate in
// place.
//
// A layer repeated alone finds its instructions in caches, and its CTAs start where its own CTAs end. In a network neither is so,
// and candidates that are equally fast alone differ (chains.cpp). Here a window of a list, the layer and those around it with the
// planner's choices, runs in one graph, with one candidate after the other for the layer in the middle. A row has the times of the
// whole window; only differences between candidates mean something. Candidates are the planner's choice and the fastest ones of
// earlier rows of `networks`. Results are not checked here: `networks` checks what it takes as the best of each algorithm, and
// tests run every kernel.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"
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
using Enqueue = std::function<void(CUstream)>;

namespace {

struct Options : bench::ComparisonOptions {
  Options() : ComparisonOptions{{1, 8, 32}, 9} { cudnnPlans = 0; }

  std::string folder, rows, type = "f16";
  int each = 10, around = 3, every = 1;
  double seconds = 540, within = 1.3, longest = 60, longestWindow = 400;
};

/// A layer of a list where the graphs of several windows find it.
class Place {
 public:
  /// `before`: the layer whose output this one reads, if that is its input.
  Place(const NetworkLayer& layer, bench::Sides& sides, uint64_t seed, const Place* before)
      : library_(sides.library),
        layer_{layer.text, bench::classOf(layer.problem), layer.problem},
        tensors_(sides.verification, layer_, seed, sides.stream, bench::steadyFilterScale(layer.problem)),
        input_(before != nullptr && bench::reads(layer.problem, before->layer_.problem) ? before->tensors_.output.address()
                                                                                        : tensors_.input.address()),
        planned_(bind("")) {}

  gpu::BoundConvolution bind(const std::string& choice) const {
    return library_.bind(layer_.problem, {input_, tensors_.filter.address(), 0, 0, tensors_.output.address()}, choice);
  }
  const gpu::BoundConvolution& planned() const { return planned_; }

 private:
  gpu::Library& library_;
  const gpu::Layer layer_;  // tensors refer to it
  gpu::LayerTensors tensors_;
  CUdeviceptr input_;
  gpu::BoundConvolution planned_;
};

/// The planner's choice, and those whose recorded times are near the least.
std::vector<std::string> candidatesOf(const std::string& choice, const Json& recorded, const Options& options) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, us] : recorded.items())
    if (name != choice && name != "cuDNN") sorted.emplace_back(us, name);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> names{choice};
  for (const auto& [us, name] : sorted)
    if (us <= options.within * sorted.front().first && static_cast<int>(names.size()) < options.each) names.push_back(name);
  return names;
}

/// The windows of one batch, whose layers come in the order of their lists.
class Windows {
 public:
  Windows(std::vector<NetworkLayer> layers, bench::Sides& sides, const Options& options)
      : layers_(std::move(layers)), sides_(sides), options_(options), places_(layers_.size()) {}

  const std::vector<NetworkLayer>& layers() const { return layers_; }

  /// Empty where the window takes too long for differences of a layer to be seen.
  std::optional<Json> measure(size_t middle, const Json& recorded) {
    const size_t around = static_cast<size_t>(options_.around), first = middle - std::min(middle, around),
                 end = std::min(middle + around + 1, layers_.size());
    for (size_t i = 0; i < places_.size(); ++i)
      if (i + 1 < first || i >= end) places_[i].reset();  // the first of the window may read what the one before it wrote
    std::vector<const Enqueue*> window;
    for (size_t i = first; i < end; ++i) {
      if (!places_[i])
        places_[i] = std::make_unique<Place>(layers_[i], sides_, options_.seed + i, i > first ? places_[i - 1].get() : nullptr);
      window.push_back(&places_[i]->planned().enqueue);
    }
    std::vector<std::string> names;
    std::vector<Enqueue> bound;
    for (const std::string& name : candidatesOf(places_[middle]->planned().choice, recorded, options_)) {
      try {
        bound.push_back(places_[middle]->bind(name).enqueue);
        names.push_back(name);
      } catch (const std::runtime_error&) {  // recorded when there was such a candidate
      }
    }
    std::vector<std::unique_ptr<gpu::Replay>> replays;
    for (const Enqueue& candidate : bound) {
      window[middle - first] = &candidate;
      bench::RepeatedCalls repeated = bench::repeatedCalls(sides_.stream, [&](CUstream stream) {
        for (const Enqueue* one : window) (*one)(stream);
      });
      if (repeated.once > options_.longestWindow) return {};
      replays.push_back(std::move(repeated.replay));
    }
    std::vector<std::vector<double>> times(names.size());
    for (int round = 0; round < options_.rounds; ++round)
      for (size_t i = 0; i < names.size(); ++i) {
        const size_t which = (i + static_cast<size_t>(round)) % names.size();
        times[which].push_back(replays[which]->time(round == 0 ? 1 : 0));
      }
    Json row{{"layer", layers_[middle].text}, {"batch", layers_[middle].batch}, {"ours", names[0]}};
    for (size_t i = first; i < end; ++i)
      if (i != middle) row["around"].push_back(places_[i]->planned().choice);
    for (size_t i = 0; i < names.size(); ++i) row["window_us"][names[i]] = gpu::median(times[i]);
    return row;
  }

 private:
  const std::vector<NetworkLayer> layers_;
  bench::Sides& sides_;
  const Options& options_;
  std::vector<std::unique_ptr<Place>> places_;  // those of the window
};

int run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  bench::Sides sides(options);
  std::map<std::string, Json> recorded;
  const Json rows = bench::readReport(options.rows);
  for (const Json& row : rows["rows"]) recorded[row["layer"]] = row["candidates"];
  Json report = bench::readReport(options.json);
  std::map<std::string, bool> known;
  for (const Json& row : report["rows"]) known[row["layer"]] = true;
  std::map<int64_t, std::vector<NetworkLayer>> byBatch;
  for (NetworkLayer& layer : bench::readNetworks(options.folder, options.batches(), "")) {
    layer.problem = bench::inType(layer.problem, options.type);
    layer.text = describe(layer.problem);
    byBatch[layer.batch].push_back(std::move(layer));
  }
  int measured = 0, left = 0, number = 0;
  for (auto& [batch, layers] : byBatch) {
    Windows windows(std::move(layers), sides, options);
    for (size_t i = 0; i < windows.layers().size(); ++i) {
      const std::string& text = windows.layers()[i].text;
      const auto row = recorded.find(text);
      if (number++ % options.every != 0 || known[text] || row == recorded.end()) continue;
      double fastest = 1e30;
      for (const auto& [name, us] : row->second.items()) fastest = std::min(fastest, double{us});
      if (fastest > options.longest) continue;
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options.seconds) {
        ++left;
        continue;
      }
      const std::optional<Json> found = windows.measure(i, row->second);
      if (!found) continue;
      report["rows"].push_back(*found);
      const Json& times = report["rows"].back()["window_us"];
      const auto best = std::min_element(times.begin(), times.end());
      fmt::print("{:60} {:8.2f} us {:40} best {:8.2f} {}\n", text, double{times.front()}, times.begin().key(), double{*best},
                 best.key());
      if (++measured % 50 == 0) std::fflush(stdout), bench::writeJson(options.json, report);
    }
  }
  report["card"] = gpu::deviceName();
  report["seed"] = options.seed;
  if (!bench::writeJson(options.json, report)) return 2;
  fmt::print("{} layers measured, {} left for another run\n", measured, left);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  command_line::Parser parser("candidates of layers among their neighbours in lists of networks, on one GPU");
  parser.option("--layers", options.folder, "folder of lists, such as bench/shapes/networks").required();
  options.addTo(parser);
  parser.option("--rows", options.rows, "JSON file of `networks` with the candidates of these layers").required();
  parser.option("--type", options.type, "of operands and outputs: f16, bf16, e4m3, s8");
  parser.option("--every", options.every, "one layer in so many");
  parser.option("--each", options.each, "candidates of a layer, fastest by their rows first");
  parser.option("--within", options.within, "of the fastest one's time");
  parser.option("--longest", options.longest, "microseconds of the fastest one; longer layers are left out");
  parser.option("--longest-window", options.longestWindow, "microseconds of a window; longer ones are left out");
  parser.option("--around", options.around, "layers on either side");
  parser.option("--seconds", options.seconds, "after which no further layer is begun");
  return bench::runComparison(argc, argv, parser, options, [&] { return run(options); });
}
