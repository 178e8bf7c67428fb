#include "bench/traffic/layers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <stdexcept>

#include "conv/problem/text.hpp"

namespace shiftconv::bench {

Problem withOperands(Problem problem, Operands operands) {
  if (operands == Operands::F16) {
    problem.inputType = problem.filterType = problem.outputType = DataType::F16;
    problem.inputScale = problem.filterScale = {};
  } else if (operands == Operands::MxFp8) {
    problem.inputType = problem.filterType = DataType::E4M3;
    problem.outputType = DataType::F16;
    problem.inputScale = problem.filterScale = {32, DataType::UE8M0, ScaleOrder::Plain};
  }
  return problem;
}

std::vector<Layer> readLayers(const std::string& path, Operands operands) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  std::vector<Layer> layers;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const auto wrong = [&](const std::string& what) {
      return std::runtime_error(fmt::format("{}:{}: {} in \"{}\"", path, number, what, line));
    };
    const size_t times = line.find(" x "), bar = line.find(" | ");
    if (times == std::string::npos || bar == std::string::npos || bar < times)
      throw wrong("expected \"<count> x <problem> | <name>\"");
    Layer layer;
    const auto [end, error] = std::from_chars(line.data(), line.data() + times, layer.count);
    if (error != std::errc() || end != line.data() + times || layer.count < 1) throw wrong("the count is no positive number");
    if (const Status status = parse(line.substr(times + 3, bar - times - 3), layer.problem); !status.ok())
      throw wrong(status.message());
    layer.problem = withOperands(layer.problem, operands);
    layer.name = line.substr(bar + 3);
    layer.name.resize(layer.name.find_last_not_of(' ') + 1);
    layers.push_back(std::move(layer));
  }
  if (layers.empty()) throw std::runtime_error(fmt::format("{} has no layers", path));
  return layers;
}

}  // namespace shiftconv::bench
