#include "common/emulator/isa/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace shiftconv::emulator::isa {

Pattern::Pattern(std::string_view syntax) {
  const auto malformed = [&] { throw std::logic_error(fmt::format("malformed instruction pattern '{}'", syntax)); };
  size_t at = std::min(syntax.find_first_of(".{"), syntax.size());
  opcode_ = syntax.substr(0, at);
  if (opcode_.empty()) malformed();
  while (at < syntax.size()) {
    Group group;
    group.optional = syntax[at] == '{';
    if (group.optional) ++at;
    if (at >= syntax.size() || syntax[at] != '.') malformed();
    ++at;
    const bool list = at < syntax.size() && syntax[at] == '(';
    const size_t begin = at + (list ? 1 : 0);
    size_t end = syntax.find_first_of(list ? ")" : ".{}", begin);
    if (end == std::string_view::npos) end = syntax.size();
    std::string_view names = syntax.substr(begin, end - begin);
    at = end;
    if (list) {
      if (at >= syntax.size()) malformed();
      ++at;
    }
    while (!names.empty()) {
      const size_t bar = std::min(names.find('|'), names.size());
      if (bar == 0) malformed();
      group.alternatives.push_back(names.substr(0, bar));
      names.remove_prefix(std::min(bar + 1, names.size()));
    }
    if (group.alternatives.empty()) malformed();
    if (group.optional) {
      if (at >= syntax.size() || syntax[at] != '}') malformed();
      ++at;
    }
    groups_.push_back(std::move(group));
  }
}

std::string_view Pattern::Group::find(std::string_view modifier) const {
  for (std::string_view alternative : alternatives)
    if (alternative == modifier) return alternative;
  return {};
}

bool Pattern::matchOrdered(const std::vector<std::string>& modifiers, FormMatch& match) const {
  if (modifiers.size() > groups_.size()) return false;
  match.groups_.assign(groups_.size(), {});
  return matchFrom(0, 0, modifiers, match);
}

bool Pattern::matchFrom(size_t group, size_t modifier, const std::vector<std::string>& modifiers, FormMatch& match) const {
  if (group == groups_.size()) return modifier == modifiers.size();
  if (modifier < modifiers.size()) {
    match.groups_[group] = groups_[group].find(modifiers[modifier]);
    if (!match.groups_[group].empty() && matchFrom(group + 1, modifier + 1, modifiers, match)) return true;
  }
  match.groups_[group] = {};
  return groups_[group].optional && matchFrom(group + 1, modifier, modifiers, match);
}

bool Pattern::matchUnordered(const std::vector<std::string>& modifiers, FormMatch& match) const {
  if (modifiers.size() > groups_.size()) return false;
  match.groups_.assign(groups_.size(), {});
  std::vector<bool> used(modifiers.size());
  for (size_t group = 0; group < groups_.size(); ++group) {
    for (size_t i = 0; i < modifiers.size() && match.groups_[group].empty(); ++i) {
      if (used[i]) continue;
      match.groups_[group] = groups_[group].find(modifiers[i]);
      used[i] = !match.groups_[group].empty();
    }
    if (match.groups_[group].empty() && !groups_[group].optional) return false;
  }
  return std::find(used.begin(), used.end(), false) == used.end();
}

bool FormMatch::has(std::string_view modifier) const {
  return std::find(groups_.begin(), groups_.end(), modifier) != groups_.end();
}

ptx::ScalarType FormMatch::type() const {
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group)
    if (const auto type = ptx::scalarType(*group)) return *type;
  return ptx::ScalarType::None;
}

bool matches(std::string_view syntax, const ptx::Instruction& instruction, FormMatch& match) {
  const Pattern pattern(syntax);
  return pattern.opcode() == instruction.opcode && pattern.matchOrdered(instruction.modifiers, match);
}

}  // namespace shiftconv::emulator::isa
