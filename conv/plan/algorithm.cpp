#include "conv/plan/algorithm.hpp"

#include <fmt/format.h>

namespace shiftconv::plan {

std::string refusalOf(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties) {
  if (problem.transposed && !algorithm.takesTransposed())
    return fmt::format("{} computes no transposed convolution (phases plans one as several ordinary ones)", algorithm.name());
  return algorithm.refusal(problem, properties);
}

std::string describe(const Candidate& candidate) {
  std::string unproven;
  for (const std::string_view id : candidate.unproven) unproven += fmt::format(" {}", id);
  return fmt::format("{} {}: {}{}{}", candidate.algorithm->name(), candidate.options(), plan::describe(candidate.estimate),
                     unproven.empty() ? "" : ", unproven", unproven);
}

}  // namespace shiftconv::plan
