#include "conv/planner/batch_invariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "conv/plan/inner_plan.hpp"
#include "conv/planner/correction.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::plan {
namespace {

/// Options of any algorithm that say which CTA computes what and when, and nothing of how an output is summed.
constexpr std::array<std::string_view, 4> kSpreading{"clusters", "ctas", "dependent", "tile_images"};

/// The options of a candidate that the sums depend on. A wrapper has its inner plan chosen in the same way.
std::string pinned(const Candidate& candidate) {
  const std::string all = candidate.options();
  OptionText kept;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find(',', begin), all.size());
    const std::string_view item = std::string_view(all).substr(begin, end - begin);
    const std::string_view name = item.substr(0, item.find('='));
    if (std::find(kSpreading.begin(), kSpreading.end(), name) == kSpreading.end() && name != kBatchInvariantOption.name)
      kept.add(name, item.substr(std::min(name.size() + 1, item.size())));
    begin = end + 1;
  }
  if (!candidate.algorithm->accumulation()) kept.add(kBatchInvariantOption.name, "yes");
  return kept.text();
}

Status candidatesOf(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties,
                    const std::string& options, std::vector<Candidate>& candidates) {
  if (std::string refusal = refusalOf(algorithm, problem, properties); !refusal.empty())
    return {StatusCode::Unsupported, std::move(refusal)};
  return algorithm.candidates(problem, properties, options, candidates);
}

}  // namespace

Status findBatchInvariant(const Problem& problem, const device::Properties& properties, const Search& search, bool constantFilter,
                          Candidates& candidates) {
  // What is chosen here must follow from everything but n. So an algorithm for a few images only is passed over by what it says
  // about a number that is always the same.
  constexpr int64_t kMany = 64;
  Problem one = problem, many = problem;
  one.n = 1, many.n = kMany;
  Candidates ofOne;
  if (Status status = search(one, ofOne); !status.ok()) return status;
  const bool hasMany = validate(many).ok();
  const std::vector<size_t> order = ofOne.byEstimate();
  const auto takesMany = [&](size_t i) {
    std::vector<Candidate> found;
    return candidatesOf(*ofOne.all[i].algorithm, many, properties, pinned(ofOne.all[i]), found).ok();
  };
  auto chosen = hasMany ? std::find_if(order.begin(), order.end(), takesMany) : order.begin();
  if (chosen == order.end()) chosen = order.begin();
  const Candidate& pattern = ofOne.all[*chosen];
  const std::string options = constantFilter ? withConstantFilter(*pattern.algorithm, pinned(pattern)) : pinned(pattern);
  if (Status status = candidatesOf(*pattern.algorithm, problem, properties, options, candidates.all); !status.ok())
    return {StatusCode::Unsupported, fmt::format("batch_invariant takes {} {} for this problem whatever n is, but n is {}: {}",
                                                 pattern.algorithm->name(), options, problem.n, status.message())};
  correct(problem, properties, candidates.all);
  candidates.best = choose(candidates.all);
  candidates.refusals = std::move(ofOne.refusals);
  candidates.defects = std::move(ofOne.defects);
  return {};
}

}  // namespace shiftconv::plan
