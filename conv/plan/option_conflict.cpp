#include "conv/plan/option_conflict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shiftconv::plan {
namespace {

constexpr size_t kMostValues = 8;  // that the sentence lists

using Setting = std::pair<std::string, std::string>;  // name, value

std::vector<Setting> settingsOf(std::string_view text) {
  std::vector<Setting> settings;
  const auto trimmed = [](std::string_view part) {
    const size_t first = part.find_first_not_of(' ');
    if (first == std::string_view::npos) return std::string();
    return std::string(part.substr(first, part.find_last_not_of(' ') + 1 - first));
  };
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals != std::string_view::npos) settings.emplace_back(trimmed(item.substr(0, equals)), trimmed(item.substr(equals + 1)));
  }
  return settings;
}

std::string join(const std::vector<Setting>& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

/// "1, 2 or 4"
std::string alternatives(const std::vector<std::string>& values) {
  const size_t shown = std::min(values.size(), kMostValues);
  std::string text;
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + values[i];
  return shown < values.size() ? fmt::format("{} or one of {} others", text, values.size() - shown) : text;
}

}  // namespace

std::string noPlanWith(std::string_view algorithm, std::string_view options, const PlansWith& plansWith) {
  const std::vector<Setting> asked = settingsOf(options);
  const std::string start = fmt::format("{} has no plan of this problem with {}", algorithm, join(asked));
  for (size_t left = 0; left < asked.size(); ++left) {
    std::vector<Setting> others = asked;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left));
    std::vector<std::string> values;
    for (const std::string& plan : plansWith(join(others)))
      for (const auto& [name, value] : settingsOf(plan))
        if (name == asked[left].first && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    if (!values.empty())
      return fmt::format("{}: {} must be {}{}", start, asked[left].first, alternatives(values),
                         others.empty() ? "" : " with " + join(others));
  }
  const std::vector<std::string> any = plansWith("");
  return any.empty() ? start : fmt::format("{}, nor without one of them; it has {}", start, any.front());
}

}  // namespace shiftconv::plan
