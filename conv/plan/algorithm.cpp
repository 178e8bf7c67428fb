#include "conv/plan/algorithm.hpp"

#include <fmt/format.h>

namespace shiftconv::plan {

std::string describe(const Candidate& candidate) {
  std::string unproven;
  for (const std::string_view id : candidate.unproven) unproven += fmt::format(" {}", id);
  return fmt::format("{} {}: {}{}{}", candidate.algorithm->name(), candidate.options, plan::describe(candidate.estimate),
                     unproven.empty() ? "" : ", unproven", unproven);
}

}  // namespace shiftconv::plan
