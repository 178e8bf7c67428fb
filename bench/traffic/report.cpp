#include "bench/traffic/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "conv/problem/text.hpp"

namespace shiftconv::bench {
namespace {

double megabytes(int64_t bytes) { return static_cast<double>(bytes) * 1e-6; }

double ratio(int64_t a, int64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

std::string describe(const Wish& chosen, std::string_view map) {
  return fmt::format("{} n{} {}{}{}", chosen.pair.value_or(false) ? "pair" : "single", chosen.tileN.value_or(0),
                     chosen.resident.value_or(false) ? "resident" : "streamed", map.empty() ? "" : " ", map);
}

void printEntry(std::string_view name, const Entry& entry, const Entry* base) {
  if (!entry.refusal.empty()) {
    fmt::print("  {:<19} {}\n", name, entry.refusal);
    return;
  }
  const plan::Traffic& t = entry.projection.counted;
  fmt::print("  {:<19} {:<32} {:>9} {:>9.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>7.2f} {:>5.1f} {:>8}", name,
             describe(entry.chosen, entry.map), t.mmas, megabytes(t.multiplyReadBytes), megabytes(t.copyReadBytes),
             megabytes(t.activationBytes), megabytes(t.filterBytes), megabytes(entry.projection.threadReadBytes),
             100.0 * static_cast<double>(t.storedRows) / static_cast<double>(t.multipliedRows), t.shifts);
  for (const Modelled& modelled : entry.modelled) fmt::print(" {:>8.2f}", modelled.seconds * 1e6);
  if (base != nullptr)
    fmt::print(" {:>6.3f} {:>6.3f}", ratio(t.sharedReadBytes(), base->projection.counted.sharedReadBytes()),
               ratio(t.activationBytes, base->projection.counted.activationBytes));
  fmt::print("  {} | {}/{} classes, {:.1e}\n", entry.modelled[0].bound, entry.projection.classesRun, entry.projection.classes,
             entry.difference);
}

nlohmann::json toJson(const plan::Traffic& t) {
  return {{"mmas", t.mmas},
          {"shifts", t.shifts},
          {"smem_read_by_mma", t.multiplyReadBytes},
          {"smem_read_by_cp", t.copyReadBytes},
          {"l2_activations", t.activationBytes},
          {"l2_filters", t.filterBytes},
          {"smem_written", t.writtenBytes},
          {"rows_multiplied", t.multipliedRows},
          {"rows_stored", t.storedRows}};
}

nlohmann::json toJson(const Entry& entry) {
  if (!entry.refusal.empty()) return {{"algorithm", entry.algorithm}, {"refused", entry.refusal}};
  nlohmann::json seconds;
  for (size_t i = 0; i < kConstants.size(); ++i)
    seconds[std::string(kConstants[i].name)] = {{"seconds", entry.modelled[i].seconds}, {"bound", entry.modelled[i].bound}};
  return {{"algorithm", entry.algorithm},
          {"cut", describe(entry.chosen, entry.map)},
          {"counted", toJson(entry.projection.counted)},
          {"planned", toJson(entry.planned)},
          {"planner_error", entry.difference},
          {"thread_read_bytes", entry.projection.threadReadBytes},
          {"tile_classes", entry.projection.classes},
          {"tile_classes_run", entry.projection.classesRun},
          {"pixels_checked", entry.projection.checkedPixels},
          {"modelled", seconds}};
}

}  // namespace

bool isHeadlineLayer(const Problem& p) {
  return p.r == 3 && p.s == 3 && p.t == 1 && p.strideH == 1 && p.strideW == 1 && p.dilationH == 1 && p.dilationW == 1 &&
         p.k <= 64 && p.w >= 56;
}

const Entry* LayerReport::find(std::string_view algorithm) const {
  for (const Entry& entry : entries)
    if (entry.algorithm == algorithm && entry.refusal.empty()) return &entry;
  return nullptr;
}

Headline headline(const std::vector<FileReport>& files) {
  Headline worst;
  for (const FileReport& file : files)
    for (const LayerReport& layer : file.layers) {
      const Entry *stream = layer.find("shift_stream"), *base = layer.find("im2col");
      if (stream == nullptr || base == nullptr || !isHeadlineLayer(layer.layer.problem)) continue;
      if (!stream->chosen.pair.value_or(false) || !base->chosen.pair.value_or(false) || !layer.whole) continue;
      const plan::Traffic &cut = stream->projection.counted, &whole = layer.whole->projection.counted,
                          &b = base->projection.counted;
      worst.shared = std::max(worst.shared, ratio(whole.sharedReadBytes(), b.sharedReadBytes()));
      worst.activations = std::max(worst.activations, ratio(whole.activationBytes, b.activationBytes));
      worst.sharedCut = std::max(worst.sharedCut, ratio(cut.sharedReadBytes(), b.sharedReadBytes()));
      worst.activationsCut = std::max(worst.activationsCut, ratio(cut.activationBytes, b.activationBytes));
      ++worst.layers;
    }
  return worst;
}

void print(const FileReport& report) {
  fmt::print("{}: counted in the emulator tile by tile, every output of the tiles checked; microseconds modelled for a B200\n",
             report.file);
  fmt::print("  {:<19} {:<32} {:>9} {:>9} {:>8} {:>8} {:>8} {:>7} {:>5} {:>8}", "", "", "MMAs", "smem MMA", "smem cp", "L2 act",
             "L2 wgt", "scales", "lanes", "shifts");
  for (const Constants& constants : kConstants)
    fmt::print(" {:>8}", constants.copyIsSerial ? fmt::format("s{:.0f}", constants.shiftClocks) : std::string("default"));
  fmt::print(" {:>6} {:>6}  {}\n", "smem/", "act/", "bound | tiles, planner's error");
  fmt::print("  {:<19} {:<32} {:>9} {:>9} {:>8} {:>8} {:>8} {:>7} {:>5} {:>8}", "", "", "", "MB", "MB", "MB", "MB", "MB", "%", "");
  for (size_t i = 0; i < kConstants.size(); ++i) fmt::print(" {:>8}", "us");
  fmt::print(" {:>6} {:>6}\n", "im2col", "im2col");
  struct Total {
    double shared = 0, activations = 0;
    std::array<double, kConstants.size()> seconds{};
    int64_t layers = 0;
  };
  std::map<std::string, Total> totals;
  for (const LayerReport& layer : report.layers) {
    fmt::print("{} x {}  [{}]\n", layer.layer.count, layer.layer.name, shiftconv::describe(layer.layer.problem));
    const Entry* base = layer.find("im2col");
    for (const Entry& entry : layer.entries) {
      printEntry(entry.algorithm, entry, base);
      if (!entry.refusal.empty()) continue;
      Total& total = totals[entry.algorithm];
      const auto count = static_cast<double>(layer.layer.count);
      total.shared += count * megabytes(entry.projection.counted.sharedReadBytes());
      total.activations += count * megabytes(entry.projection.counted.activationBytes);
      for (size_t i = 0; i < kConstants.size(); ++i) total.seconds[i] += count * entry.modelled[i].seconds;
      total.layers += layer.layer.count;
    }
    if (layer.whole) printEntry("  in whole columns", *layer.whole, base);
    fmt::print("  planner: {}\n", layer.plannersChoice);
  }
  fmt::print("weighted by how often the network has each layer:\n");
  for (const auto& [algorithm, total] : totals)
    fmt::print(
        "  {:<19} {} layers, {:.1f} MB of shared memory read, {:.1f} MB of activations from L2, {:.1f} / {:.1f} / {:.1f} us\n",
        algorithm, total.layers, total.shared, total.activations, total.seconds[0] * 1e6, total.seconds[1] * 1e6,
        total.seconds[2] * 1e6);
}

std::string toJson(const std::vector<FileReport>& reports, const Headline& headline) {
  nlohmann::json root;
  for (const FileReport& report : reports)
    for (const LayerReport& layer : report.layers) {
      nlohmann::json entries = nlohmann::json::array();
      for (const Entry& entry : layer.entries) entries.push_back(toJson(entry));
      root["layers"].push_back({{"file", report.file},
                                {"count", layer.layer.count},
                                {"name", layer.layer.name},
                                {"problem", shiftconv::describe(layer.layer.problem)},
                                {"planner", layer.plannersChoice},
                                {"entries", entries}});
      if (layer.whole) root["layers"].back()["whole_columns"] = toJson(*layer.whole);
    }
  root["headline"] = {{"smem", headline.shared},
                      {"l2_activations", headline.activations},
                      {"smem_cut", headline.sharedCut},
                      {"l2_activations_cut", headline.activationsCut},
                      {"layers", headline.layers}};
  return root.dump(1) + "\n";
}

}  // namespace shiftconv::bench
