#include "conv/planner/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

#include "conv/planner/batch_invariance.hpp"
#include "conv/planner/correction.hpp"
#include "conv/planner/refusals.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/quoted.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::plan {
namespace {

/// `asked`: what the candidate was found with, so that choiceOf can search again.
Status makePlanOf(const Candidate& candidate, const Problem& problem, const device::Properties& properties,
                  const PlanOptions& asked, std::string choice, std::shared_ptr<const Plan>& plan) {
  auto made = std::make_shared<Plan>();
  made->problem = problem;
  made->properties = properties;
  made->algorithm = candidate.algorithm->name();
  made->options = candidate.options();
  made->estimate = candidate.estimate;
  made->askedAlgorithm = asked.algorithm;
  made->askedOptions = asked.options;
  made->askedBatchInvariant = asked.batchInvariant;
  made->askedConstantFilter = asked.constantFilter;
  made->askedNoWorkspace = asked.noWorkspace;
  made->choice = std::move(choice);
  if (Status status = candidate.complete(problem, properties, *made); !status.ok()) return status;
  plan = std::move(made);
  return {};
}

/// Leaves out, from `first` on, what needs a workspace, and says so where nothing remains.
std::string dropWorkspaces(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties, size_t first,
                           std::vector<Candidate>& candidates) {
  const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(first);
  const bool hadAny = from != candidates.end();
  const auto needsOne = [&](const Candidate& candidate) {
    std::shared_ptr<const Plan> plan;
    // A candidate that cannot be planned is reported by who wants to.
    return makePlanOf(candidate, problem, properties, {}, {}, plan).ok() && bytesOfRun(*plan)[TensorName::Workspace] != 0;
  };
  candidates.erase(std::remove_if(from, candidates.end(), needsOne), candidates.end());
  if (!hadAny || candidates.size() > first) return {};
  return fmt::format("{} needs a workspace for this problem, but no_workspace is set", algorithm.name());
}

/// The ways of an algorithm that accepts the problem, or its refusal after all.
std::string offer(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties,
                  const PlanOptions& asked, Candidates& candidates) {
  const size_t before = candidates.all.size();
  const Status status =
      algorithm.candidates(problem, properties, asked.constantFilter ? withConstantFilter(algorithm, "") : "", candidates.all);
  if (status.ok() && candidates.all.size() > before)
    return asked.noWorkspace ? dropWorkspaces(algorithm, problem, properties, before, candidates.all) : std::string();
  candidates.all.resize(before);
  candidates.defects.push_back(fmt::format("{} accepts {} on {}, but offers no plan: {}", algorithm.name(),
                                           shiftconv::describe(problem), properties.name, status.message()));
  return fmt::format("{} finds no plan: {}", algorithm.name(), status.message());
}

}  // namespace

std::string withConstantFilter(const Algorithm& algorithm, std::string_view options) {
  const std::span known = algorithm.options();
  const bool reads = std::any_of(known.begin(), known.end(), [](const OptionDescription& option) {
    return option.name == kFilterDependentOption.name && option.range == kFilterDependentOption.range;
  });
  OptionValues given;
  if (!reads || !OptionValues::parse(options, known, given).ok() || given.find(kFilterDependentOption.name))
    return std::string(options);
  return fmt::format("{}{}{}={}", options, options.empty() ? "" : ",", kFilterDependentOption.name, toString(Dependence::Filter));
}

