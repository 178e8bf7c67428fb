// Ours against cuDNN on one GPU: same buffers, one process, rotated order, every element of both checked.
//
// Time: a CUDA graph of 20 calls, replayed after 10 ms without work ("rested": the card's power management otherwise decides
// the result), medians over the rounds; in each round the sides run one after the other, starting with another one each time.
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
#include <sstream>

#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/cudnn_side.hpp"
#include "bench/conv/gpu/engines.hpp"
#include "bench/conv/gpu/verification_params.hpp"
#include "verification_image.hpp"

using namespace shiftconv;
using gpu::Buffer;

namespace {

constexpr int kCallsInGraph = 20;
constexpr double kRestMilliseconds = 10;
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
};

struct Layer {
  std::string name, kind;
  Problem problem;
};

std::vector<Layer> readLayers(const Options& options) {
  std::ifstream file(options.layers);
  std::vector<Layer> layers;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream text(line);
    Layer layer;
    Problem& p = layer.problem;
    text >> layer.name >> layer.kind >> p.n >> p.h >> p.c >> p.k >> p.r >> p.strideH >> p.padTop >> p.groups;
    if (!text) {
      fmt::print(stderr, "{}: cannot read '{}'\n", options.layers, line);
      std::exit(2);
    }
    p.w = p.h;
    p.s = p.r;
    p.strideW = p.strideH;
    p.padBottom = p.padLeft = p.padRight = p.padTop;
    p.inputType = p.filterType = p.outputType = options.bf16 ? DataType::BF16 : DataType::F16;
    if (!options.only.empty() && ("," + options.only + ",").find("," + layer.name + ",") == std::string::npos) continue;
    layers.push_back(layer);
  }
  return layers;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// Operands of one layer and the check of an output.
class Bench {
 public:
  Bench(const Options& options, const gpu::Module& verification, const Layer& layer, CUstream stream)
      : verification_(verification),
        layer_(layer),
        stream_(stream),
        type_(options.bf16 ? "bf16" : "f16"),
        input(2 * static_cast<size_t>(p().n * p().h * p().w * p().c)),
        filter(2 * static_cast<size_t>(p().k * p().r * p().s * p().groupChannels())),
        transposed(filter.bytes()),
        output(2 * static_cast<size_t>(p().n * p().p() * p().q() * p().k)),
        result(sizeof(verification::CheckResult)) {
    fill(input, options.seed * 2 + 1);
    fill(filter, options.seed * 2 + 2);
    uint32_t k = static_cast<uint32_t>(p().k), perChannel = static_cast<uint32_t>(filter.bytes() / 2 / k);
    const CUdeviceptr from = filter.address(), to = transposed.address();
    const void* arguments[] = {&from, &to, &k, &perChannel};
    launch("transpose_", 1024, arguments);
  }

  gpu::Tensors tensors() const { return {input.address(), filter.address(), 0, output.address()}; }

  void poison() { SHIFTCONV_GPU(cuMemsetD8Async(output.address(), 0xFF, output.bytes(), stream_)); }

  verification::CheckResult checkOutput() {
    verification::CheckParams params;
    params.n = static_cast<uint32_t>(p().n);
    params.c = static_cast<uint32_t>(p().c);
    params.k = static_cast<uint32_t>(p().k);
    params.groups = static_cast<uint32_t>(p().groups);
    params.h = static_cast<int32_t>(p().h);
    params.w = static_cast<int32_t>(p().w);
    params.r = static_cast<int32_t>(p().r);
    params.s = static_cast<int32_t>(p().s);
    params.outputHeight = static_cast<int32_t>(p().p());
    params.outputWidth = static_cast<int32_t>(p().q());
    params.padTop = static_cast<int32_t>(p().padTop);
    params.padLeft = static_cast<int32_t>(p().padLeft);
    params.strideH = static_cast<int32_t>(p().strideH);
    params.strideW = static_cast<int32_t>(p().strideW);
    verification::setOutputBounds(params, type_ == "bf16");
    SHIFTCONV_GPU(cuMemsetD8Async(result.address(), 0, result.bytes(), stream_));
    const CUdeviceptr x = input.address(), w = transposed.address(), bias = 0, y = output.address(), r = result.address();
    const void* arguments[] = {&params, &x, &w, &bias, &y, &r};
    launch("check_", 132 * 16, arguments);
    SHIFTCONV_GPU(cuStreamSynchronize(stream_));
    verification::CheckResult found;
    SHIFTCONV_GPU(cuMemcpyDtoH(&found, result.address(), sizeof found));
    return found;
  }

