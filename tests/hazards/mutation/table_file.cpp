#include "tests/hazards/mutation/table_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace shiftconv::tests {

std::vector<TableRow> readTable(const std::string& path, std::initializer_list<size_t> fields) {
  constexpr std::string_view kSeparator = " | ";
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  std::vector<TableRow> rows;
  std::string text;
  for (size_t line = 1; std::getline(file, text); ++line) {
    if (text.empty() || text[0] == '#') continue;
    TableRow row{line, {}};
    std::string_view rest = text;
    for (size_t end; (end = rest.find(kSeparator)) != std::string_view::npos; rest.remove_prefix(end + kSeparator.size()))
      row.fields.emplace_back(rest.substr(0, end));
    row.fields.emplace_back(rest);
    if (std::find(fields.begin(), fields.end(), row.fields.size()) == fields.end())
      throw std::runtime_error(
          fmt::format("{}:{}: expected {} fields, found {}", path, line, fmt::join(fields, " or "), row.fields.size()));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace shiftconv::tests
