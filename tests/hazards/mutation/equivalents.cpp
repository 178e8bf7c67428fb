#include "tests/hazards/mutation/equivalents.hpp"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

namespace shiftconv::tests {
namespace {

/// '*' in the pattern stands for any text, '?' for one character.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*')
    return !text.empty() && (text[0] == pattern[0] || pattern[0] == '?') && matches(pattern.substr(1), text.substr(1));
  for (size_t skip = 0; skip <= text.size(); ++skip)
    if (matches(pattern.substr(1), text.substr(skip))) return true;
  return false;
}

std::vector<std::string> fieldsOf(std::string_view line) {
  constexpr std::string_view kSeparator = " | ";
  std::vector<std::string> fields;
  for (size_t end; (end = line.find(kSeparator)) != std::string_view::npos; line.remove_prefix(end + kSeparator.size()))
    fields.emplace_back(line.substr(0, end));
  fields.emplace_back(line);
  return fields;
}

}  // namespace

Equivalents::Equivalents(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> fields = fieldsOf(line);
    if (fields.size() != 5)
      throw std::runtime_error(fmt::format("{}:{}: expected kernel | source | instruction | change | proof", path, number));
    entries_.push_back({fields[0], fields[1], fields[2], fields[3], fields[4], number});
  }
}

const Equivalent* Equivalents::find(const Mutation& mutation) const {
  for (const Equivalent& entry : entries_)
    if (matches(entry.kernel, mutation.kernel) && matches(entry.source, mutation.source) &&
        matches(entry.instruction, mutation.instruction) && matches(entry.change, toString(mutation.change)))
      return &entry;
  return nullptr;
}

}  // namespace shiftconv::tests
