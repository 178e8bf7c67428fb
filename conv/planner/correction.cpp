#include "conv/planner/correction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "conv/plan/correction_trees.hpp"
#include "conv/plan/measured_correction.hpp"

namespace shiftconv::plan {
namespace {

constexpr size_t kTrees = 100;                 // of an algorithm (TREES of fit_correction), behind those for whole epilogues
constexpr double kLeast = 1.0 / 3, kMost = 3;  // factors
constexpr size_t kMicroseconds = 0;            // the feature
static_assert(kCorrectionFeatures[kMicroseconds] == "microseconds");

double factorOf(const Corrected& one) { return std::clamp(std::exp(one.sum), kLeast, kMost); }
/// The natural logarithm of the time in microseconds, as far as it is known.
double timeOf(const Corrected& one) {
  static const double most = std::log(kMost);
  return one.features[kMicroseconds] * std::numbers::ln2 + std::clamp(one.sum, -most, most);
}

std::string_view treesOf(const Candidate& candidate) {
  return candidate.tiling.trees.empty() ? candidate.algorithm->name() : candidate.tiling.trees;
}

/// The candidates of one algorithm, or those of it that have trees of their own.
struct Group {
  const CorrectionTrees* trees;
  std::span<Corrected> asked;  ///< still
  size_t treesAsked = 0, wholeTreesAsked = 0;
  double fastest = 0;    ///< timeOf, of those that are still asked
  double behindAll = 0;  ///< where all were left behind: the difference of `fastest` to that of all groups then
  double seconds = 0;    ///< of the fastest, in the end
};

struct LeftBehind {
  size_t number, group;
  double behind;  ///< how many times as long as the fastest of its group it took then
};

class Race {
 public:
  Race(const Problem& problem, std::span<Candidate> candidates) : candidates_(candidates), view_(problem) {
    entrants_.reserve(candidates.size());
    left_.reserve(candidates.size());
  }

  /// Candidates of one algorithm, from `first`, which these trees are for, to the one before `end`: those that they are for, too.
  /// Whose model is far behind does not start.
  void enter(const CorrectionTrees& trees, size_t first, size_t end) {
    static const double most = std::exp(kCorrectionRounds[0].behindItsOwn);
    double fastest = std::numeric_limits<double>::infinity();
    const std::string_view own = candidates_[first].tiling.trees;
    const auto isOwn = [&](size_t i) { return candidates_[i].tiling.trees == own; };
    for (size_t i = first; i < end; ++i)
      if (isOwn(i)) fastest = std::min(fastest, candidates_[i].estimate.seconds);
    const size_t before = entrants_.size();
    for (size_t i = first; i < end; ++i) {
      if (!isOwn(i)) continue;
      const double seconds = candidates_[i].estimate.seconds;
      if (seconds <= most * fastest)
        entrants_.push_back({view_.of(candidates_[i].tiling, seconds * 1e6), i});
      else
        left_.push_back({i, groups_.size(), seconds / fastest});
    }
    groups_.push_back({&trees, std::span(entrants_).subspan(before)});
  }

  void run() {
    for (size_t i = 1; i < kCorrectionRounds.size(); ++i) {
      const double fastest = ask(kCorrectionRounds[i].trees);
      for (Group& group : groups_) leaveBehind(group, kCorrectionRounds[i], fastest);
    }
    const double fastest = ask(kTrees);
    for (Group& group : groups_) {
      for (const Corrected& one : group.asked) give(one.number, factorOf(one));
      group.seconds = 1e-6 * std::exp(group.asked.empty() ? fastest + group.behindAll : group.fastest);
    }
    for (const LeftBehind& one : left_)
      give(one.number, groups_[one.group].seconds * one.behind / candidates_[one.number].estimate.seconds);
  }

 private:
  /// Asks so many trees, less those that have been asked, and says who is fastest then.
  double ask(size_t trees) {
    double fastest = std::numeric_limits<double>::infinity();
    for (Group& group : groups_) {
      if (group.asked.empty()) continue;
      const size_t ofWholeEpilogues = group.trees->count - kTrees;  // which say nothing of others
      if (view_.hasWholeEpilogue()) {
        const size_t whole = std::min(ofWholeEpilogues, wholeTreesAskedWith(trees));
        group.trees->ask(group.wholeTreesAsked, whole, group.asked);
        group.wholeTreesAsked = whole;
      }
      group.trees->ask(ofWholeEpilogues + group.treesAsked, ofWholeEpilogues + trees, group.asked);
      group.treesAsked = trees;
      group.fastest = std::numeric_limits<double>::infinity();
      for (const Corrected& one : group.asked) group.fastest = std::min(group.fastest, timeOf(one));
      fastest = std::min(fastest, group.fastest);
    }
    return fastest;
  }

  void leaveBehind(Group& group, const CorrectionRound& round, double fastest) {
    const double latest = std::min(group.fastest + round.behindItsOwn, fastest + round.behindAll);
    const auto isBehind = [&](const Corrected& one) {
      const double time = timeOf(one);
      if (time <= latest) return false;
      left_.push_back({one.number, static_cast<size_t>(&group - groups_.data()), std::exp(time - group.fastest)});
      return true;
    };
    if (group.asked.empty()) return;
    const auto stay = std::remove_if(group.asked.begin(), group.asked.end(), isBehind);
    group.asked = group.asked.first(static_cast<size_t>(stay - group.asked.begin()));
    if (group.asked.empty()) group.behindAll = group.fastest - fastest;
  }

  void give(size_t number, double factor) {
    Candidate& candidate = candidates_[number];
    candidate.correction = factor;
    candidate.estimate.seconds *= factor;
    candidate.estimate.clocks *= factor;
  }

  std::span<Candidate> candidates_;
  CorrectionView view_;
  std::vector<Corrected> entrants_;  ///< those of a group together
  std::vector<Group> groups_;
  std::vector<LeftBehind> left_;
};

}  // namespace

void correct(const Problem& problem, const device::Properties& properties, std::span<Candidate> candidates) {
  if (!hasMeasuredCorrection(problem, properties)) return;
  const bool areBytes = bitsOf(problem.inputType) == 8;
  Race race(problem, candidates);
  // Those of an algorithm follow one another, and all or none of them say how they are cut.
  for (size_t first = 0, end; first < candidates.size(); first = end) {
    const Algorithm* const algorithm = candidates[first].algorithm;
    for (end = first; end < candidates.size() && candidates[end].algorithm == algorithm;) ++end;
    if (candidates[first].tiling.pixels == 0) continue;
    for (size_t i = first; i < end; ++i) {
      const auto isAlike = [&](const Candidate& other) { return other.tiling.trees == candidates[i].tiling.trees; };
      if (std::any_of(&candidates[first], &candidates[i], isAlike)) continue;
      if (const CorrectionTrees* trees = correctionTrees(treesOf(candidates[i]), areBytes, problem.groups > 1))
        race.enter(*trees, i, end);
      else
        for (size_t j = i; j < end; ++j)
          if (isAlike(candidates[j])) candidates[j].isUntimed = true;
    }
  }
  race.run();
}

}  // namespace shiftconv::plan
