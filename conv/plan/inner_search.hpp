// What an algorithm that leaves a convolution to others asks the search for. The search knows all algorithms, and stands above them
// (conv/planner): so it is given to those that ask.
#pragma once

#include <span>
#include <string_view>

#include "conv/plan/algorithm.hpp"

namespace shiftconv::plan {

/// Whoever asks is one of the algorithms, and is made while their table is: its constructor only keeps the reference.
class InnerSearch {
 public:
  virtual ~InnerSearch() = default;
  /// All of them, the one that asks included, in the order of the registry.
  virtual std::span<const Algorithm* const> algorithms() const = 0;
  /// NotFound with the names when there is none of this name.
  virtual Status find(std::string_view name, const Algorithm*& algorithm) const = 0;
  /// What the planner takes for the problem, by the algorithm of this name or, without one, by any. `isBatchInvariant`: such that
  /// the results of an image do not depend on how many there are.
  virtual Status best(const Problem& problem, const device::Properties& properties, std::string_view algorithm,
                      bool isBatchInvariant, Candidate& candidate) const = 0;
  /// The same by any of `among`, of a valid problem. One of last resort is the last of them.
  virtual Status bestAmong(std::span<const Algorithm* const> among, const Problem& problem, const device::Properties& properties,
                           bool isBatchInvariant, Candidate& candidate) const = 0;
};

}  // namespace shiftconv::plan
