#include "conv/planner/inner_search.hpp"

#include <utility>

#include "conv/planner/batch_invariance.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/correction.hpp"
#include "conv/planner/registry.hpp"

namespace shiftconv::plan {
namespace {

class RegistrySearch final : public InnerSearch {
 public:
  std::span<const Algorithm* const> algorithms() const override { return plan::algorithms(); }
  Status find(std::string_view name, const Algorithm*& algorithm) const override { return findAlgorithm(name, algorithm); }

  Status best(const Problem& problem, const device::Properties& properties, std::string_view algorithm, bool isBatchInvariant,
              Candidate& candidate) const override {
    PlanOptions asked;
    asked.algorithm = algorithm;
    asked.batchInvariant = isBatchInvariant;
    Candidates candidates;
    if (Status status = findCandidates(problem, properties, asked, candidates, RefusalTexts::LeftOut); !status.ok()) return status;
    candidate = std::move(candidates.all[candidates.best]);
    return {};
  }

  Status bestAmong(std::span<const Algorithm* const> among, const Problem& problem, const device::Properties& properties,
                   bool isBatchInvariant, Candidate& candidate) const override {
    const Search search = [&](const Problem& one, Candidates& found) -> Status {
      if (Status status = collect(among, one, properties, found, RefusalTexts::LeftOut); !status.ok()) return status;
      correct(one, properties, found.all);
      found.best = choose(found.all);
      return {};
    };
    Candidates candidates;
    Status found =
        isBatchInvariant ? findBatchInvariant(problem, properties, search, false, candidates) : search(problem, candidates);
    if (!found.ok()) return found;
    candidate = std::move(candidates.all[candidates.best]);
    return {};
  }
};

}  // namespace

const InnerSearch& innerSearch() {
  static const RegistrySearch search;
  return search;
}

}  // namespace shiftconv::plan
