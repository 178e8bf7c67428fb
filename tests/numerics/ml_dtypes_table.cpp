#include "tests/numerics/ml_dtypes_table.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace shiftconv::tests {
namespace {

constexpr uint32_t kInfinity = 0x7f80'0000;

uint32_t hex(const std::string& text) { return static_cast<uint32_t>(std::stoul(text, nullptr, 16)); }

std::vector<uint32_t> hexList(const std::string& text) {
  std::vector<uint32_t> numbers;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) numbers.push_back(hex(item));
  return numbers;
}

TypeTable& typeNamed(MlDtypesTable& table, const std::string& name) {
  const auto found = std::find_if(table.types.begin(), table.types.end(), [&](const TypeTable& t) { return t.type == name; });
  if (found != table.types.end()) return *found;
  table.types.push_back({.type = name, .decoded = {}, .ranges = {}});
  return table.types.back();
}

void readLine(MlDtypesTable& table, const std::string& kind, const std::string& name, std::istringstream& rest) {
  std::string code, first, second;
  rest >> code >> first;
  if (kind == "decode") {
    const bool isNan = first == "nan";
    typeNamed(table, name)
        .decoded.push_back({hex(code), isNan, isNan ? std::numeric_limits<float>::quiet_NaN() : std::bit_cast<float>(hex(first))});
  } else if (kind == "range") {
    rest >> second;
    typeNamed(table, name).ranges.push_back({hex(code), hex(first), hex(second)});
  } else if (kind == "overflow") {
    typeNamed(table, name).overflow = {hex(code), hex(first), kInfinity};
  } else if (kind == "block") {
    rest >> second;
    BlockCase block{.format = name, .scale = hex(code), .values = {}, .codes = {}};
    for (const uint32_t bits : hexList(first)) block.values.push_back(std::bit_cast<float>(bits));
    for (const uint32_t bits : hexList(second)) block.codes.push_back(static_cast<uint8_t>(bits));
    table.blocks.push_back(block);
  } else {
    throw std::runtime_error("unknown line '" + kind + "'");
  }
  if (rest.fail()) throw std::runtime_error("incomplete line '" + kind + " " + name + "'");
}

}  // namespace

MlDtypesTable readMlDtypesTable(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  MlDtypesTable table;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    readLine(table, kind, name, words);
  }
  return table;
}

}  // namespace shiftconv::tests
