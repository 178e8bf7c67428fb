// The table of algorithms. Each answers whether it can run a problem, or why not, and offers candidates, which compete.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/status.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/plan.hpp"

namespace shiftconv::plan {

class Algorithm;

/// One way in which an algorithm would run a problem.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  std::string options;  ///< makes exactly this plan
  Estimate estimate;
  std::vector<std::string_view> unproven;  ///< hardware behaviours it relies on that no public source settles: "U3"
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual std::string_view name() const = 0;
  /// Competes only where every other algorithm refuses.
  virtual bool isLastResort() const { return false; }
  virtual std::span<const OptionDescription> options() const = 0;
  /// Empty when a valid problem can be run on such a device, else one sentence.
  virtual std::string refusal(const Problem& problem, const device::Properties& properties) const = 0;
  /// Appends every way that agrees with the options, at least one. Requires an empty refusal; fails when an option is wrong or
  /// cannot be met.
  virtual Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                            std::vector<Candidate>& candidates) const = 0;
  /// Fills in launches, workspaceBytes and details of the plan that the options of a candidate describe.
  virtual Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const = 0;
};

std::span<const Algorithm* const> algorithms();

/// NotFound with the names when there is none of this name.
Status findAlgorithm(std::string_view name, const Algorithm*& algorithm);

/// Estimates that differ by less than this share of the better one say nothing about which is faster.
inline constexpr double kTieMargin = 0.01;

/// Index of the winner: among those within kTieMargin of the fastest the ones that rely on the fewest unproven behaviours, of these
/// the one with the shortest time, then with the fewest clocks, then the first. Requires a candidate.
size_t choose(std::span<const Candidate> candidates);

/// Which algorithm, and its options; empty lets the planner choose. Options need an algorithm.
struct PlanOptions {
  std::string algorithm;
  std::string options;
};

/// What a plan is chosen from.
struct Candidates {
  std::vector<Candidate> all;  ///< at least one
  size_t best = 0;             ///< choose(all)
  std::string refusals;        ///< a line for each algorithm that refused

  /// All of them, the best first, then by their estimates.
  std::vector<size_t> byEstimate() const;
};

/// Algorithm, options, estimate and unproven behaviours, in a line without its end.
std::string describe(const Candidate& candidate);

/// Validates the problem and asks every algorithm that accepts it, or the one asked for.
Status findCandidates(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                      Candidates& candidates);

/// The plan of a candidate of this problem on such a device; `choice` says how it was chosen.
Status makePlan(const Problem& problem, const device::Properties& properties, const Candidate& candidate, std::string choice,
                std::shared_ptr<const Plan>& plan);

/// The plan of the best candidate.
Status makePlan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                std::shared_ptr<const Plan>& plan);

}  // namespace shiftconv::plan
