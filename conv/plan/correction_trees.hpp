// The trees of measured corrections, and how many candidates of one problem are asked at once.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "conv/plan/measured_correction.hpp"

namespace shiftconv::plan {

/// A candidate, and what the trees that it was asked say of it.
struct Corrected {
  CorrectionFeatures features;
  size_t number;   ///< of the candidate
  double sum = 0;  ///< of the trees: the natural logarithm of a factor
};

/// An algorithm's trees, or those of some of its candidates. Where there are some for whole epilogues, these come first, and add
/// nothing to others.
struct CorrectionTrees {
  std::string_view algorithm;  ///< or Tiling::trees
  bool areBytes;               ///< the operands
  bool sawGroups;              ///< problems with more than one
  size_t first, count;         ///< among those of all algorithms

  /// Adds what the trees from number `from` to the one before `to` say to the sums of candidates of one problem.
  void ask(size_t from, size_t to, std::span<Corrected> candidates) const;
};

/// nullptr of algorithms without recorded times, and for problems with groups where none were recorded.
const CorrectionTrees* correctionTrees(std::string_view algorithm, bool areBytes, bool haveGroups);

}  // namespace shiftconv::plan
