// Text files with a table: one row a line, fields separated by " | ". Empty lines and lines that start with '#' are skipped.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace shiftconv::tests {

struct TableRow {
  size_t line = 0;  ///< in the file, 1-based
  std::vector<std::string> fields;
};

/// Throws std::runtime_error naming file and line when a row has none of these numbers of fields.
std::vector<TableRow> readTable(const std::string& path, std::initializer_list<size_t> fields);

}  // namespace shiftconv::tests
