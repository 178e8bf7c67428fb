#include "conv/plan/algorithm.hpp"

#include <fmt/format.h>

#include <array>

#include "conv/plan/problem_checks.hpp"
#include "conv/plan/shift_window_algorithm.hpp"

namespace shiftconv::plan {

std::span<const Algorithm* const> algorithms() {
  static const std::array<const Algorithm*, 1> table{&shiftWindowAlgorithm()};
  return table;
}

const Algorithm* findAlgorithm(std::string_view name, std::string& known) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->name() == name) return algorithm;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", algorithm->name());
  }
  return nullptr;
}

Status makePlan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                std::shared_ptr<const Plan>& plan) {
  if (Status status = validate(problem); !status.ok()) return status;
  if (!options.algorithm.empty()) {
    std::string known;
    const Algorithm* algorithm = findAlgorithm(options.algorithm, known);
    if (!algorithm)
      return {StatusCode::NotFound, fmt::format("there is no algorithm \"{}\"; known are {}", options.algorithm, known)};
    if (std::string refusal = algorithm->refusal(problem, properties); !refusal.empty()) return {StatusCode::Unsupported, refusal};
    return algorithm->plan(problem, properties, options, plan);
  }
  std::string reasons;
  for (const Algorithm* algorithm : algorithms()) {
    const std::string refusal = algorithm->refusal(problem, properties);
    if (refusal.empty()) return algorithm->plan(problem, properties, options, plan);
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", refusal);
  }
  return {StatusCode::Unsupported, fmt::format("no algorithm can run {}: {}", describe(problem), reasons)};
}

}  // namespace shiftconv::plan
