#include "conv/planner/refusals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace shiftconv::plan {

std::string Refusals::Reason::describe() const {
  const std::span others(algorithms.data(), algorithms.size() - 1);
  return fmt::format("{}{}{}", algorithms.back(), text,
                     others.empty() ? "" : fmt::format(" (likewise {})", fmt::join(others, ", ")));
}

void Refusals::add(std::string_view algorithm, std::string_view sentence, bool isBuilt, bool isLastResort) {
  const std::string_view text = sentence.substr(sentence.starts_with(algorithm) ? algorithm.size() : 0);
  auto found = std::find_if(reasons_.begin(), reasons_.end(), [&](const Reason& reason) { return reason.text == text; });
  if (found == reasons_.end()) found = reasons_.insert(found, {std::string(text), {}, isBuilt, false});
  found->algorithms.emplace_back(algorithm);
  found->isLastResort |= isLastResort;
}

std::string Refusals::lines() const {
  std::string lines;
  for (const Reason& reason : reasons_) lines += fmt::format("refused    {}\n", reason.describe());
  return lines;
}

std::vector<const Refusals::Reason*> Refusals::decisive() const {
  size_t most = 1;
  for (const Reason& reason : reasons_)
    if (reason.isBuilt) most = std::max(most, reason.algorithms.size());
  std::vector<const Reason*> first;
  for (const Reason& reason : reasons_)
    if (reason.isBuilt && first.empty() && most > 1 && reason.algorithms.size() == most) first.push_back(&reason);
  for (const Reason& reason : reasons_)
    if (reason.isLastResort && std::find(first.begin(), first.end(), &reason) == first.end()) first.push_back(&reason);
  if (first.empty()) first.push_back(&reasons_.front());
  return first;
}

std::string Refusals::sentence() const {
  const std::vector<const Reason*> first = decisive();
  std::string text;
  for (const Reason* reason : first) text += fmt::format("{}{}", text.empty() ? "" : "; ", reason->describe());
  size_t others = 0, notBuilt = 0;
  for (const Reason& reason : reasons_)
    if (std::find(first.begin(), first.end(), &reason) == first.end())
      (reason.isBuilt ? others : notBuilt) += reason.algorithms.size();
  if (others != 0) text += fmt::format("; {} other{} for reasons that shiftconv_support names", others, others == 1 ? "" : "s");
  if (notBuilt != 0) text += fmt::format("; {} {} for other compute capabilities", notBuilt, notBuilt == 1 ? "is" : "are");
  return text;
}

}  // namespace shiftconv::plan
