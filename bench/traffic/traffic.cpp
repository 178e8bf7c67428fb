// Counts what each algorithm multiplies, reads and loads for the layers of shape files: an interior, a border and a ragged tile in
// the emulator with their outputs checked, the rest by how often each class of tiles occurs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/traffic/report.hpp"
#include "common/command_line/command_line.hpp"
#include "common/device/registry.hpp"
#include "common/parallel.hpp"
#include "conv/planner/candidates.hpp"

namespace shiftconv::bench {
namespace {

device::Properties presetB200() {
  for (const device::Preset& preset : device::presets())
    if (std::string_view(preset.name) == "B200") return preset.properties;
  throw std::runtime_error("no preset of a B200");
}

std::string plannersChoice(const Problem& problem, const device::Properties& properties) {
  std::shared_ptr<const plan::Plan> plan;
  if (const Status status = makePlan(problem, properties, {}, plan); !status.ok()) return status.message();
  return fmt::format("{} {}: {}", plan->algorithm, plan->options, describe(plan->estimate));
}

struct Settings {
  bool pair = true;
  int64_t classes = 3;
  uint64_t seed = 1;
};

LayerReport compare(const Layer& layer, const device::Properties& properties, const Settings& settings) {
  LayerReport report{layer, {}, plannersChoice(layer.problem, properties), {}};
  Measurement measurement(layer.problem, settings.seed);
  const Wish wish = commonWish(layer.problem, properties, settings.pair);
  const auto measure = [&](std::string_view algorithm, std::initializer_list<Wish> wishes) {
    Entry entry;
    entry.algorithm = algorithm;
    Peer peer;
    for (const Wish& next : wishes)
      if (entry.refusal = makePeer(algorithm, layer.problem, properties, next, peer); entry.refusal.empty()) break;
    if (!entry.refusal.empty()) return entry;
    entry.chosen = peer.chosen;
    entry.map = peer.map;
    entry.planned = peer.total;
    entry.projection = project(peer, measurement, settings.classes);
    entry.difference = difference(entry.projection.counted, entry.planned);
    for (size_t i = 0; i < kConstants.size(); ++i)
      entry.modelled[i] = model(peer, entry.projection.counted, properties, kConstants[i]);
    return entry;
  };
  for (const std::string_view algorithm : peerNames()) {
    // A peer may lack the room for the filter, or have no tile of such a width.
    Wish streamed = wish, narrower = wish;
    streamed.resident = false;
    narrower.tileN.reset(), narrower.resident.reset();
    report.entries.push_back(measure(algorithm, {wish, streamed, narrower}));
  }
  if (const Entry* stream = report.find("shift_stream"); stream != nullptr && isHeadlineLayer(layer.problem)) {
    Wish whole = stream->chosen;
    whole.blockRows = static_cast<uint32_t>(layer.problem.p());
    report.whole = measure("shift_stream", {whole});
    if (!report.whole->refusal.empty()) report.whole.reset();
  }
  return report;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", path));
}

int run(int argc, char** argv) {
  command_line::Parser parser("Counts what each algorithm moves for the layers of shape files.");
  std::vector<std::string> files;
  std::string json, picture, group = "pair", operands = "as written";
  Settings settings;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  parser.option("files", files, "shape files, lines \"<count> x <problem> | <name>\"").required().existingFile();
  parser.option("--json", json, "write everything there");
  parser.option("--plot", picture, "write an SVG there");
  parser.option("--group", group, "CTAs that multiply together").oneOf({"single", "pair"});
  parser.option("--operands", operands, "in place of those of the file").oneOf({"as written", "f16", "mxfp8"});
  parser.option("--classes", settings.classes, "tiles of how many classes to run").positive();
  parser.option("--seed", settings.seed, "of the operands");
  parser.option("--threads", threads, "layers side by side").range(1u, 256u);
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    const device::Properties properties = presetB200();
    settings.pair = group == "pair";
    const Operands types = operands == "f16" ? Operands::F16 : operands == "mxfp8" ? Operands::MxFp8 : Operands::AsWritten;
    std::vector<FileReport> reports;
    for (const std::string& file : files) {
      FileReport& report = reports.emplace_back();
      report.file = file;
      const std::vector<Layer> layers = readLayers(file, types);
      report.layers.resize(layers.size());
      inParallel(layers.size(), threads, [&](size_t i) {
        fmt::print(stderr, "{}: {}\n", file, layers[i].name);
        report.layers[i] = compare(layers[i], properties, settings);
      });
      print(report);
      std::fflush(stdout);
    }
    const Headline worst = headline(reports);
    if (!json.empty()) write(json, toJson(reports, worst));
    if (!picture.empty()) write(picture, plot(reports));
    if (worst.layers != 0)
      fmt::print(
          "with the planner's blocks of rows: smem {:.3f}, L2 activation {:.3f}; in whole columns:\n"
          "traffic: shift_stream/im2col smem {:.3f}, L2 activation {:.3f} (worst over 3x3 layers with K<=64, W>=56, cta_group 2, "
          "no refill, the planner's map)\n",
          worst.sharedCut, worst.activationsCut, worst.shared, worst.activations);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace shiftconv::bench

int main(int argc, char** argv) { return shiftconv::bench::run(argc, argv); }
