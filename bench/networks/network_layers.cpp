#include "bench/networks/network_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "conv/problem/text.hpp"
#include "conv/problem/types.hpp"

namespace shiftconv::bench {

namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int line, const std::string& why) {
  throw std::runtime_error(fmt::format("{}:{}: {}", file.string(), line, why));
}

std::vector<std::filesystem::path> listsOf(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// `text` with its N, if it begins with one, in place of a number.
std::string withBatch(const std::string& text, int64_t batch) {
  return text[0] == 'N' ? std::to_string(batch) + text.substr(1) : text;
}

}  // namespace

bool reads(const Problem& layer, const Problem& before) {
  return layer.n == before.n && layer.d == before.z() && layer.h == before.p() && layer.w == before.q() && layer.c == before.k &&
         layer.inputType == before.outputType;
}

float steadyFilterScale(const Problem& p) { return std::sqrt(3.0f / static_cast<float>(p.t * p.r * p.s * p.groupChannels())); }

std::vector<Chain> readChains(const std::string& folder, const std::vector<int64_t>& batches) {
  std::vector<Chain> chains;
  for (const std::filesystem::path& path : listsOf(folder)) {
    for (const int64_t batch : batches) {
      Chain chain{path.stem().string(), batch, {}};
      std::ifstream file(path);
      std::string line;
      for (int number = 1; std::getline(file, line); ++number) {
        if (line.empty() || line[0] == '#') continue;
        Problem layer;
        if (const Status status = parse(withBatch(line, batch), layer); !status.ok()) fail(path, number, status.message());
        if (!chain.layers.empty() && !reads(layer, chain.layers.back()))
          fail(path, number, "its input is not the output of the layer before it: " + describe(chain.layers.back()));
        chain.layers.push_back(layer);
      }
      if (chain.layers.empty()) fail(path, 1, "the list has no layer");
      chains.push_back(std::move(chain));
    }
  }
  return chains;
}

std::vector<NetworkLayer> readNetworks(const std::string& folder, const std::vector<int64_t>& batches, const std::string& suffix) {
  std::vector<NetworkLayer> layers;
  std::map<std::string, size_t> known;  // by the canonical text
  for (const std::filesystem::path& path : listsOf(folder)) {
    std::ifstream file(path);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.empty() || line[0] == '#') continue;
      const size_t times = line.find(" x ");
      int count = 0;
      if (times != std::string::npos) count = std::atoi(line.substr(0, times).c_str());
      if (count < 1) fail(path, number, "not \"COUNT x PROBLEM\"");
      const std::string rest = line.substr(times + 3, line.find(" | ") - times - 3);
      const bool open = rest[0] == 'N';
      for (const int64_t batch : open ? batches : std::vector<int64_t>{0}) {
        const std::string text = withBatch(rest, batch) + (suffix.empty() ? "" : " " + suffix);
        NetworkLayer layer;
        if (const Status status = parse(text, layer.problem); !status.ok()) fail(path, number, status.message());
        layer.batch = layer.problem.n;
        layer.text = describe(layer.problem);
        const auto [place, isNew] = known.try_emplace(layer.text, layers.size());
        if (isNew) layers.push_back(std::move(layer));
        layers[place->second].occurrences[path.stem().string()] += count;
      }
    }
  }
  return layers;
}

Problem inType(Problem problem, const std::string& type, const std::string& outputs) {
  const bool tf32 = type == "tf32";
  problem.inputType = problem.filterType = problem.outputType = tf32 ? DataType::F32 : dataTypeNamed(type).value();
  if (!outputs.empty()) problem.outputType = dataTypeNamed(outputs).value();
  if (problem.hasResidual() && problem.residualType == DataType::F16) problem.residualType = problem.outputType;
  problem.compute = tf32 ? Compute::TF32 : Compute::Default;
  if (type == "s8") {
    constexpr double kDeviationOfProduct = 127.0 * 127 / 3, kWanted = 40;
    const double sums =
        kDeviationOfProduct * std::sqrt(static_cast<double>(problem.t * problem.r * problem.s * problem.groupChannels()));
    problem.alpha = static_cast<float>(std::exp2(std::floor(std::log2(kWanted / sums))));
  }
  return problem;
}

std::string classOf(const Problem& p) {
  if (p.groups == p.c && p.groups > 1) return "depthwise";
  if (p.groups > 1) return "grouped";
  if (p.c < 8) return "stem";
  if (p.t * p.r * p.s == 1) return "1x1";
  if (p.dilationD * p.dilationH * p.dilationW > 1) return "dilated";
  if (!isTwoDimensional(p)) return "3-D";
  if (p.strideH * p.strideW > 1) return "strided";
  return "dense";
}

}  // namespace shiftconv::bench
