#include "conv/plan/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "conv/problem/quoted.hpp"

namespace shiftconv::plan {
namespace {

constexpr size_t kWidestColumn = 40;  // longer ranges push their meaning to the right

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string describe(std::span<const OptionDescription> options) {
  size_t name = 0, range = 0;
  for (const OptionDescription& option : options) {
    name = std::max(name, option.name.size());
    if (option.range.size() <= kWidestColumn) range = std::max(range, option.range.size());
  }
  std::string text;
  for (const OptionDescription& option : options)
    text += fmt::format("{:<{}}  {:<{}}  {}\n", option.name, name, option.range, range, option.meaning);
  return text;
}

Status OptionValues::parse(std::string_view text, std::span<const OptionDescription> known, OptionValues& values) {
  OptionValues parsed;
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = item.find('=');
    const std::string_view name = trimmed(item.substr(0, equals));
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : trimmed(item.substr(equals + 1));
    if (name.empty() || value.empty())
      return invalid(fmt::format("options must read name=value,name=value, but {} is not of that form", quoted(item)));
    if (std::none_of(known.begin(), known.end(), [&](const OptionDescription& option) { return option.name == name; })) {
      std::string names;
      for (const OptionDescription& option : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", option.name);
      return {StatusCode::NotFound, fmt::format("there is no option {}; known are {}", quoted(name), names)};
    }
    if (!parsed.values_.emplace(name, value).second) return invalid(fmt::format("option {} is set twice", name));
  }
  values = std::move(parsed);
  return {};
}

std::optional<std::string_view> OptionValues::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

Status OptionValues::number(std::string_view name, uint32_t low, uint32_t high, uint32_t step,
                            std::optional<uint32_t>& value) const {
  const auto text = find(name);
  if (!text) return {};
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < low || number > high || number % step != 0)
    return invalid(fmt::format("option {} must be {}from {} to {}, but is {}", name,
                               step == 1 ? "a number " : fmt::format("a multiple of {} ", step), low, high, quoted(*text)));
  value = number;
  return {};
}

Status OptionValues::choice(std::string_view name, std::span<const std::string_view> choices, std::optional<size_t>& value) const {
  const auto text = find(name);
  if (!text) return {};
  std::string list;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == *text) {
      value = i;
      return {};
    }
    list += fmt::format("{}{}", i ? ", " : "", choices[i]);
  }
  return invalid(fmt::format("option {} must be one of {}, but is {}", name, list, quoted(*text)));
}

Status OptionValues::flag(std::string_view name, std::optional<bool>& value) const {
  static constexpr std::array<std::string_view, 2> kWords{"no", "yes"};
  std::optional<size_t> index;
  if (Status status = choice(name, kWords, index); !status.ok()) return status;
  if (index) value = *index == 1;
  return {};
}

OptionText& OptionText::add(std::string_view name, int64_t value) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return add(name, std::string_view(digits.data(), static_cast<size_t>(end - digits.data())));
}

Status OptionValues::dependent(bool& value) const {
  std::optional<bool> choice;
  if (Status status = flag(kDependentOption.name, choice); !status.ok()) return status;
  value = choice.value_or(true);
  return {};
}

Status OptionValues::dependent(Dependence& value) const {
  static constexpr std::array kValues{Dependence::None, Dependence::Launch, Dependence::Filter};
  static constexpr std::array kWords{toString(kValues[0]), toString(kValues[1]), toString(kValues[2])};
  std::optional<size_t> index;
  if (Status status = choice(kFilterDependentOption.name, kWords, index); !status.ok()) return status;
  value = index ? kValues[*index] : Dependence::Launch;
  return {};
}

Status readDependent(std::string_view text, bool& dependent) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, {&kDependentOption, 1}, values); !status.ok()) return status;
  return values.dependent(dependent);
}

}  // namespace shiftconv::plan
