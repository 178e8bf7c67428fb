#include "conv/planner/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "conv/algorithms/registry.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::plan {
namespace {

/// The winner first, then the others by their estimates, then the refusals.
std::string describeChoice(const Candidates& candidates) {
  std::string text;
  for (const size_t i : candidates.byEstimate())
    text += fmt::format("{} {}\n", i == candidates.best ? "chosen    " : "candidate ", describe(candidates.all[i]));
  return text + candidates.refusals;
}

/// Candidates of the algorithms that accept the problem; a line for each that does not.
Status collect(const Problem& problem, const device::Properties& properties, std::vector<Candidate>& candidates,
               std::string& refusals) {
  std::string reasons;
  for (const Algorithm* algorithm : algorithms()) {
    const std::string refusal = algorithm->refusal(problem, properties);
    if (refusal.empty()) {
      // Last in the table, so that all others have been asked.
      if (algorithm->isLastResort() && !candidates.empty()) continue;
      if (Status status = algorithm->candidates(problem, properties, {}, candidates); !status.ok()) return status;
      continue;
    }
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", refusal);
    refusals += fmt::format("refused    {}\n", refusal);
  }
  if (!candidates.empty()) return {};
  return {StatusCode::Unsupported, fmt::format("no algorithm can run {}: {}", shiftconv::describe(problem), reasons)};
}

}  // namespace

size_t choose(std::span<const Candidate> candidates) {
  double fastest = candidates[0].estimate.seconds;
  for (const Candidate& candidate : candidates) fastest = std::min(fastest, candidate.estimate.seconds);
  const auto rank = [&](const Candidate& candidate) {
    const bool tied = candidate.estimate.seconds <= fastest * (1 + kTieMargin);
    return std::tuple(!tied, candidate.unproven.size(), candidate.estimate.seconds, candidate.estimate.clocks);
  };
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  return static_cast<size_t>(best - candidates.begin());
}

std::vector<size_t> Candidates::byEstimate() const {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(a != best, all[a].estimate.seconds, all[a].estimate.clocks) <
           std::tuple(b != best, all[b].estimate.seconds, all[b].estimate.clocks);
  });
  return order;
}

Status findCandidates(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                      Candidates& candidates) {
  if (Status status = validate(problem); !status.ok()) return status;
  if (options.algorithm.empty() && !options.options.empty())
    return {StatusCode::InvalidArgument,
            fmt::format("options \"{}\" belong to an algorithm, but algorithm is not set", options.options)};
  if (options.algorithm.empty()) {
    if (Status status = collect(problem, properties, candidates.all, candidates.refusals); !status.ok()) return status;
  } else {
    const Algorithm* algorithm = nullptr;
    if (Status status = findAlgorithm(options.algorithm, algorithm); !status.ok()) return status;
    if (std::string refusal = algorithm->refusal(problem, properties); !refusal.empty()) return {StatusCode::Unsupported, refusal};
    if (Status status = algorithm->candidates(problem, properties, options.options, candidates.all); !status.ok()) return status;
  }
  candidates.best = choose(candidates.all);
  return {};
}

Status makePlan(const Problem& problem, const device::Properties& properties, const Candidate& candidate, std::string choice,
                std::shared_ptr<const Plan>& plan) {
  auto made = std::make_shared<Plan>();
  made->problem = problem;
  made->computeMajor = properties.computeMajor;
  made->computeMinor = properties.computeMinor;
  made->algorithm = candidate.algorithm->name();
  made->options = candidate.options;
  made->estimate = candidate.estimate;
  made->choice = std::move(choice);
  if (Status status = candidate.algorithm->plan(problem, properties, candidate.options, *made); !status.ok()) return status;
  plan = std::move(made);
  return {};
}

Status makePlan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                std::shared_ptr<const Plan>& plan) {
  Candidates candidates;
  if (Status status = findCandidates(problem, properties, options, candidates); !status.ok()) return status;
  return makePlan(problem, properties, candidates.all[candidates.best], describeChoice(candidates), plan);
}

}  // namespace shiftconv::plan