 private:
  const Problem& p() const { return layer_.problem; }
  void launch(const std::string& kernel, uint32_t ctas, std::span<const void* const> arguments) {
    LaunchConfig config;
    config.grid.x = ctas;
    config.block.x = 256;
    gpu::launch(verification_.kernel(kernel + type_), config, arguments, stream_);
  }
  void fill(const Buffer& buffer, uint64_t seed) {
    const CUdeviceptr data = buffer.address();
    uint64_t count = buffer.bytes() / 2;
    float scale = 1;
    const void* arguments[] = {&data, &count, &seed, &scale};
    launch("fill_", 1024, arguments);
  }

  const gpu::Module& verification_;
  const Layer& layer_;
  CUstream stream_;
  std::string type_;

 public:
  Buffer input, filter, transposed, output, result;
};

struct Side {
  std::string name, note;
  std::unique_ptr<gpu::Replay> replay;
  std::vector<double> times;
  bool right = false;
  double worstShare = 0, relativeError = 0;
  size_t workspace = 0;
  double median_() const { return median(times); }
};

/// Runs once on a poisoned output and checks every element.
template <class Enqueue>
bool verify(Bench& bench, CUstream stream, Side& side, Enqueue&& enqueue) {
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

void timeSides(std::vector<Side>& sides, int rounds) {
  for (Side& side : sides) side.replay->time(0);  // warm
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < sides.size(); ++i) {
      Side& side = sides[(i + static_cast<size_t>(round)) % sides.size()];
      side.times.push_back(side.replay->time(kRestMilliseconds));
    }
  }
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

  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::map<std::string, std::vector<double>> ratios;
  bool allRight = true;
  for (const Layer& layer : readLayers(options)) {
    Bench bench(options, verification, layer, stream);
    const Problem& p = layer.problem;
    std::vector<Side> sides;
    // Ours
    std::vector<std::string> choices = {""};
    if (options.tuned > 0) {
      choices = library.candidates(p);
      choices.resize(std::min(choices.size(), static_cast<size_t>(options.tuned)));
    }
    if (!options.choices.empty()) choices = options.choices;
    for (const std::string& variant : choices) {
      try {
        const gpu::BoundConvolution ours = library.bind(p, bench.tensors(), variant);
        Side side;
        side.name = variant.empty() ? "ours" : variant;
        side.note = ours.description;
        allRight = verify(bench, stream, side, ours.enqueue) && allRight;
        side.replay = std::make_unique<gpu::Replay>(stream, kCallsInGraph, ours.enqueue);
        sides.push_back(std::move(side));
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
      t.input = bench.input.address(), t.filter = bench.filter.address(), t.output = bench.output.address();
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
        sides.push_back(std::move(side));
      }
    }
    timeSides(sides, options.rounds);

    double theirs = 1e30, ours = 1e30;
    for (size_t i = 0; i < sides.size(); ++i)
      (i < oursCount ? ours : theirs) = std::min(i < oursCount ? ours : theirs, sides[i].median_());
    for (size_t i = 0; i < sides.size(); ++i) {
      const Side& s = sides[i];
      fmt::print("{:14} {:28} {:8.2f} us  [{:.2f}..{:.2f}] {} {:.2f} of bound  {}\n", layer.name, s.name, s.median_(),
                 *std::min_element(s.times.begin(), s.times.end()), *std::max_element(s.times.begin(), s.times.end()),
                 s.right ? "right" : "WRONG", s.worstShare, i < oursCount || oursCount == 0 ? s.note : s.note.substr(0, 60));
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
      row["ours_us_range"] = {*std::min_element(sides[0].times.begin(), sides[0].times.end()),
                              *std::max_element(sides[0].times.begin(), sides[0].times.end())};
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
      std::ofstream(options.json) << report.dump(1) << "\n";
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
  CLI11_PARSE(app, argc, argv);
  if (options.seed == 0) options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) >> 10;
  return run(options);
}
