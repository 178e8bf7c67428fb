#include "common/emulator/semantics_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace shiftconv::emulator {

SemanticsReport readSemanticsReport(const std::string& path) {
  SemanticsReport result;
  std::ifstream file(path);
  std::error_code none;
  if (!file || std::filesystem::is_directory(path, none)) {
    result.problem = fmt::format("cannot read {}", path);
    result.unreadable = true;
    return result;
  }
  const nlohmann::json report = nlohmann::json::parse(file, nullptr, false);
  if (!report.is_object() || !report.contains("semantics") || !report["semantics"].is_object()) {
    result.problem = fmt::format("{} is no JSON object with an object \"semantics\" in it", path);
    return result;
  }
  for (const auto& [id, choice] : report["semantics"].items())
    result.choices[id] = choice.is_string() ? choice.get<std::string>() : choice.dump();
  return result;
}

}  // namespace shiftconv::emulator
