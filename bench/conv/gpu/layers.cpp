#include "bench/conv/gpu/layers.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace shiftconv::gpu {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& line) {
  fmt::print(stderr, "{}: cannot read '{}'\n", path, line);
  std::exit(2);
}

}  // namespace

std::vector<Layer> readLayers(const std::string& path, const std::string& only, bool allBf16) {
  std::ifstream file(path);
  if (!file) {
    fmt::print(stderr, "cannot read {}\n", path);
    std::exit(2);
  }
  std::vector<Layer> layers;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream text(line);
    Layer layer;
    Problem& p = layer.problem;
    text >> layer.name >> layer.kind >> p.n >> p.h >> p.c >> p.k >> p.r >> p.strideH >> p.padTop >> p.groups;
    if (!text) fail(path, line);
    p.w = p.h;
    p.s = p.r;
    p.strideW = p.strideH;
    p.padBottom = p.padLeft = p.padRight = p.padTop;
    DataType type = allBf16 ? DataType::BF16 : DataType::F16;
    for (std::string word; text >> word;) {
      if (word == "bf16")
        type = DataType::BF16;
      else if (word == "e4m3")
        type = DataType::E4M3;
      else if (word == "residual")
        p.beta = 1;
      else if (word == "bias")
        p.hasBias = true;
      else if (word == "relu")
        p.activation = Activation::Relu;
      else
        fail(path, line);
    }
    p.inputType = p.filterType = type;
    p.outputType = type == DataType::BF16 ? type : DataType::F16;
    if (p.hasResidual()) p.residualType = p.outputType;
    if (!only.empty() && ("," + only + ",").find("," + layer.name + ",") == std::string::npos) continue;
    layers.push_back(layer);
  }
  return layers;
}

}  // namespace shiftconv::gpu
