#include "conv/plan/copying_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "conv/plan/inner_plan.hpp"
#include "conv/plan/targets.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::plan {
namespace {

struct Choice {
  Candidate inner;
  std::string options;  ///< that the algorithm was asked with
};

}  // namespace

std::array<OptionDescription, 2> copyingOptions(std::string_view names, std::string_view meaning) {
  return {{{"algorithm", names, meaning}, kBatchInvariantOption}};
}

bool CopyingAlgorithm::isBuiltFor(const device::Properties& properties) const { return isHopperOrBlackwell(properties); }

std::string CopyingAlgorithm::refusal(const Problem& problem, const device::Properties& properties) const {
  if (std::string refused = targetRefusal(name(), properties); !refused.empty()) return refused;
  if (std::string refused = copyingRefusal(problem, properties); !refused.empty()) return refused;
  // Whether any accepts takes less time to find out than which is the best, and is enough.
  const Problem inner = problemOfCopies(problem);
  const std::span all = search_.algorithms();
  if (validate(inner).ok() && std::any_of(all.begin(), all.end(), [&](const Algorithm* one) {
        return one->isBuiltFor(properties) && refusalOf(*one, inner, properties).empty();
      }))
    return {};
  Candidate best;
  if (Status status = bestInner(search_, name(), options(), {}, inner, properties, best); !status.ok())
    return fmt::format("{} needs an algorithm for {}: {}", name(), ofCopies(), status.message());
  return {};
}

Status CopyingAlgorithm::candidates(const Problem& problem, const device::Properties& properties, std::string_view asked,
                                    std::vector<Candidate>& candidates) const {
  Candidate best;
  if (Status status = bestInner(search_, name(), options(), asked, problemOfCopies(problem), properties, best); !status.ok())
    return status;
  const Copying copies = copying(problem);
  const Rates& rates = ratesOf(properties);
  const double launchClocks = copies.launchClocks > 0 ? copies.launchClocks : rates.launchClocks.perClock;
  const double clocks = launchClocks * static_cast<double>(copies.launches) + copies.bytes / rates.of(Resource::DeviceMemory);
  Candidate all{this, best.estimate, best.unproven};
  if (copies.memoryShare > 0) {
    const double least = bytesOnce(problem) / (copies.memoryShare * rates.of(Resource::DeviceMemory));
    all.estimate.clocks = std::max(all.estimate.clocks, least);
    all.estimate.seconds = std::max(all.estimate.seconds, least / rates.clockHertz.perClock);
  }
  all.estimate.clocks += clocks;
  all.estimate.seconds += clocks / rates.clockHertz.perClock;
  candidates.push_back(std::move(all));
  std::vector<Choice> choice{{std::move(best), std::string(asked)}};
  const auto completed = [this](const Choice& made, const Problem& p, const device::Properties& of, Plan& plan) {
    return complete(made.inner, p, of, plan);
  };
  setPlans(candidates, candidates.size() - 1,
           std::make_shared<TypedPlans<Choice>>(std::move(choice), completed, [](const Choice& made) { return made.options; }));
  return {};
}

}  // namespace shiftconv::plan
