#include "tests/conv/property_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shiftconv::tests {
namespace {

constexpr std::string_view kSeparator = " | ";

std::vector<std::vector<std::string>> rowsOf(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    auto& fields = rows.emplace_back();
    std::string_view rest = line;
    for (size_t end; (end = rest.find(kSeparator)) != std::string_view::npos; rest.remove_prefix(end + kSeparator.size()))
      fields.emplace_back(rest.substr(0, end));
    fields.emplace_back(rest);
    std::replace(fields.begin(), fields.end(), std::string("-"), std::string());
  }
  return rows;
}

std::filesystem::path fileOf(const std::filesystem::path& algorithm) {
  return std::filesystem::path(ALGORITHM_TESTS) / algorithm / "properties.txt";
}

}  // namespace

std::string PropertyRow::caseText() const {
  std::string text = fields.at(0) + " | algorithm " + algorithm;
  for (size_t i = 1; i < fields.size(); ++i) text.append(kSeparator).append(fields[i]);
  return text;
}

std::vector<PropertyRow> propertyRows(std::string_view property) {
  std::vector<PropertyRow> all;
  std::vector<std::string> algorithms;
  for (const auto& folder : std::filesystem::directory_iterator(ALGORITHM_TESTS))
    algorithms.push_back(folder.path().filename().string());
  std::sort(algorithms.begin(), algorithms.end());
  for (const std::string& algorithm : algorithms)
    for (const auto& fields : rowsOf(fileOf(algorithm)))
      if (fields[0] == property && fields.size() >= 3) all.push_back({algorithm, fields[1], {fields.begin() + 2, fields.end()}});
  return all;
}

bool saysWhyNot(std::string_view algorithm, std::string_view property) {
  constexpr size_t kSentence = 15;
  for (const auto& fields : rowsOf(fileOf(algorithm)))
    if (fields[0] == "no " + std::string(property) && fields.size() == 2 && fields[1].size() >= kSentence) return true;
  return false;
}

}  // namespace shiftconv::tests
