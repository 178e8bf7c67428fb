#include "tests/hazards/mutation/sites.hpp"

#include <cctype>
#include <fstream>
#include <string_view>
#include <vector>

namespace shiftconv::tests {
namespace {

constexpr std::string_view kMark = "site: ";

/// Without comment and blanks after it.
std::string_view codeOf(std::string_view line) {
  line = line.substr(0, line.find("//"));
  return line.substr(0, line.find_last_not_of(" \t") + 1);
}

/// The name at the end of a line; "" without one.
std::string_view markOf(std::string_view line) {
  const size_t comment = line.find("//");
  const size_t at = comment == std::string_view::npos ? comment : line.rfind(kMark);
  if (at == std::string_view::npos || at < comment) return {};
  const std::string_view name = line.substr(at + kMark.size());
  return name.find(' ') == std::string_view::npos ? name : std::string_view();
}

/// Whether a statement goes on after this line, as tests/edited_copy/edited_copy.py has it.
bool continues(std::string_view code) {
  const std::string_view text = code.substr(std::min(code.find_first_not_of(" \t"), code.size()));
  return !text.empty() && text[0] != '#' && std::string_view(";{}:").find(text.back()) == std::string_view::npos;
}

std::map<uint32_t, std::string> sitesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::map<uint32_t, std::string> sites;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view name = markOf(lines[i]);
    if (name.empty()) continue;
    for (size_t line = i;; --line) {
      sites.emplace(static_cast<uint32_t>(line) + 1, name);
      if (line == 0 || !std::isspace(static_cast<unsigned char>(lines[line][0])) || !continues(codeOf(lines[line - 1]))) break;
    }
  }
  return sites;
}

}  // namespace

std::string Sites::at(const SourcePositions& positions, uint32_t ptxLine) {
  std::string names;
  for (const auto& [path, line] : positions.linesAt(ptxLine)) {
    const auto known = files_.find(path);
    const SiteByLine& sites = known != files_.end() ? known->second : files_.emplace(path, sitesOf(path)).first->second;
    const auto site = sites.find(line);
    if (site != sites.end()) names += (names.empty() ? "" : "/") + site->second;
  }
  return names;
}

}  // namespace shiftconv::tests