size_t choose(std::span<const Candidate> candidates) {
  const auto isFaster = [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.isUntimed, a.estimate.seconds) < std::tuple(b.isUntimed, b.estimate.seconds);
  };
  const double fastest = std::min_element(candidates.begin(), candidates.end(), isFaster)->estimate.seconds;
  const auto rank = [&](const Candidate& candidate) {
    const bool tied = candidate.estimate.seconds <= fastest * (1 + kTieMargin);
    return std::tuple(candidate.isUntimed, !tied, candidate.unproven.size(), candidate.estimate.seconds, candidate.estimate.clocks);
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

Status collect(std::span<const Algorithm* const> algorithms, const Problem& problem, const device::Properties& properties,
               Candidates& candidates, RefusalTexts texts, const PlanOptions& asked) {
  constexpr size_t kUsual = 256;
  candidates.all.reserve(kUsual);
  Refusals refusals;
  for (const Algorithm* algorithm : algorithms) {
    if (texts == RefusalTexts::LeftOut && !algorithm->isBuiltFor(properties)) continue;
    std::string refusal = refusalOf(*algorithm, problem, properties);
    if (refusal.empty()) {
      // Last in the table, so that all others have been asked.
      if (algorithm->isLastResort() && !candidates.all.empty()) continue;
      refusal = offer(*algorithm, problem, properties, asked, candidates);
      if (refusal.empty()) continue;
    }
    if (texts == RefusalTexts::Made)
      refusals.add(algorithm->name(), refusal, algorithm->isBuiltFor(properties), algorithm->isLastResort());
  }
  if (texts == RefusalTexts::LeftOut) {
    if (!candidates.all.empty()) return {};
    candidates.defects.clear();
    return collect(algorithms, problem, properties, candidates, RefusalTexts::Made, asked);
  }
  candidates.refusals = refusals.lines();
  if (!candidates.all.empty()) return {};
  return {StatusCode::Unsupported, fmt::format("no algorithm can run {}: {}", shiftconv::describe(problem), refusals.sentence())};
}

Status findCandidates(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                      Candidates& candidates, RefusalTexts texts) {
  if (Status status = validate(problem); !status.ok()) return status;
  if (options.algorithm.empty() && !options.options.empty())
    return {StatusCode::InvalidArgument,
            fmt::format("options {} belong to an algorithm, but algorithm is not set", quoted(options.options))};
  if (options.batchInvariant) {
    PlanOptions usual = options;
    usual.batchInvariant = false;
    const Search search = [&](const Problem& one, Candidates& found) {
      return findCandidates(one, properties, usual, found, texts);
    };
    candidates.asked = options;
    Status status = findBatchInvariant(problem, properties, search, options.constantFilter, candidates);
    if (!status.ok() || !options.noWorkspace) return status;
    if (std::string refusal = dropWorkspaces(*candidates.all.front().algorithm, problem, properties, 0, candidates.all);
        !refusal.empty())
      return {StatusCode::Unsupported, refusal};
    candidates.best = choose(candidates.all);
    return {};
  }
  if (options.algorithm.empty()) {
    if (Status status = collect(algorithms(), problem, properties, candidates, texts, options); !status.ok()) return status;
  } else {
    const Algorithm* algorithm = nullptr;
    if (Status status = findAlgorithm(options.algorithm, algorithm); !status.ok()) return status;
    if (std::string refusal = refusalOf(*algorithm, problem, properties); !refusal.empty())
      return {StatusCode::Unsupported, refusal};
    if (options.options.empty()) {
      if (std::string refusal = offer(*algorithm, problem, properties, options, candidates); !refusal.empty())
        return {StatusCode::Unsupported, refusal};
    } else if (Status status = algorithm->candidates(
                   problem, properties, options.constantFilter ? withConstantFilter(*algorithm, options.options) : options.options,
                   candidates.all);
               !status.ok()) {
      return status;
    } else if (options.noWorkspace) {
      if (std::string refusal = dropWorkspaces(*algorithm, problem, properties, 0, candidates.all); !refusal.empty())
        return {StatusCode::Unsupported, refusal};
    }
  }
  correct(problem, properties, candidates.all);
  candidates.best = choose(candidates.all);
  candidates.asked = options;
  return {};
}

Status candidateOf(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties,
                   std::string_view options, Candidate& candidate) {
  std::vector<Candidate> found;
  if (Status status = algorithm.candidates(problem, properties, options, found); !status.ok()) return status;
  const auto exact = std::find_if(found.begin(), found.end(), [&](const Candidate& one) { return one.options() == options; });
  candidate = std::move(exact == found.end() ? found.front() : *exact);
  return {};
}

Status makePlan(const Problem& problem, const device::Properties& properties, const Candidate& candidate, std::string choice,
                std::shared_ptr<const Plan>& plan) {
  return makePlanOf(candidate, problem, properties, {}, std::move(choice), plan);
}

std::string choiceOf(const Plan& plan) {
  if (!plan.choice.empty()) return plan.choice;
  Candidates candidates;
  const PlanOptions asked{plan.askedAlgorithm,      plan.askedOptions,        0,
                          plan.askedConstantFilter, plan.askedBatchInvariant, plan.askedNoWorkspace};
  if (!findCandidates(plan.problem, plan.properties, asked, candidates).ok()) return {};  // it was found once, so it is again
  for (size_t i = 0; i < candidates.all.size(); ++i)
    if (candidates.all[i].algorithm->name() == plan.algorithm && candidates.all[i].options() == plan.options) candidates.best = i;
  std::string text;
  for (const size_t i : candidates.byEstimate())
    text += fmt::format("{} {}\n", i == candidates.best ? "chosen    " : "candidate ", describe(candidates.all[i]));
  const Roofline roofline = rooflineOf(plan.problem, plan.properties);
  return text + candidates.refusals +
         fmt::format(
             "roofline   {:.2f} us for the products on tensor cores, {:.2f} us for every tensor once through device memory\n",
             roofline.products * 1e6, roofline.memory * 1e6);
}

namespace {

/// Why a plan is not what was asked for: launches with more CTAs than it may occupy multiprocessors.
std::string limitRefusal(const Plan& plan, uint32_t multiprocessors) {
  if (multiprocessors == 0) return {};
  for (const PlannedLaunch& launch : plan.launches)
    if (launch.config.grid.count() > multiprocessors)
      return fmt::format("{} has {} CTAs, but multiprocessors is limited to {}", launch.kernel, launch.config.grid.count(),
                         multiprocessors);
  return {};
}

}  // namespace

Status planBest(const Problem& problem, const device::Properties& properties, Candidates& candidates,
                std::shared_ptr<const Plan>& plan) {
  Status first;
  const auto planned = [&](size_t i) {
    candidates.best = i;
    std::shared_ptr<const Plan> made;
    Status status = makePlanOf(candidates.all[i], problem, properties, candidates.asked, {}, made);
    if (status.ok()) {
      std::string refused = limitRefusal(*made, candidates.asked.multiprocessors);
      if (refused.empty()) {
        plan = std::move(made);
        return true;
      }
      if (first.ok()) first = {StatusCode::Unsupported, std::move(refused)};
      return false;
    }
    candidates.defects.push_back(fmt::format("{} {} of {} on {} cannot be planned: {}", candidates.all[i].algorithm->name(),
                                             candidates.all[i].options(), shiftconv::describe(problem), properties.name,
                                             status.message()));
    if (first.ok()) first = {StatusCode::Unsupported, status.message()};
    return false;
  };
  if (planned(candidates.best)) return {};
  // The others are put in order only now, which few searches need.
  const std::vector<size_t> order = candidates.byEstimate();
  for (const size_t i : std::span(order).subspan(1))
    if (planned(i)) return {};
  return first;
}

Status makePlan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                std::shared_ptr<const Plan>& plan, std::vector<std::string>* notes) {
  Candidates candidates;
  device::Properties limited = properties;
  if (options.multiprocessors != 0) limited.multiprocessors = std::min(limited.multiprocessors, options.multiprocessors);
  Status status = findCandidates(problem, limited, options, candidates, RefusalTexts::LeftOut);
  if (status.ok()) status = planBest(problem, limited, candidates, plan);
  if (notes != nullptr) notes->insert(notes->end(), candidates.defects.begin(), candidates.defects.end());
  return status;
}

}  // namespace shiftconv::plan
