// The search: asks every algorithm of the registry, and lets their candidates compete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/status.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/plan/plan.hpp"

namespace shiftconv::plan {

/// Estimates that differ by less than this share of the better one say nothing about which is faster.
inline constexpr double kTieMargin = 0.01;

/// Index of the winner: of those that recorded times judge, or of all where they judge none, among those within kTieMargin of the
/// fastest the ones that rely on the fewest unproven behaviours, of these the one with the shortest time, then with the fewest
/// clocks, then the first. Requires a candidate.
size_t choose(std::span<const Candidate> candidates);

/// Which algorithm, and its options; empty lets the planner choose. Options need an algorithm.
struct PlanOptions {
  std::string algorithm;
  std::string options;
  uint32_t multiprocessors = 0;  ///< of which each launch has at most a CTA; 0: as many as the device has
  bool constantFilter = false;   ///< nothing that may still run when a run is enqueued writes the filter
  bool batchInvariant = false;   ///< every image's results are those that it has alone (batch_invariance.hpp)
  bool noWorkspace = false;      ///< runs need none
};

/// What a plan is chosen from.
struct Candidates {
  std::vector<Candidate> all;  ///< at least one
  size_t best = 0;             ///< choose(all)
  PlanOptions asked;           ///< the options that they agree with
  std::string refusals;        ///< a line for each reason of algorithms that refused
  /// Mistakes of this library: algorithms that accept the problem and then have no plan for it. They count as refusals.
  std::vector<std::string> defects;

  /// All of them, the best first, then by their estimates.
  std::vector<size_t> byEstimate() const;
};

/// Whether Candidates::refusals are wanted. Writing them takes longer than many a refusal.
enum class RefusalTexts : bool { LeftOut, Made };

/// Of all `algorithms` that accept a valid problem; at least one, or a sentence why there is none. Those of last resort come last.
Status collect(std::span<const Algorithm* const> algorithms, const Problem& problem, const device::Properties& properties,
               Candidates& candidates, RefusalTexts texts = RefusalTexts::Made, const PlanOptions& asked = {});

/// Options of an algorithm, and kFilterDependentOption where it has that and `options` do not say how a run depends.
std::string withConstantFilter(const Algorithm& algorithm, std::string_view options);

/// Validates the problem and asks every algorithm that accepts it, or the one asked for.
Status findCandidates(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                      Candidates& candidates, RefusalTexts texts = RefusalTexts::Made);

/// The candidate whose options these are, of an algorithm that accepts the problem.
Status candidateOf(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties,
                   std::string_view options, Candidate& candidate);

/// The plan of a candidate of this problem on such a device. `choice` says how it was chosen; empty where that was by its estimate.
Status makePlan(const Problem& problem, const device::Properties& properties, const Candidate& candidate, std::string choice,
                std::shared_ptr<const Plan>& plan);

/// How a plan was chosen: lines with the winner first, then the others by their estimates, then the refusals. Searches again.
std::string choiceOf(const Plan& plan);

/// The plan of the best candidate that has one, which it makes the best.
Status planBest(const Problem& problem, const device::Properties& properties, Candidates& candidates,
                std::shared_ptr<const Plan>& plan);

/// The plan of the best candidate. Appends Candidates::defects to `notes` if there are notes.
Status makePlan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                std::shared_ptr<const Plan>& plan, std::vector<std::string>* notes = nullptr);

}  // namespace shiftconv::plan
