#include "conv/problem/accumulation.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace shiftconv {
namespace {

constexpr std::string_view kLine = "sums       ";
constexpr std::array kAll{Accumulation::TensorCore, Accumulation::WgmmaTensorCore, Accumulation::HalfTensorCore,
                          Accumulation::FusedMultiplyAdd};

}  // namespace

std::string_view nameOf(Accumulation accumulation) {
  switch (accumulation) {
    case Accumulation::TensorCore:
      return "tcgen05";
    case Accumulation::WgmmaTensorCore:
      return "wgmma";
    case Accumulation::HalfTensorCore:
      return "mma";
    case Accumulation::FusedMultiplyAdd:
      return "fma";
  }
  return {};
}

std::string sumsLine(const Accumulations& accumulations) {
  std::string names;
  for (const Accumulation one : accumulations) names.append(names.empty() ? "" : " ").append(nameOf(one));
  return std::string(kLine) + names + "\n";
}

Accumulations accumulationsIn(std::string_view description) {
  std::istringstream lines{std::string(description)};
  Accumulations accumulations;
  for (std::string line; accumulations.empty() && std::getline(lines, line);) {
    if (!line.starts_with(kLine)) continue;
    std::istringstream names(line.substr(kLine.size()));
    for (std::string name; names >> name;) {
      const auto* const found = std::ranges::find(kAll, name, nameOf);
      if (found == kAll.end()) throw std::invalid_argument("no way to sum is called " + name);
      accumulations.insert(*found);
    }
  }
  if (accumulations.empty()) throw std::invalid_argument("the description of the plan does not say how it sums");
  return accumulations;
}

}  // namespace shiftconv
